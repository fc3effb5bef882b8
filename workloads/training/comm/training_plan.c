/*
 * training_plan - plans every communication of a job once; emission makes them many times.
 *
 * The order matters. Traffic between replicas joins all of them and is planned first: its load on
 * links helps to tell replicas apart (training_fold.c). The classes found then share their traffic
 * between stages and inside layers.
 */
#include "workloads/training/comm/training_plan.h"

#include "workloads/training/job/training_offload.h"

static void fold_replicas(OrrTrainingPlan *plan, const OrrJob *job, OrrFidelity fidelity) {
  g_autofree guint64 *load = g_new0(guint64, orr_fabric_n_links(job->world->fabric));
  orr_sharding_traffic_load(&plan->sharding, &plan->traffic, load);
  orr_fold_init(&plan->fold, job, fidelity, load);
}

/* The links of what replicas and hosts send during layers: collected once, since every plan of
 * every lane is compared with them. */
static guint8 *busy_links(const OrrTrainingPlan *plan, const OrrJob *job) {
  guint8 *links = g_new0(guint8, orr_fabric_n_links(job->world->fabric));
  orr_offload_paths_cover(plan->offload, job->pp * plan->fold.n, &plan->traffic, links);
  orr_sharding_traffic_cover(&plan->sharding, &plan->traffic, links);
  return links;
}

static gboolean plan_layers(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                            GError **error) {
  g_autofree guint8 *busy = busy_links(plan, job);
  const OrrLayerInputs inputs = {&plan->traffic, &plan->fold, costs, &plan->stages, busy};
  return orr_layer_traffic_init(&plan->layers, &inputs, error);
}

gboolean orr_training_plan_init(OrrTrainingPlan *plan, const OrrJob *job,
                                const OrrTrainingCosts *costs, OrrFidelity fidelity,
                                OrrProgram *program, GError **error) {
  *plan = (OrrTrainingPlan){0};
  orr_traffic_init(&plan->traffic, job, program);
  if (!orr_sharding_traffic_init(&plan->sharding, &plan->traffic, error)) return FALSE;
  fold_replicas(plan, job, fidelity);
  orr_stage_traffic_init(&plan->stages, job, &plan->fold);
  if (orr_job_uses_storage(job->params))
    plan->storage = orr_storage_traffic_new(&plan->traffic, &plan->fold);
  if (orr_training_offload_is_on(job->params))
    plan->offload = orr_offload_paths_new(&plan->traffic, &plan->fold);
  return orr_stage_traffic_plan(&plan->stages, &plan->traffic, &plan->fold, error) &&
         plan_layers(plan, job, costs, error);
}

void orr_training_plan_clear(OrrTrainingPlan *plan) {
  const OrrJob *job = plan->traffic.job;
  orr_layer_traffic_clear(&plan->layers);
  orr_storage_traffic_free(plan->storage, job->pp * plan->fold.n);
  g_free(plan->offload);
  orr_stage_traffic_clear(&plan->stages, job, &plan->fold);
  orr_sharding_traffic_clear(&plan->sharding, job);
  orr_fold_clear(&plan->fold);
  orr_traffic_clear(&plan->traffic);
}
