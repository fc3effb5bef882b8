/*
 * What is kept in the hosts' memory: times against the closed forms of training_offload.c, bytes on
 * both sides, rules.
 *
 * DGX A100: PCIe of 31.5 GB/s at 0.76, the same for the two GPUs of a PCIe switch together; DRAM of
 * 409.6 GB/s at 0.8; 4 bytes of a gradient, 2 of a weight, so that Adam streams 24 + 4 + 2 = 30
 * bytes a parameter. Each copy begins with 1 us.
 */
#include "tests/workloads/training/training_fixture.h"

#define PCIE (31.5e9 * 0.76)
#define DRAM (409.6e9 * 0.8)
/* NICs cross no PCIe: a link that is slower than they are would else carry 80 % (fabric_host.c). */
#define NO_LATENCY "cluster.node.host-link-latency=0 s;cluster.node.host.network-path=apart;"
#define ONE                                                                                        \
  "cluster.nodes=1;cluster.gpus=1;workload.parallel={tp: 1, pp: 1, dp: "                           \
  "1};workload.batch.global=2;" NO_LATENCY
#define EIGHT                                                                                      \
  "cluster.nodes=1;workload.parallel={tp: 1, pp: 1, dp: 8};workload.batch.global=16;" NO_LATENCY
#define SERIAL "workload.offload={optimizer: 1, overlap: false};"

/* The step but for what is offloaded, and P from its 2 bytes each. */
static double parameters(const Answer *whole) { return whole->memory.weights_bytes / 2; }

/* Nothing overlaps: gradients out, Adam, weights back, one after the other, where the GPU's own
 * update was. */
static void test_serial(void) {
  const Answer none = simulate(ONE), all = simulate(ONE SERIAL);
  const double p = parameters(&none);
  assert_close(all.times[ORR_TIME_OFFLOAD], (4 + 2) * p / PCIE, 1e-6);
  assert_close(all.times[ORR_TIME_OPTIMIZER], 30 * p / DRAM, 1e-6);
  assert_close(all.result.iteration_time_s - none.result.iteration_time_s,
               6 * p / PCIE + 30 * p / DRAM - none.times[ORR_TIME_OPTIMIZER], 1e-6);
}

/* Moments in bf16: Adam streams 2 (4 + 2 + 2) + 4 + 2 = 22 bytes a parameter. */
static void test_moments(void) {
  const Answer none = simulate(ONE), all = simulate(ONE SERIAL "workload.optimizer.moments=bf16");
  assert_close(all.times[ORR_TIME_OPTIMIZER], 22 * parameters(&none) / DRAM, 1e-6);
}

/* Eight GPUs share the node's memory: eight whole updates take eight times as long on it; shared
 * out over them (zero-1) they are one. Two of them share a link for their copies. */
static void test_shared_memory(void) {
  const Answer one = simulate(ONE SERIAL), eight = simulate(EIGHT SERIAL);
  const Answer sharded = simulate(EIGHT SERIAL "workload.optimizer.sharding=zero-1");
  assert_close(eight.times[ORR_TIME_OPTIMIZER], 8 * one.times[ORR_TIME_OPTIMIZER], 1e-6);
  assert_close(eight.times[ORR_TIME_OFFLOAD], 2 * one.times[ORR_TIME_OFFLOAD], 1e-6);
  assert_close(sharded.times[ORR_TIME_OPTIMIZER], one.times[ORR_TIME_OPTIMIZER], 1e-6);
  assert_close(sharded.times[ORR_TIME_OFFLOAD], one.times[ORR_TIME_OFFLOAD] / 4, 1e-6);
}

/* Where gradients are shared out they are added up on the host: of 2 micro-batches' sums, each
 * goes out and the second is fetched first: 3 times g, and w once, of P / 8. */
static void test_sums_on_the_host(void) {
  const Answer none = simulate(EIGHT);
  const Answer zero = simulate(EIGHT SERIAL "workload.optimizer.sharding=zero-2");
  assert_close(zero.times[ORR_TIME_OFFLOAD], (3 * 4 + 2) * parameters(&none) / 8 / (PCIE / 2),
               1e-6);
}

/* During the backward and at the same time: no longer than one after the other, no shorter than
 * the longest. A host of no cost leaves the way back of the weights, and what of the gradients
 * outlasts the backward. */
static void test_overlap(void) {
  const Answer none = simulate(ONE), serial = simulate(ONE SERIAL);
  const Answer beside = simulate(ONE "workload.offload={optimizer: 1}");
  const Answer quick = simulate(
      ONE "workload.offload={optimizer: 1};cluster.node.host.memory-bandwidth=100000 GB/s");
  const double p = parameters(&none),
               without_s = none.result.iteration_time_s - none.times[ORR_TIME_OPTIMIZER];
  g_assert_cmpfloat(beside.result.iteration_time_s, <, serial.result.iteration_time_s);
  g_assert_cmpfloat(beside.result.iteration_time_s, >, without_s + 30 * p / DRAM);
  g_assert_cmpfloat(quick.result.iteration_time_s, >=, (without_s + 2 * p / PCIE) * (1 - 1e-9));
  g_assert_cmpfloat(quick.result.iteration_time_s, <, without_s + 6 * p / PCIE);
  assert_close(none.times[ORR_TIME_GEMM], beside.times[ORR_TIME_GEMM],
               1e-9); /* copies slow no kernel */
}

/* Half on the host, half on the GPU, at once: half the bytes everywhere, and the GPU's half hidden
 * behind the host's.
 */
static void test_part(void) {
  const Answer all = simulate(ONE SERIAL),
               half = simulate(ONE "workload.offload={optimizer: 0.5, overlap: false}");
  assert_close(half.memory.host_bytes, all.memory.host_bytes / 2, 1e-9);
  assert_close(half.times[ORR_TIME_OFFLOAD], all.times[ORR_TIME_OFFLOAD] / 2, 1e-6);
  assert_close(half.times[ORR_TIME_OPTIMIZER], all.times[ORR_TIME_OPTIMIZER] / 2, 1e-6);
}

/* 12 bytes of state and 4 of gradient a parameter go to the host; whole gradients stay on the
 * GPU besides, shared-out ones do not. */
static void test_optimizer_bytes(void) {
  const Answer none = simulate(EIGHT "workload.optimizer.sharding=zero-2");
  const Answer all =
      simulate(EIGHT "workload.optimizer.sharding=zero-2;workload.offload.optimizer=1");
  const Answer whole = simulate(ONE "workload.offload.optimizer=1");
  assert_close(all.memory.host_bytes, none.memory.optimizer_bytes + none.memory.gradients_bytes,
               1e-9);
  g_assert_cmpfloat(all.memory.optimizer_bytes, ==, 0);
  g_assert_cmpfloat(all.memory.gradients_bytes, ==, 0);
  assert_close(all.result.host_memory_peak_bytes, 8 * all.memory.host_bytes, 1e-9);
  g_assert_cmpfloat(whole.memory.gradients_bytes, >, 0);
  assert_close(whole.memory.host_bytes, 16 * parameters(&whole), 1e-9);
  g_assert_true(all.result.fits);
  const Answer small =
      simulate(EIGHT "workload.optimizer.sharding=zero-2;workload.offload.optimizer=1;"
                     "cluster.node.host.memory=10 GB");
  g_assert_false(small.result.fits);
  assert_close(small.result.host_headroom_bytes, 10e9 - small.result.host_memory_peak_bytes, 1e-9);
}

#define ZERO_3 "workload.optimizer.sharding=zero-3;workload.batch.global=8;"
#define EVALUATION "workload.evaluation=true;workload.offload.parameters=true;"
#define UP "workload.offload={optimizer: 1, parameters: true};"

/* Of P parameters over 8 ranks DeepSpeed's 2 bytes each lie on the host with 12 of state and 4
 * of gradient; what is gathered stays on the GPU. FSDP's share is the optimizer's own. An
 * evaluation has the weights alone. */
static void test_parameter_bytes(void) {
  const Answer none = simulate(ONE), there = simulate(EIGHT ZERO_3), up = simulate(EIGHT ZERO_3 UP);
  const Answer optimizer = simulate(EIGHT ZERO_3 "workload.offload={optimizer: 1}");
  const Answer fsdp = simulate(EIGHT "workload.optimizer.sharding=fsdp;" UP);
  const Answer evaluation = simulate(EIGHT ZERO_3 EVALUATION);
  const double share = parameters(&none) / 8;
  assert_close(optimizer.memory.host_bytes, 16 * share, 1e-9);
  assert_close(up.memory.host_bytes, 18 * share, 1e-9);
  assert_close(there.memory.weights_bytes - up.memory.weights_bytes, 2 * share, 1e-9);
  assert_close(fsdp.memory.host_bytes, 16 * share, 1e-9);
  assert_close(evaluation.memory.host_bytes, 2 * share, 1e-9);
}

/* An evaluation of one micro-batch copies each share up once, 2 P / 8 bytes, 4 P / 8 of FSDP's.
 * Where copies outlast all else they are one chain, so that a link of half the rate, which two
 * GPUs share, adds the chain again; a step of training has two passes, and more, since gradients go
 * out at the same time. */
static void test_parameter_copies(void) {
  static const char *const kinds[] = {"workload.optimizer.sharding=zero-3;",
                                      "workload.optimizer.sharding=fsdp;"};
  const double p = parameters(&(const Answer[]){simulate(ONE)}[0]);
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    const char *const base = EIGHT EVALUATION "workload.batch.global=8;";
    g_autofree char *slow =
        g_strconcat(base, kinds[i], "cluster.node.host-link-bandwidth=0.2 GB/s", NULL);
    g_autofree char *slower =
        g_strconcat(base, kinds[i], "cluster.node.host-link-bandwidth=0.1 GB/s", NULL);
    const double bytes = (i == 0 ? 2 : 4) * p / 8;
    assert_close(simulate(slower).result.iteration_time_s - simulate(slow).result.iteration_time_s,
                 bytes / (0.1e9 * 0.76 / 2) / 2, 1e-3);
  }
}

/* Weights that stay on the host come up before each pass, which a link that is quick enough
 * hides, and not after the update, where they share the memory with Adam: there 2 P bytes are
 * saved, but for what begins or ends alone. */
static void test_parameters_of_a_step(void) {
  const Answer none = simulate(ONE), up = simulate(EIGHT ZERO_3 UP);
  const Answer quick = simulate(EIGHT ZERO_3 UP "cluster.node.host-link-bandwidth=100000 GB/s");
  const Answer quick_optimizer =
      simulate(EIGHT ZERO_3 "workload.offload={optimizer: 1};"
                            "cluster.node.host-link-bandwidth=100000 GB/s");
  g_assert_cmpfloat(up.result.iteration_time_s, >, quick.result.iteration_time_s);
  assert_close(quick_optimizer.result.iteration_time_s - quick.result.iteration_time_s,
               2 * parameters(&none) / DRAM, 0.15);
}

#define LAYERS "workload.batch.global=1;workload.offload.activations=16;"

/* A copy of c seconds that outlasts a layer's f and b: forward ends with the 16th copy's begin;
 * copies out and back are one chain of 2 N c (training_offload.c), before and after which one
 * layer computes. Twice as slow a link adds the chain again. A link that is quick enough hides
 * all: what the last layer's copies take is under the head. */
static void test_activations(void) {
  const Answer none = simulate(ONE "workload.batch.global=1");
  const Answer slow = simulate(ONE LAYERS "cluster.node.host-link-bandwidth=2 GB/s");
  const Answer slower = simulate(ONE LAYERS "cluster.node.host-link-bandwidth=1 GB/s");
  const Answer quick = simulate(ONE LAYERS "cluster.node.host-link-bandwidth=100000 GB/s");
  const double bytes = slow.memory.host_bytes;
  assert_close(slower.result.iteration_time_s - slow.result.iteration_time_s,
               2 * bytes / (1e9 * 0.76) / 2, 1e-6);
  assert_close(quick.result.iteration_time_s, none.result.iteration_time_s, 1e-4);
  assert_close(none.memory.activations_bytes - quick.memory.activations_bytes, bytes, 1e-9);
  assert_close(quick.memory.buffers_bytes - none.memory.buffers_bytes, bytes * 4 / 16, 1e-9);
}

/* Four of sixteen layers: a quarter of the bytes. Under 1F1B stage 0 of 4 holds 4 micro-batches'
 * at once. */
static void test_some_layers(void) {
  const Answer all = simulate(ONE LAYERS),
               some = simulate(ONE LAYERS "workload.offload.activations=4");
  assert_close(some.memory.host_bytes, all.memory.host_bytes / 4, 1e-9);
  const Answer stages = simulate("workload.offload.activations=1");
  const Answer more = simulate("workload.offload.activations=2");
  assert_close(more.memory.host_bytes, 2 * stages.memory.host_bytes, 1e-9);
  g_assert_cmpfloat(stages.memory.host_bytes, >, 0);
}

static void test_folded_is_full(void) {
  static const char *const variants[] = {
      "workload.offload={optimizer: 1, activations: 2}",
      "workload.parallel={tp: 1, pp: 1, dp: "
      "64};workload.optimizer.sharding=zero-2;workload.offload={optimizer: 0.7}",
      "workload.parallel={tp: 2, pp: 1, dp: "
      "32};workload.optimizer.sharding=fsdp;workload.offload={optimizer: 1, parameters: true}",
      "workload.parallel={tp: 1, pp: 1, dp: "
      "64};workload.optimizer.sharding=zero-3;workload.offload={optimizer: 1, "
      "parameters: true}",
      "workload.parallel={tp: 2, pp: 1, dp: 32};workload.optimizer.sharding={kind: hsdp, group: "
      "4};workload.offload={"
      "optimizer: 1, parameters: true}",
      /* stages of two kinds on a node: the first holds more */
      "cluster.nodes=3;model.heads=24;model.hidden=3072;workload.parallel={tp: 3, pp: 2, dp: "
      "4};workload.offload={optimizer: 1, activations: 3}",
  };
  for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
    g_autofree char *folded = g_strconcat("fidelity=folded;", variants[i], NULL);
    g_autofree char *full = g_strconcat("fidelity=full;", variants[i], NULL);
    const Answer a = simulate(folded), b = simulate(full);
    assert_close(a.result.iteration_time_s, b.result.iteration_time_s, 1e-9);
    g_assert_cmpfloat(a.result.host_memory_peak_bytes, ==, b.result.host_memory_peak_bytes);
  }
}

static void test_refusals(void) {
  static const struct {
    const char *sets, *says;
  } cases[] = {
      {"workload.offload.optimizer=1;cluster.node.host.memory=0 "
       "B;cluster.node.host.memory-bandwidth=0 B/s",
       "offload (optimizer 1, activations 0) needs host memory, and cluster dgx-a100-superpod does "
       "not say"},
      {"cluster.node.host.memory=0 B", "give both or neither"},
      {"workload.offload.activations=2;workload.pipeline=zb-h1",
       "zb-h1, which splits backwards in two"},
      {"workload.offload.optimizer=1;workload.pipeline=dualpipe",
       "dualpipe, which holds the model twice"},
      {"workload.offload.activations=5", "5 layers of each chunk, and the largest chunk has 4"},
      {"workload.recompute=full;workload.recompute-layers=5",
       "recompute-layers is 5 layers from one input (recompute-method uniform), and the largest "
       "chunk has 4"},
      {"workload.offload.optimizer=1.5", "'optimizer' must be between"},
      {"workload.offload={optimizer: 0.5, parameters: true};workload.parallel={tp: 1, pp: 1, dp: "
       "64};"
       "workload.optimizer.sharding=zero-3",
       "offload.parameters needs offload.optimizer: 1, but it is 0.5"},
      {"workload.offload.optimizer=1;workload.parallel={tp: 1, pp: 1, dp: 64};"
       "workload.optimizer.sharding=fsdp",
       "offload.optimizer (1) without offload.parameters does not exist with optimizer.sharding "
       "fsdp"},
      {"workload.offload={optimizer: 1, parameters: true};workload.optimizer.sharding=zero-1",
       "with optimizer.sharding zero-1 each rank holds all: use zero-3, fsdp or hsdp"},
      {"workload.offload={optimizer: 1, parameters: true};workload.parallel={tp: 4, pp: 1, dp: "
       "1};cluster.gpus=4;"
       "cluster.nodes=1;workload.optimizer.sharding=fsdp",
       "has one (dp * cp is 1)"},
      {"workload.offload={optimiser: 1}", "did you mean 'optimizer'"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) assert_refused(cases[i].sets, cases[i].says);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-offload/serial", test_serial);
  g_test_add_func("/training-offload/moments", test_moments);
  g_test_add_func("/training-offload/parameter-bytes", test_parameter_bytes);
  g_test_add_func("/training-offload/parameter-copies", test_parameter_copies);
  g_test_add_func("/training-offload/parameters-of-a-step", test_parameters_of_a_step);
  g_test_add_func("/training-offload/shared-memory", test_shared_memory);
  g_test_add_func("/training-offload/sums-on-the-host", test_sums_on_the_host);
  g_test_add_func("/training-offload/overlap", test_overlap);
  g_test_add_func("/training-offload/part", test_part);
  g_test_add_func("/training-offload/optimizer-bytes", test_optimizer_bytes);
  g_test_add_func("/training-offload/activations", test_activations);
  g_test_add_func("/training-offload/some-layers", test_some_layers);
  g_test_add_func("/training-offload/folded-is-full", test_folded_is_full);
  g_test_add_func("/training-offload/refusals", test_refusals);
  return g_test_run();
}
