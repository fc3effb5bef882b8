/*
 * verb_plan_rate.c - orrery plan rate FILE: finds the highest rate of requests that meets the
 * scenario's objectives, by the simulation alone and with some confidence, and prints the rates
 * that it tried.
 */
#include "sim/bands/caveats.h"
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/sweep/capacity.h"

static double fraction = 0.99, tolerance = 0.02, confidence = 0.9;
static int seeds = 4;

static const GOptionEntry options[] = {
    ORR_OPTION_SET("workload.parallel.tp=4"),
    ORR_OPTION_REAL("share", fraction,
                    "Fraction of the requests that must meet all objectives (default 0.99)"),
    ORR_OPTION_REAL("confidence", confidence,
                    "Probability with which a measurement meets the objectives at the rate that is "
                    "promised (default 0.9)"),
    ORR_OPTION_REAL("tolerance", tolerance, "Relative precision of the result (default 0.02)"),
    ORR_OPTION_INT("seeds", seeds, "Runs per rate, 2 to 10 (default 4)"),
    ORR_OPTION_JSON("one JSON object"),
    {NULL}};

static gboolean check_options(GError **error) {
  if (!(fraction > 0 && fraction <= 1))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--share takes a number above 0 and at most 1, found %g", fraction);
  if (!(confidence > 0.5 && confidence < 1))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--confidence takes a number above 0.5 and below 1, found %g", confidence);
  if (!(tolerance >= 0.001 && tolerance <= 1))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--tolerance takes a number from 0.001 to 1, found %g", tolerance);
  if (seeds < 2 || seeds > 10)
    return orr_fault_set(error, ORR_FAULT_USAGE, "--seeds takes a number from 2 to 10, found %d",
                         seeds);
  return TRUE;
}

static const OrrCapacityPoint *point_at(const OrrCapacity *capacity, guint i) {
  return &g_array_index(capacity->points, OrrCapacityPoint, i);
}

/* The point whose bands the answer rests on: the rate that holds with confidence, or the
 * lowest one tried. */
static const OrrCapacityPoint *deciding(const OrrCapacity *capacity) {
  const OrrCapacityPoint *found = point_at(capacity, 0);
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = point_at(capacity, i);
    if (capacity->sure.meets > 0 ? point->rate == capacity->sure.meets : point->rate < found->rate)
      found = point;
  }
  return found;
}

/* Whether a band says how much slower measured runs may be: its upper end then decides, else the
 * simulation does. */
static gboolean bands_decide(const OrrCapacity *capacity) {
  return deciding(capacity)->band.quality != ORR_BAND_NONE;
}

/* The rate that is promised; 0: none is. */
static double promised(const OrrCapacity *capacity) {
  return bands_decide(capacity) ? capacity->sure.meets : capacity->alone.meets;
}

/* Runs that ended before a steady state, because it would not meet the objectives: the requests
 * that they counted until then say nothing about the fraction. */
static gboolean is_broken_off(const OrrCapacity *capacity, const OrrCapacityPoint *point) {
  return !point->is_steady && !capacity->load_note;
}

/* The denominator of the fraction: a conversation's requests are judged one by one. */
static const char *judged(const OrrCapacity *capacity) {
  return g_str_equal(capacity->rate_of, "tasks") ? "tasks" : "requests";
}

/* --- JSON --- */

static void add_interval(GString *out, const char *before, const OrrCapacityInterval *interval,
                         gboolean is_broken) {
  if (is_broken)
    g_string_append_printf(out, "\"%sshare\": null, \"%smargin\": null, ", before, before);
  else
    g_string_append_printf(out, "\"%sshare\": %.6g, \"%smargin\": %.3g, ", before, interval->mean,
                           before, interval->margin);
  g_string_append_printf(out, "\"%smeets\": %s", before, interval->meets ? "true" : "false");
}

static void add_sure(GString *out, const OrrCapacity *capacity) {
  const OrrCapacityBand *band = &deciding(capacity)->band;
  g_string_append_printf(out, "\"confidence\": %g", confidence);
  orr_json_write_number(out, "sure_rate_rps",
                        capacity->sure.meets > 0 ? capacity->sure.meets : NAN);
  orr_json_write_text(out, "decides", bands_decide(capacity) ? "band" : "simulation");
  orr_json_write_number(out, "promised_rate_rps",
                        promised(capacity) > 0 ? promised(capacity) : NAN);
  orr_json_write_text(out, "band_quality", orr_band_quality_words[band->quality]);
  orr_json_write_text(out, "band_reason", band->reason);
  for (int k = 0; k < ORR_N_LIMITS; k++)
    if (!isnan(band->factors[k]))
      g_string_append_printf(out, ", \"%s_factor\": %.6g", orr_capacity_limits[k],
                             band->factors[k]);
}

static void print_json(const OrrCapacity *capacity, const GPtrArray *warnings) {
  g_autoptr(GString) out = g_string_new(NULL);
  g_string_append_printf(
      out, "{\"rate_of\": \"%s\", \"rate_rps\": %.6g, \"fails_rps\": %.6g, \"share\": %g, ",
      capacity->rate_of, capacity->alone.meets, capacity->alone.fails, fraction);
  add_sure(out, capacity);
  if (capacity->trace_requests > 0) {
    orr_json_write_int(out, "trace_requests", capacity->trace_requests);
    orr_json_write_number(out, "trace_rate_rps", capacity->trace_rate);
  }
  g_string_append(out, ", \"points\": [");
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = point_at(capacity, i);
    g_string_append_printf(out, "%s\n  {\"rate_rps\": %.6g, ", i ? "," : "", point->rate);
    const gboolean is_broken = is_broken_off(capacity, point);
    add_interval(out, "", &point->alone, is_broken);
    if (point->band.quality != ORR_BAND_NONE) {
      g_string_append(out, ", ");
      add_interval(out, "sure_", &point->sure, is_broken);
    }
    g_string_append_printf(out, ", \"steady\": %s, \"growth_rps\": %.4g, \"residence_s\": %.4g",
                           point->is_steady ? "true" : "false", point->result.growth_rps,
                           point->result.residence_s);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  orr_json_write_texts(out, "warnings", (char *const *)warnings->pdata, warnings->len);
  printf("%s}\n", out->str);
}

/* --- Text --- */

static gboolean has_bands(const OrrCapacity *capacity) {
  for (guint i = 0; i < capacity->points->len; i++)
    if (point_at(capacity, i)->band.quality != ORR_BAND_NONE) return TRUE;
  return FALSE;
}

static void print_interval(const OrrCapacityInterval *interval, gboolean is_broken,
                           gboolean is_last) {
  if (is_broken)
    printf("          -         ");
  else
    printf("   %6.2f %% +- %-5.2f  ", 100 * interval->mean, 100 * interval->margin);
  printf("%-*s", is_last ? 0 : 8, interval->meets ? "meets" : "does not");
}

static void print_points(const OrrCapacity *capacity) {
  const gboolean has = has_bands(capacity);
  g_autofree char *head = g_strconcat(capacity->rate_of, "/s", NULL);
  printf("%15s   within objectives", head);
  if (has) printf("             with %.4g %% confidence", 100 * confidence);
  printf("\n");
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = point_at(capacity, i);
    printf("%15.4g", point->rate);
    const gboolean is_broken = is_broken_off(capacity, point);
    print_interval(&point->alone, is_broken, !has);
    if (point->band.quality != ORR_BAND_NONE)
      print_interval(&point->sure, is_broken, TRUE);
    else if (has)
      printf("   no band");
    if (point->result.saturated)
      printf("   not in steady state: the queue grows by %.3g/s", point->result.growth_rps);
    else if (is_broken)
      printf("   ended early: more miss an objective than %.4g %% allows", 100 * fraction);
    printf("\n");
  }
}

/* "1.31 times the simulated ttft and 1.12 times the simulated tpot" */
static char *factors_text(const OrrCapacityBand *band) {
  GString *text = g_string_new(NULL);
  for (int k = 0; k < ORR_N_LIMITS; k++)
    if (!isnan(band->factors[k]))
      g_string_append_printf(text, "%s%.3g times the simulated %s", text->len ? " and " : "",
                             band->factors[k], orr_capacity_limits[k]);
  return g_string_free(text, FALSE);
}

/* The rate that is promised where bands say how far off latencies may be. */
static void print_sure(const OrrCapacity *capacity) {
  const OrrCapacityBand *band = &deciding(capacity)->band;
  g_autofree char *factors = factors_text(band);
  if (capacity->sure.meets > 0)
    printf("capacity %.4g %s/s with %.4g %% confidence", capacity->sure.meets, capacity->rate_of,
           100 * confidence);
  else
    printf("no rate meets the objectives with %.4g %% confidence", 100 * confidence);
  printf("; the upper ends of the bands decide: measured latencies are at most %s%s%s\n", factors,
         band->quality == ORR_BAND_WEAK ? "; weak, " : "", band->reason);
}

static void print_alone(const OrrCapacity *capacity) {
  printf("%s%s%.4g %s/s by the simulation alone", bands_decide(capacity) ? "" : "capacity ",
         capacity->alone.fails > 0 ? "" : "above ", capacity->alone.meets, capacity->rate_of);
  if (capacity->alone.fails > 0)
    printf(": %.4g%% of %s within objectives, by the lower end of a 95 %% interval over %d seeds; "
           "%.4g is too many\n",
           100 * fraction, judged(capacity), seeds, capacity->alone.fails);
  else
    printf(": every rate tried meets the objectives\n");
  if (!bands_decide(capacity))
    printf("it decides, for no rate can be named with %.4g %% confidence: %s\n", 100 * confidence,
           deciding(capacity)->band.reason);
}

/* The period over which the rate was measured. */
static void print_window(const OrrCapacity *capacity) {
  const OrrServingResult *result = &orr_capacity_best(capacity)->result;
  if (capacity->load_note) {
    printf("warning: %s\n", capacity->load_note);
    return;
  }
  g_autofree char *residence = orr_quantity_format(result->residence_s, ORR_UNIT_SECONDS);
  g_autofree char *begin = orr_quantity_format(result->steady_begin_s, ORR_UNIT_SECONDS);
  g_autofree char *window =
      orr_quantity_format(result->steady_end_s - result->steady_begin_s, ORR_UNIT_SECONDS);
  printf("measured in steady state: %s after the first %s; a request stays %s\n", window, begin,
         residence);
  if (capacity->trace_requests == 0) return;
  const double replays = (result->steady_end_s - result->steady_begin_s) *
                         orr_capacity_best(capacity)->rate / (double)capacity->trace_requests;
  g_autofree char *requests = orr_show_count(capacity->trace_requests);
  printf("the trace of %s requests (%.4g/s in the scenario) is replayed end to end, its times "
         "scaled; that window has it %.0f time%s\n",
         requests, capacity->trace_rate, replays, replays < 1.5 ? "" : "s");
}

static void print_text(const OrrCapacity *capacity, const GPtrArray *warnings) {
  print_points(capacity);
  if (capacity->alone.meets == 0) return orr_show_warnings("warning: ", warnings);
  if (bands_decide(capacity)) print_sure(capacity);
  print_alone(capacity);
  if (capacity->band_note) printf("warning: error bands: %s\n", capacity->band_note);
  print_window(capacity);
  orr_show_warnings("warning: ", warnings);
}

/* The search has read the scenario: here it has no errors. */
static void add_caveats(OrrCaveats *caveats, OrrLibrary *library, const OrrNode *tree) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read_fields(library, tree, diags);
  if (!scenario) return;
  orr_caveats_add(caveats, scenario);
  orr_caveats_add_values(caveats, scenario);
}

/* A rate is promised, or the error says what none meets. */
static gboolean check_found(const OrrCapacity *capacity, GError **error) {
  if (promised(capacity) > 0) return TRUE;
  if (capacity->alone.meets > 0)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "no rate meets the objectives with %.4g %% confidence, only %.4g "
                         "%s/s by the simulation alone: --confidence takes less",
                         100 * confidence, capacity->alone.meets, capacity->rate_of);
  const OrrCapacityPoint *last = point_at(capacity, capacity->points->len - 1);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "no rate meets the objectives: at %.3g %s/s %.2f %% of %s are "
                       "within them, and --share demands %.4g %%",
                       last->rate, capacity->rate_of, 100 * last->alone.mean, judged(capacity),
                       100 * fraction);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 1, 1,
          "plan rate takes one scenario: a file, or a name from 'orrery list scenarios'", error) ||
      !check_options(error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_options_scenario(library, args[0], diags, error);
  orr_show_diags(diags);
  if (!tree) return 2;
  const OrrCapacityQuery query = {.fraction = fraction,
                                  .tolerance = tolerance,
                                  .seeds = (guint)seeds,
                                  .confidence = confidence};
  g_autoptr(OrrCapacity) capacity = orr_capacity_find(library, tree, &query, error);
  if (!capacity) return orr_fault_exit_status(error ? *error : NULL);
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(library);
  add_caveats(caveats, library, tree);
  if (capacity->left_out) {
    g_autofree char *text = g_strdup_printf("the trace has %s", capacity->left_out);
    orr_caveats_add_text(caveats, text);
  }
  (orr_options.json ? print_json : print_text)(capacity, orr_caveats_texts(caveats));
  return check_found(capacity, error) ? 0 : 2;
}

const OrrCommand orr_verb_plan_rate = {
    .verb = "rate",
    .sentence =
        "Find the highest rate of requests that meets the objectives of a serving scenario.",
    .usage = "FILE [--set PATH=VALUE]... [--share X] [--confidence X] [--tolerance X] [--seeds N] "
             "[--json]",
    .more =
        "Doubles or halves workload.load.rate, then bisects. Each rate is simulated with "
        "several seeds, each until the number of requests in the system is steady for ten "
        "times as long as a request stays; only requests of that time count: at "
        "least workload.requests of them, and enough for twenty misses at --share, or 2,000 below "
        "0.99. A trace is replayed end to end, its "
        "times of arrival scaled to each rate; workload.requests then takes that many of its first "
        "requests. Tasks are judged from the first to the last, in runs of twenty "
        "time-outs or more: one meets its objective if it is done within workload.tasks.timeout. A "
        "rate meets the objectives when the lower end of the 95 % confidence interval "
        "of the fraction of requests within them is at least --share. Exit status 2 when no rate "
        "does.\n"
        "The simulation can be off, so the upper ends of the error bands decide: at the first rate "
        "printed a measurement meets the objectives with probability --confidence, with latencies "
        "multiplied by the upper bounds of their bands there. The rate by the simulation alone is "
        "printed below it, and decides where no measured run is like the scenario.",
    .options = options,
    .run = run,
};
