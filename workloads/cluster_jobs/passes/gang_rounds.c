/*
 * gang_rounds.c - a scheduler in rounds over several kinds of GPUs (Gavel, Narayanan et al., OSDI
 * 2020, section 5).
 *
 *   round 1          round 2          round 3
 *   | j1 on v100     | j3 on v100     | ...
 *   | j2 on k80      | j1 on p100     |
 *
 * An allotment says which fraction x(m, k) of time each job should have each kind. A round gives
 * each kind, in turn, to the jobs of the highest priority that still fit:
 *
 *   priority(m, k) = x(m, k) / f(m, k)      f: what m has had of all time on k since the last reset
 *
 * A job that ends leaves its GPUs idle until the round ends; the round ends early when all its jobs
 * have ended. Fractions are computed anew after a job came, ended, or changed its speed, but not
 * more often than every `reset`; the time had since begins at half a round. A job that came since
 * has no fraction and does not run, and what would be its GPUs by priority stays idle, as in Gavel.
 *
 * A job that waits for others comes when the round ends in which the last of them ends.
 *
 * Invariants: at most a kind's GPUs are held in a round, by whole gangs on one kind; a job runs
 * until its work is done, at its kind's rate, or until it has run for its limit; a run repeats.
 *
 * GPUs are counted, nodes not seen: gangs are taken to be consolidated.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"
#include "workloads/cluster_jobs/passes/gang_pass.h"

/* The rounds' state of a live job. */
typedef struct {
  OrrGangJob *job;
  guint on, was_on; /* its kind in this round and the last; G_MAXUINT: none */
  double x[ORR_GANG_KINDS], had[ORR_GANG_KINDS]; /* fractions; time on each kind since the reset */
  double deficit[ORR_GANG_KINDS];
  gint64 end_us;   /* of its share of this round */
  gboolean is_new; /* it came since fractions were last computed */
} Live;

typedef struct {
  const OrrGangRules *rules;
  const OrrGangRounds *how;
  guint n_kinds;
  double capacity[ORR_GANG_KINDS], had[ORR_GANG_KINDS]; /* had: by all jobs since the reset */
  GArray *live;                                         /* of Live, by submission */
  GArray *left;           /* of OrrGangLeft: jobs that have ended since the last reset */
  GHashTable *dependents; /* gang_after.c */
  GPtrArray *ready;       /* of OrrGangJob: jobs whose last `after` has ended in this round */
  OrrRandom random;
  OrrMersenne mersenne;
  gint64 now_us, reset_us; /* reset -1: none yet */
  gboolean needs_reset;
  OrrGangTotals totals;
} Rounds;

static Live *live_at(const Rounds *rounds, guint i) {
  return &g_array_index(rounds->live, Live, i);
}

/* --- Fractions --- */

ORR_LEAST_FIRST(compare_left, OrrGangLeft, job)

static void allot(Rounds *rounds) {
  const guint n = rounds->live->len, kinds = rounds->n_kinds;
  g_autofree OrrGangJob **jobs = g_new(OrrGangJob *, n + 1);
  g_autofree double *x = g_new0(double, (gsize)n *kinds + 1);
  for (guint i = 0; i < n; i++) {
    jobs[i] = live_at(rounds, i)->job;
    memcpy(x + (gsize)i * kinds, live_at(rounds, i)->x, sizeof(double) * kinds);
  }
  g_array_sort(rounds->left, compare_left);
  OrrGangAllot ask = {.n = n,
                      .n_kinds = kinds,
                      .jobs = jobs,
                      .capacity = rounds->capacity,
                      .now_us = rounds->now_us,
                      .random = &rounds->random,
                      .mersenne = &rounds->mersenne,
                      .kinds = rounds->rules->kinds,
                      .left = (const OrrGangLeft *)(gconstpointer)rounds->left->data,
                      .n_left = rounds->left->len,
                      .x = x};
  rounds->how->allotment->fill(&ask);
  g_array_set_size(rounds->left, 0);
  for (guint i = 0; i < n; i++)
    memcpy(live_at(rounds, i)->x, x + (gsize)i * kinds, sizeof(double) * kinds);
}

/* From here on every job has had half a round, and what it lacks is carried in its deficit. */
static void reset(Rounds *rounds) {
  const double half = (double)rounds->how->length_us / 2;
  const double since = rounds->reset_us < 0 ? 0 : (double)(rounds->now_us - rounds->reset_us);
  memset(rounds->had, 0, sizeof rounds->had);
  for (guint i = 0; i < rounds->live->len; i++) {
    Live *live = live_at(rounds, i);
    live->is_new = FALSE;
    for (guint k = 0; k < rounds->n_kinds; k++) {
      live->deficit[k] += live->x[k] * since - (live->had[k] - half);
      live->had[k] = half;
      rounds->had[k] += half;
    }
  }
  rounds->reset_us =
      rounds->now_us > 0 ? rounds->now_us : -1; /* Gavel takes second 0 for no reset */
  rounds->needs_reset = FALSE;
  allot(rounds);
}

/* --- The choice of a round --- */

typedef struct {
  Live *live;
  double priority, deficit, x;
} Bid;

static int compare_bids(gconstpointer a, gconstpointer b) {
  const Bid *p = a, *q = b;
  if (p->priority != q->priority) return p->priority > q->priority ? -1 : 1;
  if (p->deficit != q->deficit) return p->deficit > q->deficit ? -1 : 1;
  if (p->x != q->x) return p->x > q->x ? -1 : 1;
  return p->live < q->live ? -1 : p->live > q->live;
}

static Bid bid_of(const Rounds *rounds, Live *live, guint kind) {
  const double part = rounds->had[kind] > 0 ? live->had[kind] / rounds->had[kind] : 0;
  const double x = live->x[kind];
  return (Bid){live, part > 0 ? x / part : x * 1e9, live->deficit[kind], x};
}

static void choose_for(Rounds *rounds, guint kind) {
  const guint n = rounds->live->len;
  g_autofree Bid *bids = g_new(Bid, n + 1);
  double room = rounds->capacity[kind];
  guint n_bids = 0;
  for (guint i = 0; i < n; i++) {
    Live *live = live_at(rounds, i);
    if (live->on == G_MAXUINT && live->job->rates[kind] > 0)
      bids[n_bids++] = bid_of(rounds, live, kind);
  }
  qsort(bids, n_bids, sizeof *bids, compare_bids);
  for (guint i = 0; i < n_bids; i++) {
    Live *live = bids[i].live;
    if (rounds->how->allotment->waits && !(bids[i].priority > 0)) break;
    if ((double)live->job->gpus > room) continue;
    room -= (double)live->job->gpus;
    live->on = kind;
  }
}

/* Kinds in their order, which should be the fastest first; in a random one for the blind. */
static void choose(Rounds *rounds) {
  guint kinds[ORR_GANG_KINDS];
  for (guint i = 0; i < rounds->live->len; i++) {
    Live *live = live_at(rounds, i);
    live->was_on = live->on;
    live->on = G_MAXUINT;
  }
  for (guint k = 0; k < rounds->n_kinds; k++) kinds[k] = k;
  for (guint k = rounds->n_kinds; rounds->how->allotment->is_blind && k > 1; k--) {
    const guint other = (guint)orr_random_below(&rounds->random, k), last = kinds[k - 1];
    kinds[k - 1] = kinds[other];
    kinds[other] = last;
  }
  for (guint k = 0; k < rounds->n_kinds; k++) choose_for(rounds, kinds[k]);
  for (guint i = 0; i < rounds->live->len; i++)
    if (live_at(rounds, i)->is_new) live_at(rounds, i)->on = G_MAXUINT;
}

/* --- Time --- */

/* What happens until @to_us, in which jobs hold their GPUs for @held GPU-microseconds of each kind
 * and @n_waiting wait for @waiting GPUs. */
typedef struct {
  double held[ORR_GANG_KINDS], waiting;
  guint n_waiting;
} Course;

static void advance(Rounds *rounds, gint64 to_us, const Course *course) {
  const double span_us = (double)(to_us - rounds->now_us);
  OrrGangMoment rates = {.waiting = course->waiting, .jobs_waiting = course->n_waiting};
  if (!(span_us > 0)) return;
  for (guint k = 0; k < rounds->n_kinds; k++) {
    const double held = course->held[k] / span_us, free = rounds->capacity[k] - held;
    rates.held += held;
    rates.free += free;
    rates.largest = fmax(rates.largest, free);
  }
  for (guint i = 0; i < rounds->live->len; i++)
    rounds->totals.demand += (double)live_at(rounds, i)->job->gpus * span_us;
  rounds->totals.free += rates.free * span_us;
  rounds->totals.stranded += (rates.free - rates.largest) * span_us;
  if (rounds->rules->history)
    orr_gang_history_pass(rounds->rules->history, rounds->now_us, to_us, &rates);
  rounds->now_us = to_us;
}

/* Its kind stands for its place: nodes are not seen. */
static void note_start(const Rounds *rounds, const Live *live) {
  OrrGangJob *job = live->job;
  const OrrGangShare share = {live->on, (gint32)job->gpus};
  if (!rounds->rules->history) return;
  if (!job->shares) job->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  g_array_set_size(job->shares, 0);
  g_array_append_val(job->shares, share);
  orr_gang_history_start(rounds->rules->history, job, rounds->now_us);
}

static void note_stop(const Rounds *rounds, OrrGangJob *job, gint64 at_us, const char *why) {
  if (rounds->rules->history) orr_gang_history_stop(rounds->rules->history, job, at_us, why);
}

/* A job that was elsewhere, or nowhere, starts again. */
static gint64 restart_of(const Rounds *rounds, const Live *live) {
  const gint64 start_us = rounds->how->start_us;
  if (live->was_on == live->on) return 0;
  if (live->job->first_start_us < 0) return start_us;
  return start_us +
         (live->job->restart_us >= 0 ? live->job->restart_us : rounds->rules->restart_us);
}

/* Time left over that at its first speed. */
static double left_of(const OrrGangJob *job) {
  return (double)job->left_us / (double)MAX(job->work_us, 1) * orr_gang_phases_time(job->phases);
}

static guint phase_of(const OrrGangJob *job) {
  return job->phases && job->left_us > 0 ? orr_gang_phases_index(job->phases, left_of(job)) : 0;
}

/* Whole steps of @job within @time_us; all of it where a step is longer, or not known. */
static gint64 whole_steps_us(const OrrGangJob *job, double rate, gint64 time_us) {
  const double step_us =
      job->steps > 0 && !job->phases ? (double)job->work_us / job->steps / rate : 0;
  const double whole = step_us > 0 ? floor((double)time_us / step_us + 1e-9) : 0;
  return whole >= 1 ? llround(whole * step_us) : time_us;
}

/* Run time that @job has until its limit. */
static gint64 until_limit_us(const Rounds *rounds, const OrrGangJob *job) {
  const gint64 limit_us = orr_gang_job_limit_us(job, rounds->rules->limit_us);
  return limit_us > 0 ? limit_us - job->run_us : G_MAXINT64;
}

/* Runs @live in this round; sets when its part of it ends. */
static void run_job(Rounds *rounds, Live *live) {
  OrrGangJob *job = live->job;
  const gint64 restart_us = MIN(restart_of(rounds, live), rounds->how->length_us);
  const double rate = job->rates[live->on];
  const gint64 needed_us = (gint64)ceil((double)job->left_us / rate);
  const gint64 room_us = whole_steps_us(job, rate, rounds->how->length_us - restart_us);
  const gint64 limit_us = until_limit_us(rounds, job);
  const gint64 time_us = MIN(limit_us, MIN(needed_us, room_us));
  if (job->first_start_us < 0) job->first_start_us = rounds->now_us;
  const guint phase = phase_of(job);
  job->is_timed_out = time_us == limit_us && time_us < needed_us;
  job->left_us = time_us == needed_us || job->is_timed_out
                     ? 0
                     : job->left_us - llround((double)time_us * rate);
  if (phase_of(job) != phase) rounds->needs_reset = TRUE;
  job->run_us += time_us;
  job->overhead_us += restart_us;
  job->held_us += time_us + restart_us;
  live->end_us = rounds->now_us + time_us + restart_us;
  note_start(rounds, live);
  live->had[live->on] += (double)(time_us + restart_us);
  rounds->had[live->on] += (double)(time_us + restart_us);
  rounds->totals.used += (double)job->gpus * (double)(time_us + restart_us);
  rounds->totals.overhead += (double)job->gpus * (double)restart_us;
}

static void count_stops(Rounds *rounds) {
  for (guint i = 0; i < rounds->live->len; i++) {
    Live *live = live_at(rounds, i);
    if (live->was_on == G_MAXUINT || live->on == live->was_on) continue;
    live->job->preemptions++;
    rounds->totals.preemptions++;
    if (live->on == G_MAXUINT) note_stop(rounds, live->job, rounds->now_us, "preempted");
  }
}

static void note_left(Rounds *rounds, const Live *live) {
  OrrGangLeft left = {live->job, 0};
  for (guint k = 1; k < rounds->n_kinds; k++)
    if (live->x[k] > live->x[left.kind]) left.kind = k;
  g_array_append_val(rounds->left, left);
}

/* Takes out the jobs that have ended. */
static void drop_ended(Rounds *rounds) {
  guint kept = 0;
  for (guint i = 0; i < rounds->live->len; i++) {
    const Live live = *live_at(rounds, i);
    if (live.job->left_us > 0 || live.job->first_start_us < 0) {
      *live_at(rounds, kept++) = live;
      continue;
    }
    live.job->end_us = live.end_us;
    live.job->run_gpu_us = (double)live.job->gpus * (double)live.job->run_us;
    if (live.job->is_timed_out) rounds->totals.timed_out += live.job->run_gpu_us;
    live.job->demand = rounds->totals.demand - live.job->demand_begin;
    note_stop(rounds, live.job, live.end_us, "done");
    g_clear_pointer(&live.job->shares, g_array_unref);
    note_left(rounds, &live);
    orr_gang_after_ended(rounds->dependents, live.job, rounds->ready);
    rounds->needs_reset = TRUE;
  }
  g_array_set_size(rounds->live, kept);
}

/* One round; FALSE: no job runs in it. */
static gboolean run_round(Rounds *rounds) {
  const gint64 begin_us = rounds->now_us;
  gint64 end_us = begin_us;
  double held = 0, all = 0;
  Course course = {.n_waiting = 0};
  choose(rounds);
  count_stops(rounds);
  for (guint i = 0; i < rounds->live->len; i++) {
    Live *live = live_at(rounds, i);
    if (live->on == G_MAXUINT) {
      course.n_waiting++;
      course.waiting += (double)live->job->gpus;
      continue;
    }
    run_job(rounds, live);
    held += (double)live->job->gpus;
    course.held[live->on] += (double)live->job->gpus * (double)(live->end_us - begin_us);
    end_us = MAX(end_us, live->end_us);
  }
  advance(rounds, end_us, &course);
  for (guint k = 0; k < rounds->n_kinds; k++) all += rounds->capacity[k];
  if (course.n_waiting > 0)
    rounds->totals.free_waiting += (all - held) * (double)(rounds->now_us - begin_us);
  rounds->totals.most_waiting = MAX(rounds->totals.most_waiting, course.n_waiting);
  rounds->totals.events++;
  drop_ended(rounds);
  return held > 0;
}

static void submit(Rounds *rounds, OrrGangJob *job) {
  Live live = {.job = job, .on = G_MAXUINT, .was_on = G_MAXUINT, .is_new = TRUE};
  for (guint k = 0; k < rounds->n_kinds; k++) live.had[k] = (double)rounds->how->length_us / 2;
  job->demand_begin = rounds->totals.demand;
  g_array_append_val(rounds->live, live);
  rounds->needs_reset = TRUE;
}

static guint submit_all(Rounds *rounds, GArray *jobs, guint submitted) {
  for (; submitted < jobs->len; submitted++) {
    OrrGangJob *job = &g_array_index(jobs, OrrGangJob, submitted);
    if (job->submit_us > rounds->now_us) break;
    if (orr_gang_after_submitted(job)) submit(rounds, job);
  }
  return submitted;
}

/* Jobs that waited for those which have ended. */
static void join(Rounds *rounds) {
  for (guint i = 0; i < rounds->ready->len; i++) submit(rounds, rounds->ready->pdata[i]);
  g_ptr_array_set_size(rounds->ready, 0);
}

/* No job runs: until then all that are live wait. */
static void wait_until(Rounds *rounds, gint64 to_us) {
  Course course = {.n_waiting = rounds->live->len};
  for (guint i = 0; i < rounds->live->len; i++)
    course.waiting += (double)live_at(rounds, i)->job->gpus;
  advance(rounds, to_us, &course);
}

static void loop(Rounds *rounds, GArray *jobs) {
  guint submitted = 0;
  if (rounds->rules->history) rounds->rules->history->begin_us = rounds->now_us;
  while (submitted < jobs->len || rounds->live->len > 0) {
    submitted = submit_all(rounds, jobs, submitted);
    if (rounds->needs_reset &&
        (rounds->reset_us < 0 || rounds->now_us - rounds->reset_us >= rounds->how->reset_us))
      reset(rounds);
    const gboolean has_run = run_round(rounds);
    join(rounds);
    if (has_run) continue;
    const gint64 next_us = submitted < jobs->len
                               ? g_array_index(jobs, OrrGangJob, submitted).submit_us
                               : rounds->now_us;
    if (rounds->live->len > 0) rounds->reset_us = -1; /* nobody runs: share anew at once */
    if (rounds->live->len == 0 || !rounds->needs_reset)
      wait_until(rounds, MAX(next_us, rounds->now_us));
  }
}

static void prepare(Rounds *rounds, GArray *jobs) {
  for (guint k = 0; k < rounds->n_kinds; k++)
    rounds->capacity[k] =
        (double)rounds->rules->kinds[k].n_nodes * (double)rounds->rules->kinds[k].gpus_per_node;
  ORR_EACH(OrrGangJob, job, jobs) {
    job->left_us = MAX(job->work_us, 1);
    job->run_us = job->overhead_us = 0;
    job->first_start_us = job->promised_us = -1;
    job->held_us = job->slowed_us = job->failed_us = 0;
    job->preemptions = job->failures = job->span = job->n_after = 0;
    job->is_timed_out = FALSE;
    job->asked_gpus = job->gpus;
    job->energy_j = job->demand = 0;
    job->n_nodes = 1;
  }
}

/* A restart is paid by a job that did not run in the round before, on the same kind; rounds.start
 * by any start, the first, too. */
static void simulate(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals) {
  const OrrGangRounds *how = &rules->rounds;
  Rounds rounds = {.rules = rules, .how = how, .n_kinds = rules->n_kinds, .reset_us = -1};
  rounds.live = g_array_new(FALSE, FALSE, sizeof(Live));
  rounds.left = g_array_new(FALSE, FALSE, sizeof(OrrGangLeft));
  rounds.random = orr_random_stream(how->seed, "rounds");
  orr_mersenne_init(&rounds.mersenne, how->seed);
  rounds.ready = g_ptr_array_new();
  prepare(&rounds, jobs);
  rounds.dependents = orr_gang_after_open(jobs);
  if (jobs->len > 0) rounds.now_us = g_array_index(jobs, OrrGangJob, 0).submit_us;
  rounds.totals.begin_us = rounds.now_us;
  loop(&rounds, jobs);
  rounds.totals.end_us = rounds.now_us;
  g_clear_pointer(&rounds.dependents, g_hash_table_unref);
  g_ptr_array_unref(rounds.ready);
  g_array_unref(rounds.left);
  g_array_unref(rounds.live);
  *ret_totals = rounds.totals;
}

static const OrrGangExclude excludes[] = {
    {ORR_WITH_FILLS | ORR_WITH_QUEUES | ORR_WITH_VICTIMS,
     "goes without backfill, queues and preemption.take: rounds give every GPU anew"},
    {ORR_WITH_ORDERED,
     "gives GPUs by its allotment and counts them: want order fifo, placement first-fit, blocked "
     "wait, kind-choice first, period 0 s and depth 0"},
    {ORR_WITH_CHECKPOINT_COST,
     "charges restarts and no checkpoints: want preemption.checkpoint-cost 0 s"},
    {ORR_WITH_STOPPED,
     "may stop a job at the end of any round, with all its work kept: want preemption without "
     "checkpoint, min-run, mode and charge"},
    {ORR_WITH_SPEED, "counts GPUs and sees no nodes: it goes without speed by place"},
    {ORR_WITH_FAILS, "counts GPUs and sees no nodes: it goes without failures"},
    {ORR_WITH_RESOURCES, "counts GPUs and knows neither node-cpus nor node-memory"},
    {0, NULL}};
const OrrGangPass orr_gang_rounds = {
    .key = "policy.rounds", .applies = ORR_WITH_ROUNDS, .excludes = excludes, .simulate = simulate};
