/*
 * campaign_case.h - a campaign of 30 days on 100 nodes, which tests add failures and tiers to.
 */
#pragma once

#include <math.h>

#include "workloads/campaign/campaign_sim.h"

#define DAY 86400.0

typedef struct {
  OrrCampaignInput in;
  GArray *processes, *tiers, *shrunk;
  OrrChoice policy;
} Case;

static inline Case case_new(const char *policy) {
  Case c = {.processes = g_array_new(FALSE, TRUE, sizeof(OrrCampaignProcess)),
            .tiers = g_array_new(FALSE, TRUE, sizeof(OrrCampaignTier)),
            .shrunk = g_array_new(FALSE, TRUE, sizeof(double))};
  const double one = 1;
  g_array_append_val(c.shrunk, one);
  c.policy.entry = orr_registry_find(&orr_recovery_policy_registry, policy);
  g_assert_nonnull(c.policy.entry);
  if (c.policy.entry->params) {
    c.policy.params = g_malloc0(c.policy.entry->params->size);
    orr_field_defaults(c.policy.entry->params, c.policy.params);
  }
  c.in = (OrrCampaignInput){.duration_s = 30 * DAY,
                            .goal_s = INFINITY,
                            .step_s = 10,
                            .nodes = 100,
                            .replicas = 10,
                            .spares = 1000,
                            .processes = c.processes,
                            .tiers = c.tiers,
                            .shrunk = c.shrunk,
                            .policy = (const OrrRecoveryPolicy *)c.policy.entry,
                            .policy_params = c.policy.params,
                            .times = {300, 40, 20}};
  return c;
}

static inline void case_clear(Case *c) {
  if (c->policy.params) orr_field_clear(c->policy.entry->params, c->policy.params);
  g_free(c->policy.params);
  g_array_unref(c->processes);
  g_array_unref(c->tiers);
  g_array_unref(c->shrunk);
}

static inline void add_process(Case *c, const char *name, double mtbf_s, gint64 nodes) {
  const OrrCampaignProcess process = {.name = name,
                                      .n = 1,
                                      .scale_s = mtbf_s,
                                      .nodes = nodes,
                                      .kills_host = nodes > 0,
                                      .repair_s = DAY,
                                      .detect_s = 60,
                                      .diagnose_s = 30};
  g_array_append_val(c->processes, process);
}

static inline void add_tier(Case *c, int kind, double interval_s, double stall_s, double load_s) {
  const OrrCampaignTier tier = {.kind = kind,
                                .interval_s = interval_s,
                                .stall_s = stall_s,
                                .write_s = 5,
                                .load_s = load_s,
                                .keep = 2};
  g_array_append_val(c->tiers, tier);
}

static inline double lost_in_all(const OrrCampaignHistory *history) {
  double sum = 0;
  for (guint i = 0; i < history->lost->len; i++) sum += g_array_index(history->lost, double, i);
  return sum;
}

static inline double mean_progress(const Case *c, guint n) {
  double sum = 0;
  for (guint seed = 1; seed <= n; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c->in, seed, FALSE);
    g_assert_cmpfloat_with_epsilon(history->wall_s, history->progress_s + lost_in_all(history),
                                   1e-3);
    sum += history->progress_s / history->wall_s;
  }
  return sum / n;
}
