/*
 * outcome.c - the life of an outcome. One table, made from rows.inc, says where OrrOutcome keeps
 * the rows of each table; making, freeing and finding them walk over it.
 */
#include "sim/run/answer/outcome.h"

#include "sim/run/answer/answer_private.h"

static const struct {
  const OrrFieldTable *table;
  size_t offset;
} arrays[] = {
#define ROWS(table, member, sentence) {&orr_##table##_table, offsetof(OrrOutcome, member)},
#include "results/rows/rows.inc"
};

static GArray **array_at(const OrrOutcome *outcome, guint i) {
  return (GArray **)(void *)((char *)outcome + arrays[i].offset);
}

OrrOutcome *orr_outcome_new(void) {
  OrrOutcome *outcome = g_new0(OrrOutcome, 1);
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    *array_at(outcome, i) = g_array_new(FALSE, TRUE, (guint)arrays[i].table->size);
  outcome->span_labels = g_array_new(FALSE, FALSE, sizeof(guint32));
  outcome->names = g_string_chunk_new(1024);
  outcome->warnings = g_ptr_array_new_with_free_func(g_free);
  return outcome;
}

void orr_outcome_free(OrrOutcome *outcome) {
  if (!outcome) return;
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) g_array_unref(*array_at(outcome, i));
  g_array_unref(outcome->span_labels);
  if (outcome->label_seconds) g_array_unref(outcome->label_seconds);
  orr_cluster_spans_free(outcome->job_spans);
  g_string_chunk_free(outcome->names);
  g_ptr_array_unref(outcome->warnings);
  ORR_FREE(outcome->engine, outcome->reserve_of);
  if (outcome->own_job) g_free(outcome->own_job->gpus);
  ORR_FREE(outcome->own_job, outcome);
}

void orr_outcome_take(GArray **rows, GArray *filled) {
  g_array_unref(*rows);
  *rows = g_array_ref(filled);
}

void orr_outcome_label(OrrOutcome *outcome, const char *label) {
  if (!label) return;
  ORR_APPEND(outcome->run_labels, OrrRunLabelRow, {g_string_chunk_insert(outcome->names, label)});
}

const GArray *orr_outcome_rows(const OrrOutcome *outcome, const OrrFieldTable *table) {
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    if (arrays[i].table == table) return *array_at(outcome, i);
  return NULL;
}

static void *result_member(OrrOutcome *outcome, const char *name) {
  for (size_t i = 0; i < outcome->kind->result->n_fields; i++)
    if (g_str_equal(outcome->kind->result->fields[i].name, name))
      return (char *)&outcome->result + outcome->kind->result->fields[i].offset;
  g_return_val_if_reached(NULL);
}

void orr_outcome_set_integer(OrrOutcome *outcome, const char *name, gint64 value) {
  *(gint64 *)result_member(outcome, name) = value;
}

void orr_outcome_forget(OrrOutcome *outcome) {
  const OrrFieldTable *table = outcome->kind->result;
  for (size_t i = 0; i < table->n_fields; i++)
    if (table->fields[i].kind == ORR_FIELD_REAL)
      *(double *)(void *)((char *)&outcome->result + table->fields[i].offset) = NAN;
}

void orr_outcome_set_wall_time(OrrOutcome *outcome, gint64 begin_us) {
  outcome->wall_time_s = (double)(g_get_monotonic_time() - begin_us) * 1e-6;
  *(double *)result_member(outcome, "wall-time-s") = outcome->wall_time_s;
}
