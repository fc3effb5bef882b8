/*
 * A program that leaves periods of its schedule out replays as the whole one: it ends when that
 * ends, its last ops have the same dates, and with the weights of its leaps it has as many ops and
 * as many seconds on every stream.
 *
 * Random jobs of replicas of pipelines under 1F1B. Transfers between stages meet collectives of the
 * stages and, on links that replicas share, each other; a link can be too wide to matter. Replicas
 * differ, so each has a period of its own, or none; all meet in the end.
 */
#include "sim/base/random.h"
#include "sim/engine/executor.h"
#include "sim/engine/program.h"

#define MOST_STAGES 4
#define MOST_REPLICAS 3

typedef struct {
  guint stages, replicas;
  guint n_links; /* that all replicas share; 0: none, with one: all transfers between stages */
  double shared; /* bandwidth of the shared links */
  double slow;   /* how much longer work takes beside communications */
  double drag;   /* how much longer communications take beside work */
  gboolean has_routines;
  gboolean has_pairs; /* two replicas meet while the third one may still be under way */
  gboolean is_uneven; /* the last third of a pass is its longest */
  gboolean has_empty; /* a pass begins with work of no length */
  gboolean is_alike;  /* replicas are */
  guint n_buckets;    /* further ops of the last micro-batch */
  gint64 micro_batches;
  guint64 seed;
} Job;

enum { COMPUTE, SEND_ON, SEND_BACK, TAKE_ON, TAKE_BACK, N_STREAMS };

typedef struct {
  OrrProgram *program;
  const Job *job;
  guint32 streams[MOST_REPLICAS][MOST_STAGES][N_STREAMS];
  guint32 nic[MOST_REPLICAS][MOST_STAGES];
  guint32 own[MOST_REPLICAS][MOST_STAGES], to[MOST_REPLICAS][MOST_STAGES][2]; /* paths */
  guint32 shared;
  guint32 passes[MOST_REPLICAS][MOST_STAGES][2]; /* routines */
  double work_s[MOST_REPLICAS][MOST_STAGES][2], bytes[MOST_REPLICAS][MOST_STAGES];
  guint32 label[2], comm, *sends[MOST_REPLICAS][MOST_STAGES][2];
} Build;

static void draw(Build *b) {
  OrrRandom random = orr_random_stream(b->job->seed, "leap");
  for (guint r = 0; r < b->job->replicas; r++) {
    if (b->job->is_alike) random = orr_random_stream(b->job->seed, "leap");
    for (guint s = 0; s < b->job->stages; s++) {
      b->bytes[r][s] = 0.5 * orr_random_unit(&random);
      for (guint k = 0; k < 2; k++) b->work_s[r][s][k] = 0.5 + (1 + k) * orr_random_unit(&random);
    }
  }
}

static void add_ops(const Build *b, guint r, guint s, guint back, gint32 tag) {
  OrrProgram *p = b->program;
  const OrrPhase phase = {0.01, b->bytes[r][s], b->own[r][s]};
  const guint32 compute = b->streams[r][s][COMPUTE];
  if (b->job->has_empty) orr_program_work(p, compute, 0, b->label[back], tag);
  for (guint i = 0; i < 3; i++) {
    const double share = !b->job->is_uneven ? 1. / 3 : i < 2 ? 0.1 : 0.8;
    orr_program_work(p, compute, b->work_s[r][s][back] * share, b->label[back], tag);
    orr_program_join(p, compute, orr_program_comm(p, 1, &phase, 1), b->comm, tag);
  }
}

static void add_paths(Build *b, guint r, guint s) {
  const OrrLinkUse own = {b->nic[r][s], 1};
  b->own[r][s] = orr_program_path(b->program, &own, 1);
  for (guint back = 0; back < 2; back++) {
    const guint to = back ? s - 1 : s + 1;
    if (to >= b->job->stages) continue;
    const OrrLinkUse uses[] = {{b->nic[r][s], 1}, {b->nic[r][to], 1}, {b->shared, 1}};
    b->to[r][s][back] = orr_program_path(b->program, uses, 2 + b->job->n_links);
  }
}

static void add_lane(Build *b, guint r, guint s) {
  static const char *const names[] = {"compute", "send-on", "send-back", "take-on", "take-back"};
  OrrProgram *p = b->program;
  const guint32 lane = orr_program_lane(p, "lane", 1);
  OrrInterference slowed = orr_interference_none();
  slowed.compute_by_comm = b->job->slow;
  slowed.comm_by_compute = b->job->drag;
  orr_program_interfere(p, lane, &slowed);
  for (guint k = 0; k < N_STREAMS; k++) b->streams[r][s][k] = orr_program_stream(p, lane, names[k]);
  add_paths(b, r, s);
  for (guint back = 0; back < 2 && b->job->has_routines; back++) {
    orr_program_begin_routine(p, b->streams[r][s][COMPUTE], G_MAXUINT32);
    add_ops(b, r, s, back, -1);
    b->passes[r][s][back] = orr_program_end_routine(p, b->streams[r][s][COMPUTE]);
  }
}

static guint32 send_of(Build *b, guint r, guint from, guint to, gint64 m) {
  guint32 *known = &b->sends[r][from][to < from][m];
  const OrrPhase phase = {0.02, 0.4, b->to[r][from][to < from]};
  if (*known == 0) *known = 1 + orr_program_comm(b->program, 2, &phase, 1);
  return *known - 1;
}

static void add_pass(Build *b, guint r, guint s, guint back, gint64 m) {
  OrrProgram *p = b->program;
  const guint32 *streams = b->streams[r][s];
  const gint32 tag = (gint32)m;
  const guint before = back ? s + 1 : s - 1, after = back ? s - 1 : s + 1;
  if (before < b->job->stages) {
    const guint32 arrived = orr_program_event(p);
    orr_program_join(p, streams[TAKE_ON + back], send_of(b, r, before, s, m), b->comm, tag);
    orr_program_record(p, streams[TAKE_ON + back], arrived);
    orr_program_wait(p, streams[COMPUTE], arrived);
  }
  if (b->job->has_routines)
    orr_program_call(p, streams[COMPUTE], b->passes[r][s][back], b->label[back], tag);
  else
    add_ops(b, r, s, back, tag);
  if (after >= b->job->stages) return;
  const guint32 done = orr_program_event(p);
  orr_program_record(p, streams[COMPUTE], done);
  orr_program_wait(p, streams[SEND_ON + back], done);
  orr_program_join(p, streams[SEND_ON + back], send_of(b, r, s, after, m), b->comm, tag);
}

static void add_schedule(Build *b, guint r, guint s) {
  const gint64 n = b->job->micro_batches, warm = MIN(b->job->stages - 1 - s, n);
  for (gint64 m = 0; m < warm; m++) add_pass(b, r, s, 0, m);
  for (gint64 m = warm; m < n; m++) {
    add_pass(b, r, s, 0, m);
    add_pass(b, r, s, 1, m - warm);
  }
  for (gint64 m = n - warm; m < n; m++) add_pass(b, r, s, 1, m);
  for (guint i = 0; i < b->job->n_buckets; i++)
    orr_program_work(b->program, b->streams[r][s][COMPUTE], 0.01, b->label[1], (gint32)n - 1);
}

/* Gradients: of two replicas first, where the job has pairs, then of all; over the NICs, and over
 * what they share. */
static void add_ends(const Build *b) {
  OrrProgram *p = b->program;
  const guint n = b->job->replicas;
  for (guint s = 0; s < b->job->stages; s++)
    for (guint all = b->job->has_pairs && n > 2 ? 0 : 1; all < 2; all++) {
      const guint members = all ? n : 2;
      OrrLinkUse uses[MOST_REPLICAS + 1];
      for (guint r = 0; r < members; r++) uses[r] = (OrrLinkUse){b->nic[r][s], 1};
      uses[members] = (OrrLinkUse){b->shared, 2};
      const OrrPhase phase = {0.1, 3, orr_program_path(p, uses, members + b->job->n_links)};
      const guint32 comm = orr_program_comm(p, members, &phase, 1);
      for (guint r = 0; r < members; r++)
        orr_program_join(p, b->streams[r][s][COMPUTE], comm, b->comm, -1);
    }
}

static OrrProgram *build(const Job *job) {
  Build b = {.program = orr_program_new(), .job = job};
  g_autoptr(GError) error = NULL;
  draw(&b);
  b.label[0] = orr_program_label(b.program, "forward", "compute");
  b.label[1] = orr_program_label(b.program, "backward", "compute");
  b.comm = orr_program_label(b.program, "comm", "tp-comm");
  b.shared = orr_program_link(b.program, "shared", job->shared);
  for (guint r = 0; r < job->replicas; r++)
    for (guint s = 0; s < job->stages; s++) b.nic[r][s] = orr_program_link(b.program, "nic", 1);
  for (guint r = 0; r < job->replicas; r++)
    for (guint s = 0; s < job->stages; s++) {
      for (guint k = 0; k < 2; k++) b.sends[r][s][k] = g_new0(guint32, job->micro_batches + 1);
      add_lane(&b, r, s);
    }
  for (guint r = 0; r < job->replicas; r++)
    for (guint s = 0; s < job->stages; s++) add_schedule(&b, r, s);
  add_ends(&b);
  for (guint i = 0; i < job->replicas * job->stages * 2; i++)
    g_free(b.sends[i / 2 / job->stages][i / 2 % job->stages][i % 2]);
  orr_program_seal(b.program, &error);
  g_assert_no_error(error);
  return b.program;
}

/* --- replays --- */

typedef struct {
  OrrReplay replay;
  OrrLeap *leaps;
  GArray *spans;
} Replayed;

static void keep_span(const OrrSpan *span, void *user) { g_array_append_vals(user, span, 1); }

static Replayed replay(const OrrProgram *program, gint64 n_left_out) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_FAIR, &error);
  const OrrLeftOut left_out = {n_left_out, 1};
  Replayed it = {.leaps = g_new0(OrrLeap, orr_program_n_lanes(program) + 1),
                 .spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan))};
  orr_executor_run_briefly(program, engine, n_left_out ? &left_out : NULL, keep_span, it.spans,
                           it.leaps, &it.replay, &error);
  g_assert_no_error(error);
  return it;
}

static void clear(Replayed *it) {
  g_free(it->leaps);
  g_array_unref(it->spans);
}

typedef struct {
  double n_ops, seconds, last_s;
} Sum;

static void add_up(const OrrProgram *program, const Replayed *it, Sum *sums) {
  for (guint i = 0; i < it->spans->len; i++) {
    const OrrSpan *span = &g_array_index(it->spans, OrrSpan, i);
    const OrrLeap *leap = &it->leaps[orr_program_stream_lane(program, span->stream)];
    const gboolean is_repeated = span->end_s > leap->from_s && span->end_s <= leap->at_s;
    const double weight = is_repeated ? 1 + leap->times : 1;
    sums[span->stream].n_ops += weight * MAX(span->n_ops, 1);
    sums[span->stream].seconds += weight * (span->end_s - span->started_s);
    sums[span->stream].last_s = MAX(sums[span->stream].last_s, span->end_s);
  }
}

typedef struct {
  guint n_leaps, n_made_up, n_failed;
} Counts;

/* Each leap is a look that was taken, and where no lane leapt every look has a reason. */
static void check_looks(const OrrProgram *program, const Replayed *it) {
  gboolean has_leapt = FALSE;
  for (guint lane = 0; lane < orr_program_n_lanes(program); lane++)
    has_leapt |= it->leaps[lane].times > 0;
  guint64 n_refused = 0;
  for (guint i = ORR_LEAP_TAKEN + 1; i < ORR_N_LEAP_LOOKS; i++) n_refused += it->replay.looks[i];
  g_assert_cmpint(it->replay.looks[ORR_LEAP_TAKEN] > 0, ==, has_leapt);
  g_assert_true(has_leapt || n_refused > 0);
  g_assert_cmpuint(it->replay.looks[ORR_LEAP_DATED], ==, 0);
}

static void check(const Job *job, gint64 n_left_out, Counts *counts) {
  Job shorter = *job;
  shorter.micro_batches -= n_left_out;
  g_autoptr(OrrProgram) whole = build(job), part = build(&shorter);
  Replayed a = replay(whole, 0), b = replay(part, n_left_out);
  const guint n = orr_program_n_streams(whole);
  g_autofree Sum *x = g_new0(Sum, n), *y = g_new0(Sum, n);
  g_test_message("seed %" G_GUINT64_FORMAT, job->seed);
  check_looks(part, &b);
  if (b.replay.n_left_out > 0) {
    counts->n_failed++;
  } else {
    for (guint lane = 0; lane < orr_program_n_lanes(part); lane++)
      *(b.leaps[lane].times > 0 ? &counts->n_leaps : &counts->n_made_up) += 1;
    add_up(whole, &a, x);
    add_up(part, &b, y);
    g_assert_cmpfloat_with_epsilon(b.replay.end_s / a.replay.end_s, 1, 1e-8);
    for (guint s = 0; s < n; s++) {
      g_assert_cmpfloat_with_epsilon(x[s].n_ops, y[s].n_ops, 1e-6);
      g_assert_cmpfloat_with_epsilon(x[s].seconds, y[s].seconds, 1e-7 * a.replay.end_s);
      g_assert_cmpfloat_with_epsilon(x[s].last_s, y[s].last_s, 1e-8 * a.replay.end_s);
    }
  }
  clear(&a);
  clear(&b);
}

/* Runs of routines that transfers break long after their ops have ended. */
static void uneven_jobs(void) {
  Counts counts = {0};
  for (guint64 seed = 1; seed <= 60; seed++) {
    const Job job = {.stages = MOST_STAGES,
                     .replicas = 1,
                     .shared = 50,
                     .slow = 1,
                     .drag = 1,
                     .has_routines = TRUE,
                     .is_uneven = TRUE,
                     .micro_batches = 40,
                     .seed = seed};
    check(&job, 24, &counts);
  }
  g_test_message("%u lanes leapt, %u were made up for, %u jobs failed", counts.n_leaps,
                 counts.n_made_up, counts.n_failed);
  /* 168 with the first lane's least period alone */
  g_assert_cmpuint(counts.n_leaps, >, 180);
}

/* Passes begin with work of no length, which ends on the date of the pass before. */
static void jobs_with_empty_work(void) {
  Counts counts = {0};
  for (guint64 seed = 1; seed <= 60; seed++) {
    const Job job = {.stages = MOST_STAGES,
                     .replicas = 1,
                     .shared = 50,
                     .slow = 1,
                     .drag = 1,
                     .has_routines = seed % 2 > 0,
                     .has_empty = TRUE,
                     .micro_batches = 40,
                     .seed = seed};
    check(&job, 24, &counts);
  }
  g_test_message("%u lanes leapt, %u were made up for, %u jobs failed", counts.n_leaps,
                 counts.n_made_up, counts.n_failed);
  g_assert_cmpuint(counts.n_leaps, >, 160); /* 148 where a period is cut by dates */
}

/* The last micro-batch has more ops than all others together, so the middle op is one of its. */
static void jobs_with_buckets(void) {
  Counts counts = {0};
  for (guint64 seed = 1; seed <= 10; seed++) {
    const Job job = {.stages = 2,
                     .replicas = 1,
                     .shared = 50,
                     .slow = 1,
                     .drag = 1,
                     .n_buckets = 500,
                     .micro_batches = 40,
                     .seed = seed};
    check(&job, 24, &counts);
  }
  g_assert_cmpuint(counts.n_failed, ==, 0);
  g_assert_cmpuint(counts.n_leaps, >, 10);
}

/* Replicas that do the same at the same dates leap on the same date, each by itself. */
static void alike_replicas(void) {
  Counts counts = {0};
  for (guint64 seed = 1; seed <= 20; seed++) {
    const Job job = {.stages = 2,
                     .replicas = MOST_REPLICAS,
                     .shared = 50,
                     .slow = 1,
                     .drag = 1,
                     .is_alike = TRUE,
                     .micro_batches = 40,
                     .seed = seed};
    check(&job, 24, &counts);
    Job shorter = job;
    shorter.micro_batches -= 24;
    g_autoptr(OrrProgram) part = build(&shorter);
    Replayed it = replay(part, 24);
    for (guint r = 1; r < job.replicas; r++)
      g_assert_cmpfloat(it.leaps[r * job.stages].at_s, ==, it.leaps[0].at_s);
    g_assert_cmpuint(it.replay.looks[ORR_LEAP_AT_ONCE], ==, 0);
    clear(&it);
  }
  g_assert_cmpuint(counts.n_leaps, >, 90); /* of 120 lanes */
}

static void random_jobs(void) {
  Counts counts = {0};
  for (guint64 seed = 1; seed <= 120; seed++) {
    OrrRandom random = orr_random_stream(seed, "job");
    Job job = {.stages = 2 + (guint)orr_random_below(&random, MOST_STAGES - 1),
               .replicas = 1 + (guint)orr_random_below(&random, MOST_REPLICAS),
               .n_links = (guint)orr_random_below(&random, 2),
               .shared = orr_random_below(&random, 2) ? 50 : 0.8,
               .slow = orr_random_below(&random, 2) ? 1.2 : 1,
               .has_routines = orr_random_below(&random, 2) > 0,
               .has_pairs = orr_random_below(&random, 2) > 0,
               .micro_batches = 40,
               .seed = seed};
    const gint64 n_left_out = 20 + (gint64)orr_random_below(&random, 8);
    job.drag = orr_random_below(&random, 3) ? 1 : 1.3;
    check(&job, n_left_out, &counts);
  }
  g_test_message("%u lanes leapt, %u were made up for, %u jobs failed", counts.n_leaps,
                 counts.n_made_up, counts.n_failed);
  g_assert_cmpuint(counts.n_leaps, >, 200);
  g_assert_cmpuint(counts.n_made_up, >, 10);
  g_assert_cmpuint(counts.n_failed, <, 30);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/engine/executor-leap/random-jobs", random_jobs);
  g_test_add_func("/engine/executor-leap/uneven-jobs", uneven_jobs);
  g_test_add_func("/engine/executor-leap/alike-replicas", alike_replicas);
  g_test_add_func("/engine/executor-leap/jobs-with-buckets", jobs_with_buckets);
  g_test_add_func("/engine/executor-leap/jobs-with-empty-work", jobs_with_empty_work);
  return g_test_run();
}
