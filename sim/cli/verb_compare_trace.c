/*
 * verb_compare_trace.c - orrery compare --trace [SCENARIO] [--trace FILE]: compares a measured step
 * with the simulated one.
 */
#include "sim/base/json_write.h"
#include "sim/base/paths.h"
#include "sim/base/quantity.h"
#include "sim/cli/cli.h"
#include "sim/explain/explain.h"
#include "sim/run/simulate.h"

static char *trace, *step;

static gint64 device = -1, lane;

enum { MOST_DIFFERENCES = 10, MOST_UNKNOWN = 10 };

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("trace", trace, "FILE",
                    "The measured trace: of PyTorch's profiler (JSON, plain or gzipped), or an "
                    "SQLite export of Nsight Systems"),
    ORR_OPTION_TEXT(
        "step", step, "NAME",
        "How the names of the trace's ranges begin that mark steps (default: ProfilerStep#)"),
    ORR_OPTION_INT64("device", device,
                     "The device of the trace (default: the lowest with kernels)"),
    ORR_OPTION_INT64("lane", lane,
                     "The simulated rank class that it is compared with (default: 0)"),
    ORR_OPTION_OUTPUT(
        "Write both steps for Perfetto, one above the other; without --trace, the simulated "
        "time line in Kineto's form"),
    ORR_OPTION_SET("workload.parallel.tp=4"),
    ORR_OPTION_DB("the run and its comparison"),
    ORR_OPTION_JSON("one JSON object"),
    {NULL},
};

/* One side of the comparison, and the step of it that is compared. */
typedef struct {
  OrrTimeline *timeline;
  OrrAccount *account;
  OrrTimelineStep step;
  gint64 device;
} Side;

static void clear_side(Side *side) {
  orr_timeline_free(side->timeline);
  orr_account_free(side->account);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Side, clear_side)

static void settle(Side *side) {
  side->step = orr_timeline_median(side->timeline, side->device);
  side->account =
      orr_account_new(side->timeline, side->device, side->step.begin_s, side->step.end_s);
}

/* --- Both sides --- */

static gboolean read_trace(Side *side, const char **ret_form) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_paths_note_read(trace);
  OrrProgress *progress = orr_progress_new("reading the trace", TRUE);
  side->timeline = orr_trace_read(trace, step, ret_form, diags);
  orr_progress_free(progress);
  if (!side->timeline && orr_diags_n_errors(diags) == 0)
    orr_diags_error(diags, (OrrPlace){g_intern_string(trace), 0, 0, NULL}, "holds no time line");
  orr_show_diags(diags);
  if (!side->timeline) return FALSE;
  side->device = device >= 0 ? device : orr_timeline_device(side->timeline);
  orr_timeline_find_steps(side->timeline, side->device);
  settle(side);
  return TRUE;
}

static gboolean check_device(const Side *side, GError **error) {
  if (side->account->parts->len > 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "--device %d has no kernel in the trace (its first device is %d)",
                       (int)side->device, (int)orr_timeline_device(side->timeline));
}

static OrrScenario *read_scenario(OrrLibrary *library, const char *file, OrrNode **ret_tree,
                                  GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrNode *tree = *ret_tree = orr_options_scenario(library, file, diags, error);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  orr_show_diags(diags);
  if (!scenario || !orr_scenario_has_jobs(scenario)) return g_steal_pointer(&scenario);
  return orr_fault_null(error, ORR_FAULT_USAGE,
                        "compare --trace takes a scenario of one workload: this one lists jobs");
}

static OrrOutcome *simulate(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                            GError **error) {
  OrrProgress *progress = orr_progress_new("simulating", TRUE);
  OrrOutcome *outcome = orr_simulate(library, scenario, TRUE, error);
  orr_progress_free(progress);
  if (!outcome && error) orr_scenario_locate(tree, *error);
  return outcome;
}

/* --- Text --- */

static char *milliseconds(double seconds) {
  return isnan(seconds) ? g_strdup("-") : g_strdup_printf("%.3f", 1e3 * seconds);
}

static char *signed_milliseconds(double seconds) {
  if (isnan(seconds)) return g_strdup("-");
  return fabs(seconds) < 5e-7 ? g_strdup("0.000") : g_strdup_printf("%+.3f", 1e3 * seconds);
}

static void print_head(const OrrExplainStepRow *row) {
  g_autofree char *kernels = orr_show_count(row->kernels);
  if (row->steps > 0)
    printf("trace         %s: kernels and copies %s, %d %s; %s is the median of device %d\n",
           row->form, kernels, (int)row->steps, row->steps == 1 ? "step" : "steps", row->step,
           (int)row->device);
  else
    printf("trace         %s: kernels and copies %s, no steps; device %d as a whole\n", row->form,
           kernels, (int)row->device);
  g_autofree char *measured = orr_quantity_format(row->measured_s, ORR_UNIT_SECONDS);
  if (isnan(row->simulated_s)) {
    printf("step          %s measured\n", measured);
  } else {
    g_autofree char *simulated = orr_quantity_format(row->simulated_s, ORR_UNIT_SECONDS);
    const double by = row->measured_s / row->simulated_s - 1;
    g_autofree char *percent = fabs(by) < 5e-7 ? g_strdup("equal") : orr_show_signed_percent(by);
    printf("step          %s measured, %s simulated: %s\n", measured, simulated, percent);
  }
}

static void print_hidden(const OrrExplainStepRow *row, const GArray *kinds) {
  const OrrExplainKindRow *comm = &g_array_index(kinds, OrrExplainKindRow, ORR_EXPLAIN_COMM);
  const double measured = row->measured_comm_s - comm->measured_s,
               simulated = row->simulated_comm_s - comm->simulated_s;
  printf("hidden        %.3f ms of communication behind kernels measured", 1e3 * measured);
  if (!isnan(simulated)) printf(", %.3f ms simulated", 1e3 * simulated);
  putchar('\n');
}

/* Families are sums over kernels, so they exceed the step where kernels run at once. */
static void print_overlapped(const OrrExplainStepRow *row) {
  if (row->measured_overlapped_s < 5e-7 && !(row->simulated_overlapped_s >= 5e-7)) return;
  printf("at once       families sum to %.3f ms more than the busy time measured",
         1e3 * row->measured_overlapped_s);
  if (!isnan(row->simulated_overlapped_s))
    printf(", %.3f ms simulated", 1e3 * row->simulated_overlapped_s);
  putchar('\n');
}

static void print_kinds(const GArray *kinds, gboolean with_simulated) {
  printf("\n%-16s %13s", "kind", "measured ms");
  if (with_simulated) printf(" %13s %13s %11s", "simulated ms", "difference", "of the gap");
  putchar('\n');
  ORR_EACH(const OrrExplainKindRow, row, kinds) {
    if (row->measured_s <= 0 && !(row->simulated_s > 0)) continue;
    g_autofree char *measured = milliseconds(row->measured_s),
                    *simulated = milliseconds(row->simulated_s),
                    *difference = signed_milliseconds(row->difference_s),
                    *share =
                        isnan(row->gap_share)
                            ? g_strdup("-")
                            : orr_show_percent(fabs(row->gap_share) < 5e-4 ? 0 : row->gap_share);
    printf("%-16s %13s", row->kind, measured);
    if (with_simulated) printf(" %13s %13s %11s", simulated, difference, share);
    putchar('\n');
  }
}

static void print_families(const GArray *families, gboolean with_simulated) {
  printf("\n%-24s %8s %13s", with_simulated ? "largest differences" : "largest families", "calls",
         "measured ms");
  if (with_simulated) printf(" %13s %13s", "simulated ms", "difference");
  putchar('\n');
  for (guint i = 0; i < MIN(families->len, MOST_DIFFERENCES); i++) {
    const OrrExplainDifferenceRow *row = &g_array_index(families, OrrExplainDifferenceRow, i);
    g_autofree char *measured = milliseconds(row->measured_s),
                    *simulated = milliseconds(row->simulated_s),
                    *difference = signed_milliseconds(row->difference_s);
    printf("%-24s %8d %13s", row->family, (int)row->measured_calls, measured);
    if (with_simulated) printf(" %13s %13s", simulated, difference);
    putchar('\n');
  }
}

/* A kernel that no pattern knows. */
typedef struct {
  const char *name;
  double seconds;
} Unknown;

ORR_MOST_FIRST(by_seconds, Unknown, seconds)

/* Of Unknown, longest first. */
static GArray *unknown_of(const Side *side) {
  GArray *unknown = g_array_new(FALSE, FALSE, sizeof(Unknown));
  ORR_EACH_AT(i, const OrrTimelineName, name, side->timeline->names) {
    const Unknown one = {name->text, g_array_index(side->account->name_s, double, i)};
    if (name->family->kind == ORR_EXPLAIN_UNKNOWN && one.seconds > 0)
      g_array_append_val(unknown, one);
  }
  g_array_sort(unknown, by_seconds);
  return unknown;
}

/* At most 80 characters, control characters as '?': names are a stranger's text. */
static char *shown_name(const char *name) {
  g_autofree char *valid = g_utf8_make_valid(name, -1);
  char *shown = g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), 80));
  for (char *c = shown; *c; c++)
    if ((guchar)*c < 0x20 || *c == 0x7f) *c = '?';
  return shown;
}

static void print_unknown(const Side *side) {
  g_autoptr(GArray) unknown = unknown_of(side);
  if (unknown->len == 0) return;
  printf("\n%-24s %8s %13s\n", "no pattern knows", "", "measured ms");
  for (guint i = 0; i < MIN(unknown->len, MOST_UNKNOWN); i++) {
    const Unknown *one = &g_array_index(unknown, Unknown, i);
    g_autofree char *name = shown_name(one->name);
    printf("  %-31s %12.3f\n", name, 1e3 * one->seconds);
  }
}

/* --- JSON --- */

static void print_json(const OrrOutcome *rows, const Side *measured) {
  g_autoptr(GString) out = g_string_new("{");
  g_autoptr(GArray) unknown = unknown_of(measured);
  orr_json_write_members(out, &orr_explain_step_table, rows->explain_steps->data);
  g_string_append(out, ",\n ");
  orr_json_write_rows(out, orr_explain_kind_table.name, &orr_explain_kind_table,
                      rows->explain_kinds, "\n  ");
  g_string_append(out, ",\n ");
  orr_json_write_rows(out, orr_explain_difference_table.name, &orr_explain_difference_table,
                      rows->explain_differences, "\n  ");
  g_string_append(out, ",\n ");
  orr_json_write_array(out, "unknown");
  ORR_EACH(const Unknown, one, unknown) {
    g_autofree char *name = g_utf8_make_valid(one->name, -1);
    orr_json_write_element(out, "\n  ");
    orr_json_write_text(out, "kernel", name);
    orr_json_write_number(out, "measured_s", one->seconds);
    g_string_append_c(out, '}');
  }
  printf("%s]}\n", out->str);
}

/* --- The comparison --- */

static void fill_rows(OrrOutcome *rows, const Side *measured, const Side *simulated,
                      const char *form) {
  const gboolean is_coarse = simulated && orr_simulated_is_coarse(rows);
  const OrrDifferenceSide own = {measured->timeline, measured->account},
                          other = {simulated ? simulated->timeline : NULL,
                                   simulated ? simulated->account : NULL};
  g_autofree char *name = shown_name(measured->step.name);
  ORR_APPEND(rows->explain_steps, OrrExplainStepRow,
             {
                 .trace = (char *)g_intern_string(trace),
                 .form = (char *)form,
                 .step = (char *)g_intern_string(name),
                 .steps = measured->timeline->steps->len,
                 .kernels = measured->timeline->events->len,
                 .device = measured->device,
                 .lane = lane,
                 .measured_s = measured->step.end_s - measured->step.begin_s,
                 .simulated_s = simulated ? simulated->step.end_s - simulated->step.begin_s : NAN,
                 .measured_comm_s = measured->account->comm_s,
                 .simulated_comm_s = simulated ? simulated->account->comm_s : NAN,
                 .measured_overlapped_s = measured->account->overlapped_s,
                 .simulated_overlapped_s = simulated ? simulated->account->overlapped_s : NAN,
             });
  orr_difference_add(&own, simulated ? &other : NULL, is_coarse, rows->explain_kinds,
                     rows->explain_differences);
}

static gboolean write_both(const Side *measured, const Side *simulated, GError **error) {
  const OrrKinetoPart parts[] = {
      {measured->timeline, "measured", measured->device, measured->step.begin_s,
       measured->step.end_s},
      {simulated ? simulated->timeline : NULL, "simulated", simulated ? simulated->device : 0,
       simulated ? simulated->step.begin_s : 0, simulated ? simulated->step.end_s : 0}};
  return !orr_options.output ||
         orr_kineto_write(parts, simulated ? 2 : 1, orr_options.output, error);
}

static void print_text(const OrrOutcome *rows, const Side *measured) {
  const OrrExplainStepRow *row = &g_array_index(rows->explain_steps, OrrExplainStepRow, 0);
  const gboolean with_simulated = !isnan(row->simulated_s);
  print_head(row);
  print_hidden(row, rows->explain_kinds);
  print_overlapped(row);
  print_kinds(rows->explain_kinds, with_simulated);
  print_families(rows->explain_differences, with_simulated);
  print_unknown(measured);
}

/* Comes before what is written and stored: an answer is not lost on a full disk. */
static void print(const OrrOutcome *rows, const Side *measured) {
  orr_terminal_outlive_reader();
  if (orr_options.json)
    print_json(rows, measured);
  else
    print_text(rows, measured);
  fflush(stdout);
}

/* Without a scenario: what the trace holds. */
static int show_trace(GError **error) {
  g_auto(Side) measured = {0};
  const char *form = NULL;
  g_autoptr(OrrOutcome) rows = orr_outcome_new();
  if (!read_trace(&measured, &form)) return 2;
  if (!check_device(&measured, error)) return 2;
  fill_rows(rows, &measured, NULL, form);
  print(rows, &measured);
  return write_both(&measured, NULL, error) ? 0 : 1;
}

/* Without a trace: the simulated time line, in Kineto's form. */
static int write_simulated(const OrrOutcome *outcome, GError **error) {
  g_autoptr(OrrTimeline) timeline = orr_simulated_timeline(outcome, -1, error);
  const OrrKinetoPart part = {timeline, NULL, -1, 0, INFINITY};
  return timeline && orr_kineto_write(&part, 1, orr_options.output, error) ? 0 : 1;
}

/* @store: NULL where nothing is stored; else opened for the database @path. */
static int compare(OrrOutcome *outcome, const OrrScenario *scenario, const char *file,
                   OrrStore *store, const char *path, GError **error) {
  g_auto(Side) measured = {0}, simulated = {.device = lane};
  const char *form = NULL;
  gint64 run_id = 0;
  if (!read_trace(&measured, &form)) return 2;
  if (!check_device(&measured, error)) return 2;
  if (!(simulated.timeline = orr_simulated_timeline(outcome, lane, error))) return 2;
  settle(&simulated);
  fill_rows(outcome, &measured, &simulated, form);
  print(outcome, &measured);
  if (!write_both(&measured, &simulated, error)) return 1;
  if (!store) return 0;
  g_array_set_size(outcome->spans, 0); /* `run` stores them */
  return orr_outcome_store(outcome, scenario, file, store, &run_id, error)
             ? orr_patience_end_store(path, store)
             : 1;
}

static gboolean check(char **args, GError **error) {
  const OrrPath paths[] = {
      {"the scenario", args[0], ORR_PATH_READ, FALSE},
      {"--trace", trace, ORR_PATH_READ, FALSE},
      {"--db", args[0] ? orr_options_database() : NULL, ORR_PATH_WRITTEN, TRUE},
      {"--output", orr_options.output, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_cli_check_args(args, 0, 1, "compare --trace takes one scenario", error)) return FALSE;
  if (!trace && !(args[0] && orr_options.output))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "give --trace FILE, or a scenario and --output FILE");
  if (device > G_MAXINT16 || lane < 0)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--device takes 0 to %d, and --lane a number from 0", G_MAXINT16);
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!check(args, error)) return 2;
  if (!args[0]) return show_trace(error);
  const char *path = trace ? orr_options_database() : NULL;
  g_autoptr(OrrNode) tree = NULL;
  g_autoptr(OrrScenario) scenario = read_scenario(library, args[0], &tree, error);
  if (!scenario) return 2;
  g_autoptr(OrrStore) store = NULL;
  if (!orr_options_open(path, &store, error)) return 1;
  g_autoptr(OrrOutcome) outcome = simulate(library, tree, scenario, error);
  if (!outcome) return 1;
  return trace ? compare(outcome, scenario, args[0], store, path, error)
               : write_simulated(outcome, error);
}

const OrrCommand orr_verb_compare_trace = {
    .verb = "--trace",
    .sentence = "Compare a measured trace with the simulated step, kind by kind.",
    .also_option = "--output",
    .usage = "FILE [SCENARIO] [--step NAME] [--device N] [--lane N] [--output FILE] "
             "[--set PATH=VALUE]... [--db FILE] [--json] | SCENARIO --output FILE",
    .more = "The median step of the trace is compared. Steps are ranges named ProfilerStep#N (or "
            "the ranges that --step names), else the part that repeats, else the whole trace. Each "
            "second of the GPU belongs to one kind: to the kernel that computes, else to "
            "communication, else to a copy, else it is idle.\n"
            "Without a scenario the trace alone is shown. Without --trace the simulated time line "
            "is written to --output in the form of PyTorch's profiler.",
    .options = options,
    .run = run,
};
