/*
 * workload.c - the registry of workloads, and what all works have in common.
 */
#include "workloads/workload.h"

#include "workloads/cluster_jobs/cluster_jobs.h"
#include "workloads/collectives/collective_bench.h"
#include "workloads/diffusion/diffusion.h"
#include "workloads/post_training/post_training.h"
#include "workloads/serving/serving.h"
#include "workloads/steps/diffusion_training.h"
#include "workloads/steps/recommendation.h"
#include "workloads/trace/trace_work.h"
#include "workloads/training/training.h"
#include "workloads/work_calls.h"

const char *const orr_on_missing_words[] = {"fallback", "error", NULL};

const char *const orr_fidelity_words[] = {"auto", "folded", "full", NULL};
const char *const orr_time_words[] = {
    "gemm",    "attention", "memory-bound", "tp-comm", "cp-comm", "ep-comm", "pp-comm",
    "dp-comm", "optimizer", "host",         "storage", "offload", "bubble",  NULL};

/* Alphabetical. To add one, see workload.h. */
static const OrrEntry *const entries[] = {
    &orr_cluster_jobs_kind.entry,  &orr_collectives_kind.entry,
    &orr_diffusion_kind.entry,     &orr_diffusion_training_kind.entry,
    &orr_post_training_kind.entry, &orr_recommendation_kind.entry,
    &orr_serving_kind.entry,       &orr_trace_kind.entry,
    &orr_training_kind.entry,      NULL};
const OrrRegistry orr_workload_registry = {"workload", entries};

OrrTimeKind orr_time_kind(const char *word) {
  for (int i = 0; i < ORR_N_TIMES; i++)
    if (g_str_equal(word, orr_time_words[i])) return i;
  g_return_val_if_reached(ORR_TIME_HOST);
}

char *orr_footprint_refuse(const OrrFootprint *footprint, const OrrCluster *cluster) {
  const double gpu_bytes = cluster->device.memory_bytes,
               host_bytes = cluster->node.host.memory_bytes;
  g_autofree char *gpu = orr_quantity_format(gpu_bytes, ORR_UNIT_BYTES);
  g_autofree char *host = orr_quantity_format(host_bytes, ORR_UNIT_BYTES);
  if (footprint->gpu_bytes > gpu_bytes)
    return g_strdup_printf("does not fit the %s of %s", gpu, cluster->device.name);
  if (footprint->host_bytes > host_bytes)
    return g_strdup_printf(
        "the offloaded data does not fit the %s of a node's host (cluster.node.host.memory)", host);
  return NULL;
}

char *orr_footprint_refuse_host(const OrrCluster *cluster, double bytes, const char *what) {
  const double has_bytes = cluster->node.host.memory_bytes;
  if (!(has_bytes > 0))
    return g_strdup_printf("%s needs host memory, and cluster %s does not say that its nodes have "
                           "any: set cluster.node.host.memory and memory-bandwidth",
                           what, cluster->name);
  if (bytes <= has_bytes) return NULL;
  g_autofree char *needs = orr_quantity_format(bytes, ORR_UNIT_BYTES);
  g_autofree char *has = orr_quantity_format(has_bytes, ORR_UNIT_BYTES);
  return g_strdup_printf("%s takes %s of a node's host memory, which is %s "
                         "(cluster.node.host.memory)",
                         what, needs, has);
}

GArray *orr_work_lanes_new(gint64 n_gpus) {
  GArray *lanes = g_array_sized_new(FALSE, FALSE, sizeof(guint32), (guint)n_gpus);
  const guint32 none = ORR_NO_LANE;
  for (gint64 i = 0; i < n_gpus; i++) g_array_append_val(lanes, none);
  return lanes;
}

void orr_work_times(const OrrWork *work, double *ret_end_s, double *ret_answer_s) {
  double end_s = 0, answer_s = 0;
  work->kind->times(work, &end_s, &answer_s);
  if (ret_end_s) *ret_end_s = end_s;
  if (ret_answer_s) *ret_answer_s = answer_s;
}

static void clear_fabric_change(gpointer change) {
  OrrFabric *fabric = ((OrrFabricChange *)change)->fabric;
  if (fabric) orr_fabric_free(fabric);
}

GArray *orr_work_fabric_changes_new(void) {
  GArray *changes = g_array_new(FALSE, TRUE, sizeof(OrrFabricChange));
  g_array_set_clear_func(changes, clear_fabric_change);
  return changes;
}

void orr_work_free(OrrWork *work) {
  if (!work) return;
  if (work->program) orr_program_free(work->program);
  if (work->label_seconds) g_array_unref(work->label_seconds);
  if (work->links) g_array_unref(work->links);
  if (work->lane_of_gpu) g_array_unref(work->lane_of_gpu);
  g_free(work->link_bytes);
  orr_work_calls_free(work->calls);
  if (work->gpu_changes) g_array_unref(work->gpu_changes);
  if (work->fabric_changes) g_array_unref(work->fabric_changes);
  work->kind->work_free(work);
}
