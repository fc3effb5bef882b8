/*
 * core_run.c - several steps of one batch of decodes at once.
 *
 * While every request of the batch decodes and none ends, a step differs from the one before in
 * context lengths alone: step k computes token computed + k of each request, and takes a block
 * where that token begins one.
 */
#include "workloads/serving/core/core.h"

gint64 orr_core_least_left(const OrrCore *core) {
  gint64 least = G_MAXINT64;
  ORR_EACH_POINTER(const OrrRequest, request, core->batch)
    least = MIN(least, (gint64)request->output - request->generated);
  return least;
}

guint orr_core_run_blocks(const OrrCore *core, guint steps, GArray *ret_blocks) {
  g_array_set_size(ret_blocks, steps);
  for (guint k = 0; k < steps; k++) g_array_index(ret_blocks, gint64, k) = 0;
  ORR_EACH_POINTER(const OrrRequest, request, core->batch) {
    gint64 blocks = request->blocks;
    for (gint64 k; (k = orr_kv_room(core->kv, blocks) - request->computed) < (gint64)steps;
         blocks++)
      g_array_index(ret_blocks, gint64, MAX(k, 0))++;
  }
  gint64 left = orr_kv_n_free(core->kv);
  for (guint k = 1; k < steps; k++) {
    left -= g_array_index(ret_blocks, gint64, k);
    if (left < 0) return k;
  }
  return steps;
}

gboolean orr_core_advance(OrrCore *core, OrrRequest *request, gint32 n) {
  const gint32 computed = request->computed;
  if (!orr_kv_grow(core->kv, request, computed + n + 1)) return FALSE;
  request->computed += n;
  request->generated += n;
  orr_kv_publish(core->kv, request, computed);
  return TRUE;
}
