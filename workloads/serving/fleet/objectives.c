/*
 * objectives.c - checks whether the objectives of a scenario can be met at all.
 */
#include "workloads/serving/fleet/fleet_private.h"

/* The least over the groups of replicas. */
static double least_step(const OrrServingRun *run, const OrrStepShape *shape) {
  double least_s = G_MAXDOUBLE;
  for (guint g = 0; g < run->work->groups->len; g++)
    least_s = fmin(least_s, orr_serving_run_model_time(run, g, shape).gpu_s);
  return least_s;
}

/* An objective below the time of an empty engine can never be met. A step that checks drafts writes
 * one token more than it checks. */
static gboolean check_slo(const OrrServingRun *run, const OrrSlo *slo, const char *whose,
                          GError **error) {
  const double token_s = run->work->params.engine.host.token_s;
  const OrrStepShape prompt = {.tokens = 1,
                               .chunk = 1,
                               .chunk_key_sum = 0.5,
                               .chunk_pairs = 1,
                               .n_chunks = 1,
                               .sequences = 1,
                               .logits = 1};
  const OrrStepShape decode = {.tokens = 1,
                               .decodes = 1,
                               .key_sum = 2,
                               .keys_least = 2,
                               .keys_most = 2,
                               .sequences = 1,
                               .logits = 1};
  gint64 drafted = 0; /* of the group that drafts most */
  for (guint g = 0; g < run->work->groups->len; g++) {
    const OrrServing *own = &g_array_index(run->work->groups, OrrServedGroup, g).params;
    const OrrSpeculation speculation = orr_speculation_of(&own->engine.speculation);
    drafted = MAX(drafted, orr_speculation_depth(&speculation));
  }
  const double first_s = least_step(run, &prompt) + token_s;
  const double next_s = least_step(run, &decode) / (double)(1 + drafted);
  const struct {
    const char *name;
    double asked_s, least_s;
  } all[] = {
      {"ttft", slo->ttft_s, first_s}, {"tpot", slo->tpot_s, next_s}, {"e2e", slo->e2e_s, first_s}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    if (all[i].asked_s <= 0 || all[i].asked_s >= all[i].least_s) continue;
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "%s.%s: %.3g ms can never be met: one token alone on an empty engine takes %.3g ms", whose,
        all[i].name, 1e3 * all[i].asked_s, 1e3 * all[i].least_s);
  }
  return TRUE;
}

gboolean orr_objectives_check(const OrrServingRun *run, GError **error) {
  const OrrServing *params = &run->work->params;
  if (!check_slo(run, &params->slo, "workload.slo", error)) return FALSE;
  ORR_EACH_POINTER(const OrrRequestClass, one, params->classes) {
    g_autofree char *whose = g_strdup_printf("workload.classes.%s.slo", one->name);
    if (!check_slo(run, &one->slo, whose, error)) return FALSE;
  }
  return TRUE;
}
