/*
 * gang_pass.c - the passes, and which of them apply.
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

extern const OrrGangPass orr_gang_conservative, orr_gang_easy, orr_gang_elastic,
    orr_gang_queue_pass, orr_gang_repack, orr_gang_rounds, orr_gang_strict, orr_gang_window;

/* In the order of precedence. To add one, see gang_pass.h. */
const OrrGangPass *const orr_gang_passes[] = {
    &orr_gang_rounds,       &orr_gang_elastic,    &orr_gang_repack,
    &orr_gang_conservative, &orr_gang_queue_pass, &orr_gang_strict,
    &orr_gang_easy,         &orr_gang_window,     NULL};

const char orr_gang_pass_no_skip[] =
    "protects jobs that policy.blocked skip passes over: choose one of the two";
const char orr_gang_pass_no_resources[] =
    "promises nodes and knows neither node-cpus nor node-memory: use backfill none or easy";
const char orr_gang_pass_one_kind[] =
    "promises starts from run times, which differ by kind: want none with several kinds";
const char orr_gang_pass_no_victims[] =
    "goes without policy.reclaim, preemption.take and preemption.consolidate: want backfill none "
    "or window, and an order that does not preempt by itself (fifo, priority, fair-share)";
const char orr_gang_pass_by_order[] =
    "goes by the order of all queues' jobs, whatever policy.between: want between order";

/* What a policy has that is not the default of a queue: which job is tried next, and where. */
static gboolean is_ordered(const OrrGangRules *rules) {
  return strcmp(rules->order->entry.name, "fifo") != 0 ||
         strcmp(rules->placement->entry.name, "first-fit") != 0 ||
         rules->blocked != ORR_BLOCKED_WAIT || rules->by_speed || rules->period_us > 0 ||
         rules->depth > 0;
}

/* Fates of preempted jobs besides a restart. */
static gboolean is_stopped(const OrrGangRules *rules) {
  return rules->checkpoint_us > 0 || rules->min_run_us > 0 || rules->mode != ORR_PREEMPT_REQUEUE ||
         rules->charge != ORR_CHARGE_PREEMPTED;
}

guint orr_gang_pass_features(const OrrGangRules *rules) {
  const gboolean has_queues = rules->queues && rules->queues->len > 0;
  const struct {
    guint feature;
    gboolean is;
  } all[] = {
      {ORR_WITH_SKIP, rules->blocked == ORR_BLOCKED_SKIP},
      {ORR_WITH_EASY, rules->backfill == ORR_BACKFILL_EASY},
      {ORR_WITH_CONSERVATIVE, rules->backfill == ORR_BACKFILL_CONSERVATIVE},
      {ORR_WITH_WINDOW, rules->backfill == ORR_BACKFILL_WINDOW},
      {ORR_WITH_PREEMPTS, rules->order->preempts},
      {ORR_WITH_QUEUES, has_queues},
      {ORR_WITH_BETWEEN, has_queues && rules->between != ORR_BETWEEN_ORDER},
      {ORR_WITH_TAKE, rules->take != ORR_TAKE_NEVER},
      {ORR_WITH_VICTIMS, orr_gang_victims_any(rules)},
      {ORR_WITH_CONSOLIDATE, rules->consolidate > 0},
      {ORR_WITH_ELASTIC, rules->elastic != ORR_ELASTIC_NONE},
      {ORR_WITH_ROUNDS, rules->rounds.length_us > 0},
      {ORR_WITH_CHECKPOINT_COST, rules->checkpoint_cost_us > 0},
      {ORR_WITH_CHARGE_EVENTS, rules->charge == ORR_CHARGE_EVENTS},
      {ORR_WITH_COUNT, rules->placement->is_count},
      {ORR_WITH_NEAREST, rules->placement->is_by_fabric},
      {ORR_WITH_ORDERED, is_ordered(rules)},
      {ORR_WITH_STOPPED, is_stopped(rules)},
      {ORR_WITH_RESOURCES, rules->cpus > 0 || rules->memory_bytes > 0},
  };
  guint features = ORR_WITH_ANY;
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    if (all[i].is) features |= all[i].feature;
  return features;
}

void orr_gang_pass_select(const OrrGangRules *rules,
                          const OrrGangPass *ret_passes[ORR_GANG_PASSES_AT_ONCE]) {
  const guint features = orr_gang_pass_features(rules);
  guint n = 0;
  for (guint i = 0; orr_gang_passes[i]; i++) {
    const OrrGangPass *pass = orr_gang_passes[i];
    if ((pass->applies & features) && (n == 0 || pass->fills)) ret_passes[n++] = pass;
  }
  ret_passes[n] = NULL;
}

gint64 orr_gang_pass_multiple_us(gint64 now_us, gint64 period_us, gboolean is_due) {
  return is_due && period_us > 0 ? (now_us + period_us - 1) / period_us * period_us : G_MAXINT64;
}
