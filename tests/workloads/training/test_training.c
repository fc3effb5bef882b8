/*
 * The training workload as a user's scenario sees it: what must stay equal, what must scale, what
 * is refused.
 *
 * Each simulation runs in a child of its own: SimGrid allows one engine a process.
 */
#include "tests/base/field_lint.h"
#include "tests/workloads/training/training_fixture.h"

static void test_same_twice(void) {
  const Answer a = simulate(""), b = simulate("");
  g_assert_cmpfloat(a.result.iteration_time_s, ==, b.result.iteration_time_s);
  g_assert_cmpfloat(a.span_sum, ==, b.span_sum);
}

/* The answer says how 64 GPUs were split: what dp was left to is 64 / (4 * 2 * 2). */
static void test_sizes(void) {
  const Answer answer = simulate("workload.parallel={tp: 4, cp: 2, pp: 2, dp: 0}");
  g_assert_cmpint(answer.result.tp, ==, 4);
  g_assert_cmpint(answer.result.cp, ==, 2);
  g_assert_cmpint(answer.result.pp, ==, 2);
  g_assert_cmpint(answer.result.dp, ==, 4);
}

/* Folded equals full, with and without overlap, chunks, sharding; where replicas cross different
 * switches (groups of 3 nodes), folding must split classes and still be equal. */
static void test_folded_is_full(void) {
  static const char *const variants[] = {
      "",
      "workload.data-parallel.overlap=false",
      "workload.pipeline={kind: interleaved-1f1b, chunks: 2}",
      "workload.optimizer.sharding=distributed-optimizer;workload.recompute=full",
      "workload.parallel={tp: 8, pp: 2, dp: 4};workload.parallel.sequence-parallel=true",
      "workload.parallel={tp: 2, pp: 8, dp: 4}",
      "workload.pipeline=zb-h1",
      "workload.pipeline=zb-v",
      "workload.pipeline=dualpipe;workload.optimizer.sharding=distributed-optimizer",
      "workload.pipeline={kind: breadth-first, chunks: 4}",
      "workload.parallel={tp: 1, pp: 1, dp: 64}",
      /* groups that straddle nodes in different ways */
      "cluster.nodes=3;model.heads=24;model.hidden=3072;workload.parallel={tp: 3, pp: 2, dp: 4}",
      "cluster.max-nodes=0;cluster.fabric={kind: fat-tree, levels: 2, nodes-per-leaf: 2, "
      "oversubscription: 4}",
      "cluster.max-nodes=0;cluster.fabric={kind: rail-optimized, levels: 2, nodes-per-group: 3, "
      "oversubscription: 2}",
  };
  for (guint i = 0; i < G_N_ELEMENTS(variants); i++) assert_folded_is_full(variants[i]);
}

/* Where the kinds of time go is all of the time. */
static void test_times_add_up(void) {
  const Answer a = simulate(
      "workload.pipeline={kind: interleaved-1f1b, chunks: 2};workload.recompute=selective");
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += a.times[kind];
  assert_close(sum, a.result.iteration_time_s, 1e-9);
}

/* Nothing contends when tp, pp and dp keep to links of their own: SimGrid and the ideal engine
 * agree. */
static void test_engines_agree(void) {
  const char *const base =
      "workload.parallel={tp: 8, pp: 1, dp: 8};workload.data-parallel.overlap=false;engine=";
  g_autofree char *simgrid = g_strconcat(base, "simgrid", NULL);
  g_autofree char *ideal = g_strconcat(base, "ideal", NULL);
  assert_close(simulate(simgrid).result.iteration_time_s, simulate(ideal).result.iteration_time_s,
               1e-9);
}

/* The bubble of a long pipeline of equal stages comes near the closed form (p - 1) / (m + p -
 * 1): embedding, head and transfers make up the rest. 1F1B, p = 4, m = 64: 3 / 67 = 4.5 %. */
static void test_bubble(void) {
  const Answer a =
      simulate("workload.parallel={tp: 8, pp: 4, dp: 2};workload.batch.global=128;model.layers=64");
  g_assert_cmpfloat(a.result.bubble_fraction, >, 0.035);
  g_assert_cmpfloat(a.result.bubble_fraction, <, 0.075);
}

/* Zero bubble against 1F1B on the same stages, p = 4, m = 64 (2 replicas): the bubble falls from
 * 3 (F + B + W) to 3 (F + B - W), a third where B and W take as long as F, more where B (attention,
 * and collectives that it no longer hides) takes longer; ZB-V's to half a forward. A small
 * vocabulary keeps the ends from being slower than the other stages. */
static void test_zero_bubble(void) {
  const char *const sets =
      "workload.parallel={tp: 8, pp: 4, dp: "
      "2};workload.batch.global=128;model.layers=64;model.vocab=1024;workload.pipeline=";
  double bubble[3];
  static const char *const kinds[] = {"1f1b", "zb-h1", "zb-v"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *all = g_strconcat(sets, kinds[i], NULL);
    bubble[i] = simulate(all).result.bubble_fraction;
  }
  g_test_message("bubbles: 1f1b %g, zb-h1 %g, zb-v %g", bubble[0], bubble[1], bubble[2]);
  g_assert_cmpfloat(bubble[1], <, 0.7 * bubble[0]);
  g_assert_cmpfloat(bubble[1], >, 0.3 * bubble[0]);
  g_assert_cmpfloat(bubble[2], <, bubble[1]);
}

/* Post-validation: three steps of ZB-V one after the other without the wait at each end. */
static void test_post_validation(void) {
  const char *const sets = "workload.steps=3;model.layers=16;workload.batch.global=32;workload."
                           "pipeline={kind: zb-v, post-validation: ";
  g_autofree char *waits = g_strconcat(sets, "false}", NULL);
  g_autofree char *goes_on = g_strconcat(sets, "true}", NULL);
  g_assert_cmpfloat(simulate(goes_on).result.iteration_time_s, <,
                    simulate(waits).result.iteration_time_s);
}

/* DualPipe holds the model twice: weights of two blocks a stage, and gradients that its copies
 * reduce even where there is one replica. */
static void test_dualpipe(void) {
  const char *const sets =
      "workload.parallel={tp: 8, pp: 8, dp: 1};workload.batch.global=32;workload.pipeline=";
  g_autofree char *once = g_strconcat(sets, "1f1b", NULL);
  g_autofree char *twice = g_strconcat(sets, "dualpipe", NULL);
  const Answer a = simulate(once), b = simulate(twice);
  g_assert_cmpfloat(a.times[ORR_TIME_DP_COMM], <, 0.1 * b.times[ORR_TIME_DP_COMM]);
  g_assert_cmpfloat(b.result.allocator_peak_bytes, >, 1.3 * a.result.allocator_peak_bytes);
  g_assert_cmpfloat(b.times[ORR_TIME_BUBBLE], <, a.times[ORR_TIME_BUBBLE]);
}

/* Two steps take twice one step's time: nothing carries over but the optimizer's end. */
static void test_steps(void) {
  const Answer one = simulate("workload.steps=1"), two = simulate("workload.steps=2");
  assert_close(one.result.iteration_time_s, two.result.iteration_time_s, 1e-6);
}

/* A part of what the cluster's base names by name can be changed alone: the device, the fabric. */
static void test_overrides(void) {
  const Answer plain = simulate(""), small = simulate("cluster.device.memory=4 GiB");
  g_assert_cmpfloat(plain.result.iteration_time_s, ==, small.result.iteration_time_s);
  g_assert_true(plain.result.fits);
  g_assert_false(small.result.fits);
  /* What is measured scales with the device: twice the rate, all but twice the GEMMs; twice the
   * NVLink, less tp-comm.
   */
  const Answer fast = simulate("cluster.device.bf16=624 TFLOP/s");
  g_assert_cmpfloat(fast.times[ORR_TIME_GEMM], <, 0.6 * plain.times[ORR_TIME_GEMM]);
  g_assert_cmpfloat(fast.times[ORR_TIME_GEMM], >, 0.49 * plain.times[ORR_TIME_GEMM]);
  const Answer wide = simulate("cluster.device.scale-up-bandwidth=600 GB/s");
  g_assert_cmpfloat(wide.times[ORR_TIME_TP_COMM], <, 0.8 * plain.times[ORR_TIME_TP_COMM]);
  const Answer slow = simulate("cluster.fabric.switch-latency=100 us");
  g_assert_cmpfloat(slow.result.iteration_time_s, >, plain.result.iteration_time_s);
}

/* Oversubscribing the spine cannot make a step faster, and 16:1 must slow the gradient reduction
 * down. */
static void test_oversubscription(void) {
  const char *const fabric =
      "workload.parallel={tp: 8, pp: 1, dp: 8};workload.data-parallel.overlap=false;"
      "cluster.max-nodes=0;cluster.fabric={kind: fat-tree, levels: 2, nodes-per-leaf: 1, "
      "oversubscription: ";
  g_autofree char *even = g_strconcat(fabric, "1}", NULL);
  g_autofree char *thin = g_strconcat(fabric, "16}", NULL);
  g_assert_cmpfloat(simulate(thin).result.iteration_time_s, >,
                    1.01 * simulate(even).result.iteration_time_s);
}

static void assert_same(const char *a, const char *b) {
  const Answer x = simulate(a), y = simulate(b);
  if (x.span_sum != y.span_sum || x.result.memory_peak_bytes != y.result.memory_peak_bytes)
    g_error("'%s' and '%s' differ: %.17g and %.17g s", a, b, x.result.iteration_time_s,
            y.result.iteration_time_s);
}

/* Each way to cut layers into stages says the same as the layout that it stands for; 14 layers
 * with both ends counted as one make 16 over 4 stages. */
static void test_splits(void) {
  assert_same("", "workload.pipeline-split.layout=Et*4|t*4|t*4|t*4L");
  assert_same("model.layers=14;workload.pipeline-split={count-embedding: true, count-loss: true}",
              "model.layers=14;workload.pipeline-split.layout=Ettt,|(t*4|)*2,tttL");
  assert_same("workload.pipeline-split={first: 3, last: 3}",
              "workload.pipeline-split.layout=Et*3|(t*5|)*2t*3L");
  assert_same("workload.pipeline-split={first: 2, last: 2};workload.pipeline={kind: "
              "interleaved-1f1b, chunks: 2}",
              "workload.pipeline-split.layout=Et|(ttt|)*2t|t|(ttt|)*2tL;"
              "workload.pipeline={kind: interleaved-1f1b, chunks: 2}");
  assert_same("model.mtp-layers=1;workload.pipeline-split.layout=Et*4|t*4|t*4|t*4,mL",
              "model.mtp-layers=1;workload.pipeline-split.layout=Et*4|t*4|t*4|t*4L");
}

/* A layer of multi-token prediction in a stage before the head's is the same work, and leaves less
 * to the head's stage, which is the slowest: two products of 256,000 x 4,096 are ten layers. */
static void test_split_mtp(void) {
  const char *const model =
      "model.vocab=256000;model.mtp-layers=1;workload.pipeline-split.layout=Et*4|t*4|t*8";
  g_autofree char *whole = g_strconcat(model, "|mL", NULL);
  g_autofree char *apart = g_strconcat(model, ",m|L", NULL);
  const OrrTrainingResult with = simulate(whole).result, without = simulate(apart).result;
  g_assert_cmpfloat(without.iteration_time_s, <, with.iteration_time_s);
  const double work = with.hardware_tflops_per_gpu * with.iteration_time_s;
  g_assert_cmpfloat(fabs(without.hardware_tflops_per_gpu * without.iteration_time_s / work - 1), <,
                    1e-9);
}

/* The slowest stage is the pace: a stage of one layer less on each end takes less than an even
 * cut, whose last stage has the head besides. */
static void test_split_pace(void) {
  const char *const model = "model.vocab=256000;model.layers=";
  g_autofree char *even = g_strconcat(model, "16", NULL);
  g_autofree char *uneven =
      g_strconcat(model, "16;workload.pipeline-split.layout=Et*4|t*5|t*5|ttL", NULL);
  g_assert_cmpfloat(simulate(uneven).result.iteration_time_s, <,
                    simulate(even).result.iteration_time_s);
}

/* Full recomputation of the first n layers of each stage: all four are `full`, no layers are
 * `none`; between, time and memory lie between. Uniform by two keeps every second input: of 4
 * layers and 4 micro-batches on stage 0, 8 inputs less, one layer's working set more. */
static void test_recompute_methods(void) {
  assert_same(
      "workload.recompute=full",
      "workload.recompute=full;workload.recompute-method=block;workload.recompute-layers=4");
  assert_same(
      "", "workload.recompute=full;workload.recompute-method=block;workload.recompute-layers=0");
  const Answer
      none = simulate(""),
      some = simulate("workload.recompute=operators"), full = simulate("workload.recompute=full"),
      half = simulate(
          "workload.recompute=full;workload.recompute-method=block;workload.recompute-layers=2"),
      pairs = simulate("workload.recompute=full;workload.recompute-layers=2");
  g_assert_cmpfloat(some.result.iteration_time_s, >, none.result.iteration_time_s);
  g_assert_cmpfloat(some.result.iteration_time_s, <, full.result.iteration_time_s);
  g_assert_cmpfloat(some.result.hardware_tflops_per_gpu, >, some.result.model_tflops_per_gpu);
  g_assert_cmpfloat(half.result.iteration_time_s, >, none.result.iteration_time_s);
  g_assert_cmpfloat(half.result.iteration_time_s, <, full.result.iteration_time_s);
  g_assert_cmpfloat(half.result.memory_peak_bytes, <, none.result.memory_peak_bytes);
  g_assert_cmpfloat(half.result.memory_peak_bytes, >, full.result.memory_peak_bytes);
  g_assert_cmpfloat(pairs.result.iteration_time_s, ==, full.result.iteration_time_s);
  /* s b h = 2048 * 4096: an input 2 s b h; a layer with fused attention, no dropout and tp 4
   * keeps s b h (8 + 24/4) and 4 bytes per row and head. */
  const double sbh = 2048.0 * 4096, layer = sbh * (8 + 24.0 / 4) + 4 * 2048.0 * 32 / 4;
  assert_close(pairs.result.memory_peak_bytes - full.result.memory_peak_bytes,
               (layer - 8 * 2 * sbh) / (1 - 0.15), 1e-9); /* and the allocator's gaps */
}

/* Under fp8 with every layer wide a step is a step in bf16, in time and memory; with half of the
 * layers it lies between, whichever end they are at, and has half of the narrow copies. */
static void test_wide_layers(void) {
#define FP8 "cluster={base: dgx-h100-superpod, nodes: 8};workload.precision=fp8-current;"
  const Answer plain = simulate("cluster={base: dgx-h100-superpod, nodes: 8}"),
               narrow = simulate(FP8), all = simulate(FP8 "workload.wide-layers.first=16"),
               half = simulate(FP8 "workload.parallel.pp=1;workload.parallel.dp=16;"
                                   "workload.wide-layers={first: 6, last: 2}"),
               other = simulate(FP8 "workload.parallel.pp=1;workload.parallel.dp=16;"
                                    "workload.wide-layers={first: 1, last: 7}"),
               one = simulate(FP8 "workload.parallel.pp=1;workload.parallel.dp=16");
#undef FP8
  assert_close(all.result.iteration_time_s, plain.result.iteration_time_s, 1e-9);
  assert_close(all.result.memory_peak_bytes, plain.result.memory_peak_bytes, 1e-9);
  g_assert_cmpfloat(narrow.result.iteration_time_s, <, plain.result.iteration_time_s);
  g_assert_cmpfloat(half.result.iteration_time_s, >, one.result.iteration_time_s);
  assert_close(half.result.iteration_time_s, other.result.iteration_time_s, 1e-6);
}

/* 18 layers on 4 stages filled up are 5, 5, 5, 3: as `last: 3` says it. 14 with both ends
 * counted are 16; 16 need nothing counted. 5 filled up would be 2, 2, 1 and nothing: with both
 * ends counted, 7, they are E + 1, 2, 2 and the loss. */
static void test_split_rules(void) {
  const char *const fill = "model.layers=18;workload.pipeline-split.fill=true";
  const char *const last = "model.layers=18;workload.pipeline-split.last=3";
  g_assert_cmpfloat(simulate(fill).span_sum, ==, simulate(last).span_sum);
  const char *const needed = "model.layers=14;workload.pipeline-split.count-where-needed=true";
  const char *const counted =
      "model.layers=14;workload.pipeline-split={count-embedding: true, count-loss: true}";
  g_assert_cmpfloat(simulate(needed).span_sum, ==, simulate(counted).span_sum);
  g_assert_cmpfloat(
      simulate("workload.pipeline-split={count-where-needed: true, fill: true}").span_sum, ==,
      simulate("").span_sum);
  const char *const both =
      "model.layers=5;workload.pipeline-split={count-where-needed: true, fill: true}";
  const char *const layout = "model.layers=5;workload.pipeline-split.layout=Et|tt|tt|L";
  g_assert_cmpfloat(simulate(both).span_sum, ==, simulate(layout).span_sum);
}

static void test_refusals(void) {
  const struct {
    const char *sets, *says;
  } cases[] = {
      {"workload.parallel.dp=3", "tp * pp * dp = 4 * 4 * 3 = 48 GPUs"},
      {"workload.parallel.tp=0", "'tp' must be between 1 and 1000000"},
      {"workload.parallel={tp: 64, pp: 1, dp: 1}", "attention heads"},
      {"model.layers=18", "layers (18) cannot be divided by pp * chunks (4 * 1)"},
      {"workload.pipeline-split.layout=Et|t", "it has 2 blocks, and pp * chunks makes 4"},
      {"workload.pipeline-split.layout=Et*4|t*4|t*4|t*5L",
       "it has 17 layers, and model small has 16"},
      {"workload.pipeline-split.layout=t*4|t*4|t*4|t*4L", "E begins the first block"},
      {"workload.pipeline-split.layout=(Et*4|t*4|t*4|t*4L", "a bracket is not closed"},
      {"workload.pipeline-split.layout=Et*4)|t*4|t*4|t*4L", "closed that was not opened"},
      {"workload.pipeline-split.layout=Ex*4|t*4|t*4|t*4L", "may hold E, t, m, L"},
      {"workload.pipeline-split.layout=Et*4|t*4|t*4|t*4mL", "m lists the model's layers"},
      {"model.mtp-layers=1;workload.pipeline-split.layout=Em|t|t|tL", "m comes after every t"},
      {"workload.pipeline-split.layout=Et*0|t*4|t*4|t*4L", "a number of 1 or more"},
      {"workload.pipeline-split.layout=E(t*99999)*99999|t|t|tL", "too long"},
      {"workload.pipeline-split={first: 3}", "leave 13 of small's 16 layers to 3 stages"},
      {"workload.pipeline-split={first: 4, count-loss: true}", "give only one of layout"},
      {"workload.pipeline-split={count-loss: true}",
       "layers (16) with embedding or loss counted (1)"},
      {"model.layers=5;workload.pipeline-split.fill=true", "layers (5) cannot be divided"},
      {"workload.batch.global=30", "batch.global (30) cannot be divided"},
      {"workload.pipeline={kind: interleaved-1f1b, chunks: 2};workload.batch.global=24",
       "multiple of pp"},
      {"workload.parallel.cp=2", "tp * cp * pp * dp = 4 * 2 * 4 * 4 = 128 GPUs"},
      {"workload.parallel={tp: 4, cp: 2, pp: 4};workload.sequence=2046",
       "2046 tokens of a sequence cannot be split over 2 * cp = 4"},
      {"workload.parallel={tp: 2, cp: 32, pp: 1, context: all-to-all}",
       "cannot be split over tp * cp = 64"},
      {"workload.parallel={tp: 4, pp: 4, ep: 2}", "ep = 2, etp = 1, but the model has no experts"},
      {"model.moe={experts: 8, topk: 2};workload.parallel={tp: 4, pp: 4, ep: 16, etp: 1, "
       "sequence-parallel: true}",
       "ep = 16 is more than the model's 8 experts"},
      {"model.moe={experts: 6, topk: 2};workload.parallel={tp: 4, pp: 4, ep: 4, etp: 1, "
       "sequence-parallel: true}",
       "6 experts cannot be split over ep = 4"},
      {"model.moe={experts: 9, topk: 2};workload.parallel={tp: 4, pp: 4, ep: 3, etp: 1, "
       "sequence-parallel: true}",
       "etp * ep (1 * 3) must divide the tp * cp * dp = 16 GPUs"},
      {"cluster.nodes=6;model.moe={experts: 6, topk: 2};workload.parallel={tp: 4, pp: 1, dp: 12, "
       "ep: 6, etp: 1, "
       "sequence-parallel: true}",
       "etp * ep (1 * 6) must divide tp * cp (4 * 1) or be a multiple of it"},
      {"model.moe={experts: 8, topk: 2};workload.parallel={tp: 4, pp: 4, ep: 4}",
       "with experts wants sequence-parallel: true"},
      {"workload.recompute=selective;workload.recompute-modules=[core-attn, mlps]",
       "unknown module 'mlps' (allowed: core-attn"},
      {"workload.precision=fp8-delayed", "gives no peak rate for fp8"},
      {"workload.parallel.order=tp-dp", "order"},
      {"workload.sequence=4096", "learned positions"},
      {"cluster.nodes=1000", "nodes is 1000"},
      {"workload.parallel={tp: 4, pp: 1, dp: 16};workload.pipeline={kind: interleaved-1f1b, "
       "chunks: 2}",
       "pp is 1"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) assert_refused(cases[i].sets, cases[i].says);
}

/* What a setting cannot do here is said; where it can, nothing is. */
static void test_idle_settings(void) {
#define MIXTURE "model.moe={experts: 8, topk: 2};workload.parallel={tp: 1, pp: 4, dp: 16, ep: 8};"
  const struct {
    const char *sets, *says;
  } cases[] = {
      {MIXTURE "workload.experts.nodes=4", "experts.nodes (4) has no effect"},
      {MIXTURE "workload.experts={nodes: 4, dispatch: deepep}", ""},
      {MIXTURE "workload.experts.shared-expert-overlap=true", "model small has no shared experts"},
      {MIXTURE "model.moe.shared-ffn=512;workload.experts.shared-expert-overlap=true", ""},
      {"workload.wide-layers.first=1", "wide-layers changes nothing: under bf16"},
      {"workload.experts.sync=true", "experts has no effect: model small has no experts"},
      {"workload.recompute-modules=[moe]", "recompute-modules has no effect: recompute is not s"},
      {"workload.recompute=selective;workload.recompute-modules=[core-attn]", ""},
      {"workload.recompute-method=block", "recompute-method (block) has no effect"},
      {"workload.recompute-layers=5", "recompute-layers (5) has no effect: recompute is not full"},
      {"workload.recompute=full;workload.recompute-layers=2", ""},
      {"workload.recompute=selective;workload.recompute-method=block",
       "recompute-method (block) has no effect: recompute is not full"},
      {"workload.lora.targets=[fc1]", "lora.targets has no effect: lora.rank is 0"},
      {"workload.lora={rank: 8, targets: [fc1]}", ""},
      {"workload.loader.workers=1", "loader.workers (1) has no effect: loader.sample-time is 0"},
      {"workload.packing.cut=true", "packing.cut (true) has no effect"},
      {"workload.checkpoint.sharded=false", "checkpoint.sharded (false) has no effect"},
      {"workload.data-parallel.bucket=1MiB;workload.optimizer.sharding=distributed-optimizer",
       "data-parallel.bucket (1MiB) has no effect: only sharding none"},
      {"workload.data-parallel.bucket=1MiB", ""},
      {"workload.noise.distribution=normal", "noise.distribution (normal) has no effect"},
      {"workload.noise={rank: 1 %, distribution: normal}", ""},
      {"workload.offload.overlap=false", "offload.overlap (false) has no effect"},
      {"workload.nccl.mscclpp=true", "nccl.mscclpp (true) has no effect"},
      {"cluster.device.power.cap=1000W", "device.power.cap (1000 W) caps nothing"},
      {"workload.checkpoint.mode=async", "checkpoint.mode (async) has no effect"},
      {"cluster.hash-draws=10", "hash-draws (10) has no effect: only routing: ecmp hashes"},
      {"cluster.hash-take=worst", "hash-take (worst) has no effect"},
      {"cluster.routing=ecmp;cluster.hash-take=worst",
       "hash-take (worst) has no effect: hash-draws"},
      {"cluster.routing=ecmp;cluster.hash-take=worst;cluster.hash-draws=4", ""},
      {"cluster.queue-pairs=4", "queue-pairs (4) has no effect"},
      {"cluster.routing=ecmp;cluster.queue-pairs=4", ""},
      {"cluster.routing=static;cluster.queue-pairs=4", ""},
  };
#undef MIXTURE
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = tree_with(cases[i].sets, diags);
    g_autoptr(OrrScenario) scenario = orr_scenario_read(shared_library(), tree, diags);
    g_autofree char *text = orr_diags_text(diags);
    g_assert_nonnull(scenario);
    if (cases[i].says[0] ? !strstr(text, cases[i].says) : text[0] != 0)
      g_error("'%s' says: %s", cases[i].sets, text);
  }
  assert_refused("workload.wide-layers={first: 9, last: 8}", "are more than the model's 16 layers");
}

/* Experts on half as many GPUs each: of 16 GPUs a stage, ep 4 leaves 4 copies, ep 16 none, and so
 * no reduction of them.
 */
static void test_expert_gradients(void) {
  const char *const sets =
      "model.moe={experts: 16, topk: 2};model.layers=8;workload.data-parallel.overlap=false;"
      "workload.parallel={tp: 1, pp: 4, dp: 16, ep: ";
  g_autofree char *four = g_strconcat(sets, "4}", NULL);
  g_autofree char *all = g_strconcat(sets, "16}", NULL);
  const Answer copies = simulate(four), single = simulate(all);
  g_assert_cmpfloat(copies.times[ORR_TIME_DP_COMM], >, 1.5 * single.times[ORR_TIME_DP_COMM]);
  g_assert_cmpfloat(copies.result.memory_peak_bytes, >, single.result.memory_peak_bytes);
  g_assert_cmpfloat(single.times[ORR_TIME_EP_COMM], >,
                    copies.times[ORR_TIME_EP_COMM]); /* over the network */
}

/* DualPipe hides all-to-alls behind the other micro-batch: less of them is exposed than under
 * 1F1B, whose every one is, and no more than compute can hide is gained. */
static void test_all_to_all_by_turns(void) {
  const char *const sets =
      "model.moe={experts: 16, topk: 4};model.layers=16;workload.batch.global=64;"
      "workload.parallel={tp: 1, pp: 4, dp: 16, ep: 16};workload.pipeline=";
  g_autofree char *turns = g_strconcat(sets, "dualpipe;workload.batch.global=256", NULL);
  g_autofree char *one = g_strconcat(sets, "1f1b;workload.batch.global=256", NULL);
  const Answer a = simulate(turns), b = simulate(one);
  g_test_message("exposed all-to-all: dualpipe %g of %g s, 1f1b %g of %g s",
                 a.times[ORR_TIME_EP_COMM], a.result.iteration_time_s, b.times[ORR_TIME_EP_COMM],
                 b.result.iteration_time_s);
  g_assert_cmpfloat(a.times[ORR_TIME_EP_COMM], <, 0.8 * b.times[ORR_TIME_EP_COMM]);
  g_assert_cmpfloat(a.result.iteration_time_s, <, b.result.iteration_time_s);
}

static void test_tables(void) {
  g_autofree char *scenario = orr_field_lint(&orr_scenario_table);
  g_assert_cmpstr(scenario, ==, NULL);
  for (guint i = 0; orr_row_tables[i]; i++) {
    g_autofree char *finding = orr_field_lint(orr_row_tables[i]);
    g_assert_cmpstr(finding, ==, NULL);
  }
}

/* A tower of 8 layers as wide as the decoder's 16, on 1,024 tokens a sequence for 2,048: a
 * quarter of the matrices' work more at least, all of it on the first of 4 stages, which the
 * others wait for; folded is full with it too. */
static void test_encoder(void) {
  const char *tower = "model.encoder={layers: 8, hidden: 4096, heads: 32, patch: 16, image: 512}";
  g_autofree char *full = g_strconcat(tower, ";fidelity=full", NULL);
  const Answer plain = simulate(""), with = simulate(tower), all = simulate(full);
  g_assert_cmpfloat(with.result.iteration_time_s, >, 1.5 * plain.result.iteration_time_s);
  g_assert_cmpfloat(with.result.model_tflops_per_gpu, <, plain.result.model_tflops_per_gpu);
  assert_close(with.result.iteration_time_s, all.result.iteration_time_s, 1e-9);
}

/* Frozen weights have no products by weight, a third of the matrices' FLOPs: a step is between
 * two thirds and all of the full one's, at no higher rate, and holds no gradients or optimizer
 * worth naming. */
static void test_lora(void) {
  const char *lora = "workload.lora={rank: 16}";
  const Answer full = simulate(""), frozen = simulate(lora);
  g_assert_cmpfloat(frozen.result.iteration_time_s, <, 0.85 * full.result.iteration_time_s);
  g_assert_cmpfloat(frozen.result.iteration_time_s, >, 0.6 * full.result.iteration_time_s);
  g_assert_cmpfloat(frozen.result.mfu, <, 1.1 * full.result.mfu);
  g_assert_cmpfloat(frozen.result.memory_peak_bytes, <, 0.7 * full.result.memory_peak_bytes);
}

/* Bytes of all-gathers over data-parallel ranks, all of a stage's units, and seconds of casts. */
typedef struct {
  double gathered, cast_s;
} Frozen;

static Frozen frozen_of(const char *sets) {
  g_autofree char *all = g_strconcat(
      "workload.parallel={tp: 1, pp: 1, dp: 64};workload.lora={rank: 16, targets: [qkv]};"
      "cluster.base=dgx-h100-superpod;workload.precision=fp8-current;",
      sets, NULL);
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, all, FALSE);
  Frozen frozen = {0};
  for (guint i = 0; i < outcome->collectives->len; i++) {
    const OrrCollectiveRow *row = &g_array_index(outcome->collectives, OrrCollectiveRow, i);
    if (g_str_equal(row->op, "all-gather")) frozen.gathered += row->bytes * (double)row->count;
  }
  for (guint i = 0; i < outcome->operators->len; i++) {
    const OrrOperatorRow *row = &g_array_index(outcome->operators, OrrOperatorRow, i);
    if (g_str_equal(row->name, "weight-cast")) frozen.cast_s += row->seconds_total;
  }
  return frozen;
}

/* The distributed optimizer gathers what it updated, 16 layers' adapters of 16 (4096 + 12288)
 * parameters in 2 bytes, and nothing casts what does not change. FSDP gathers all that it shares
 * out, frozen or not, and so has all to cast; the recipes whose frozen weights stay in 16 bits
 * cast them every step, too. */
static void test_lora_leaves_frozen_weights(void) {
  const double adapters = 16 * 16 * (4096 + 12288) * 2.0;
  const Frozen beside = frozen_of(
      "workload.optimizer.sharding={kind: distributed-optimizer, overlap-param-gather: true}");
  const Frozen after = frozen_of("workload.optimizer.sharding=distributed-optimizer");
  g_assert_cmpfloat_with_epsilon(beside.gathered, adapters, 1);
  g_assert_cmpfloat_with_epsilon(after.gathered, adapters, 1);
  g_assert_cmpfloat(beside.cast_s, ==, 0);
  const Frozen shared = frozen_of("workload.optimizer.sharding=fsdp");
  g_assert_cmpfloat(shared.gathered, >, 100 * adapters);
  g_assert_cmpfloat(shared.cast_s, >, 0);
  g_assert_cmpfloat(frozen_of("workload.precision=fp8-blockwise").cast_s, >, 0);
}

/* FLOPs of a step that all GPUs compute beyond the model's. */
static double further_flops(const char *sets) {
  const OrrTrainingResult result = simulate(sets).result;
  return (result.hardware_tflops_per_gpu - result.model_tflops_per_gpu) * 1e12 *
         result.iteration_time_s * (double)result.n_gpus;
}

/* What the hardware computes in a step, 64 x 2048 tokens of 16 layers with h = 4096:
 *
 *   adapters of rank r     6 r (h + 3 h + h + h) a token and layer: forward and two gradients
 *   full                   2 (12 h^2) + 4 s h a token and layer, and a third of the adapters' again
 *   full of 2 layers of 4  half of it
 *   modules mlp            2 (8 h^2), not the attention core; with core-attn 4 s h besides
 *   modules layernorm      0
 *   8 documents packed     an eighth of the core: pairs within documents */
static void test_hardware_flops(void) {
  const double s = 2048, h = 4096, tokens = 64 * s * 16;
  const double adapters = 6 * 64 * 6 * h * tokens, core = 4 * s * h * tokens;
  const double layers = 24 * h * h * tokens + core;
#define WHOLE "workload.parallel={tp: 1, pp: 4, dp: 16};"
#define LORA WHOLE "workload.lora={rank: 64};"
  assert_close(further_flops(LORA), adapters, 1e-9);
  assert_close(further_flops(LORA "workload.recompute=full"), layers + adapters * 4 / 3, 1e-9);
  g_assert_cmpfloat(further_flops(LORA "workload.recompute=operators"), <, layers + adapters);
  assert_close(further_flops(WHOLE "workload.recompute=full"), layers, 1e-9);
  assert_close(further_flops(WHOLE "workload.recompute=full;workload.recompute-method=block;"
                                   "workload.recompute-layers=2"),
               layers / 2, 1e-9);
  assert_close(further_flops("workload.recompute=selective"), core, 1e-9);
  assert_close(further_flops("workload.recompute=selective;workload.recompute-modules=[mlp]"),
               16 * h * h * tokens, 1e-9);
  assert_close(
      further_flops("workload.recompute=selective;workload.recompute-modules=[mlp,core-attn]"),
      16 * h * h * tokens + core, 1e-9);
  g_assert_cmpfloat(
      further_flops("workload.recompute=selective;workload.recompute-modules=[layernorm]"), ==, 0);
#define PACKED WHOLE "workload.packing={documents: {tokens: 256}};"
  assert_close(further_flops(PACKED "workload.recompute=selective"), core / 8, 1e-9);
  assert_close(further_flops(PACKED "workload.recompute=full"), layers - core * 7 / 8, 1e-9);
#undef PACKED
#undef LORA
#undef WHOLE
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training/same-twice", test_same_twice);
  g_test_add_func("/training/sizes", test_sizes);
  g_test_add_func("/training/folded-is-full", test_folded_is_full);
  g_test_add_func("/training/times-add-up", test_times_add_up);
  g_test_add_func("/training/engines-agree", test_engines_agree);
  g_test_add_func("/training/bubble", test_bubble);
  g_test_add_func("/training/zero-bubble", test_zero_bubble);
  g_test_add_func("/training/post-validation", test_post_validation);
  g_test_add_func("/training/dualpipe", test_dualpipe);
  g_test_add_func("/training/steps", test_steps);
  g_test_add_func("/training/overrides", test_overrides);
  g_test_add_func("/training/oversubscription", test_oversubscription);
  g_test_add_func("/training/splits", test_splits);
  g_test_add_func("/training/split-pace", test_split_pace);
  g_test_add_func("/training/split-mtp", test_split_mtp);
  g_test_add_func("/training/recompute-methods", test_recompute_methods);
  g_test_add_func("/training/wide-layers", test_wide_layers);
  g_test_add_func("/training/split-rules", test_split_rules);
  g_test_add_func("/training/refusals", test_refusals);
  g_test_add_func("/training/idle-settings", test_idle_settings);
  g_test_add_func("/training/expert-gradients", test_expert_gradients);
  g_test_add_func("/training/all-to-all-by-turns", test_all_to_all_by_turns);
  g_test_add_func("/training/encoder", test_encoder);
  g_test_add_func("/training/hardware-flops", test_hardware_flops);
  g_test_add_func("/training/lora", test_lora);
  g_test_add_func("/training/lora-leaves-frozen-weights", test_lora_leaves_frozen_weights);
  g_test_add_func("/training/tables", test_tables);
  return g_test_run();
}
