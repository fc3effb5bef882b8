/*
 * summary.c - the summary of a run: each function appends one line, which begins with a label of at
 * most 12 letters.
 */
#include "sim/cli/summary.h"

#include "sim/cli/cli.h"
#include "workloads/training/training.h"

/* --- Training --- */

static void add_asked(OrrPage *page, const OrrScenario *scenario, const OrrTrainingResult *r) {
  orr_page_line(page, "model", "%s, %.4g billion parameters", scenario->model.name,
                orr_model_parameters(&scenario->model) / 1e9);
  orr_summary_machine(page, scenario, r->n_gpus);
  orr_page_line(page, "parallel", "TP %d x PP %d x DP %d", (int)r->tp, (int)r->pp, (int)r->dp);
  if (r->cp > 1) orr_page_more(page, " x CP %d", (int)r->cp);
  orr_page_item(page, "%ld micro-batch%s per step", r->micro_batches,
                r->micro_batches == 1 ? "" : "es");
}

/* The number format whose peak rate is the base of MFU and HFU. */
static const char *peak_name(const OrrScenario *scenario) {
  const OrrTraining *training = scenario->workload.params;
  return orr_dtype_names[orr_precision_recipe(training->precision)->forward];
}

/* The result @metric of a run in @unit, rounded as its band allows. */
static const char *banded(OrrPage *page, const OrrOutcome *outcome, const char *metric,
                          double value, OrrUnit unit) {
  return orr_page_keep(page, orr_summary_band_value(outcome, metric, value, unit));
}

static const char *number(OrrPage *page, const OrrOutcome *outcome, const char *metric,
                          double value) {
  return orr_page_keep(page, orr_summary_band_number(outcome, metric, value, 1));
}

static const char *percent(OrrPage *page, const OrrOutcome *outcome, const char *metric,
                           double fraction) {
  const OrrBandRow *row = orr_bands_row(outcome, metric);
  return orr_page_keep(page, orr_summary_band_digits(100 * fraction, row ? 100 * row->low : NAN,
                                                     row ? 100 * row->high : NAN, 1));
}

static void add_speed(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrTrainingResult *r = &outcome->result.training;
  const char *time = "iteration_time_s";
  char *band = orr_summary_band_text(outcome, time, ORR_UNIT_SECONDS, FALSE);
  orr_page_line(page, "iteration", "%s",
                banded(page, outcome, time, r->iteration_time_s, ORR_UNIT_SECONDS));
  if (band) orr_page_more(page, " (%s)", orr_page_keep(page, band));
  orr_page_line(
      page, "speed", "%s tokens/s, %s tokens/s per GPU",
      orr_page_count(page, orr_summary_band_rounded(outcome, "tokens_per_s", r->tokens_per_s)),
      number(page, outcome, "tokens_per_s_per_gpu", r->tokens_per_s_per_gpu));
  orr_page_line(page, "efficiency",
                "%s TFLOP/s per GPU by the model, MFU %s %%, HFU %s %% (of %.0f TFLOP/s, the %s "
                "peak)",
                number(page, outcome, "model_tflops_per_gpu", r->model_tflops_per_gpu),
                percent(page, outcome, "mfu", r->mfu), percent(page, outcome, "hfu", r->hfu),
                r->peak_tflops_per_gpu, peak_name(scenario));
}

/* Adds a line only when steps take different times, which are known as well as their mean. */
static void add_step_times(OrrPage *page, const OrrOutcome *outcome) {
  const OrrTrainingResult *r = &outcome->result.training;
  const char *time = "iteration_time_s";
  if (r->step_p99_s <= r->step_p50_s * (1 + 1e-9)) return;
  orr_page_line(page, "steps", "%u: mean %s, p50 %s, p99 %s", outcome->steps->len,
                banded(page, outcome, time, r->iteration_time_s, ORR_UNIT_SECONDS),
                banded(page, outcome, time, r->step_p50_s, ORR_UNIT_SECONDS),
                banded(page, outcome, time, r->step_p99_s, ORR_UNIT_SECONDS));
}

static void add_padding(OrrPage *page, const OrrTrainingResult *r) {
  if (r->padding_fraction > 0)
    orr_page_line(page, "padding",
                  "%s of the tokens in the packed sequences; tokens/s, days and costs leave it out",
                  orr_page_percent(page, r->padding_fraction));
}

/* The three largest kinds of time. */
static void add_bounds(OrrPage *page, const OrrOutcome *outcome) {
  const OrrTrainingResult *r = &outcome->result.training;
  gboolean taken[ORR_N_TIMES] = {FALSE};
  double sum = 0;
  orr_page_line(page, "bound by", "%s", "");
  for (guint i = 0; i < ORR_N_TIMES; i++) sum += outcome->time_by_kind[i];
  for (guint rank = 0; rank < 3; rank++) {
    int best = -1;
    for (int i = 0; i < ORR_N_TIMES; i++)
      if (!taken[i] && outcome->time_by_kind[i] > (best < 0 ? 0 : outcome->time_by_kind[best]))
        best = i;
    if (best < 0) break;
    taken[best] = TRUE;
    orr_page_item(page, "%s %s", orr_time_words[best],
                  orr_page_percent(page, outcome->time_by_kind[best] / sum));
  }
  orr_page_more(page, "; exposed communication %s, bubble %s",
                orr_page_percent(page, r->exposed_comm_fraction),
                orr_page_percent(page, r->bubble_fraction));
}

/* "35.5 GiB of 80 GiB at the peak: it fits". */
static void add_fit(OrrPage *page, const char *label, const char *peak, double capacity,
                    const char *where, double headroom) {
  orr_page_line(page, label, "%s of %s%s at the peak: it %s", peak, orr_page_bytes(page, capacity),
                where, headroom >= 0 ? "fits" : "does NOT fit, by ");
  if (headroom < 0) orr_page_more(page, "%s", orr_page_bytes(page, -headroom));
}

/* " (31.8 to 36.6; weak: ...)", and whether the bound beyond the answer changes what it says of
 * @capacity. */
static void add_memory_band(OrrPage *page, const OrrOutcome *outcome, double capacity) {
  const OrrBandRow *row = orr_bands_row(outcome, "memory_peak_bytes");
  if (!row) return;
  orr_page_more(page, " (%s%s)",
                orr_page_keep(page, orr_summary_band_text(outcome, "memory_peak_bytes",
                                                          ORR_UNIT_BYTES, FALSE)),
                row->value <= capacity && row->high > capacity  ? "; the upper bound does not fit"
                : row->value > capacity && row->low <= capacity ? "; the lower bound fits"
                                                                : "");
}

static void add_memory(OrrPage *page, const OrrOutcome *outcome) {
  const OrrTrainingResult *r = &outcome->result.training;
  const double host = r->host_memory_peak_bytes;
  double capacity = 0;
  ORR_EACH(const OrrMemoryRow, row, outcome->memory) capacity = MAX(capacity, row->capacity_bytes);
  add_fit(page, "memory",
          banded(page, outcome, "memory_peak_bytes", r->memory_peak_bytes, ORR_UNIT_BYTES),
          capacity, "", r->headroom_bytes);
  add_memory_band(page, outcome, capacity);
  if (host > 0)
    add_fit(page, "host memory", orr_page_bytes(page, host), host + r->host_headroom_bytes,
            " per node", r->host_headroom_bytes);
}

/* How the costs are known, as percentages of the kernels' time. */
static void add_costs(OrrPage *page, const OrrOutcome *outcome) {
  double seconds[ORR_HOW_OUTSIDE + 1] = {0}, sum = 0;
  ORR_EACH(const OrrOperatorRow, row, outcome->operators) {
    for (guint how = 0; how <= ORR_HOW_OUTSIDE; how++)
      if (g_strcmp0(row->how, orr_cost_how_text(outcome->carried_from, (OrrHow)how)) == 0)
        seconds[how] += row->seconds_total;
    sum += row->seconds_total;
  }
  orr_summary_costs(page, outcome, seconds, sum, 0, "kernels'");
}

/* Adds ", 16 classes for 1,024 ranks": the lanes simulated, and the ranks that they represent. */
static void add_folding(OrrPage *page, const OrrOutcome *outcome) {
  gint64 ranks = 0;
  ORR_EACH(const OrrLaneRow, row, outcome->lanes) ranks += row->multiplicity;
  orr_page_more(page, ", %s %s for %s ranks", orr_page_count(page, outcome->lanes->len),
                outcome->lanes->len == 1 ? "class" : "classes",
                orr_page_count(page, (double)ranks));
}

/* Adds ", 998 of 1,000 steps by repetition" unless every step was replayed. */
static void add_repetition(OrrPage *page, const OrrOutcome *outcome) {
  guint n = 0;
  for (guint i = 0; outcome->steps && i < outcome->steps->len; i++)
    n += g_array_index(outcome->steps, OrrStepRow, i).repeated;
  if (n > 0)
    orr_page_more(page, ", %s of %s steps by repetition", orr_page_count(page, n),
                  orr_page_count(page, outcome->steps->len));
}

static void add_replay(OrrPage *page, const OrrOutcome *outcome, gint64 n_events) {
  char *choice = orr_engine_choice_text(outcome);
  if (choice) orr_page_line(page, "engine", "%s", orr_page_keep(page, choice));
  orr_page_line(page, "replay", "%s, %s", outcome->engine, outcome->fidelity);
  if (outcome->kind->result == &orr_training_result_table) add_folding(page, outcome);
  add_repetition(page, outcome);
  orr_page_more(page, ": %s events in %.2f s of wall time", orr_page_count(page, (double)n_events),
                outcome->wall_time_s);
}

/* The traffic with the file system: bytes, time and rate of each kind. */
static void add_storage(OrrPage *page, const OrrOutcome *outcome) {
  ORR_EACH_AT(i, const OrrStorageRow, row, outcome->storage) {
    orr_page_line(page, i == 0 ? "storage" : "", "%d %s of %s: %s, %s", (int)row->count, row->name,
                  orr_page_bytes(page, row->bytes), orr_page_seconds(page, row->wall_s),
                  orr_page_quantity(page, row->bytes_per_s, ORR_UNIT_BYTES_PER_S));
    if (g_str_equal(row->name, orr_storage_use_name(ORR_STORAGE_USE_LOAD)))
      orr_page_more(page, ", before the first step and not part of its time");
  }
}

static void add_training(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrTrainingResult *r = &outcome->result.training;
  add_asked(page, scenario, r);
  add_speed(page, scenario, outcome);
  add_step_times(page, outcome);
  add_padding(page, r);
  orr_summary_energy(page, outcome, orr_page_text(page, "%.3g J per token", r->energy_j_per_token),
                     "energy_j_per_token", r->gpu_power_mean_w, &r->machine);
  add_bounds(page, outcome);
  add_memory(page, outcome);
  add_costs(page, outcome);
  add_storage(page, outcome);
}

/* --- All kinds --- */

#define KIND(name_, member_, part_)                                                                \
  { &orr_##name_##_result_table, part_, offsetof(OrrResult, member_.events) }

/* The lines of each kind of workload, and where its result has the number of events. */
static const struct {
  const OrrFieldTable *result;
  OrrSummaryPart *part;
  size_t events;
} kinds[] = {
    KIND(training, training, add_training),
    KIND(serving, serving, orr_summary_serving),
    KIND(campaign, campaign, orr_summary_campaign),
    KIND(cluster, cluster, orr_summary_cluster),
    KIND(post_training, post_training, orr_summary_post_training),
    KIND(collectives, collectives, orr_summary_collectives),
    KIND(trace, trace, orr_summary_traced),
    KIND(diffusion, diffusion, orr_summary_diffusion),
    KIND(step, step, orr_summary_step),
};

char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome) {
  OrrPage *page = orr_page_new();
  const char *stack = orr_scenario_stack_name(&scenario->workload);
  guint kind = 0;
  for (; kinds[kind].result != outcome->kind->result; kind++)
    g_assert(kind + 1 < G_N_ELEMENTS(kinds));
  orr_page_add(page, "%s\n", scenario->name);
  orr_page_call(page, scenario->cluster.device.noun);
  if (strcmp(stack, ORR_STACK_NONE) != 0) orr_page_line(page, "stack", "%s", stack);
  kinds[kind].part(page, scenario, outcome);
  orr_summary_money(page, scenario, outcome);
  orr_summary_inputs(page, outcome);
  orr_summary_network(page, outcome);
  orr_summary_faults(page, outcome, NULL);
  for (guint i = 0; i < outcome->warnings->len; i++)
    orr_page_line(page, "warning", "%s", (char *)outcome->warnings->pdata[i]);
  add_replay(page, outcome, G_STRUCT_MEMBER(gint64, &outcome->result, kinds[kind].events));
  return orr_page_end(page);
}

char *orr_summary_settings(char *const *settings) {
  GString *text = g_string_new(NULL);
  for (; settings && *settings; settings++) {
    g_autofree char *quoted =
        strpbrk(*settings, " {}[]*'\"") ? g_shell_quote(*settings) : g_strdup(*settings);
    g_string_append_printf(text, " --set %s", quoted);
  }
  return g_string_free(text, FALSE);
}

char *orr_summary_stored(const OrrOutcome *outcome, const char *file, const char *database,
                         gint64 run_id) {
  OrrPage *page = orr_page_new();
  g_autofree char *settings = orr_summary_settings(orr_options.settings);
  if (database) {
    g_autofree char *quoted = strchr(database, ' ') ? g_shell_quote(database) : g_strdup(database);
    orr_page_line(page, "stored", "run %ld in %s", run_id, database);
    orr_page_line(page, "next", "orrery query %s %s --run %ld", quoted, outcome->kind->view,
                  run_id);
  } else {
    orr_page_line(page, "stored", "nowhere");
    if (file)
      orr_page_line(page, "next", "orrery run %s%s --json", file, settings);
    else
      orr_page_line(page, "next", "the same command with --json");
  }
  return orr_page_end(page);
}
