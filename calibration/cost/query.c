/*
 * query.c - reads queries to a cost model from text. One table lists the keys of each operator; the
 * parser of key=value pairs, the columns of a CSV and the help all come from it.
 */
#include "calibration/cost/query.h"

#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

/* --- operators --- */

typedef struct {
  const char *name;
  OrrQueryKey keys[MAX_KEYS]; /* ends with a NULL name */
  OrrCost (*answer)(const OrrCostModel *cost, const char *name,
                    const double *values); /* values in the order of keys */
  /* What one value demands of another: a sentence, or NULL where all is well. May be NULL. */
  const char *(*refuse)(const double *values);
} Question;

static OrrCost query_operator(const OrrCostModel *cost, const OrrOperator *op, double sustained) {
  return sustained > 0 ? orr_cost_sustained(cost, op) : orr_cost_operator(cost, op);
}

enum { GEMM_DTYPE, GEMM_M, GEMM_N, GEMM_K, GEMM_BATCH, GEMM_LAYOUT, GEMM_SUSTAINED, GEMM_LIBRARY };

static OrrDtype gemm_dtype(double value) { return (OrrDtype)((int)value % ORR_QUERY_BY_BLOCKS); }

static OrrCost answer_gemm(const OrrCostModel *cost, const char *name, const double *values) {
  static const OrrPass passes[] = {ORR_PASS_FORWARD, ORR_PASS_DGRAD, ORR_PASS_WGRAD};
  const OrrGemmShape shape = {.batch = (gint64)values[GEMM_BATCH],
                              .m = (gint64)values[GEMM_M],
                              .n = (gint64)values[GEMM_N],
                              .k = (gint64)values[GEMM_K],
                              .stored.blocks = values[GEMM_DTYPE] >= ORR_QUERY_BY_BLOCKS};
  OrrOperator op = orr_operator_gemm("query", passes[(int)values[GEMM_LAYOUT]],
                                     gemm_dtype(values[GEMM_DTYPE]), shape);
  op.library = (guint8)values[GEMM_LIBRARY];
  return query_operator(cost, &op, values[GEMM_SUSTAINED]);
}

enum { ATTN_DTYPE, KV_DTYPE, BATCH_SIZE, HEADS, KV_HEADS, HEAD_DIM, WINDOW, ISL, STEP };

static OrrOperator attention_of(const double *values, double queries, double length) {
  const OrrAttentionShape shape = {.batch = (gint64)values[BATCH_SIZE],
                                   .q_length = (gint64)queries,
                                   .kv_length = (gint64)length,
                                   .heads = (gint64)values[HEADS],
                                   .kv_heads = (gint64)values[KV_HEADS],
                                   .head_dim = (gint64)values[HEAD_DIM],
                                   .causal = TRUE};
  return orr_operator_attention("query", ORR_PASS_FORWARD, (OrrDtype)values[ATTN_DTYPE], shape);
}

static OrrCost answer_attention(const OrrCostModel *cost, const double *values, double queries,
                                double length) {
  const OrrOperator op = attention_of(values, queries, length);
  return orr_cost_scaled(cost, orr_cost_attention(cost, &op, (OrrDtype)values[KV_DTYPE]));
}

static OrrCost answer_prefill(const OrrCostModel *cost, const char *name, const double *values) {
  return answer_attention(cost, values, values[ISL], values[ISL]);
}

static OrrCost answer_decode(const OrrCostModel *cost, const char *name, const double *values) {
  return answer_attention(cost, values, 1, values[ISL] + values[STEP]);
}

static const char *refuse_attention(const double *values) {
  return fmod(values[HEADS], values[KV_HEADS]) == 0 ? NULL
                                                    : "num_key_value_heads must divide num_heads";
}

enum { MEMORY_BYTES };

static OrrCost answer_memory(const OrrCostModel *cost, const char *name, const double *values) {
  const OrrOperator op =
      orr_operator_memory("query", ORR_PASS_FORWARD, ORR_BF16, values[MEMORY_BYTES], 0);
  return orr_cost_operator(cost, &op);
}

static const char topk_above_experts[] = "topk must not be above num_experts";

enum {
  MOE_DTYPE,
  MOE_TOKENS,
  MOE_HIDDEN,
  MOE_INTER,
  MOE_TOPK,
  MOE_EXPERTS,
  MOE_TP,
  MOE_EP,
  MOE_IMBALANCE,
  MOE_PROJECTIONS,
  MOE_SUSTAINED
};

static OrrCost answer_moe(const OrrCostModel *cost, const char *name, const double *values) {
  const OrrMoeShape shape = {.tokens = (gint64)values[MOE_TOKENS],
                             .hidden = (gint64)values[MOE_HIDDEN],
                             .inter = (gint64)values[MOE_INTER],
                             .topk = (gint64)values[MOE_TOPK],
                             .experts = (gint64)values[MOE_EXPERTS],
                             .tp = (gint64)values[MOE_TP],
                             .ep = (gint64)values[MOE_EP],
                             .projections = (gint64)values[MOE_PROJECTIONS],
                             .imbalance = values[MOE_IMBALANCE]};
  const OrrOperator op =
      orr_operator_moe("query", ORR_PASS_FORWARD, (OrrDtype)values[MOE_DTYPE], shape);
  return query_operator(cost, &op, values[MOE_SUSTAINED]);
}

static const char *refuse_moe(const double *values) {
  return fmod(values[MOE_EXPERTS], values[MOE_EP]) != 0 ? "moe_ep_size must divide num_experts"
         : fmod(values[MOE_INTER], values[MOE_TP]) != 0 ? "moe_tp_size must divide inter_size"
         : values[MOE_TOPK] > values[MOE_EXPERTS]       ? topk_above_experts
                                                        : NULL;
}

enum { N_GPUS, COLLECTIVE_BYTES };

static OrrCost answer_collective(const OrrCostModel *cost, const char *name, const double *values) {
  const gint64 n_gpus = (gint64)values[N_GPUS];
  const double bytes = values[COLLECTIVE_BYTES];
  OrrCost answer;
  if (orr_cost_collective(cost, name, n_gpus, bytes, &answer)) return answer;
  return orr_cost_collective_ring(cost, name, n_gpus, bytes);
}

/* "deepep_dispatch", "alltoall_combine": what follows the first '_' is the kernel's operation. */
static const char *op_of(const char *name) { return strchr(name, '_') + 1; }

static OrrCost answer_library(const OrrCostModel *cost, const OrrLibraryCall *call) {
  OrrCost answer;
  return orr_cost_library(cost, call, &answer) ? answer : orr_cost_library_modelled(cost, call);
}

enum {
  DEEPEP_LOW_LATENCY,
  DEEPEP_NODES,
  DEEPEP_GPUS_PER_NODE,
  DEEPEP_TOKENS,
  DEEPEP_HIDDEN,
  DEEPEP_TOPK,
  DEEPEP_EXPERTS
};

static OrrCost answer_deepep(const OrrCostModel *cost, const char *name, const double *values) {
  OrrLibraryCall call = {.library =
                             values[DEEPEP_LOW_LATENCY] > 0 ? "deepep-low-latency" : "deepep",
                         .op = op_of(name),
                         .size = values[DEEPEP_TOKENS],
                         .hidden = (gint64)values[DEEPEP_HIDDEN],
                         .topk = (gint64)values[DEEPEP_TOPK],
                         .experts = (gint64)values[DEEPEP_EXPERTS]};
  const gint64 given = (gint64)values[DEEPEP_GPUS_PER_NODE];
  const gint64 known = given > 0 ? given : orr_cost_library_ranks(cost, &call);
  call.n_ranks = (gint64)values[DEEPEP_NODES] * (known > 0 ? known : DEFAULT_GPUS);
  return answer_library(cost, &call);
}

enum {
  TRTLLM_ONE_SIDED,
  TRTLLM_DTYPE,
  TRTLLM_RANKS,
  TRTLLM_TOKENS,
  TRTLLM_HIDDEN,
  TRTLLM_TOPK,
  TRTLLM_EXPERTS,
  TRTLLM_DISTRIBUTION
};

static OrrCost answer_trtllm(const OrrCostModel *cost, const char *name, const double *values) {
  const OrrLibraryCall call = {.library = values[TRTLLM_ONE_SIDED] > 0 ? "trtllm-one-sided"
                                                                       : "trtllm-two-sided",
                               .op = op_of(name),
                               .dtype = orr_dtype_names[(int)values[TRTLLM_DTYPE]],
                               .n_ranks = (gint64)values[TRTLLM_RANKS],
                               .size = values[TRTLLM_TOKENS],
                               .hidden = (gint64)values[TRTLLM_HIDDEN],
                               .topk = (gint64)values[TRTLLM_TOPK],
                               .experts = (gint64)values[TRTLLM_EXPERTS]};
  return answer_library(cost, &call);
}

static const char *refuse_exchange(const double *values) {
  G_STATIC_ASSERT(TRTLLM_TOPK == (int)DEEPEP_TOPK && TRTLLM_EXPERTS == (int)DEEPEP_EXPERTS);
  return values[TRTLLM_TOPK] > values[TRTLLM_EXPERTS] ? topk_above_experts : NULL;
}

#define HEAD_KEYS                                                                                  \
  [ATTN_DTYPE] = {"attn_dtype", ORR_QUERY_FORMAT, "bfloat16"},                                     \
  [KV_DTYPE] = {"kv_cache_dtype", ORR_QUERY_FORMAT, "bfloat16"},                                   \
  [BATCH_SIZE] = {"batch_size", ORR_QUERY_COUNT, NULL},                                            \
  [HEADS] = {"num_heads", ORR_QUERY_COUNT, NULL},                                                  \
  [KV_HEADS] = {"num_key_value_heads", ORR_QUERY_COUNT, NULL},                                     \
  [HEAD_DIM] = {"head_dim", ORR_QUERY_COUNT, NULL},                                                \
  [WINDOW] = {"window_size", ORR_QUERY_NO_WINDOW, "0"}
#define COLLECTIVE(name_)                                                                          \
  {                                                                                                \
    name_,                                                                                         \
        {[N_GPUS] = {"n_gpus", ORR_QUERY_COUNT, NULL},                                             \
         [COLLECTIVE_BYTES] = {"bytes", ORR_QUERY_SIZE, NULL}},                                    \
        answer_collective, NULL                                                                    \
  }
#define DEEPEP(name_)                                                                              \
  {                                                                                                \
    name_,                                                                                         \
        {[DEEPEP_LOW_LATENCY] = {"mode", ORR_QUERY_DEEPEP_MODE, "normal"},                         \
         [DEEPEP_NODES] = {"node_num", ORR_QUERY_COUNT, "1"},                                      \
         [DEEPEP_GPUS_PER_NODE] = {"gpus_per_node", ORR_QUERY_KNOWN_COUNT, "known"},               \
         [DEEPEP_TOKENS] = {"num_token_per_rank", ORR_QUERY_COUNT, NULL},                          \
         [DEEPEP_HIDDEN] = {"hidden", ORR_QUERY_COUNT, NULL},                                      \
         [DEEPEP_TOPK] = {"topk", ORR_QUERY_COUNT, NULL},                                          \
         [DEEPEP_EXPERTS] = {"num_experts", ORR_QUERY_COUNT, NULL}},                               \
        answer_deepep, refuse_exchange                                                             \
  }
#define TRTLLM(name_)                                                                              \
  {                                                                                                \
    name_,                                                                                         \
        {[TRTLLM_ONE_SIDED] = {"kernel_source", ORR_QUERY_TRTLLM_SOURCE, "NVLinkTwoSided"},        \
         [TRTLLM_DTYPE] = {"moe_dtype", ORR_QUERY_FORMAT, "bfloat16"},                             \
         [TRTLLM_RANKS] = {"moe_ep_size", ORR_QUERY_COUNT, NULL},                                  \
         [TRTLLM_TOKENS] = {"num_tokens", ORR_QUERY_COUNT, NULL},                                  \
         [TRTLLM_HIDDEN] = {"hidden_size", ORR_QUERY_COUNT, NULL},                                 \
         [TRTLLM_TOPK] = {"topk", ORR_QUERY_COUNT, NULL},                                          \
         [TRTLLM_EXPERTS] = {"num_experts", ORR_QUERY_COUNT, NULL},                                \
         [TRTLLM_DISTRIBUTION] = {"distribution", ORR_QUERY_BALANCED, "balanced"}},                \
        answer_trtllm, refuse_exchange                                                             \
  }

/* Alphabetical. To add one: an enum of its keys, a function that answers, a line here. */
static const Question questions[] = {
    COLLECTIVE("all_gather"),
    COLLECTIVE("all_reduce"),
    COLLECTIVE("alltoall"),
    TRTLLM("alltoall_combine"),
    TRTLLM("alltoall_combine_low_precision"),
    TRTLLM("alltoall_dispatch"),
    TRTLLM("alltoall_prepare"),
    {"attention_decode",
     {HEAD_KEYS, [ISL] = {"isl", ORR_QUERY_COUNT, "1"}, [STEP] = {"step", ORR_QUERY_COUNT, NULL}},
     answer_decode,
     refuse_attention},
    {"attention_prefill",
     {HEAD_KEYS, [ISL] = {"isl", ORR_QUERY_COUNT, NULL}},
     answer_prefill,
     refuse_attention},
    COLLECTIVE("broadcast"),
    DEEPEP("deepep_combine"),
    DEEPEP("deepep_dispatch"),
    {"gemm",
     {[GEMM_DTYPE] = {"gemm_dtype", ORR_QUERY_GEMM_FORMAT, "bfloat16"},
      [GEMM_M] = {"m", ORR_QUERY_COUNT, NULL},
      [GEMM_N] = {"n", ORR_QUERY_COUNT, NULL},
      [GEMM_K] = {"k", ORR_QUERY_COUNT, NULL},
      [GEMM_BATCH] = {"batch", ORR_QUERY_COUNT, "1"},
      [GEMM_LAYOUT] = {"layout", ORR_QUERY_LAYOUT, "forward"},
      [GEMM_SUSTAINED] = {"sustained", ORR_QUERY_YES_NO, "no"},
      [GEMM_LIBRARY] = {"library", ORR_QUERY_LIBRARY, "any"}},
     answer_gemm,
     NULL},
    {"linear_attention",
     {[ORR_LINEAR_SYSTEM] = {"system", ORR_QUERY_TEXT, "any"},
      [ORR_LINEAR_ENGINE] = {"engine", ORR_QUERY_TEXT, "any"},
      [ORR_LINEAR_KERNEL] = {"kernel_source", ORR_QUERY_TEXT, "any"},
      [ORR_LINEAR_PHASE] = {"phase", ORR_QUERY_TEXT, NULL},
      [ORR_LINEAR_BATCH] = {"batch_size", ORR_QUERY_COUNT, NULL},
      [ORR_LINEAR_TOKENS] = {"seq_len", ORR_QUERY_COUNT, "1"},
      [ORR_LINEAR_KEY_HEADS] = {"num_k_heads", ORR_QUERY_WHOLE, "0"},
      [ORR_LINEAR_VALUE_HEADS] = {"num_v_heads", ORR_QUERY_WHOLE, "0"},
      [ORR_LINEAR_STATE] = {"d_state", ORR_QUERY_WHOLE, "0"},
      [ORR_LINEAR_HEADS] = {"nheads", ORR_QUERY_WHOLE, "0"},
      [ORR_LINEAR_GROUPS] = {"n_groups", ORR_QUERY_WHOLE, "0"},
      [ORR_LINEAR_STATE_DTYPE] = {"state_dtype", ORR_QUERY_TEXT, "float32"}},
     orr_query_module_linear,
     orr_query_module_refuse_linear},
    {"memory", {[MEMORY_BYTES] = {"bytes", ORR_QUERY_SIZE, NULL}}, answer_memory, NULL},
    {"moe_ffn",
     {[MOE_DTYPE] = {"moe_dtype", ORR_QUERY_FORMAT, "bfloat16"},
      [MOE_TOKENS] = {"num_tokens", ORR_QUERY_COUNT, NULL},
      [MOE_HIDDEN] = {"hidden_size", ORR_QUERY_COUNT, NULL},
      [MOE_INTER] = {"inter_size", ORR_QUERY_COUNT, NULL},
      [MOE_TOPK] = {"topk", ORR_QUERY_COUNT, NULL},
      [MOE_EXPERTS] = {"num_experts", ORR_QUERY_COUNT, NULL},
      [MOE_TP] = {"moe_tp_size", ORR_QUERY_COUNT, "1"},
      [MOE_EP] = {"moe_ep_size", ORR_QUERY_COUNT, "1"},
      [MOE_IMBALANCE] = {"distribution", ORR_QUERY_DISTRIBUTION, "balanced"},
      [MOE_PROJECTIONS] = {"projections", ORR_QUERY_PROJECTIONS, "known"},
      [MOE_SUSTAINED] = {"sustained", ORR_QUERY_YES_NO, "no"}},
     answer_moe,
     refuse_moe},
    COLLECTIVE("reduce"),
    COLLECTIVE("reduce_scatter"),
    COLLECTIVE("sendrecv"),
    {"sparse_attention",
     {[ORR_SPARSE_OP] = {"op_name", ORR_QUERY_TEXT, NULL},
      [ORR_SPARSE_SYSTEM] = {"system", ORR_QUERY_TEXT, "any"},
      [ORR_SPARSE_ENGINE] = {"engine", ORR_QUERY_TEXT, "any"},
      [ORR_SPARSE_KERNEL] = {"kernel_source", ORR_QUERY_TEXT, "any"},
      [ORR_SPARSE_MODEL] = {"model", ORR_QUERY_TEXT, NULL},
      [ORR_SPARSE_WEIGHTS] = {"gemm_type", ORR_QUERY_TEXT, "any"},
      [ORR_SPARSE_CACHE] = {"kv_cache_dtype", ORR_QUERY_TEXT, "any"},
      [ORR_SPARSE_MODE] = {"score_mode", ORR_QUERY_TEXT, "any"},
      [ORR_SPARSE_HEADS] = {"num_heads", ORR_QUERY_COUNT, NULL},
      [ORR_SPARSE_BATCH] = {"batch_size", ORR_QUERY_COUNT, NULL},
      [ORR_SPARSE_QUERIES] = {"isl", ORR_QUERY_COUNT, "1"},
      [ORR_SPARSE_BEFORE] = {"step", ORR_QUERY_WHOLE, "0"}},
     orr_query_module_sparse,
     orr_query_module_refuse_sparse},
};

/* Accepts "all-reduce" for "all_reduce". */
static const Question *find_question(const char *given, GError **error) {
  const char *names[G_N_ELEMENTS(questions) + 1] = {NULL};
  g_autofree char *name = g_strdelimit(g_strdup(given), "-", '_');
  for (guint i = 0; i < G_N_ELEMENTS(questions); i++) {
    if (strcmp(questions[i].name, name) == 0) return &questions[i];
    names[i] = questions[i].name;
  }
  const char *nearest = orr_diag_nearest_word(name, names);
  g_autofree char *allowed = g_strjoinv(", ", (char **)names);
  return orr_fault_null(error, ORR_FAULT_USAGE, "unknown operator '%s'%s%s%s (allowed: %s)", given,
                        nearest ? ": did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "", allowed);
}

char *orr_query_help(void) {
  GString *help = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(questions); i++) {
    g_string_append(help, questions[i].name);
    for (const OrrQueryKey *key = questions[i].keys; key->name; key++)
      g_string_append_printf(help, key->fallback ? " [%s=%s]" : " %s=%s", key->name,
                             key->fallback ? key->fallback : "...");
    g_string_append_c(help, '\n');
  }
  return g_string_free(help, FALSE);
}

/* --- values --- */

static void set_fallbacks(const Question *question, double *values) {
  for (int i = 0; i < MAX_KEYS && question->keys[i].name; i++) {
    values[i] = NAN;
    if (question->keys[i].fallback)
      orr_query_values_read(&question->keys[i], question->keys[i].fallback, &values[i], NULL);
  }
}

static gboolean check_values(const Question *question, const double *values, GError **error) {
  const char *wrong = question->refuse ? question->refuse(values) : NULL;
  if (wrong) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_USAGE, wrong);
  return !wrong;
}

static int find_key(const Question *question, const char *name, gsize length, GError **error) {
  g_autoptr(GString) allowed = g_string_new(NULL);
  for (int i = 0; i < MAX_KEYS && question->keys[i].name; i++) {
    if (strlen(question->keys[i].name) == length &&
        strncmp(question->keys[i].name, name, length) == 0)
      return i;
    g_string_append_printf(allowed, "%s%s", i ? ", " : "", question->keys[i].name);
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "unknown key '%.*s' of %s (allowed: %s)",
              (int)length, name, question->name, allowed->str);
  return -1;
}

static gboolean read_pairs(const Question *question, const char *const *key_values, double *values,
                           GError **error) {
  gboolean is_given[MAX_KEYS] = {FALSE};
  set_fallbacks(question, values);
  for (guint i = 0; key_values && key_values[i]; i++) {
    const char *equals = strchr(key_values[i], '=');
    if (!equals)
      return orr_fault_set(error, ORR_FAULT_USAGE, "'%s': want key=value", key_values[i]);
    int key = find_key(question, key_values[i], (gsize)(equals - key_values[i]), error);
    if (key < 0 || !orr_query_values_read(&question->keys[key], equals + 1, &values[key], error))
      return FALSE;
    if (is_given[key])
      return orr_fault_set(error, ORR_FAULT_USAGE, "%s is given twice", question->keys[key].name);
    is_given[key] = TRUE;
  }
  for (int i = 0; i < MAX_KEYS && question->keys[i].name; i++)
    if (isnan(values[i]))
      return orr_fault_set(error, ORR_FAULT_USAGE, "%s needs %s=...", question->name,
                           question->keys[i].name);
  return check_values(question, values, error);
}

static gboolean answer(const OrrCostModel *cost, const Question *question, const double *values,
                       OrrCost *ret_cost, GError **error) {
  *ret_cost = question->answer(cost, question->name, values);
  if (isfinite(ret_cost->time_s)) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       question->answer == orr_query_module_sparse
                           ? "%s: the profile of device %s has no layer of that model"
                           : "%s: device %s has no link to other devices: scale-up-bandwidth or "
                             "host-link-bandwidth is needed",
                       question->name, cost->device->name ? cost->device->name : "?");
}

gboolean orr_query_operator(const OrrCostModel *cost, const char *operator_name,
                            const char *const *key_values, OrrCost *ret_cost, GError **error) {
  const Question *question = find_question(operator_name, error);
  double values[MAX_KEYS];
  if (!question || !read_pairs(question, key_values, values, error)) return FALSE;
  return answer(cost, question, values, ret_cost, error);
}

static char *gemm_note(const OrrCostModel *cost, const double *values) {
  return values[GEMM_BATCH] > 1 || values[GEMM_LAYOUT] > 0 ||
                 values[GEMM_LIBRARY] != ORR_KERNEL_LIBRARY_ANY
             ? NULL
             : orr_cost_gemm_aside(cost, gemm_dtype(values[GEMM_DTYPE]), values[GEMM_M],
                                   values[GEMM_N], values[GEMM_K]);
}

char *orr_query_note(const OrrCostModel *cost, const char *operator_name,
                     const char *const *key_values, const OrrCost *answer) {
  const Question *question = find_question(operator_name, NULL);
  double values[MAX_KEYS];
  if (answer->aside) return g_strdup(answer->aside);
  if (!question || !read_pairs(question, key_values, values, NULL)) return NULL;
  if (question->answer == answer_gemm) return gemm_note(cost, values);
  const gboolean is_prefill = question->answer == answer_prefill;
  if (!is_prefill && question->answer != answer_decode) return NULL;
  const OrrOperator op = attention_of(values, is_prefill ? values[ISL] : 1,
                                      is_prefill ? values[ISL] : values[ISL] + values[STEP]);
  return orr_cost_attention_aside(cost, &op, (OrrDtype)values[KV_DTYPE]);
}

/* --- rows --- */

typedef struct {
  const OrrCostModel *cost;
  const Question *question;
  const OrrCsv *csv;
  int columns[MAX_KEYS]; /* -1: the fallback */
  int op_column;         /* -1: none */
  OrrDiags *diags;
} Rows;

gboolean orr_query_has_columns(const char *operator_name, const OrrCsv *csv) {
  const Question *question = find_question(operator_name, NULL);
  for (const OrrQueryKey *key = question ? question->keys : NULL; key && key->name; key++)
    if (!key->fallback && orr_csv_column(csv, key->name) < 0) return FALSE;
  return question != NULL;
}

/* A table of several operators has keys of all, which may resemble each other. */
static void find_columns(Rows *rows) {
  static const char *const others[] = {"model", "source", NULL}; /* resemble mode, kernel_source */
  const OrrQueryKey *keys = rows->question->keys;
  const char *known[MAX_KEYS + 2] = {"op|op_name"};
  for (int i = 0; keys[i].name; i++) known[i + 1] = keys[i].name;
  rows->op_column = orr_csv_find(rows->csv, known[0]);
  for (int i = 0; keys[i].name; i++)
    rows->columns[i] = keys[i].fallback
                           ? orr_csv_column(rows->csv, keys[i].name)
                           : orr_csv_require(rows->csv, known, keys[i].name, rows->diags);
  if (rows->question->answer == orr_query_module_sparse ||
      rows->question->answer == orr_query_module_linear) {
    rows->op_column = -1; /* one question answers all operations of its tables */
    return;
  }
  if (rows->op_column < 0 && orr_diags_n_errors(rows->diags) == 0)
    g_free(orr_csv_check(rows->csv, known, others, rows->diags));
}

static gboolean read_row(const Rows *rows, const OrrCsvLine *line, double *values) {
  gboolean good = TRUE;
  g_autoptr(GError) error = NULL;
  set_fallbacks(rows->question, values);
  for (int i = 0; rows->question->keys[i].name; i++) {
    if (rows->columns[i] < 0 ||
        orr_query_values_read(&rows->question->keys[i], line->cells[rows->columns[i]], &values[i],
                              &error))
      continue;
    orr_diags_error(rows->diags, line->place, "%s", error->message);
    g_clear_error(&error);
    good = FALSE;
  }
  if (!good || check_values(rows->question, values, &error)) return good;
  orr_diags_error(rows->diags, line->place, "%s", error->message);
  return FALSE;
}

static void answer_line(const Rows *rows, const OrrCsvLine *line, GString *text) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  double values[MAX_KEYS];
  g_string_append(text, line->text);
  if (line == rows->csv->lines->pdata[rows->csv->header_line])
    g_string_append(text, ",predicted_us,how");
  else if (line->cells && rows->op_column >= 0 &&
           strcmp(line->cells[rows->op_column], rows->question->name) != 0)
    g_string_append(text, ",,");
  else if (line->cells && read_row(rows, line, values)) {
    g_autoptr(GError) error = NULL;
    OrrCost predicted;
    if (!answer(rows->cost, rows->question, values, &predicted, &error))
      return orr_diags_error(rows->diags, line->place, "%s", error->message);
    g_ascii_formatd(buffer, sizeof buffer, "%.6g", predicted.time_s * 1e6);
    const char *how = orr_cost_how_text(
        predicted.from ? predicted.from : orr_cost_carried_from(rows->cost), predicted.how);
    g_string_append_printf(text, ",%s,%s", buffer, how);
  }
  g_string_append_c(text, '\n');
}

gboolean orr_query_rows(const OrrCostModel *cost, const char *operator_name, const char *csv_path,
                        char **ret_text, GError **error) {
  const Question *question = find_question(operator_name, error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = question ? orr_csv_read(csv_path, diags, error) : NULL;
  if (!csv) return FALSE;
  Rows rows = {.cost = cost, .question = question, .csv = csv, .diags = diags};
  find_columns(&rows);
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; orr_diags_n_errors(diags) == 0 && i < csv->lines->len; i++)
    answer_line(&rows, csv->lines->pdata[i], text);
  if (!orr_diags_check(diags, error)) return FALSE;
  *ret_text = g_string_free(g_steal_pointer(&text), FALSE);
  return TRUE;
}
