/*
 * verb_capacity.c - orrery capacity FILE: the highest rate that meets the objectives.
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/cli/cli.h"
#include "sim/cli/show.h"
#include "sim/sweep/capacity.h"

static char **settings;
static double share = 0.99, tolerance = 0.02;
static int seeds = 4;
static gboolean as_json;

static const GOptionEntry options[] = {
    {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings, "Change a field; may be repeated",
     "PATH=VALUE"},
    {"share", 0, 0, G_OPTION_ARG_DOUBLE, &share,
     "Of the requests that must meet all objectives (default 0.99)", "X"},
    {"tolerance", 0, 0, G_OPTION_ARG_DOUBLE, &tolerance,
     "Relative width of the answer (default 0.02)", "X"},
    {"seeds", 0, 0, G_OPTION_ARG_INT, &seeds, "Runs of each rate, 2 to 10 (default 4)", "N"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print one JSON object", NULL},
    {NULL}};

static gboolean check_options(GError **error) {
  if (!(share > 0 && share <= 1))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--share %g: above 0, at most 1", share);
  else if (!(tolerance >= 0.001 && tolerance <= 1))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--tolerance %g: 0.001 to 1", tolerance);
  else if (seeds < 2 || seeds > 10)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--seeds %d: 2 to 10", seeds);
  else
    return TRUE;
  return FALSE;
}

static gboolean apply_settings(OrrNode *tree, GError **error) {
  for (char **setting = settings; setting && *setting; setting++) {
    const char *equals = strchr(*setting, '=');
    if (!equals) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--set %s: wants PATH=VALUE", *setting);
      return FALSE;
    }
    g_autofree char *path = g_strndup(*setting, (gsize)(equals - *setting));
    if (!orr_field_set(&orr_scenario_table, tree, path, equals + 1, error)) return FALSE;
  }
  return TRUE;
}

static void print_json(const OrrCapacity *capacity) {
  printf("{\"rate_rps\": %.6g, \"fails_rps\": %.6g, \"share\": %g, \"points\": [", capacity->meets,
         capacity->fails, share);
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = &g_array_index(capacity->points, OrrCapacityPoint, i);
    printf("%s\n  {\"rate_rps\": %.6g, \"share\": %.6g, \"margin\": %.3g, \"meets\": %s}",
           i ? "," : "", point->rate, point->share, point->margin, point->meets ? "true" : "false");
  }
  printf("]}\n");
}

static void print_text(const OrrCapacity *capacity) {
  printf("     requests/s   within objectives\n");
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = &g_array_index(capacity->points, OrrCapacityPoint, i);
    printf("%15.4g   %6.2f %% +- %.2f  %s\n", point->rate, 100 * point->share, 100 * point->margin,
           point->meets ? "meets" : "does not");
  }
  if (capacity->meets > 0 && capacity->fails > 0)
    printf("capacity %.4g requests/s: %.4g%% of requests within objectives, with 95 %% confidence; "
           "%.4g is too many\n",
           capacity->meets, 100 * share, capacity->fails);
  else if (capacity->meets > 0)
    printf("capacity above %.4g requests/s: no rate was found that is too many; more requests a "
           "run may show one\n",
           capacity->meets);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 1, 1, "capacity wants one scenario: a file, or a name of 'orrery list scenarios'",
          error) ||
      !check_options(error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, args[0], diags);
  orr_show_diags(diags);
  if (!tree || !apply_settings(tree, error)) return 2;
  const OrrCapacityAsk ask = {share, tolerance, (guint)seeds};
  g_autoptr(OrrCapacity) capacity = orr_capacity_find(library, tree, &ask, error);
  if (!capacity) return orr_fault_exit_status(error ? *error : NULL);
  (as_json ? print_json : print_text)(capacity);
  if (capacity->meets > 0) return 0;
  const OrrCapacityPoint *last =
      &g_array_index(capacity->points, OrrCapacityPoint, capacity->points->len - 1);
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "no rate meets the objectives: at %.3g requests/s %.2f %% of requests are within "
              "them, %.4g %% are asked",
              last->rate, 100 * last->share, 100 * share);
  return 2;
}

const OrrCommand orr_verb_capacity = {
    .verb = "capacity",
    .sentence = "Find the highest rate of requests that meets a serving scenario's objectives.",
    .usage = "FILE [--set PATH=VALUE]... [--share X] [--tolerance X] [--seeds N] [--json]",
    .more = "Doubles or halves workload.load.rate, then bisects. A rate meets where the lower end "
            "of a 95 % interval over\n"
            "the seeds' runs is at least the share asked. Exit status 2 where no rate does.",
    .options = options,
    .run = run,
};
