/*
 * Rows of `collective`: every call of a step is in one of them, with its own size and time.
 *
 * By conservation: the rows of a name have as many calls, and take as long, as the spans of that
 * name on the first lane; and what is gathered is all that a rank's weights hold.
 */
#include "sim/run/simulate.h"
#include "sim/run/world.h"
#include "tests/workloads/training/training_fixture.h"

/* Of one name: calls, seconds and bytes in a step. */
typedef struct {
  double calls, seconds, bytes;
} Sum;

static Sum sum_of_rows(const OrrOutcome *outcome, const char *name) {
  Sum sum = {0};
  for (guint i = 0; i < outcome->collectives->len; i++) {
    const OrrCollectiveRow *row = &g_array_index(outcome->collectives, OrrCollectiveRow, i);
    if (!g_str_equal(row->name, name)) continue;
    const double calls = (double)row->count;
    sum =
        (Sum){sum.calls + calls, sum.seconds + calls * row->mean_s, sum.bytes + calls * row->bytes};
  }
  return sum;
}

static Sum sum_of_spans(const OrrOutcome *outcome, const char *name) {
  Sum sum = {0};
  for (guint i = 0; i < outcome->spans->len; i++) {
    const OrrSpanRow *span = &g_array_index(outcome->spans, OrrSpanRow, i);
    if (span->lane != 0 || !g_str_equal(span->name, name)) continue;
    sum.calls++;
    sum.seconds += span->end_s - span->started_s;
  }
  return sum;
}

#define GATHER                                                                                     \
  "workload.parallel={tp: 4, pp: 1, dp: 16, sequence-parallel: true};"                             \
  "workload.optimizer.sharding={kind: distributed-optimizer, overlap-param-gather: true};"

/* Embedding and head are larger than layers, the chunks of userbuffers smaller than a whole call,
 * and a last bucket is what is left. */
static void test_conserved(void) {
  static const char *const variants[] = {
      GATHER, GATHER "workload.parallel.tp-comm-overlap=userbuffers",
      "workload.parallel={tp: 1, pp: 1, dp: 64};workload.optimizer.sharding=fsdp",
      "workload.parallel={tp: 1, pp: 1, dp: 64};workload.optimizer.sharding={kind: hsdp, group: "
      "16}"};
  static const char *const names[] = {"dp-weights", "dp-gradients", "dp-gradients-copies",
                                      "tp-reduce-scatter", "tp-all-gather"};
  for (guint v = 0; v < G_N_ELEMENTS(variants); v++) {
    g_autofree char *sets = g_strconcat("workload.steps=2;", variants[v], NULL);
    g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, TRUE);
    const double steps = outcome->steps->len;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
      Sum rows = sum_of_rows(outcome, names[i]);
      const Sum spans = sum_of_spans(outcome, names[i]);
      if (spans.calls == 0) continue; /* within work */
      if (g_str_equal(names[i], "dp-gradients")) {
        const Sum copies = sum_of_rows(outcome, "dp-gradients-copies");
        rows.calls += copies.calls;
        rows.seconds += copies.seconds;
      }
      g_test_message("%s: %s: %g and %g calls, %g and %g s", variants[v], names[i], rows.calls,
                     spans.calls / steps, rows.seconds, spans.seconds / steps);
      g_assert_cmpfloat(rows.calls, ==, spans.calls / steps);
      assert_close(rows.seconds, spans.seconds / steps, 1e-6);
    }
  }
}

/* A rank of tp 4 gathers its quarter of 16 layers of 12 h^2 + 13 h and of embedding, positions and
 * head, in 2 bytes; the vectors that tp does not split are below a thousandth. */
static void test_all_weights(void) {
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, GATHER, FALSE);
  const double h = 4096, layers = 16 * 12 * h * h, tables = 51200 * h;
  const double bytes = sum_of_rows(outcome, "dp-weights").bytes;
  g_test_message("%g bytes, %g of layers, %g of a table", bytes, layers / 2, tables / 2);
  g_assert_cmpfloat(bytes, >, (layers + tables) / 4 * 2);
  g_assert_cmpfloat(bytes, <, 1.02 * (layers + 2 * tables) / 4 * 2);
}

/* Tensors that are sent one after the other are one communication: each still counts. A layer has
 * at least its four matrices, and is gathered in the forward and in the backward. */
static void test_tensors(void) {
  g_autoptr(OrrOutcome) outcome =
      ideal_outcome_of(scenario_text,
                       "workload.parallel={tp: 1, pp: 1, dp: 64};"
                       "workload.optimizer.sharding={kind: zero-3, by-tensor: true}",
                       TRUE);
  const Sum rows = sum_of_rows(outcome, "dp-weights"), spans = sum_of_spans(outcome, "dp-weights");
  const Sum again = sum_of_rows(outcome, "dp-weights-again");
  g_test_message("%g tensors, %g s; spans %g, %g s", rows.calls, rows.seconds,
                 spans.calls / outcome->steps->len, spans.seconds / outcome->steps->len);
  g_assert_cmpfloat(rows.calls, >=, 2 * 16 * 4);
  assert_close(rows.seconds + again.seconds, spans.seconds / outcome->steps->len, 0.01);
}

static OrrOutcome *outcome_in(OrrRunWorld *world, const OrrScenario *scenario,
                              const OrrSimulation *options) {
  g_autoptr(GError) error = NULL;
  OrrOutcome *outcome = orr_simulate_in(world, scenario, options, &error);
  g_assert_no_error(error);
  return outcome;
}

/* A shortened step replays passes as one event each, and counts their calls as they come: calls and
 * their mean time are a whole step's. */
static void test_brief(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario =
      scenario_of(shared_library(), scenario_text, "engine=fair;workload.parallel={tp: 4, pp: 2}");
  g_autoptr(OrrRunWorld) world = orr_run_world_new(shared_library(), scenario, &error);
  g_assert_no_error(error);
  g_autoptr(OrrOutcome) whole = outcome_in(world, scenario, &(OrrSimulation){0});
  g_autoptr(OrrOutcome) brief =
      outcome_in(world, scenario, &(OrrSimulation){.brief = TRUE, .shorten = 1});
  g_assert_cmpint(2 * brief->result.training.events, <, whole->result.training.events);
  g_assert_cmpuint(brief->collectives->len, ==, whole->collectives->len);
  for (guint i = 0; i < whole->collectives->len; i++) {
    const OrrCollectiveRow *a = &g_array_index(whole->collectives, OrrCollectiveRow, i),
                           *b = &g_array_index(brief->collectives, OrrCollectiveRow, i);
    g_test_message("%s: %ld and %ld calls, %g and %g s", a->name, a->count, b->count, a->mean_s,
                   b->mean_s);
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_cmpint(a->count, ==, b->count);
    assert_close(a->mean_s, b->mean_s, 1e-9);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-collectives/conserved", test_conserved);
  g_test_add_func("/training-collectives/all-weights", test_all_weights);
  g_test_add_func("/training-collectives/tensors", test_tensors);
  g_test_add_func("/training-collectives/brief", test_brief);
  return g_test_run();
}
