/*
 * verb_validate.c - orrery validate [SET...]: simulates published measurements and prints the errors.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/paths.h"
#include "sim/cli/cli.h"
#include "sim/cli/patience.h"
#include "sim/cli/progress.h"
#include "sim/cli/show.h"
#include "sim/cli/validate_group.h"
#include "sim/cli/validate_parts.h"
#include "sim/validate/validate_costs.h"

static char *rows_csv, *database, *profile;
static gboolean as_json;
static gint n_jobs;

static const GOptionEntry options[] = {
    {"rows", 0, 0, G_OPTION_ARG_FILENAME, &rows_csv,
     "Simulate the rows of FILE.csv instead of the set's own", "FILE.csv"},
    {"profile", 0, 0, G_OPTION_ARG_FILENAME, &profile, "Sets of costs: query only this profile",
     "NAME"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print one JSON object", NULL},
    {"db", 0, 0, G_OPTION_ARG_FILENAME, &database,
     "Store the comparison in FILE (default: orrery.db); 'none' stores nothing", "FILE"},
    {"jobs", 'j', 0, G_OPTION_ARG_INT, &n_jobs, "Rows to simulate at once (default: one per core)",
     "N"},
    {NULL},
};

enum { N_WORST = 3, N_WORST_OF_PARTS = 10 };

/* --- Text --- */

static const OrrValidationRow *row_at(const OrrValidation *validation, guint i) {
  return &g_array_index(validation->rows, OrrValidationRow, i);
}

static const OrrValidationRefusal *refusal_at(const OrrValidation *validation, guint i) {
  return &g_array_index(validation->refusals, OrrValidationRefusal, i);
}

/* A value with the unit of its metric: "3.53 s", "0.442". */
static char *value_text(const OrrValidationRow *row, double value) {
  if (g_str_has_suffix(row->metric, "_s") && !g_str_has_suffix(row->metric, "per_s"))
    return orr_quantity_format(value, ORR_UNIT_SECONDS);
  if (g_str_has_suffix(row->metric, "_bytes")) return orr_quantity_format(value, ORR_UNIT_BYTES);
  return g_strdup_printf("%.4g", value);
}

static void print_row(const OrrValidationRow *row, int label_width, int metric_width) {
  g_autofree char *measured = value_text(row, row->measured),
                  *simulated = value_text(row, row->simulated);
  g_autofree char *error = orr_show_signed_percent(row->error);
  printf("  %-*s  %-*s  %11s  %11s  %9s\n", label_width, row->label, metric_width, row->metric,
         measured, simulated, error);
}

static void print_rows(const OrrValidation *validation) {
  int label_width = 3, metric_width = 6;
  for (guint i = 0; i < validation->rows->len; i++) {
    label_width = MAX(label_width, (int)strlen(row_at(validation, i)->label));
    metric_width = MAX(metric_width, (int)strlen(row_at(validation, i)->metric));
  }
  if (validation->rows->len > 0)
    printf("  %-*s  %-*s  %11s  %11s  %9s\n", label_width, "row", metric_width, "metric",
           "measured", "simulated", "error");
  for (guint i = 0; i < validation->rows->len; i++)
    print_row(row_at(validation, i), label_width, metric_width);
  for (guint i = 0; i < validation->refusals->len; i++) {
    const OrrValidationRefusal *refusal = refusal_at(validation, i);
    printf("  %s (line %" G_GINT64_FORMAT "): %s: %s\n", refusal->label, refusal->row,
           refusal->failed ? "failed" : "refused", refusal->reason);
  }
}

static const OrrCostError *cost_at(const OrrValidation *validation, guint i) {
  return &g_array_index(validation->costs, OrrCostError, i);
}

/* The table of a set of costs: one line per table of a profile, then one per region. */
static void print_costs(const OrrValidation *validation) {
  int profile_width = 7, kernels_width = 7;
  for (guint i = 0; i < validation->costs->len; i++) {
    profile_width = MAX(profile_width, (int)strlen(cost_at(validation, i)->profile));
    kernels_width = MAX(kernels_width, (int)strlen(cost_at(validation, i)->kernels));
  }
  printf("  %-*s  %-*s  %-11s  %8s  %7s  %7s  %7s  %7s  %8s\n", profile_width, "profile",
         kernels_width, "kernels", "region", "shapes", "mape", "bias", "median", "p90", "worst");
  for (guint i = 0; i < validation->costs->len; i++) {
    const OrrCostError *row = cost_at(validation, i);
    gboolean is_all = strcmp(row->region, "all") == 0;
    printf("  %-*s  %-*s  %-11s  %8" G_GINT64_FORMAT
           "  %5.1f %%  %+5.1f %%  %5.1f %%  %5.1f %%  %6.1f %%%s\n",
           profile_width, is_all ? row->profile : "", kernels_width, is_all ? row->kernels : "",
           row->region, row->n, 100 * row->mape, 100 * row->bias, 100 * row->median, 100 * row->p90,
           100 * row->worst, is_all && !row->met ? "  misses the target" : "");
  }
}

static int compare_worst(gconstpointer a, gconstpointer b) {
  double x = fabs((*(const OrrValidationRow *const *)a)->error),
         y = fabs((*(const OrrValidationRow *const *)b)->error);
  return x > y ? -1 : x < y;
}

static void print_worst(const OrrValidation *validation, gboolean with_set, guint n_worst) {
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  for (guint i = 0; i < validation->rows->len; i++)
    g_ptr_array_add(rows, (gpointer)row_at(validation, i));
  g_ptr_array_sort(rows, compare_worst); /* stable: equal errors keep the order of the table */
  for (guint i = 0; i < MIN(rows->len, n_worst); i++) {
    const OrrValidationRow *row = rows->pdata[i];
    g_autofree char *error = orr_show_signed_percent(row->error);
    printf("  %s %s%s%s, %s %s: %s\n", i == 0 ? "worst" : "     ", with_set ? row->set_name : "",
           with_set ? " " : "", row->label, row->metric, error, row->explanation);
  }
}

static void print_statistics(const OrrValidation *validation) {
  guint n_refused = validation->refusals->len;
  printf("  %u compared, %u row%s refused", validation->n_compared, n_refused,
         n_refused == 1 ? "" : "s");
  if (validation->n_compared > 0)
    printf("; mean absolute error %.1f %%, bias %+.1f %%, median %.1f %%, 90th percentile %.1f %%, "
           "worst %.1f %%",
           100 * validation->mape, 100 * validation->bias, 100 * validation->median,
           100 * validation->p90, 100 * validation->worst);
  printf("\n");
}

static void print_set(const OrrValidation *validation) {
  printf("%s\n", validation->set_name);
  if (validation->costs->len > 0)
    print_costs(validation);
  else
    print_rows(validation);
  print_statistics(validation);
  print_worst(validation, FALSE, orr_validate_parts_print(validation) ? N_WORST_OF_PARTS : N_WORST);
}

/* --- JSON --- */

static void add_statistics(GString *out, const OrrValidation *validation) {
  const struct {
    const char *name;
    double value;
  } statistics[] = {{"mape", validation->mape},
                    {"bias", validation->bias},
                    {"median", validation->median},
                    {"p90", validation->p90},
                    {"worst", validation->worst}};
  g_string_append_printf(out, "\"n_compared\": %u, \"n_refused\": %u", validation->n_compared,
                         validation->refusals->len);
  for (guint i = 0; i < G_N_ELEMENTS(statistics); i++) {
    g_string_append_printf(out, ", \"%s\": ", statistics[i].name);
    orr_show_json_number(out, statistics[i].value);
  }
}

static void add_set(GString *out, const OrrValidation *validation) {
  g_string_append(out, "  {\"set\": ");
  orr_show_json_text(out, validation->set_name);
  g_string_append(out, ", ");
  add_statistics(out, validation);
  g_string_append(out, ",\n   \"rows\": [");
  for (guint i = 0; i < validation->rows->len; i++) {
    g_string_append(out, i > 0 ? ",\n    {" : "\n    {");
    orr_show_json_members(out, &orr_validation_row_table, row_at(validation, i));
    g_string_append(out, ", \"part\": ");
    orr_show_json_text(out, row_at(validation, i)->part);
    g_string_append_c(out, '}');
  }
  if (validation->costs->len > 0) g_string_append(out, "],\n   \"costs\": [");
  for (guint i = 0; i < validation->costs->len; i++) {
    g_string_append(out, i > 0 ? ",\n    {" : "\n    {");
    orr_show_json_members(out, &orr_cost_error_table, cost_at(validation, i));
    g_string_append_c(out, '}');
  }
  g_string_append(out, "]");
  orr_validate_parts_json(out, validation);
  g_string_append(out, ",\n   \"refused\": [");
  for (guint i = 0; i < validation->refusals->len; i++) {
    const OrrValidationRefusal *refusal = refusal_at(validation, i);
    g_string_append_printf(out,
                           "%s\n    {\"row\": %" G_GINT64_FORMAT ", \"failed\": %s, \"label\": ",
                           i > 0 ? "," : "", refusal->row, refusal->failed ? "true" : "false");
    orr_show_json_text(out, refusal->label);
    g_string_append(out, ", \"reason\": ");
    orr_show_json_text(out, refusal->reason);
    g_string_append_c(out, '}');
  }
  g_string_append(out, "]}");
}

static void print_json(GPtrArray *validations, const OrrValidation *all) {
  g_autoptr(GString) out = g_string_new("{\"sets\": [\n");
  for (guint i = 0; i < validations->len; i++) {
    g_string_append(out, i > 0 ? ",\n" : "");
    add_set(out, validations->pdata[i]);
  }
  g_string_append(out, "],\n \"all\": {");
  add_statistics(out, all);
  g_string_append(out, "}}\n");
  fputs(out->str, stdout);
}

/* --- The verb --- */

static void show_progress(guint done, guint total, void *user) {
  orr_progress_update(user, done, total);
}

static OrrValidation *validate_one(OrrLibrary *library, const char *set, OrrStore *store,
                                   GError **error) {
  g_autoptr(OrrProgress) progress = orr_progress_new(set, FALSE);
  const OrrValidateOrder order = {.set = set,
                                  .rows_csv = rows_csv,
                                  .profile = profile,
                                  .jobs = (guint)n_jobs,
                                  .store = store,
                                  .progress = show_progress,
                                  .user = progress};
  return orr_validate_costs_is(library, set) ? orr_validate_costs(library, &order, error)
                                             : orr_validate(library, &order, error);
}

/* Merges the sets of scenarios into one. Sets of costs stay apart, since they have a thousand times
 * more rows. The merged rows are flat copies: the sets own their members. */
static void merge(GPtrArray *validations, OrrValidation *ret_all) {
  *ret_all = (OrrValidation){.set_name = (char *)"all",
                             .rows = g_array_new(FALSE, FALSE, sizeof(OrrValidationRow)),
                             .refusals = g_array_new(FALSE, FALSE, sizeof(OrrValidationRefusal))};
  for (guint i = 0; i < validations->len; i++) {
    const OrrValidation *one = validations->pdata[i];
    if (one->costs->len > 0) continue;
    g_array_append_vals(ret_all->rows, one->rows->data, one->rows->len);
    g_array_append_vals(ret_all->refusals, one->refusals->data, one->refusals->len);
  }
  orr_validation_summarise(ret_all);
}

/* The number of sets of scenarios. */
static guint count_replayed(const GPtrArray *validations) {
  guint n = 0;
  for (guint i = 0; i < validations->len; i++)
    n += ((const OrrValidation *)validations->pdata[i])->costs->len == 0;
  return n;
}

static void print_all(const OrrValidation *all, guint n_sets) {
  printf("all %u sets of scenarios\n", n_sets);
  print_statistics(all);
  print_worst(all, TRUE, N_WORST);
}

/* 1 when the simulation of a row failed, and names the first such row; a refused row is not a
 * failure. */
static int status_of(const OrrValidation *all) {
  const OrrValidationRefusal *first = NULL;
  guint n = 0;
  for (guint i = 0; i < all->refusals->len; i++) {
    if (!refusal_at(all, i)->failed) continue;
    if (n++ == 0) first = refusal_at(all, i);
  }
  if (first)
    orr_show_problem("%u row%s failed; %s (line %" G_GINT64_FORMAT "): %s", n, n == 1 ? "" : "s",
                     first->label, first->row, first->reason);
  return first ? 1 : 0;
}

static int validate_sets(OrrLibrary *library, const char *group, char **sets, OrrStore *store,
                         GError **error) {
  g_autoptr(GPtrArray) validations =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_validation_free);
  OrrValidation all;
  for (char **set = sets; *set; set++) {
    OrrValidation *validation = validate_one(library, *set, store, error);
    if (!validation) return 2;
    g_ptr_array_add(validations, validation);
    if (!as_json && !group) print_set(validation);
    fflush(stdout);
  }
  merge(validations, &all);
  if (as_json)
    print_json(validations, &all);
  else if (group)
    orr_validate_group_print(group, validations);
  else if (count_replayed(validations) > 1)
    print_all(&all, count_replayed(validations));
  int status = status_of(&all);
  g_array_unref(all.rows);
  g_array_unref(all.refusals);
  return status;
}

/* Refuses a misspelt set before any set runs. */
static gboolean check_sets(OrrLibrary *library, char **sets, GError **error) {
  g_auto(GStrv) known = orr_validation_sets(library);
  for (char **set = sets; *set; set++) {
    g_autofree char *path = orr_validation_path(library, *set);
    if (!path) {
      orr_cli_unknown("validation set", *set, (const char *const *)known, error);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean check_options(char **args, GError **error) {
  if (rows_csv && g_strv_length(args) != 1)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--rows needs one SET, whose scenario simulates the rows");
  else if (n_jobs < 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "-j takes a number above 0, found %d", n_jobs);
  else
    return TRUE;
  return FALSE;
}

static gboolean check_paths(const char *db, GError **error) {
  const OrrPath paths[] = {{"--rows", rows_csv, ORR_PATH_READ, FALSE},
                           {"--db", db, ORR_PATH_WRITTEN, TRUE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *path = database ? database : "orrery.db";
  gboolean is_stored = strcmp(path, "none") != 0;

  g_auto(GStrv) shipped =
      args[0] ? orr_validation_group(library, args[0]) : orr_validation_sets(library);
  const char *group = args[0] && shipped[0] && !args[1] ? args[0] : NULL;
  char **sets = args[0] && !group ? args : shipped;
  if (!check_options(args, error) || !check_sets(library, sets, error) ||
      !check_paths(is_stored ? path : NULL, error))
    return 2;
  g_autoptr(OrrStore) store = is_stored ? orr_store_open(path, error) : NULL;
  if (is_stored && !store) return 1;
  if (store) orr_store_keep_aside(store);
  const int status = validate_sets(library, group, sets, store, error);
  return MAX(status, orr_patience_end_store(path, store));
}

const OrrCommand orr_verb_validate = {
    .verb = "validate",
    .sentence = "Simulate published measurements and print the errors of the simulation.",
    .usage = "[GROUP | SET...] [--rows FILE.csv] [--profile NAME] [--json] [--db FILE] [-j N]",
    .more = "Without SET, validates all of 'orrery list validation-sets'. GROUP training validates "
            "the sets of training steps and prints one line per set. A row that the checks refuse "
            "is listed with its reason.\n"
            "Sets of costs (attention, collectives, gemm) leave whole shapes out of a profile and "
            "predict them from the rest; with --rows the profile predicts the kernels of the rows, "
            "and the errors are against their latency_us.",
    .options = options,
    .run = run,
};
