/*
 * serving_books.c - what replicas write down for the fleet: sampled steps and gaps between tokens.
 */
#include "workloads/serving_private.h"

/* Every stride-th step is kept; where there are twice too many, every other one is left: rows stay evenly spaced. */
void orr_fleet_note_step(OrrFleet *fleet, const OrrServedStep *row) {
  const gint64 wanted = fleet->work->params.metrics.step_rows;
  GArray *steps = fleet->work->steps;
  if (wanted == 0 || fleet->seen_steps++ % fleet->step_stride != 0) return;
  g_array_append_vals(steps, row, 1);
  if ((gint64)steps->len < 2 * wanted) return;
  for (guint i = 0; 2 * i < steps->len; i++)
    g_array_index(steps, OrrServedStep, i) = g_array_index(steps, OrrServedStep, 2 * i);
  g_array_set_size(steps, (steps->len + 1) / 2);
  fleet->step_stride *= 2;
}

void orr_fleet_note_gaps(OrrFleet *fleet, double gap_s, guint n) {
  GArray *gaps = fleet->work->gaps;
  OrrTokenGap *last = gaps->len > 0 ? &g_array_index(gaps, OrrTokenGap, gaps->len - 1) : NULL;
  if (last && last->gap_s == (float)gap_s) {
    last->n += n;
    return;
  }
  const OrrTokenGap row = {(float)gap_s, n};
  g_array_append_val(gaps, row);
}

double orr_fleet_swap_seconds(const OrrFleet *fleet, const OrrCore *core) {
  if (core->swapped_tokens == 0) return 0;
  const OrrCluster *cluster = fleet->work->world->cluster;
  const double link = cluster->node.host_link_bytes_per_s > 0 ? cluster->node.host_link_bytes_per_s
                                                              : cluster->device.host_link_bytes_per_s;
  return (double)core->swapped_tokens * fleet->work->kv_bytes_per_token / link;
}
