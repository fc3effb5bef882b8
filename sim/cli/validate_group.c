/*
 * validate_group.c - prints a group of validation sets as one table, then counts the reasons of
 * refusals, then lists the worst rows.
 */
#include "sim/cli/verb_validate.h"

#include "calibration/crossval/crossval.h"
#include "sim/cli/cli.h"

enum { N_WORST = 10 };

/* The last column, "near", is the fraction of rows with an error of at most this. */
#define NEAR 0.15

static const OrrValidationRow *row_at(const OrrValidation *validation, guint i) {
  return &g_array_index(validation->rows, OrrValidationRow, i);
}

static gboolean is_memory(const OrrValidationRow *row) {
  return g_str_has_suffix(row->metric, "_bytes");
}

static gboolean is_rate(const OrrValidationRow *row) {
  return strstr(row->metric, "per_s") || strstr(row->metric, "tflops") ||
         strstr(row->metric, "mfu") || strstr(row->metric, "hfu");
}

double orr_validate_group_error(const OrrValidationRow *row) {
  return is_rate(row) ? row->measured / row->simulated - 1 : row->error;
}

/* The length of a reason up to the words that differ from row to row: lists of allowed values, and
 * further findings. */
static gsize reason_length(const char *reason) {
  static const char *const ends[] = {" (allowed:", " (known:", ": did you mean", "; ", NULL};
  gsize length = strlen(reason);
  for (const char *const *end = ends; *end; end++) {
    const char *found = strstr(reason, *end);
    if (found) length = MIN(length, (gsize)(found - reason));
  }
  return length;
}

char *orr_validate_group_reason(const char *reason) {
  const char *error = strstr(reason, ": error: ");
  const char *text = error ? error + strlen(": error: ") : reason;
  const gsize length = reason_length(text);
  GString *plain = g_string_new(NULL);
  for (gsize i = 0; i < length; i++) {
    const char before = i > 0 ? text[i - 1] : ' ';
    if (!g_ascii_isdigit(text[i]) || g_ascii_isalnum(before) || before == '-' || before == '.')
      g_string_append_c(plain, text[i]);
    else {
      while (i + 1 < length && (g_ascii_isdigit(text[i + 1]) || text[i + 1] == '.')) i++;
      g_string_append_c(plain, 'N');
    }
  }
  return g_string_free(plain, FALSE);
}

/* --- Errors --- */

static void take_errors(const OrrValidation *validation, gboolean memory, GArray *errors) {
  for (guint i = 0; i < validation->rows->len; i++) {
    const OrrValidationRow *row = row_at(validation, i);
    if (is_memory(row) != memory) continue;
    ORR_APPEND(errors, double, orr_validate_group_error(row));
  }
}

static double near_fraction(const GArray *errors) {
  guint n = 0;
  ORR_EACH_VALUE(const double, value, errors) n += fabs(value) <= NEAR;
  return (double)n / errors->len;
}

static void print_errors(const char *name, const char *what, int width, GArray *errors,
                         int n_refused) {
  g_autofree char *refused = n_refused < 0 ? g_strdup("") : g_strdup_printf("%d", n_refused);
  const double near = near_fraction(errors);
  printf("  %-*s  %-6s  %8u  %8s", width, name, what, errors->len, refused);
  if (errors->len > 0) {
    const OrrErrors e = orr_errors_of(errors);
    printf("  %6.1f %%  %+6.1f %%  %6.1f %%  %6.1f %%  %6.0f %%", 100 * e.mape, 100 * e.bias,
           100 * e.median, 100 * e.p90, 100 * near);
  }
  printf("\n");
}

static void print_table(GPtrArray *validations) {
  GArray *all[2] = {g_array_new(FALSE, FALSE, sizeof(double)),
                    g_array_new(FALSE, FALSE, sizeof(double))};
  int width = 3, n_refused = 0;
  for (guint i = 0; i < validations->len; i++)
    width = MAX(width, (int)strlen(((const OrrValidation *)validations->pdata[i])->set_name));
  printf("  %-*s  %-6s  %8s  %8s  %8s  %8s  %8s  %8s  %8s\n", width, "set", "of", "compared",
         "refused", "mape", "bias", "median", "p90", "near");
  ORR_EACH_POINTER(const OrrValidation, one, validations) {
    for (int memory = 0; memory < 2; memory++) {
      g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
      take_errors(one, memory, errors);
      g_array_append_vals(all[memory], errors->data, errors->len);
      if (errors->len > 0 || !memory)
        print_errors(memory ? "" : one->set_name, memory ? "memory" : "time", width, errors,
                     memory ? -1 : (int)one->refusals->len);
    }
    n_refused += (int)one->refusals->len;
  }
  print_errors("all", "time", width, all[0], n_refused);
  if (all[1]->len > 0) print_errors("", "memory", width, all[1], -1);
  for (int memory = 0; memory < 2; memory++) g_array_unref(all[memory]);
}

/* --- Refusals --- */

typedef struct {
  char *set, *reason;
  guint n;
} Reason;

static void clear_reason(gpointer data) {
  g_free(((Reason *)data)->set);
  g_free(((Reason *)data)->reason);
}

static void count_reason(GArray *reasons, const char *set, const char *text) {
  g_autofree char *plain = orr_validate_group_reason(text);
  ORR_EACH(Reason, known, reasons) {
    if (strcmp(known->set, set) != 0 || strcmp(known->reason, plain) != 0) continue;
    known->n++;
    return;
  }
  ORR_APPEND(reasons, Reason, {g_strdup(set), g_steal_pointer(&plain), 1});
}

static void print_refusals(GPtrArray *validations) {
  g_autoptr(GArray) reasons = g_array_new(FALSE, FALSE, sizeof(Reason));
  g_array_set_clear_func(reasons, clear_reason);
  ORR_EACH_POINTER(const OrrValidation, one, validations) {
    ORR_EACH(const OrrValidationRefusal, refusal, one->refusals)
      count_reason(reasons, one->set_name, refusal->reason);
  }
  if (reasons->len > 0) printf("refused\n");
  ORR_EACH(const Reason, reason, reasons)
    printf("  %4u  %s: %s\n", reason->n, reason->set, reason->reason);
}

/* --- The worst --- */

static int compare_worst(gconstpointer a, gconstpointer b) {
  const double x = fabs(orr_validate_group_error(*(const OrrValidationRow *const *)a));
  const double y = fabs(orr_validate_group_error(*(const OrrValidationRow *const *)b));
  return x > y ? -1 : x < y;
}

static void print_worst(GPtrArray *validations) {
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  ORR_EACH_POINTER(const OrrValidation, one, validations) {
    for (guint k = 0; k < one->rows->len; k++) g_ptr_array_add(rows, (gpointer)row_at(one, k));
  }
  g_ptr_array_sort(rows, compare_worst);
  if (rows->len > 0) printf("worst\n");
  for (guint i = 0; i < MIN(rows->len, N_WORST); i++) {
    const OrrValidationRow *row = rows->pdata[i];
    g_autofree char *error = orr_show_signed_percent(orr_validate_group_error(row));
    printf("  %9s  %s, line %ld, %s, %s: %s\n", error, row->set_name, row->row, row->label,
           is_memory(row) ? "memory" : "time", row->explanation);
  }
}

void orr_validate_group_print(const char *group, GPtrArray *validations) {
  printf(
      "%s: above 0 the simulation is slower (larger) than the measurement; near: within %.0f %%\n",
      group, 100 * NEAR);
  print_table(validations);
  print_refusals(validations);
  print_worst(validations);
}
