/*
 * What a GPU of each stage holds from pass to pass, against what the schedules' closed forms and
 * the layers' bytes say.
 *
 * GPT of 16 layers of hidden 1,024, sequence 2,048, one sequence a micro-batch, fp16, fused
 * attention, no dropout, no tensor parallelism. Units are MiB: a tensor of s h in 16 bits is 4.
 */
#include <math.h>

#include "models/transformer.h"
#include "tests/workloads/scenario_fixture.h"
#include "workloads/training/pipelines/pipeline.h"

#define MIB 1048576.0

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-a100-superpod, nodes: 1}\n"
    "model: {name: small, layers: 16, hidden: 1024, heads: 16, vocab: 51200, context: 2048}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 1, pp: 4, dp: 2}\n"
    "  batch: {global: 24, micro: 1}\n"
    "  precision: fp16\n";

static OrrOutcome *simulate(const char *sets) {
  return ideal_outcome_of(scenario_text, sets, TRUE);
}

static const OrrMemoryRow *stage_of(const OrrOutcome *outcome, guint stage) {
  return &g_array_index(outcome->memory, OrrMemoryRow, stage);
}

static const OrrMemoryTimeRow *time_at(const OrrOutcome *outcome, guint i) {
  return &g_array_index(outcome->memory_times, OrrMemoryTimeRow, i);
}

/* Each stage's peak is the largest of its moments, which follow each other; what a stage keeps is
 * gone after the step.
 */
static void check_timeline(const OrrOutcome *outcome, guint n_stages) {
  for (guint stage = 0; stage < n_stages; stage++) {
    double most = 0, kept = 0, end_s = 0, after = 1;
    for (guint i = 0; i < outcome->memory_times->len; i++) {
      const OrrMemoryTimeRow *row = time_at(outcome, i);
      if (row->stage != stage) continue;
      most = MAX(most, row->total_bytes);
      kept = MAX(kept, row->activations_bytes);
      g_assert_cmpfloat(row->begin_s, >=, end_s - 1e-12);
      g_assert_cmpfloat(row->end_s, >=, row->begin_s);
      end_s = row->end_s;
      after = row->after_bytes;
    }
    g_assert_cmpfloat_with_epsilon(most, stage_of(outcome, stage)->total_bytes, 1);
    g_assert_cmpfloat(kept, >=, stage_of(outcome, stage)->activations_bytes);
    g_assert_cmpfloat(after, ==, 0);
  }
}

/* Stage @stage keeps @chunks of a schedule's oracle, each of 16 / blocks layers; first and last
 * stages have ends too.
 */
static void test_schedules(void) {
  static const struct {
    const char *pipeline;
    guint layers; /* a chunk */
  } cases[] = {{"1f1b", 4},
               {"{kind: interleaved-1f1b, chunks: 2}", 2},
               {"gpipe", 4},
               {"zb-h1", 4},
               {"zb-v", 2}};
  OrrModel model = {.layers = 16,
                    .hidden = 1024,
                    .heads = 16,
                    .kv_heads = 16,
                    .head_dim = 64,
                    .ffn = 4096,
                    .vocab = 51200,
                    .context = 2048,
                    .tied_embeddings = TRUE,
                    .bias = TRUE};
  OrrShard shard = {.micro_batch = 1,
                    .sequence = 2048,
                    .tp = 1,
                    .attention = ORR_ATTENTION_FUSED,
                    .dtype = ORR_FP16};
  /* 34 less masks of 1 + 1 sbh, and 4 bytes for each row of 16 heads: 32 sbh + 0.125 MiB =
   * 64.125 */
  const double layer = orr_transformer_layer_activation_bytes(&model, 0, &shard, 0);
  g_assert_cmpfloat_with_epsilon(layer, 64.125 * MIB, 1);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *sets = g_strdup_printf("workload.pipeline=%s", cases[i].pipeline);
    g_autoptr(OrrOutcome) outcome = simulate(sets);
    g_auto(GStrv) words = g_strsplit_set(cases[i].pipeline, "{:, }", -1);
    const char *name = words[0][0] ? words[0] : "interleaved-1f1b";
    const OrrPipelineKind *kind =
        (const OrrPipelineKind *)orr_registry_find(&orr_pipeline_registry, name);
    const OrrPipelineShape shape = {
        .stages = 4, .chunks = 4 / cases[i].layers, .micro_batches = 12, .group = 4};
    for (guint stage = 0; stage < 4; stage++) {
      const double chunks = (double)kind->peak(&shape, stage),
                   found = stage_of(outcome, stage)->activations_bytes;
      g_test_message("%s, stage %u: %g chunks, %g MiB", name, stage, chunks, found / MIB);
      const gboolean at_end =
          stage == 3 || (stage == 0 && g_str_equal(name, "zb-v")); /* the head's logits */
      if (!at_end) g_assert_cmpfloat_with_epsilon(found, chunks * cases[i].layers * layer, 1);
      if (at_end) g_assert_cmpfloat(found, >=, chunks * cases[i].layers * layer);
    }
    check_timeline(outcome, 4);
  }
}

/* 1F1B holds p - i micro-batches, each pass one more: 4 on the first stage, then one falls and
 * one rises. */
static void test_one_f_one_b(void) {
  g_autoptr(OrrOutcome) outcome = simulate("");
  static const double kept[] = {1, 2, 3, 4, 4, 4, 4}; /* while F0 F1 F2 F3 B0 F4 B1 run */
  for (guint i = 0; i < G_N_ELEMENTS(kept); i++) {
    const OrrMemoryTimeRow *row = time_at(outcome, i);
    g_assert_cmpfloat_with_epsilon(row->activations_bytes, kept[i] * 4 * 64.125 * MIB, 1);
    g_assert_cmpstr(row->what, ==, i == 4 || i == 6 ? "backward" : "forward");
    g_assert_true((row->working_bytes > 0) == (i == 4 || i == 6));
  }
}

/* Two boundary tensors of 4 MiB where there is a pipeline; 0.2 of what is held is gaps: a
 * quarter of what is filled. */
static void test_gaps(void) {
  g_autoptr(OrrOutcome) outcome = simulate("workload.memory.fragmentation=0.2");
  const OrrMemoryRow *row = stage_of(outcome, 1);
  g_assert_cmpfloat_with_epsilon(row->buffers_bytes, 8 * MIB, 1);
  g_assert_cmpfloat_with_epsilon(
      row->fragmentation_bytes,
      (row->activations_bytes + row->working_bytes + row->buffers_bytes) / 4, 1);
  g_autoptr(OrrOutcome) single = simulate("workload.parallel={tp: 1, pp: 1, dp: 8}");
  g_assert_cmpfloat(stage_of(single, 0)->buffers_bytes, ==, 0);
}

/* PyTorch's pipeline, 12 micro-batches of boundary tensors of 4 MiB: 48 MiB each of inputs,
 * outputs and the gradients of both, on the first and last stage half of them. On stage 1, 3 of
 * the inputs are under way at the peak, kept by their layers; on the last stage 1, and 12 x
 * 2,048 x 51,200 logits of 2 bytes, 200 MiB each, twice: put together at the end. What is
 * allocated once, buffers to receive into, has no gaps. It is FSDP's, unless Megatron's is asked
 * for. */
static void test_torch_pipeline(void) {
  g_autoptr(OrrOutcome) torch =
      simulate("workload.pipeline-comm.runtime=torch;workload.memory.fragmentation=0.5");
  const OrrMemoryRow *first = stage_of(torch, 0), *middle = stage_of(torch, 1),
                     *last = stage_of(torch, 3);
  g_assert_cmpfloat_with_epsilon(first->buffers_bytes, 2 * 48 * MIB, 1);
  g_assert_cmpfloat_with_epsilon(middle->buffers_bytes, (4 * 48 - 3 * 4) * MIB, 1);
  g_assert_cmpfloat_with_epsilon(last->buffers_bytes, (2 * 48 - 4 + 12 * 200) * MIB, 1);
  g_assert_cmpfloat(first->flat_copies_bytes, ==, 0);
  g_assert_cmpfloat_with_epsilon(last->flat_copies_bytes, 12 * 200 * MIB, 1);
  g_assert_cmpfloat_with_epsilon(middle->fragmentation_bytes,
                                 middle->activations_bytes + middle->working_bytes + 2 * 48 * MIB,
                                 1);
  g_autoptr(OrrOutcome) fsdp = simulate("workload.optimizer.sharding=fsdp");
  g_autoptr(OrrOutcome) megatron =
      simulate("workload.optimizer.sharding=fsdp;workload.pipeline-comm.runtime=megatron");
  g_assert_cmpfloat(stage_of(fsdp, 1)->buffers_bytes, ==, middle->buffers_bytes);
  g_assert_cmpfloat_with_epsilon(stage_of(megatron, 1)->buffers_bytes, 8 * MIB, 1);
}

/* Of an evaluation there are inputs to receive, none of them kept, and the last stage's outputs. */
static void test_torch_evaluation(void) {
  g_autoptr(OrrOutcome) outcome =
      simulate("workload.pipeline-comm.runtime=torch;workload.evaluation=true");
  g_assert_cmpfloat(stage_of(outcome, 0)->buffers_bytes, ==, 0);
  g_assert_cmpfloat_with_epsilon(stage_of(outcome, 1)->buffers_bytes, 48 * MIB, 1);
  g_assert_cmpfloat_with_epsilon(stage_of(outcome, 3)->buffers_bytes, (48 + 12 * 200) * MIB, 1);
}

static const OrrActivationRow *activation_of(const OrrOutcome *outcome, gint64 stage,
                                             const char *unit, const char *operator) {
  for (guint i = 0; i < outcome->activations->len; i++) {
    const OrrActivationRow *row = &g_array_index(outcome->activations, OrrActivationRow, i);
    if (row->stage == stage && g_str_equal(row->unit, unit) && g_str_equal(row->operator, operator))
      return row;
  }
  g_error("stage %d has no %s of a %s", (int)stage, operator, unit);
}

/* By operator a stage's activations are the sum, to the byte, whatever is recomputed, offloaded,
 * or of the model. What is replayed and what is kept are what is kept where nothing is
 * recomputed, but for recomputed layers' inputs. */
static void test_by_operator(void) {
  static const char *const variants[] = {
      "",
      "workload.pipeline={kind: interleaved-1f1b, chunks: 2}",
      "workload.pipeline=zb-v;workload.attention=unfused;workload.dropout=true",
      "workload.recompute=selective;workload.attention=unfused",
      "workload.recompute=full",
      "workload.recompute=full;workload.recompute-method=uniform;workload.recompute-layers=2",
      "workload.recompute=operators",
      "workload.recompute=selective;workload.recompute-modules=[layernorm, mlp]",
      "workload.offload.activations=2",
      "workload.parallel={tp: 2, pp: 4, dp: 1, sequence-parallel: true};workload.loss=torch",
      "model={base: deepseek-v2-lite, layers: "
      "8};workload.recompute=selective;workload.recompute-modules=[moe-act, "
      "mla-up-proj, shared-experts];workload.parallel={tp: 1, pp: 1, dp: 8, ep: "
      "8};workload.batch.global=8",
      "model=nemotron-h-8b;workload.parallel={tp: 8, pp: 1, dp: 1};workload.batch.global=1",
  };
  for (guint v = 0; v < G_N_ELEMENTS(variants); v++) {
    g_autoptr(OrrOutcome) outcome = simulate(variants[v]);
    for (guint stage = 0; stage < outcome->memory->len; stage++) {
      double sum = 0;
      for (guint i = 0; i < outcome->activations->len; i++) {
        const OrrActivationRow *row = &g_array_index(outcome->activations, OrrActivationRow, i);
        if (row->stage == stage) sum += row->peak_bytes;
        g_assert_cmpfloat(row->kept_bytes + row->host_bytes + row->replayed_bytes, >, 0);
      }
      g_test_message("%s, stage %u", variants[v], stage);
      g_assert_cmpfloat(sum, >, 0);
      g_assert_cmpfloat_with_epsilon(sum / stage_of(outcome, stage)->activations_bytes, 1, 1e-12);
    }
  }
}

/* GPT, a layer of 4 MiB a 16-bit tensor s h, 4 layers a stage, 4 micro-batches on stage 0. QKV's
 * input is 1 tensor, queries, keys and values 3 and 2,048 x 16 fp32 numbers, GELU's input 4.
 * Full recomputation keeps the input and replays all of it. Two layers in the host's memory
 * leave two. */
static void test_operator_bytes(void) {
  g_autoptr(OrrOutcome) none = simulate("");
  g_autoptr(OrrOutcome) full = simulate("workload.recompute=full");
  g_autoptr(OrrOutcome) offload = simulate("workload.offload.activations=2");
  const OrrActivationRow *qkv = activation_of(none, 0, "layer", "qkv");
  g_assert_cmpint(qkv->units, ==, 4);
  g_assert_cmpint(qkv->micro_batches, ==, 4);
  g_assert_cmpfloat(qkv->kept_bytes, ==, 4 * 4 * MIB);
  g_assert_cmpfloat(qkv->peak_bytes, ==, 4 * 4 * 4 * MIB);
  g_assert_cmpfloat(activation_of(none, 0, "layer", "attention")->kept_bytes, ==,
                    4 * (12 * MIB + 4 * 2048 * 16));
  g_assert_cmpfloat(activation_of(none, 1, "layer", "activation")->kept_bytes, ==, 4 * 16 * MIB);
  g_assert_cmpfloat(activation_of(none, 3, "head", "cross-entropy")->kept_bytes, ==, 400 * MIB);
  g_assert_cmpfloat(activation_of(full, 0, "layer", "layer-input")->kept_bytes, ==, 4 * 4 * MIB);
  g_assert_cmpfloat(activation_of(full, 0, "layer", "qkv")->kept_bytes, ==, 0);
  g_assert_cmpfloat(activation_of(full, 0, "layer", "qkv")->replayed_bytes, ==, qkv->kept_bytes);
  g_assert_cmpfloat(activation_of(offload, 0, "layer", "qkv")->kept_bytes, ==, 2 * 4 * MIB);
  g_assert_cmpfloat(activation_of(offload, 0, "layer", "qkv")->host_bytes, ==, 2 * 4 * MIB);
}

/* Two steps are two times the moments, the second as the first. */
static void test_steps(void) {
  g_autoptr(OrrOutcome) one = simulate("");
  g_autoptr(OrrOutcome) two = simulate("workload.steps=2");
  g_assert_cmpuint(two->memory_times->len, ==, 2 * one->memory_times->len);
  for (guint i = 0; i < one->memory_times->len; i++)
    g_assert_cmpfloat(time_at(two, one->memory_times->len + i)->activations_bytes, ==,
                      time_at(one, i)->activations_bytes);
}

/* The loss at the peak of one stage, bytes a logit: Megatron keeps 4 and makes 2; PyTorch's
 * keeps 4 and makes 8, 12 over tensor-parallel ranks; a fused one keeps 2 and makes 2. Logits:
 * 2,048 x 51,200 = 100 MiB a byte. A small model, so that nothing else works more. */
static void test_loss(void) {
  static const struct {
    const char *loss;
    double kept, made;
  } cases[] = {{"megatron", 4, 2}, {"torch", 4, 8}, {"fused", 2, 2}};
  double kept[3];
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *sets = g_strconcat(
        "workload.parallel={tp: 1, pp: 1, dp: 8};model.layers=1;workload.loss=", cases[i].loss,
        NULL);
    g_autoptr(OrrOutcome) outcome = simulate(sets);
    kept[i] = stage_of(outcome, 0)->activations_bytes - cases[i].kept * 100 * MIB;
    g_assert_cmpfloat_with_epsilon(stage_of(outcome, 0)->working_bytes, cases[i].made * 100 * MIB,
                                   1);
    g_assert_cmpfloat_with_epsilon(kept[i], kept[0], 1);
  }
}

/* FSDP over 8 of P = 16 parameters' bytes: fp32 shares alone, 12 P / 8 beside gradients 4 P / 8.
 * Under a pipeline blocks stay gathered and gradients whole, beside the shares that they become,
 * unless the document says otherwise. */
static void test_fsdp(void) {
  const char *const base = "workload.optimizer.sharding=fsdp;workload.parallel=";
  g_autofree char *flat = g_strconcat(base, "{tp: 1, pp: 1, dp: 8}", NULL);
  g_autofree char *piped = g_strconcat(base, "{tp: 1, pp: 4, dp: 2}", NULL);
  g_autofree char *told =
      g_strconcat(piped,
                  ";workload.optimizer.sharding={kind: fsdp, reshard-after-forward: true, "
                  "reduce-each-micro-batch: true}",
                  NULL);
  g_autoptr(OrrOutcome) one = simulate(flat);
  g_autoptr(OrrOutcome) whole = simulate(piped);
  g_autoptr(OrrOutcome) shared = simulate(told);
  const OrrMemoryRow *alone = stage_of(one, 0), *a = stage_of(whole, 1), *b = stage_of(shared, 1);
  g_assert_cmpfloat_with_epsilon(alone->optimizer_bytes, 3 * alone->gradients_bytes, 1);
  g_assert_cmpfloat_with_epsilon(a->gradients_bytes, (2 + 1) * b->gradients_bytes,
                                 1); /* over 2 ranks */
  g_assert_cmpfloat(a->weights_bytes, >, b->weights_bytes);
  g_assert_cmpfloat_with_epsilon(a->optimizer_bytes, b->optimizer_bytes, 1);
}

/* In fp32 the weights are their own masters under every sharding: two moments of 4 bytes. */
static void test_fsdp_in_fp32(void) {
#define FLAT "workload.precision=fp32;workload.parallel={tp: 1, pp: 1, dp: 8};workload.optimizer."
  g_autoptr(OrrOutcome) fsdp = simulate(FLAT "sharding=fsdp");
  g_autoptr(OrrOutcome) zero = simulate(FLAT "sharding=zero-3");
  g_autoptr(OrrOutcome) named = simulate(FLAT "sharding=fsdp;workload.optimizer.master=weights");
#undef FLAT
  const double bytes = stage_of(fsdp, 0)->optimizer_bytes;
  g_assert_cmpfloat_with_epsilon(bytes, 2 * stage_of(fsdp, 0)->gradients_bytes, 1);
  g_assert_cmpfloat_with_epsilon(bytes, stage_of(zero, 0)->optimizer_bytes, 1);
  g_assert_cmpfloat_with_epsilon(bytes, stage_of(named, 0)->optimizer_bytes, 1);
}

/* Master weights, and two moments of 2 bytes instead of 4: 8 bytes a parameter instead of 12. */
static void test_moments(void) {
  g_autoptr(OrrOutcome) fp32 = simulate("");
  g_autoptr(OrrOutcome) bf16 = simulate("workload.optimizer.moments=bf16");
  g_assert_cmpfloat_with_epsilon(
      stage_of(bf16, 0)->optimizer_bytes / stage_of(fp32, 0)->optimizer_bytes, 8 / 12.0, 1e-12);
  g_assert_cmpfloat(bf16->result.training.iteration_time_s, <,
                    fp32->result.training.iteration_time_s);
}

/* bf16 weights that Adam updates in place: 2 moments of 2 bytes instead of 12 bytes, and the
 * weights as they were. The host's memory would hold fp32 masters. */
static void test_own_masters(void) {
  g_autoptr(OrrOutcome) fp32 = simulate("");
  g_autoptr(OrrOutcome) bf16 =
      simulate("workload.optimizer.master=weights;workload.optimizer.moments=bf16");
  g_assert_cmpfloat_with_epsilon(
      stage_of(bf16, 0)->optimizer_bytes / stage_of(fp32, 0)->optimizer_bytes, 4 / 12.0, 1e-12);
  g_assert_cmpfloat(stage_of(bf16, 0)->weights_bytes, ==, stage_of(fp32, 0)->weights_bytes);
  g_assert_cmpfloat(bf16->result.training.iteration_time_s, <,
                    fp32->result.training.iteration_time_s);
}

/* GELU's input, 4 h wide: 16 MiB per layer; fp8 with an fp32 scale for 128 keeps (1 + 4 /
 * 128) / 2. */
static void test_activation_input(void) {
  g_autoptr(OrrOutcome) half = simulate("");
  g_autoptr(OrrOutcome) fp8 = simulate("workload.fp8-activation-input=true");
  const OrrActivationRow *before = activation_of(half, 0, "layer", "activation");
  const OrrActivationRow *after = activation_of(fp8, 0, "layer", "activation");
  g_assert_cmpfloat(before->kept_bytes, ==, 4 * 16 * MIB);
  g_assert_cmpfloat_with_epsilon(after->kept_bytes, 4 * 8 * (1 + 4 / 128.0) * MIB, 1);
}

/* Pages are mapped where they are needed: no gaps, and everything else as it was. */
static void test_allocator(void) {
  g_autoptr(OrrOutcome) caching = simulate("");
  g_autoptr(OrrOutcome) expandable = simulate("workload.memory.allocator=expandable");
  const OrrMemoryRow *before = stage_of(caching, 0), *after = stage_of(expandable, 0);
  g_assert_cmpfloat(before->fragmentation_bytes, >, 0);
  g_assert_cmpfloat(after->fragmentation_bytes, ==, 0);
  g_assert_cmpfloat_with_epsilon(before->total_bytes - before->fragmentation_bytes,
                                 after->total_bytes, 1);
}

/* A layer's linear weights, 12 h^2, without the copy of 2 bytes; the gather carries 1 byte of
 * them instead of 2. */
static void test_narrow_weights(void) {
  const char *base = "cluster={base: dgx-h100-superpod, nodes: "
                     "1};workload.precision=fp8-blockwise;workload.optimizer."
                     "sharding=";
  g_autofree char *wide = g_strconcat(base, "distributed-optimizer", NULL);
  g_autofree char *narrow =
      g_strconcat(base, "{kind: distributed-optimizer, narrow-gather: true}", NULL);
  g_autoptr(OrrOutcome) before = simulate(wide);
  g_autoptr(OrrOutcome) after = simulate(narrow);
  const double linear = 4 * 12 * 1024.0 * 1024;
  g_assert_cmpfloat_with_epsilon(
      stage_of(before, 1)->weights_bytes - stage_of(after, 1)->weights_bytes, 2 * linear, 1);
  g_assert_cmpfloat(after->result.training.iteration_time_s, <,
                    before->result.training.iteration_time_s);
}

/* DeepEP's queues in place of NCCL's connections: in one node 10 channels to 8 GPUs of 288
 * tokens, each of 2 h bytes, 128 numbers of 8, weights of 4 and scales of 4, and 8 for its
 * source. */
static void test_deepep_buffers(void) {
  const char *base =
      "cluster={base: dgx-h100-superpod, nodes: 1};model={base: deepseek-v2-lite, layers: 8};"
      "workload.parallel={tp: 1, pp: 1, dp: 8, ep: "
      "8};workload.batch.global=8;workload.precision=bf16;"
      "workload.experts.dispatch=";
  g_autofree char *flat = g_strconcat(base, "flat", NULL),
                  *deepep = g_strconcat(base, "deepep", NULL);
  g_autoptr(OrrOutcome) nccl = simulate(flat);
  g_autoptr(OrrOutcome) own = simulate(deepep);
  const double queues = 10 * 8 * 288 * (2 * 2048 + 128 * (8 + 4 + 4) + 8.0);
  const double saved =
      stage_of(nccl, 0)->communicators_bytes - stage_of(own, 0)->communicators_bytes;
  g_assert_cmpfloat_with_epsilon(saved, 3.28e9 - queues, 1);
}

/* All forwards of both chunks, then the backwards chunk by chunk: where a stage keeps most only the
 * gradients of the last chunk exist, whose backward runs: two layers of four. They come on top of
 * the shares, a half of all. */
static void test_gradients_come_and_go(void) {
  const char *fsdp = "workload.optimizer.sharding=fsdp;workload.pipeline=";
  g_autofree char *once = g_strconcat(fsdp, "gpipe", NULL);
  g_autofree char *twice = g_strconcat(fsdp, "{kind: breadth-first, chunks: 2}", NULL);
  g_autoptr(OrrOutcome) whole = simulate(once);
  g_autoptr(OrrOutcome) half = simulate(twice);
  const double share =
      stage_of(whole, 1)->gradients_bytes / 3; /* 1 whole, and 1/2 as its rank's share */
  g_assert_cmpfloat_with_epsilon(stage_of(half, 1)->gradients_bytes, 2 * share, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-memory/schedules", test_schedules);
  g_test_add_func("/training-memory/one-f-one-b", test_one_f_one_b);
  g_test_add_func("/training-memory/gaps", test_gaps);
  g_test_add_func("/training-memory/torch-pipeline", test_torch_pipeline);
  g_test_add_func("/training-memory/torch-evaluation", test_torch_evaluation);
  g_test_add_func("/training-memory/by-operator", test_by_operator);
  g_test_add_func("/training-memory/operator-bytes", test_operator_bytes);
  g_test_add_func("/training-memory/steps", test_steps);
  g_test_add_func("/training-memory/loss", test_loss);
  g_test_add_func("/training-memory/fsdp", test_fsdp);
  g_test_add_func("/training-memory/fsdp-in-fp32", test_fsdp_in_fp32);
  g_test_add_func("/training-memory/moments", test_moments);
  g_test_add_func("/training-memory/own-masters", test_own_masters);
  g_test_add_func("/training-memory/activation-input", test_activation_input);
  g_test_add_func("/training-memory/allocator", test_allocator);
  g_test_add_func("/training-memory/narrow-weights", test_narrow_weights);
  g_test_add_func("/training-memory/deepep-buffers", test_deepep_buffers);
  g_test_add_func("/training-memory/gradients-come-and-go", test_gradients_come_and_go);
  return g_test_run();
}
