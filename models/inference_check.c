/*
 * inference_check.c - checks that a model can be split over the GPUs of an engine.
 */
#include "models/inference.h"

static gint64 expert_width(const OrrModel *model) {
  return model->moe.ffn > 0 ? model->moe.ffn : model->ffn;
}
static gint64 expert_ranks(const OrrInferenceShard *shard) { return MAX(shard->ep, 1); }
static gint64 group_ranks(const OrrInferenceShard *shard) { return shard->tp * MAX(shard->dp, 1); }
static gint64 expert_tp(const OrrInferenceShard *shard) {
  return group_ranks(shard) / expert_ranks(shard);
}

/* A scale for each block of 128 x 128 weights cannot be split: vLLM and SGLang stop at "output_size
 * is not divisible by weight quantization block_n" (vllm-project/vllm 17569 and 25292,
 * sgl-project/sglang 3345), TensorRT-LLM's kernels at an assertion (NVIDIA/TensorRT-LLM 14613, of
 * 1,536 columns on 8 ranks). Shared experts and dense layers are not checked: engines replicate
 * them where they would split a block (DeepEP, --moe-dense-tp-size). */
static void check_blocks(const OrrModel *model, const OrrInferenceShard *shard, gint64 ranks,
                         OrrPlace place, OrrDiags *diags) {
  const OrrQuantized *format = shard->formats[ORR_QUANTIZED_EXPERTS];
  const gint64 width = expert_width(model);
  if (!format || !format->blocks || ranks <= 1 || width % ranks ||
      width / ranks % ORR_QUANTIZED_BLOCK == 0)
    return;
  orr_diags_error(
      diags, place,
      "model %s: experts' ffn (%ld) split over %ld ranks is %ld columns each, no "
      "multiple of the %d that share a scale in %s: engines refuse it; with parallel.ep "
      "ranks have whole experts",
      model->name, width, ranks, width / ranks, ORR_QUANTIZED_BLOCK, orr_quantized_word(format));
}

static void check_experts(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place,
                          OrrDiags *diags) {
  const gint64 ep = expert_ranks(shard), slots = model->moe.experts + shard->redundant;
  if (ep > model->moe.experts)
    orr_diags_error(diags, place, "ep (%ld) is above the %ld experts of model %s", ep,
                    model->moe.experts, model->name);
  else if (group_ranks(shard) % ep)
    orr_diags_error(diags, place, "tp * dp-attention (%ld) cannot be divided by ep (%ld)",
                    group_ranks(shard), ep);
  else if (slots % ep)
    orr_diags_error(diags, place,
                    "model %s: experts (%ld%s) cannot be divided by ep (%ld): engines add copies "
                    "(redundant-experts: %ld)",
                    model->name, slots, shard->redundant > 0 ? " with their copies" : "", ep,
                    shard->redundant + ep - slots % ep);
  else if (expert_width(model) % expert_tp(shard))
    orr_diags_error(
        diags, place,
        "model %s: experts' ffn (%ld) cannot be divided by tp * dp-attention / ep (%ld)",
        model->name, expert_width(model), expert_tp(shard));
  check_blocks(model, shard, group_ranks(shard) % ep ? 1 : expert_tp(shard), place, diags);
  if (model->moe.shared_ffn % shard->tp)
    orr_diags_error(diags, place, "model %s: shared-ffn (%ld) cannot be divided by tp (%ld)",
                    model->name, model->moe.shared_ffn, shard->tp);
}

static void check_states(const OrrModel *model, gint64 tp, OrrPlace place, OrrDiags *diags) {
  const gint64 mamba = model->mamba.heads, linear = model->linear.value_heads;
  if (mamba > 0 && (tp > mamba || mamba % tp))
    orr_diags_error(diags, place, "model %s: mamba's heads (%ld) cannot be divided by tp (%ld)",
                    model->name, mamba, tp);
  if (linear > 0 && (tp > linear || linear % tp))
    orr_diags_error(diags, place,
                    "model %s: linear attention's value-heads (%ld) cannot be divided by tp (%ld)",
                    model->name, linear, tp);
}

/* Refuses kinds of layers without a model, rather than modelling them as another kind. */
static void check_kinds(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place,
                        OrrDiags *diags) {
  const gboolean feeds = shard->part != ORR_PART_MIXER, mixes = shard->part != ORR_PART_FEED;
  gboolean has_experts = FALSE, has_dense = FALSE, has_mixer = FALSE;
  for (gint64 layer = 0; layer < model->layers; layer++) {
    const OrrLayerKind kind = orr_model_kind(model, orr_model_layer_kind(model, layer));
    has_experts |= kind.feed == ORR_FEED_MOE;
    has_dense |= kind.feed == ORR_FEED_DENSE;
    has_mixer |= kind.mixer != ORR_MIXER_NONE;
    if (feeds && kind.ffn % shard->tp)
      return orr_diags_error(diags, place,
                             "model %s: ffn (%d) of a layer cannot be divided by tp (%ld)",
                             model->name, kind.ffn, shard->tp);
  }
  if (mixes && !has_mixer)
    orr_diags_error(
        diags, place,
        "model %s has no layer with a key-value cache or a state: nothing of a sequence "
        "would be kept from one token to the next",
        model->name);
  if (has_experts && model->moe.latent > 0 && shard->part != ORR_PART_WHOLE)
    orr_diags_error(diags, place,
                    "model %s has experts of a latent width, which servers of attention or of "
                    "experts alone do not support yet",
                    model->name);
  if (feeds && has_dense && model->ffn % shard->tp)
    orr_diags_error(diags, place, "model %s: ffn (%ld) cannot be divided by tp (%ld)", model->name,
                    model->ffn, shard->tp);
  if (feeds && has_experts) check_experts(model, shard, place, diags);
  if (mixes) check_states(model, shard->tp, place, diags);
}

void orr_inference_check(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place,
                         OrrDiags *diags) {
  const gint64 tp = shard->part == ORR_PART_FEED ? 1 : shard->tp;
  if (tp > model->heads)
    orr_diags_error(diags, place, "tp (%ld) is above the %ld attention heads of model %s", tp,
                    model->heads, model->name);
  else if (model->heads % tp)
    orr_diags_error(diags, place, "model %s: heads (%ld) cannot be divided by tp (%ld)",
                    model->name, model->heads, tp);
  else if (model->kv_heads % tp && tp % model->kv_heads)
    orr_diags_error(diags, place,
                    "model %s: of kv-heads (%ld) and tp (%ld) one must divide the other",
                    model->name, model->kv_heads, tp);
  check_kinds(model, shard, place, diags);
}
