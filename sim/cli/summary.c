/*
 * summary.c - the summary of a run: each function appends one line, which begins with a label of at
 * most 12 letters.
 */
#include "sim/cli/summary.h"

#include <math.h>
#include <string.h>

#include "sim/bands/band.h"
#include "sim/cli/show.h"
#include "sim/cli/summary_band.h"
#include "sim/cli/summary_campaign.h"
#include "sim/cli/summary_cluster.h"
#include "sim/cli/summary_post_training.h"
#include "sim/cli/summary_collectives.h"
#include "sim/cli/summary_faults.h"
#include "sim/cli/summary_inputs.h"
#include "sim/cli/summary_money.h"
#include "sim/cli/summary_serving.h"
#include "sim/run/answer/kinds.h"
#include "sim/run/scenario_stack.h"
#include "workloads/training/training.h"

G_GNUC_PRINTF(3, 4)
static void add(GString *out, const char *what, const char *format, ...) {
  g_autofree char *text = NULL;
  va_list args;
  va_start(args, format);
  text = g_strdup_vprintf(format, args);
  va_end(args);
  g_string_append_printf(out, "  %-12s  %s\n", what, text);
}

static void add_asked(GString *out, const OrrScenario *scenario, const OrrTrainingResult *result) {
  g_autofree char *gpus = orr_show_gpus(result->n_gpus);
  g_autofree char *cp =
      result->cp > 1 ? g_strdup_printf(" x CP %" G_GINT64_FORMAT, result->cp) : g_strdup("");
  add(out, "model", "%s, %.4g billion parameters", scenario->model.name,
      orr_model_parameters(&scenario->model) / 1e9);
  add(out, "machine", "%s (%s) of %s", gpus, scenario->cluster.device.name, scenario->cluster.name);
  add(out, "parallel",
      "TP %" G_GINT64_FORMAT " x PP %" G_GINT64_FORMAT " x DP %" G_GINT64_FORMAT
      "%s, %" G_GINT64_FORMAT " micro-batches per step",
      result->tp, result->pp, result->dp, cp, result->micro_batches);
}

/* The number format whose peak rate is the base of MFU and HFU. */
static const char *peak_name(const OrrScenario *scenario) {
  const OrrTraining *training = scenario->workload.params;
  return orr_dtype_names[orr_precision_recipe(training->precision)->forward];
}

/* "29.2 s (28.0 to 33.3, 80 % band from ...)". Newly allocated. */
static char *with_band(const OrrOutcome *outcome, const char *metric, double value, OrrUnit unit) {
  g_autofree char *text = orr_summary_band_value(outcome, metric, value, unit);
  g_autofree char *band = orr_summary_band_text(outcome, metric, unit, FALSE);
  return band ? g_strdup_printf("%s (%s)", text, band) : g_steal_pointer(&text);
}

static char *percent(const OrrOutcome *outcome, const char *metric, double fraction) {
  const OrrBandRow *row = orr_bands_row(outcome, metric);
  g_autofree char *number = orr_summary_band_digits(100 * fraction, row ? 100 * row->low : NAN,
                                                    row ? 100 * row->high : NAN, 1);
  return g_strconcat(number, " %", NULL);
}

static void add_speed(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrTrainingResult *result = &outcome->result.training;
  g_autofree char *time =
      with_band(outcome, "iteration_time_s", result->iteration_time_s, ORR_UNIT_SECONDS);
  g_autofree char *tokens = orr_show_count(
      (gint64)round(orr_summary_band_rounded(outcome, "tokens_per_s", result->tokens_per_s)));
  g_autofree char *mfu = percent(outcome, "mfu", result->mfu),
                  *hfu = percent(outcome, "hfu", result->hfu);
  g_autofree char *each =
      orr_summary_band_number(outcome, "tokens_per_s_per_gpu", result->tokens_per_s_per_gpu, 1);
  g_autofree char *tflops =
      orr_summary_band_number(outcome, "model_tflops_per_gpu", result->model_tflops_per_gpu, 1);
  add(out, "iteration", "%s", time);
  add(out, "speed", "%s tokens/s, %s tokens/s per GPU", tokens, each);
  add(out, "efficiency",
      "%s TFLOP/s per GPU by the model, MFU %s, HFU %s (of %.0f TFLOP/s, the %s peak)", tflops, mfu,
      hfu, result->peak_tflops_per_gpu, peak_name(scenario));
}

static void add_energy(GString *out, const OrrOutcome *outcome) {
  const OrrTrainingResult *result = &outcome->result.training;
  if (isnan(result->gpu_power_mean_w)) return;
  g_autofree char *mean = orr_quantity_format(result->gpu_power_mean_w, ORR_UNIT_WATTS),
                  *machine = orr_quantity_format(result->machine.all_w, ORR_UNIT_WATTS),
                  *left_out = orr_cluster_power_left_out(&result->machine);
  const gboolean is_known = !isnan(result->machine.all_w);
  add(out, "energy", "%.3g J per token; GPUs draw %s%s%s%s", result->energy_j_per_token, mean,
      is_known ? ", the machine " : "", is_known ? machine : "", is_known ? left_out : "");
}

/* Appends a line only when steps take different times, which are known as well as their mean. */
static void add_step_times(GString *out, const OrrOutcome *outcome) {
  const OrrTrainingResult *result = &outcome->result.training;
  if (result->step_p99_s <= result->step_p50_s * (1 + 1e-9)) return;
  g_autofree char *mean = orr_summary_band_value(outcome, "iteration_time_s",
                                                 result->iteration_time_s, ORR_UNIT_SECONDS);
  g_autofree char *p50 =
      orr_summary_band_value(outcome, "iteration_time_s", result->step_p50_s, ORR_UNIT_SECONDS);
  g_autofree char *p99 =
      orr_summary_band_value(outcome, "iteration_time_s", result->step_p99_s, ORR_UNIT_SECONDS);
  add(out, "steps", "%u: mean %s, p50 %s, p99 %s", outcome->steps->len, mean, p50, p99);
}

/* The three largest kinds of time. */
static void add_bounds(GString *out, const OrrOutcome *outcome) {
  g_autoptr(GString) text = g_string_new(NULL);
  gboolean taken[ORR_N_TIMES] = {FALSE};
  double sum = 0;
  for (guint i = 0; i < ORR_N_TIMES; i++) sum += outcome->time_by_kind[i];
  for (guint rank = 0; rank < 3; rank++) {
    int best = -1;
    for (int i = 0; i < ORR_N_TIMES; i++)
      if (!taken[i] && outcome->time_by_kind[i] > (best < 0 ? 0 : outcome->time_by_kind[best]))
        best = i;
    if (best < 0) break;
    taken[best] = TRUE;
    g_autofree char *fraction = orr_show_percent(outcome->time_by_kind[best] / sum);
    g_string_append_printf(text, "%s%s %s", rank > 0 ? ", " : "", orr_time_words[best], fraction);
  }
  g_autofree char *bubble = orr_show_percent(outcome->result.training.bubble_fraction);
  g_autofree char *exposed = orr_show_percent(outcome->result.training.exposed_comm_fraction);
  add(out, "bound by", "%s; exposed communication %s, bubble %s", text->str, exposed, bubble);
}

/* Appends a line only when something is offloaded. */
static void add_host_memory(GString *out, const OrrTrainingResult *result) {
  if (result->host_memory_peak_bytes == 0) return;
  const double headroom = result->host_headroom_bytes;
  g_autofree char *peak = orr_quantity_format(result->host_memory_peak_bytes, ORR_UNIT_BYTES);
  g_autofree char *of =
      orr_quantity_format(result->host_memory_peak_bytes + headroom, ORR_UNIT_BYTES);
  g_autofree char *missing = orr_quantity_format(fabs(headroom), ORR_UNIT_BYTES);
  if (headroom >= 0)
    add(out, "host memory", "%s of %s per node at the peak: it fits", peak, of);
  else
    add(out, "host memory", "%s of %s per node at the peak: it does NOT fit, by %s", peak, of,
        missing);
}

/* " (31.8 to 36.6; weak: ...)", and whether the bound beyond the answer changes what it says of
 * @capacity. Newly allocated. */
static char *memory_band(const OrrOutcome *outcome, double capacity) {
  const OrrBandRow *row = orr_bands_row(outcome, "memory_peak_bytes");
  g_autofree char *text =
      orr_summary_band_text(outcome, "memory_peak_bytes", ORR_UNIT_BYTES, FALSE);
  if (!row) return g_strdup("");
  const char *but = row->value <= capacity && row->high > capacity
                        ? "; the upper bound does not fit"
                    : row->value > capacity && row->low <= capacity ? "; the lower bound fits"
                                                                    : "";
  return g_strdup_printf(" (%s%s)", text, but);
}

static void add_memory(GString *out, const OrrOutcome *outcome) {
  double capacity = 0;
  for (guint i = 0; i < outcome->memory->len; i++)
    capacity = MAX(capacity, g_array_index(outcome->memory, OrrMemoryRow, i).capacity_bytes);
  g_autofree char *peak = orr_summary_band_value(
      outcome, "memory_peak_bytes", outcome->result.training.memory_peak_bytes, ORR_UNIT_BYTES);
  g_autofree char *of = orr_quantity_format(capacity, ORR_UNIT_BYTES);
  const double headroom = outcome->result.training.headroom_bytes;
  g_autofree char *missing = orr_quantity_format(fabs(headroom), ORR_UNIT_BYTES);
  g_autofree char *band = memory_band(outcome, capacity);
  if (headroom >= 0)
    add(out, "memory", "%s of %s at the peak: it fits%s", peak, of, band);
  else
    add(out, "memory", "%s of %s at the peak: it does NOT fit, by %s%s", peak, of, missing, band);
  add_host_memory(out, &outcome->result.training);
}

/* How the costs are known, as percentages of the kernels' time. */
static void add_costs(GString *out, const OrrOutcome *outcome) {
  double seconds[ORR_HOW_OUTSIDE + 1] = {0}, sum = 0;
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < outcome->operators->len; i++) {
    const OrrOperatorRow *row = &g_array_index(outcome->operators, OrrOperatorRow, i);
    for (guint how = 0; how <= ORR_HOW_OUTSIDE; how++)
      if (g_strcmp0(row->how, orr_cost_how_text(outcome->carried_from, (OrrHow)how)) == 0)
        seconds[how] += row->seconds_total;
    sum += row->seconds_total;
  }
  for (guint how = 0; sum > 0 && how <= ORR_HOW_OUTSIDE; how++)
    if (seconds[how] > 0)
      g_string_append_printf(text, "%s%s %.0f %%", text->len ? ", " : "",
                             orr_cost_how_text(outcome->carried_from, (OrrHow)how),
                             100 * seconds[how] / sum);
  if (text->len) add(out, "costs", "%s of the kernels' time", text->str);
}

/* ", 16 classes for 1,024 ranks": the lanes simulated, and the ranks that they represent. Newly
 * allocated; "" where ranks have no classes. */
static char *folding_text(const OrrOutcome *outcome) {
  gint64 ranks = 0;
  for (guint i = 0; i < outcome->lanes->len; i++)
    ranks += g_array_index(outcome->lanes, OrrLaneRow, i).multiplicity;
  if (outcome->kind->result != &orr_training_result_table) return g_strdup("");
  g_autofree char *classes = orr_show_count(outcome->lanes->len), *all = orr_show_count(ranks);
  return g_strdup_printf(", %s %s for %s ranks", classes,
                         outcome->lanes->len == 1 ? "class" : "classes", all);
}

/* ", 998 of 1,000 steps by repetition"; "" where every step was replayed. Newly allocated. */
static char *repetition_text(const OrrOutcome *outcome) {
  guint n = 0;
  for (guint i = 0; outcome->steps && i < outcome->steps->len; i++)
    n += g_array_index(outcome->steps, OrrStepRow, i).repeated;
  if (n == 0) return g_strdup("");
  g_autofree char *repeated = orr_show_count(n), *all = orr_show_count(outcome->steps->len);
  return g_strdup_printf(", %s of %s steps by repetition", repeated, all);
}

static void add_engine(GString *out, const OrrOutcome *outcome) {
  g_autofree char *text = orr_engine_choice_text(outcome);
  if (text) add(out, "engine", "%s", text);
}

static void add_replay(GString *out, const OrrOutcome *outcome, gint64 n_events) {
  g_autofree char *events = orr_show_count(n_events), *folding = folding_text(outcome),
                  *repetition = repetition_text(outcome);
  add(out, "replay", "%s, %s%s%s: %s events in %.2f s of wall time", outcome->engine,
      outcome->fidelity, folding, repetition, events, outcome->wall_time_s);
}

/* The traffic with the file system: bytes, time and rate of each kind. */
static void add_storage(GString *out, const OrrOutcome *outcome) {
  for (guint i = 0; i < outcome->storage->len; i++) {
    const OrrStorageRow *row = &g_array_index(outcome->storage, OrrStorageRow, i);
    g_autofree char *bytes = orr_quantity_format(row->bytes, ORR_UNIT_BYTES);
    g_autofree char *longest = orr_quantity_format(row->wall_s, ORR_UNIT_SECONDS);
    g_autofree char *rate = orr_quantity_format(row->bytes_per_s, ORR_UNIT_BYTES_PER_S);
    add(out, i == 0 ? "storage" : "", "%d %s of %s: %s, %s", (int)row->count, row->name, bytes,
        longest, rate);
  }
}

/* The lines of a training run. */
static void add_training(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  add_asked(out, scenario, &outcome->result.training);
  add_speed(out, scenario, outcome);
  add_step_times(out, outcome);
  add_energy(out, outcome);
  add_bounds(out, outcome);
  add_memory(out, outcome);
  add_costs(out, outcome);
  add_storage(out, outcome);
}

/* Appends a line only where software supplied defaults. */
static void add_stack(GString *out, const OrrScenario *scenario) {
  const char *name = orr_scenario_stack_name(&scenario->workload);
  if (strcmp(name, ORR_STACK_NONE) != 0) add(out, "stack", "%s", name);
}

char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome) {
  GString *out = g_string_new(NULL);
  const gboolean is_training = outcome->kind->result == &orr_training_result_table;
  const gboolean is_serving = outcome->kind->result == &orr_serving_result_table;
  const gboolean is_campaign = outcome->kind->result == &orr_campaign_result_table;
  const gboolean is_cluster = outcome->kind->result == &orr_cluster_result_table;
  const gboolean is_post_training = outcome->kind->result == &orr_post_training_result_table;
  const OrrResult *result = &outcome->result;
  g_string_append_printf(out, "%s\n", scenario->name);
  add_stack(out, scenario);
  if (is_training)
    add_training(out, scenario, outcome);
  else if (is_serving)
    orr_summary_serving(out, scenario, outcome);
  else if (is_campaign)
    orr_summary_campaign(out, scenario, outcome);
  else if (is_cluster)
    orr_summary_cluster(out, scenario, outcome);
  else if (is_post_training)
    orr_summary_post_training(out, scenario, outcome);
  else
    orr_summary_collectives(out, scenario, outcome);
  orr_summary_money(out, scenario, outcome);
  orr_summary_inputs(out, outcome);
  orr_summary_faults(out, outcome, NULL);
  for (guint i = 0; i < outcome->warnings->len; i++)
    add(out, "warning", "%s", (char *)outcome->warnings->pdata[i]);
  add_engine(out, outcome);
  add_replay(out, outcome,
             is_training        ? result->training.events
             : is_serving       ? result->serving.events
             : is_campaign      ? result->campaign.events
             : is_cluster       ? result->cluster.events
             : is_post_training ? result->post_training.events
                                : result->collectives.events);
  return g_string_free(out, FALSE);
}

char *orr_summary_stored(const OrrOutcome *outcome, const char *file, const char *database,
                         gint64 run_id) {
  GString *out = g_string_new(NULL);
  if (database) {
    g_autofree char *quoted = strchr(database, ' ') ? g_shell_quote(database) : g_strdup(database);
    add(out, "stored", "run %" G_GINT64_FORMAT " in %s", run_id, database);
    add(out, "next", "orrery query %s %s --run %" G_GINT64_FORMAT, quoted, outcome->kind->view,
        run_id);
  } else {
    add(out, "stored", "nowhere");
    if (file)
      add(out, "next", "orrery run %s --json", file);
    else
      add(out, "next", "%s", "the same command with --json");
  }
  return g_string_free(out, FALSE);
}
