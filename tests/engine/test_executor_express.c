/*
 * Routines: called, a program replays as if their ops were written out each time; in one go
 * (orr_executor_run_briefly), each op begins and ends when it does op by op, whatever comes
 * between. What comes after a run ends at the same date to the last bit.
 *
 * Random pipelines of N_LANES stages. Each stage's passes are WORK, collectives, and collectives
 * beside WORK over a link of its own; what it sends to the next stage shares the links of both.
 */
#include "sim/base/random.h"
#include "sim/engine/executor.h"
#include "sim/engine/program.h"

#define N_LANES 5
#define N_PASSES 24
#define N_PIECES 7

typedef enum { WRITTEN, CALLED } Form;

typedef struct {
  double work_s, bytes, latency_s;
  gboolean is_beside;
} Piece;

typedef struct {
  guint64 seed;
  Form form;
  double factor;
  gboolean overlaps; /* the next pass begins before the last one's send is over */
} Ask;

typedef struct {
  OrrProgram *program;
  const Ask *ask;
  Piece pieces[N_LANES][N_PIECES];
  guint32 streams[N_LANES][4]; /* compute, tp, send, receive */
  guint32 own[N_LANES], links[N_LANES];
  guint32 work, comm;
} Build;

enum { COMPUTE, TP, SEND, RECEIVE };

static guint32 comm_of(const Build *b, guint lane, const Piece *piece) {
  const OrrPhase phases[] = {{piece->latency_s, piece->bytes, b->own[lane]},
                             {piece->latency_s / 2, 0, ORR_NO_PATH}};
  return orr_program_comm(b->program, 1, phases, 2);
}

static void add_beside(const Build *b, guint lane, const Piece *piece) {
  OrrProgram *p = b->program;
  const guint32 compute = b->streams[lane][COMPUTE], tp = b->streams[lane][TP],
                comm = comm_of(b, lane, piece);
  if (b->ask->form == CALLED) {
    orr_program_beside(p, compute, comm, b->comm, -1);
    orr_program_work(p, compute, piece->work_s, b->work, -1);
    orr_program_meet(p, compute);
    return;
  }
  const guint32 ready = orr_program_event(p), done = orr_program_event(p);
  orr_program_record(p, compute, ready);
  orr_program_wait(p, tp, ready);
  orr_program_join(p, tp, comm, b->comm, -1);
  orr_program_record(p, tp, done);
  orr_program_work(p, compute, piece->work_s, b->work, -1);
  orr_program_wait(p, compute, done);
}

static void add_pieces(const Build *b, guint lane) {
  for (guint i = 0; i < N_PIECES; i++) {
    const Piece *piece = &b->pieces[lane][i];
    if (piece->is_beside) {
      add_beside(b, lane, piece);
      continue;
    }
    orr_program_work(b->program, b->streams[lane][COMPUTE], piece->work_s, b->work, -1);
    orr_program_join(b->program, b->streams[lane][COMPUTE], comm_of(b, lane, piece), b->comm, -1);
  }
}

static guint32 routine_of(const Build *b, guint lane) {
  orr_program_begin_routine(b->program, b->streams[lane][COMPUTE], b->streams[lane][TP]);
  add_pieces(b, lane);
  return orr_program_end_routine(b->program, b->streams[lane][COMPUTE]);
}

/* To the next lane: this one's compute goes on at once, or when it has been sent. */
static void add_transfer(const Build *b, guint lane, guint32 comm) {
  OrrProgram *p = b->program;
  const guint32 compute = b->streams[lane][COMPUTE], send = b->streams[lane][SEND];
  const guint32 ready = orr_program_event(p), sent = orr_program_event(p);
  orr_program_record(p, compute, ready);
  orr_program_wait(p, send, ready);
  orr_program_join(p, send, comm, b->comm, -1);
  orr_program_record(p, send, sent);
  if (!b->ask->overlaps) orr_program_wait(p, compute, sent);
}

static void add_lane(const Build *b, guint lane, guint32 *transfers) {
  OrrProgram *p = b->program;
  const guint32 routine = b->ask->form == CALLED ? routine_of(b, lane) : 0;
  const OrrLinkUse uses[2] = {{b->links[lane], 1}, {b->links[(lane + 1) % N_LANES], 2}};
  const guint32 path = orr_program_path(p, uses, 2);
  const OrrPhase phase = {0.07, 0.9, path};
  for (guint pass = 0; pass < N_PASSES; pass++) {
    if (lane > 0) {
      const guint32 arrived = orr_program_event(p);
      orr_program_join(p, b->streams[lane][RECEIVE], transfers[pass], b->comm, -1);
      orr_program_record(p, b->streams[lane][RECEIVE], arrived);
      orr_program_wait(p, b->streams[lane][COMPUTE], arrived);
    }
    if (b->ask->form == CALLED)
      orr_program_call(p, b->streams[lane][COMPUTE], routine, b->work, (gint32)pass);
    else
      add_pieces(b, lane);
    if (lane + 1 == N_LANES) continue;
    transfers[pass] = orr_program_comm(p, 2, &phase, 1);
    add_transfer(b, lane, transfers[pass]);
  }
}

static void draw_pieces(Build *b) {
  OrrRandom random = orr_random_stream(b->ask->seed, "express");
  for (guint lane = 0; lane < N_LANES; lane++)
    for (guint i = 0; i < N_PIECES; i++)
      b->pieces[lane][i] =
          (Piece){orr_random_unit(&random), orr_random_unit(&random),
                  0.2 * orr_random_unit(&random), orr_random_below(&random, 3) == 0};
}

static OrrProgram *build(const Ask *ask) {
  static const char *const names[] = {"compute", "tp", "send", "receive"};
  Build b = {.program = orr_program_new(), .ask = ask};
  guint32 transfers[N_PASSES];
  g_autoptr(GError) error = NULL;
  OrrInterference slowed = orr_interference_none();
  slowed.compute_by_comm = ask->factor;
  draw_pieces(&b);
  b.work = orr_program_label(b.program, "work", "compute");
  b.comm = orr_program_label(b.program, "comm", "tp-comm");
  for (guint lane = 0; lane < N_LANES; lane++) {
    const guint32 number = orr_program_lane(b.program, "lane", 1);
    orr_program_interfere(b.program, number, &slowed);
    for (guint s = 0; s < G_N_ELEMENTS(names); s++)
      b.streams[lane][s] = orr_program_stream(b.program, number, names[s]);
    b.links[lane] = orr_program_link(b.program, "link", 1 + 0.1 * lane);
    const OrrLinkUse use = {b.links[lane], 1};
    b.own[lane] = orr_program_path(b.program, &use, 1);
  }
  for (guint lane = 0; lane < N_LANES; lane++) add_lane(&b, lane, transfers);
  orr_program_seal(b.program, &error);
  g_assert_no_error(error);
  return b.program;
}

/* --- replays --- */

static void keep_span(const OrrSpan *span, void *user) { g_array_append_vals(user, span, 1); }

static GArray *replay(const OrrProgram *program, gboolean briefly, OrrReplay *ret_replay) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_FAIR, &error);
  GArray *spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  if (briefly)
    orr_executor_run_briefly(program, engine, NULL, keep_span, spans, NULL, ret_replay, &error);
  else
    orr_executor_run(program, engine, keep_span, spans, NULL, ret_replay, &error);
  g_assert_no_error(error);
  return spans;
}

/* The ops of a span of several. */
static void spell(const OrrProgram *program, const OrrSpan *span, GArray *spans) {
  g_autofree double *begins = orr_program_routine_begins(program, span->routine);
  guint n;
  const OrrOp *ops = orr_program_routine_ops(program, span->routine, &n);
  for (guint i = span->first; i < span->first + span->n_ops; i++) {
    OrrSpan one = *span;
    one.n_ops = 0;
    one.label = ops[i].label;
    one.begin_s = span->begin_s + begins[i] - begins[span->first];
    one.end_s = span->begin_s + begins[i + 1] - begins[span->first];
    if (ops[i].kind == ORR_OP_BESIDE) {
      one.stream++; /* tp follows compute */
      one.end_s = one.begin_s + orr_program_comm_alone(program, ops[i].target);
    }
    if (ops[i].kind != ORR_OP_MEET) g_array_append_val(spans, one);
  }
}

static gint by_stream_and_begin(gconstpointer a, gconstpointer b) {
  const OrrSpan *x = a, *y = b;
  if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
  return (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

static guint expand(const OrrProgram *program, GArray **spans) {
  GArray *all = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  guint n_runs = 0;
  for (guint i = 0; i < (*spans)->len; i++) {
    const OrrSpan *span = &g_array_index(*spans, OrrSpan, i);
    n_runs += span->n_ops > 0;
    if (span->n_ops > 0)
      spell(program, span, all);
    else
      g_array_append_vals(all, span, 1);
  }
  g_array_sort(all, by_stream_and_begin);
  g_array_unref(*spans);
  *spans = all;
  return n_runs;
}

static void assert_same(const GArray *a, const GArray *b, double tolerance_s) {
  g_assert_cmpuint(a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++) {
    const OrrSpan *x = &g_array_index(a, OrrSpan, i), *y = &g_array_index(b, OrrSpan, i);
    g_assert_cmpuint(x->stream, ==, y->stream);
    g_assert_cmpuint(x->label, ==, y->label);
    g_assert_cmpfloat_with_epsilon(x->begin_s, y->begin_s, tolerance_s);
    g_assert_cmpfloat_with_epsilon(x->end_s, y->end_s, tolerance_s);
  }
}

static void check(const Ask *ask) {
  const Ask unrolled = {ask->seed, WRITTEN, ask->factor, ask->overlaps};
  g_autoptr(OrrProgram) written = build(&unrolled), called = build(ask);
  OrrReplay by_op, in_call, in_one_go;
  GArray *a = replay(written, FALSE, &by_op), *b = replay(called, FALSE, &in_call),
         *c = replay(called, TRUE, &in_one_go);
  expand(written, &a);
  expand(called, &b);
  g_assert_cmpuint(expand(called, &c), >, N_LANES * N_PASSES / 2);
  assert_same(a, b, G_MINDOUBLE); /* to the last bit */
  g_assert_cmpuint(in_call.n_events, <=, by_op.n_events);
  assert_same(b, c, 1e-10 * in_call.end_s);
  g_assert_cmpfloat(in_one_go.end_s, ==, in_call.end_s);
  g_assert_cmpuint(in_one_go.n_events, <, in_call.n_events);
  g_array_unref(a);
  g_array_unref(b);
  g_array_unref(c);
}

static void random_pipelines(void) {
  static const double factors[] = {1, 1.4};
  for (guint64 seed = 1; seed <= 60; seed++)
    check(&(Ask){seed, CALLED, factors[seed % 2], seed % 4 < 2});
}

/* Three passes of work 1 s, a collective of 2 s, work 1 s, and nothing else: 12 s; an event a
 * pass. */
static void alone(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  g_autoptr(GError) error = NULL;
  const guint32 stream =
      orr_program_stream(program, orr_program_lane(program, "lane", 1), "compute");
  const OrrLinkUse use = {orr_program_link(program, "link", 1), 1};
  const OrrPhase phase = {0.5, 1.5, orr_program_path(program, &use, 1)};
  const guint32 label = orr_program_label(program, "op", "compute");
  orr_program_begin_routine(program, stream, G_MAXUINT32);
  orr_program_work(program, stream, 1, label, -1);
  orr_program_join(program, stream, orr_program_comm(program, 1, &phase, 1), label, -1);
  orr_program_work(program, stream, 1, label, -1);
  const guint32 routine = orr_program_end_routine(program, stream);
  for (gint32 pass = 0; pass < 3; pass++) orr_program_call(program, stream, routine, label, pass);
  g_assert_true(orr_program_seal(program, &error));
  g_assert_cmpuint(orr_program_n_ops(program), ==, 9);
  OrrReplay result;
  g_autoptr(GArray) spans = replay(program, TRUE, &result);
  g_assert_cmpfloat_with_epsilon(result.end_s, 12, 1e-12);
  g_assert_cmpuint(result.n_events, ==, 3);
  g_assert_cmpuint(spans->len, ==, 3);
  g_assert_cmpint(g_array_index(spans, OrrSpan, 2).tag, ==, 2);
  g_assert_cmpuint(g_array_index(spans, OrrSpan, 2).n_ops, ==, 3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/express/alone", alone);
  g_test_add_func("/express/random-pipelines", random_pipelines);
  return g_test_run();
}
