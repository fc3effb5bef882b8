/*
 * test_engine_choice.c - which engine replays what, the prediction behind `engine: auto`, and what
 * the results say of it.
 */
#include <math.h>
#include <string.h>

#include "sim/engine/program_effort.h"
#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

/* --- Programs --- */

/* @n_streams streams, each of which sends @n_sends times over the same @n_links links. */
static OrrProgram *program_of(guint n_streams, guint n_sends, guint n_links) {
  OrrProgram *program = orr_program_new();
  g_autoptr(GError) error = NULL;
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, n_links);
  const guint32 label = orr_program_label(program, "send", "comm");
  for (guint i = 0; i < n_links; i++)
    uses[i] = (OrrLinkUse){orr_program_link(program, "link", 1e9), 1 + i % 2};
  for (guint i = 0; i < n_links; i++) orr_program_keep_link(program, i);
  const guint32 path = orr_program_path(program, uses, n_links);
  for (guint s = 0; s < n_streams; s++) {
    const guint32 stream =
        orr_program_stream(program, orr_program_lane(program, "rank", 1), "comm");
    for (guint i = 0; i < n_sends; i++) {
      const OrrPhase phases[] = {{1e-6, 1e6, path}, {1e-6, 0, path}, {1e-6, 0, ORR_NO_PATH}};
      orr_program_join(program, stream, orr_program_comm(program, 1, phases, 3), label, -1);
    }
    if (s % 2) orr_program_share(program, stream, stream - 1); /* comms of their own all the same */
  }
  orr_program_seal(program, &error);
  g_assert_no_error(error);
  return program;
}

static void expect_effort(const OrrProgram *program, double transfers, double meetings) {
  const OrrProgramEffort effort = orr_program_effort(program);
  g_assert_cmpfloat(effort.transfers, ==, transfers);
  g_assert_cmpfloat(effort.meetings, ==, meetings);
}

/* A send can meet the other streams' sends, on each of its links, and none of its own stream. */
static void test_meetings(void) {
  g_autoptr(OrrProgram) lone = program_of(1, 7, 3), few = program_of(5, 7, 3);
  expect_effort(lone, 7, 0);
  expect_effort(few, 35, 35 * 4 * 3);
}

/* Two streams call a routine of one send each; a third takes part in a comm with the first. */
static void test_routines(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  g_autoptr(GError) error = NULL;
  const guint32 label = orr_program_label(program, "send", "comm");
  const OrrLinkUse use = {orr_program_link(program, "link", 1e9), 1};
  const OrrPhase phase = {0, 1e6, orr_program_path(program, &use, 1)};
  guint32 streams[3], helpers[3];
  for (guint i = 0; i < 3; i++) {
    const guint32 lane = orr_program_lane(program, "rank", 1);
    streams[i] = orr_program_stream(program, lane, "comm");
    helpers[i] = orr_program_stream(program, lane, "beside");
  }
  for (guint i = 0; i < 2; i++) {
    orr_program_begin_routine(program, streams[i], helpers[i]);
    orr_program_join(program, streams[i], orr_program_comm(program, 1, &phase, 1), label, -1);
    const guint32 routine = orr_program_end_routine(program, streams[i]);
    for (guint call = 0; call < 10; call++)
      orr_program_call(program, streams[i], routine, label, -1);
  }
  const guint32 both = orr_program_comm(program, 2, &phase, 1);
  orr_program_join(program, streams[0], both, label, -1);
  orr_program_join(program, streams[2], both, label, -1);
  orr_program_seal(program, &error);
  g_assert_no_error(error);
  expect_effort(program, 21, 21); /* two first streams on the link: each meets one other */
}

/* --- The rule --- */

static void expect_choice(OrrReplayEngine asked, const OrrProgram *program, gboolean brief,
                          OrrEngineKind kind, const char *reason) {
  const OrrScenario scenario = {.engine = asked};
  const OrrEngineChoice choice = orr_engine_choice(&scenario, program, FALSE, brief);
  g_assert_cmpint(choice.kind, ==, kind);
  g_assert_cmpstr(choice.reason, ==, reason);
  g_assert_cmpint(isnan(choice.simgrid_s), ==,
                  asked != ORR_REPLAY_AUTO || brief || kind == ORR_ENGINE_IDEAL);
}

static void test_rule(void) {
  g_autoptr(OrrProgram) lone = program_of(1, 7, 3), few = program_of(5, 7, 3);
  /* 100,000 transfers, each with 999 others on each of 10 links: 1e9 meetings. */
  g_autoptr(OrrProgram) many = program_of(1000, 100, 10);
  expect_choice(ORR_REPLAY_AUTO, lone, FALSE, ORR_ENGINE_IDEAL,
                "no two transfers can share a link");
  expect_choice(ORR_REPLAY_AUTO, few, FALSE, ORR_ENGINE_SIMGRID, "transfers can share links");
  expect_choice(ORR_REPLAY_AUTO, few, TRUE, ORR_ENGINE_FAIR, "many runs share a process");
  expect_choice(ORR_REPLAY_AUTO, many, FALSE, ORR_ENGINE_FAIR, "SimGrid would take too long");
  expect_choice(ORR_REPLAY_SIMGRID, many, FALSE, ORR_ENGINE_SIMGRID, "asked for");
  expect_choice(ORR_REPLAY_SIMGRID, lone, TRUE, ORR_ENGINE_SIMGRID, "asked for");
  expect_choice(ORR_REPLAY_FAIR, lone, FALSE, ORR_ENGINE_FAIR, "asked for");
  expect_choice(ORR_REPLAY_IDEAL, many, FALSE, ORR_ENGINE_IDEAL, "asked for");
  g_assert_cmpfloat(orr_program_effort_simgrid_s(many), >, ORR_ENGINE_CHOICE_MOST_S);
  g_assert_cmpfloat(orr_program_effort_simgrid_s(few), <, 1);
}

/* --- What a run says of it --- */

#define JOB                                                                                        \
  "schema: scenario/1\nname: t\n"                                                                  \
  "cluster: {base: dgx-h100-superpod, nodes: 4, max-nodes: 0, routing: ecmp,\n"                    \
  "          fabric: {kind: fat-tree, levels: 2, nodes-per-leaf: 1, oversubscription: 4}}\n"       \
  "model: {name: small, layers: 8, hidden: 1024, heads: 16, vocab: 8192, context: 2048}\n"         \
  "workload: {kind: training, stack: none, parallel: {tp: 2, pp: 4}, batch: {global: 32}}\n"

static void run_one(gconstpointer engine) {
  g_autofree char *sets = g_strdup_printf("fidelity=full;engine=%s", (const char *)engine);
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(library, JOB, sets);
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(outcome->replays->len, ==, 1);
  OrrReplayRow *row = &g_array_index(outcome->replays, OrrReplayRow, 0);
  const gboolean is_auto = g_str_equal(engine, "auto");
  g_assert_cmpstr(row->engine, ==, is_auto ? "simgrid" : engine);
  g_assert_cmpstr(row->reason, ==, is_auto ? "transfers can share links" : "asked for");
  g_assert_true(g_str_has_prefix(outcome->engine, row->engine));
  g_assert_null(orr_engine_choice_text(outcome));
  *row = (OrrReplayRow){(char *)"fair", (char *)"SimGrid would take too long", 90};
  g_autofree char *sentence = orr_engine_choice_text(outcome);
  g_assert_true(g_str_has_prefix(sentence, "fair, since SimGrid would need about 90 s"));
}

static void test_recorded(gconstpointer engine) { forked(run_one, engine); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/engine-choice/meetings", test_meetings);
  g_test_add_func("/engine-choice/routines", test_routines);
  g_test_add_func("/engine-choice/rule", test_rule);
  g_test_add_data_func("/engine-choice/recorded/auto", "auto", test_recorded);
  g_test_add_data_func("/engine-choice/recorded/fair", "fair", test_recorded);
  g_test_add_data_func("/engine-choice/recorded/simgrid", "simgrid", test_recorded);
  g_test_add_data_func("/engine-choice/recorded/ideal", "ideal", test_recorded);
  return g_test_run();
}
