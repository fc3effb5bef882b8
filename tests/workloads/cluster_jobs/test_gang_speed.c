/*
 * test_gang_speed.c - speeds by place, contention, and the history of a cluster of jobs, against
 * closed forms; and what holds for random traces with failures, too.
 */
#include <string.h>

#include "tests/workloads/cluster_jobs/gang_fixture.h"

/* --- Speeds --- */

/* A gang in several leaves spends half of its time on links between switches, and uses 0.6 of them;
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
  g_test_add_func("/gang_speed/attained", test_attained);
  g_test_add_func("/gang_speed/nearest", test_nearest);
  g_test_add_func("/gang_speed/conservative", test_conservative);
  g_test_add_func("/gang_speed/random", test_random);
  return g_test_run();
}
