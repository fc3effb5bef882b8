/*
 * simulated.c - divides the spans of a run into kernels.
 */
#include "sim/explain/explain.h"

#include "sim/base/number.h"
#include "sim/run/answer/run_kind.h"

/* A part of a span of computation: @name is G_MAXUINT32 for a gap. */
typedef struct {
  guint32 name;
  double fraction;
} Piece;

typedef struct {
  const OrrOutcome *outcome;
  OrrTimeline *timeline;
  GHashTable *pieces; /* label -> GArray of Piece */
  GArray *ends;       /* of guint: the spans of computation so far, by their ends */
} Maker;

/* The first word that the name of an operator has says its family. */
static const char *const operator_families[][2] = {
    {"norm", "norm"},
    {"rope", "rope"},
    {"gelu", "activation"},
    {"swiglu", "activation"},
    {"silu", "activation"},
    {"glu", "activation"},
    {"activation", "activation"},
    {"softmax", "softmax"},
    {"dropout", "dropout"},
    {"entropy", "cross entropy"},
    {"loss", "cross entropy"},
    {"embedding", "embedding"},
    {"cast", "quantise"},
    {"quant", "quantise"},
    {"permute", "moe routing"},
    {"sort", "moe routing"},
    {"topk", "moe routing"},
    {"scan", "scan"},
    {"conv", "scan"},
    {"concat", "copy kernel"},
    {"transpose", "copy kernel"},
    {"copy", "copy kernel"},
    {"scatter", "copy kernel"},
    {"experts", "grouped gemm"},
};

static guint32 family_name(const Maker *maker, const OrrKernelFamily *family, const char *purpose) {
  g_autofree char *text = g_strconcat("orrery::", family->name, NULL);
  return orr_timeline_name(maker->timeline, text, purpose, 0);
}

static gboolean is_comm(OrrTimeKind kind) {
  return kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM;
}

/* "tp" of "tp-comm", interned. */
static const char *purpose_of(const char *category) {
  g_autofree char *purpose = g_strndup(category, strcspn(category, "-"));
  return g_intern_string(purpose);
}

static const OrrKernelFamily *family_of_op(const char *op) {
  return orr_kernel_family_named(strcmp(op, "reduce") == 0 ? "reduce to one" : op,
                                 ORR_EXPLAIN_COMM);
}

static void add_piece(GArray *pieces, guint32 name, double fraction) {
  ORR_EACH(Piece, piece, pieces) {
    if (piece->name != name) continue;
    piece->fraction += fraction;
    return;
  }
  const Piece piece = {name, fraction};
  if (fraction > 0) g_array_append_val(pieces, piece);
}

/* --- Operators --- */

static OrrExplainKind kind_of(OrrTimeKind kind) {
  return kind == ORR_TIME_GEMM        ? ORR_EXPLAIN_GEMM
         : kind == ORR_TIME_ATTENTION ? ORR_EXPLAIN_ATTENTION
         : kind == ORR_TIME_OPTIMIZER ? ORR_EXPLAIN_OPTIMIZER
         : kind == ORR_TIME_MEMORY    ? ORR_EXPLAIN_MEMORY
                                      : ORR_EXPLAIN_IDLE;
}

static const OrrKernelFamily *family_of_operator(const OrrOperatorRow *row, OrrExplainKind kind) {
  if (kind == ORR_EXPLAIN_ATTENTION)
    return orr_kernel_family_named(
        strstr(row->phase, "backward") ? "attention backward" : "attention forward", kind);
  for (guint i = 0; i < G_N_ELEMENTS(operator_families); i++) {
    if (!strstr(row->name, operator_families[i][0])) continue;
    const OrrKernelFamily *family = orr_kernel_family_named(operator_families[i][1], kind);
    if (family->kind == kind) return family;
  }
  return orr_kernel_family_named("", kind);
}

static OrrExplainKind kind_of_operator(const OrrOperatorRow *row) {
  return strcmp(row->kind, "attention") == 0 ? ORR_EXPLAIN_ATTENTION
         : strcmp(row->kind, "memory") == 0  ? ORR_EXPLAIN_MEMORY
         : strcmp(row->kind, "comm") == 0    ? ORR_EXPLAIN_COMM
         : strstr(row->phase, "optimizer")   ? ORR_EXPLAIN_OPTIMIZER
                                             : ORR_EXPLAIN_GEMM;
}

/* Divides @fraction of a span among the families of @kind, by the operators of the passes that the
 * label's name begins with ("forward", "backward"). */
static void add_operators(const Maker *maker, GArray *pieces, const char *label,
                          OrrExplainKind kind, double fraction) {
  const GArray *rows = maker->outcome->operators;
  const char *pass = g_str_has_prefix(label, "forward")    ? "forward"
                     : g_str_has_prefix(label, "backward") ? "backward"
                                                           : "";
  double sum = 0;
  for (guint again = 0; again < 2; again++) {
    ORR_EACH(const OrrOperatorRow, row, rows) {
      if (kind_of_operator(row) != kind || !strstr(row->phase, pass)) continue;
      if (!again)
        sum += row->seconds_total;
      else if (sum > 0)
        add_piece(pieces, family_name(maker, family_of_operator(row, kind), NULL),
                  fraction * row->seconds_total / sum);
    }
  }
  if (sum <= 0)
    add_piece(pieces, family_name(maker, orr_kernel_family_named("", kind), NULL), fraction);
}

/* The same for collectives that a span of computation holds, for this purpose. */
static void add_collectives(const Maker *maker, GArray *pieces, OrrTimeKind kind, double fraction) {
  const GArray *rows = maker->outcome->collectives;
  const char *purpose = purpose_of(orr_time_words[kind]);
  double sum = 0;
  for (guint again = 0; again < 2; again++) {
    ORR_EACH(const OrrCollectiveRow, row, rows) {
      if (!g_str_has_prefix(row->name, purpose)) continue;
      const double seconds = row->mean_s * (double)row->count;
      if (!again)
        sum += seconds;
      else if (sum > 0)
        add_piece(pieces, family_name(maker, family_of_op(row->op), purpose),
                  fraction * seconds / sum);
    }
  }
  if (sum <= 0) add_piece(pieces, family_name(maker, family_of_op(""), purpose), fraction);
}

static GArray *pieces_of(const Maker *maker, guint32 label, const char *name) {
  GArray *pieces = g_hash_table_lookup(maker->pieces, GUINT_TO_POINTER(label));
  if (pieces) return pieces;
  pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
  g_hash_table_insert(maker->pieces, GUINT_TO_POINTER(label), pieces);
  const GArray *parts = maker->outcome->label_seconds;
  const double *seconds = parts && (label + 1) * ORR_N_TIMES <= parts->len
                              ? &g_array_index(parts, double, label *ORR_N_TIMES)
                              : NULL;
  double sum = 0;
  for (int kind = 0; seconds && kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  for (int kind = 0; sum > 0 && kind < ORR_N_TIMES; kind++) {
    const double fraction = seconds[kind] / sum;
    if (fraction <= 0) continue;
    if (is_comm(kind))
      add_collectives(maker, pieces, (OrrTimeKind)kind, fraction);
    else if (kind == ORR_TIME_OFFLOAD)
      add_piece(pieces, family_name(maker, orr_kernel_family_named("copy", 0), NULL), fraction);
    else if (kind_of(kind) != ORR_EXPLAIN_IDLE)
      add_operators(maker, pieces, name, kind_of(kind), fraction);
    else
      add_piece(pieces, G_MAXUINT32, fraction);
  }
  return pieces;
}

/* --- Spans --- */

/* Streams are numbered as they first appear. */
static gint64 stream_of(GPtrArray *streams, const char *stream) {
  guint at;
  if (g_ptr_array_find(streams, stream, &at)) return at;
  g_ptr_array_add(streams, (gpointer)stream);
  return streams->len - 1;
}

static void add_work(const Maker *maker, const OrrSpanRow *span, guint32 label, gint64 stream) {
  const GArray *pieces = pieces_of(maker, label, span->name);
  double at_s = span->begin_s;
  ORR_EACH_AT(i, const Piece, piece, pieces) {
    const double next_s =
        i + 1 == pieces->len ? span->end_s : at_s + piece->fraction * (span->end_s - span->begin_s);
    if (piece->name != G_MAXUINT32)
      orr_timeline_add(maker->timeline, piece->name, span->lane, stream, at_s, next_s);
    at_s = next_s;
  }
}

/* When the kernel of a communication begins. Between stages, not before the computation that comes
 * before it is done: a receiver launches it when it has nothing else to do. */
static double comm_begin(const Maker *maker, const OrrSpanRow *span) {
  if (strcmp(span->category, orr_time_words[ORR_TIME_PP_COMM]) != 0) return span->begin_s;
  double begin_s = span->begin_s;
  for (guint i = maker->ends->len; i-- > 0;) {
    const OrrSpanRow *work =
        &g_array_index(maker->outcome->spans, OrrSpanRow, g_array_index(maker->ends, guint, i));
    if (work->lane != span->lane || work->end_s > span->started_s) continue;
    begin_s = MAX(begin_s, work->end_s);
    break;
  }
  return begin_s;
}

static void add_comm(const Maker *maker, const OrrSpanRow *span, gint64 stream) {
  const GArray *rows = maker->outcome->collectives;
  const OrrCollectiveRow *row = NULL;
  for (guint i = 0; i < rows->len && !row; i++)
    if (strcmp(g_array_index(rows, OrrCollectiveRow, i).name, span->name) == 0)
      row = &g_array_index(rows, OrrCollectiveRow, i);
  const OrrKernelFamily *family = family_of_op(row                                  ? row->op
                                               : g_str_has_prefix(span->name, "pp") ? "send-recv"
                                                                                    : "all-reduce");
  g_autofree char *text = g_strconcat("orrery::", family->name, NULL);
  const guint32 name =
      orr_timeline_name(maker->timeline, text, purpose_of(span->category), row ? row->bytes : 0);
  orr_timeline_add(maker->timeline, name, span->lane, stream, comm_begin(maker, span), span->end_s);
}

static void add_span(const Maker *maker, const OrrSpanRow *span, guint32 label, gint64 stream) {
  const int kind = orr_time_kind(span->category);
  if (strcmp(span->category, "compute") == 0)
    add_work(maker, span, label, stream);
  else if (is_comm(kind))
    add_comm(maker, span, stream);
  else if (kind == ORR_TIME_OFFLOAD)
    orr_timeline_add(maker->timeline, family_name(maker, orr_kernel_family_named("copy", 0), NULL),
                     span->lane, stream, span->started_s, span->end_s);
}

/* Steps that repeat one before them have no spans. */
static void add_steps(OrrTimeline *timeline, const OrrOutcome *outcome) {
  ORR_EACH(const OrrStepRow, step, outcome->steps) {
    g_autofree char *name = g_strdup_printf("ProfilerStep#%d", (int)step->step);
    if (!step->repeated) orr_timeline_add_step(timeline, name, step->begin_s, step->end_s);
  }
}

/* --- Serving --- */

static double median_step(const OrrOutcome *outcome) {
  g_autoptr(GArray) seconds = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH(const OrrServingStepRow, row, outcome->serving_steps)
    g_array_append_val(seconds, row->step_s);
  if (seconds->len == 0) return 0;
  g_array_sort(seconds, orr_number_compare);
  return g_array_index(seconds, double, (seconds->len - 1) / 2);
}

/* Of the time that the replicas' GPUs are busy or wait for their host, the part of the latter. */
static double host_part(const OrrOutcome *outcome) {
  double host = 0, busy = 0;
  ORR_EACH(const OrrServingReplicaRow, row, outcome->serving_replicas) {
    host += row->host_fraction;
    busy += row->gpu_busy;
  }
  return host + busy > 0 ? host / (host + busy) : 0;
}

static void add_serving(const Maker *maker) {
  const OrrOutcome *outcome = maker->outcome;
  const double step_s = median_step(outcome), busy_s = step_s * (1 - host_part(outcome));
  const double attention_s = busy_s * outcome->attention_fraction,
               comm_s = busy_s * outcome->result.serving.comm_fraction;
  const struct {
    OrrExplainKind kind;
    double seconds;
  } parts[] = {{ORR_EXPLAIN_ATTENTION, attention_s},
               {ORR_EXPLAIN_COMM, comm_s},
               {ORR_EXPLAIN_GEMM, MAX(busy_s - attention_s - comm_s, 0)}};
  double at_s = 0;
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
    const OrrKernelFamily *family = orr_kernel_family_named("", parts[i].kind);
    if (parts[i].seconds > 0)
      orr_timeline_add(maker->timeline, family_name(maker, family, NULL), 0, 0, at_s,
                       at_s + parts[i].seconds);
    at_s += parts[i].seconds;
  }
  orr_timeline_add_step(maker->timeline, "step of the engine", 0, step_s);
}

gboolean orr_simulated_is_coarse(const OrrOutcome *outcome) {
  return outcome->serving_steps->len > 0;
}

/* --- All --- */

static OrrTimeline *refuse(GError **error, const char *wrong) {
  return orr_fault_null(error, ORR_FAULT_USAGE, "%s", wrong);
}

OrrTimeline *orr_simulated_timeline(const OrrOutcome *outcome, gint64 lane, GError **error) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  g_autoptr(GHashTable) pieces =
      g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
  g_autoptr(GPtrArray) streams = g_ptr_array_new();
  g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(guint));
  const Maker maker = {outcome, timeline, pieces, ends};
  const guint n_lanes = MAX(outcome->lanes->len, 1);
  if (lane >= (gint64)n_lanes)
    return orr_fault_null(
        error, ORR_FAULT_USAGE,
        "--lane takes a rank class of the run, 0 to %u (the view slowest-ranks lists "
        "them), found %d",
        n_lanes - 1, (int)lane);
  if (orr_simulated_is_coarse(outcome)) add_serving(&maker);
  ORR_EACH_AT(i, const OrrSpanRow, span, outcome->spans) {
    if (strcmp(span->category, "compute") == 0) g_array_append_val(ends, i);
    if (lane < 0 || span->lane == lane)
      add_span(&maker, span, g_array_index(outcome->span_labels, guint32, i),
               stream_of(streams, span->stream));
  }
  if (timeline->events->len == 0)
    return refuse(error, "the run keeps no time line that a trace can be compared with");
  add_steps(timeline, outcome);
  orr_timeline_sort(timeline);
  return g_steal_pointer(&timeline);
}
