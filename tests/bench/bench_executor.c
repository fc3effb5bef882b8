/*
 * The executor: WORK that coalesces, WORK between events of another stream, and communications on
 * both engines.
 */
#include "sim/engine/executor.h"
#include "tests/bench/benchmark.h"

#define N_LANES 16
#define N_ROUNDS 20000

typedef void (*Build)(OrrProgram *program, guint32 label);

typedef struct {
  Build build;
  OrrEngineKind kind;
  gboolean sealing; /* time the seal, not the replay */
} Replay;

/* Nothing between the WORK ops of a lane: one engine event a lane. */
static void build_work(OrrProgram *program, guint32 label) {
  for (guint lane = 0; lane < N_LANES; lane++) {
    const guint32 stream =
        orr_program_stream(program, orr_program_lane(program, "lane", 1), "compute");
    for (guint i = 0; i < N_ROUNDS; i++)
      orr_program_work(program, stream, 1e-6 * (1 + i % 7), label, (gint32)i);
  }
}

/* Two streams that hand over to each other: WORK, RECORD, WAIT in turn. */
static void build_events(OrrProgram *program, guint32 label) {
  for (guint lane = 0; lane < N_LANES; lane++) {
    const guint32 owner = orr_program_lane(program, "lane", 1);
    const guint32 pair[] = {orr_program_stream(program, owner, "compute"),
                            orr_program_stream(program, owner, "dp")};
    for (guint i = 0; i < N_ROUNDS / 3; i++) {
      const guint32 event = orr_program_event(program);
      orr_program_work(program, pair[i % 2], 1e-6, label, (gint32)i);
      orr_program_record(program, pair[i % 2], event);
      orr_program_wait(program, pair[1 - i % 2], event);
    }
  }
}

/* Pairs of neighbours exchange over a link of their own: WORK, then a latency and a transfer of
 * both. */
static void build_comms(OrrProgram *program, guint32 label) {
  for (guint pair = 0; pair < N_LANES / 2; pair++) {
    const guint32 path = orr_program_path(
        program, &(OrrLinkUse){orr_program_link(program, "link", 1e9 + pair), 1}, 1);
    const guint32 a = orr_program_stream(program, orr_program_lane(program, "a", 1), "compute");
    const guint32 b = orr_program_stream(program, orr_program_lane(program, "b", 1), "compute");
    for (guint i = 0; i < N_ROUNDS / 4; i++) {
      const guint32 comm = orr_program_comm(program, 2, &(OrrPhase){1e-6, 1e3, path}, 1);
      orr_program_work(program, a, 1e-6, label, (gint32)i);
      orr_program_join(program, a, comm, label, (gint32)i);
      orr_program_work(program, b, 2e-6, label, (gint32)i);
      orr_program_join(program, b, comm, label, (gint32)i);
    }
  }
}

static double ops_per_second(gconstpointer data) {
  const Replay *asked = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  g_autoptr(OrrEngine) engine = orr_engine_new(asked->kind, &error);
  bench_check(error);
  asked->build(program, orr_program_label(program, "kernel", "gemm"));
  const double n_ops = (double)orr_program_n_ops(program);
  gint64 begin_us = g_get_monotonic_time();
  orr_program_seal(program, &error);
  bench_check(error);
  if (asked->sealing) return n_ops / bench_since(begin_us);
  OrrReplay replay;
  begin_us = g_get_monotonic_time();
  orr_executor_run(program, engine, NULL, NULL, NULL, &replay, &error);
  bench_check(error);
  return n_ops / bench_since(begin_us);
}

int main(void) {
  const Replay work = {build_work, ORR_ENGINE_SIMGRID, FALSE},
               events = {build_events, ORR_ENGINE_SIMGRID, FALSE};
  const Replay comms = {build_comms, ORR_ENGINE_SIMGRID, FALSE},
               alone = {build_comms, ORR_ENGINE_IDEAL, FALSE};
  bench_row("executor: WORK, coalesced", bench_figure(ops_per_second, &work), "ops/s");
  bench_row("executor: WORK, RECORD, WAIT between two streams",
            bench_figure(ops_per_second, &events), "ops/s");
  bench_row("executor: WORK, COMM of pairs, SimGrid", bench_figure(ops_per_second, &comms),
            "ops/s");
  bench_row("executor: WORK, COMM of pairs, ideal", bench_figure(ops_per_second, &alone), "ops/s");
  bench_row("executor: seal of a program, 40,000 communications",
            bench_figure(ops_per_second, &(Replay){build_comms, ORR_ENGINE_IDEAL, TRUE}), "ops/s");
  return 0;
}
