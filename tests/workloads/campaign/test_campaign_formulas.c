/*
 * test_campaign_formulas.c - closed forms of nodes in repair, and hazards of young attempts.
 */

#include "tests/workloads/campaign/campaign_case.h"
#include "workloads/campaign/campaign_sim.h"

/* Nodes in repair are Poisson with mean 5: 5 are not exceeded for 61.6 % of the time (4 for 44 %),
 * 11 for 99.45 % (10 for 98.6 %). A rack of 8 with mean 0.01 is out 1 % of the time: P99.9 is 8. */
static void test_spares(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", DAY / 5, 1);
  g_assert_cmpint(orr_campaign_formulas_spares(&c.in, 0.5), ==, 5);
  g_assert_cmpint(orr_campaign_formulas_spares(&c.in, 0.99), ==, 11);
  add_process(&c, "rack", 100 * DAY, 8);
  g_array_index(c.processes, OrrCampaignProcess, 0).scale_s = 1e12;
  g_assert_cmpint(orr_campaign_formulas_spares(&c.in, 0.98), ==, 0);
  g_assert_cmpint(orr_campaign_formulas_spares(&c.in, 0.999), ==, 8);
  case_clear(&c);
}

/* 1,600 nodes in repair in the mean: the median of that Poisson number is 1,600, and 97.7 % of the
 * time at most two standard deviations of 40 more are out. */
static void test_many_repairs(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", DAY / 1600, 1);
  g_assert_cmpint(orr_campaign_formulas_spares(&c.in, 0.5), ==, 1600);
  g_assert_cmpfloat_with_epsilon((double)orr_campaign_formulas_spares(&c.in, 0.97725), 1680, 2);
  case_clear(&c);
}

/* A process strikes after an exponential hazard of E, at 1 per 1,000 s, and at 3 times that in the
 * first 600 s of an attempt. From the strike at 1000 E that it has without infants, E is known:
 *
 *   E < 1.8     in the first 600 s, after E / 3 of 1,000 s
 *   else        1.8 is spent after 600 s, so 600 + 1000 (E - 1.8)
 *
 * A new attempt after 100 s begins the 600 s again, with 0.3 of E spent. */
static void test_infant_hazard(void) {
  OrrCampaignProcess plain = {.name = "launch", .n = 1, .scale_s = 1000}, infant = plain;
  infant.infant = 3;
  infant.infant_s = 600;
  guint late = 0;
  for (guint64 seed = 1; seed <= 100; seed++) {
    OrrCampaignDraw draw;
    orr_campaign_draw_init(&draw, &plain, 0, seed);
    const double e = draw.next_s / 1000;
    orr_campaign_draw_init(&draw, &infant, 0, seed);
    const double first_s = e < 1.8 ? e / 3 * 1000 : 600 + 1000 * (e - 1.8);
    g_assert_cmpfloat_with_epsilon(draw.next_s, first_s, 1e-6);
    late += e > 2.1;
    if (e < 0.3) continue; /* it strikes before the new attempt */
    orr_campaign_draw_attempt(&draw, 100);
    const double left = e - 0.3;
    const double again_s = left < 1.8 ? 100 + left / 3 * 1000 : 700 + 1000 * (left - 1.8);
    g_assert_cmpfloat_with_epsilon(draw.next_s, again_s, 1e-6);
  }
  g_assert_cmpuint(late, >, 0); /* both branches were met */
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/campaign-formulas/spares", test_spares);
  g_test_add_func("/campaign-formulas/many-repairs", test_many_repairs);
  g_test_add_func("/campaign-formulas/infant-hazard", test_infant_hazard);
  return g_test_run();
}
