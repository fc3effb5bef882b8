/*
 * training_offload_paths - adds up the links between a lane's GPUs and their hosts' memory.
 *
 * Each GPU of the lane is one flow over its route to the host, or back, and through the node's
 * memory; a link that several of them cross carries the sum.
 */
#include "workloads/training/comm/training_plan.h"

typedef enum { TO_HOST, FROM_HOST, WITHIN_HOST } Route;

/* The fabric links of every GPU of the lane, as often as they are crossed. */
static GArray *crossed_links(const OrrJob *job, const OrrFold *fold, guint lane, Route route) {
  const gint64 n = orr_job_replica_ranks(job), stage = lane / fold->n;
  const guint class = lane % fold->n;
  g_autofree gint64 *firsts = orr_fold_class_ranks(fold, job, class);
  GArray *links = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0; i < fold->size[class]; i++)
    for (gint64 rank = firsts[i]; rank < firsts[i] + n; rank++) {
      const gint64 gpu = orr_job_gpu(job, stage, rank);
      ORR_APPEND(links, guint32, orr_fabric_memory_link(job->world->fabric, gpu));
      if (route != WITHIN_HOST)
        orr_fabric_host_route(job->world->fabric, gpu, route == FROM_HOST, links);
    }
  return links;
}

static guint32 plan_path(OrrTraffic *traffic, const OrrFold *fold, guint lane, Route route) {
  const OrrJob *job = traffic->job;
  g_autofree guint32 *weights = g_new0(guint32, orr_fabric_n_links(job->world->fabric));
  g_autoptr(GArray) links = crossed_links(job, fold, lane, route);
  g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  ORR_EACH_VALUE(const guint32, value, links) weights[value]++;
  for (guint i = 0; i < links->len; i++) {
    const OrrLinkUse use = {g_array_index(links, guint32, i),
                            weights[g_array_index(links, guint32, i)]};
    if (use.weight > 0) g_array_append_val(uses, use);
    weights[use.link] = 0;
  }
  return orr_traffic_path(traffic, (const OrrLinkUse *)(const void *)uses->data, uses->len);
}

OrrOffloadPaths *orr_offload_paths_new(OrrTraffic *traffic, const OrrFold *fold) {
  const guint n_lanes = (guint)traffic->job->pp * fold->n;
  OrrOffloadPaths *paths = g_new0(OrrOffloadPaths, n_lanes);
  for (guint lane = 0; lane < n_lanes; lane++) {
    paths[lane].to_host = plan_path(traffic, fold, lane, TO_HOST);
    paths[lane].from_host = plan_path(traffic, fold, lane, FROM_HOST);
    paths[lane].memory = plan_path(traffic, fold, lane, WITHIN_HOST);
  }
  return paths;
}

void orr_offload_paths_cover(const OrrOffloadPaths *paths, guint n_lanes, const OrrTraffic *traffic,
                             guint8 *links) {
  for (guint lane = 0; paths && lane < n_lanes; lane++) {
    OrrPhase phases[] = {{0, 0, paths[lane].to_host}, {0, 0, paths[lane].from_host}};
    orr_traffic_cover(traffic, &(OrrCommPlan){phases, G_N_ELEMENTS(phases), 0}, links);
  }
}
