/*
 * test_gang_sim.c - the invariants of gang_sim.c over random traces, under every order, placement
 * and backfill; and queueing theory, in independent replications.
 *
 * That no node is over capacity is asserted at every change of the free GPUs (gang_bins.c).
 */
#include "workloads/cluster_jobs/cluster_jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/field.h"
#include "sim/base/random.h"

enum { N_NODES = 5, N_GPUS = 8 };

static OrrGangJob *job_at(const GArray *jobs, guint i) {
  return &g_array_index(jobs, OrrGangJob, i);
}

static void jobs_free(GArray *jobs) {
  for (guint i = 0; i < jobs->len; i++) g_clear_pointer(&job_at(jobs, i)->shares, g_array_unref);
  g_array_unref(jobs);
}

/* Gangs of 1 to 40 GPUs; several jobs at one instant, jobs without work, limits above and below the
 * run time. */
static GArray *random_jobs(guint64 seed, guint n) {
  OrrRandom random = orr_random_stream(seed, "jobs");
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  gint64 now_us = 0;
  for (guint i = 0; i < n; i++) {
    if (orr_random_below(&random, 3) > 0) now_us += (gint64)orr_random_below(&random, 40);
    const gboolean is_large = orr_random_below(&random, 5) == 0;
    static const char *const names[] = {"a", "b", "c"};
    OrrGangJob job = {.id = "", .model = "", .number = i};
    job.user = names[orr_random_below(&random, 3)];
    job.queue = names[orr_random_below(&random, 2)];
    job.priority = (double)orr_random_below(&random, 3);
    job.submit_us = now_us;
    job.work_us = (gint64)orr_random_below(&random, 200);
    job.gpus = 1 + (gint64)orr_random_below(&random, is_large ? N_NODES * N_GPUS : N_GPUS);
    if (orr_random_below(&random, 2)) job.limit_us = 1 + (gint64)orr_random_below(&random, 400);
    job.restart_us = (gint64)orr_random_below(&random, 3) * 4;
    job.checkpoint_us = (gint64)orr_random_below(&random, 3) * 15;
    g_array_append_val(jobs, job);
  }
  return jobs;
}

typedef struct {
  OrrGangRules rules;
  void *params, *placement_params;
  const OrrFieldTable *table, *placement_table;
} Policy;

static void *defaults_of(const OrrEntry *entry) {
  if (!entry->params) return NULL;
  void *params = g_malloc0(entry->params->size);
  orr_field_defaults(entry->params, params);
  return params;
}

static Policy policy_of(const OrrEntry *order, const OrrEntry *placement) {
  Policy policy = {.rules = {.order = (const OrrGangOrder *)(gconstpointer)order,
                             .placement = (const OrrGangPlacement *)(gconstpointer)placement,
                             .n_nodes = N_NODES,
                             .gpus_per_node = N_GPUS},
                   .params = defaults_of(order),
                   .placement_params = defaults_of(placement),
                   .table = order->params,
                   .placement_table = placement->params};
  policy.rules.order_params = policy.params;
  policy.rules.placement_params = policy.placement_params;
  return policy;
}

static void policy_clear(Policy *policy) {
  if (policy->table) orr_field_clear(policy->table, policy->params);
  if (policy->placement_table) orr_field_clear(policy->placement_table, policy->placement_params);
  g_free(policy->params);
  g_free(policy->placement_params);
}

/* --- Invariants --- */

/* Every job runs for its work or its limit, without overlap of more GPUs than there are. */
static void check_jobs(const GArray *jobs, const OrrGangRules *rules, const OrrGangTotals *totals) {
  /* EASY promises to the first waiting job, which a shorter one replaces under SJF. */
  const gboolean keeps_promises =
      rules->backfill != ORR_BACKFILL_WINDOW && (rules->backfill == ORR_BACKFILL_CONSERVATIVE ||
                                                 strcmp(rules->order->entry.name, "fifo") == 0);
  double asked = 0;
  for (guint i = 0; i < jobs->len; i++) {
    const OrrGangJob *job = job_at(jobs, i);
    const gint64 run_us = job->limit_us > 0 ? MIN(job->limit_us, job->work_us) : job->work_us;
    asked += (double)(run_us + job->overhead_us) * (double)job->gpus;
    g_assert_cmpint(job->overhead_us, >=, 0);
    if (!rules->order->preempts || job->restart_us + job->checkpoint_us == 0)
      g_assert_cmpint(job->overhead_us, ==, 0);
    if (rules->charge == ORR_CHARGE_PREEMPTED)
      g_assert_cmpint(job->overhead_us, <=,
                      job->preemptions * (job->restart_us + job->checkpoint_us));
    g_assert_cmpint(job->first_start_us, >=, job->submit_us);
    g_assert_cmpint(job->end_us, >=, job->first_start_us + run_us);
    if (!rules->order->preempts) g_assert_cmpint(job->end_us, ==, job->first_start_us + run_us);
    if (job->promised_us >= 0 && keeps_promises)
      g_assert_cmpint(job->first_start_us, <=, job->promised_us);
  }
  /* GPU time in is GPU time out: sums of whole microseconds, exact in double. */
  g_assert_cmpfloat(totals->used, ==, asked);
}

static void check_strict(const GArray *jobs, const OrrGangRules *rules) {
  if (strcmp(rules->order->entry.name, "fifo") != 0 || rules->backfill != ORR_BACKFILL_NONE ||
      rules->blocked != ORR_BLOCKED_WAIT)
    return;
  for (guint i = 1; i < jobs->len; i++)
    g_assert_cmpint(job_at(jobs, i)->first_start_us, >=, job_at(jobs, i - 1)->first_start_us);
}

static guint64 digest(const GArray *jobs) {
  guint64 sum = 0;
  for (guint i = 0; i < jobs->len; i++)
    sum = orr_random_hash3(sum, (guint64)job_at(jobs, i)->first_start_us,
                           (guint64)job_at(jobs, i)->end_us);
  return sum;
}

static void check_policy(const OrrGangRules *rules, guint64 seed) {
  GArray *jobs = random_jobs(seed, 150);
  OrrGangTotals totals, again;
  orr_gang_sim_run(rules, jobs, &totals);
  g_test_message("%s, %s, %s, %s", rules->order->entry.name, rules->placement->entry.name,
                 orr_backfill_words[rules->backfill], orr_blocked_words[rules->blocked]);
  check_jobs(jobs, rules, &totals);
  check_strict(jobs, rules);
  const guint64 first = digest(jobs);
  orr_gang_sim_run(rules, jobs, &again);
  g_assert_cmpuint(first, ==, digest(jobs));
  g_assert_cmpmem(&totals, sizeof totals, &again, sizeof again);
  jobs_free(jobs);
}

static void test_invariants(void) {
  for (guint o = 0; orr_gang_order_registry.entries[o]; o++)
    for (guint p = 0; orr_gang_placement_registry.entries[p]; p++) {
      Policy policy =
          policy_of(orr_gang_order_registry.entries[o], orr_gang_placement_registry.entries[p]);
      for (int backfill = 0; orr_backfill_words[backfill]; backfill++)
        for (int blocked = 0; orr_blocked_words[blocked]; blocked++) {
          if (backfill != ORR_BACKFILL_NONE &&
              (blocked == ORR_BLOCKED_SKIP || policy.rules.order->preempts))
            continue; /* refused (cluster_jobs.c) */
          policy.rules.backfill = (OrrBackfill)backfill;
          policy.rules.window = (OrrGangWindow){500, 7, 10, 50};
          policy.rules.blocked = (OrrBlocked)blocked;
          for (int charge = 0; charge <= policy.rules.order->preempts; charge++) {
            policy.rules.charge = (OrrCharge)charge;
            check_policy(&policy.rules, 1 + (guint64)((o + p) % 2));
          }
        }
      policy_clear(&policy);
    }
}

/* A gang of 8 GPUs with 100 us of work runs from 0; at 30 a job of 10 us takes its place. It has
 * checkpoints every 20 us and restarts in 5. Preempted at 30 it keeps 20 us of work, and from 40 on
 * runs 80 us and its restart: until 125. At 43, within the restart, another job of 10 us takes its
 * place: nothing more is lost, and the restart begins again at 53: until 138. */
static void test_preemption(void) {
  Policy policy = policy_of(orr_registry_find(&orr_gang_order_registry, "srtf"),
                            orr_registry_find(&orr_gang_placement_registry, "first-fit"));
  static const gint64 submits[] = {0, 30, 43}, works[] = {100, 10, 10};
  static const gint64 wanted[] = {138, 40, 53};
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  policy.rules.n_nodes = 1;
  policy.rules.restart_us = 5;
  policy.rules.checkpoint_us = 20;
  for (guint i = 0; i < 3; i++) {
    const OrrGangJob job = {.number = i,
                            .submit_us = submits[i],
                            .work_us = works[i],
                            .gpus = 8,
                            .restart_us = -1,
                            .checkpoint_us = -1};
    g_array_append_val(jobs, job);
  }
  OrrGangTotals totals;
  orr_gang_sim_run(&policy.rules, jobs, &totals);
  for (guint i = 0; i < 3; i++) g_assert_cmpint(job_at(jobs, i)->end_us, ==, wanted[i]);
  g_assert_cmpuint(job_at(jobs, 0)->preemptions, ==, 2);
  g_assert_cmpint(job_at(jobs, 0)->overhead_us, ==, 10 + 3 + 5);
  g_assert_cmpfloat(totals.overhead, ==, 8 * 18);
  g_assert_cmpfloat(totals.used, ==, 8 * (120 + 18));
  jobs_free(jobs);
  policy_clear(&policy);
}

/* More GPUs never raise a wait where each job takes one and FIFO counts GPUs. */
static void test_more_gpus(void) {
  const OrrEntry *fifo = orr_registry_find(&orr_gang_order_registry, "fifo");
  Policy policy = policy_of(fifo, orr_registry_find(&orr_gang_placement_registry, "count"));
  GArray *few = random_jobs(7, 500), *many = random_jobs(7, 500);
  for (guint i = 0; i < few->len; i++) job_at(few, i)->gpus = job_at(many, i)->gpus = 1;
  OrrGangTotals totals;
  policy.rules.n_nodes = 1;
  policy.rules.gpus_per_node = 2;
  orr_gang_sim_run(&policy.rules, few, &totals);
  policy.rules.gpus_per_node = 3;
  orr_gang_sim_run(&policy.rules, many, &totals);
  for (guint i = 0; i < few->len; i++)
    g_assert_cmpint(job_at(many, i)->first_start_us, <=, job_at(few, i)->first_start_us);
  jobs_free(few);
  jobs_free(many);
  policy_clear(&policy);
}

/* Where jobs end when they are expected to and come in the order of the queue, a plan that is made
 * anew at every event (window) finds what the plan does that is kept (conservative): equal starts,
 * and equal promises where a plan has come as far as the job. This holds for placements that take
 * the first room: a gang that started early changes what others choose by. */
static void test_window(void) {
  static const char *const placements[] = {"first-fit", "count"};
  guint n_promised = 0, n_jobs = 0;
  for (guint64 seed = 1; seed <= 12; seed++) {
    Policy policy =
        policy_of(orr_registry_find(&orr_gang_order_registry, "fifo"),
                  orr_registry_find(&orr_gang_placement_registry, placements[seed % 2]));
    GArray *kept = random_jobs(seed, 200), *anew = random_jobs(seed, 200);
    OrrGangTotals totals;
    for (guint i = 0; i < kept->len; i++) {
      job_at(kept, i)->limit_us = job_at(anew, i)->limit_us = 0;
      job_at(kept, i)->work_us = ++job_at(anew, i)->work_us;
    }
    policy.rules.blocked = ORR_BLOCKED_WAIT;
    policy.rules.backfill = ORR_BACKFILL_CONSERVATIVE;
    orr_gang_sim_run(&policy.rules, kept, &totals);
    policy.rules.backfill = ORR_BACKFILL_WINDOW;
    policy.rules.window = (OrrGangWindow){.ahead_us = (gint64)1e15, .resolution_us = 1};
    orr_gang_sim_run(&policy.rules, anew, &totals);
    for (guint i = 0; i < kept->len; i++, n_jobs++) {
      const gint64 promised_us = job_at(anew, i)->promised_us;
      g_assert_cmpint(job_at(kept, i)->first_start_us, ==, job_at(anew, i)->first_start_us);
      if (promised_us < 0) continue;
      g_assert_cmpint(job_at(kept, i)->promised_us, ==, promised_us);
      n_promised++;
    }
    jobs_free(kept);
    jobs_free(anew);
    policy_clear(&policy);
  }
  g_assert_cmpuint(n_promised, >, n_jobs / 4);
}

/* One node of 8 GPUs: 6 run until 10. The second job needs all, the third has room for its 2 at
 * once, but would run beyond 10: a plan promises 10 and 20, though it starts nobody. */
static void test_window_promises(void) {
  static const gint64 works[] = {10, 10, 20}, gpus[] = {6, 8, 2}, promised[] = {-1, 10, 20};
  Policy policy = policy_of(orr_registry_find(&orr_gang_order_registry, "fifo"),
                            orr_registry_find(&orr_gang_placement_registry, "first-fit"));
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  OrrGangTotals totals;
  for (guint i = 0; i < 3; i++) {
    const OrrGangJob job = {.number = i, .work_us = works[i], .gpus = gpus[i]};
    g_array_append_val(jobs, job);
  }
  policy.rules.n_nodes = 1;
  policy.rules.backfill = ORR_BACKFILL_WINDOW;
  policy.rules.window = (OrrGangWindow){.ahead_us = 100, .resolution_us = 1};
  orr_gang_sim_run(&policy.rules, jobs, &totals);
  for (guint i = 0; i < 3; i++) g_assert_cmpint(job_at(jobs, i)->promised_us, ==, promised[i]);
  jobs_free(jobs);
  policy_clear(&policy);
}

/* --- Usage --- */

/* Usage of 1,000 GPU-hours is 1,000 / sqrt 2 after half of its half-life. A user who runs g GPUs
 * for ever has g h / ln 2 in the end. */
static void test_decay(void) {
  const double hour_us = 3600 * ORR_GANG_US_PER_S, week_us = 168 * hour_us;
  g_autoptr(GArray) jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  const OrrGangJob job = {.id = "", .user = "u", .queue = "q", .model = "", .gpus = 1000};
  g_array_append_val(jobs, job);
  OrrGangAccounts accounts;
  orr_gang_accounts_init(&accounts, week_us, jobs);
  OrrGangAccount *user = &g_array_index(accounts.all, OrrGangAccount, job_at(jobs, 0)->account);
  user->used = 1000 * hour_us;
  g_assert_cmpfloat_with_epsilon(
      orr_gang_accounts_used(&accounts, job_at(jobs, 0)->account, (gint64)(week_us / 2)) / hour_us,
      707.10678, 1e-5);
  orr_gang_accounts_run(&accounts, job_at(jobs, 0), 0, 1);
  g_assert_cmpfloat_with_epsilon(
      orr_gang_accounts_used(&accounts, job_at(jobs, 0)->account, (gint64)(100 * week_us)) /
          (1000 * week_us / M_LN2),
      1, 1e-9);
  orr_gang_accounts_clear(&accounts);
}

/* Eight GPUs, and every job takes all. At 100 queue x has had 800, by a, and y nothing: d, the
 * first of y, runs until 250. Then y has had 1,200: x is first, and b, who has had nothing, before
 * a: until 400. Then x has had 2,000: c of y, until 410, and a at last. */
static void test_fair_share(void) {
  static const struct {
    const char *user, *queue;
    gint64 submit_us, work_us, wanted_us;
  } rows[] = {
      {"a", "x", 0, 100, 100}, {"d", "y", 10, 150, 250}, {"a", "x", 50, 10, 420},
      {"c", "y", 60, 10, 410}, {"b", "x", 70, 150, 400},
  };
  Policy policy = policy_of(orr_registry_find(&orr_gang_order_registry, "fair-share"),
                            orr_registry_find(&orr_gang_placement_registry, "first-fit"));
  policy.rules.n_nodes = 1;
  *(double *)policy.params = 0; /* half-life: none */
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const OrrGangJob job = {.number = i,
                            .user = rows[i].user,
                            .queue = rows[i].queue,
                            .submit_us = rows[i].submit_us,
                            .work_us = rows[i].work_us,
                            .gpus = 8};
    g_array_append_val(jobs, job);
  }
  OrrGangTotals totals;
  orr_gang_sim_run(&policy.rules, jobs, &totals);
  for (guint i = 0; i < jobs->len; i++) {
    g_test_message("job %u", i);
    g_assert_cmpint(job_at(jobs, i)->end_us, ==, rows[i].wanted_us);
  }
  jobs_free(jobs);
  policy_clear(&policy);
}

/* Slurm's age term: weight 1,000, a maximum of 7 days, 42 hours waited: 250. */
static void test_age(void) {
  Policy policy = policy_of(orr_registry_find(&orr_gang_order_registry, "multifactor"),
                            orr_registry_find(&orr_gang_placement_registry, "count"));
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(policy.table, policy.params, "age", &data);
  *(double *)(gpointer)((char *)data + field->offset) = 1000;
  const OrrGangJob job = {.gpus = 1};
  const OrrGangQuestion question = {
      .params = policy.params, .now_us = (gint64)(42 * 3600 * ORR_GANG_US_PER_S), .n_gpus = 8};
  g_assert_cmpfloat_with_epsilon(policy.rules.order->key(&question, &job), -250, 1e-9);
  policy_clear(&policy);
}

/* --- Queueing theory: mean service 1 s --- */

enum { REPLICATIONS = 20, JOBS = 6000, WARM_UP = 2000 };

static double exponential(OrrRandom *random) { return -log1p(-orr_random_unit(random)); }

typedef struct {
  const char *name, *order;
  guint servers;
  double load;      /* of the servers; 0: all jobs are submitted at once */
  double one;       /* probability of one GPU; otherwise two */
  gboolean is_even; /* every job takes 1 s */
  enum { WAIT, RESPONSE, THROUGHPUT } answer;
  double wanted;
  OrrElastic elastic;
} Theory;

/* closed_forms: Erlang C; Pollaczek-Khinchine; Schrage-Miller; response 1/(1 - load) of all blind
 * policies, so of LAS and of elastic jobs that share all GPUs; strict gangs on two GPUs, which
 * saturate at 8/7 jobs per second. */
static const Theory theories[] = {
    {"M/M/1", "fifo", 1, 0.8, 1, FALSE, WAIT, 4},
    {"M/M/4", "fifo", 4, 0.9, 1, FALSE, WAIT, 1.9693832},
    {"M/M/8", "fifo", 8, 0.8, 1, FALSE, WAIT, 0.28602808},
    {"M/D/1", "fifo", 1, 0.8, 1, TRUE, WAIT, 2},
    {"SRPT", "srtf", 1, 0.8, 1, FALSE, RESPONSE, 2.3541033},
    {"blind", "las", 1, 0.8, 1, FALSE, RESPONSE, 5},
    {"elastic", "fifo", 8, 0.1, 1, FALSE, RESPONSE, 5, ORR_ELASTIC_EQUAL},
    {"gangs 0.25", "fifo", 2, 0, 0.25, FALSE, THROUGHPUT, 1.0322581},
    {"gangs 0.5", "fifo", 2, 0, 0.5, FALSE, THROUGHPUT, 8.0 / 7},
    {"gangs 0.9", "fifo", 2, 0, 0.9, FALSE, THROUGHPUT, 1.6806723},
};

static GArray *theory_jobs(const Theory *theory, guint64 seed) {
  OrrRandom random = orr_random_stream(seed, theory->name);
  GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  double now_s = 0;
  for (guint i = 0; i < JOBS; i++) {
    if (theory->load > 0) now_s += exponential(&random) / (theory->load * theory->servers);
    OrrGangJob job = {.id = "", .user = "", .queue = "", .model = "", .number = i};
    job.submit_us = llround(now_s * ORR_GANG_US_PER_S);
    job.work_us = llround((theory->is_even ? 1 : exponential(&random)) * ORR_GANG_US_PER_S);
    job.gpus = orr_random_unit(&random) < theory->one ? 1 : 2;
    if (theory->elastic) { /* all servers, or as few as one: processor sharing */
      job.gpus = job.max_gpus = theory->servers;
      job.min_gpus = 1;
    }
    g_array_append_val(jobs, job);
  }
  return jobs;
}

static double answer_of(const Theory *theory, const GArray *jobs, const OrrGangTotals *totals) {
  if (theory->answer == THROUGHPUT)
    return jobs->len * ORR_GANG_US_PER_S / (double)(totals->end_us - totals->begin_us);
  double sum = 0;
  for (guint i = WARM_UP; i < jobs->len; i++) {
    const OrrGangJob *job = job_at(jobs, i);
    sum += (double)(job->end_us - job->submit_us) / ORR_GANG_US_PER_S;
    if (theory->answer == WAIT) sum -= (double)job->run_us / ORR_GANG_US_PER_S;
  }
  return sum / (jobs->len - WARM_UP);
}

/* The mean of independent replications lies within three of its standard deviations. */
static void check_theory(const Theory *theory) {
  Policy policy = policy_of(orr_registry_find(&orr_gang_order_registry, theory->order),
                            orr_registry_find(&orr_gang_placement_registry, "count"));
  policy.rules.n_nodes = 1;
  policy.rules.gpus_per_node = theory->servers;
  policy.rules.elastic = theory->elastic;
  if (policy.params) { /* las: the second queue from 1 s on */
    g_autoptr(GError) error = NULL;
    GArray **thresholds = policy.params;
    g_array_index(*thresholds, double, 0) = 1;
  }
  double sum = 0, squares = 0;
  for (guint64 seed = 1; seed <= REPLICATIONS; seed++) {
    GArray *jobs = theory_jobs(theory, seed);
    OrrGangTotals totals;
    orr_gang_sim_run(&policy.rules, jobs, &totals);
    const double answer = answer_of(theory, jobs, &totals);
    sum += answer;
    squares += answer * answer;
    jobs_free(jobs);
  }
  const double mean = sum / REPLICATIONS;
  const double variance = (squares - sum * mean) / (REPLICATIONS - 1);
  const double deviation = sqrt(variance / REPLICATIONS);
  g_test_message("%s: %.4f +- %.4f, theory %.4f", theory->name, mean, deviation, theory->wanted);
  g_assert_cmpfloat(fabs(mean - theory->wanted), <, 3 * deviation);
  policy_clear(&policy);
}

/* M/M/1, preemptive resume, rates of 0.4 each, service 1: mean response 1 / (1 - 0.4) of the high
 * class, 1 / ((1 - 0.4) (1 - 0.8)) of the low one. */
static void test_priorities(void) {
  static const double wanted[] = {25.0 / 3, 5.0 / 3};
  const Theory theory = {"priorities", "priority-preempt", 1, 0.8, 1, FALSE, RESPONSE, 0};
  Policy policy = policy_of(orr_registry_find(&orr_gang_order_registry, theory.order),
                            orr_registry_find(&orr_gang_placement_registry, "count"));
  double sum[2] = {0}, squares[2] = {0};
  policy.rules.n_nodes = policy.rules.gpus_per_node = 1;
  for (guint64 seed = 1; seed <= REPLICATIONS; seed++) {
    GArray *jobs = theory_jobs(&theory, seed);
    OrrRandom random = orr_random_stream(seed, "class");
    OrrGangTotals totals;
    double response_s[2] = {0};
    guint n[2] = {0};
    for (guint i = 0; i < jobs->len; i++)
      job_at(jobs, i)->priority = (double)orr_random_below(&random, 2);
    orr_gang_sim_run(&policy.rules, jobs, &totals);
    for (guint i = WARM_UP; i < jobs->len; i++) {
      const OrrGangJob *job = job_at(jobs, i);
      response_s[(guint)job->priority] +=
          (double)(job->end_us - job->submit_us) / ORR_GANG_US_PER_S;
      n[(guint)job->priority]++;
    }
    for (guint c = 0; c < 2; c++) {
      const double mean = response_s[c] / n[c];
      sum[c] += mean;
      squares[c] += mean * mean;
    }
    jobs_free(jobs);
  }
  for (guint c = 0; c < 2; c++) {
    const double mean = sum[c] / REPLICATIONS;
    const double deviation = sqrt((squares[c] - sum[c] * mean) / (REPLICATIONS - 1) / REPLICATIONS);
    g_test_message("class %u: %.4f +- %.4f, theory %.4f", c, mean, deviation, wanted[c]);
    g_assert_cmpfloat(fabs(mean - wanted[c]), <, 3 * deviation);
  }
  policy_clear(&policy);
}

static void test_theory(void) {
  for (guint i = 0; i < G_N_ELEMENTS(theories); i++) check_theory(&theories[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang_sim/invariants", test_invariants);
  g_test_add_func("/gang_sim/preemption", test_preemption);
  g_test_add_func("/gang_sim/more-gpus", test_more_gpus);
  g_test_add_func("/gang_sim/window", test_window);
  g_test_add_func("/gang_sim/window-promises", test_window_promises);
  g_test_add_func("/gang_sim/decay", test_decay);
  g_test_add_func("/gang_sim/fair-share", test_fair_share);
  g_test_add_func("/gang_sim/age", test_age);
  g_test_add_func("/gang_sim/priorities", test_priorities);
  g_test_add_func("/gang_sim/theory", test_theory);
  return g_test_run();
}
