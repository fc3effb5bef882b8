/*
 * The ways of data parallelism in a training step: folded equals full, what must be slower than
 * what, what is refused.
 *
 * Each simulation runs in a child of its own: SimGrid allows one engine a process. What an entry
 * sends and holds is tested without a step (sharding/test_sharding.c).
 */
#include "tests/workloads/training/training_fixture.h"

static double seconds(const char *sets) { return simulate(sets).result.iteration_time_s; }

static void test_folded_is_full(void) {
  static const char *const variants[] = {
      "workload.parallel={tp: 2, pp: 1, dp: 32};workload.optimizer.sharding=ddp",
      "workload.parallel={tp: 2, pp: 1, dp: 32};workload.optimizer.sharding=zero-2",
      "workload.parallel={tp: 2, pp: 1, dp: 32};workload.optimizer.sharding=zero-3",
      "workload.parallel={tp: 2, pp: 1, dp: 32};workload.optimizer.sharding={kind: zero-3, "
      "by-tensor: true}",
      "workload.parallel={tp: 1, pp: 1, dp: 64};workload.optimizer.sharding=fsdp",
      "workload.parallel={tp: 2, pp: 4, dp: 8};workload.optimizer.sharding=fsdp",
      "workload.parallel={tp: 1, pp: 1, dp: 64};workload.optimizer.sharding=hsdp",
      "workload.parallel={tp: 1, pp: 2, dp: 32};workload.optimizer.sharding={kind: hsdp, group: "
      "16}",
      "workload.optimizer.sharding=zero-1;workload.pipeline={kind: interleaved-1f1b, chunks: 2}",
      "workload.optimizer.sharding={kind: distributed-optimizer, overlap-param-gather: true}",
      "workload.optimizer.sharding={kind: distributed-optimizer, overlap-param-gather: "
      "true};workload.pipeline={kind: "
      "interleaved-1f1b, chunks: 2}",
      /* replicas that cross different switches */
      "workload.optimizer.sharding=fsdp;cluster.max-nodes=0;cluster.fabric={kind: fat-tree, "
      "levels: 2, nodes-per-leaf: "
      "3, "
      "oversubscription: 4}",
  };
  for (guint i = 0; i < G_N_ELEMENTS(variants); i++) assert_folded_is_full(variants[i]);
}

#define WIDE "workload.parallel={tp: 1, pp: 1, dp: 64};workload.batch.global=128;"
#define SLOW WIDE "cluster.node.nic-bandwidth=10 Gb/s;"

/* Twenty times slower NICs: what is sent decides. FSDP sends 3 m Psi where ddp sends 2 Psi
 * (test_sharding.c); what stays in nodes is spared; weights kept after the forward need one
 * gather less; nothing ahead exposes every gather. */
static void test_order_of_traffic(void) {
  const double ddp = seconds(SLOW "workload.optimizer.sharding=ddp");
  const double zero_2 =
      seconds(SLOW "workload.optimizer.sharding={kind: zero-2, overlap-comm: true}");
  const double zero_3 = seconds(SLOW "workload.optimizer.sharding=zero-3");
  const double fsdp = seconds(SLOW "workload.optimizer.sharding=fsdp");
  const double kept =
      seconds(SLOW "workload.optimizer.sharding={kind: fsdp, reshard-after-forward: false}");
  const double hybrid = seconds(SLOW "workload.optimizer.sharding=hsdp");
  g_assert_cmpfloat(ddp, <, zero_2);
  g_assert_cmpfloat(zero_2, <, zero_3);
  g_assert_cmpfloat(kept, <, fsdp);
  g_assert_cmpfloat(hybrid, <, fsdp);
  assert_close(fsdp, zero_3, 0.15);
}

#define LISTS WIDE "workload.optimizer.sharding={kind: zero-3, by-tensor: true}"

/* The host goes through lists of 64 parts at 5 us an operator: 3 for a gather (two per
 * micro-batch), 4 for a scatter. 16 layers of 4 tensors (QKV, projection, the two of the MLP) and
 * the embedding, 2 micro-batches: 65 * 2 * 64 * (3 + 3 + 4) * 5 us. Where a recomputed layer's
 * weights are kept for nothing, its 4 are gathered a third time; by default for all that comes back
 * within 10^9 parameters, as all of this small layer does. */
static void test_lists_closed_form(void) {
  const Answer together = simulate(WIDE "workload.optimizer.sharding=zero-3"),
               lists = simulate(LISTS);
  const Answer recomputed = simulate(LISTS ";workload.recompute=full");
  const Answer thrice =
      simulate(LISTS ";workload.recompute=full;workload.optimizer.sharding.max-reuse-distance=0");
  const double host_s = lists.times[ORR_TIME_HOST] - together.times[ORR_TIME_HOST];
  g_assert_cmpfloat_with_epsilon(host_s, 65 * 2 * 64 * 10 * 5e-6, 1e-9);
  const double third_s = thrice.times[ORR_TIME_HOST] - recomputed.times[ORR_TIME_HOST];
  g_assert_cmpfloat_with_epsilon(third_s, 16 * 4 * 2 * 64 * 3 * 5e-6, 1e-9);
  g_assert_cmpfloat(lists.result.iteration_time_s, >,
                    together.result.iteration_time_s + 0.9 * host_s);
}

/* Twice the ranks, twice the list: what the host takes of a micro-batch. */
static void test_lists_grow(void) {
  const double half_s =
      simulate("cluster.gpus=32;workload.parallel={tp: 1, pp: 1, dp: 32};workload.batch.global=64;"
               "workload.launches=graphs;"
               "workload.optimizer.sharding={kind: zero-3, by-tensor: true}")
          .times[ORR_TIME_HOST];
  const double whole_s = simulate(LISTS ";workload.launches=graphs").times[ORR_TIME_HOST];
  assert_close(whole_s, 2 * half_s, 0.001);
}

/* With two micro-batches and all of it exposed, twice: SLOW FSDP takes (within the compute that
 * hides some) 3 m Psi over what ddp's 2 Psi takes. m = 2: 6 Psi of 2 or 4 bytes: gathers 4 Psi
 * of bf16 and scatters 2 Psi of fp32 make 16 bytes a parameter where ddp's all-reduce of fp32
 * makes 8: twice as long. */
static void test_slow_network_closed_form(void) {
  const double compute =
      seconds(WIDE "cluster.node.nic-bandwidth=100000 Gb/s;workload.optimizer.sharding=ddp");
  const double ddp = seconds(
      SLOW "workload.optimizer.sharding={kind: ddp, bucket: 1000 GiB, first-bucket: 1000 GiB}");
  const double bare = seconds(SLOW "workload.optimizer.sharding={kind: fsdp, prefetch: 0}");
  const double ratio = (bare - compute) / (ddp - compute);
  g_test_message("compute %g s, ddp %g s, fsdp %g s: %g", compute, ddp, bare, ratio);
  g_assert_cmpfloat(ratio, >, 1.7);
  g_assert_cmpfloat(ratio, <, 2.1);
}

static void test_ahead_hides(void) {
  const double none = seconds(WIDE "workload.optimizer.sharding={kind: fsdp, prefetch: 0}");
  const double one = seconds(WIDE "workload.optimizer.sharding={kind: fsdp, prefetch: 1}");
  const double two = seconds(WIDE "workload.optimizer.sharding={kind: fsdp, prefetch: 2}");
  g_assert_cmpfloat(one, <, none);
  g_assert_cmpfloat(two, <=, one * (1 + 1e-9));
  const double after = seconds(WIDE "workload.optimizer.sharding=distributed-optimizer");
  const double beside = seconds(
      WIDE "workload.optimizer.sharding={kind: distributed-optimizer, overlap-param-gather: true}");
  g_assert_cmpfloat(beside, <, after);
}

/* A smaller first bucket begins earlier; it cannot end later than one bucket for all. */
static void test_buckets_hide(void) {
  const double one = seconds(
      WIDE "workload.optimizer.sharding={kind: ddp, bucket: 1000 GiB, first-bucket: 1000 GiB}");
  const double many = seconds(WIDE "workload.optimizer.sharding=ddp");
  g_assert_cmpfloat(many, <, one);
}

/* bf16 weights, fp32 gradients, 12 bytes of optimizer over 64 ranks, 805 M parameters of layers
 * and 210 M of embedding, tied: what is not sharded of one unit's gathers is small compared with
 * it. */
/* data-parallel.overlap: false is heard by every sharding, and costs where reductions had hidden:
 * ZeRO-1's, which does not overlap by default, does not change. */
static void test_no_overlap(void) {
  static const char *const hides[] = {
      "none", "ddp", "distributed-optimizer", "{kind: zero-1, overlap-comm: true}", "zero-3",
      "fsdp", "hsdp"};
  for (guint i = 0; i < G_N_ELEMENTS(hides); i++) {
    g_autofree char *beside = g_strconcat(SLOW "workload.optimizer.sharding=", hides[i], NULL);
    g_autofree char *after = g_strconcat(beside, ";workload.data-parallel.overlap=false", NULL);
    const double one = seconds(beside), other = seconds(after);
    g_test_message("%s: %g s beside the backward, %g s after it", hides[i], one, other);
    g_assert_cmpfloat(other, >, one * 1.005);
  }
  const char *plain = SLOW "workload.optimizer.sharding=zero-1";
  g_autofree char *after = g_strconcat(plain, ";workload.data-parallel.overlap=false", NULL);
  g_assert_cmpfloat(seconds(plain), ==, seconds(after));
}

static void test_memory(void) {
  const double whole = simulate(WIDE "workload.optimizer.sharding=ddp").result.memory_peak_bytes;
  const double os = simulate(WIDE "workload.optimizer.sharding=zero-1").result.memory_peak_bytes;
  const double os_g = simulate(WIDE "workload.optimizer.sharding=zero-2").result.memory_peak_bytes;
  const double all = simulate(WIDE "workload.optimizer.sharding=zero-3").result.memory_peak_bytes;
  const double kept =
      simulate(WIDE "workload.optimizer.sharding={kind: fsdp, reshard-after-forward: false}")
          .result.memory_peak_bytes;
  const double fsdp = simulate(WIDE "workload.optimizer.sharding=fsdp").result.memory_peak_bytes;
  g_assert_cmpfloat(os, <, whole);
  g_assert_cmpfloat(os_g, <, os);
  g_assert_cmpfloat(all, <, os_g);
  g_assert_cmpfloat(kept, >, fsdp);
}

#define EXPERTS                                                                                    \
  "model.moe={experts: 16, topk: 2, ffn: 4096};workload.parallel={tp: 1, pp: 1, dp: 64, ep: 8};"   \
  "workload.batch.global=128;"

/* All parameters are somewhere once: under FSDP a rank updates P / 64 of them and holds their
 * optimizer's 12 bytes each and 4 of gradients, however experts are split over it: 16 / 8 on a
 * rank, shared out over 64 / 8 ranks. Whole, experts are an eighth of them on each rank, with 4
 * bytes of gradients. */
static void test_experts_are_shared_out(void) {
  const Answer alone = simulate(EXPERTS "workload.parallel.ep=1;workload.optimizer.sharding=fsdp");
  const Answer split = simulate(EXPERTS "workload.optimizer.sharding=fsdp");
  const Answer state = simulate(EXPERTS "workload.optimizer.sharding=zero-1");
  const Answer whole = simulate(EXPERTS);
  assert_close(alone.memory.optimizer_bytes, split.memory.optimizer_bytes, 1e-12);
  assert_close(state.memory.optimizer_bytes, split.memory.optimizer_bytes, 1e-12);
  assert_close(split.memory.gradients_bytes, split.memory.optimizer_bytes / 3, 1e-12);
  /* 16 layers of 16 experts of two matrices of 4096 * 4096 and their biases, no gate: 16 * 16 * (2
   * * 4096^2 + 2 * 4096)
   */
  const double experts = 16 * 16 * (2.0 * 4096 * 4096);
  g_assert_cmpfloat(whole.memory.gradients_bytes, >, 4 * experts / 8);
  assert_close(whole.memory.gradients_bytes - 64 * split.memory.gradients_bytes,
               -4 * experts * 7 / 8, 0.01);
}

/* A group of all ranks is FSDP; groups of 8 hold all experts once each, and so 8 times what FSDP
 * holds. */
static void test_experts_in_groups(void) {
  const Answer fsdp = simulate(EXPERTS "workload.optimizer.sharding=fsdp");
  const Answer one = simulate(EXPERTS "workload.optimizer.sharding={kind: hsdp, group: 64}");
  const Answer groups = simulate(EXPERTS "workload.optimizer.sharding={kind: hsdp, group: 8}");
  g_assert_cmpfloat(one.result.iteration_time_s, ==, fsdp.result.iteration_time_s);
  assert_close(groups.memory.optimizer_bytes, 8 * fsdp.memory.optimizer_bytes, 1e-12);
}

/* Experts' gradients are reduced as their backward completes them: less is left for the end. */
static void test_experts_overlap(void) {
  const double after = seconds(EXPERTS "workload.data-parallel.overlap=false");
  const double beside = seconds(EXPERTS "workload.data-parallel.overlap=true");
  g_assert_cmpfloat(beside, <, after);
  const double none = seconds(EXPERTS "workload.optimizer.sharding={kind: fsdp, prefetch: 0}");
  const double one = seconds(EXPERTS "workload.optimizer.sharding={kind: fsdp, prefetch: 1}");
  g_assert_cmpfloat(one, <, none);
}

static void test_refusals(void) {
  const struct {
    const char *sets, *says;
  } cases[] = {
      {"workload.optimizer.sharding=zero-2", "zero-2 does not work with a pipeline (pp is 4)"},
      {"workload.optimizer.sharding=zero-3", "zero-3 does not work with a pipeline (pp is 4)"},
      {"workload.optimizer.sharding=ddp", "ddp does not work with a pipeline (pp is 4)"},
      {"workload.optimizer.sharding={kind: hsdp, group: 3}",
       "ranks (4) cannot be divided by its group (3)"},
      {EXPERTS "workload.optimizer.sharding=zero-3",
       "zero-3 does not work with expert parallelism (ep is 8)"},
      {EXPERTS "workload.optimizer.sharding={kind: hsdp, group: 4}",
       "the 4 * 1 ranks of one copy (group * tp) cannot be divided by etp * ep (1 * 8)"},
      {"workload.optimizer.sharding=zero3", "did you mean 'zero-3'"},
      {"workload.optimizer.sharding={kind: fsdp, prefetsch: 2}", "did you mean 'prefetch'"},
      {"workload.optimizer.sharding={kind: fsdp, prefetch: -1}",
       "'prefetch' must be between 0 and 1000"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) assert_refused(cases[i].sets, cases[i].says);
}

static void norm_ranks(gconstpointer sets, gpointer ranks) {
  g_autoptr(GError) error = NULL;
  OrrLibrary *library = shared_library();
  g_autoptr(OrrScenario) scenario = scenario_of(library, scenario_text, sets);
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, TRUE, &error);
  g_assert_no_error(error);
  ORR_EACH(const OrrCollectiveRow, row, outcome->collectives)
    if (g_str_equal(row->name, "gradient-norm")) *(gint64 *)ranks = row->n_ranks;
}

/* Of 64 ranks, all that hold a part of one copy of the gradients: tp pp of a replica, and with a
 * sharded optimizer the ranks that share it. HSDP of groups of 16 on two stages: 32. */
static void test_norm_of_one_copy(void) {
  static const struct {
    const char *sets;
    gint64 ranks;
  } cases[] = {
      {"workload.optimizer.sharding=none", 16},
      {"workload.parallel={tp: 2, pp: 2, cp: 2};workload.optimizer.sharding=none", 8},
      {"workload.optimizer.sharding=zero-1", 64},
      {"workload.parallel={tp: 2, pp: 2, cp: 2};workload.optimizer.sharding=distributed-optimizer",
       64},
      {"workload.parallel={tp: 1, pp: 2, dp: 32};workload.optimizer.sharding={kind: hsdp, group: "
       "16}",
       32},
  };
  shared_costs("a100-80gb-sxm");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gint64 ranks = 0;
    g_assert_true(forked_answer(norm_ranks, cases[i].sets, &ranks, sizeof ranks));
    g_assert_cmpint(ranks, ==, cases[i].ranks);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-sharding/folded-is-full", test_folded_is_full);
  g_test_add_func("/training-sharding/order-of-traffic", test_order_of_traffic);
  g_test_add_func("/training-sharding/lists", test_lists_closed_form);
  g_test_add_func("/training-sharding/lists-grow", test_lists_grow);
  g_test_add_func("/training-sharding/slow-network", test_slow_network_closed_form);
  g_test_add_func("/training-sharding/ahead-hides", test_ahead_hides);
  g_test_add_func("/training-sharding/buckets-hide", test_buckets_hide);
  g_test_add_func("/training-sharding/no-overlap", test_no_overlap);
  g_test_add_func("/training-sharding/memory", test_memory);
  g_test_add_func("/training-sharding/experts-are-shared-out", test_experts_are_shared_out);
  g_test_add_func("/training-sharding/experts-in-groups", test_experts_in_groups);
  g_test_add_func("/training-sharding/experts-overlap", test_experts_overlap);
  g_test_add_func("/training-sharding/norm-of-one-copy", test_norm_of_one_copy);
  g_test_add_func("/training-sharding/refusals", test_refusals);
  return g_test_run();
}
