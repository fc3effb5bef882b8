/*
 * difference.c - subtracts kind by kind, and family by family.
 */
#include "sim/explain/explain.h"

static char *interned(const char *text) { return (char *)g_intern_string(text); }

/* Kernels that serving cannot distinguish. */
static const char *const others = "gemm and others";

/* --- Kinds --- */

static double seconds_of(const OrrAccount *account, int kind, gboolean is_coarse) {
  if (!account) return NAN;
  const double *seconds = account->seconds;
  if (!is_coarse) return seconds[kind];
  if (kind == ORR_EXPLAIN_GEMM)
    return seconds[ORR_EXPLAIN_GEMM] + seconds[ORR_EXPLAIN_MEMORY] +
           seconds[ORR_EXPLAIN_OPTIMIZER] + seconds[ORR_EXPLAIN_UNKNOWN];
  return kind == ORR_EXPLAIN_MEMORY || kind == ORR_EXPLAIN_OPTIMIZER || kind == ORR_EXPLAIN_UNKNOWN
             ? 0
             : seconds[kind];
}

static void add_kinds(const OrrAccount *measured, const OrrAccount *simulated, gboolean is_coarse,
                      GArray *kinds) {
  const double measured_s = measured->end_s - measured->begin_s,
               gap_s = simulated ? measured_s - (simulated->end_s - simulated->begin_s) : NAN;
  for (int kind = 0; kind < ORR_N_EXPLAIN; kind++) {
    OrrExplainKindRow row = {
        .kind = interned(is_coarse && kind == ORR_EXPLAIN_GEMM ? others : orr_explain_words[kind]),
        .measured_s = seconds_of(measured, kind, is_coarse),
        .simulated_s = seconds_of(simulated, kind, is_coarse)};
    row.difference_s = row.measured_s - row.simulated_s;
    row.gap_share = fabs(gap_s) > 1e-9 * measured_s ? row.difference_s / gap_s : NAN;
    g_array_append_val(kinds, row);
  }
}

/* --- Families --- */

static gboolean knows_purposes(const OrrAccount *account) {
  for (guint i = 0; account && i < account->parts->len; i++) {
    const OrrAccountPart *part = &g_array_index(account->parts, OrrAccountPart, i);
    if (part->family->kind == ORR_EXPLAIN_COMM && !part->purpose) return FALSE;
  }
  return TRUE;
}

typedef struct {
  gboolean with_purpose, is_coarse;
} Labels;

static OrrExplainDifferenceRow *row_of(GArray *families, const OrrAccountPart *part,
                                       Labels labels) {
  const OrrExplainKind kind = part->family->kind;
  const gboolean is_one =
      labels.is_coarse && (kind == ORR_EXPLAIN_GEMM || kind == ORR_EXPLAIN_MEMORY ||
                           kind == ORR_EXPLAIN_OPTIMIZER || kind == ORR_EXPLAIN_UNKNOWN);
  g_autofree char *label = is_one             ? g_strdup(others)
                           : labels.is_coarse ? g_strdup(orr_explain_words[kind])
                           : part->purpose && labels.with_purpose
                               ? g_strdup_printf("%s (%s)", part->family->name, part->purpose)
                               : g_strdup(part->family->name);
  ORR_EACH(OrrExplainDifferenceRow, row, families)
    if (strcmp(row->family, label) == 0) return row;
  ORR_APPEND(
      families, OrrExplainDifferenceRow,
      {.family = interned(label), .kind = interned(is_one ? others : orr_explain_words[kind])});
  return &g_array_index(families, OrrExplainDifferenceRow, families->len - 1);
}

static int by_difference(gconstpointer a, gconstpointer b) {
  const OrrExplainDifferenceRow *x = a, *y = b;
  const double p = isnan(x->difference_s) ? x->measured_s : fabs(x->difference_s),
               q = isnan(y->difference_s) ? y->measured_s : fabs(y->difference_s);
  return (p < q) - (p > q);
}

static const char *text_of(const OrrDifferenceSide *side, const OrrAccountPart *part) {
  return g_array_index(side->timeline->names, OrrTimelineName, part->most).text;
}

void orr_difference_add(const OrrDifferenceSide *measured, const OrrDifferenceSide *simulated,
                        gboolean is_coarse, GArray *kinds, GArray *families) {
  const OrrAccount *own = measured->account, *other = simulated ? simulated->account : NULL;
  const Labels labels = {knows_purposes(own) && knows_purposes(other), is_coarse};
  add_kinds(own, other, is_coarse, kinds);
  ORR_EACH(const OrrAccountPart, part, own->parts) {
    OrrExplainDifferenceRow *row = row_of(families, part, labels);
    row->measured_calls += (gint64)part->calls;
    row->measured_s += part->seconds;
    if (!row->longest) row->longest = interned(text_of(measured, part));
  }
  for (guint i = 0; other && i < other->parts->len; i++) {
    const OrrAccountPart *part = &g_array_index(other->parts, OrrAccountPart, i);
    OrrExplainDifferenceRow *row = row_of(families, part, labels);
    row->simulated_calls += (gint64)part->calls;
    row->simulated_s += part->seconds;
    if (!row->longest) row->longest = interned(text_of(simulated, part));
  }
  ORR_EACH(OrrExplainDifferenceRow, row, families) {
    if (!other) row->simulated_s = NAN;
    row->difference_s = row->measured_s - row->simulated_s;
  }
  g_array_sort(families, by_difference);
}
