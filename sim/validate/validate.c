/*
 * validate.c - simulates the rows of a set, compares the results with the measurements, and stores
 * the comparison.
 */
#include "sim/validate/validate.h"

#include "sim/base/yaml.h"
#include "sim/run/scenario_stack.h"
#include "sim/validate/validate_private.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown" /* meson.build defines it */
#endif

/* --- Comparison --- */

/* Joins the lines of diagnostics, since a reason is one line. */
static char *one_line(const char *text) {
  g_autofree char *trimmed = g_strchomp(g_strdup(text));
  g_auto(GStrv) lines = g_strsplit(trimmed, "\n", -1);
  return g_strjoinv("; ", lines);
}

static void add_refusal(OrrValidation *validation, const OrrValidateCase *one, const char *reason,
                        gboolean failed) {
  ORR_APPEND(validation->refusals, OrrValidationRefusal,
             {g_strdup(validation->set_name), one->line, g_strdup(one->texts[ORR_VALIDATE_LABEL]),
              one_line(reason), failed});
}

static double metric_value(const OrrResult *result, const OrrField *field) {
  const char *member = (const char *)result + field->offset;
  return field->kind == ORR_FIELD_INT ? (double)*(const gint64 *)member : *(const double *)member;
}

static OrrValidationRow make_row(const char *set_name, const OrrValidateCase *one, guint metric) {
  const OrrField *field = g_array_index(one->metrics, const OrrField *, metric);
  return (OrrValidationRow){
      .set_name = g_strdup(set_name),
      .row = one->line,
      .label = g_strdup(one->texts[ORR_VALIDATE_LABEL]),
      .metric = g_strdelimit(g_strdup(field->name), "-", '_'),
      .measured = g_array_index(one->measured, double, metric),
      .simulated = NAN,
      .error = NAN,
      .source = g_strdup(one->texts[ORR_VALIDATE_SOURCE]),
      .note = g_strdup(one->texts[ORR_VALIDATE_NOTE]),
      .part = g_strdup(one->part),
      .is_ratio = one->over != NULL,
  };
}

/* Refuses a row that was simulated on another number of GPUs than it was measured on. */
static void check_gpus(const OrrValidateSet *set, const OrrValidateCase *one,
                       OrrValidateAnswer *answer) {
  if (!answer->ok || !one->n_gpus) return;
  const gint64 n = (gint64)metric_value(&answer->result, orr_validate_set_metric(set, "n-gpus"));
  if (n == one->n_gpus) return;
  answer->ok = FALSE;
  g_free(answer->reason);
  answer->reason = g_strdup_printf("the row was measured on %ld GPU%s, and its scenario uses %ld",
                                   one->n_gpus, one->n_gpus == 1 ? "" : "s", n);
}

/* Adds what bands need to know of a row: what it was like, and its answers. A ratio's error is not
 * an answer's. */
static void add_residual(const OrrValidateSet *set, OrrValidation *validation,
                         const OrrValidateCase *one, const OrrValidateAnswer *answer) {
  OrrResidual residual = {.set = g_intern_string(validation->set_name),
                          .part = g_intern_string(one->part ? one->part : ""),
                          .row = one->line,
                          .likeness = answer->likeness};
  for (guint i = 0; i < one->metrics->len && residual.n_answers < ORR_RESIDUAL_ANSWERS; i++) {
    const OrrField *field = g_array_index(one->metrics, const OrrField *, i);
    g_autofree char *metric = g_strdelimit(g_strdup(field->name), "-", '_');
    const double simulated = metric_value(&answer->result, field);
    if (simulated > 0 && orr_validate_has_band(set->result->name, metric))
      residual.answers[residual.n_answers++] = (OrrResidualAnswer){
          g_intern_string(metric), g_array_index(one->measured, double, i), simulated};
  }
  if (residual.n_answers == 0) return;
  residual.label = g_strdup(one->texts[ORR_VALIDATE_LABEL]);
  g_array_append_val(validation->residuals->rows, residual);
}

static void compare(OrrLibrary *library, const OrrValidateSet *set, OrrValidation *validation,
                    const OrrValidateCase *one, const OrrValidateAnswer *answer) {
  if (!answer->ok) return add_refusal(validation, one, answer->reason, answer->failed);
  if (!one->over) add_residual(set, validation, one, answer);
  g_autofree char *assumed = orr_scenario_stack_assumed(library, one->tree);
  for (guint i = 0; i < one->metrics->len; i++) {
    const OrrField *field = g_array_index(one->metrics, const OrrField *, i);
    gboolean is_memory = strcmp(field->name, "memory-peak-bytes") == 0;
    OrrValidationRow row = make_row(validation->set_name, one, i);
    row.simulated = metric_value(&answer->result, field);
    row.error = row.simulated / row.measured - 1;
    row.explanation = g_strdup(is_memory ? answer->memory_parts : answer->time_parts);
    orr_validation_row_times(&row, &answer->likeness);
    row.stack = g_strdup(answer->stack);
    row.assumed = g_strdup(assumed);
    g_array_append_val(validation->rows, row);
  }
}

/* --- The database --- */

static gboolean store_refused(OrrStore *store, const char *set_name, const OrrValidateCase *one,
                              const char *reason, GError **error) {
  gboolean ok = TRUE;
  for (guint i = 0; ok && i < one->metrics->len; i++) {
    OrrValidationRow row = make_row(set_name, one, i);
    row.explanation = one_line(reason);
    orr_validation_row_times(&row, NULL);
    ok = orr_store_add_row(store, &orr_validation_row_table, &row, error);
    g_free(row.part);
    orr_field_clear(&orr_validation_row_table, &row);
  }
  return ok;
}

/* A set's run: the cases and their answers, and the comparison. */
typedef struct {
  const OrrValidateSet *set;
  GPtrArray *cases;   /* of OrrValidateCase * */
  GPtrArray *answers; /* of OrrValidateAnswer *, parallel */
  OrrValidation *validation;
  double wall_time_s;
} Run;

static gboolean store_rows(OrrStore *store, const Run *run, GError **error) {
  const OrrValidation *validation = run->validation;
  ORR_EACH(OrrValidationRow, row, validation->rows)
    if (!orr_store_add_row(store, &orr_validation_row_table, row, error)) return FALSE;
  for (guint i = 0; i < run->cases->len; i++) {
    const OrrValidateAnswer *answer = run->answers->pdata[i];
    if (!answer->ok &&
        !store_refused(store, validation->set_name, run->cases->pdata[i], answer->reason, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean store_run(OrrStore *store, const Run *run, GError **error) {
  g_autofree char *resolved = orr_yaml_text(run->set->tree);
  g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, resolved, -1);
  OrrRunFacts facts = {.scenario = run->set->name,
                       .kind = "validation",
                       .file = run->set->path,
                       .hash = hash,
                       .resolved = resolved,
                       .tool_version = ORR_VERSION,
                       .engine = "",
                       .fidelity = "",
                       .wall_time_s = run->wall_time_s};
  gint64 run_id = 0;
  for (guint i = run->answers->len; i-- > 0;) {
    const OrrValidateAnswer *answer = run->answers->pdata[i];
    facts.engine = answer->ok ? answer->engine : facts.engine;
    facts.fidelity = answer->ok ? answer->fidelity : facts.fidelity;
  }
  if (!orr_store_begin_run(store, &facts, &run_id, error)) return FALSE;
  if (store_rows(store, run, error)) return orr_store_end_run(store, run->wall_time_s, error);
  orr_store_abandon_run(store);
  return FALSE;
}

/* --- The set --- */

static GPtrArray *make_cases(const OrrValidateSet *set) {
  GPtrArray *cases = g_ptr_array_new_with_free_func((GDestroyNotify)orr_validate_case_free);
  ORR_EACH_POINTER(const OrrCsvLine, line, set->csv->lines)
    if (line->cells) g_ptr_array_add(cases, orr_validate_case_new(set, line));
  return cases;
}

OrrValidation *orr_validate(OrrLibrary *library, const OrrValidateOrder *order, GError **error) {
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrValidateSet) set =
      order->tree ? orr_validate_set_of_tree(order->tree, order->set, order->rows_csv, error)
                  : orr_validate_set_read(library, order->set, order->rows_csv, error);
  if (!set) return NULL;
  g_autoptr(OrrValidation) validation = orr_validation_new(set->name);
  g_autoptr(GPtrArray) cases = make_cases(set);
  g_autoptr(GPtrArray) answers =
      orr_validate_pool_run(library, cases, order->jobs, order->progress, order->user);
  for (guint i = 0; i < cases->len; i++) check_gpus(set, cases->pdata[i], answers->pdata[i]);
  for (guint i = 0; i < cases->len; i++)
    compare(library, set, validation, cases->pdata[i], answers->pdata[i]);
  validation->table = set->result->name;
  orr_validation_summarise(validation);
  const Run run = {set, cases, answers, validation,
                   (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC};
  if (order->store) store_run(order->store, &run, order->lost);
  return g_steal_pointer(&validation);
}
