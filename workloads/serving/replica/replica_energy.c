/*
 * replica_energy.c - what the steps of a replica draw: in all, at most, over time, and for prompts.
 *
 * A step that reads prompts and decodes at once is divided between the two by its tokens: each goes
 * through the same products, and attention's difference is neglected.
 */
#include "workloads/serving/replica/replica_private.h"

/* Cores with a batch, which share what the pool of feed-forwards draws. */
static double n_stepping(const OrrReplica *replica) {
  guint n = 0;
  for (guint i = 0; i < replica->n_cores; i++) n += replica->cores[i].batch->len > 0;
  return MAX(n, 1);
}

/* The limit holds over a step: the host's waits lie between kernels, microseconds apart. */
OrrJoules orr_replica_joules(const OrrReplica *replica, const OrrStepTime *time, double step_s) {
  const OrrServingParallel *parallel = &replica->group->params.parallel;
  const OrrCostModel *cost = replica->run->worlds[replica->books->group].cost;
  OrrJoules sum = {0};
  orr_joules_add(&sum, orr_cost_energy_limited(cost, time->joules, (double)parallel->pp * step_s),
                 (double)parallel->tp);
  if (parallel->feed.gpus > 0)
    orr_joules_add(&sum,
                   orr_cost_energy_limited(replica->run->feeds[replica->books->group].world.cost,
                                           time->feed_joules, step_s),
                   (double)parallel->feed.gpus / n_stepping(replica));
  return sum;
}

void orr_replica_note_energy(OrrReplica *replica, const OrrReplicaDraw *draw) {
  OrrServedReplica *books = replica->books;
  OrrPowerTime *power = replica->run->work->power;
  const double step_s = draw->end_s - draw->begin_s, start_s = replica->run->start_s;
  const double prompt = draw->tokens > 0 ? draw->chunk / draw->tokens : 0;
  orr_joules_add(&books->joules, draw->joules, 1);
  books->peak_dynamic_w = fmax(books->peak_dynamic_w, orr_joules_sum(draw->joules) / step_s);
  books->prompt_j += prompt * orr_joules_sum(draw->joules);
  books->prompt_s += prompt * step_s;
  books->prompt_tokens += draw->chunk;
  if (power)
    orr_power_time_add(power, draw->begin_s - start_s, draw->end_s - start_s, draw->joules);
}
