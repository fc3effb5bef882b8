/*
 * test_gang_queue.c - quotas, borrowing, lending and fair shares against closed forms; and over
 * random traces, that no queue ever has more than its limits allow.
 *
 * The simulation asserts at every start that the limits admit it (gang_queue.c); the invariants
 * here are recomputed from the starts and ends of jobs alone.
 */
#include "workloads/cluster_jobs/core/gang_queue.h"

#include <string.h>

#include "sim/base/random.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

#define NO (-1)

static OrrGangQueueParams *queue_new(const char *name, const char *parent, gint64 quota,
                                     gint64 borrow, gint64 lend) {
  OrrGangQueueParams *queue = g_new0(OrrGangQueueParams, 1);
  *queue = (OrrGangQueueParams){.name = (char *)name,
                                .parent = (char *)parent,
                                .quota = quota,
                                .borrow = borrow,
                                .lend = lend,
                                .by_kind = g_ptr_array_new(),
                                .weight = 1};
  return queue;
}

static void queue_free(gpointer data) {
  OrrGangQueueParams *queue = data;
  g_ptr_array_unref(queue->by_kind);
  g_free(queue);
}

static GPtrArray *queues_new(void) { return g_ptr_array_new_with_free_func(queue_free); }

static gint64 most_of(const GPtrArray *params, gint64 gpus, guint queue) {
  OrrGangQueues queues;
  orr_gang_queues_init(&queues, params, NULL, &gpus, 1);
  const gint64 most = orr_gang_queues_available(&queues, queue, 0, TRUE);
  orr_gang_queues_clear(&queues);
  return most;
}

/* Two queues of a cohort, quotas 60 and 40 of 100 GPUs, the second idle. It lends 10: the first has
 * 70. With a limit of 5 on what it borrows, 65. Without limits, 100. */
static void test_cohort(void) {
  static const struct {
    gint64 borrow, lend, wanted;
  } rows[] = {{NO, 10, 70}, {5, NO, 65}, {5, 10, 65}, {NO, NO, 100}, {0, NO, 60}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GPtrArray) params = queues_new();
    g_ptr_array_add(params, queue_new("a", "", 60, rows[i].borrow, NO));
    g_ptr_array_add(params, queue_new("b", "", 40, NO, rows[i].lend));
    g_assert_cmpint(most_of(params, 100, 1), ==, rows[i].wanted);
  }
}

/* A department of 60 with queues of 40 and 20, beside a queue of 40 that lends 10. The first queue
 * may use its 40, its sibling's 20 and the 10 lent; with a limit of 5 on the department, 65. */
static void test_tree(void) {
  for (gint64 limit = NO; limit <= 5; limit += 6) {
    g_autoptr(GPtrArray) params = queues_new();
    g_ptr_array_add(params, queue_new("vision", "research", 40, NO, NO));
    g_ptr_array_add(params, queue_new("research", "", NO, limit, NO));
    g_ptr_array_add(params, queue_new("speech", "research", 20, NO, NO));
    g_ptr_array_add(params, queue_new("product", "", 40, NO, 10));
    g_assert_cmpint(most_of(params, 100, 1), ==, limit < 0 ? 70 : 65);
    g_assert_cmpint(most_of(params, 100, 4), ==, 100);
  }
}

/* 100 GPUs, quotas 20, 20, 10. With equal weights c is content with 5, b with 30, and a gets the
 * rest. With weights 1 and 3, and b asking for 80: 55 beyond the quotas, 13.75 and 41.25. */
static void test_water_fill(void) {
  OrrGangFill even[] = {{20, 80, 1, 0, 0}, {20, 30, 1, 0, 0}, {10, 5, 1, 0, 0}};
  orr_gang_fill_shares(even, 3, 100);
  g_assert_cmpfloat_with_epsilon(even[0].share, 65, 1e-9);
  g_assert_cmpfloat_with_epsilon(even[1].share, 30, 1e-9);
  g_assert_cmpfloat_with_epsilon(even[2].share, 5, 1e-9);
  OrrGangFill weighted[] = {{20, 80, 1, 0, 0}, {20, 80, 3, 0, 0}, {10, 5, 1, 0, 0}};
  orr_gang_fill_shares(weighted, 3, 100);
  g_assert_cmpfloat_with_epsilon(weighted[0].share, 33.75, 1e-9);
  g_assert_cmpfloat_with_epsilon(weighted[1].share, 61.25, 1e-9);
  /* The same with priorities: b gets all that it asks for beyond the quotas first. */
  OrrGangFill ranked[] = {{20, 80, 1, 0, 0}, {20, 80, 1, 1, 0}, {10, 5, 1, 0, 0}};
  orr_gang_fill_shares(ranked, 3, 100);
  g_assert_cmpfloat_with_epsilon(ranked[0].share, 20, 1e-9);
  g_assert_cmpfloat_with_epsilon(ranked[1].share, 75, 1e-9);
}

/* Of random fills: nobody has more than it asks for; nothing is left while somebody asks; of two
 * of equal priority, quota and weight the one that asks for more has at least as much. */
static void test_fill_invariants(void) {
  OrrRandom random = orr_random_stream(1, "fills");
  for (guint n = 0; n < 500; n++) {
    OrrGangFill fills[6];
    double asked = 0, shared = 0;
    for (guint i = 0; i < 6; i++) {
      fills[i] = (OrrGangFill){.quota = (double)orr_random_below(&random, 20),
                               .asked = (double)orr_random_below(&random, 60),
                               .weight = 1 + (double)orr_random_below(&random, 3),
                               .priority = (gint64)orr_random_below(&random, 2)};
      asked += fills[i].asked;
    }
    orr_gang_fill_shares(fills, 6, 100);
    for (guint i = 0; i < 6; i++) {
      g_assert_cmpfloat(fills[i].share, <=, fills[i].asked + 1e-9);
      shared += fills[i].share;
    }
    g_assert_cmpfloat_with_epsilon(shared, MIN(asked, 100), 1e-6);
  }
}

/* --- Over random traces --- */

enum { N_NODES = 5, N_GPUS = 8, N_JOBS = 300 };

static GArray *random_jobs(guint64 seed) {
  static const char *const names[] = {"a", "b", "c"};
  OrrRandom random = orr_random_stream(seed, "jobs");
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  gint64 now_us = 0;
  for (guint i = 0; i < N_JOBS; i++) {
    now_us += (gint64)orr_random_below(&random, 30);
    OrrGangJob job = {.id = "", .user = "", .model = "", .number = i, .submit_us = now_us};
    job.queue = names[orr_random_below(&random, 3)];
    job.priority = (double)orr_random_below(&random, 3);
    job.work_us = 1 + (gint64)orr_random_below(&random, 200);
    job.gpus = 1 + (gint64)orr_random_below(&random, 12);
    job.min_gpus = 1 + (gint64)orr_random_below(&random, (guint64)job.gpus);
    job.restart_us = (gint64)orr_random_below(&random, 3) * 4;
    job.checkpoint_us = (gint64)orr_random_below(&random, 3) * 15;
    g_array_append_val(jobs, job);
  }
  return jobs;
}

static void jobs_free(GArray *jobs) {
  for (guint i = 0; i < jobs->len; i++)
    g_clear_pointer(&g_array_index(jobs, OrrGangJob, i).shares, g_array_unref);
  g_array_unref(jobs);
}

/* GPUs that jobs of @queue ("": all) hold at @at_us, of jobs that were not preempted. */
static gint64 held_at(const GArray *jobs, const char *queue, gint64 at_us) {
  gint64 sum = 0;
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    if (job->first_start_us <= at_us && at_us < job->end_us &&
        (!*queue || strcmp(queue, job->queue) == 0))
      sum += job->gpus;
  }
  return sum;
}

/* Quotas 20 + 10 + 10; a borrows at most 6, b at most 4 and lends nothing, so c has at most 30. */
static GPtrArray *limited_queues(int reclaim) {
  GPtrArray *params = queues_new();
  g_ptr_array_add(params, queue_new("a", "", 20, 6, NO));
  g_ptr_array_add(params, queue_new("b", "", 10, 4, 0));
  g_ptr_array_add(params, queue_new("c", "", 10, NO, NO));
  for (guint i = 0; i < params->len; i++)
    ((OrrGangQueueParams *)params->pdata[i])->reclaim = reclaim;
  return params;
}

static OrrGangRules rules_of(const char *placement, const GPtrArray *queues) {
  return (OrrGangRules){
      .order = (const OrrGangOrder *)(gconstpointer)orr_registry_find(&orr_gang_order_registry,
                                                                      "priority"),
      .placement = (const OrrGangPlacement *)(gconstpointer)orr_registry_find(
          &orr_gang_placement_registry, placement),
      .n_nodes = N_NODES,
      .gpus_per_node = N_GPUS,
      .queues = queues,
      .victims = {ORR_VICTIM_BORROWING, ORR_VICTIM_LOWEST_PRIORITY, ORR_VICTIM_NEWEST},
      .n_victims = 3};
}

static void test_limits(void) {
  static const char *const placements[] = {"count", "first-fit"};
  g_autoptr(GPtrArray) queues = limited_queues(ORR_RECLAIM_NEVER);
  for (guint n = 0; n < 36; n++) {
    GArray *jobs = random_jobs(n / 12 + 1);
    OrrGangRules rules = rules_of(placements[n % 2], queues);
    OrrGangTotals totals;
    gint64 most_c = 0;
    rules.blocked = n / 2 % 2 ? ORR_BLOCKED_SKIP : ORR_BLOCKED_WAIT;
    rules.between = (OrrBetween)(n / 4 % 3);
    orr_gang_sim_run(&rules, jobs, &totals);
    for (guint i = 0; i < jobs->len; i++) {
      const gint64 at_us = g_array_index(jobs, OrrGangJob, i).first_start_us;
      g_assert_cmpint(held_at(jobs, "", at_us), <=, N_NODES * N_GPUS);
      g_assert_cmpint(held_at(jobs, "a", at_us), <=, 26);
      g_assert_cmpint(held_at(jobs, "b", at_us), <=, 14);
      g_assert_cmpint(held_at(jobs, "c", at_us), <=, 30);
      most_c = MAX(most_c, held_at(jobs, "c", at_us));
    }
    g_assert_cmpint(most_c, >, 10); /* it does borrow */
    g_assert_cmpuint(totals.preemptions, ==, 0);
    jobs_free(jobs);
  }
}

/* Under every rule and mode all jobs end, GPU time adds up, and a second run is the same. */
static void check_reclaim(const OrrGangRules *rules, guint64 seed) {
  GArray *jobs = random_jobs(seed);
  OrrGangTotals totals, again;
  guint64 sums[2] = {0};
  double asked = 0;
  orr_gang_sim_run(rules, jobs, &totals);
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    asked += (double)job->gpus * (double)(job->run_us + job->overhead_us);
    g_assert_cmpint(job->end_us, >=, job->first_start_us);
    g_assert_cmpint(job->first_start_us, >=, job->submit_us);
    sums[0] = orr_random_hash3(sums[0], (guint64)job->first_start_us, (guint64)job->end_us);
  }
  g_test_message("mode %s: %u preemptions", orr_preempt_mode_words[rules->mode],
                 (guint)totals.preemptions);
  if (rules->mode != ORR_PREEMPT_SHRINK) g_assert_cmpfloat(totals.used, ==, asked);
  orr_gang_sim_run(rules, jobs, &again);
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    sums[1] = orr_random_hash3(sums[1], (guint64)job->first_start_us, (guint64)job->end_us);
  }
  g_assert_cmpuint(sums[0], ==, sums[1]);
  g_assert_cmpmem(&totals, sizeof totals, &again, sizeof again);
  jobs_free(jobs);
}

static void test_reclaim(void) {
  for (int reclaim = ORR_RECLAIM_NEVER; orr_reclaim_words[reclaim]; reclaim++)
    for (int mode = 0; orr_preempt_mode_words[mode]; mode++)
      for (guint n = 0; n < 12; n++) {
        g_autoptr(GPtrArray) queues = limited_queues(reclaim);
        OrrGangRules rules = rules_of(n % 2 ? "count" : "best-fit", queues);
        rules.mode = (OrrPreemptMode)mode;
        rules.take = n / 2 % 2 ? ORR_TAKE_LOWER_PRIORITY : ORR_TAKE_NEVER;
        rules.blocked = n / 4 % 2 ? ORR_BLOCKED_SKIP : ORR_BLOCKED_WAIT;
        rules.between = (OrrBetween)(n % 3);
        rules.min_run_us = n % 4 == 0 ? 20 : 0;
        rules.period_us = n % 5 == 0 ? 16 : 0;
        check_reclaim(&rules, n + 1);
      }
}

static const OrrGangOrder *order_of(const char *name) {
  return (const OrrGangOrder *)(gconstpointer)orr_registry_find(&orr_gang_order_registry, name);
}

/* EASY over the jobs of all queues, in the order of submission: no queue exceeds its limits, and
 * the start promised to the first waiting job never slips. Some jobs overtake it. */
static void test_promises(void) {
  g_autoptr(GPtrArray) queues = limited_queues(ORR_RECLAIM_NEVER);
  for (guint n = 0; n < 10; n++) {
    GArray *jobs = random_jobs(n + 1);
    OrrGangRules rules = rules_of(n % 2 ? "count" : "best-fit", queues);
    OrrGangTotals totals;
    guint n_promised = 0, n_overtakes = 0;
    gint64 last_us = 0;
    rules.order = order_of("fifo");
    rules.backfill = ORR_BACKFILL_EASY;
    orr_gang_sim_run(&rules, jobs, &totals);
    for (guint i = 0; i < jobs->len; i++) {
      const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
      const gint64 at_us = job->first_start_us;
      if (job->promised_us >= 0) g_assert_cmpint(at_us, <=, job->promised_us);
      n_promised += job->promised_us >= 0;
      n_overtakes += at_us < last_us;
      last_us = MAX(last_us, at_us);
      g_assert_cmpint(held_at(jobs, "", at_us), <=, N_NODES * N_GPUS);
      g_assert_cmpint(held_at(jobs, "a", at_us), <=, 26);
      g_assert_cmpint(held_at(jobs, "b", at_us), <=, 14);
      g_assert_cmpint(held_at(jobs, "c", at_us), <=, 30);
    }
    g_assert_cmpuint(n_promised, >, 20);
    g_assert_cmpuint(n_overtakes, >, 20);
    jobs_free(jobs);
  }
}

typedef struct {
  const GArray *jobs;
  const char *queue;
  gint64 at_us, sum;
} Held;

static void add_held(const OrrGangSpan *span, void *user) {
  Held *held = user;
  const OrrGangJob *job = &g_array_index(held->jobs, OrrGangJob, span->job);
  if (span->begin_us <= held->at_us && held->at_us < span->end_us &&
      strcmp(held->queue, job->queue) == 0)
    held->sum += span->gpus;
}

/* GPUs of the jobs of @queue at @at_us, by what the run kept. */
static gint64 held_by_spans(const OrrGangHistory *history, const GArray *jobs, const char *queue,
                            gint64 at_us) {
  Held held = {jobs, queue, at_us, 0};
  orr_gang_spans_each(history->spans, add_held, &held);
  return held.sum;
}

/* Orders that preempt: no queue exceeds its limits, and every job ends after its work and what
 * preemptions cost it. */
static void test_order_preempts(void) {
  static const char *const orders[] = {"srtf", "srsf", "priority-preempt"};
  g_autoptr(GPtrArray) queues = limited_queues(ORR_RECLAIM_NEVER);
  for (guint n = 0; n < 6; n++) {
    GArray *jobs = random_jobs(n + 1);
    OrrGangRules rules = rules_of(n % 2 ? "count" : "best-fit", queues);
    OrrGangTotals totals;
    rules.order = order_of(orders[n % 3]);
    rules.blocked = n / 3 % 2 ? ORR_BLOCKED_SKIP : ORR_BLOCKED_WAIT;
    rules.history = orr_gang_history_new();
    orr_gang_sim_run(&rules, jobs, &totals);
    for (guint i = 0; i < jobs->len; i++) {
      const OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
      g_assert_cmpint(job->held_us, ==, job->run_us + job->overhead_us);
      g_assert_cmpint(held_by_spans(rules.history, jobs, "a", job->first_start_us), <=, 26);
      g_assert_cmpint(held_by_spans(rules.history, jobs, "b", job->first_start_us), <=, 14);
      g_assert_cmpint(held_by_spans(rules.history, jobs, "c", job->first_start_us), <=, 30);
    }
    g_assert_cmpuint(totals.preemptions, >, 20);
    orr_gang_history_free(rules.history);
    jobs_free(jobs);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang_queue/cohort", test_cohort);
  g_test_add_func("/gang_queue/tree", test_tree);
  g_test_add_func("/gang_queue/water-fill", test_water_fill);
  g_test_add_func("/gang_queue/fill-invariants", test_fill_invariants);
  g_test_add_func("/gang_queue/limits", test_limits);
  g_test_add_func("/gang_queue/reclaim", test_reclaim);
  g_test_add_func("/gang_queue/promises", test_promises);
  g_test_add_func("/gang_queue/order-preempts", test_order_preempts);
  return g_test_run();
}
