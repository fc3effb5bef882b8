/*
 * collective_draws.c - ECMP's collisions, over several draws of the hash.
 *
 * Under routing ecmp a hash gives each queue pair a path, and the flows that collide share a link.
 * One seed is one draw: a cabling, a set of ports, a boot. Of n flows that choose among k links at
 * random, the fullest link has
 *
 *   E[most] = sum over m >= 1 of P(most >= m),  n = k: 1.5 for 2, 2.125 for 4, 2.6 for 8
 *
 * flows (balls in bins, Raab and Steger 1998), so the mean of the times is not the time of the mean
 * load; tests/workloads/collectives/test_collective_draws.c holds a mean to its closed form.
 * `hash-draws: n` plans the same algorithm under n hashes, the seed's among them, and notes the
 * fastest, mean and slowest time; `hash-take` says which one the run has:
 *
 *   seed    the run's own hash: one draw, and the links that it loads
 *   mean    the mean time; the links are the seed's, with their bytes scaled
 *   worst   the slowest draw, and its links
 */
#include "workloads/collectives/collective_private.h"

static double transfers(const OrrFabric *fabric, const OrrCollectivePlan *plan) {
  double sum_s = 0;
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases)
    sum_s += phase->bytes * orr_collective_per_byte(fabric, phase->uses, phase->n_uses, NULL);
  return sum_s;
}

/* Puts the phases of @other in the place of @plan's. */
static void swap_phases(OrrCollectivePlan *plan, OrrCollectivePlan *other) {
  GArray *phases = plan->phases;
  plan->phases = other->phases;
  other->phases = phases;
  plan->predicted_s = other->predicted_s;
}

static void scale(OrrCollectivePlan *plan, double own_s, double to_s) {
  for (guint i = 0; i < plan->phases->len; i++)
    g_array_index(plan->phases, OrrCollectivePhase, i).bytes *= to_s / own_s;
  plan->predicted_s += to_s - own_s;
}

static void note(const OrrFabric *fabric, const OrrHashSpread *spread) {
  GArray *spreads = orr_fabric_notes(fabric)->spreads;
  ORR_EACH(const OrrHashSpread, known, spreads)
    if (known->name == spread->name && known->bytes == spread->bytes &&
        known->ranks == spread->ranks)
      return;
  g_array_append_val(spreads, *spread);
}

static OrrCollectivePlan *draw(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               const OrrCollectivePlan *plan, guint64 seed) {
  g_autoptr(OrrFabric) view = orr_fabric_drawing(context->fabric, seed);
  OrrCollectiveContext inner = *context;
  OrrNcclCosts costs;
  inner.fabric = view;
  return orr_collective_plan_again(&inner, call, plan, &costs, NULL);
}

void orr_collective_draws_take(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               OrrCollectivePlan *plan) {
  const OrrFabric *fabric = context->fabric;
  const gint64 draws = orr_fabric_hash_draws(fabric);
  if (draws == 0 || call->bytes <= 0 || plan->how != ORR_HOW_MODELLED) return;
  const double own_s = transfers(fabric, plan), delay_s = plan->predicted_s - own_s;
  g_autoptr(OrrCollectivePlan) worst = NULL;
  OrrHashSpread spread = {.name = orr_collective_words[call->op],
                          .bytes = call->bytes,
                          .ranks = call->n,
                          .draws = draws,
                          .low_s = G_MAXDOUBLE};
  double sum_s = 0;
  for (gint64 i = 0; i < draws; i++) {
    OrrCollectivePlan *one = draw(context, call, plan, orr_fabric_seed(fabric) + (guint64)i * 977);
    sum_s += one->predicted_s;
    spread.low_s = MIN(spread.low_s, one->predicted_s);
    spread.high_s = MAX(spread.high_s, one->predicted_s);
    if (worst && worst->predicted_s >= one->predicted_s) {
      orr_collective_plan_free(one);
    } else {
      orr_collective_plan_free(worst);
      worst = one;
    }
  }
  spread.mean_s = sum_s / (double)draws;
  switch (orr_fabric_hash_take(fabric)) {
  case ORR_HASH_SEED:
    break;
  case ORR_HASH_MEAN:
    if (own_s > 0) scale(plan, own_s, MAX(spread.mean_s - delay_s, 0));
    break;
  case ORR_HASH_WORST:
    swap_phases(plan, worst);
    break;
  }
  spread.taken_s = plan->predicted_s;
  note(fabric, &spread);
}
