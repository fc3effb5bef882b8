/*
 * A generated family of small jobs over all combinations of parallelism: folded equals full, the
 * kinds of time add up, and equivalent ranks may change places.
 *
 * A job is drawn from a seeded stream: model (dense, experts), machine (16 or 32 GPUs, of one or
 * two generations of nodes), sizes of tp, cp, pp, ep, etp that fit, schedule, recomputation,
 * sharding, overlaps. Each runs in a child: SimGrid allows one engine a process.
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/random.h"
#include "sim/base/yaml.h"
#include "sim/run/simulate.h"

#define N_JOBS 480

static const char *const dense =
    "{name: dense, layers: 8, hidden: 1024, heads: 16, kv-heads: 8, vocab: 8192, context: "
    "2048, activation: swiglu, norm: "
    "rmsnorm, position: rope, bias: false}";
static const char *const experts = "{name: experts, layers: 8, hidden: 1024, heads: 16, kv-heads: "
                                   "8, vocab: 8192, context: 2048, activation: swiglu, "
                                   "norm: "
                                   "rmsnorm, position: rope, bias: false, moe: {experts: 16, topk: "
                                   "2, ffn: 512, shared-ffn: 512}, layout: [2 "
                                   "attention+dense, 6 attention+moe]}";

typedef struct {
  gboolean read;
  double iteration_s, memory, times[ORR_N_TIMES];
  guint lanes;
} Answer;

static gint64 pick(OrrRandom *random, const gint64 *from, guint n) {
  return from[orr_random_below(random, n)];
}
#define PICK(random_, ...)                                                                         \
  pick(random_, (const gint64[]){__VA_ARGS__}, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))

static const char *word(OrrRandom *random, const char *const *words) {
  return words[orr_random_below(random, g_strv_length((char **)words))];
}

static const char *const schedules[] = {"1f1b",
                                        "gpipe",
                                        "{kind: interleaved-1f1b, chunks: 2}",
                                        "{kind: breadth-first, chunks: 2}",
                                        "zb-h1",
                                        "zb-v",
                                        "dualpipe",
                                        NULL};
static const char *const contexts[] = {"p2p", "all-gather", "all-to-all",
                                       "hierarchical, context-inner: 2", NULL};
static const char *const recomputes[] = {"none", "selective", "full", "operators", NULL};
static const char *const shardings[] = {"none",
                                        "none",
                                        "zero-1",
                                        "distributed-optimizer",
                                        "zero-2",
                                        "zero-3",
                                        "fsdp",
                                        "{kind: hsdp, group: 4}",
                                        "{kind: distributed-optimizer, overlap-param-gather: true}",
                                        NULL};
static const char *const overlaps[] = {"none", "userbuffers", "async-tp", NULL};
static const char *const loads[] = {"balanced", "{kind: zipf, exponent: 0.5}", NULL};
static const char *const dispatches[] = {"flat", "hierarchical", "deepep", NULL};
static const char *const offloads[] = {"{}",
                                       "{}",
                                       "{optimizer: 1}",
                                       "{optimizer: 0.5, activations: 1}",
                                       "{optimizer: 1, overlap: false}",
                                       "{activations: 2}",
                                       NULL};
static const char *const bools[] = {"false", "true", NULL};
static const char *const fabrics[] = {
    "{kind: rail-optimized, levels: 2, nodes-per-group: 2, oversubscription: 2}",
    "{kind: fat-tree, levels: 2, nodes-per-leaf: 1, oversubscription: 4}",
    "{kind: fat-tree, levels: 2, nodes-per-leaf: 2}", NULL};

/* A scenario's text; sizes divide, but a schedule or a group may still refuse it. */
static char *job_text(OrrRandom *random, const char *order) {
  const gint64 nodes = PICK(random, 2, 4), gpus = PICK(random, 4, 8), all = nodes * gpus;
  const gboolean moe = orr_random_below(random, 2);
  const gint64 tp = PICK(random, 1, 2, 4), cp = PICK(random, 1, 1, 2, 4),
               pp = PICK(random, 1, 2, 4);
  const gint64 ep = moe ? PICK(random, 1, 2, 4, 8, 16) : 1, etp = moe ? PICK(random, 1, 1, tp) : 0;
  const gint64 dp = all / (tp * cp * pp), micro_batches = pp * PICK(random, 2, 3, 4);
  const char *sequence_parallel = moe && tp > 1 ? "true" : word(random, bools);
  return g_strdup_printf(
      "schema: scenario/1\nname: job\nmodel: %s\n"
      "cluster: {base: dgx-h100-superpod, nodes: %d, max-nodes: 0, node: {gpus: %d}, fabric: %s}\n"
      "workload:\n  kind: training\n  stack: none\n"
      "  parallel: {tp: %d, cp: %d, pp: %d, ep: %d, etp: %d, sequence-parallel: %s, context: %s, "
      "order: %s, "
      "tp-comm-overlap: %s}\n"
      "  pipeline: %s\n  batch: {global: %d, micro: 1}\n  recompute: %s\n  data-parallel: "
      "{overlap: %s}\n"
      "  pipeline-comm: {overlap-p2p: %s}\n  experts: {shared-expert-overlap: %s, load: %s, "
      "dispatch: %s}\n"
      "  optimizer: {sharding: %s}\n  offload: %s\n",
      moe ? experts : dense, (int)nodes, (int)gpus, word(random, fabrics), (int)tp, (int)cp,
      (int)pp, (int)ep, (int)etp, sequence_parallel, word(random, contexts), order,
      g_str_equal(sequence_parallel, "true") ? word(random, overlaps) : "none",
      pp > 1 ? word(random, schedules) : "1f1b", (int)(MAX(dp, 1) * micro_batches),
      word(random, recomputes), word(random, bools), word(random, bools), word(random, bools),
      moe ? word(random, loads) : "balanced", moe ? word(random, dispatches) : "flat",
      word(random, shardings), word(random, offloads));
}

static Answer simulate_here(const char *text, const char *fidelity) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *all = g_strconcat(text, "fidelity: ", fidelity, "\n", NULL);
  g_autoptr(OrrNode) tree = orr_yaml_parse(all, strlen(all), "job.yaml", diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  Answer answer = {.read = scenario != NULL};
  if (!scenario) return answer; /* refused, with a reason */
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  if (error) g_error("%s\n%s", error->message, all);
  answer.iteration_s = outcome->result.training.iteration_time_s;
  answer.memory = outcome->result.training.memory_peak_bytes;
  answer.lanes = outcome->lanes->len;
  memcpy(answer.times, outcome->time_by_kind, sizeof answer.times);
  return answer;
}

static Answer simulate(const char *text, const char *fidelity) {
  int ends[2];
  g_assert_cmpint(pipe(ends), ==, 0);
  const pid_t child = fork();
  if (child == 0) {
    const Answer answer = simulate_here(text, fidelity);
    _exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
  }
  Answer answer;
  close(ends[1]);
  const gssize got = read(ends[0], &answer, sizeof answer);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != sizeof answer || status != 0) g_error("no answer for\n%s", text);
  return answer;
}

static void assert_equal(const Answer *a, const Answer *b, const char *text) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    if (fabs(a->times[kind] - b->times[kind]) > 1e-7 * b->iteration_s)
      g_error("%s is %.12g s and %.12g s of\n%s", orr_time_words[kind], a->times[kind],
              b->times[kind], text);
    sum += a->times[kind];
  }
  if (fabs(a->iteration_s - b->iteration_s) > 1e-9 * b->iteration_s)
    g_error("%.17g s and %.17g s for\n%s", a->iteration_s, b->iteration_s, text);
  g_assert_cmpfloat_with_epsilon(sum, a->iteration_s, 1e-9 * a->iteration_s);
  g_assert_cmpfloat(a->memory, ==, b->memory);
}

static void test_folded_is_full(void) {
  OrrRandom random = orr_random_stream(4, "family");
  guint ran = 0, folded_more = 0;
  for (guint i = 0; i < N_JOBS; i++) {
    g_autofree char *text = job_text(&random, i % 4 ? "tp-cp-dp-pp" : "tp-cp-dp-ep-pp");
    const Answer folded = simulate(text, "folded");
    if (!folded.read) continue;
    const Answer full = simulate(text, "full");
    assert_equal(&folded, &full, text);
    ran++;
    folded_more += folded.lanes < full.lanes;
  }
  g_test_message("%u of %d jobs ran, %u of them were folded", ran, N_JOBS, folded_more);
  g_assert_cmpuint(ran, >, N_JOBS / 4);
  g_assert_cmpuint(folded_more, >, ran / 4);
}

/* Two domains of four GPUs per node, so that rings of gradients cross PCIe at some replicas and
 * not at others, where all copy to the host: classes must see hybrid sharding's second
 * reduction, too. */
static void test_reductions_beside_copies(void) {
  g_autofree char *text = g_strdup_printf(
      "schema: scenario/1\nname: job\nmodel: %s\n"
      "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 0, node: {scale-up-domain: 4},\n"
      "          fabric: {kind: fat-tree, levels: 2, nodes-per-leaf: 2}}\n"
      "workload: {kind: training, stack: none, parallel: {cp: 2, context: all-to-all}, batch: "
      "{global: 32, "
      "micro: 1}, recompute: full,\n"
      "           data-parallel: {overlap: false}, optimizer: {sharding: {kind: hsdp, group: 4}}, "
      "offload: {optimizer: 1}}\n",
      dense);
  const Answer folded = simulate(text, "folded"), full = simulate(text, "full");
  g_assert_true(folded.read && full.read);
  g_assert_cmpuint(folded.lanes, <, full.lanes);
  assert_equal(&folded, &full, text);
}

/* Where all ranks lie in one NVLink domain, every order of the axes is a permutation of
 * equivalent GPUs: the same times, by rank class and so by kind. */
static void test_permuted_ranks(void) {
  static const char *const orders[] = {"tp-cp-dp-pp", "cp-tp-pp-dp", "pp-dp-cp-tp",
                                       "tp-cp-dp-ep-pp"};
  static const char *const job =
      "schema: scenario/1\nname: job\nmodel: %s\ncluster: {base: "
      "gb200-nvl72, gpus: 32}\nworkload:\n  kind: training\n  stack: none\n"
      "  parallel: {tp: 2, cp: 2, pp: 2, ep: %d, etp: %d, "
      "sequence-parallel: true, order: %s}\n  batch: {global: 32}\n";
  for (int moe = 0; moe < 2; moe++) {
    Answer answers[G_N_ELEMENTS(orders)];
    for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
      g_autofree char *text =
          g_strdup_printf(job, moe ? experts : dense, moe ? 8 : 1, 1, orders[i]);
      answers[i] = simulate(text, "full");
      g_assert_true(answers[i].read);
      assert_equal(&answers[i], &answers[0], text);
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-family/folded-is-full", test_folded_is_full);
  g_test_add_func("/training-family/reductions-beside-copies", test_reductions_beside_copies);
  g_test_add_func("/training-family/permuted-ranks", test_permuted_ranks);
  return g_test_run();
}
