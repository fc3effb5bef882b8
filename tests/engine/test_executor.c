/*
 * Replay of programs on both engines: streams, events, comms, faults, deadlocks, the order of
 * spans.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/base/fault.h"
#include "sim/base/random.h"
#include "sim/engine/executor.h"
#include "tests/engine/forked.h"

#define G 1e9

static GArray *spans; /* OrrSpan */

static void keep_span(const OrrSpan *span, void *user) {
  g_assert_true(user == &spans);
  g_array_append_vals(spans, span, 1);
}

static const OrrSpan *span_at(guint i) {
  g_assert_cmpuint(i, <, spans->len);
  return &g_array_index(spans, OrrSpan, i);
}

/* Seals and replays; the spans are in `spans` then. */
static OrrReplay replay(OrrProgram *program, OrrEngineKind kind, double *link_bytes) {
  g_autoptr(GError) error = NULL;
  if (spans == NULL) spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  g_array_set_size(spans, 0);
  g_assert_true(orr_program_seal(program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  g_assert_no_error(error);
  OrrReplay result = {-1, 0, 0};
  g_assert_true(orr_executor_run(program, engine, keep_span, &spans, link_bytes, &result, &error));
  g_assert_no_error(error);
  for (guint i = 1; i < spans->len; i++) {
    const OrrSpan *a = span_at(i - 1), *b = span_at(i);
    g_assert_true(a->end_s < b->end_s || (a->end_s == b->end_s && a->stream <= b->stream));
  }
  return result;
}

static void assert_span(guint i, guint32 stream, double begin_s, double started_s, double end_s) {
  const OrrSpan *span = span_at(i);
  g_assert_cmpuint(span->stream, ==, stream);
  g_assert_cmpfloat_with_epsilon(span->begin_s, begin_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(span->started_s, started_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(span->end_s, end_s, 1e-12);
}

/* A program of ranks with one stream each */

static guint32 work_label, comm_label;

static OrrProgram *new_program(guint n_streams) {
  OrrProgram *program = orr_program_new();
  work_label = orr_program_label(program, "gemm", "compute");
  comm_label = orr_program_label(program, "all-reduce", "comm");
  for (guint i = 0; i < n_streams; i++) {
    g_autofree char *name = g_strdup_printf("rank %u", i);
    orr_program_stream(program, orr_program_lane(program, name, 1), "main");
  }
  return program;
}

static void work(OrrProgram *program, guint32 stream, double duration_s) {
  orr_program_work(program, stream, duration_s, work_label, -1);
}

static guint32 transfer_comm(OrrProgram *program, guint32 n_members, double latency_s, double bytes,
                             guint32 path) {
  const OrrPhase phase = {latency_s, bytes, path};
  return orr_program_comm(program, n_members, &phase, 1);
}

static void join(OrrProgram *program, guint32 stream, guint32 comm) {
  orr_program_join(program, stream, comm, comm_label, -1);
}

/* Rank 0: 1 s, 2 s. Rank 1: 2 s, 1 s. Ends by time, equal ones by stream: (0, 1), (1, 2), (0,
 * 3), (1, 3). */
static void works(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(2);
  orr_program_work(program, 0, 1, work_label, 7);
  work(program, 0, 2);
  work(program, 1, 2);
  work(program, 1, 1);
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, NULL);
  g_assert_cmpfloat(result.end_s, ==, 3);
  g_assert_cmpuint(result.n_transfers, ==, 0);
  g_assert_cmpuint(result.n_events, ==, 0); /* nothing here needs the engine */
  assert_span(0, 0, 0, 0, 1);
  assert_span(1, 1, 0, 0, 2);
  assert_span(2, 0, 1, 1, 3);
  assert_span(3, 1, 2, 2, 3);
  g_assert_cmpint(span_at(0)->tag, ==, 7);
  g_assert_cmpuint(span_at(0)->comm, ==, G_MAXUINT32);
  g_assert_cmpuint(span_at(0)->label, ==, work_label);
}

/* Rank 1 waits for what rank 0 records at 1 s, works 1 s: 2 s. Rank 0 waits for what rank 1
 * records then, although it is itself at 5 s: no wait. Rank 2 comes at 4.5 s to what happened at
 * 1 s: no wait either. */
static void events(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(3);
  guint32 there = orr_program_event(program), back = orr_program_event(program);
  work(program, 0, 1);
  orr_program_record(program, 0, there);
  work(program, 0, 4);
  orr_program_wait(program, 0, back);
  work(program, 0, 1);
  orr_program_wait(program, 1, there);
  work(program, 1, 1);
  orr_program_record(program, 1, back);
  work(program, 2, 4.5);
  orr_program_wait(program, 2, there);
  work(program, 2, 1);
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, NULL);
  g_assert_cmpfloat(result.end_s, ==, 6);
  assert_span(0, 0, 0, 0, 1);
  assert_span(1, 1, 1, 1, 2);
  assert_span(2, 2, 0, 0, 4.5);
  assert_span(3, 0, 1, 1, 5);
  assert_span(4, 2, 4.5, 4.5, 5.5);
  assert_span(5, 0, 5, 5, 6);
}

/* Three ranks arrive at 3, 1, 2 s: the comm starts at 3 s. Phases: 0.5 s, then 4 G over weights
 * 2 on 4 G/s: 2 s; then 0.25 s and no bytes; then 0.25 s and 1 G over 4 / 2 G/s: 0.5 s; then 1
 * s. End: 3 + 0.5 + 2 + 0.25 + 0.25 + 0.5 + 1 = 7.5 s. The link carries 2 * (4 + 1) G. */
static void rendezvous(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(3);
  orr_program_link(program, "nvlink", 4 * G);
  guint32 path = orr_program_path(program, &(OrrLinkUse){0, 2}, 1);
  const OrrPhase phases[] = {
      {0.5, 4 * G, path}, {0.25, 0, path}, {0.25, 1 * G, path}, {1, 5 * G, ORR_NO_PATH}};
  guint32 comm = orr_program_comm(program, 3, phases, 4);
  for (guint32 i = 0; i < 3; i++) {
    work(program, i, 1 + (i + 2) % 3);
    join(program, i, comm);
    work(program, i, 1);
  }
  double link_bytes = -1;
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, &link_bytes);
  g_assert_cmpfloat(result.end_s, ==, 8.5);
  g_assert_cmpuint(result.n_transfers, ==, 2);
  g_assert_cmpfloat(link_bytes, ==, 10 * G);
  for (guint32 i = 0; i < 3; i++) {
    guint arrival = 1 + (i + 2) % 3;
    assert_span(arrival - 1, i, 0, 0, arrival);
    assert_span(3 + i, i, arrival, 3, 7.5);
    g_assert_cmpuint(span_at(3 + i)->comm, ==, comm);
    assert_span(6 + i, i, 7.5, 7.5, 8.5);
  }
}

/* A non-blocking collective on a stream of its own beside work: after the first second of work
 * it sends for 3 s, while the work goes on for 2 s; what needs the result begins at 4 s. */
static void overlap(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(2); /* 0: compute, 1: comm */
  orr_program_link(program, "nic", G);
  guint32 path = orr_program_path(program, &(OrrLinkUse){0, 1}, 1);
  guint32 ready = orr_program_event(program), over = orr_program_event(program);
  work(program, 0, 1);
  orr_program_record(program, 0, ready);
  work(program, 0, 2);
  orr_program_wait(program, 0, over);
  work(program, 0, 1);
  orr_program_wait(program, 1, ready);
  join(program, 1, transfer_comm(program, 1, 0, 3 * G, path));
  orr_program_record(program, 1, over);
  replay(program, *(const OrrEngineKind *)kind, NULL);
  assert_span(0, 0, 0, 0, 1);
  assert_span(1, 0, 1, 1, 3);
  assert_span(2, 1, 1, 1, 4);
  assert_span(3, 0, 4, 4, 5);
}

/* Two ranks send 1 G each over one link of 1 G/s from 0 s: 2 s when they share it, 1 s where
 * they cannot know. */
static void contention(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(2);
  orr_program_link(program, "spine", G);
  guint32 path = orr_program_path(program, &(OrrLinkUse){0, 1}, 1);
  join(program, 0, transfer_comm(program, 1, 0, G, path));
  join(program, 1, transfer_comm(program, 1, 0, G, path));
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, NULL);
  g_assert_cmpfloat(result.end_s, ==, *(const OrrEngineKind *)kind == ORR_ENGINE_SIMGRID ? 2 : 1);
}

/* 10 G on 1 G/s with the link down in [2 s, 5 s]: 13 s. A fault of an unused link, and one after
 * the end (at 100 s), change nothing. */
static void faults(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(1);
  orr_program_link(program, "nic", G);
  orr_program_link(program, "unused", G);
  guint32 path = orr_program_path(program, &(OrrLinkUse){0, 1}, 1);
  join(program, 0, transfer_comm(program, 1, 0, 10 * G, path));
  orr_program_fault(program, 2, 0, 0);
  orr_program_fault(program, 5, 0, 1);
  orr_program_fault(program, 3, 1, 0);
  orr_program_fault(program, 100, 0, 0.5);
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, NULL);
  g_assert_cmpfloat(result.end_s, ==, 13);
}

static void expect_stuck(OrrProgram *program, OrrEngineKind kind, const char *const *expected) {
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_program_seal(program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  OrrReplay result = {-1, 0, 0};
  g_assert_false(orr_executor_run(program, engine, NULL, NULL, NULL, &result, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_STUCK);
  g_assert_cmpfloat(result.end_s, ==, -1);
  for (guint i = 0; expected[i] != NULL; i++)
    if (strstr(error->message, expected[i]) == NULL)
      g_error("\"%s\" does not say \"%s\"", error->message, expected[i]);
}

/* Rank 0 is in comm 0 and waits for rank 1, which waits for an event that rank 0 records after
 * it. Rank 2 is done. */
static void deadlock(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(3);
  guint32 event = orr_program_event(program), comm = transfer_comm(program, 2, 0, 0, ORR_NO_PATH);
  work(program, 0, 1);
  join(program, 0, comm);
  orr_program_record(program, 0, event);
  orr_program_wait(program, 1, event);
  join(program, 1, comm);
  work(program, 2, 5);
  expect_stuck(program, *(const OrrEngineKind *)kind,
               (const char *[]){
                   "2 streams wait",
                   "rank 0/main, op 1: comm 0 \"all-reduce\", 1 of 2 there; still to come: rank "
                   "1/main at its op 1",
                   "rank 1/main, op 0: event 0, to be recorded by rank 0/main at its op 2", NULL});
}

static void link_stays_down(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(1);
  orr_program_link(program, "leaf 3 up", G);
  guint32 path = orr_program_path(program, &(OrrLinkUse){0, 1}, 1);
  join(program, 0, transfer_comm(program, 1, 0, 10 * G, path));
  orr_program_fault(program, 2, 0, 0);
  expect_stuck(program, *(const OrrEngineKind *)kind,
               (const char *[]){"rank 0 has waited since 2 s for leaf 3 up, which went down at 2 s "
                                "and stays down (all-reduce).",
                                NULL});
}

/* No member, no op, no stream: nothing happens, at 0 s. */
static void empty(gconstpointer kind) {
  g_autoptr(OrrProgram) program = new_program(1);
  transfer_comm(program, 0, 1, 0, ORR_NO_PATH);
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, NULL);
  g_assert_cmpfloat(result.end_s, ==, 0);
  g_assert_cmpuint(spans->len, ==, 0);
}

static void unsealed(gconstpointer kind) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = new_program(1);
  g_autoptr(OrrEngine) engine = orr_engine_new(*(const OrrEngineKind *)kind, &error);
  OrrReplay result;
  g_assert_false(orr_executor_run(program, engine, NULL, NULL, NULL, &result, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
}

/* A million streams, each waiting for the one before: the first unblocks them all, one by one,
 * with no recursion. */
static void long_chain(gconstpointer kind) {
  const guint n = 1000000;
  g_autoptr(OrrProgram) program = orr_program_new();
  guint32 lane = orr_program_lane(program, "rank", 1);
  for (guint i = 0; i < n; i++) orr_program_stream(program, lane, "s");
  guint32 event = orr_program_event(program);
  for (guint i = n - 1; i > 0; i--) { /* the last one waits first */
    orr_program_wait(program, i, event);
    event = orr_program_event(program);
    orr_program_record(program, i, event);
  }
  orr_program_wait(program, 0, event);
  event = 0;
  guint32 starter = orr_program_stream(program, lane, "starter");
  orr_program_work(program, starter, 1, orr_program_label(program, "start", "compute"), -1);
  orr_program_record(program, starter, event);
  OrrReplay result = replay(program, *(const OrrEngineKind *)kind, NULL);
  g_assert_cmpfloat(result.end_s, ==, 1);
}

/* Random programs: ops are handed out in one global order, so nothing can deadlock. Pairs of
 * neighbours (i, i + 1) talk; with @shared, over links that several share, else over links of
 * their own (uncontended: one stream has all of them). */

#define N_RANKS 24

static OrrProgram *random_program(guint64 seed, guint n_steps, gboolean shared, gboolean fold) {
  OrrRandom random = orr_random_stream(seed, "program");
  OrrProgram *program = new_program(N_RANKS);
  guint32 paths[N_RANKS];
  for (guint i = 0; i < 3 * N_RANKS; i++)
    orr_program_link(program, "link", G * (1 + orr_random_unit(&random)));
  for (guint i = 0; i < N_RANKS; i++) {
    OrrLinkUse uses[3] = {{3 * i, 1}, {3 * i + 1, 2 + i}, {3 * i + 2, 2}};
    if (shared)
      uses[0].link = 3 * (i / 6 * 6); /* six pairs over one; links of one pair alone still fold */
    paths[i] = orr_program_path(program, uses, 3);
  }
  for (guint i = 0; i < 3 * N_RANKS && !fold; i++) orr_program_keep_link(program, i);
  for (guint i = 0; i < n_steps; i++) {
    guint32 a = (guint32)orr_random_below(&random, N_RANKS - 1);
    double duration_s = orr_random_unit(&random), bytes = 2 * G * orr_random_unit(&random);
    if (orr_random_below(&random, 2) == 0)
      work(program, a, duration_s);
    else if (orr_random_below(&random, 3) == 0) {
      guint32 event = orr_program_event(program);
      orr_program_record(program, a, event);
      orr_program_wait(program, a + 1, event);
    } else {
      guint32 comm = transfer_comm(program, 2, 1e-3 * duration_s, bytes, paths[a]);
      join(program, a, comm);
      join(program, a + 1, comm);
    }
  }
  return program;
}

static GArray *replay_random(guint64 seed, gboolean shared, gboolean fold, OrrEngineKind kind) {
  g_autoptr(OrrProgram) program = random_program(seed, 2000, shared, fold);
  replay(program, kind, NULL);
  g_assert_cmpint(orr_program_uncontended(program), ==, !shared);
  g_assert_true(orr_program_n_kept_links(program) < 3 * N_RANKS || !fold);
  return g_steal_pointer(&spans);
}

/* The same spans, to 1e-12; equal ends may come in another order, so they are matched by stream
 * and place in it. */
static void assert_same_spans(GArray *a, GArray *b) {
  g_assert_cmpuint(a->len, ==, b->len);
  g_assert_cmpuint(a->len, >, 1000);
  for (guint32 stream = 0; stream < N_RANKS; stream++) {
    for (guint i = 0, j = 0; i < a->len; i++) {
      const OrrSpan *x = &g_array_index(a, OrrSpan, i);
      if (x->stream != stream) continue;
      while (g_array_index(b, OrrSpan, j).stream != stream) j++;
      const OrrSpan *y = &g_array_index(b, OrrSpan, j++);
      g_assert_cmpfloat_with_epsilon(x->begin_s, y->begin_s, 1e-12 * (1 + x->begin_s));
      g_assert_cmpfloat_with_epsilon(x->started_s, y->started_s, 1e-12 * (1 + x->started_s));
      g_assert_cmpfloat_with_epsilon(x->end_s, y->end_s, 1e-12 * (1 + x->end_s));
    }
  }
}

static void engines_agree(gconstpointer kind) {
  g_autoptr(GArray) a = replay_random(1, FALSE, TRUE, *(const OrrEngineKind *)kind);
  g_autoptr(GArray) b = replay_random(1, FALSE, TRUE, ORR_ENGINE_IDEAL);
  assert_same_spans(a, b);
}

/* What the children of one test tell each other */
typedef struct {
  guint n;
  OrrSpan spans[4096];
} Shared;

typedef struct {
  Shared *shared;
  gboolean fold;
} Half;

static void write_half(gconstpointer data) {
  const Half *half = data;
  g_autoptr(GArray) got = replay_random(2, TRUE, half->fold, ORR_ENGINE_SIMGRID);
  g_assert_cmpuint(got->len, <=, G_N_ELEMENTS(half->shared->spans));
  half->shared->n = got->len;
  memcpy(half->shared->spans, got->data, got->len * sizeof(OrrSpan));
}

static GArray *replay_in_child(gboolean fold) {
  Half half = {
      mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), fold};
  g_assert_true(half.shared != MAP_FAILED);
  forked(write_half, &half);
  GArray *got = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  g_array_append_vals(got, half.shared->spans, half.shared->n);
  munmap(half.shared, sizeof(Shared));
  return got;
}

/* Links that share: folded away or all kept, the same times. */
static void folding_is_exact(void) {
  g_autoptr(GArray) folded = replay_in_child(TRUE);
  g_autoptr(GArray) all = replay_in_child(FALSE);
  assert_same_spans(folded, all);
}

static void same_twice(void) {
  g_autoptr(GArray) first = replay_in_child(TRUE);
  g_autoptr(GArray) second = replay_in_child(TRUE);
  g_assert_cmpmem(first->data, first->len * sizeof(OrrSpan), second->data,
                  second->len * sizeof(OrrSpan));
}

/* Costs, with -m perf */

static void ignore_span(const OrrSpan *span, void *user) { (void)span, (void)user; }

static void measure(gconstpointer kind) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = random_program(3, 2000000, FALSE, TRUE);
  g_autoptr(OrrEngine) engine = orr_engine_new(*(const OrrEngineKind *)kind, &error);
  g_test_timer_start();
  g_assert_true(orr_program_seal(program, &error));
  double seal_s = g_test_timer_elapsed();
  OrrReplay result;
  g_test_timer_start();
  g_assert_true(orr_executor_run(program, engine, ignore_span, NULL, NULL, &result, &error));
  double us = 1e6 * g_test_timer_elapsed();
  guint64 n_ops = orr_program_n_ops(program);
  g_test_minimized_result(
      us / n_ops, "%.1e ops, %.1e transfers: %.3f us an op with spans, %.3f us an op to seal",
      (double)n_ops, (double)result.n_transfers, us / n_ops, 1e6 * seal_s / n_ops);
}

static void measure_works(gconstpointer kind) {
  const guint n = 4000000;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = new_program(64);
  for (guint i = 0; i < n; i++) work(program, i % 64, 1e-6 * (1 + i % 1000));
  g_assert_true(orr_program_seal(program, &error));
  OrrReplay result;
  for (guint with_spans = 0; with_spans < 2; with_spans++) {
    g_autoptr(OrrEngine) engine = orr_engine_new(*(const OrrEngineKind *)kind, &error);
    g_test_timer_start();
    g_assert_true(orr_executor_run(program, engine, with_spans ? ignore_span : NULL, NULL, NULL,
                                   &result, &error));
    double us = 1e6 * g_test_timer_elapsed() / n;
    g_test_minimized_result(us, "%.3f us a WORK op %s spans", us, with_spans ? "with" : "without");
  }
}

/* Each body in a child, on both engines */

typedef struct {
  const char *name;
  void (*body)(gconstpointer kind);
} Case;

static const Case cases[] = {
    {"works", works},           {"events", events},
    {"rendezvous", rendezvous}, {"overlap", overlap},
    {"contention", contention}, {"faults", faults},
    {"deadlock", deadlock},     {"link-stays-down", link_stays_down},
    {"empty", empty},           {"unsealed", unsealed},
    {"long-chain", long_chain}, {"engines-agree", engines_agree},
};

static const OrrEngineKind simgrid = ORR_ENGINE_SIMGRID, lone = ORR_ENGINE_IDEAL;

static void on_simgrid(gconstpointer data) { forked(((const Case *)data)->body, &simgrid); }

static void on_ideal(gconstpointer data) { forked(((const Case *)data)->body, &lone); }

static void speed(void) {
  forked(measure_works, &lone);
  forked(measure, &simgrid);
  forked(measure, &lone);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = g_strdup_printf("/executor/simgrid/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], on_simgrid);
    g_autofree char *ideal_path = g_strdup_printf("/executor/ideal/%s", cases[i].name);
    g_test_add_data_func(ideal_path, &cases[i], on_ideal);
  }
  g_test_add_func("/executor/folding-is-exact", folding_is_exact);
  g_test_add_func("/executor/same-twice", same_twice);
  if (g_test_perf()) g_test_add_func("/executor/speed", speed);
  return g_test_run();
}
