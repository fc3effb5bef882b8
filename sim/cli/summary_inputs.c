/*
 * summary_inputs.c - the spread of the main results over the replays of uncertain inputs, and the
 * inputs that it comes from.
 */
#include "sim/cli/summary_inputs.h"

#include <string.h>

#include "sim/bands/inputs.h"
#include "sim/base/json_write.h"
#include "sim/cli/show.h"
#include "sim/cli/summary_band.h"
#include "sim/run/answer/run_kind.h"

/* The results that the line lists, by kind of workload. */
static const struct {
  const char *kind, *metric, *label;
  OrrUnit unit;
  const char *suffix;
} mains[] = {
    {"collectives", "time_s", "time", ORR_UNIT_SECONDS, ""},
    {"serving", "ttft_mean_s", "ttft mean", ORR_UNIT_SECONDS, ""},
    {"serving", "tpot_mean_s", "tpot mean", ORR_UNIT_SECONDS, ""},
    {"serving", "output_tokens_per_s", "output", ORR_UNIT_NONE, " tokens/s"},
    {"training", "iteration_time_s", "iteration", ORR_UNIT_SECONDS, ""},
    {"training", "memory_peak_bytes", "memory", ORR_UNIT_BYTES, ""},
};

/* The first of mains that the outcome has a spread of; NULL: none. */
static const OrrInputSpreadRow *main_spread(const OrrOutcome *outcome) {
  for (guint i = 0; i < G_N_ELEMENTS(mains); i++)
    if (g_str_equal(mains[i].kind, outcome->kind->kind->entry.name))
      return orr_inputs_spread(outcome, mains[i].metric);
  return NULL;
}

/* Whether the ends of the spread differ in four digits, as many as are printed. */
static gboolean has_width(const OrrInputSpreadRow *row) {
  return row->p90 - row->p10 > 1e-4 * ABS(row->value);
}

static void add_spreads(GString *out, const OrrOutcome *outcome) {
  const gsize before = out->len;
  for (guint i = 0; i < G_N_ELEMENTS(mains); i++) {
    if (!g_str_equal(mains[i].kind, outcome->kind->kind->entry.name)) continue;
    const OrrInputSpreadRow *row = orr_inputs_spread(outcome, mains[i].metric);
    if (!row || !has_width(row)) continue;
    g_autofree char *range = orr_summary_band_range(row->value, row->p10, row->p90, mains[i].unit);
    g_string_append_printf(out, "%s%s %s%s", out->len > before ? ", " : "", mains[i].label, range,
                           mains[i].suffix);
  }
  if (out->len == before) g_string_append(out, "no spread");
}

static guint count(const OrrOutcome *outcome, const char *status) {
  guint n = 0;
  for (guint i = 0; i < outcome->input_replays->len; i++)
    n += g_str_equal(g_array_index(outcome->input_replays, OrrInputReplayRow, i).status, status);
  return n;
}

/* The first line of the first reason; newly allocated. */
static char *first_failure(const OrrOutcome *outcome) {
  for (guint i = 0; i < outcome->input_replays->len; i++) {
    const OrrInputReplayRow *row = &g_array_index(outcome->input_replays, OrrInputReplayRow, i);
    if (g_str_equal(row->status, "failed"))
      return g_strndup(row->reason, strcspn(row->reason, "\n"));
  }
  return g_strdup("");
}

static void add_counts(GString *out, const OrrOutcome *outcome) {
  const guint n_failed = count(outcome, "failed"), n_over = count(outcome, "over-memory");
  g_autofree char *reason = first_failure(outcome);
  g_string_append_printf(out, " (p10 to p90 of %u replays)", outcome->input_replays->len);
  if (n_over > 0)
    g_string_append_printf(out, "; %u %s not fit memory", n_over, n_over == 1 ? "does" : "do");
  if (n_failed > 0)
    g_string_append_printf(out, "; %u %s no result: %s", n_failed, n_failed == 1 ? "has" : "have",
                           reason);
}

static int compare_effects(gconstpointer a, gconstpointer b) {
  const OrrInputEffectRow *x = *(OrrInputEffectRow *const *)a, *y = *(OrrInputEffectRow *const *)b;
  return (x->fraction < y->fraction) - (x->fraction > y->fraction);
}

/* "cluster.nic-bandwidth 83 %, workload.load.rate 17 %", the largest first. */
static void add_effects(GString *out, const OrrOutcome *outcome, const char *metric) {
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  for (guint i = 0; i < outcome->input_effects->len; i++) {
    OrrInputEffectRow *row = &g_array_index(outcome->input_effects, OrrInputEffectRow, i);
    if (g_str_equal(row->metric, metric)) g_ptr_array_add(rows, row);
  }
  g_ptr_array_sort(rows, compare_effects);
  for (guint i = 0; i < rows->len; i++) {
    const OrrInputEffectRow *row = rows->pdata[i];
    g_string_append_printf(out, "%s%s %.0f %%", i > 0 ? ", " : "", row->path, 100 * row->fraction);
  }
}

void orr_summary_inputs(GString *out, const OrrOutcome *outcome) {
  if (outcome->uncertain_inputs->len == 0) return;
  g_string_append_printf(out, "  %-12s  ", "inputs");
  add_spreads(out, outcome);
  add_counts(out, outcome);
  g_string_append_c(out, '\n');
  const OrrInputSpreadRow *row = main_spread(outcome);
  if (!row || !has_width(row)) return;
  g_string_append_printf(out, "  %-12s  ", "moved by");
  add_effects(out, outcome, row->metric);
  g_string_append(out, " of the spread\n");
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
