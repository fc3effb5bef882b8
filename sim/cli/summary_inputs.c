/*
 * summary_inputs.c - the spread of the main results over the replays of uncertain inputs, and the
 * inputs that it comes from.
 */
#include "sim/cli/summary.h"

#include "sim/bands/inputs.h"
#include "sim/base/json_write.h"

/* The results that the line lists, where the answer has them; the first one with a width is the one
 * whose causes are listed. */
static const struct {
  const char *metric, *label;
  OrrUnit unit;
  const char *suffix;
} mains[] = {
    {"goodput", "goodput", ORR_UNIT_FRACTION, ""}, /* campaigns */
    {"jct_mean_s", "completion mean", ORR_UNIT_SECONDS, ""},
    {"wait_mean_s", "wait mean", ORR_UNIT_SECONDS, ""},
    {"iteration_time_s", "iteration", ORR_UNIT_SECONDS, ""},
    {"step_time_s", "step", ORR_UNIT_SECONDS, ""}, /* post-training */
    {"step_s", "step", ORR_UNIT_SECONDS, ""},
    {"latency_s", "latency", ORR_UNIT_SECONDS, ""},
    {"time_s", "time", ORR_UNIT_SECONDS, ""},
    {"ttft_mean_s", "ttft mean", ORR_UNIT_SECONDS, ""},
    {"tpot_mean_s", "tpot mean", ORR_UNIT_SECONDS, ""},
    {"output_tokens_per_s", "output", ORR_UNIT_NONE, " tokens/s"},
    {"task_p50_s", "tasks p50", ORR_UNIT_SECONDS, ""},
    {"memory_peak_bytes", "memory", ORR_UNIT_BYTES, ""},
};

/* Whether the ends of the spread differ in four digits, as many as are printed. */
static gboolean has_width(const OrrInputSpreadRow *row) {
  return row->p90 - row->p10 > 1e-4 * ABS(row->value);
}

/* The first of mains that has a width; NULL: none. */
static const OrrInputSpreadRow *main_spread(const OrrOutcome *outcome) {
  for (guint i = 0; i < G_N_ELEMENTS(mains); i++) {
    const OrrInputSpreadRow *row = orr_inputs_spread(outcome, mains[i].metric);
    if (row && has_width(row)) return row;
  }
  return NULL;
}

static const char *no_spread(const OrrOutcome *outcome) {
  ORR_EACH(const OrrInputSpreadRow, row, outcome->input_spreads)
    if (has_width(row)) return "no spread of the main results (view inputs has the others)";
  return "no spread";
}

static void add_spreads(OrrPage *page, const OrrOutcome *outcome) {
  guint n = 0;
  orr_page_line(page, orr_inputs_are_seeds(outcome) ? "chance" : "inputs", "%s", "");
  for (guint i = 0; i < G_N_ELEMENTS(mains); i++) {
    const OrrInputSpreadRow *row = orr_inputs_spread(outcome, mains[i].metric);
    if (!row || !has_width(row)) continue;
    g_autofree char *range = orr_summary_band_range(row->value, row->p10, row->p90, mains[i].unit);
    orr_page_item(page, "%s %s%s", mains[i].label, range, mains[i].suffix);
    n++;
  }
  if (n == 0) orr_page_more(page, "%s", no_spread(outcome));
}

static guint count(const OrrOutcome *outcome, const char *status) {
  guint n = 0;
  ORR_EACH(const OrrInputReplayRow, row, outcome->input_replays)
    n += g_str_equal(row->status, status);
  return n;
}

/* The first line of the first reason. */
static const char *first_failure(OrrPage *page, const OrrOutcome *outcome) {
  ORR_EACH(const OrrInputReplayRow, row, outcome->input_replays)
    if (g_str_equal(row->status, "failed"))
      return orr_page_keep(page, g_strndup(row->reason, strcspn(row->reason, "\n")));
  return "";
}

static void add_counts(OrrPage *page, const OrrOutcome *outcome) {
  const guint n_failed = count(outcome, "failed"), n_over = count(outcome, "over-memory");
  orr_page_more(page, " (p10 to p90 of %u replays%s)", outcome->input_replays->len,
                orr_inputs_are_seeds(outcome) ? " with other seeds" : "");
  if (n_over > 0)
    orr_page_more(page, "; %u %s not fit memory", n_over, n_over == 1 ? "does" : "do");
  if (n_failed > 0)
    orr_page_more(page, "; %u %s no result: %s", n_failed, n_failed == 1 ? "has" : "have",
                  first_failure(page, outcome));
}

static int compare_effects(gconstpointer a, gconstpointer b) {
  const OrrInputEffectRow *x = *(OrrInputEffectRow *const *)a, *y = *(OrrInputEffectRow *const *)b;
  return (x->fraction < y->fraction) - (x->fraction > y->fraction);
}

/* "cluster.nic-bandwidth 83 %, workload.load.rate 17 %", the largest first. */
static void add_effects(OrrPage *page, const OrrOutcome *outcome, const char *metric) {
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  ORR_EACH(OrrInputEffectRow, row, outcome->input_effects)
    if (g_str_equal(row->metric, metric)) g_ptr_array_add(rows, row);
  g_ptr_array_sort(rows, compare_effects);
  orr_page_line(page, "moved by", "%s", "");
  ORR_EACH_POINTER(const OrrInputEffectRow, row, rows)
    orr_page_item(page, "%s %.0f %%", row->path, 100 * row->fraction);
  orr_page_more(page, " of the spread");
}

void orr_summary_inputs(OrrPage *page, const OrrOutcome *outcome) {
  if (outcome->uncertain_inputs->len == 0) return;
  add_spreads(page, outcome);
  add_counts(page, outcome);
  const OrrInputSpreadRow *row = main_spread(outcome);
  if (row && !orr_inputs_are_seeds(outcome)) add_effects(page, outcome, row->metric);
}

static void add_rows(GString *out, const char *name, const OrrOutcome *outcome,
                     const OrrFieldTable *table) {
  orr_json_write_rows(out, name, table, orr_outcome_rows(outcome, table), "\n  ");
}

void orr_summary_inputs_json(GString *out, const OrrOutcome *outcome) {
  if (outcome->uncertain_inputs->len == 0) return;
  orr_json_write_object(out, "inputs");
  add_rows(out, "uncertain", outcome, &orr_uncertain_input_table);
  add_rows(out, "replays", outcome, &orr_input_replay_table);
  add_rows(out, "spread", outcome, &orr_input_spread_table);
  add_rows(out, "effects", outcome, &orr_input_effect_table);
  g_string_append_c(out, '}');
}
