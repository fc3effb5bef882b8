/*
 * job_placement.c - the checks of every choice of GPUs.
 */
#include "topologies/job_placement.h"

static gboolean check(const OrrPlacementRequest *request, const gint64 *gpus, gint64 n,
                      GError **error) {
  g_autofree gboolean *mine = g_new0(gboolean, request->n_gpus + 1);
  for (gint64 i = 0; i < n; i++) {
    const char *why = gpus[i] < 0 || gpus[i] >= request->n_gpus ? "does not exist"
                      : request->taken[gpus[i]]                 ? "belongs to an earlier job"
                      : mine[gpus[i]]                           ? "is named twice"
                                                                : NULL;
    if (why)
      return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                           "job %s: GPU %ld %s (the cluster has GPUs 0 to %ld)", request->job,
                           gpus[i], why, request->n_gpus - 1);
    mine[gpus[i]] = TRUE;
  }
  return TRUE;
}

gboolean orr_job_placement_choose(const OrrChoice *choice, const OrrPlacementRequest *request,
                                  gint64 n, gint64 *ret_gpus, GError **error) {
  const OrrJobPlacementKind *kind = (const OrrJobPlacementKind *)choice->entry;
  return kind->choose(choice->params, request, n, ret_gpus, error) &&
         check(request, ret_gpus, n, error);
}

gboolean orr_job_placement_take(const OrrPlacementRequest *request, const gint64 *order,
                                gint64 n_order, gint64 n, gint64 *ret_gpus, GError **error) {
  gint64 found = 0;
  for (gint64 i = 0; i < n_order && found < n; i++)
    if (!request->taken[order[i]]) ret_gpus[found++] = order[i];
  if (found == n) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "job %s needs %ld GPUs and only %ld are free: use fewer jobs, smaller jobs "
                       "or more cluster.nodes",
                       request->job, n, found);
}

char *orr_job_placement_text(const gint64 *gpus, gint64 n) {
  GString *text = g_string_new(NULL);
  for (gint64 i = 0; i < n;) {
    gint64 end = i + 1;
    while (end < n && gpus[end] == gpus[end - 1] + 1) end++;
    g_string_append_printf(text, "%s%ld", i > 0 ? ", " : "", gpus[i]);
    if (end > i + 1) g_string_append_printf(text, "-%ld", gpus[end - 1]);
    i = end;
  }
  return g_string_free(text, FALSE);
}
