/*
 * Work that communication slows, against the integral of its rate, on both engines.
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
  orr_program_slow_beside(program, lane, c->factor);
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

static void refuses(gconstpointer kind G_GNUC_UNUSED) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  orr_program_slow_beside(program, orr_program_lane(program, "here", 1), 0.5);
  g_assert_false(orr_program_seal(program, &error));
  g_assert_nonnull(strstr(error->message, "slowed by 0.5 during communication"));
}

static const OrrEngineKind simgrid = ORR_ENGINE_SIMGRID, ideal = ORR_ENGINE_IDEAL;

static void test_rates_simgrid(void) { forked(rates, &simgrid); }
static void test_rates_ideal(void) { forked(rates, &ideal); }
static void test_closed_form(void) { forked(closed_form, &ideal); }
static void test_refuses(void) { forked(refuses, &ideal); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/executor-overlap/rates-simgrid", test_rates_simgrid);
  g_test_add_func("/executor-overlap/rates-ideal", test_rates_ideal);
  g_test_add_func("/executor-overlap/closed-form", test_closed_form);
  g_test_add_func("/executor-overlap/refuses", test_refuses);
  return g_test_run();
}
