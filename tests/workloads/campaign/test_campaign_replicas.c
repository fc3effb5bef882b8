/*
 * test_campaign_replicas.c - policies that go on with fewer replicas: what a failure costs them,
 * and when none is left.
 */
#include "tests/workloads/campaign/campaign_case.h"

/* Without spares the job waits for a repair of a day; with 10 replicas of 10 nodes it goes on with
 * 9, at 10 / 9 of the time: better than waiting. More nodes than one replica's are rarely out, so
 * that doing without two or three does not lower it. */
static void test_fewer_replicas(void) {
  static const char *const policies[] = {"shrink", "reroute", "replica-level"};
  for (guint i = 0; i < G_N_ELEMENTS(policies); i++) {
    double before = 0;
    for (guint most = 0; most <= 3; most++) {
      Case c = case_new(policies[i]);
      for (guint k = 1; k <= most; k++) {
        const double slow = 10.0 / (10 - k);
        g_array_append_val(c.shrunk, slow);
      }
      add_process(&c, "gpu", DAY, 1);
      add_tier(&c, ORR_SAVED_STORAGE, 900, 2, 10);
      c.in.spares = 0;
      const double now = mean_progress(&c, 100);
      if (most == 1 ? now <= before : now < before)
        g_error("%s: %g without %u replicas, %g before", policies[i], now, most, before);
      before = now;
      case_clear(&c);
    }
  }
}

/* With spares for all, one failure costs replica-level fault tolerance half a step, 5 s, and
 * 5 minutes with 9 of 10 replicas, a tenth of it lost: 30 s. Nothing is loaded or trained
 * again; detection and diagnosis take 90 s. Failures that meet a replica apart are 0.7 % here. */
static void test_replica_level(void) {
  Case c = case_new("replica-level");
  const double slow = 10.0 / 9;
  g_array_append_val(c.shrunk, slow);
  add_process(&c, "gpu", DAY / 2, 1);
  double lost_s = 0, failures = 0;
  for (guint seed = 1; seed <= 50; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    g_assert_cmpfloat(orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_RECOMPUTE), ==, 0);
    g_assert_cmpfloat(orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_LOAD), ==, 0);
    lost_s += lost_in_all(history);
    failures += (double)history->n_failures;
  }
  g_test_message("%g s per failure", lost_s / failures);
  g_assert_cmpfloat_with_epsilon(lost_s / failures, 90 + 5 + 30, 4);
  case_clear(&c);
}

/* Eight replicas on each node rejoin together, whether a spare takes the node's place or its
 * processes start again: 300 s at twice the time a step lose 150 s. Where the job can do without
 * one replica only, the others wait for 300 s. */
static void test_replicas_of_a_node(void) {
  for (int row = 0; row < 4; row++) {
    const gboolean goes_on = row % 2, takes_node = row / 2;
    Case c = case_new("replica-level");
    c.in.replicas = 800;
    for (int k = 1; k <= (goes_on ? 8 : 1); k++) {
      const double slow = k == 8 ? 2 : 1;
      g_array_append_val(c.shrunk, slow);
    }
    add_process(&c, "node", DAY / 2, takes_node);
    g_array_index(c.processes, OrrCampaignProcess, 0).struck = 1;
    double lost_s = 0, failures = 0;
    for (guint seed = 1; seed <= 50; seed++) {
      g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
      lost_s += lost_in_all(history);
      failures += (double)history->n_failures;
    }
    g_test_message("%g s per failure", lost_s / failures);
    g_assert_cmpfloat_with_epsilon(lost_s / failures, 90 + 5 + (goes_on ? 150 : 300), 6);
    case_clear(&c);
  }
}

/* A failure of the whole job, or of the only replica, leaves nothing to go on with or to copy from:
 * policies that keep healthy replicas then do what restart does, second by second. */
static void test_no_replica_is_left(void) {
  static const char *const policies[] = {"restart", "replica-level", "reroute"};
  for (guint seed = 1; seed <= 5; seed++) {
    double progress_s[G_N_ELEMENTS(policies)][2];
    for (guint i = 0; i < G_N_ELEMENTS(policies); i++) {
      for (int is_of_job = 0; is_of_job <= 1; is_of_job++) {
        Case c = case_new(policies[i]);
        add_process(&c, "software", DAY / 2, 0);
        add_tier(&c, ORR_SAVED_STORAGE, 1800, 2, 30);
        g_array_index(c.processes, OrrCampaignProcess, 0).is_of_job = is_of_job;
        c.in.replicas = is_of_job ? 10 : 1;
        g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
        g_assert_cmpfloat(orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_RECOMPUTE), >, 0);
        progress_s[i][is_of_job] = history->progress_s;
        g_assert_cmpfloat(progress_s[i][is_of_job], ==, progress_s[0][is_of_job]);
        case_clear(&c);
      }
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/campaign/fewer-replicas", test_fewer_replicas);
  g_test_add_func("/campaign/replica-level", test_replica_level);
  g_test_add_func("/campaign/replicas-of-a-node", test_replicas_of_a_node);
  g_test_add_func("/campaign/no-replica-is-left", test_no_replica_is_left);
  return g_test_run();
}
