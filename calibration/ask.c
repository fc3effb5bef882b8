/*
 * ask.c - see ask.h. One table says which keys an operator has; key=value pairs, CSV columns and
 * the help come from it.
 */
#include "calibration/ask.h"

#include <math.h>
#include <string.h>

#include "calibration/cost/cost_private.h"
#include "calibration/profile/profile_moe.h"
#include "sim/base/csv.h"
#include "calibration/fit/measured.h"
#include "sim/base/fault.h"

/* --- operators --- */

/* Whole and above 0; the same or known; above 0; a number format; only 0; balanced or
 * power_law_A; only balanced; 2, 3 or known; yes or no; DeepEP's kernels; TensorRT-LLM's. */
typedef enum {
  COUNT,
  KNOWN_COUNT,
  SIZE,
  FORMAT,
  NO_WINDOW,
  DISTRIBUTION,
  BALANCED,
  PROJECTIONS,
  YES_NO,
  DEEPEP_MODE,
  TRTLLM_SOURCE
} KeyKind;

typedef struct {
  const char *name;
  KeyKind kind;
  const char *fallback; /* NULL: required */
} Key;

enum { MAX_KEYS = 12, DEFAULT_GPUS = 8 }; /* of a node where the profile has no rows of it */

typedef struct {
  const char *name;
  Key keys[MAX_KEYS]; /* ends with a NULL name */
  OrrCost (*answer)(const OrrCostModel *cost, const char *name,
                    const double *values); /* values in the order of keys */
} Question;

static OrrCost ask_operator(const OrrCostModel *cost, const OrrOperator *op, double sustained) {
  return sustained > 0 ? orr_cost_sustained(cost, op) : orr_cost_operator(cost, op);
}

static OrrCost answer_gemm(const OrrCostModel *cost, const char *name, const double *values) {
  (void)name;
  OrrOperator op = orr_operator_gemm(
      "asked", ORR_PASS_FORWARD, (OrrDtype)values[0],
      (OrrGemmShape){(gint64)values[4], (gint64)values[1], (gint64)values[2], (gint64)values[3]});
  return ask_operator(cost, &op, values[5]);
}

/* values: formats of queries and keys, batch, heads, key heads, head size, window, then the
 * lengths. */
static OrrCost answer_attention(const OrrCostModel *cost, const double *values, double queries,
                                double length) {
  OrrOperator op = orr_operator_attention("asked", ORR_PASS_FORWARD, (OrrDtype)values[0],
                                          (OrrAttentionShape){.batch = (gint64)values[2],
                                                              .q_length = (gint64)queries,
                                                              .kv_length = (gint64)length,
                                                              .heads = (gint64)values[3],
                                                              .kv_heads = (gint64)values[4],
                                                              .head_dim = (gint64)values[5],
                                                              .causal = TRUE});
  return orr_cost_scaled(cost, orr_cost_attention(cost, &op, (OrrDtype)values[1]));
}

static OrrCost answer_prefill(const OrrCostModel *cost, const char *name, const double *values) {
  (void)name;
  return answer_attention(cost, values, values[7], values[7]);
}

static OrrCost answer_decode(const OrrCostModel *cost, const char *name, const double *values) {
  (void)name;
  return answer_attention(cost, values, 1, values[7] + values[8]);
}

static OrrCost answer_memory(const OrrCostModel *cost, const char *name, const double *values) {
  (void)name;
  OrrOperator op = orr_operator_memory("asked", ORR_PASS_FORWARD, ORR_BF16, values[0], 0);
  return orr_cost_operator(cost, &op);
}

static OrrCost answer_moe(const OrrCostModel *cost, const char *name, const double *values) {
  (void)name;
  OrrOperator op = orr_operator_moe("asked", ORR_PASS_FORWARD, (OrrDtype)values[0],
                                    (OrrMoeShape){.tokens = (gint64)values[1],
                                                  .hidden = (gint64)values[2],
                                                  .inter = (gint64)values[3],
                                                  .topk = (gint64)values[4],
                                                  .experts = (gint64)values[5],
                                                  .tp = (gint64)values[6],
                                                  .ep = (gint64)values[7],
                                                  .projections = (gint64)values[9],
                                                  .imbalance = values[8]});
  return ask_operator(cost, &op, values[10]);
}

static OrrCost answer_collective(const OrrCostModel *cost, const char *name, const double *values) {
  OrrCost answer;
  if (orr_cost_collective(cost, name, (gint64)values[0], values[1], &answer)) return answer;
  return orr_cost_collective_ring(cost, name, (gint64)values[0], values[1]);
}

/* "deepep_dispatch", "alltoall_combine": the part after the first '_' is the kernel's. */
static const char *op_of(const char *name) { return strchr(name, '_') + 1; }

static OrrCost answer_library(const OrrCostModel *cost, const OrrLibraryCall *call) {
  OrrCost answer;
  return orr_cost_library(cost, call, &answer) ? answer : orr_cost_library_modelled(cost, call);
}

/* values: mode, nodes, GPUs of a node, tokens, hidden, topk, experts. */
static OrrCost answer_deepep(const OrrCostModel *cost, const char *name, const double *values) {
  OrrLibraryCall call = {.library = values[0] > 0 ? "deepep-low-latency" : "deepep",
                         .op = op_of(name),
                         .size = values[3],
                         .hidden = (gint64)values[4],
                         .topk = (gint64)values[5],
                         .experts = (gint64)values[6]};
  gint64 known = values[2] > 0 ? (gint64)values[2] : orr_cost_library_ranks(cost, &call);
  call.n_ranks = (gint64)values[1] * (known > 0 ? known : DEFAULT_GPUS);
  return answer_library(cost, &call);
}

/* values: source, format, ranks, tokens, hidden, topk, experts. */
static OrrCost answer_trtllm(const OrrCostModel *cost, const char *name, const double *values) {
  const OrrLibraryCall call = {.library = values[0] > 0 ? "trtllm-one-sided" : "trtllm-two-sided",
                               .op = op_of(name),
                               .dtype = orr_dtype_names[(int)values[1]],
                               .n_ranks = (gint64)values[2],
                               .size = values[3],
                               .hidden = (gint64)values[4],
                               .topk = (gint64)values[5],
                               .experts = (gint64)values[6]};
  return answer_library(cost, &call);
}

#define HEAD_KEYS                                                                                  \
  {"attn_dtype", FORMAT, "bfloat16"}, {"kv_cache_dtype", FORMAT, "bfloat16"},                      \
      {"batch_size", COUNT, NULL}, {"num_heads", COUNT, NULL},                                     \
      {"num_key_value_heads", COUNT, NULL}, {"head_dim", COUNT, NULL}, {                           \
    "window_size", NO_WINDOW, "0"                                                                  \
  }
#define COLLECTIVE(name_)                                                                          \
  { name_, {{"n_gpus", COUNT, NULL}, {"bytes", SIZE, NULL}}, answer_collective }

#define DEEPEP(name_)                                                                              \
  {                                                                                                \
    name_,                                                                                         \
        {{"mode", DEEPEP_MODE, "normal"},                                                          \
         {"node_num", COUNT, "1"},                                                                 \
         {"gpus_per_node", KNOWN_COUNT, "known"},                                                  \
         {"num_token_per_rank", COUNT, NULL},                                                      \
         {"hidden", COUNT, NULL},                                                                  \
         {"topk", COUNT, NULL},                                                                    \
         {"num_experts", COUNT, NULL}},                                                            \
        answer_deepep                                                                              \
  }
#define TRTLLM(name_)                                                                              \
  {                                                                                                \
    name_,                                                                                         \
        {{"kernel_source", TRTLLM_SOURCE, "NVLinkTwoSided"},                                       \
         {"moe_dtype", FORMAT, "bfloat16"},                                                        \
         {"moe_ep_size", COUNT, NULL},                                                             \
         {"num_tokens", COUNT, NULL},                                                              \
         {"hidden_size", COUNT, NULL},                                                             \
         {"topk", COUNT, NULL},                                                                    \
         {"num_experts", COUNT, NULL},                                                             \
         {"distribution", BALANCED, "balanced"}},                                                  \
        answer_trtllm                                                                              \
  }

static const Question questions[] = {
    COLLECTIVE("all_gather"),
    COLLECTIVE("all_reduce"),
    COLLECTIVE("alltoall"),
    TRTLLM("alltoall_combine"),
    TRTLLM("alltoall_combine_low_precision"),
    TRTLLM("alltoall_dispatch"),
    TRTLLM("alltoall_prepare"),
    {"attention_decode", {HEAD_KEYS, {"isl", COUNT, "1"}, {"step", COUNT, NULL}}, answer_decode},
    {"attention_prefill", {HEAD_KEYS, {"isl", COUNT, NULL}}, answer_prefill},
    COLLECTIVE("broadcast"),
    DEEPEP("deepep_combine"),
    DEEPEP("deepep_dispatch"),
    {"gemm",
     {{"gemm_dtype", FORMAT, "bfloat16"},
      {"m", COUNT, NULL},
      {"n", COUNT, NULL},
      {"k", COUNT, NULL},
      {"batch", COUNT, "1"},
      {"sustained", YES_NO, "no"}},
     answer_gemm},
    {"memory", {{"bytes", SIZE, NULL}}, answer_memory},
    {"moe_ffn",
     {{"moe_dtype", FORMAT, "bfloat16"},
      {"num_tokens", COUNT, NULL},
      {"hidden_size", COUNT, NULL},
      {"inter_size", COUNT, NULL},
      {"topk", COUNT, NULL},
      {"num_experts", COUNT, NULL},
      {"moe_tp_size", COUNT, "1"},
      {"moe_ep_size", COUNT, "1"},
      {"distribution", DISTRIBUTION, "balanced"},
      {"projections", PROJECTIONS, "known"},
      {"sustained", YES_NO, "no"}},
     answer_moe},
    COLLECTIVE("reduce"),
    COLLECTIVE("reduce_scatter"),
    COLLECTIVE("sendrecv"),
};

/* "all-reduce" is "all_reduce". */
static const Question *find_question(const char *asked, GError **error) {
  const char *names[G_N_ELEMENTS(questions) + 1] = {NULL};
  g_autofree char *name = g_strdelimit(g_strdup(asked), "-", '_');
  for (guint i = 0; i < G_N_ELEMENTS(questions); i++) {
    if (strcmp(questions[i].name, name) == 0) return &questions[i];
    names[i] = questions[i].name;
  }
  const char *nearest = orr_diag_nearest_word(name, names);
  g_autofree char *allowed = g_strjoinv(", ", (char **)names);
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "unknown operator '%s'%s%s%s (allowed: %s)", asked,
              nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
              allowed);
  return NULL;
}

char *orr_ask_help(void) {
  GString *help = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(questions); i++) {
    g_string_append(help, questions[i].name);
    for (const Key *key = questions[i].keys; key->name; key++)
      g_string_append_printf(help, key->fallback ? " [%s=%s]" : " %s=%s", key->name,
                             key->fallback ? key->fallback : "...");
    g_string_append_c(help, '\n');
  }
  return g_string_free(help, FALSE);
}

/* --- values --- */

static gboolean parse_word(KeyKind kind, const char *text, double *ret_value) {
  if (kind == YES_NO) {
    *ret_value = strcmp(text, "yes") == 0;
    return *ret_value || strcmp(text, "no") == 0;
  }
  if (kind == BALANCED) return strcmp(text, "balanced") == 0;
  if (kind == TRTLLM_SOURCE) {
    *ret_value = strcmp(text, "NVLinkOneSided") == 0;
    return *ret_value || strcmp(text, "NVLinkTwoSided") == 0;
  }
  *ret_value = strcmp(text, "low_latency") == 0 || strcmp(text, "low-latency") == 0;
  return *ret_value || g_str_has_prefix(text, "normal"); /* tables say "normal(best SM count)" */
}

static gboolean parse_value(const Key *key, const char *text, double *ret_value, GError **error) {
  static const char *const wants[] = {
      [COUNT] = "a whole number above 0",
      [KNOWN_COUNT] = "a whole number above 0, or known (the fewest that the profile has rows of)",
      [SIZE] = "a number above 0",
      [FORMAT] = "a number format such as bfloat16",
      [NO_WINDOW] = "0: windowed attention is not known",
      [DISTRIBUTION] = "balanced or power_law_A",
      [BALANCED] = "balanced: other loads were not measured",
      [PROJECTIONS] = "3 (gate, up, down), 2 (no gate) or known (as measured, else 3)",
      [YES_NO] = "yes (amid others of its kind, under the board's power limit) or no (a burst)",
      [DEEPEP_MODE] = "normal or low_latency",
      [TRTLLM_SOURCE] = "NVLinkTwoSided or NVLinkOneSided"};
  OrrDtype dtype;
  char *end;
  double value = g_ascii_strtod(text, &end);
  gboolean good = end > text && !*end && isfinite(value);
  if (key->kind == FORMAT) {
    good = orr_measured_dtype(text, &dtype);
    value = good ? dtype : 0;
  } else if (key->kind == PROJECTIONS) {
    gboolean known = strcmp(text, "known") == 0;
    good = known || (good && (value == 2 || value == 3));
    value = known ? 0 : value;
  } else if (key->kind == DISTRIBUTION) {
    good = orr_profile_moe_imbalance(text, &value);
  } else if (key->kind == YES_NO || key->kind == BALANCED || key->kind == DEEPEP_MODE ||
             key->kind == TRTLLM_SOURCE) {
    value = 0;
    good = parse_word(key->kind, text, &value);
  } else if (key->kind == KNOWN_COUNT && strcmp(text, "known") == 0) {
    value = 0;
    good = TRUE;
  } else if (key->kind == NO_WINDOW) {
    good = good && value == 0;
  } else {
    good = good && value > 0 && value < 1e15 && (key->kind == SIZE || value == floor(value));
  }
  if (!good) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s is '%s': want %s", key->name, text,
                wants[key->kind]);
    return FALSE;
  }
  *ret_value = value;
  return TRUE;
}

static void set_fallbacks(const Question *question, double *values) {
  for (int i = 0; i < MAX_KEYS && question->keys[i].name; i++) {
    values[i] = NAN;
    if (question->keys[i].fallback)
      parse_value(&question->keys[i], question->keys[i].fallback, &values[i], NULL);
  }
}

static gboolean check_exchange(const double *values, GError **error) {
  if (values[5] <= values[6]) return TRUE;
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_USAGE, "topk must not be above num_experts");
  return FALSE;
}

static gboolean check_moe(const double *values, GError **error) {
  const char *wrong = fmod(values[5], values[7]) != 0   ? "moe_ep_size must divide num_experts"
                      : fmod(values[3], values[6]) != 0 ? "moe_tp_size must divide inter_size"
                      : values[4] > values[5]           ? "topk must not be above num_experts"
                                                        : NULL;
  if (wrong) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_USAGE, wrong);
  return !wrong;
}

/* What one value says of another. */
static gboolean check_values(const Question *question, const double *values, GError **error) {
  if (question->answer == answer_moe) return check_moe(values, error);
  if (question->answer == answer_deepep || question->answer == answer_trtllm)
    return check_exchange(values, error);
  if (question->answer != answer_prefill && question->answer != answer_decode) return TRUE;
  if (fmod(values[3], values[4]) == 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "num_key_value_heads must divide num_heads");
  return FALSE;
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
    if (!equals) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "'%s': want key=value", key_values[i]);
      return FALSE;
    }
    int key = find_key(question, key_values[i], (gsize)(equals - key_values[i]), error);
    if (key < 0 || !parse_value(&question->keys[key], equals + 1, &values[key], error))
      return FALSE;
    if (is_given[key]) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s is given twice", question->keys[key].name);
      return FALSE;
    }
    is_given[key] = TRUE;
  }
  for (int i = 0; i < MAX_KEYS && question->keys[i].name; i++)
    if (isnan(values[i])) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s needs %s=...", question->name,
                  question->keys[i].name);
      return FALSE;
    }
  return check_values(question, values, error);
}

static gboolean answer(const OrrCostModel *cost, const Question *question, const double *values,
                       OrrCost *ret_cost, GError **error) {
  *ret_cost = question->answer(cost, question->name, values);
  if (isfinite(ret_cost->time_s)) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "%s: device %s states no link to other devices: scale-up-bandwidth or "
              "host-link-bandwidth is needed",
              question->name, cost->device->name ? cost->device->name : "?");
  return FALSE;
}

gboolean orr_ask_operator(const OrrCostModel *cost, const char *operator_name,
                          const char *const *key_values, OrrCost *ret_cost, GError **error) {
  const Question *question = find_question(operator_name, error);
  double values[MAX_KEYS];
  if (!question || !read_pairs(question, key_values, values, error)) return FALSE;
  return answer(cost, question, values, ret_cost, error);
}

char *orr_ask_note(const OrrCostModel *cost, const char *operator_name,
                   const char *const *key_values) {
  const Question *question = find_question(operator_name, NULL);
  double values[MAX_KEYS];
  if (!question || question->answer != answer_gemm ||
      !read_pairs(question, key_values, values, NULL))
    return NULL;
  return values[4] > 1
             ? NULL
             : orr_cost_gemm_aside(cost, (OrrDtype)values[0], values[1], values[2], values[3]);
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

static void find_columns(Rows *rows) {
  const OrrCsvLine *header = rows->csv->lines->pdata[rows->csv->header_line];
  rows->op_column = orr_csv_column(rows->csv, "op");
  if (rows->op_column < 0) rows->op_column = orr_csv_column(rows->csv, "op_name");
  for (int i = 0; i < MAX_KEYS && rows->question->keys[i].name; i++) {
    const Key *key = &rows->question->keys[i];
    rows->columns[i] = orr_csv_column(rows->csv, key->name);
    if (rows->columns[i] < 0 && !key->fallback)
      orr_diags_error(rows->diags, header->place, "no column '%s', which %s needs", key->name,
                      rows->question->name);
  }
}

static gboolean read_row(const Rows *rows, const OrrCsvLine *line, double *values) {
  gboolean good = TRUE;
  g_autoptr(GError) error = NULL;
  set_fallbacks(rows->question, values);
  for (int i = 0; i < MAX_KEYS && rows->question->keys[i].name; i++) {
    if (rows->columns[i] < 0) continue;
    if (!parse_value(&rows->question->keys[i], line->cells[rows->columns[i]], &values[i], &error)) {
      orr_diags_error(rows->diags, line->place, "%s", error->message);
      g_clear_error(&error);
      good = FALSE;
    }
  }
  if (good && !check_values(rows->question, values, &error)) {
    orr_diags_error(rows->diags, line->place, "%s", error->message);
    return FALSE;
  }
  return good;
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
    OrrCost told;
    if (!answer(rows->cost, rows->question, values, &told, &error)) {
      orr_diags_error(rows->diags, line->place, "%s", error->message);
      return;
    }
    g_ascii_formatd(buffer, sizeof buffer, "%.6g", told.time_s * 1e6);
    const char *how =
        orr_cost_how_text(told.from ? told.from : orr_cost_carried_from(rows->cost), told.how);
    g_string_append_printf(text, ",%s,%s", buffer, how);
  }
  g_string_append_c(text, '\n');
}

gboolean orr_ask_rows(const OrrCostModel *cost, const char *operator_name, const char *csv_path,
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
