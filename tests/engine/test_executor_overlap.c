/*
 * Work that communication slows, and communication and copies that work and each other slow,
 * against the integrals of their rates, on all engines.
 *
 * Lane 0 has a stream `main` with 10 s of work and streams that communicate with lane 1, whose work
 * before each comm sets when it starts.
 */
#include "sim/engine/executor.h"
#include "tests/engine/forked.h"

typedef struct {
  double begin_s, seconds; /* a comm on a stream of its own */
} Flight;

typedef struct {
  double work_s, factor, slow; /* slow: of the whole lane, 1: not */
  Flight flights[3];
  guint n;
  double end_s;
} Case;

static double main_end;
static guint32 main_beside;

static void keep_main(const OrrSpan *span, void *user) {
  if (span->stream != 0) return;
  *(double *)user = span->end_s;
  main_beside = span->beside;
}

/* As a delay, or as a transfer of as long over a link of 1 byte/s. */
static void add_flight(OrrProgram *program, const Flight *flight, gboolean transfer) {
  const OrrLinkUse use = {orr_program_link(program, "link", 1), 1};
  const OrrPhase phase = transfer
                             ? (OrrPhase){0, flight->seconds, orr_program_path(program, &use, 1)}
                             : (OrrPhase){flight->seconds, 0, ORR_NO_PATH};
  const guint32 comm = orr_program_comm(program, 2, &phase, 1);
  const guint32 label = orr_program_label(program, "send", "comm");
  const guint32 here = orr_program_stream(program, 0, "send"),
                there = orr_program_stream(program, 1, "receive");
  orr_program_join(program, here, comm, label, -1);
  orr_program_work(program, there, flight->begin_s, orr_program_label(program, "before", "compute"),
                   -1);
  orr_program_join(program, there, comm, label, -1);
}

static double replay(const Case *c, OrrEngineKind kind, gboolean transfer) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  const guint32 lane = orr_program_lane(program, "here", 1);
  orr_program_lane(program, "there", 1);
  const guint32 stream = orr_program_stream(program, lane, "main");
  OrrInterference slowed = orr_interference_none();
  slowed.compute_by_comm = c->factor;
  orr_program_interfere(program, lane, &slowed);
  if (c->slow != 1) orr_program_slow_lane(program, 0, lane, c->slow);
  for (guint i = 0; i < c->n; i++) add_flight(program, &c->flights[i], transfer);
  orr_program_work(program, stream, c->work_s, orr_program_label(program, "gemm", "compute"), -1);
  g_assert_true(orr_program_seal(program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  OrrReplay result;
  g_assert_true(orr_executor_run(program, engine, keep_main, &main_end, NULL, &result, &error));
  g_assert_no_error(error);
  return main_end;
}

/* 10 s of work, factor 1.5, so that a second beside a comm is 2/3 of one.
 *   comm 2..5     3 s at 2/3: one second lost                          11
 *   comm 8..100   2 s are left at 8 and take 3                         11
 *   comm 20..30   after the work                                       10
 *   2..5, 4..6    together 2..6: 4/3 s lost                            11.333
 *   1..2, 4..5    two times 1/3 s lost                                 10.667
 *   lane half as fast: 1 s done by 2, 1 s until 5 (1/3 each), 8 s left take 16: 21
 *   factor 1      nothing is slowed                                    10 */
static const Case cases[] = {
    {10, 1.5, 1, {{2, 3}}, 1, 11},
    {10, 1.5, 1, {{8, 92}}, 1, 11},
    {10, 1.5, 1, {{20, 10}}, 1, 10},
    {10, 1.5, 1, {{2, 3}, {4, 2}}, 2, 10 + 4.0 / 3},
    {10, 1.5, 1, {{1, 1}, {4, 1}}, 2, 10 + 2.0 / 3},
    {10, 1.5, 2, {{2, 3}}, 1, 21},
    {10, 1, 1, {{2, 3}}, 1, 10},
};

static void rates(gconstpointer kind) {
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const double end_s = replay(&cases[i], *(const OrrEngineKind *)kind, i % 2 == 1);
    g_assert_cmpfloat_with_epsilon(end_s, cases[i].end_s, 1e-12);
    const gboolean slowed = cases[i].factor > 1 && cases[i].flights[0].begin_s < end_s;
    g_assert_true((main_beside != G_MAXUINT32) == slowed);
    if (*(const OrrEngineKind *)kind == ORR_ENGINE_SIMGRID) break; /* one engine a process */
  }
}

/* Work w beside a comm of c from its begin: min(w x, w + c (1 - 1/x)), as docs/modelling/ has
 * it. */
static void closed_form(gconstpointer kind) {
  for (int i = 0; i < 50; i++) {
    const double w = 1 + i % 7, c = 0.3 * (1 + i % 11), x = 1 + 0.1 * (i % 5);
    const Case one = {w, x, 1, {{0, c}}, 1, 0};
    const double end_s = replay(&one, *(const OrrEngineKind *)kind, FALSE);
    g_assert_cmpfloat_with_epsilon(end_s, MIN(w * x, w + c * (1 - 1 / x)), 1e-12);
  }
}

/* --- The other direction --- */

/* Lane "here" computes; a comm with lane "there" and a copy of its own begin at their dates. */
typedef struct {
  OrrInterference factors;
  double work_s[2];  /* two kernels, one after the other */
  Flight comm, copy; /* of bytes, over a link of 1 byte/s each; 0 seconds: none */
  double ends[3];    /* of the work, the comm, the copy */
} Drag;

static void keep_ends(const OrrSpan *span, void *user) {
  ((double *)user)[span->stream] = span->end_s;
}

static void add_transfer(OrrProgram *program, const Flight *flight, guint32 stream,
                         guint32 partner) {
  const OrrLinkUse use = {orr_program_link(program, "link", 1), 1};
  const OrrPhase phase = {0, flight->seconds, orr_program_path(program, &use, 1)};
  if (!(flight->seconds > 0)) return;
  const guint32 label = orr_program_label(program, "transfer", "comm"),
                before = orr_program_label(program, "before", "compute");
  const guint32 comm = orr_program_comm(program, partner == stream ? 1 : 2, &phase, 1),
                begins = orr_program_event(program), clock = partner == stream ? 4 : partner;
  orr_program_work(program, clock, flight->begin_s, before, -1);
  orr_program_record(program, clock, begins);
  orr_program_wait(program, stream, begins);
  if (partner != stream) orr_program_join(program, partner, comm, label, -1);
  orr_program_join(program, stream, comm, label, -1);
}

static void replay_drag(const Drag *c, OrrEngineKind kind, double *ends, double *bytes) {
  static const char *const names[] = {"main", "comm", "copy", "partner", "clock"};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  const guint32 here = orr_program_lane(program, "here", 1),
                there = orr_program_lane(program, "there", 1);
  const guint32 work = orr_program_label(program, "gemm", "compute");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    orr_program_stream(program, i < 3 ? here : there, names[i]);
  orr_program_quiet_stream(program, 2);
  orr_program_interfere(program, here, &c->factors);
  for (guint i = 0; i < 2; i++) orr_program_work(program, 0, c->work_s[i], work, -1);
  add_transfer(program, &c->comm, 1, 3);
  add_transfer(program, &c->copy, 2, 2);
  g_assert_true(orr_program_seal(program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  OrrReplay result;
  g_assert_true(orr_executor_run(program, engine, keep_ends, ends, bytes, &result, &error));
  g_assert_no_error(error);
}

/* Factors: work by comm, work by copy, comm by work, comm by copy, copy by work, copy by comm.
 *   comm 2..5 beside 10 s of work, 1.5 times as long                       2 + 4.5
 *   comm of 4 from 8 on: 2 s at 2/3 until 10, then 2.667 left              12.667
 *   comm after the work                                                    23
 *   both slow each other: comm 0..4.5; work 10 + 4.5 (1 - 1 / 1.5)         4.5, 11.5
 *   copy of 3 from 2 on, 1.2 times as long; the work 1.25 times meanwhile  5.6, 10 + 3.6 / 5
 *   comm of 3 and copy of 2 from 20 on: comm 1.5, copy 2 times as long.
 *     The comm ends at 24.5 if the copy lasts; the copy has 2 - 2 = 0 left at 24: it ends then,
 *     and the comm has 3 - 4 / 1.5 = 1/3 left                              24.333, 24
 *   all three from 0 on: the larger factor counts. comm 2 (work) over 1.5; copy 3 (comm) over 1.2
 *     comm of 1 ends at 2; the copy has 1 - 2/3 left, times 1.2            2, 2.4
 * With factors of 1 nothing is slowed. */
static const Drag drags[] = {
    {{1, 1, 1.5, 1, 1, 1}, {5, 5}, {2, 3}, {0, 0}, {10, 6.5, 0}},
    {{1, 1, 1.5, 1, 1, 1}, {5, 5}, {8, 4}, {0, 0}, {10, 12 + 2.0 / 3, 0}},
    {{1, 1, 1.5, 1, 1, 1}, {5, 5}, {20, 3}, {0, 0}, {10, 23, 0}},
    {{1.5, 1, 1.5, 1, 1, 1}, {5, 5}, {0, 3}, {0, 0}, {11.5, 4.5, 0}},
    {{1, 1.25, 1, 1, 1.2, 1}, {5, 5}, {0, 0}, {2, 3}, {10.72, 0, 5.6}},
    {{1, 1, 1, 1.5, 1, 2}, {5, 5}, {20, 3}, {20, 2}, {10, 24 + 1.0 / 3, 24}},
    {{1, 1, 2, 1.5, 1.2, 3}, {5, 5}, {0, 1}, {0, 1}, {10, 2, 2.4}},
    {{1, 1, 1, 1, 1, 1}, {5, 5}, {2, 3}, {2, 3}, {10, 5, 5}},
};

static void transfers_are_slowed(gconstpointer kind) {
  for (guint i = 0; i < G_N_ELEMENTS(drags); i++) {
    const guint at = *(const OrrEngineKind *)kind == ORR_ENGINE_SIMGRID ? 1 : i;
    double ends[5] = {0}, bytes[2] = {0};
    replay_drag(&drags[at], *(const OrrEngineKind *)kind, ends, bytes);
    for (guint s = 0; s < 3; s++) g_assert_cmpfloat_with_epsilon(ends[s], drags[at].ends[s], 1e-9);
    g_assert_cmpfloat_with_epsilon(bytes[0], drags[at].comm.seconds, 1e-9); /* the payload */
    if (*(const OrrEngineKind *)kind == ORR_ENGINE_SIMGRID) break; /* one engine a process */
  }
}

static void refuses(gconstpointer kind G_GNUC_UNUSED) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  OrrInterference slowed = orr_interference_none();
  slowed.copy_by_comm = 0.5;
  orr_program_interfere(program, orr_program_lane(program, "here", 1), &slowed);
  g_assert_false(orr_program_seal(program, &error));
  g_assert_nonnull(strstr(error->message, "slowed by 0.5 during other activity"));
}

static const OrrEngineKind simgrid = ORR_ENGINE_SIMGRID, ideal = ORR_ENGINE_IDEAL,
                           fair = ORR_ENGINE_FAIR;

static void test_rates_simgrid(void) { forked(rates, &simgrid); }
static void test_rates_ideal(void) { forked(rates, &ideal); }
static void test_closed_form(void) { forked(closed_form, &ideal); }
static void test_drags_simgrid(void) { forked(transfers_are_slowed, &simgrid); }
static void test_drags_ideal(void) { forked(transfers_are_slowed, &ideal); }
static void test_drags_fair(void) { forked(transfers_are_slowed, &fair); }
static void test_refuses(void) { forked(refuses, &ideal); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/executor-overlap/rates-simgrid", test_rates_simgrid);
  g_test_add_func("/executor-overlap/rates-ideal", test_rates_ideal);
  g_test_add_func("/executor-overlap/closed-form", test_closed_form);
  g_test_add_func("/executor-overlap/drags-simgrid", test_drags_simgrid);
  g_test_add_func("/executor-overlap/drags-ideal", test_drags_ideal);
  g_test_add_func("/executor-overlap/drags-fair", test_drags_fair);
  g_test_add_func("/executor-overlap/refuses", test_refuses);
  return g_test_run();
}
