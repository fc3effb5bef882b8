/*
 * sweep_combination.c - a combination is a number in mixed radix: the digit of an axis is the index
 * of its value, and the first axis varies slowest.
 */
#include "sim/sweep/sweep_combination.h"

#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_axis.h"
#include "workloads/training/training.h"

static const OrrSweepAxis *axis_at(const OrrSweepPlan *plan, guint i) {
  return plan->axes->pdata[i];
}

guint orr_sweep_combination_index(const OrrSweepPlan *plan, guint64 combination, guint axis) {
  for (guint i = plan->n_axes - 1; i > axis; i--) combination /= axis_at(plan, i)->values->len;
  return (guint)(combination % axis_at(plan, axis)->values->len);
}

const OrrNode *orr_sweep_combination_value(const OrrSweepPlan *plan, guint64 combination,
                                           guint axis) {
  return axis_at(plan, axis)->values->pdata[orr_sweep_combination_index(plan, combination, axis)];
}

static const char *value_text(const OrrSweepPlan *plan, guint64 combination, int axis) {
  return axis < 0 ? NULL : orr_sweep_combination_value(plan, combination, (guint)axis)->text;
}

/* schedule and chunks are one choice of the document: only some schedules take chunks, and such a
 * schedule with one chunk is 1F1B. */
static char *pipeline_of(const char *schedule, const char *chunks, char **ret_refusal) {
  if (!chunks) return g_strdup(schedule);
  const gboolean one = g_str_equal(chunks, "1");
  const char *kind = schedule ? schedule : one ? "1f1b" : "interleaved-1f1b";
  const OrrEntry *entry = orr_registry_find(&orr_pipeline_registry, kind);
  gboolean takes = FALSE;
  for (size_t i = 0; entry && entry->params && i < entry->params->n_fields; i++)
    takes = takes || g_str_equal(entry->params->fields[i].name, "chunks");
  if (entry && takes == one)
    *ret_refusal = g_strdup(one ? "the schedule takes chunks, and with one chunk it is 1f1b"
                                : "the schedule takes no chunks");
  return takes ? g_strdup_printf("{kind: %s, chunks: %s}", kind, chunks) : g_strdup(kind);
}

char *orr_sweep_combination_pipeline(const OrrSweepPlan *plan, guint64 combination,
                                     char **ret_refusal) {
  return pipeline_of(value_text(plan, combination, plan->schedule_axis),
                     value_text(plan, combination, plan->chunks_axis), ret_refusal);
}

static char *setting_of(const OrrSweepPlan *plan, guint64 combination, guint axis) {
  return g_strdup_printf("%s=%s", axis_at(plan, axis)->path,
                         value_text(plan, combination, (int)axis));
}

char **orr_sweep_combination_settings(const OrrSweepPlan *plan, guint64 combination) {
  GPtrArray *settings = g_ptr_array_new();
  for (guint i = 0; i < plan->n_axes; i++)
    g_ptr_array_add(settings, setting_of(plan, combination, i));
  g_ptr_array_add(settings, NULL);
  return (char **)g_ptr_array_free(settings, FALSE);
}

char **orr_sweep_combination_again(const OrrSweepPlan *plan, guint64 combination) {
  GPtrArray *settings = g_ptr_array_new();
  g_autofree char *refusal = NULL;
  g_autofree char *pipeline = orr_sweep_combination_pipeline(plan, combination, &refusal);
  if (plan->dp_is_open) g_ptr_array_add(settings, g_strdup("workload.parallel.dp=0"));
  if (pipeline) g_ptr_array_add(settings, g_strconcat("workload.pipeline=", pipeline, NULL));
  for (guint i = 0; i < plan->n_axes; i++)
    if ((int)i != plan->schedule_axis && (int)i != plan->chunks_axis)
      g_ptr_array_add(settings, setting_of(plan, combination, i));
  g_ptr_array_add(settings, NULL);
  return (char **)g_ptr_array_free(settings, FALSE);
}

/* The texts of an axis' values; of an axis that is not there, one NULL. */
static GPtrArray *texts_of(const OrrSweepPlan *plan, int axis) {
  GPtrArray *texts = g_ptr_array_new();
  if (axis < 0) g_ptr_array_add(texts, NULL);
  for (guint i = 0; axis >= 0 && i < axis_at(plan, (guint)axis)->values->len; i++)
    g_ptr_array_add(texts, ((const OrrNode *)axis_at(plan, (guint)axis)->values->pdata[i])->text);
  return texts;
}

static gboolean add_pipeline(const OrrSweepPlan *plan, const char *schedule, const char *chunks,
                             OrrSweepCommand add, void *user, GError **error) {
  g_autofree char *refusal = NULL;
  g_autofree char *pipeline = pipeline_of(schedule, chunks, &refusal);
  if (refusal) return TRUE;
  g_autoptr(GString) axes = g_string_new(NULL);
  if (schedule)
    g_string_append_printf(axes, "%s=%s", axis_at(plan, (guint)plan->schedule_axis)->path,
                           schedule);
  if (chunks)
    g_string_append_printf(axes, "%s%s=%s", schedule ? "; " : "",
                           axis_at(plan, (guint)plan->chunks_axis)->path, chunks);
  g_autofree char *setting = g_strconcat("workload.pipeline=", pipeline, NULL);
  return add(axes->str, setting, user, error);
}

gboolean orr_sweep_combination_commands(const OrrSweepPlan *plan, OrrSweepCommand add, void *user,
                                        GError **error) {
  if (plan->dp_is_open && !add(NULL, "workload.parallel.dp=0", user, error)) return FALSE;
  if (plan->schedule_axis < 0 && plan->chunks_axis < 0) return TRUE;
  g_autoptr(GPtrArray) schedules = texts_of(plan, plan->schedule_axis),
                       chunks = texts_of(plan, plan->chunks_axis);
  for (guint s = 0; s < schedules->len; s++)
    for (guint c = 0; c < chunks->len; c++)
      if (!add_pipeline(plan, schedules->pdata[s], chunks->pdata[c], add, user, error))
        return FALSE;
  return TRUE;
}
