/*
 * test_gang_rounds.c - shares of time on kinds of GPUs against programs solved by hand, and rounds
 * under every allotment.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

#include <string.h>

#include "tests/base/test_size.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

extern const OrrGangAllotment orr_allot_allox, orr_allot_fifo_gavel, orr_allot_finish_time_fair,
    orr_allot_finish_time_fair_blind, orr_allot_max_min_blind;

/* Two kinds of one GPU. Job a gains 2 and 1 on them, b 1 and 1. b gains at most 1, by having a GPU
 * all the time, so t = 1; then a has what is best for it, the first kind: the sum is 3. */
static void test_two_kinds(void) {
  const double gain[] = {2, 1, 1, 1}, gpus[] = {1, 1}, capacity[] = {1, 1};
  const OrrGangLp lp = {2, 2, gain, gpus, capacity};
  double x[4];
  g_assert_cmpfloat_with_epsilon(orr_gang_lp_solve(&lp, x), 1, 1e-6);
  g_assert_cmpfloat_with_epsilon(2 * x[0] + x[1], 2, 1e-6);
  g_assert_cmpfloat_with_epsilon(x[2] + x[3], 1, 1e-6);
}

/* One V100 and one K80. Job a is 4 times as fast on the first, b twice. With p of the first for a,
 * a has 4p + q, b 2 (1 - p) + (1 - q), q <= 1 - p, and b's time is 2 - p - q >= 1 - ... b is on the
 * second while a is on the first. q = 1 - p: a has 3p + 1, b 2 - p (its time is 1): equal at
 * p = 1/4, 7/4 each. */
static void test_swap(void) {
  const double gain[] = {4, 1, 2, 1}, gpus[] = {1, 1}, capacity[] = {1, 1};
  const OrrGangLp lp = {2, 2, gain, gpus, capacity};
  double x[4];
  g_assert_cmpfloat_with_epsilon(orr_gang_lp_solve(&lp, x), 7.0 / 4, 1e-6);
  g_assert_cmpfloat_with_epsilon(x[0], 0.25, 1e-6);
}

/* Three classes of 10 jobs of one GPU each on 6 GPUs: each job a fifth of the time. */
static void test_crowd(void) {
  const double gain[] = {1, 1, 1}, gpus[] = {10, 10, 10}, capacity[] = {6};
  const OrrGangLp lp = {3, 1, gain, gpus, capacity};
  double x[3];
  g_assert_cmpfloat_with_epsilon(orr_gang_lp_solve(&lp, x), 0.2, 1e-6);
}

/* --- Allotments by hand --- */

enum { MOST = 8 };

/* Jobs of @gpus, as fast on every kind. */
typedef struct {
  OrrGangJob jobs[MOST];
  OrrGangJob *of[MOST];
  double x[MOST * 3];
  OrrRandom random;
  OrrMersenne mersenne;
  OrrGangAllot ask;
} Case;

static const OrrGangKind by_name[] = {{"k80", 2, 1}, {"p100", 2, 1}, {"v100", 2, 1}};
static const double two_each[] = {2, 2, 2};

static void case_init(Case *c, const gint64 *gpus, guint n, guint64 seed) {
  *c = (Case){.ask = {.n = n, .n_kinds = 3, .capacity = two_each, .kinds = by_name}};
  for (guint i = 0; i < n; i++) {
    c->jobs[i] = (OrrGangJob){.gpus = gpus[i], .rates = {1, 1, 1}, .work_us = 100, .left_us = 100};
    c->of[i] = &c->jobs[i];
  }
  c->random = orr_random_stream(seed, "rounds");
  orr_mersenne_init(&c->mersenne, seed);
  c->ask.jobs = c->of;
  c->ask.random = &c->random;
  c->ask.mersenne = &c->mersenne;
  c->ask.x = c->x;
}

static void assert_kinds(const Case *c, const int *kinds) {
  for (guint i = 0; i < c->ask.n; i++)
    for (int k = 0; k < 3; k++) g_assert_cmpfloat(c->x[i * 3 + k], ==, k == kinds[i] ? 1 : 0);
}

/* Python's randrange(3) of seed 0 gives 1, 1, 0: jobs 0 and 1 fill the V100, and the second strikes
 * the P100 (number 1) off the list k80, p100, v100. Two kinds are left, the V100 with no room: jobs
 * 2 and 3, of one GPU, fit on the K80 and get the V100, whose room falls to -2, never to 0 again,
 * so it stays. Job 4, of three GPUs, fits nowhere and stops the rest. */
static void test_fifo_gavel(void) {
  Case c;
  case_init(&c, (const gint64[]){1, 1, 1, 1, 3, 1}, 6, 0);
  orr_allot_fifo_gavel.fill(&c.ask);
  assert_kinds(&c, (const int[]){2, 2, 2, 2, -1, -1});
}

/* The V100 has jobs 0 and 3; job 1 had it and has ended, job 2 had the K80 and has ended. Job 1's
 * hand-over sees the V100 with one GPU free, since job 3 comes later: job 4 gets it, a third on two
 * GPUs. Job 2's gives the K80 to job 5, of two GPUs. Then P100 has room, and job 6 gets it. */
static void test_hand_over(void) {
  Case c;
  const OrrGangLeft left[] = {{&c.jobs[1], 2}, {&c.jobs[2], 0}};
  case_init(&c, (const gint64[]){1, 1, 1, 1, 1, 2, 1}, 7, 0);
  OrrGangJob *live[] = {&c.jobs[0], &c.jobs[3], &c.jobs[4], &c.jobs[5], &c.jobs[6]};
  c.ask.n = 5;
  c.ask.jobs = live;
  c.ask.left = left;
  c.ask.n_left = 2;
  c.x[0 * 3 + 2] = c.x[1 * 3 + 2] = 1;
  orr_allot_fifo_gavel.fill(&c.ask);
  assert_kinds(&c, (const int[]){2, 2, 2, 0, 1});
}

/* Six GPUs: a job of one is content with its own, and three gangs of two share the other five: 5/3
 * GPUs each, 5/6 of the time, a third of it on each kind. */
static void test_blind(void) {
  Case c;
  case_init(&c, (const gint64[]){1, 2, 2, 2}, 4, 0);
  orr_allot_max_min_blind.fill(&c.ask);
  for (guint k = 0; k < 3; k++) {
    g_assert_cmpfloat_with_epsilon(c.x[k], 1.0 / 3, 1e-12);
    g_assert_cmpfloat_with_epsilon(c.x[3 + k], 5.0 / 18, 1e-12);
  }
}

/* --- Matching --- */

/* The best of all assignments of @n rows to @m columns, from row @i on. */
static double best_cost(guint n, guint m, const double *cost, guint i, guint used) {
  double best = i == n ? 0 : G_MAXDOUBLE;
  for (guint j = 0; i < n && j < m; j++)
    if (!(used & 1U << j))
      best = fmin(best, cost[i * m + j] + best_cost(n, m, cost, i + 1, used | 1U << j));
  return best;
}

/* 300 random matrices of up to 5 x 7, whole numbers with many ties, against all assignments. */
static void test_matching(void) {
  OrrRandom random = orr_random_stream(1, "matching");
  for (guint trial = 0; trial < 300; trial++) {
    const guint n = 1 + (guint)orr_random_below(&random, 5);
    const guint m = n + (guint)orr_random_below(&random, 3);
    double cost[35], sum = 0;
    guint column[5], used = 0;
    for (guint i = 0; i < n * m; i++) cost[i] = (double)orr_random_below(&random, 6);
    orr_gang_matching_solve(n, m, cost, column);
    for (guint i = 0; i < n; i++) {
      g_assert_false(used & 1U << column[i]);
      used |= 1U << column[i];
      sum += cost[i * m + column[i]];
    }
    g_assert_cmpfloat(sum, ==, best_cost(n, m, cost, 0, 0));
  }
}

/* One GPU of each kind; p100 is slow. Job a takes 10 on v100 and 12 on p100, b 10 and 100, c 4 on
 * v100 and cannot run on p100. On p100 alone: a, 12. On v100: c before b, 4 + 14. In all 30; with
 * a and c on v100 and b on p100, 4 + 14 + 100. So c starts on v100 and a on p100; b waits. */
static void test_allox(void) {
  Case c;
  static const double one_each[] = {0, 1, 1};
  case_init(&c, (const gint64[]){1, 1, 1}, 3, 0);
  const double rates[][3] = {{0, 10.0 / 12, 1}, {0, 0.1, 1}, {0, 0, 1}};
  const gint64 work[] = {10, 10, 4};
  c.ask.capacity = one_each;
  for (guint i = 0; i < 3; i++) {
    memcpy(c.jobs[i].rates, rates[i], sizeof rates[i]);
    c.jobs[i].work_us = c.jobs[i].left_us = work[i];
  }
  orr_allot_allox.fill(&c.ask);
  assert_kinds(&c, (const int[]){1, -1, 2});
}

/* Two jobs on one GPU of one kind. Alone in its half, each would have 1/2 of the time. a has waited
 * for 100 and has 100 left: 300 in its half; b is new and has 100 left: 200. With fractions x and
 * 1 - x, rho is (100 + 100 / x) / 300 and 100 / (1 - x) / 200. At x = 1/2 both are 1, so nobody can
 * be better off, and both allotments give halves. */
static void check_halves(const OrrGangAllotment *allotment) {
  static const double only[] = {0, 0, 1};
  Case c;
  case_init(&c, (const gint64[]){1, 1}, 2, 0);
  c.ask.capacity = only;
  c.ask.now_us = 100;
  c.jobs[1].submit_us = 100;
  allotment->fill(&c.ask);
  g_assert_cmpfloat_with_epsilon(c.x[2], 0.5, 1e-3);
  g_assert_cmpfloat_with_epsilon(c.x[5], 0.5, 1e-3);
}

/* Two kinds of one GPU. Fair: half of each for both. a: rates 1 and 2, b: 1 and 1; 100 left, new.
 * Fair throughputs 3/2 and 1. rho is fair / throughput: with a on the second kind all the time and
 * b on the first, a has 3/4 and b 1; b cannot have more than 1, so rho is 1, and a has what is left
 * for it: at least its 3/2. */
static void test_finish_time(void) {
  static const double two[] = {0, 1, 1};
  Case c;
  check_halves(&orr_allot_finish_time_fair);
  check_halves(&orr_allot_finish_time_fair_blind);
  case_init(&c, (const gint64[]){1, 1}, 2, 0);
  c.ask.capacity = two;
  c.jobs[0].rates[2] = 2;
  orr_allot_finish_time_fair.fill(&c.ask);
  g_assert_cmpfloat_with_epsilon(c.x[4] + c.x[5], 1, 1e-2);
  g_assert_cmpfloat_with_epsilon(c.x[1] + 2 * c.x[2], 2, 2e-2);
}

/* --- Phases --- */

/* A quarter of the work at speed 1, a half at 1.5, a quarter at 2: 1/4 + 1/3 + 1/8 = 17/24 of the
 * time. When 1/8 is left, the last phase begins, and 1/4 of the work at 2 is seen: 1/8. When a
 * little more is left, it is seen at 1.5: 1/4 over 1.5 = 1/6. */
static void test_phases(void) {
  g_autoptr(OrrGangPhases) phases = orr_gang_phases_read("0.25:1.5|0.75:2");
  g_assert_nonnull(phases);
  g_assert_cmpfloat_with_epsilon(orr_gang_phases_time(phases), 17.0 / 24, 1e-12);
  g_assert_cmpuint(orr_gang_phases_index(phases, 17.0 / 24), ==, 0);
  g_assert_cmpuint(orr_gang_phases_index(phases, 0.125), ==, 2);
  g_assert_cmpuint(orr_gang_phases_index(phases, 0.126), ==, 1);
  g_assert_cmpfloat_with_epsilon(orr_gang_phases_seen(phases, 0.125), 0.125, 1e-12);
  g_assert_cmpfloat_with_epsilon(orr_gang_phases_seen(phases, 0.125 + 1e-9), 1.0 / 6, 1e-6);
  g_assert_cmpfloat_with_epsilon(orr_gang_phases_seen(phases, 17.0 / 24), 1, 1e-12);
  const char *const wrong[] = {"0.5", "0.5:", "0:2", "1:2", "0.5:2|0.5:3", "0.5:0", "0.5:2x"};
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) g_assert_null(orr_gang_phases_read(wrong[i]));
}

static OrrGangRules rules_of(const OrrGangKind *of, guint n, OrrGangRounds rounds) {
  return (OrrGangRules){.order = (gconstpointer)orr_registry_find(&orr_gang_order_registry, "fifo"),
                        .placement =
                            (gconstpointer)orr_registry_find(&orr_gang_placement_registry, "count"),
                        .kinds = of,
                        .n_kinds = n,
                        .rounds = rounds};
}

/* Rounds of 100 from 1 on: a job of 240 that takes 17/24 of it, 170, pays a start in the first
 * round only and ends at 181. A second one comes at 50 and has no fraction until 150 have passed
 * since the computation at 1: not in the round from 101, which ends with the first job at 181. */
static void test_start(void) {
  static const OrrGangKind one = {"", 1, 2};
  g_autoptr(OrrGangPhases) phases = orr_gang_phases_read("0.25:1.5|0.75:2");
  const OrrGangRules rules = rules_of(&one, 1,
                                      (OrrGangRounds){.allotment = &orr_allot_max_min_blind,
                                                      .length_us = 100,
                                                      .reset_us = 150,
                                                      .start_us = 10});
  g_autoptr(GArray) jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  OrrGangJob job = {.id = "a", .gpus = 1, .work_us = 170, .submit_us = 1, .phases = phases};
  job.rates[0] = 1;
  g_array_append_val(jobs, job);
  job = (OrrGangJob){.id = "b", .gpus = 1, .work_us = 30, .submit_us = 50, .rates = {1}};
  g_array_append_val(jobs, job);
  OrrGangTotals totals;
  orr_gang_sim_run(&rules, jobs, &totals);
  const OrrGangJob *a = &g_array_index(jobs, OrrGangJob, 0), *b = a + 1;
  g_assert_cmpint(a->end_us, ==, 181);
  g_assert_cmpint(b->first_start_us, ==, 181);
  g_assert_cmpint(b->end_us, ==, 221);
  g_assert_cmpint(b->overhead_us, ==, 10);
}

/* --- Rounds --- */

static const OrrGangKind kinds[] = {{"fast", 2, 4}, {"slow", 3, 4}};

static GArray *random_jobs(guint64 seed, guint n) {
  OrrRandom random = orr_random_stream(seed, "jobs");
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  gint64 now_us = 0;
  for (guint i = 0; i < n; i++) {
    now_us += (gint64)orr_random_below(&random, 300);
    OrrGangJob job = {.id = "", .user = "", .queue = "", .model = "", .number = i};
    job.submit_us = now_us;
    job.work_us = 1 + (gint64)orr_random_below(&random, 3000);
    job.gpus = 1 << orr_random_below(&random, 4);
    job.rates[0] = 1;
    job.rates[1] = job.gpus == 8 || orr_random_below(&random, 5) > 0 ? 0.5 : 0;
    job.restart_us = (gint64)orr_random_below(&random, 2) * 3;
    g_array_append_val(jobs, job);
  }
  return jobs;
}

static guint64 digest(const GArray *jobs) {
  guint64 sum = 0;
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    sum = orr_random_hash3(sum, (guint64)job->first_start_us, (guint64)job->end_us);
  }
  return sum;
}

/* A job has run for between its work and its work at half the rate, and rounding; GPU time adds up;
 * never more than 20 GPUs at once; a second run is the same. */
static void check_rounds(const OrrGangAllotment *allotment, guint64 seed) {
  const OrrGangRules rules =
      rules_of(kinds, 2, (OrrGangRounds){allotment, 100, 250, (gint64)(seed % 2) * 3, seed});
  GArray *jobs = random_jobs(seed, 120);
  OrrGangTotals totals, again;
  double used = 0;
  orr_gang_sim_run(&rules, jobs, &totals);
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    used += (double)job->gpus * (double)(job->run_us + job->overhead_us);
    g_assert_cmpint(job->run_us, >=, job->work_us);
    g_assert_cmpint(job->run_us, <=, 2 * job->work_us + 100);
    g_assert_cmpint(job->first_start_us, >=, job->submit_us);
    g_assert_cmpint(job->end_us, >=, job->first_start_us + job->run_us);
  }
  g_assert_cmpfloat(totals.used, ==, used);
  g_assert_cmpfloat(totals.used, <=, 20.0 * (double)(totals.end_us - totals.begin_us));
  const guint64 first = digest(jobs);
  orr_gang_sim_run(&rules, jobs, &again);
  g_assert_cmpuint(first, ==, digest(jobs));
  g_assert_cmpmem(&totals, sizeof totals, &again, sizeof again);
  g_array_unref(jobs);
}

static void test_rounds(void) {
  for (guint i = 0; orr_gang_allotment_registry.entries[i]; i++)
    for (guint64 seed = 1; seed <= test_size(2, 1); seed++) {
      g_test_message("%s", orr_gang_allotment_registry.entries[i]->name);
      check_rounds((const OrrGangAllotment *)(gconstpointer)orr_gang_allotment_registry.entries[i],
                   seed);
    }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang_rounds/two-kinds", test_two_kinds);
  g_test_add_func("/gang_rounds/swap", test_swap);
  g_test_add_func("/gang_rounds/crowd", test_crowd);
  g_test_add_func("/gang_rounds/fifo-gavel", test_fifo_gavel);
  g_test_add_func("/gang_rounds/hand-over", test_hand_over);
  g_test_add_func("/gang_rounds/blind", test_blind);
  g_test_add_func("/gang_rounds/matching", test_matching);
  g_test_add_func("/gang_rounds/allox", test_allox);
  g_test_add_func("/gang_rounds/finish-time", test_finish_time);
  g_test_add_func("/gang_rounds/phases", test_phases);
  g_test_add_func("/gang_rounds/start", test_start);
  g_test_add_func("/gang_rounds/rounds", test_rounds);
  return g_test_run();
}
