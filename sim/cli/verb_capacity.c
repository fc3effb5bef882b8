/*
 * verb_capacity.c - orrery capacity FILE: finds the highest rate of requests that meets the
 * scenario's objectives, and prints the rates that it tried.
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/settings.h"
#include "sim/cli/cli.h"
#include "sim/cli/show.h"
#include "sim/sweep/capacity.h"

static char **settings;
static double fraction = 0.99, tolerance = 0.02;
static int seeds = 4;
static gboolean as_json;

static const GOptionEntry options[] = {
    {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings,
     "Change the scenario, e.g. workload.parallel.tp=4; may be repeated", "PATH=VALUE"},
    {"share", 0, 0, G_OPTION_ARG_DOUBLE, &fraction,
     "Fraction of the requests that must meet all objectives (default 0.99)", "X"},
    {"tolerance", 0, 0, G_OPTION_ARG_DOUBLE, &tolerance,
     "Relative precision of the result (default 0.02)", "X"},
    {"seeds", 0, 0, G_OPTION_ARG_INT, &seeds, "Runs per rate, 2 to 10 (default 4)", "N"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print one JSON object", NULL},
    {NULL}};

static gboolean check_options(GError **error) {
  if (!(fraction > 0 && fraction <= 1))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--share takes a number above 0 and at most 1, found %g", fraction);
  else if (!(tolerance >= 0.001 && tolerance <= 1))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--tolerance takes a number from 0.001 to 1, found %g", tolerance);
  else if (seeds < 2 || seeds > 10)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--seeds takes a number from 2 to 10, found %d",
                seeds);
  else
    return TRUE;
  return FALSE;
}

static void print_json(const OrrCapacity *capacity) {
  printf("{\"rate_rps\": %.6g, \"fails_rps\": %.6g, \"share\": %g, \"points\": [", capacity->meets,
         capacity->fails, fraction);
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = &g_array_index(capacity->points, OrrCapacityPoint, i);
    printf("%s\n  {\"rate_rps\": %.6g, \"share\": %.6g, \"margin\": %.3g, \"meets\": %s}",
           i ? "," : "", point->rate, point->fraction, point->margin,
           point->meets ? "true" : "false");
  }
  printf("]}\n");
}

static void print_text(const OrrCapacity *capacity) {
  printf("     requests/s   within objectives\n");
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = &g_array_index(capacity->points, OrrCapacityPoint, i);
    printf("%15.4g   %6.2f %% +- %.2f  %s\n", point->rate, 100 * point->fraction,
           100 * point->margin, point->meets ? "meets" : "does not");
  }
  if (capacity->meets > 0 && capacity->fails > 0)
    printf("capacity %.4g requests/s: %.4g%% of requests within objectives, with 95 %% confidence; "
           "%.4g is too many\n",
           capacity->meets, 100 * fraction, capacity->fails);
  else if (capacity->meets > 0)
    printf("capacity above %.4g requests/s: every rate tried meets the objectives; a run of more "
           "requests can find one that does not\n",
           capacity->meets);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 1, 1, "capacity takes one scenario: a file, or a name from 'orrery list scenarios'",
          error) ||
      !check_options(error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, args[0], diags);
  orr_show_diags(diags);
  if (!tree || !orr_settings_apply(&orr_scenario_table, tree, settings, error)) return 2;
  const OrrCapacityQuery query = {fraction, tolerance, (guint)seeds};
  g_autoptr(OrrCapacity) capacity = orr_capacity_find(library, tree, &query, error);
  if (!capacity) return orr_fault_exit_status(error ? *error : NULL);
  (as_json ? print_json : print_text)(capacity);
  if (capacity->meets > 0) return 0;
  const OrrCapacityPoint *last =
      &g_array_index(capacity->points, OrrCapacityPoint, capacity->points->len - 1);
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "no rate meets the objectives: at %.3g requests/s %.2f %% of requests are within "
              "them, and --share demands %.4g %%",
              last->rate, 100 * last->fraction, 100 * fraction);
  return 2;
}

const OrrCommand orr_verb_capacity = {
    .verb = "capacity",
    .sentence =
        "Find the highest rate of requests that meets the objectives of a serving scenario.",
    .usage = "FILE [--set PATH=VALUE]... [--share X] [--tolerance X] [--seeds N] [--json]",
    .more = "Doubles or halves workload.load.rate, then bisects. Each rate is simulated with "
            "several seeds; it meets the objectives when the lower end of the 95 % confidence "
            "interval of their mean is at least --share. Exit status 2 when no rate does.",
    .options = options,
    .run = run,
};
