/*
 * test_engines_agree.c - SimGrid and fair give the same times, to rounding: on generated training
 * steps under every routing, in full and folded, and where links fail or share a machine's traffic.
 *
 * Each replay runs in a child process, because SimGrid allows one engine per process.
 */
#include <math.h>

#include "sim/base/random.h"
#include "tests/base/test_size.h"
#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

#define N_JOBS test_size(48, 12)

typedef struct {
  gboolean fine;
  char error[600];
  char engine[16];
  double iteration_s, times[ORR_N_TIMES];
  double spans_s;    /* sum of begin + 3 end over all spans: differs where any span does */
  double link_bytes; /* sum over links of bytes times the link's position */
} Answer;

static void fill(const OrrOutcome *outcome, Answer *answer) {
  const OrrReplayRow *row = &g_array_index(outcome->replays, OrrReplayRow, 0);
  g_strlcpy(answer->engine, row->engine, sizeof answer->engine);
  answer->iteration_s = outcome->result.training.iteration_time_s;
  memcpy(answer->times, outcome->time_by_kind, sizeof answer->times);
  for (guint i = 0; i < outcome->spans->len; i++) {
    const OrrSpanRow *span = &g_array_index(outcome->spans, OrrSpanRow, i);
    answer->spans_s += span->begin_s + 3 * span->end_s;
  }
  for (guint i = 0; i < outcome->links->len; i++)
    answer->link_bytes += (i + 1.0) * g_array_index(outcome->links, OrrLinkRow, i).bytes;
}

static void simulate_here(const char *text, const char *sets, Answer *answer) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = tree_of(text, sets, diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  if (!scenario) orr_diags_check(diags, &error);
  g_autoptr(OrrOutcome) outcome = scenario ? orr_simulate(library, scenario, TRUE, &error) : NULL;
  if ((answer->fine = outcome != NULL))
    fill(outcome, answer);
  else
    g_strlcpy(answer->error, error->message, sizeof answer->error);
}

static void answer_of(gconstpointer data, gpointer answer) {
  const char *const *asked = data;
  simulate_here(asked[0], asked[1], answer);
}

static Answer simulate(const char *text, const char *sets) {
  const char *const asked[] = {text, sets};
  Answer answer = {0};
  shared_costs("h100-sxm");
  if (!forked_answer(answer_of, asked, &answer, sizeof answer))
    g_error("no answer for\n%s%s", text, sets);
  return answer;
}

static gboolean near(double a, double b) { return fabs(a - b) <= 1e-9 * MAX(fabs(a), fabs(b)); }

/* FALSE where the job is refused, by both. */
static gboolean agree(const char *text, const char *fidelity) {
  g_autofree char *simgrid = g_strdup_printf("engine=simgrid;fidelity=%s", fidelity);
  g_autofree char *fair = g_strdup_printf("engine=fair;fidelity=%s", fidelity);
  const Answer a = simulate(text, simgrid), b = simulate(text, fair);
  g_assert_cmpstr(a.error, ==, b.error);
  if (!a.fine) {
    g_test_message("refused: %s", a.error);
    return FALSE;
  }
  g_assert_cmpstr(a.engine, ==, "simgrid");
  g_assert_cmpstr(b.engine, ==, "fair");
  if (!near(a.iteration_s, b.iteration_s) || !near(a.spans_s, b.spans_s) ||
      !near(a.link_bytes, b.link_bytes))
    g_error("simgrid and fair: step %.17g and %.17g s, spans %.17g and %.17g s, links %.17g and "
            "%.17g bytes; %s of\n%s",
            a.iteration_s, b.iteration_s, a.spans_s, b.spans_s, a.link_bytes, b.link_bytes,
            fidelity, text);
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    g_assert_cmpfloat_with_epsilon(a.times[kind], b.times[kind], 1e-9 * a.iteration_s);
  return TRUE;
}

/* --- Generated jobs --- */

static const char *pick(OrrRandom *random, const char *const *words) {
  return words[orr_random_below(random, g_strv_length((char **)words))];
}

static const char *const switched[] = {
    "{kind: fat-tree, levels: 2, nodes-per-leaf: 1, oversubscription: 4}",
    "{kind: fat-tree, levels: 2, nodes-per-leaf: 2, oversubscription: 2}",
    "{kind: fat-tree, levels: 3, radix: 16, nodes-per-leaf: 1}",
    "{kind: rail-optimized, levels: 2, nodes-per-group: 2, oversubscription: 2}", NULL};
static const char *const switched_routings[] = {"ecmp", "ecmp", "static", "ideal", NULL};
static const char *const dragonflies[] = {
    "{kind: dragonfly, hosts-per-router: 8, routers-per-group: 2, global-per-router: 2, groups: 4}",
    "{kind: dragonfly, hosts-per-router: 4, routers-per-group: 4, global-per-router: 1, groups: 4}",
    NULL};
static const char *const dragonfly_routings[] = {"valiant", "ugal", "ideal", NULL};
static const char *const splits[] = {
    "tp: 2, pp: 2",  "tp: 2, pp: 4",        "tp: 4, pp: 2", "tp: 1, pp: 4",
    "tp: 16, pp: 2", "tp: 2, cp: 2, pp: 2", "tp: 8, pp: 1", NULL};
static const char *const schedules[] = {"1f1b", "gpipe", "{kind: interleaved-1f1b, chunks: 2}",
                                        "zb-h1", NULL};
static const char *const shardings[] = {"none", "distributed-optimizer", "zero-1", NULL};
static const char *const bools[] = {"false", "true", NULL};
static const char *const models[] = {
    "{name: dense, layers: 8, hidden: 1024, heads: 16, vocab: 8192, context: 2048}",
    "{name: experts, layers: 8, hidden: 1024, heads: 16, kv-heads: 8, vocab: 8192, context: 2048, "
    "activation: swiglu, norm: rmsnorm, position: rope, bias: false, moe: {experts: 16, topk: 2, "
    "ffn: 512, shared-ffn: 512}, layout: [2 attention+dense, 6 attention+moe]}",
    NULL};

static char *job_text(OrrRandom *random, const char *fabric, const char *routing,
                      const char *faults) {
  const char *split = pick(random, splits), *model = pick(random, models);
  const gboolean has_experts = model == models[1];
  return g_strdup_printf(
      "schema: scenario/1\nname: job\nseed: %u\nmodel: %s\n"
      "cluster: {base: dgx-h100-superpod, nodes: 8, max-nodes: 0, routing: %s, fabric: %s}\n"
      "workload:\n  kind: training\n  stack: none\n  parallel: {%s, ep: %d, sequence-parallel: "
      "%s}\n"
      "  pipeline: %s\n  batch: {global: 128, micro: 1}\n  data-parallel: {overlap: %s}\n"
      "  pipeline-comm: {overlap-p2p: %s}\n  optimizer: {sharding: %s}\n%s",
      1 + (guint)orr_random_below(random, 1000), model, routing, fabric, split, has_experts ? 2 : 1,
      has_experts ? "true" : pick(random, bools),
      strstr(split, "pp: 1") ? "1f1b" : pick(random, schedules), pick(random, bools),
      pick(random, bools), pick(random, shardings), faults);
}

static void test_switched(void) {
  OrrRandom random = orr_random_stream(17, "engines agree");
  guint ran = 0;
  for (guint i = 0; i < N_JOBS; i++) {
    const char *fabric = pick(&random, switched), *routing = pick(&random, switched_routings);
    g_autofree char *text = job_text(&random, fabric, routing, "");
    ran += agree(text, i % 3 ? "full" : "folded");
  }
  g_test_message("%u of %u jobs ran", ran, N_JOBS);
  g_assert_cmpuint(ran, >, N_JOBS * 9 / 10);
}

static void test_dragonfly(void) {
  OrrRandom random = orr_random_stream(18, "engines agree");
  guint ran = 0;
  for (guint i = 0; i < N_JOBS / 3; i++) {
    const char *fabric = pick(&random, dragonflies), *routing = pick(&random, dragonfly_routings);
    g_autofree char *text = job_text(&random, fabric, routing, "");
    ran += agree(text, "full");
  }
  g_test_message("%u of %u jobs ran", ran, N_JOBS / 3);
  g_assert_cmpuint(ran, >, N_JOBS / 4);
}

/* A link that is down for a while holds its transfers, or they take other ways. */
static void test_faults(void) {
  static const char *const whats[] = {
      "{kind: nic, gpu: 9, bandwidth: 0.3}", "{kind: link, name: gpu3.nvlink, bandwidth: 0.2}",
      "{kind: slow-gpu, gpu: 12, slower: 0.5}", "{kind: link, name: \"leaf1-spine0#0\"}", NULL};
  OrrRandom random = orr_random_stream(19, "engines agree");
  guint ran = 0;
  for (guint i = 0; i < N_JOBS / 3; i++) {
    g_autofree char *faults =
        g_strdup_printf("  steps: 2\nfaults: [{at: %g ms, until: 300 ms, fault: %s}]\n",
                        20 * orr_random_unit(&random), pick(&random, whats));
    const char *routing = pick(&random, switched_routings);
    g_autofree char *text = job_text(&random, switched[1], routing, faults);
    ran += agree(text, "full");
  }
  g_test_message("%u of %u jobs ran", ran, N_JOBS / 3);
  g_assert_cmpuint(ran, >, N_JOBS / 4);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/engines-agree/switched", test_switched);
  g_test_add_func("/engines-agree/dragonfly", test_dragonfly);
  g_test_add_func("/engines-agree/faults", test_faults);
  return g_test_run();
}
