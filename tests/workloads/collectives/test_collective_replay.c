/*
 * test_collective_replay.c - a plan's predicted time is what the engines take for it.
 *
 * Plans become comms of a program as workloads make them: a phase is a delay and a transfer over a
 * path. Alone on the fabric each must take predicted_s: 1e-9 relative on both engines.
 */
#include "sim/engine/executor.h"
#include "tests/engine/forked.h"
#include "tests/workloads/collectives/test_collective_fixture.h"

static OrrProgram *program_on(const Machine *machine) {
  OrrProgram *program = orr_program_new();
  for (gint64 link = 0; link < orr_fabric_n_links(machine->fabric); link++) {
    g_autofree char *name = orr_fabric_link_name(machine->fabric, (guint32)link);
    orr_program_link(program, name, orr_fabric_link_bandwidth(machine->fabric, (guint32)link));
  }
  return program;
}

static guint32 add_comm(OrrProgram *program, const OrrCollectivePlan *plan) {
  g_autofree OrrPhase *phases = g_new0(OrrPhase, plan->phases->len);
  for (guint i = 0; i < plan->phases->len; i++) {
    const OrrCollectivePhase *phase = phase_of(plan, i);
    phases[i] =
        (OrrPhase){.latency_s = phase->latency_s, .bytes = phase->bytes, .path = ORR_NO_PATH};
    if (phase->n_uses > 0) phases[i].path = orr_program_path(program, phase->uses, phase->n_uses);
  }
  return orr_program_comm(program, 1, phases, plan->phases->len);
}

static double replay(OrrProgram *program, OrrEngineKind kind) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  g_assert_no_error(error);
  orr_program_seal(program, &error);
  g_assert_no_error(error);
  OrrReplay result;
  orr_executor_run(program, engine, NULL, NULL, NULL, &result, &error);
  g_assert_no_error(error);
  return result.end_s;
}

typedef struct {
  OrrEngineKind engine;
  guint n;
  gint64 first, stride;
} Case;

/* All algorithms and operations of a group, one after another on one stream: the ends add up. */
static void check_case(gconstpointer data) {
  const Case *c = data;
  g_auto(Machine) machine;
  machine_init(&machine, 6, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(c->n, c->first, c->stride);
  g_autoptr(OrrProgram) program = program_on(&machine);
  guint32 stream = orr_program_stream(program, orr_program_lane(program, "rank 0", 1), "comm");
  guint32 label = orr_program_label(program, "collective", "comm");
  double predicted_s = 0;
  for (guint e = 0; orr_collective_registry.entries[e]; e++)
    for (OrrCollectiveOp op = ORR_ALL_REDUCE; op < ORR_N_COLLECTIVES; op++) {
      const OrrCollectiveAlgorithm *algorithm = (gconstpointer)orr_collective_registry.entries[e];
      OrrCollectiveContext context = {.fabric = machine.fabric};
      OrrCollectiveCall call = {.op = op, .bytes = 3e8, .gpus = gpus, .n = c->n};
      if (!algorithm->supports(&context, &call)) continue;
      g_autoptr(OrrCollectivePlan) plan =
          plan_on(&machine, op, 3e8, gpus, c->n, algorithm->entry.name);
      predicted_s += plan->predicted_s;
      orr_program_join(program, stream, add_comm(program, plan), label, -1);
    }
  assert_close(replay(program, c->engine), predicted_s, 1e-9);
}

static void test_ideal(void) {
  static const Case cases[] = {{ORR_ENGINE_IDEAL, 2, 0, 1},  {ORR_ENGINE_IDEAL, 8, 8, 1},
                               {ORR_ENGINE_IDEAL, 6, 3, 8},  {ORR_ENGINE_IDEAL, 48, 0, 1},
                               {ORR_ENGINE_IDEAL, 12, 0, 4}, {ORR_ENGINE_IDEAL, 13, 2, 3}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) check_case(&cases[i]);
}

static void test_simgrid(void) {
  static const Case cases[] = {{ORR_ENGINE_SIMGRID, 2, 0, 1},
                               {ORR_ENGINE_SIMGRID, 8, 8, 1},
                               {ORR_ENGINE_SIMGRID, 6, 3, 8},
                               {ORR_ENGINE_SIMGRID, 48, 0, 1}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) forked(check_case, &cases[i]);
}

/* The contract: S bytes over n ranks on an idle ring take 2(n-1) hops + 2(n-1)/n S/B, on both
 * engines. */
static void check_ring(gconstpointer data) {
  const Case *c = data;
  g_auto(Machine) machine;
  machine_init(&machine, c->n, 8, c->n, 1);
  g_autofree gint64 *gpus = group_new(c->n, 0, 8);
  g_autoptr(OrrProgram) program = program_on(&machine);
  guint32 stream = orr_program_stream(program, orr_program_lane(program, "rank 0", 1), "comm");
  g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_REDUCE, 1e9, gpus, c->n, "ring");
  orr_program_join(program, stream, add_comm(program, plan),
                   orr_program_label(program, "ring", "comm"), -1);
  double n = c->n;
  assert_close(replay(program, c->engine), 2 * (n - 1) * NIC_HOP + 2 * (n - 1) / n * 1e9 / NIC,
               1e-9);
}

static void test_ring(void) {
  static const guint counts[] = {2, 3, 8, 64, 512};
  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    Case ideal = {.engine = ORR_ENGINE_IDEAL, .n = counts[i]},
         simgrid = {.engine = ORR_ENGINE_SIMGRID, .n = counts[i]};
    check_ring(&ideal);
    forked(check_ring, &simgrid);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective/replay/ideal", test_ideal);
  g_test_add_func("/collective/replay/simgrid", test_simgrid);
  g_test_add_func("/collective/replay/ring", test_ring);
  return g_test_run();
}
