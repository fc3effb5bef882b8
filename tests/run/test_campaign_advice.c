/*
 * test_campaign_advice.c - choices of a campaign with stalls as computed and as long as measured
 * ones may be.
 */
#include "sim/run/campaign_advice.h"

#include <math.h>

#include "tests/workloads/scenario_fixture.h"

/* A node that saves to storage and waits for the write, every 200 s. */
static const char text[] =
    "schema: scenario/1\nname: t\n"
    "cluster: {base: dgx-h100-superpod, nodes: 1, storage: {servers: 1, server-bandwidth: 20 GB/s,"
    " node-bandwidth: 20 GB/s}}\n"
    "model: llama-3.1-8b\n"
    "workload: {kind: training, sequence: 4096, parallel: {tp: 8}, batch: {global: 8, micro: 1}}\n"
    "campaign: {duration: 30 d, seeds: 4, policy: restart, spares: 1, repair: 1 h,"
    " recovery: {requeue: 1 min, restart: 1 min, initialise: 20 s}, checkpoints: [{tier: storage, "
    "mode: sync,"
    " interval: 200 s, planning: 1 s}],"
    " failures: {name: made up, source: this test,"
    " processes: [{component: software, rate-per-hour: 1e-9, scope: job, symptom: crash}]}}\n";

static OrrCampaignAdvice *advice_of(const char *sets, double storage_upper) {
  const double uppers[] = {NAN, NAN, NAN, storage_upper}; /* host, peer, ssd, storage */
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(shared_library(), text, sets);
  OrrCampaignAdvice *advice = orr_campaign_advice(shared_library(), scenario, uppers, &error);
  g_assert_no_error(error);
  return advice;
}

/* Of the intervals, the one with the most goodput, by the point or with stalls at the upper end. */
static double best_interval_s(const OrrCampaignAdvice *advice, gboolean is_late) {
  double best = -1, interval_s = 0;
  ORR_EACH(const OrrCampaignAdviceRow, row, advice->rows) {
    const double goodput = is_late ? row->late_goodput : row->goodput;
    if (row->topic != ORR_ADVICE_CHECKPOINTS || goodput <= best) continue;
    best = goodput;
    interval_s = row->value;
  }
  return interval_s;
}

/* Without failures a job trains for its interval I and waits for the stall S: its goodput is
 * I / (I + S). Of S one second is planning, which the scenario gives, and the rest is 4 times as
 * long at its upper end. The last interval is cut short by the campaign's end. */
static void test_late(void) {
  g_autoptr(OrrCampaignAdvice) advice = advice_of("", 4);
  const OrrCampaignAdviceTier *tier = &g_array_index(advice->tiers, OrrCampaignAdviceTier, 0);
  const double late_s = 1 + 4 * (tier->stall_s - 1);
  g_assert_cmpfloat(tier->stall_s, >, 3);
  g_assert_cmpfloat_with_epsilon(advice->goodput, 200 / (200 + tier->stall_s), 1e-3);
  g_assert_cmpfloat_with_epsilon(advice->late_goodput, 200 / (200 + late_s), 1e-3);
  ORR_EACH(const OrrCampaignAdviceRow, row, advice->rows)
    if (row->topic == ORR_ADVICE_CHECKPOINTS) {
      g_assert_cmpfloat_with_epsilon(row->goodput, row->value / (row->value + tier->stall_s), 1e-3);
      g_assert_cmpfloat_with_epsilon(row->late_goodput, row->value / (row->value + late_s), 1e-3);
    }
}

/* Young's interval is sqrt(2 S MTTF): with failures every hour and stalls 9 times as long the best
 * interval is 3 times as long, so the upper end chooses another one than the point. */
static void test_chooses_differently(void) {
  g_autoptr(OrrCampaignAdvice) advice = advice_of(
      "campaign.seeds=20;campaign.checkpoints=[{tier: storage, mode: sync, interval: 200 s}];"
      "campaign.failures={name: a, source: b, processes: [{component: software, "
      "rate-per-hour: 1, scope: job, symptom: crash}]}",
      9);
  g_assert_cmpfloat(best_interval_s(advice, TRUE), >=, 1.9 * best_interval_s(advice, FALSE));
}

/* Of 10 checkpoints every 1,800 s the oldest lies 9 x 1,800 s = 4.5 h back. Every 225 s, an eighth,
 * 1 + 9 x 8 = 73 reach as far, and every 3,600 s the 10 reach further. One alone reaches back to
 * nothing and stays alone. */
static void test_keep(void) {
  static const struct {
    const char *keep;
    gint64 keeps[2]; /* every 225 s and 3,600 s */
    const char *choice;
  } cases[] = {{"10", {73, 10}, "225 s, keep 73"}, {"1", {1, 1}, "225 s"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *sets = g_strdup_printf(
        "campaign.checkpoints=[{tier: storage, mode: sync, interval: 30 min, keep: %s}]",
        cases[i].keep);
    g_autoptr(OrrCampaignAdvice) advice = advice_of(sets, NAN);
    guint n = 0;
    ORR_EACH(const OrrCampaignAdviceRow, row, advice->rows) {
      if (row->value != 225 && row->value != 3600) continue;
      g_assert_cmpint(row->keep, ==, cases[i].keeps[row->value == 3600]);
      if (row->value == 225) g_assert_cmpstr(row->choice, ==, cases[i].choice);
      n++;
    }
    g_assert_cmpuint(n, ==, 2);
  }
}

/* Where nothing says how far off stalls are, nothing is simulated twice. */
static void test_unknown(void) {
  g_autoptr(OrrCampaignAdvice) advice = advice_of("", NAN);
  g_assert_true(isnan(advice->late_goodput));
  ORR_EACH(const OrrCampaignAdviceRow, row, advice->rows) g_assert_true(isnan(row->late_goodput));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/campaign-advice/late", test_late);
  g_test_add_func("/campaign-advice/chooses-differently", test_chooses_differently);
  g_test_add_func("/campaign-advice/unknown", test_unknown);
  g_test_add_func("/campaign-advice/keep", test_keep);
  return g_test_run();
}
