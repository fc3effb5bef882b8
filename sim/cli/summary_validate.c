/*
 * summary_validate.c - prints validations: as text, every row with its error, the statistics and
 * the worst rows; as JSON, the same in full.
 */
#include "sim/cli/verb_validate.h"

#include "sim/base/json_write.h"
#include "sim/base/quantity.h"
#include "sim/cli/cli.h"

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
    printf("  %s (line %ld): %s: %s\n", refusal->label, refusal->row,
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
    printf("  %-*s  %-*s  %-11s  %8ld  %5.1f %%  %+5.1f %%  %5.1f %%  %5.1f %%  %6.1f %%%s\n",
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

void orr_summary_validate_assumed(const OrrValidation *validation) {
  g_autoptr(GPtrArray) stacks = g_ptr_array_new();
  for (guint i = 0; i < validation->rows->len; i++) {
    const char *stack = row_at(validation, i)->assumed;
    if (stack && !g_ptr_array_find_with_equal_func(stacks, stack, g_str_equal, NULL))
      g_ptr_array_add(stacks, (gpointer)stack);
  }
  for (guint k = 0; k < stacks->len; k++) {
    guint n = 0;
    for (guint i = 0; i < validation->rows->len; i++)
      n += g_strcmp0(row_at(validation, i)->assumed, stacks->pdata[k]) == 0;
    g_autofree char *text = orr_show_assumed(stacks->pdata[k]);
    printf("  %s (workload.stack names another): %u of %u comparisons\n", text, n,
           validation->rows->len);
  }
}

void orr_summary_validate_set(const OrrValidation *validation) {
  printf("%s\n", validation->set_name);
  if (validation->costs->len > 0)
    print_costs(validation);
  else
    print_rows(validation);
  print_statistics(validation);
  orr_summary_validate_assumed(validation);
  print_worst(validation, FALSE, orr_validate_parts_print(validation) ? N_WORST_OF_PARTS : N_WORST);
}

void orr_summary_validate_all(const OrrValidation *all, guint n_sets) {
  printf("all %u sets of scenarios\n", n_sets);
  print_statistics(all);
  orr_summary_validate_assumed(all);
  print_worst(all, TRUE, N_WORST);
}

/* --- JSON --- */

static void add_statistics(GString *out, const OrrValidation *validation) {
  ORR_JSON_NUMBERS(out, {"n_compared", (double)validation->n_compared},
                   {"n_refused", (double)validation->refusals->len}, {"mape", validation->mape},
                   {"bias", validation->bias}, {"median", validation->median},
                   {"p90", validation->p90}, {"worst", validation->worst});
}

static void add_rows(GString *out, const OrrValidation *validation) {
  g_string_append(out, ",\n   ");
  orr_json_write_array(out, "rows");
  for (guint i = 0; i < validation->rows->len; i++) {
    const OrrValidationRow *row = row_at(validation, i);
    orr_json_write_element(out, "\n    ");
    orr_json_write_members(out, &orr_validation_row_table, row);
    orr_json_write_text(out, "part", row->part);
    orr_json_write_text(out, "release_assumed", row->assumed);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  if (validation->costs->len == 0) return;
  g_string_append(out, ",\n   ");
  orr_json_write_rows(out, "costs", &orr_cost_error_table, validation->costs, "\n    ");
}

static void add_set(GString *out, const OrrValidation *validation) {
  orr_json_write_element(out, "\n  ");
  orr_json_write_text(out, "set", validation->set_name);
  add_statistics(out, validation);
  add_rows(out, validation);
  orr_validate_parts_json(out, validation);
  g_string_append(out, ",\n   ");
  orr_json_write_array(out, "refused");
  for (guint i = 0; i < validation->refusals->len; i++) {
    const OrrValidationRefusal *refusal = refusal_at(validation, i);
    orr_json_write_element(out, "\n    ");
    orr_json_write_int(out, "row", refusal->row);
    orr_json_write_bool(out, "failed", refusal->failed);
    orr_json_write_text(out, "label", refusal->label);
    orr_json_write_text(out, "reason", refusal->reason);
    g_string_append_c(out, '}');
  }
  g_string_append(out, "]}");
}

void orr_summary_validate_json(const GPtrArray *validations, const OrrValidation *all) {
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_array(out, "sets");
  for (guint i = 0; i < validations->len; i++) add_set(out, validations->pdata[i]);
  g_string_append(out, validations->len > 0 ? "],\n " : "\n],\n ");
  orr_json_write_object(out, "all");
  add_statistics(out, all);
  printf("%s}}\n", out->str);
}
