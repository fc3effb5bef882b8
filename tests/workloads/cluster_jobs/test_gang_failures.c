/*
 * test_gang_failures.c - failures of a cluster of jobs, and checkpoints against them, with closed
 * forms.
 */
#include "tests/workloads/cluster_jobs/gang_fixture.h"

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

/* A node fails 100 h after it is in service, in the mean, and is then 300 h in repair: 8 nodes fail
 * 8 T / 400 h times in T. In 200,000 h that is 4,000 times; with a quarter of a cycle as its
 * standard deviation that is known to 0.4 %. */
static void test_no_strike_in_repair(void) {
  OrrFailures *set = set_new((OrrFailureProcess){.rate_per_hour = 0.01,
                                                 .scope = ORR_FAILURE_SCOPE_NODE,
                                                 .repair_s = 300 * 3600,
                                                 .repair = ORR_FAILURE_REPAIR_FIXED},
                             (OrrFailureLemons){0});
  const OrrGangFailureRules rules = {.set = set, .repair_s = 1, .seed = 1};
  OrrGangFailures *failures = orr_gang_failures_new(&rules, N_NODES, N_GPUS);
  g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(guint));
  const gint64 end_us = 200000 * (gint64)3600 * ORR_GANG_US_PER_S;
  double n = 0;
  for (gint64 now_us = 0; now_us < end_us; now_us = orr_gang_failures_next_us(failures)) {
    OrrGangStrike strike;
    orr_gang_failures_return(failures, now_us, nodes);
    if (!orr_gang_failures_strike(failures, now_us, &strike) ||
        !orr_gang_failures_counts(failures, &strike, G_MAXINT64))
      continue;
    orr_gang_failures_take(failures, &strike, nodes);
    n++;
  }
  g_test_message("%g strikes", n);
  g_assert_cmpfloat_with_epsilon(n / 4000, 1, 0.02);
  orr_gang_failures_free(failures);
  set_free(set);
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

/* The node that is struck first, drawn with @seed. */
static guint first_struck(Struck *struck, guint64 seed, guint n_nodes) {
  OrrGangStrike strike;
  struck->rules.seed = seed;
  orr_gang_failures_free(struck->failures);
  struck->failures = orr_gang_failures_new(&struck->rules, n_nodes, N_GPUS);
  OrrGangFailures *twin = orr_gang_failures_new(&struck->rules, n_nodes, N_GPUS);
  struck->first_us = orr_gang_failures_next_us(twin);
  g_assert_true(orr_gang_failures_strike(twin, struck->first_us, &strike));
  struck->next_us = orr_gang_failures_next_us(twin);
  orr_gang_failures_free(twin);
  return strike.first;
}

/* Four nodes of four GPUs; first-fit packs gangs A and B of six GPUs and C of two:
 *
 *          n0    n1      n2    n3
 *          AAAA  AA BB   BBBB  CC--
 *
 * A strike on n1 stops A and B. A goes on at once: n2, whose GPUs B has just given back, takes the
 * place of n1. B finds n3 for its part of n1, but n2 no longer has its four GPUs: it waits until A
 * ends. Without a checkpoint interval no work is lost: A, with 100 s left, ends 100 s after the
 * strike, and B, with 200 s left, 200 s after that. */
static void test_replace_node_taken(void) {
  Struck struck;
  struck_init(&struck, ORR_GANG_FAIL_REPLACE, 4);
  for (guint64 seed = 1;
       first_struck(&struck, seed, 4) != 1 || struck.next_us < 4 * struck.first_us; seed++) {
  }
  OrrGangRules rules = rules_of("first-fit", 4);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  const double at_s = (double)struck.first_us / ORR_GANG_US_PER_S;
  OrrGangJob all[] = {job_of(1, 0, at_s + 100, 6), job_of(2, 0, at_s + 200, 6),
                      job_of(3, 0, 4 * at_s, 2)};
  OrrGangTotals totals;
  rules.failures = struck.failures;
  g_array_append_vals(jobs, all, G_N_ELEMENTS(all));
  orr_gang_sim_run(&rules, jobs, &totals);
  g_assert_cmpint(job_at(jobs, 0)->end_us, ==, struck.first_us + 100 * ORR_GANG_US_PER_S);
  g_assert_cmpint(job_at(jobs, 1)->end_us, ==, struck.first_us + 300 * ORR_GANG_US_PER_S);
  g_assert_cmpint(job_at(jobs, 2)->failures, ==, 0);
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

/* One node of eight is a lemon, nine times as bad: 9 of 16 strikes are its. @is_transient: nodes
 * stay in service. */
static void test_lemons(gconstpointer is_transient) {
  OrrFailures *set = set_new((OrrFailureProcess){.rate_per_hour = 0.01,
                                                 .scope = ORR_FAILURE_SCOPE_NODE,
                                                 .transient = GPOINTER_TO_INT(is_transient),
                                                 .repair_s = 60},
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

/* A job of 1e9 s fails every 1e7 s and never reaches a checkpoint: an attempt ends with a chance of
 * e^-100. It is given up, not let through where the draws of failures stop (they once stopped at
 * 1e10 s); so is one that waits for a node out for ever. */
static void test_never_ends(void) {
  static const OrrFailureProcess processes[] = {
      {.rate_per_hour = 3600 / 1e7 / N_NODES, .scope = ORR_FAILURE_SCOPE_NODE, .transient = TRUE},
      {.rate_per_hour = 3600 / 1e7, .scope = ORR_FAILURE_SCOPE_JOB},
      {.rate_per_hour = 3600 / 1e7 / N_NODES,
       .scope = ORR_FAILURE_SCOPE_NODE,
       .repair_s = 2 * ORR_GANG_END_S,
       .repair = ORR_FAILURE_REPAIR_FIXED}};
  for (guint i = 0; i < G_N_ELEMENTS(processes); i++) {
    OrrFailures *set = set_new(processes[i], (OrrFailureLemons){0});
    const OrrGangFailureRules failing = {.set = set, .repair_s = 1, .seed = 1};
    OrrGangRules rules = rules_of("first-fit", N_NODES);
    GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
    const OrrGangJob job = job_of(1, 0, 1e9, N_NODES * N_GPUS);
    OrrGangTotals totals;
    rules.failures = orr_gang_failures_new(&failing, N_NODES, N_GPUS);
    rules.checkpoint_us = (gint64)2e15;
    g_array_append_val(jobs, job);
    orr_gang_sim_run(&rules, jobs, &totals);
    g_assert_true(totals.has_given_up);
    jobs_free(jobs);
    orr_gang_failures_free(rules.failures);
    set_free(set);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang-failures/no-strike-in-repair", test_no_strike_in_repair);
  g_test_add_func("/gang_failures/shrink", test_shrink);
  g_test_add_func("/gang_failures/suspended", test_suspended);
  g_test_add_func("/gang_failures/replace-node-taken", test_replace_node_taken);
  g_test_add_func("/gang_failures/sizes", test_sizes);
  g_test_add_func("/gang_failures/daly", test_daly);
  g_test_add_func("/gang_failures/young-interval", test_young_interval);
  g_test_add_func("/gang_failures/young", test_young);
  g_test_add_data_func("/gang_failures/lemons", GINT_TO_POINTER(FALSE), test_lemons);
  g_test_add_data_func("/gang_failures/lemons-kept", GINT_TO_POINTER(TRUE), test_lemons);
  g_test_add_func("/gang_failures/blast", test_blast);
  g_test_add_func("/gang_failures/never-ends", test_never_ends);
  return g_test_run();
}
