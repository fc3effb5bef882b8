/*
 * test_gang_speed.c - speeds by place, contention, failures and the history of a cluster of jobs,
 * against closed forms; and what holds for random traces with all of them.
 */
#include <math.h>
#include <string.h>

#include "workloads/cluster_jobs/gang_sim.h"

enum { N_NODES = 8, N_GPUS = 4 };

static OrrGangJob *job_at(const GArray *jobs, guint i) {
  return &g_array_index(jobs, OrrGangJob, i);
}

static void jobs_free(GArray *jobs) {
  for (guint i = 0; i < jobs->len; i++) g_clear_pointer(&job_at(jobs, i)->shares, g_array_unref);
  g_array_unref(jobs);
}

static OrrGangJob job_of(gint64 number, double submit_s, double work_s, gint64 gpus) {
  return (OrrGangJob){.id = "",
                      .user = "",
                      .queue = "",
                      .model = "",
                      .number = number,
                      .submit_us = llround(submit_s * ORR_GANG_US_PER_S),
                      .work_us = llround(work_s * ORR_GANG_US_PER_S),
                      .restart_us = -1,
                      .checkpoint_us = -1,
                      .gpus = gpus};
}

static const void *find(const OrrRegistry *registry, const char *name) {
  return orr_registry_find(registry, name);
}

static OrrGangRules rules_of(const char *placement, guint n_nodes) {
  return (OrrGangRules){.order = find(&orr_gang_order_registry, "fifo"),
                        .placement = find(&orr_gang_placement_registry, placement),
                        .blocked = ORR_BLOCKED_SKIP,
                        .n_nodes = n_nodes,
                        .gpus_per_node = N_GPUS};
}

/* --- Speeds --- */

/* A gang in several leaves spends half of its time on links between switches, 0.6 of which it uses;
 * one in one leaf is not slowed. */
static gboolean test_pace(const void *params, const OrrWorld *world, const OrrGangClass *place,
                          OrrGangPace *ret_pace, GError **error) {
  const gboolean crosses = place->leaves > 1;
  (void)params;
  (void)world;
  (void)error;
  *ret_pace = (OrrGangPace){.slow = {1, crosses ? 1.5 : 1, crosses ? 2.5 : 1},
                            .uplink = crosses ? 0.6 : 0,
                            .watts = 100.0 * (double)place->gpus};
  return TRUE;
}
static const OrrGangSpeedKind test_speed = {.entry = {"test", "", NULL}, .pace = test_pace};

/* Two gangs of four nodes, two in each leaf (leaves of four: nodes 0-3, 4-7).
 * The first alone works at speed 1 until 50 s. Then both leave each other at least half of the
 * links: 1.5 s for a second of work. The first has 50 s left and ends at 125 s; by then the second
 * has done 50 of its 100 s, and ends at 175 s. */
static void test_contention(void) {
  g_autoptr(OrrGangMap) map = orr_gang_map_regular(N_NODES, 4, N_NODES);
  OrrGangSpeed *speed = orr_gang_speed_new(&test_speed, NULL, NULL, map);
  OrrGangRules rules = rules_of("first-fit", N_NODES);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  const OrrGangJob all[] = {job_of(1, 0, 20, 8), job_of(2, 0, 100, 16), job_of(3, 50, 100, 16)};
  OrrGangTotals totals;
  rules.map = map;
  rules.speed = speed;
  g_array_append_vals(jobs, all, 3);
  orr_gang_sim_run(&rules, jobs, &totals);
  /* on nodes 0-1, 2-5, and then 0-1 and 6-7 */
  g_assert_cmpint(job_at(jobs, 0)->end_us, ==, 20000000);
  g_assert_cmpint(job_at(jobs, 1)->end_us, ==, 125000000);
  g_assert_cmpint(job_at(jobs, 2)->end_us, ==, 175000000);
  g_assert_cmpint(job_at(jobs, 1)->slowed_us, ==, 25000000);
  g_assert_cmpint(job_at(jobs, 2)->slowed_us, ==, 25000000);
  /* static_w is 0 here: a step of any length has the energy of 100 s at 1,600 W */
  g_assert_cmpfloat_with_epsilon(job_at(jobs, 1)->energy_j, 160000, 1e-6);
  g_assert_cmpuint(speed->in_order->len, ==, 2); /* 8 GPUs in a leaf, 16 in two */
  jobs_free(jobs);
  orr_gang_speed_free(speed);
}

static void test_between(void) {
  const OrrGangPace pace = {.slow = {1, 1.5, 2.5}};
  g_assert_cmpfloat(orr_gang_speed_slow(&pace, 1), ==, 1);
  g_assert_cmpfloat(orr_gang_speed_slow(&pace, 0.5), ==, 1.5);
  g_assert_cmpfloat(orr_gang_speed_slow(&pace, 0.25), ==, 2.5);
  g_assert_cmpfloat_with_epsilon(orr_gang_speed_slow(&pace, 1 / 1.5), 1.25, 1e-12);
  g_assert_cmpfloat_with_epsilon(orr_gang_speed_slow(&pace, 0.2), 3, 1e-12);
}

/* Every place makes a second of work take 2.5 s. */
static gboolean slow_pace(const void *params, const OrrWorld *world, const OrrGangClass *place,
                          OrrGangPace *ret_pace, GError **error) {
  (void)params;
  (void)world;
  (void)place;
  (void)error;
  *ret_pace = (OrrGangPace){.slow = {2.5, 2.5, 2.5}, .watts = NAN};
  return TRUE;
}
static const OrrGangSpeedKind slow_speed = {.entry = {"slow", "", NULL}, .pace = slow_pace};

/* One node of 4 GPUs, and a threshold of 80 GPU-seconds, which a job has received after 20 s there.
 * The first job does 8 of its 100 s of work until 20 s, then falls. The second, submitted at 5 s,
 * does 8 of its 10 s until 40 s and falls behind the first, which needs 92 x 2.5 s more; its last
 * 2 s of work take from 270 to 275 s. */
static void test_attained(void) {
  g_autoptr(OrrGangMap) map = orr_gang_map_regular(1, 1, 1);
  OrrGangSpeed *speed = orr_gang_speed_new(&slow_speed, NULL, NULL, map);
  OrrGangRules rules = rules_of("first-fit", 1);
  g_autoptr(GArray) thresholds = g_array_new(FALSE, FALSE, sizeof(double));
  const double threshold = 80;
  g_array_append_val(thresholds, threshold);
  rules.order = find(&orr_gang_order_registry, "las");
  rules.order_params = &thresholds; /* its only parameter */
  rules.map = map;
  rules.speed = speed;
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  const OrrGangJob all[] = {job_of(1, 0, 100, 4), job_of(2, 5, 10, 4)};
  OrrGangTotals totals;
  g_array_append_vals(jobs, all, 2);
  orr_gang_sim_run(&rules, jobs, &totals);
  g_assert_cmpint(job_at(jobs, 0)->end_us, ==, 270000000);
  g_assert_cmpint(job_at(jobs, 1)->first_start_us, ==, 20000000);
  g_assert_cmpint(job_at(jobs, 1)->end_us, ==, 275000000);
  jobs_free(jobs);
  orr_gang_speed_free(speed);
}

/* Work per time of half a gang: 0.8 of the whole one's. */
static gboolean slow_resized(const void *params, const OrrWorld *world, const OrrGangClass *place,
                             double *ret_speed, GError **error) {
  (void)params;
  (void)world;
  (void)error;
  *ret_speed = place->gpus * 2 == place->asked ? 0.8 : 0.1;
  return TRUE;
}
static const OrrGangSpeedKind sized_speed = {
    .entry = {"sized", "", NULL}, .pace = slow_pace, .resized = slow_resized};

/* Two elastic gangs of 1 to 4 GPUs on 4, where a second of work takes 2.5 s. The first does 40 of
 * its 100 s alone until 100 s. Then both have 2 GPUs and work at half / 2.5 = 0.2 of the speed, or,
 * as the kind of speed knows it, 0.8 / 2.5 = 0.32: the second ends 10 / 0.2 = 50 s later (31.25 s),
 * and the first has 50 s left at 1 / 2.5. */
static void run_elastic(const OrrGangSpeedKind *kind, gint64 second_us) {
  g_autoptr(OrrGangMap) map = orr_gang_map_regular(1, 1, 1);
  OrrGangSpeed *speed = orr_gang_speed_new(kind, NULL, NULL, map);
  OrrGangRules rules = rules_of("first-fit", 1);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  OrrGangJob all[] = {job_of(1, 0, 100, 4), job_of(2, 100, 10, 4)};
  OrrGangTotals totals;
  all[0].min_gpus = all[1].min_gpus = 1;
  rules.elastic = ORR_ELASTIC_EQUAL;
  rules.map = map;
  rules.speed = speed;
  g_array_append_vals(jobs, all, 2);
  orr_gang_sim_run(&rules, jobs, &totals);
  g_assert_cmpint(job_at(jobs, 1)->end_us, ==, 100000000 + second_us);
  g_assert_cmpint(job_at(jobs, 0)->end_us, ==, 100000000 + second_us + 125000000);
  /* both had all GPUs for 1.5 of 2.5 s in vain */
  g_assert_cmpfloat_with_epsilon(totals.slowed / totals.used, 0.6, 1e-9);
  jobs_free(jobs);
  orr_gang_speed_free(speed);
}

static void test_elastic(void) {
  run_elastic(&slow_speed, 50000000);
  run_elastic(&sized_speed, 31250000);
}

/* Leaves of four nodes; two nodes of leaf 0 and one of leaf 1 are taken. A gang of two nodes goes
 * to leaf 0, which it fills; one of three to leaf 1; one of four takes leaf 1 and one more. */
static void test_nearest(void) {
  g_autoptr(OrrGangMap) map = orr_gang_map_regular(N_NODES, 4, N_NODES);
  const OrrGangPlacement *nearest = find(&orr_gang_placement_registry, "nearest");
  g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  OrrGangBins bins;
  orr_gang_bins_init(&bins, N_NODES, N_GPUS);
  bins.map = map;
  bins.free[0] = bins.free[1] = bins.free[4] = 0;
  bins.n_free -= 3 * N_GPUS;
  const struct {
    gint64 gpus;
    guint first, n_leaves;
  } cases[] = {{8, 2, 1}, {12, 5, 1}, {16, 5, 2}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const OrrGangJob job = {.gpus = cases[i].gpus};
    g_assert_true(nearest->place(&bins, &job, NULL, shares));
    g_assert_cmpuint(g_array_index(shares, OrrGangShare, 0).bin, ==, cases[i].first);
    g_assert_cmpuint(orr_gang_map_n_parts(map, shares, ORR_GANG_LEAF), ==, cases[i].n_leaves);
  }
  const OrrGangJob larger = {.gpus = 24};
  g_assert_false(nearest->place(&bins, &larger, NULL, shares));
  orr_gang_bins_clear(&bins);
}

/* --- Failures --- */

static OrrFailures *set_new(OrrFailureProcess process, OrrFailureLemons lemons) {
  OrrFailures *set = g_new0(OrrFailures, 1);
  process.component = (char *)"part";
  set->processes = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(set->processes, g_memdup2(&process, sizeof process));
  set->lemons = lemons;
  return set;
}

static void set_free(OrrFailures *set) {
  g_ptr_array_unref(set->processes);
  g_free(set);
}

typedef struct {
  double tau, cost, restart, detection; /* seconds */
} Saving;

/* One job on all nodes with n intervals of work, under failures at @rate per second that leave the
 * nodes in service: its time in seconds. */
static double time_under_failures(const Saving *saving, double rate, double n) {
  OrrFailures *set = set_new((OrrFailureProcess){.rate_per_hour = rate * 3600 / N_NODES,
                                                 .scope = ORR_FAILURE_SCOPE_NODE,
                                                 .transient = TRUE},
                             (OrrFailureLemons){0});
  const OrrGangFailureRules failing = {
      .set = set, .repair_s = 1, .seed = 1, .detection_us = llround(saving->detection * 1e6)};
  OrrGangFailures *failures = orr_gang_failures_new(&failing, N_NODES, N_GPUS);
  OrrGangRules rules = rules_of("first-fit", N_NODES);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  OrrGangJob job = job_of(1, 0, n * saving->tau, N_NODES * N_GPUS);
  OrrGangTotals totals;
  job.checkpoint_cost_us = job.detection_us = -1;
  rules.failures = failures;
  rules.checkpoint_us = llround(saving->tau * 1e6);
  rules.checkpoint_cost_us = llround(saving->cost * 1e6);
  rules.restart_us = llround(saving->restart * 1e6);
  g_array_append_val(jobs, job);
  orr_gang_sim_run(&rules, jobs, &totals);
  g_assert_cmpint(job_at(jobs, 0)->run_us, ==, job.work_us);
  g_assert_cmpint(job_at(jobs, 0)->saved_us, ==, ((gint64)n - 1) * rules.checkpoint_cost_us);
  jobs_free(jobs);
  orr_gang_failures_free(failures);
  set_free(set);
  return (double)totals.end_us / ORR_GANG_US_PER_S;
}

/* Daly 2006, equation 13, for checkpoints every tau that take d, and restarts of R in all:
 *
 *   E[T] = work / tau x e^(L R) (e^(L (tau + d)) - 1) / L
 *
 * 100,000 intervals, so that one standard deviation is 0.3 %. The last interval has no checkpoint,
 * which is 1 / 100,000 of the cost. */
static void test_daly(void) {
  static const Saving cases[] = {
      {1000, 0, 250, 0}, {1000, 100, 250, 0}, {1000, 100, 150, 100}, {400, 50, 0, 30}};
  const double rate = 0.4 / 1000, n = 100000;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const Saving *s = &cases[i];
    const double found_s = time_under_failures(s, rate, n);
    const double expected_s =
        n * exp(rate * (s->restart + s->detection)) * (exp(rate * (s->tau + s->cost)) - 1) / rate;
    g_test_message("ETTR %.4f, closed form %.4f", n * s->tau / found_s, n * s->tau / expected_s);
    g_assert_cmpfloat_with_epsilon(found_s / expected_s, 1, 0.01);
  }
}

/* Young 1974: with checkpoints that take 10 s and a failure every 2,000 s the best interval is near
 * sqrt(2 x 10 x 2000) = 200 s: a third and three times of it take longer. */
static void test_young_interval(void) {
  const Saving best = {200, 10, 30, 0}, often = {67, 10, 30, 0}, seldom = {600, 10, 30, 0};
  const double work_s = 6e6;
  const double best_s = time_under_failures(&best, 1.0 / 2000, work_s / 200);
  g_assert_cmpfloat(best_s, <, 0.98 * time_under_failures(&often, 1.0 / 2000, floor(work_s / 67)));
  g_assert_cmpfloat(best_s, <, 0.98 * time_under_failures(&seldom, 1.0 / 2000, work_s / 600));
}

/* When nodes are struck first and next; a set that is drawn again with its seed gives the same. */
typedef struct {
  OrrFailures *set;
  OrrGangFailureRules rules;
  OrrGangFailures *failures;
  gint64 first_us, next_us; /* strikes */
} Struck;

static void struck_init(Struck *struck, OrrGangOnFailure on_failure, guint n_nodes) {
  struck->set = set_new((OrrFailureProcess){.rate_per_hour = 0.01,
                                            .scope = ORR_FAILURE_SCOPE_NODE,
                                            .repair_s = 3.6e6,
                                            .repair = ORR_FAILURE_REPAIR_FIXED},
                        (OrrFailureLemons){0});
  struck->rules =
      (OrrGangFailureRules){.set = struck->set, .repair_s = 1, .on_failure = on_failure, .seed = 1};
  struck->failures = orr_gang_failures_new(&struck->rules, n_nodes, N_GPUS);
  OrrGangFailures *twin = orr_gang_failures_new(&struck->rules, n_nodes, N_GPUS);
  OrrGangStrike strike;
  struck->first_us = orr_gang_failures_next_us(twin);
  g_assert_true(orr_gang_failures_strike(twin, struck->first_us, &strike));
  struck->next_us = orr_gang_failures_next_us(twin);
  orr_gang_failures_free(twin);
}

static void struck_clear(Struck *struck) {
  orr_gang_failures_free(struck->failures);
  set_free(struck->set);
}

/* A gang of two nodes, with a checkpoint every 300 s of work, loses one of them t seconds after it
 * started. It goes on with the other at half its speed, once it has taken 100 s to restart:
 *
 *   end = t + 100 + 2 (work - 300 floor(t / 300)) */
static void test_shrink(void) {
  Struck struck;
  struck_init(&struck, ORR_GANG_FAIL_SHRINK, 2);
  OrrGangRules rules = rules_of("first-fit", 2);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  OrrGangJob job = job_of(1, 0, 0, 2 * N_GPUS);
  OrrGangTotals totals;
  job.work_us = struck.first_us + 600000000;
  job.min_gpus = N_GPUS;
  rules.failures = struck.failures;
  rules.checkpoint_us = 300000000;
  rules.restart_us = 100000000;
  g_array_append_val(jobs, job);
  orr_gang_sim_run(&rules, jobs, &totals);
  const gint64 left_us = job.work_us - struck.first_us / 300000000 * 300000000;
  const gint64 end_us = struck.first_us + 100000000 + 2 * left_us;
  g_assert_cmpint(end_us, <, struck.next_us); /* no other strike */
  g_assert_cmpint(job_at(jobs, 0)->end_us, ==, end_us);
  g_assert_cmpint(job_at(jobs, 0)->gpus, ==, N_GPUS);
  jobs_free(jobs);
  struck_clear(&struck);
}

/* Two nodes; a gang of both is suspended, until a strike, for one of higher priority that runs on.
 * The suspended gang loses what it worked since its last checkpoint, though it does not run: it
 * ends one repair after the strike, plus what it then has left. */
static void test_suspended(void) {
  Struck struck;
  struck_init(&struck, ORR_GANG_FAIL_REQUEUE, 2);
  OrrGangRules rules = rules_of("first-fit", 2);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  OrrGangJob all[] = {job_of(1, 0, 1000, 2 * N_GPUS), job_of(2, 450, 0, N_GPUS)};
  OrrGangTotals totals;
  all[1].work_us = struck.first_us; /* it would end 450 s after the strike */
  all[1].priority = 1;
  rules.order = find(&orr_gang_order_registry, "priority");
  rules.take = ORR_TAKE_LOWER_PRIORITY;
  rules.mode = ORR_PREEMPT_SUSPEND;
  rules.failures = struck.failures;
  rules.checkpoint_us = 300000000;
  g_array_append_vals(jobs, all, 2);
  orr_gang_sim_run(&rules, jobs, &totals);
  const OrrGangJob *suspended = job_at(jobs, 0);
  g_assert_cmpuint(suspended->preemptions, ==, 1);
  g_assert_cmpuint(suspended->failures, >=, 1);
  g_assert_cmpint(suspended->failed_us, >=, 150000000); /* 300 of 450 s are kept */
  g_assert_cmpint(suspended->run_us, ==, 1000000000);
  g_assert_cmpint(suspended->held_us, ==, suspended->run_us + suspended->overhead_us);
  jobs_free(jobs);
  struck_clear(&struck);
}

/* GPUs fail; one node has eight of them and one has four: two of three strikes are the first's. */
static void test_sizes(void) {
  static const gint64 sizes[] = {8, 4};
  OrrFailures *set = set_new(
      (OrrFailureProcess){.rate_per_hour = 0.01, .scope = ORR_FAILURE_SCOPE_GPU, .repair_s = 60},
      (OrrFailureLemons){0});
  const OrrGangFailureRules failing = {.set = set, .repair_s = 1, .seed = 1, .sizes = sizes};
  OrrGangFailures *failures = orr_gang_failures_new(&failing, 2, 8);
  guint n[2] = {0};
  OrrGangStrike strike = {0};
  for (guint i = 0; i < 10000; i++) {
    g_assert_true(orr_gang_failures_strike(failures, G_MAXINT64 / 4, &strike));
    if (orr_gang_failures_counts(failures, &strike, G_MAXINT64)) n[strike.first]++;
  }
  g_assert_cmpfloat_with_epsilon((double)n[0] / (n[0] + n[1]), 2.0 / 3, 0.02); /* 3 s.d. */
  orr_gang_failures_free(failures);
  set_free(set);
}

/* Aegis: 73 % of failing attempts fail in their first ten minutes, at 7.856 per hour. */
static void test_young(void) {
  OrrFailures *set = set_new((OrrFailureProcess){.rate_per_hour = 7.856e-6,
                                                 .infant = 1e6,
                                                 .infant_s = 600,
                                                 .scope = ORR_FAILURE_SCOPE_JOB},
                             (OrrFailureLemons){0});
  const OrrGangFailureRules failing = {.set = set, .repair_s = 1, .seed = 1};
  OrrGangFailures *failures = orr_gang_failures_new(&failing, N_NODES, N_GPUS);
  enum { N = 20000 };
  guint n_early = 0;
  for (guint i = 0; i < N; i++) {
    const OrrGangJob job = job_of(i, 0, 1, 1);
    n_early += orr_gang_failures_of_job_us(failures, &job, 0) <= 600 * 1000000LL;
  }
  g_assert_cmpfloat_with_epsilon((double)n_early / N, 0.73, 0.01); /* 3 s.d. */
  orr_gang_failures_free(failures);
  set_free(set);
}

/* One node of eight is a lemon, nine times as bad: 9 of 16 strikes are its. */
static void test_lemons(void) {
  OrrFailures *set = set_new(
      (OrrFailureProcess){.rate_per_hour = 0.01, .scope = ORR_FAILURE_SCOPE_NODE, .repair_s = 60},
      (OrrFailureLemons){.fraction = 0.125, .multiple = 9});
  const OrrGangFailureRules failing = {.set = set, .repair_s = 1, .seed = 1};
  OrrGangFailures *failures = orr_gang_failures_new(&failing, N_NODES, N_GPUS);
  enum { N = 10000 };
  guint n_lemon = 0;
  OrrGangStrike strike = {0};
  for (guint i = 0; i < N; i++) {
    g_assert_true(orr_gang_failures_strike(failures, G_MAXINT64 / 4, &strike));
    n_lemon += strike.first == 0;
  }
  g_assert_cmpfloat_with_epsilon((double)n_lemon / N, 9.0 / 16, 0.015); /* 3 s.d. */
  orr_gang_failures_free(failures);
  set_free(set);
}

/* A rack of four nodes fails at once, and returns at once after its repair. */
static void test_blast(void) {
  OrrFailures *set = set_new((OrrFailureProcess){.rate_per_hour = 1,
                                                 .scope = ORR_FAILURE_SCOPE_RACK,
                                                 .nodes = 4,
                                                 .repair_s = 1e6,
                                                 .repair = ORR_FAILURE_REPAIR_FIXED},
                             (OrrFailureLemons){0});
  const OrrGangFailureRules failing = {.set = set, .repair_s = 1, .seed = 1};
  OrrGangFailures *failures = orr_gang_failures_new(&failing, N_NODES, N_GPUS);
  g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autoptr(GArray) back = g_array_new(FALSE, FALSE, sizeof(guint));
  OrrGangStrike strike = {0};
  const gint64 now_us = orr_gang_failures_next_us(failures);
  g_assert_true(orr_gang_failures_strike(failures, now_us, &strike));
  g_assert_cmpuint(strike.n, ==, 4);
  g_assert_cmpuint(strike.first % 4, ==, 0);
  orr_gang_failures_take(failures, &strike, out);
  g_assert_cmpuint(out->len, ==, 4);
  g_assert_true(orr_gang_failures_is_out(failures, strike.first + 3));
  orr_gang_failures_return(failures, strike.back_us - 1, back);
  g_assert_cmpuint(back->len, ==, 0);
  orr_gang_failures_return(failures, strike.back_us, back);
  g_assert_cmpuint(back->len, ==, 4);
  orr_gang_failures_free(failures);
  set_free(set);
}

/* --- Random traces with all of it --- */

static GArray *random_jobs(guint64 seed, guint n) {
  OrrRandom random = orr_random_stream(seed, "jobs");
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  double now_s = 0;
  for (guint i = 0; i < n; i++) {
    now_s += (double)orr_random_below(&random, 40);
    const gboolean is_large = orr_random_below(&random, 4) == 0;
    OrrGangJob job = job_of(i, now_s, (double)orr_random_below(&random, 200), 1);
    job.gpus += (gint64)orr_random_below(&random, is_large ? N_NODES * N_GPUS : N_GPUS);
    g_array_append_val(jobs, job);
  }
  return jobs;
}

static gboolean even_pace(const void *params, const OrrWorld *world, const OrrGangClass *place,
                          OrrGangPace *ret_pace, GError **error) {
  (void)params;
  (void)world;
  (void)place;
  (void)error;
  *ret_pace = (OrrGangPace){.slow = {1, 1, 1}, .watts = NAN};
  return TRUE;
}
static const OrrGangSpeedKind even_speed = {.entry = {"even", "", NULL}, .pace = even_pace};

/* Where every place is as fast as the trace's, a plan made anew at every pass promises and starts
 * what the plan does that is kept from pass to pass. */
static void test_conservative(void) {
  for (guint64 seed = 1; seed <= 10; seed++) {
    g_autoptr(OrrGangMap) map = orr_gang_map_regular(N_NODES, 4, N_NODES);
    OrrGangSpeed *speed = orr_gang_speed_new(&even_speed, NULL, NULL, map);
    OrrGangRules rules = rules_of("first-fit", N_NODES);
    GArray *kept = random_jobs(seed, 200), *anew = random_jobs(seed, 200);
    OrrGangTotals totals;
    rules.blocked = ORR_BLOCKED_WAIT;
    rules.backfill = ORR_BACKFILL_CONSERVATIVE;
    orr_gang_sim_run(&rules, kept, &totals);
    rules.map = map;
    rules.speed = speed;
    orr_gang_sim_run(&rules, anew, &totals);
    for (guint i = 0; i < kept->len; i++) {
      g_assert_cmpint(job_at(kept, i)->first_start_us, ==, job_at(anew, i)->first_start_us);
      g_assert_cmpint(job_at(kept, i)->promised_us, ==, job_at(anew, i)->promised_us);
      g_assert_cmpint(job_at(anew, i)->first_start_us, <=, job_at(anew, i)->promised_us);
    }
    jobs_free(kept);
    jobs_free(anew);
    orr_gang_speed_free(speed);
  }
}

typedef struct {
  OrrGangTotals totals;
  guint64 digest;
} Result;

/* GPU time is conserved: held, free and in repair are all of it, and so are the moments. */
static void check_whole(const OrrGangRules *rules, const OrrGangTotals *t) {
  const OrrGangHistory *history = rules->history;
  const double all = (double)N_NODES * N_GPUS * (double)(t->end_us - t->begin_us);
  double held = 0, free = 0, out = 0;
  for (guint i = 0; i < ORR_GANG_N_MOMENTS; i++) {
    held += history->moments[i].held;
    free += history->moments[i].free;
    out += history->moments[i].out;
  }
  g_assert_cmpfloat_with_epsilon((t->used + t->free + t->out) / all, 1, 1e-12);
  g_assert_cmpfloat_with_epsilon(held / t->used, 1, 1e-12);
  g_assert_cmpfloat_with_epsilon((free + out) / (t->free + t->out), 1, 1e-12);
}

static guint64 check_jobs(const GArray *jobs, const OrrGangTotals *t) {
  double used = 0;
  guint64 digest = 0;
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = job_at(jobs, i);
    g_assert_cmpint(job->first_start_us, >=, job->submit_us);
    g_assert_cmpint(job->end_us - job->first_start_us, >=, job->held_us);
    g_assert_cmpint(job->slowed_us, >=, -1000); /* no place is faster: but for rounding */
    g_assert_cmpint(job->failed_us, <=, job->overhead_us);
    used += (double)job->gpus * (double)job->held_us;
    digest = orr_random_hash3(digest, (guint64)job->first_start_us, (guint64)job->end_us);
  }
  g_assert_cmpfloat_with_epsilon(used / t->used, 1, 1e-12);
  return digest;
}

static Result run_all(const char *order, OrrBackfill backfill, OrrGangOnFailure on_failure,
                      guint64 seed) {
  g_autoptr(OrrGangMap) map = orr_gang_map_regular(N_NODES, 2, 4);
  OrrFailures *set = set_new(
      (OrrFailureProcess){
          .rate_per_hour = 0.5, .scope = ORR_FAILURE_SCOPE_RACK, .nodes = 2, .repair_s = 300},
      (OrrFailureLemons){0});
  const OrrGangFailureRules failing = {
      .set = set, .repair_s = 1, .on_failure = on_failure, .seed = seed};
  OrrGangRules rules = rules_of("nearest", N_NODES);
  GArray *jobs = random_jobs(seed, 200);
  Result result;
  rules.order = find(&orr_gang_order_registry, order);
  rules.backfill = backfill;
  if (backfill != ORR_BACKFILL_NONE) rules.blocked = ORR_BLOCKED_WAIT;
  rules.map = map;
  rules.speed = orr_gang_speed_new(&test_speed, NULL, NULL, map);
  rules.failures = orr_gang_failures_new(&failing, N_NODES, N_GPUS);
  rules.history = orr_gang_history_new();
  rules.restart_us = 5000000;
  rules.checkpoint_us = 30000000;
  orr_gang_sim_run(&rules, jobs, &result.totals);
  check_whole(&rules, &result.totals);
  result.digest = check_jobs(jobs, &result.totals);
  orr_gang_history_free(rules.history);
  orr_gang_failures_free(rules.failures);
  orr_gang_speed_free(rules.speed);
  set_free(set);
  jobs_free(jobs);
  return result;
}

static void test_random(void) {
  static const char *const orders[] = {"fifo", "sjf", "srtf"};
  guint64 failures = 0;
  for (guint o = 0; o < G_N_ELEMENTS(orders); o++)
    for (int backfill = 0; backfill <= (o < 2 ? ORR_BACKFILL_CONSERVATIVE : 0); backfill++)
      for (int on_failure = 0; on_failure <= ORR_GANG_FAIL_SHRINK; on_failure++)
        for (guint64 seed = 1; seed <= 3; seed++) {
          const Result one =
              run_all(orders[o], (OrrBackfill)backfill, (OrrGangOnFailure)on_failure, seed);
          const Result again =
              run_all(orders[o], (OrrBackfill)backfill, (OrrGangOnFailure)on_failure, seed);
          g_assert_cmpmem(&one.totals, sizeof one.totals, &again.totals, sizeof again.totals);
          g_assert_cmpuint(one.digest, ==, again.digest);
          failures += one.totals.failures;
        }
  g_assert_cmpuint(failures, >, 100);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang_speed/contention", test_contention);
  g_test_add_func("/gang_speed/between", test_between);
  g_test_add_func("/gang_speed/elastic", test_elastic);
  g_test_add_func("/gang_speed/shrink", test_shrink);
  g_test_add_func("/gang_speed/suspended", test_suspended);
  g_test_add_func("/gang_speed/sizes", test_sizes);
  g_test_add_func("/gang_speed/attained", test_attained);
  g_test_add_func("/gang_speed/nearest", test_nearest);
  g_test_add_func("/gang_speed/daly", test_daly);
  g_test_add_func("/gang_speed/young-interval", test_young_interval);
  g_test_add_func("/gang_speed/young", test_young);
  g_test_add_func("/gang_speed/lemons", test_lemons);
  g_test_add_func("/gang_speed/blast", test_blast);
  g_test_add_func("/gang_speed/conservative", test_conservative);
  g_test_add_func("/gang_speed/random", test_random);
  return g_test_run();
}
