/*
 * test_campaign_checkpoints.c - which checkpoint a restart loads, in histories worked out by hand.
 */
#include "workloads/campaign/campaign_sim.h"

#include <math.h>

static OrrCampaignCheckpoints *checkpoints_of(const OrrCampaignTier *tiers, guint n) {
  static GArray *all = NULL; /* outlives the checkpoints */
  g_clear_pointer(&all, g_array_unref);
  all = g_array_new(FALSE, FALSE, sizeof *tiers);
  g_array_append_vals(all, tiers, n);
  return orr_campaign_checkpoints_new(all);
}

static void take_each(OrrCampaignCheckpoints *c, double interval_s, guint n) {
  for (guint i = 1; i <= n; i++) orr_campaign_checkpoints_take(c, i * interval_s, i * interval_s);
}

static void finds(OrrCampaignCheckpoints *c, double most_s, double progress_s, double load_s) {
  const OrrCampaignFound found = orr_campaign_checkpoints_find(c, most_s);
  g_assert_cmpfloat(found.progress_s, ==, progress_s);
  g_assert_cmpfloat(found.load_s, ==, load_s);
}

/* A checkpoint at 300 s stalls the job for 1 s and is written for 5 s: usable from 306 s on. */
static void test_usable_once_written(void) {
  static const struct {
    double fail_s, progress_s, load_s;
  } rows[] = {{305.9, 0, 0}, {306, 300, 2}};
  const OrrCampaignTier tier = {ORR_SAVED_STORAGE, 300, 1, 5, 2, .keep = 2};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrCampaignCheckpoints *c = checkpoints_of(&tier, 1);
    g_assert_cmpfloat(orr_campaign_checkpoints_take(c, 300, 300), ==, 1);
    orr_campaign_checkpoints_fail(c, rows[i].fail_s);
    finds(c, INFINITY, rows[i].progress_s, rows[i].load_s);
    orr_campaign_checkpoints_free(c);
  }
}

/* Two of three finished checkpoints are kept: 600 and 900, so corruption at 500 s goes back to the
 * beginning. Until the third is written at 905 s, the first one is still there. */
static void test_keep(void) {
  static const struct { double fail_s, progress_s; } rows[] = {{910, 0}, {904, 300}};
  const OrrCampaignTier tier = {ORR_SAVED_STORAGE, 300, 0, 5, 2, .keep = 2};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrCampaignCheckpoints *c = checkpoints_of(&tier, 1);
    take_each(c, 300, 3);
    orr_campaign_checkpoints_fail(c, rows[i].fail_s);
    finds(c, 500, rows[i].progress_s, rows[i].progress_s > 0 ? 2 : 0);
    orr_campaign_checkpoints_free(c);
  }
}

/* One is kept, and each takes 400 s to write, longer than the 300 s between them: the second waits
 * 100 s for the first. Whenever the job fails, the newest finished one is there. */
static void test_slow_writes(void) {
  static const struct {
    double fail_s, progress_s;
  } rows[] = {{699, 0}, {700, 300}, {1050, 300}, {1100, 600}, {1450, 600}, {1500, 900}};
  const OrrCampaignTier tier = {ORR_SAVED_STORAGE, 300, 0, 400, 2, .keep = 1};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrCampaignCheckpoints *c = checkpoints_of(&tier, 1);
    g_assert_cmpfloat(orr_campaign_checkpoints_take(c, 300, 300), ==, 0);
    if (rows[i].fail_s > 600)
      g_assert_cmpfloat(orr_campaign_checkpoints_take(c, 600, 600), ==, 100);
    if (rows[i].fail_s > 1000) /* 900 s of progress at 1,000 s: it waits until 1,100 s */
      g_assert_cmpfloat(orr_campaign_checkpoints_take(c, 1000, 900), ==, 100);
    orr_campaign_checkpoints_fail(c, rows[i].fail_s);
    finds(c, INFINITY, rows[i].progress_s, rows[i].progress_s > 0 ? 2 : 0);
    orr_campaign_checkpoints_free(c);
  }
}

/* What each failure leaves: a copy of 300 s of progress, or nothing: the job begins again. */
static void test_lost(void) {
  static const struct {
    int kind;
    gboolean is_far, kills_host, is_rack, survives;
  } rows[] = {
      {ORR_SAVED_HOST, FALSE, FALSE, FALSE, TRUE},  {ORR_SAVED_HOST, FALSE, TRUE, FALSE, FALSE},
      {ORR_SAVED_SSD, FALSE, TRUE, FALSE, FALSE},   {ORR_SAVED_PEER, FALSE, TRUE, FALSE, TRUE},
      {ORR_SAVED_PEER, FALSE, TRUE, TRUE, FALSE},   {ORR_SAVED_PEER, TRUE, TRUE, TRUE, TRUE},
      {ORR_SAVED_STORAGE, FALSE, TRUE, TRUE, TRUE}, {ORR_SAVED_HOST, TRUE, TRUE, TRUE, FALSE},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const OrrCampaignTier tier = {rows[i].kind, 300, 0, 0, 2, .keep = 1, .is_far = rows[i].is_far};
    OrrCampaignCheckpoints *c = checkpoints_of(&tier, 1);
    take_each(c, 300, 1);
    orr_campaign_checkpoints_lose(c, rows[i].kills_host, rows[i].is_rack);
    finds(c, INFINITY, rows[i].survives ? 300 : 0, rows[i].survives ? 2 : 0);
    orr_campaign_checkpoints_free(c);
  }
}

/* Of two tiers with the same progress the faster one is loaded, whichever comes first; newer
 * progress wins over speed. */
static void test_faster_tier(void) {
  const OrrCampaignTier fast = {ORR_SAVED_HOST, 300, 0, 0, 2, .keep = 9},
                        slow = {ORR_SAVED_STORAGE, 300, 0, 0, 50, .keep = 9},
                        often = {ORR_SAVED_STORAGE, 150, 0, 0, 50, .keep = 9};
  const OrrCampaignTier orders[][2] = {{fast, slow}, {slow, fast}};
  for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
    OrrCampaignCheckpoints *c = checkpoints_of(orders[i], 2);
    take_each(c, 300, 2);
    finds(c, INFINITY, 600, 2);
    orr_campaign_checkpoints_free(c);
  }
  const OrrCampaignTier newer[] = {fast, often};
  OrrCampaignCheckpoints *c = checkpoints_of(newer, 2);
  take_each(c, 150, 3); /* 300 in memory; 150, 300, 450 in storage */
  finds(c, INFINITY, 450, 50);
  finds(c, 449, 300, 2);
  orr_campaign_checkpoints_free(c);
}

/* The next checkpoint of a tier waits until the last one is written: taken at 300 s and written for
 * 400 s, it delays the one due at 600 s by 100 s. */
static void test_back_pressure(void) {
  const OrrCampaignTier tier = {ORR_SAVED_STORAGE, 300, 1, 400, 2, .keep = 2};
  OrrCampaignCheckpoints *c = checkpoints_of(&tier, 1);
  g_assert_cmpfloat(orr_campaign_checkpoints_take(c, 300, 300), ==, 1);
  g_assert_cmpfloat(orr_campaign_checkpoints_take(c, 601, 600), ==, 100 + 1);
  orr_campaign_checkpoints_free(c);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/campaign-checkpoints/usable-once-written", test_usable_once_written);
  g_test_add_func("/campaign-checkpoints/keep", test_keep);
  g_test_add_func("/campaign-checkpoints/slow-writes", test_slow_writes);
  g_test_add_func("/campaign-checkpoints/lost", test_lost);
  g_test_add_func("/campaign-checkpoints/faster-tier", test_faster_tier);
  g_test_add_func("/campaign-checkpoints/back-pressure", test_back_pressure);
  return g_test_run();
}
