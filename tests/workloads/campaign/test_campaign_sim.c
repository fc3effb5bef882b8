/*
 * test_campaign_sim.c - one failure second by second, laws over many seeds, and closed forms.
 */
#include <math.h>

#include "tests/workloads/campaign/campaign_case.h"
#include "workloads/campaign/campaign_sim.h"

/* The first strike of the only process, and the one after it. */
static void strikes(const Case *c, guint64 seed, double *ret_first_s, double *ret_second_s) {
  OrrCampaignDraw draw;
  orr_campaign_draw_init(&draw, &g_array_index(c->processes, OrrCampaignProcess, 0), 0, seed);
  *ret_first_s = draw.next_s;
  orr_campaign_draw_attempt(&draw, draw.next_s);
  orr_campaign_draw_next(&draw);
  *ret_second_s = draw.next_s;
}

/* A checkpoint after each 300 s of training makes the job wait 1 s, and is usable 5 s later. A
 * failure r seconds into a period of 301 s finds the checkpoint at its beginning where
 * 5 < r < 300. Then 60 s pass until it is detected, 30 s for the diagnosis, 40 s for the restart,
 * 20 s for the process groups and 2 s for the load: 152 s. The r seconds are trained again. */
static void test_one_failure(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", 5e4, 0);
  add_tier(&c, ORR_SAVED_HOST, 300, 1, 2);
  double first_s = 0, second_s = 0, r = 0;
  guint64 seed = 0;
  do {
    strikes(&c, ++seed, &first_s, &second_s);
    r = fmod(first_s, 301);
  } while (first_s < 3000 || second_s < first_s + 3000 || r < 6 || r > 299);
  c.in.duration_s = first_s + 152 + 1000;
  g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, TRUE);
  const guint cause = ORR_N_CAUSES;
  const double wanted[] = {0, 60, 30, 0, 40, 20, 2, r, 0, 0, 0};
  for (int phase = 0; phase < ORR_N_PHASES; phase++)
    g_assert_cmpfloat_with_epsilon(orr_campaign_sim_lost(history, cause, phase), wanted[phase],
                                   1e-6);
  g_assert_cmpint(history->n_failures, ==, 1);
  g_assert_cmpint(history->n_restarts, ==, 1);
  /* After it 1000 s remain: 3 periods of 301 s and 97 s. */
  const double before_s = 300 * floor(first_s / 301);
  g_assert_cmpfloat_with_epsilon(history->progress_s, before_s + 3 * 300 + 97, 1e-6);
  g_assert_cmpint(history->n_checkpoints, ==, (gint64)(first_s / 301) + 3);
  const OrrCampaignEvent *detect = NULL;
  for (guint i = 0; i < history->events->len && !detect; i++)
    if (g_array_index(history->events, OrrCampaignEvent, i).phase == ORR_PHASE_DETECT)
      detect = &g_array_index(history->events, OrrCampaignEvent, i);
  g_assert_cmpfloat_with_epsilon(detect->begin_s, first_s, 1e-6);
  g_assert_cmpfloat_with_epsilon(detect->end_s, first_s + 60, 1e-6);
  case_clear(&c);
}

/* The same failure takes a node: its host's memory goes with it, and the job loads from storage. */
static void test_nearest_tier(void) {
  const struct {
    int kind;
    gint64 nodes;
    double load_s;
  } rows[] = {{ORR_SAVED_HOST, 0, 2},
              {ORR_SAVED_HOST, 1, 50},
              {ORR_SAVED_PEER, 1, 2},
              {ORR_SAVED_SSD, 0, 2},
              {ORR_SAVED_SSD, 1, 50}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    Case c = case_new("restart");
    add_process(&c, "gpu", 5e4, rows[i].nodes);
    add_tier(&c, rows[i].kind, 300, 1, 2);
    add_tier(&c, ORR_SAVED_STORAGE, 3000, 1, 50);
    double first_s = 0, second_s = 0;
    guint64 seed = 0;
    do strikes(&c, ++seed, &first_s, &second_s);
    while (first_s < 5000 || second_s < first_s + 3000 || fmod(first_s, 3011) < 400);
    c.in.duration_s = first_s + 1000;
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    g_assert_cmpfloat_with_epsilon(orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_LOAD),
                                   rows[i].load_s, 1e-6);
    case_clear(&c);
  }
}

static void test_same_seed(void) {
  Case c = case_new("warm-standby");
  add_process(&c, "gpu", DAY / 4, 1);
  add_tier(&c, ORR_SAVED_STORAGE, 1800, 2, 30);
  g_autoptr(OrrCampaignHistory) a = orr_campaign_sim(&c.in, 7, TRUE);
  g_autoptr(OrrCampaignHistory) b = orr_campaign_sim(&c.in, 7, TRUE);
  g_assert_cmpmem(a->events->data, a->events->len * sizeof(OrrCampaignEvent), b->events->data,
                  b->events->len * sizeof(OrrCampaignEvent));
  case_clear(&c);
}

/* Failures at rate f, each of which costs u and half an interval: Meta's E[ETTR] without the
 * approximation that failures are rare (arXiv 2410.21680, appendix A). The work between failures
 * is a geometric number of intervals: Daly 2006, equation 13 with restart time u + R:
 *   T = (1/f) e^(f u) (e^(f (dt + w)) - 1) per dt of work. */
static void test_daly(void) {
  Case c = case_new("requeue");
  add_process(&c, "software", DAY / 6, 0);
  add_tier(&c, ORR_SAVED_STORAGE, 1800, 20, 30);
  OrrCampaignTier *tier = &g_array_index(c.tiers, OrrCampaignTier, 0);
  tier->write_s = 0;
  const double f = 6 / DAY, u = 60 + 30 + 300 + 20 + 30;
  /* Failures of software strike only a job that trains: the downtime is added once. */
  const double wanted = 1800 / ((1 / f + u) * expm1(f * (1800 + 20)));
  g_assert_cmpfloat_with_epsilon(mean_progress(&c, 200), wanted, 0.002);
  case_clear(&c);
}

/* M/G/infinity: with spares for all, the mean number of nodes in repair is rate times repair. */
static void test_repairs(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", DAY / 5, 1);
  add_tier(&c, ORR_SAVED_STORAGE, 1800, 2, 30);
  c.in.duration_s = 400 * DAY;
  double sum_s = 0, all_s = 0;
  gint64 n = 0;
  for (guint seed = 1; seed <= 10; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    for (guint k = 0; k < history->out_s->len; k++)
      sum_s += k * g_array_index(history->out_s, double, k);
    all_s += history->wall_s;
    n += history->n_failures;
  }
  /* 20,000 failures: the mean is known to 1 / sqrt(20,000) = 0.7 %. */
  g_assert_cmpfloat_with_epsilon((double)n, 20000, 425);
  g_assert_cmpfloat_with_epsilon(sum_s / all_s, 5, 0.1);
  case_clear(&c);
}

/* An alternating renewal process per node: 100 h until it fails, then a repair, without spares. A
 * node fails every 100 h + repair in the mean, and all 8 are up (100 / (100 + repair))^8 of the
 * time (Barlow, Proschan 1975, section 7.1). 25 seeds of 48,000 h: 0.4 % and 0.003. */
static void test_no_failure_in_repair(void) {
  static const double repairs_h[] = {24, 300};
  for (guint i = 0; i < G_N_ELEMENTS(repairs_h); i++) {
    Case c = case_new("restart");
    add_process(&c, "node", 100 * 3600 / 8.0, 1);
    OrrCampaignProcess *process = &g_array_index(c.processes, OrrCampaignProcess, 0);
    process->repair_s = repairs_h[i] * 3600;
    process->detect_s = process->diagnose_s = 0;
    c.in.times = (OrrRecoveryTimes){0};
    c.in.nodes = 8;
    c.in.spares = 0;
    c.in.duration_s = 48000 * 3600.0;
    const double cycle_h = 100 + repairs_h[i], n_seeds = 25;
    double up_s = 0, failures = 0;
    for (guint seed = 1; seed <= n_seeds; seed++) {
      g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
      up_s += g_array_index(history->out_s, double, 0) / history->wall_s / n_seeds;
      failures += (double)history->n_failures / n_seeds;
    }
    g_test_message("%g failures, wanted %g; up %g, wanted %g", failures, 8 * 48000 / cycle_h, up_s,
                   pow(100 / cycle_h, 8));
    g_assert_cmpfloat_with_epsilon(failures * cycle_h / 8 / 48000, 1, 0.01);
    g_assert_cmpfloat_with_epsilon(up_s, pow(100 / cycle_h, 8), 0.006);
    case_clear(&c);
  }
}

/* A tenth of the nodes fail 11 times as often, and a repair of a second gives the same node back:
 * the job fails 1 + 0.1 * 10 = 2 times as often. 100 seeds of 240 failures: 3 sigma are 465. */
static void test_lemons(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", DAY / 4, 1);
  g_array_index(c.processes, OrrCampaignProcess, 0).repair_s = 1;
  c.in.spares = 0;
  for (guint pass = 0; pass < 2; pass++) {
    gint64 n = 0;
    for (guint seed = 1; seed <= 100; seed++) {
      g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
      n += history->n_failures;
    }
    g_assert_cmpfloat_with_epsilon((double)n, pass == 0 ? 12000 : 24000, 465);
    c.in.lemon_fraction = 0.1;
    c.in.lemon_multiple = 11;
  }
  case_clear(&c);
}

/* The same where no node goes out of service: all 10 lemons are always there. */
static void test_lemons_kept(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", DAY / 4, 0);
  c.in.lemon_fraction = 0.1;
  c.in.lemon_multiple = 11;
  gint64 n = 0;
  for (guint seed = 1; seed <= 100; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    n += history->n_failures;
  }
  g_assert_cmpfloat_with_epsilon((double)n, 24000, 465);
  case_clear(&c);
}

/* The same lemons, and each is replaced by another node once it has failed. The job fails 4 times a
 * day without lemons, each node 0.04 times, each lemon 0.44 times until it is found. In 30 days:
 *
 *   90 nodes x 0.04 x 30 = 108
 *   10 lemons: each fails once, in the mean after 1 / 0.44 = 2.27 days (but for e^-13.2 of them),
 *   and then as the others: 10 (1 + 0.04 (30 - 2.27)) = 21.1
 *
 * 100 seeds: 12,910; 3 sigma are at most 3 sqrt(12,910) = 341. A half found takes twice as many
 * failures of each lemon, a geometric number of mean 2: 10 (2 + 0.04 (30 - 4.55)) = 30.2, so 13,820
 * (but for the lemons that are left after 30 days, e^-6.6 of them). */
static void test_found_lemons(void) {
  static const double found[] = {1, 0.5}, expected[] = {12910, 13820};
  for (guint i = 0; i < G_N_ELEMENTS(found); i++) {
    Case c = case_new("restart");
    add_process(&c, "gpu", DAY / 4, 1);
    g_array_index(c.processes, OrrCampaignProcess, 0).repair_s = 1;
    c.in.spares = 0;
    c.in.lemon_fraction = 0.1;
    c.in.lemon_multiple = 11;
    c.in.lemon_found = found[i];
    gint64 n = 0;
    for (guint seed = 1; seed <= 100; seed++) {
      g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
      n += history->n_failures;
    }
    g_assert_cmpfloat_with_epsilon((double)n, expected[i], 360);
    case_clear(&c);
  }
}

/* All nodes and all 1,000 spares are lemons, 11 times as bad, and a repair takes a day: whatever
 * takes a place is a lemon again, so the job fails 44 times a day. 20 seeds of 30 days: 26,400;
 * 3 sigma are 487. */
static void test_lemon_spares(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", DAY / 4, 1);
  c.in.lemon_fraction = 1;
  c.in.lemon_multiple = 11;
  gint64 n = 0;
  for (guint seed = 1; seed <= 20; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    n += history->n_failures;
  }
  g_assert_cmpfloat_with_epsilon((double)n, 26400, 487);
  case_clear(&c);
}

/* A restart is planned every day and takes 3,600 + 40 + 20 s. It is due at whole days, however long
 * the ones before it took: in 30 days there are 29, at 1, 2, ... days. */
static void test_planned_on_time(void) {
  Case c = case_new("restart");
  add_tier(&c, ORR_SAVED_STORAGE, 1e9, 0, 0); /* holds what a planned restart saves, at no cost */
  g_array_index(c.tiers, OrrCampaignTier, 0).write_s = 0;
  c.in.planned_every_s = DAY;
  c.in.planned_s = 3600;
  g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, 1, TRUE);
  guint n = 0;
  for (guint i = 0; i < history->events->len; i++) {
    const OrrCampaignEvent *event = &g_array_index(history->events, OrrCampaignEvent, i);
    if (event->phase != ORR_PHASE_PLANNED) continue;
    g_assert_cmpfloat_with_epsilon(event->begin_s, ++n * DAY, 1e-6);
  }
  g_assert_cmpuint(n, ==, 29);
  g_assert_cmpfloat_with_epsilon(history->progress_s, 30 * DAY - 29 * 3660, 1e-6);
  case_clear(&c);
}

/* A restart that falls due while the job is down, here for 20,160 s after a failure, is made when
 * the job is up again; the one after it is due at its whole day all the same. */
static void test_planned_after_outage(void) {
  Case c = case_new("restart");
  add_process(&c, "gpu", 2 * DAY, 0);
  g_array_index(c.processes, OrrCampaignProcess, 0).detect_s = 20000;
  add_tier(&c, ORR_SAVED_STORAGE, 1e9, 0, 0);
  g_array_index(c.tiers, OrrCampaignTier, 0).write_s = 0;
  c.in.planned_every_s = DAY;
  c.in.planned_s = 3600;
  guint n_late = 0;
  for (guint64 seed = 1; seed <= 20; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, TRUE);
    double down_from_s = 0; /* when the outage that has not ended began */
    for (guint i = 0, day = 1; i < history->events->len; i++) {
      const OrrCampaignEvent *event = &g_array_index(history->events, OrrCampaignEvent, i);
      if (event->phase == ORR_PHASE_RUN) down_from_s = event->end_s;
      if (event->phase != ORR_PHASE_PLANNED) continue;
      if (event->begin_s > day * DAY + 1e-6) {
        g_assert_cmpfloat(down_from_s, <=, day * DAY);
        n_late++;
      }
      g_assert_cmpfloat(event->begin_s, >, day * DAY - 1e-6);
      day++;
    }
  }
  g_assert_cmpuint(n_late, >, 10); /* about 20 seeds x 30 days x 20,160 s of 2 days: 70 */
  case_clear(&c);
}

/* An attempt fails in its first 10 minutes with probability 0.73 (the rate there is -ln(0.27) per
 * 10 min, a millionth of it later), and else runs until something else fails. */
static void test_infants(void) {
  Case c = case_new("restart");
  add_process(&c, "launch", 3600 / 7.856e-6, 0);
  g_array_index(c.processes, OrrCampaignProcess, 0).infant = 1e6;
  g_array_index(c.processes, OrrCampaignProcess, 0).infant_s = 600;
  add_process(&c, "host", DAY, 0);
  double early = 0, attempts = 0;
  for (guint seed = 1; seed <= 100; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    early += (double)g_array_index(history->failures, gint64, ORR_N_CAUSES);
    attempts += 1 + (double)history->n_restarts;
  }
  /* 8,000 attempts: 3 sigma are 3 sqrt(0.73 * 0.27 / 8000) = 0.015. */
  g_assert_cmpfloat(attempts, >, 8000);
  g_assert_cmpfloat_with_epsilon(early / attempts, 0.73, 0.015);
  case_clear(&c);
}

/* RSC-1 (6.5 failures per 1000 node-days) and RSC-2 (2.34): a job on 2,000 nodes that a failure
 * costs 300 s and the training since its checkpoint, which cost nothing. The formula is of first
 * order in the failures per interval, x = dt / mttf, which it takes to be rare: within 1 % where
 * x < 0.2. */
static void test_ettr(void) {
  const struct { double per_day, interval_s; } rows[] = {{13, 300}, {4.68, 300}, {4.68, 3600}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    Case c = case_new("requeue");
    const double mttf_s = DAY / rows[i].per_day;
    add_process(&c, "node", mttf_s, 0);
    OrrCampaignProcess *node = &g_array_index(c.processes, OrrCampaignProcess, 0);
    node->detect_s = node->diagnose_s = 0;
    add_tier(&c, ORR_SAVED_STORAGE, rows[i].interval_s, 0, 0);
    g_array_index(c.tiers, OrrCampaignTier, 0).write_s = 0;
    c.in.times.initialise_s = 0; /* 300 s of requeue are left */
    const double wanted = orr_campaign_formulas_ettr(mttf_s, 300, rows[i].interval_s, 0);
    g_assert_cmpfloat_with_epsilon(mean_progress(&c, 200) / wanted, 1, 0.01);
    case_clear(&c);
  }
  /* The published E[ETTR] of 16,000 GPUs, every 60 and 5 minutes: 0.70 and 0.93. */
  g_assert_cmpfloat_with_epsilon(orr_campaign_formulas_ettr(DAY / 13, 300, 3600, 0), 0.684, 0.001);
  g_assert_cmpfloat_with_epsilon(orr_campaign_formulas_ettr(DAY / 13, 300, 300, 0), 0.932, 0.001);
}

/* 20 s of stall and 4 h between failures: x = 20 / 28800; Young sqrt(2 * 20 * 14400) = 758.9 s,
 * Daly 758.9 (1 + 0.02635 / 3 + 0.0006944 / 9) - 20 = 745.6 s. Goodput is at its top there: within
 * noise, half and twice the interval have less. */
static void test_best_interval(void) {
  const double young_s = orr_campaign_formulas_young_s(20, DAY / 6),
               daly_s = orr_campaign_formulas_daly_s(20, DAY / 6);
  g_assert_cmpfloat_with_epsilon(young_s, 758.95, 0.01);
  g_assert_cmpfloat_with_epsilon(daly_s, 745.67, 0.01);
  g_assert_cmpfloat(orr_campaign_formulas_daly_s(100, 40), ==, 40);
  /* As long as the third term counts: x = 1/2, sqrt(2 100 100) (1 + 0.707107 / 3 + 1/18) - 100. */
  g_assert_cmpfloat_with_epsilon(orr_campaign_formulas_daly_s(100, 100), 82.6114, 1e-3);
  double goodput[3];
  for (guint i = 0; i < 3; i++) {
    Case c = case_new("requeue");
    add_process(&c, "software", DAY / 6, 0);
    add_tier(&c, ORR_SAVED_STORAGE, daly_s / 2 * (1U << i), 20, 30);
    g_array_index(c.tiers, OrrCampaignTier, 0).write_s = 0;
    goodput[i] = mean_progress(&c, 200);
    case_clear(&c);
  }
  g_assert_cmpfloat(goodput[1], >, goodput[0] + 0.002);
  g_assert_cmpfloat(goodput[1], >, goodput[2] + 0.002);
}

/* Failures in 30 days are Poisson with mean 60: over 2,000 seeds the mean is within
 * 3 sqrt(60 / 2000) = 0.52 of it, and the variance within 3 * 60 sqrt(2 / 2000) = 5.7. */
static void test_counts(void) {
  Case c = case_new("replica-level");
  const double shrunk = 1.1;
  g_array_append_val(c.shrunk, shrunk);
  add_process(&c, "gpu", DAY / 2, 1);
  double sum = 0, squares = 0;
  for (guint seed = 1; seed <= 2000; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    sum += (double)history->n_failures;
    squares += (double)(history->n_failures * history->n_failures);
  }
  const double mean = sum / 2000;
  g_assert_cmpfloat_with_epsilon(mean, 60, 0.52);
  g_assert_cmpfloat_with_epsilon(squares / 2000 - mean * mean, 60, 5.7);
  case_clear(&c);
}

static void test_laws(void) {
  static const char *const policies[] = {"hot-update", "replica-level", "requeue",     "reroute",
                                         "restart",    "shrink",        "warm-standby"};
  for (guint i = 0; i < G_N_ELEMENTS(policies); i++) {
    Case c = case_new(policies[i]);
    const double shrunk = 1.12;
    g_array_append_val(c.shrunk, shrunk);
    add_process(&c, "gpu", DAY / 4, 1);
    add_tier(&c, ORR_SAVED_STORAGE, 1800, 2, 30);
    c.in.spares = 3;
    const double base = mean_progress(&c, 40);
    OrrCampaignProcess *gpu = &g_array_index(c.processes, OrrCampaignProcess, 0);
    gpu->detect_s = 5;
    const double faster = mean_progress(&c, 40);
    gpu->detect_s = 60;
    add_process(&c, "software", DAY / 2, 0);
    const double more = mean_progress(&c, 40);
    c.in.spares = 20;
    const double spared = mean_progress(&c, 40);
    if (base > faster || more > base || more > spared)
      g_error("%s: %g, detected faster %g, more failures %g, then more spares %g", policies[i],
              base, faster, more, spared);
    case_clear(&c);
  }
}

/* Twice the failures never raise goodput, seed by seed in the mean, for any policy and tier. */
static void test_more_failures(void) {
  for (guint i = 0; orr_recovery_policy_registry.entries[i]; i++) {
    const char *policy = orr_recovery_policy_registry.entries[i]->name;
    if (g_str_equal(policy, "none")) continue;
    for (int tier = ORR_SAVED_HOST; tier <= ORR_SAVED_STORAGE; tier++) {
      double before = 1;
      for (double mtbf_s = 4 * DAY; mtbf_s > DAY / 10; mtbf_s /= 2) {
        Case c = case_new(policy);
        const double shrunk = 1.12;
        g_array_append_val(c.shrunk, shrunk);
        add_process(&c, "gpu", mtbf_s, 1);
        add_process(&c, "software", mtbf_s, 0);
        add_tier(&c, tier, 900, 2, 10);
        const double now = mean_progress(&c, 40);
        if (now > before)
          g_error("%s, tier %d: goodput %g with %g s between failures, %g with twice that", policy,
                  tier, now, mtbf_s, before);
        before = now;
        case_clear(&c);
      }
    }
  }
}

static void test_none(void) {
  Case c = case_new("none");
  add_process(&c, "gpu", DAY, 0);
  c.in.duration_s = 1000 * DAY;
  double sum_s = 0;
  for (guint seed = 1; seed <= 2000; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    g_assert_true(history->has_stopped);
    g_assert_cmpint(history->n_failures, ==, 1);
    sum_s +=
        history->progress_s + orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_RECOMPUTE);
  }
  g_assert_cmpfloat_with_epsilon(sum_s / 2000, DAY, 0.05 * DAY);
  case_clear(&c);
}

/* The campaign ends at its first failure. Work since the last checkpoint that outlives the job is
 * lost: of periods of 301 s, 300 of them training, a storage tier keeps whole ones, which are
 * usable 5 s after they are taken; host memory keeps nothing. */
static void test_none_keeps_checkpoints(void) {
  for (guint seed = 1; seed <= 20; seed++) {
    for (int is_stored = 0; is_stored <= 1; is_stored++) {
      Case c = case_new("none");
      add_process(&c, "gpu", DAY, 0);
      add_tier(&c, is_stored ? ORR_SAVED_STORAGE : ORR_SAVED_HOST, 300, 1, 2);
      c.in.duration_s = 1000 * DAY;
      double first_s = 0, second_s = 0;
      strikes(&c, seed, &first_s, &second_s);
      g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
      const double periods = fmax(floor((first_s - 5) / 301), 0);
      g_assert_cmpfloat_with_epsilon(history->progress_s, is_stored ? 300 * periods : 0, 1e-6);
      g_assert_true(history->has_stopped);
      case_clear(&c);
    }
  }
}

/* A straggler half of the time, which makes steps twice as long: a quarter is lost. */
static void test_slow(void) {
  Case c = case_new("restart");
  const OrrCampaignProcess slow = {
      .name = "gpu", .n = 1, .scale_s = 10 * DAY, .slow = 2, .slow_s = DAY};
  g_array_append_val(c.processes, slow);
  double slow_s = 0, wall_s = 0;
  for (guint seed = 1; seed <= 400; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    const double lost_s = orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_SLOW);
    g_assert_cmpfloat_with_epsilon(history->wall_s, history->progress_s + lost_s, 1e-3);
    slow_s += lost_s;
    wall_s += history->wall_s;
  }
  /* A day of it each 10 days takes half a day; those that overlap take less than the sum. */
  g_assert_cmpfloat_with_epsilon(slow_s / wall_s, 0.05, 0.004);
  case_clear(&c);
}

/* One GPU that is slow 10 days of each 10 is slow, not slow twice: M/G/infinity with a mean of 1,
 * so it is healthy exp(-1) of the time and loses a half of the rest: 31.6 %. 10 days of each 30
 * begin with none: (1/30) times the integral of (1 - exp(-min(t, 10) / 10)) / 2 over 30 days is
 * (10 exp(-1) + 20 (1 - exp(-1))) / 60 = 27.2 %. */
static void test_slow_at_once(void) {
  Case c = case_new("restart");
  const OrrCampaignProcess slow = {
      .name = "gpu", .n = 1, .is_of_job = TRUE, .scale_s = 10 * DAY, .slow = 2, .slow_s = 10 * DAY};
  g_array_append_val(c.processes, slow);
  double slow_s = 0, wall_s = 0;
  for (guint seed = 1; seed <= 400; seed++) {
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, seed, FALSE);
    slow_s += orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_SLOW);
    wall_s += history->wall_s;
  }
  g_assert_cmpfloat_with_epsilon(slow_s / wall_s, 0.272, 0.02);
  case_clear(&c);
}

/* Found after 1000 s: the job goes back before the corruption, so at least 1000 s are lost. */
static void test_silent(void) {
  Case c = case_new("restart");
  const OrrCampaignProcess silent = {
      .name = "gpu", .n = 1, .scale_s = DAY, .is_silent = TRUE, .detect_s = 1000};
  g_array_append_val(c.processes, silent);
  add_tier(&c, ORR_SAVED_STORAGE, 300, 1, 10);
  g_array_index(c.tiers, OrrCampaignTier, 0).keep = 100;
  g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(&c.in, 3, FALSE);
  const double lost_s = orr_campaign_sim_lost(history, ORR_N_CAUSES, ORR_PHASE_RECOMPUTE);
  const double n = (double)history->n_restarts;
  g_assert_cmpfloat(n, >, 10);
  g_assert_cmpfloat(lost_s / n, >, 990);
  g_assert_cmpfloat(lost_s / n, <, 1000 + 310);
  case_clear(&c);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/campaign/one-failure", test_one_failure);
  g_test_add_func("/campaign/nearest-tier", test_nearest_tier);
  g_test_add_func("/campaign/same-seed", test_same_seed);
  g_test_add_func("/campaign/daly", test_daly);
  g_test_add_func("/campaign/repairs", test_repairs);
  g_test_add_func("/campaign/no-failure-in-repair", test_no_failure_in_repair);
  g_test_add_func("/campaign/lemons", test_lemons);
  g_test_add_func("/campaign/lemons-kept", test_lemons_kept);
  g_test_add_func("/campaign/found-lemons", test_found_lemons);
  g_test_add_func("/campaign/lemon-spares", test_lemon_spares);
  g_test_add_func("/campaign/infants", test_infants);
  g_test_add_func("/campaign/planned-on-time", test_planned_on_time);
  g_test_add_func("/campaign/planned-after-outage", test_planned_after_outage);
  g_test_add_func("/campaign/ettr", test_ettr);
  g_test_add_func("/campaign/best-interval", test_best_interval);
  g_test_add_func("/campaign/counts", test_counts);
  g_test_add_func("/campaign/laws", test_laws);
  g_test_add_func("/campaign/more-failures", test_more_failures);
  g_test_add_func("/campaign/none-keeps-checkpoints", test_none_keeps_checkpoints);
  g_test_add_func("/campaign/none", test_none);
  g_test_add_func("/campaign/slow", test_slow);
  g_test_add_func("/campaign/slow-at-once", test_slow_at_once);
  g_test_add_func("/campaign/silent", test_silent);
  return g_test_run();
}
