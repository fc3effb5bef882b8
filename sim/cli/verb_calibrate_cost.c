/*
 * verb_calibrate_cost.c - orrery calibrate cost PROFILE OPERATOR [key=value ...]: prints the cost
 * of one kernel or collective, and how it is known.
 */
#include "calibration/cost/query.h"
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/run/machine.h"

static char *rows;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("rows", rows, "FILE.csv",
                    "Read the keys from a table, and add the columns predicted_us and how"),
    ORR_OPTION_JSON("one JSON object"),
    {NULL},
};

static int answer_rows(const OrrCostModel *model, const char *op, GError **error) {
  g_autofree char *text = NULL;
  if (!orr_query_rows(model, op, rows, &text, error)) return 2;
  fputs(text, stdout);
  return 0;
}

static void print_json(OrrCost cost, const char *how, const char *note) {
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_number(out, "time_s", cost.time_s);
  orr_json_write_text(out, "how", how);
  if (note) orr_json_write_text(out, "note", note);
  printf("%s}\n", out->str);
}

static int answer_one(const OrrCostModel *model, char **args, GError **error) {
  OrrCost cost;
  if (!orr_query_operator(model, args[0], (const char *const *)args + 1, &cost, error)) return 2;
  const char *how =
      orr_cost_how_text(cost.from ? cost.from : orr_cost_carried_from(model), cost.how);
  g_autofree char *note = orr_query_note(model, args[0], (const char *const *)args + 1, &cost);
  if (orr_options.json) {
    print_json(cost, how, note);
    return 0;
  }
  g_autofree char *time = orr_quantity_format(cost.time_s, ORR_UNIT_SECONDS);
  printf("%s  %s\n", time, how);
  if (note) printf("  %s\n", note);
  return 0;
}

static int print_operators(const OrrCostModel *model) {
  g_autofree char *text = orr_query_help(), *asides = orr_cost_asides(model);
  fputs(text, stdout);
  if (*asides)
    printf("\nRows that are not used, because they contradict others; their shapes are "
           "interpolated: %s.\n",
           asides);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, rows ? 2 : G_MAXUINT,
                          "calibrate cost takes a profile and an operator", error))
    return 2;
  if (rows && !args[1]) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--rows needs the operator that the table describes");
    return 2;
  }
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL};
  gboolean is_loaded = orr_machine_load(library, args[0], &machine, diags);
  orr_show_diags(diags);
  if (!is_loaded) return 2;
  g_autoptr(OrrCostModel) model = orr_machine_costs(&machine, error);
  if (!model) return 1;
  if (!args[1]) return print_operators(model);
  return rows ? answer_rows(model, args[1], error) : answer_one(model, args + 1, error);
}

const OrrCommand orr_verb_calibrate_cost = {
    .verb = "cost",
    .sentence = "Print the cost of one kernel or collective, and how it is known.",
    .usage = "PROFILE OPERATOR [key=value ...] [--rows FILE.csv] [--json]",
    .more = "How a cost is known: measured (a row), interpolated (between rows), carried over "
            "(from rows of another device), modelled (by a formula), outside (beyond the measured "
            "range). 'orrery calibrate cost PROFILE' lists the operators and their keys. A table "
            "for --rows has one column per key.",
    .options = options,
    .run = run,
};
