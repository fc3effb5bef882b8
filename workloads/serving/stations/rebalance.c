/*
 * rebalance.c - replicas stand still while a new plan moves experts.
 *
 *   steps  |--|--|--|  moves  |--|--|--|--|--  ..
 *          ^ a plan, and the next one `interval` later; the step then planned waits
 *
 * Experts are packed by the loads at the moment of a plan; until the next one the loads drift, and
 * the fullest rank gets more (expert_load.h). The rank with most new experts receives their
 * weights, in all layers, over its link to the others; steps wait for it, as SGLang's and vLLM's do
 * (eplb_manager.py: rebalance; eplb_state.py: rearrange).
 *
 *   time lost = moves / interval
 *   moves     = slots of a layer * bytes of an expert in all layers / link
 *
 *   workload: {parallel: {expert-load: lognormal, expert-placement: packed, redundant-experts: 32,
 *                         rebalance: {interval: 10 min, drift: 1 h}}}
 */
#include "workloads/serving/stations/station.h"

typedef struct {
  OrrServingRun *run;
  OrrPool *moves;
  double *next_s, *moves_s; /* by replica */
} Rebalance;

typedef struct {
  Rebalance *rebalance;
  OrrReplica *replica;
  guint generation;
} Move;

static void moved(void *user) {
  const Move move = *(const Move *)user;
  orr_pool_give(move.rebalance->moves, user);
  if (move.generation == orr_replica_generation(move.replica)) orr_replica_read_ends(move.replica);
}

static void planned(gpointer state, OrrReplica *replica) {
  Rebalance *rebalance = state;
  const guint i = orr_replica_index(replica);
  const double now_s = orr_engine_now(rebalance->run->engine);
  if (now_s < rebalance->next_s[i] || rebalance->moves_s[i] <= 0) return;
  const double interval_s =
      orr_serving_group(rebalance->run->work, i)->params.parallel.rebalance.interval_s;
  Move *move = orr_pool_take(rebalance->moves);
  *move = (Move){rebalance, replica, orr_replica_generation(replica)};
  rebalance->next_s[i] = now_s + interval_s;
  orr_replica_wait(replica, 1);
  orr_engine_after(rebalance->run->engine, rebalance->moves_s[i], moved, move);
}

static gboolean open(OrrStop *stop, GError **error) {
  OrrServingRun *run = stop->route->run;
  Rebalance *rebalance = g_new(Rebalance, 1);
  const gint64 n = run->work->params.replicas;
  *rebalance =
      (Rebalance){run, orr_pool_new(sizeof(Move), NULL), g_new0(double, n), g_new0(double, n)};
  for (gint64 i = 0; i < n; i++) {
    const OrrServedGroup *group = orr_serving_group(run->work, (guint)i);
    rebalance->next_s[i] = group->params.parallel.rebalance.interval_s;
    rebalance->moves_s[i] = orr_serving_rebalance_s(&group->params, &group->model, &group->cluster);
  }
  stop->state = rebalance;
  return TRUE;
}

static void close(gpointer state) {
  Rebalance *rebalance = state;
  orr_pool_free(rebalance->moves);
  ORR_FREE(rebalance->next_s, rebalance->moves_s, rebalance);
}

static gboolean is_on(const OrrServing *params) {
  gboolean on = params->parallel.rebalance.interval_s > 0;
  for (guint i = 0; params->groups && i < params->groups->len; i++)
    on |= ((const OrrReplicaGroup *)params->groups->pdata[i])->parallel.rebalance.interval_s > 0;
  return on;
}

const OrrStation orr_station_rebalance = {
    .entry = {"rebalance", "Moves experts to where a new plan wants them.", NULL},
    .section = "parallel.rebalance",
    .is_on = is_on,
    .open = open,
    .close = close,
    .planned = planned,
};
