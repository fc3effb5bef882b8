/*
 * gang_kinds.c - the kinds of GPUs of a cluster: nodes of one kind follow another kind's, and a
 * gang has GPUs of one kind.
 *
 *   bins   | v100 v100 | p100 p100 p100 | k80 |
 *            ^ first_bins[0]  ^ first_bins[1]   ^ [2]
 *
 * A placement sees the bins of one kind as a cluster of its own. While a job runs on kind k, its
 * work passes at rates[k]; without rates, at 1.
 */
#include "workloads/cluster_jobs/core/gang_state.h"

void orr_gang_kinds_open(OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  const gboolean is_count = rules->placement->is_count;
  const OrrGangKind only = {"", rules->n_nodes, rules->gpus_per_node};
  sim->n_kinds = MAX(rules->n_kinds, 1);
  gint64 size = 0;
  for (guint k = 0; k < sim->n_kinds; k++) {
    OrrGangKind kind = rules->n_kinds > 0 ? rules->kinds[k] : only;
    if (is_count) kind = (OrrGangKind){kind.name, 1, kind.n_nodes * kind.gpus_per_node};
    sim->kinds[k] = kind;
    sim->first_bins[k + 1] = sim->first_bins[k] + kind.n_nodes;
    size = MAX(size, kind.gpus_per_node);
  }
  orr_gang_bins_init(&sim->bins, sim->first_bins[sim->n_kinds], size);
  orr_gang_bins_init(&sim->later, sim->first_bins[sim->n_kinds], size);
  sim->n_gpus = sim->bins.n_free;
  if (sim->n_kinds == 1) return;
  sim->n_gpus = 0;
  for (guint k = 0; k < sim->n_kinds; k++)
    for (guint i = sim->first_bins[k]; i < sim->first_bins[k + 1]; i++)
      sim->n_gpus += sim->bins.free[i] = sim->kinds[k].gpus_per_node;
  g_clear_pointer(&sim->bins.levels, g_free); /* nodes differ */
  sim->bins.n_free = sim->n_gpus;
}

/* What orr_gang_history_largest finds, from the numbers of nodes by their free GPUs. */
static gint64 largest_by_levels(const OrrGangBins *bins) {
  gint64 most = bins->size - 1;
  while (most > 0 && bins->levels[most] == 0) most--;
  return (gint64)bins->levels[bins->size] * bins->size + MAX(most, 0);
}

gint64 orr_gang_kinds_largest(const OrrGangSim *sim) {
  gint64 largest = 0;
  if (sim->bins.levels) return largest_by_levels(&sim->bins);
  for (guint k = 0; k < sim->n_kinds; k++)
    largest =
        MAX(largest, orr_gang_history_largest(sim->bins.free + sim->first_bins[k],
                                              sim->kinds[k].n_nodes, sim->kinds[k].gpus_per_node));
  return largest;
}

static double rate_on(const OrrGangSim *sim, const OrrGangJob *job, guint kind) {
  return sim->rules->n_kinds > 0 ? job->rates[kind] : 1;
}

/* Sorted by insertion: there are few, and equal ones keep their order. */
guint orr_gang_kinds_of(const OrrGangSim *sim, const OrrGangJob *job, guint kinds[ORR_GANG_KINDS]) {
  guint n = 0;
  for (guint k = 0; k < sim->n_kinds; k++) {
    if (!(rate_on(sim, job, k) > 0)) continue;
    guint at = n++;
    for (;
         at > 0 && sim->rules->by_speed && rate_on(sim, job, kinds[at - 1]) < rate_on(sim, job, k);
         at--)
      kinds[at] = kinds[at - 1];
    kinds[at] = k;
  }
  return n;
}

double orr_gang_kinds_speed(const OrrGangSim *sim, const OrrGangJob *job, guint kind, gint64 gpus) {
  const OrrGangRules *rules = sim->rules;
  const char *name = sim->kinds[kind].name;
  double own = 1;
  if (gpus == job->asked_gpus) return 1;
  if (rules->speed && orr_gang_speed_resized(rules->speed, job, gpus, &own)) return own;
  if (rules->speeds && job->model) {
    const double asked =
                     orr_gang_throughputs_find(rules->speeds, job->model, job->asked_gpus, name),
                 found = orr_gang_throughputs_between(rules->speeds, job->model, gpus, name);
    if (asked > 0 && found > 0) return found / asked;
  }
  return pow((double)gpus / (double)job->asked_gpus, rules->scaling > 0 ? rules->scaling : 1);
}

guint orr_gang_kinds_at(const OrrGangSim *sim, const GArray *shares) {
  const guint bin = g_array_index(shares, OrrGangShare, 0).bin;
  guint kind = 0;
  while (bin >= sim->first_bins[kind + 1]) kind++;
  return kind;
}

void orr_gang_kinds_begin(const OrrGangSim *sim, OrrGangJob *job) {
  job->kind = orr_gang_kinds_at(sim, job->shares);
  job->rate = rate_on(sim, job, job->kind);
  if (job->gpus != job->asked_gpus)
    job->rate *= orr_gang_kinds_speed(sim, job, job->kind, job->gpus);
  job->since_us = sim->now_us;
  job->slow = 0; /* orr_gang_pace says, after the pass */
  job->pace = NULL;
  const gint64 time_us =
      job->rate == 1 ? job->left_us : (gint64)ceil((double)job->left_us / job->rate);
  job->end_us = sim->now_us + time_us;
}
