/*
 * diffusion_memory.c - what a rank of a diffusion model holds: weights, activations at the peak.
 *
 * Activations are counted from the operators of each block: a kernel has its operands and its
 * result in memory, and the block's stream waits with them until it is added. The widest moment of
 * all blocks is the peak:
 *
 *   peak >= max over blocks, kernels of   stream + operands + result       (16 bits each)
 *
 * A stage of PipeFusion also holds keys and values of the whole picture for each of its blocks.
 *
 * It is a lower bound: frameworks keep more (a tensor before it is freed, an allocator's gaps, a
 * convolution's workspace), so what does not fit here does not fit at all. Tiles are decoded one
 * after another, and videos a latent frame at a time; the pictures of a batch together.
 */
#include "workloads/diffusion/diffusion.h"

double orr_diffusion_copy_s(const OrrCluster *cluster, double bytes) {
  const double rate = orr_cluster_host_copy_bytes_per_s(cluster);
  return rate > 0 ? bytes / rate : 0;
}

/* Operands and result of @op, without the weights of a product. Pointwise kernels read and write:
 * what they move is what they hold. */
static double held_bytes(const OrrOperator *op) {
  const OrrAttentionShape *attention = &op->attention;
  const double element = orr_dtype_bytes((OrrDtype)op->dtype);
  const double m = (double)op->gemm.m, n = (double)op->gemm.n, k = (double)op->gemm.k;
  switch (op->kind) {
  case ORR_OPERATOR_GEMM: /* a convolution's bytes are its own */
    return fmin(m * (n + k) * element, fmax(op->bytes - n * k * element, 0));
  case ORR_OPERATOR_ATTENTION:
    return element * (double)(attention->batch * attention->head_dim) *
           (2.0 * (double)(attention->heads * attention->q_length) +
            2.0 * (double)(attention->kv_heads * attention->kv_length));
  case ORR_OPERATOR_MEMORY:
    return op->bytes;
  default:
    return 0;
  }
}

static double stream_bytes(const OrrBlock *block, const OrrGeneratorShape *shape) {
  const double positions =
      block->tokens > 0 ? (double)block->tokens : orr_generator_positions(block, shape);
  return 2 * (double)shape->batch * positions * (double)block->width / (double)shape->shards;
}

static double peak_of(const GPtrArray *blocks, const OrrGeneratorShape *shape) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrBlockOperator));
  double peak = 0;
  ORR_EACH_POINTER(const OrrBlock, block, blocks) {
    const double stream = stream_bytes(block, shape);
    g_array_set_size(operators, 0);
    orr_generator_operators(block, shape, operators);
    ORR_EACH(const OrrBlockOperator, one, operators)
      peak = fmax(peak, stream + held_bytes(&one->op));
  }
  return peak;
}

static double largest_block(const GPtrArray *blocks) {
  double most = 0;
  ORR_EACH_POINTER(const OrrBlock, block, blocks)
    most = fmax(most, orr_generator_block_parameters(block));
  return most;
}

/* Keys and values of the whole picture that a stage of PipeFusion keeps for its blocks. */
static double kept_bytes(const OrrDiffusion *params, const OrrGeneratorShape *shape) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  double sum = 0;
  if (parallel->pipefusion == 1) return 0;
  ORR_EACH_POINTER(const OrrBlock, block, params->generator.backbone)
    sum += 4 * (double)(shape->batch * block->count * block->kv_heads * block->head_dim) *
           orr_generator_positions(block, shape);
  return sum / (double)(parallel->pipefusion * parallel->ulysses * parallel->tp);
}

static void set_weights(const OrrDiffusion *params, OrrDiffusionWork *work) {
  const OrrGenerator *generator = &params->generator;
  const GPtrArray *const blocks[ORR_N_STAGES] = {[ORR_STAGE_TEXT] = generator->text,
                                                 [ORR_STAGE_STEP] = generator->backbone,
                                                 [ORR_STAGE_DECODER] = generator->decoder};
  const OrrDiffusionParallel *parallel = &params->parallel;
  const double shared = parallel->fsdp ? (double)work->ranks : 1;
  double sum = 0, stage = 0, block = 0;
  for (int i = 0; i < ORR_N_STAGES; i++) {
    const double element = i == ORR_STAGE_STEP
                               ? orr_dtype_bytes((OrrDtype)params->precision) / (double)parallel->tp
                               : 2;
    work->stages[i].weight_bytes = element * orr_generator_parameters(blocks[i]) /
                                   (i == ORR_STAGE_STEP ? (double)parallel->pipefusion : 1);
    sum += work->stages[i].weight_bytes / (i == ORR_STAGE_DECODER ? 1 : shared);
    stage = fmax(stage, work->stages[i].weight_bytes);
    block = fmax(block, element * largest_block(blocks[i]));
  }
  work->weight_bytes = params->offload == ORR_OFFLOAD_STAGES     ? stage
                       : params->offload == ORR_OFFLOAD_BLOCKS   ? block
                       : params->offload == ORR_OFFLOAD_PREFETCH ? 2 * block
                       : parallel->fsdp                          ? sum + 2 * block
                                                                 : sum;
}

/* Frames that the decoder's first position in time stands for. */
static gint64 latent_frames(const GPtrArray *decoder) {
  gint64 most = 1;
  ORR_EACH_POINTER(const OrrBlock, block, decoder) most = MAX(most, block->every);
  return most;
}

static void set_activations(const OrrDiffusion *params, OrrDiffusionWork *work) {
  const OrrGenerator *generator = &params->generator;
  const OrrGeneratorShape text = orr_diffusion_text_shape(params),
                          step = orr_diffusion_shape(params);
  OrrGeneratorShape decoder = orr_diffusion_decoder_shape(params);
  decoder.batch /= orr_diffusion_tiles(params);
  decoder.frames = MIN(decoder.frames, latent_frames(generator->decoder));
  work->activation_bytes =
      fmax(peak_of(generator->text, &text),
           fmax(peak_of(generator->backbone, &step) + kept_bytes(params, &step),
                peak_of(generator->decoder, &decoder)));
}

void orr_diffusion_counts(const OrrDiffusion *params, OrrDiffusionWork *work) {
  const gboolean pairs =
      orr_diffusion_guidance(params) == ORR_GUIDANCE_SEQUENTIAL && params->parallel.cfg == 1;
  const OrrGeneratorShape shape = orr_diffusion_shape(params);
  work->ranks = orr_diffusion_ranks(params);
  work->batch = params->batch;
  work->steps = orr_diffusion_steps(params);
  work->full_steps = work->steps - params->cached_steps;
  work->passes = pairs ? 2 : 1;
  work->pixels = (double)(params->batch * shape.height * shape.width) * (double)shape.frames;
  work->positions = orr_generator_positions(params->generator.backbone->pdata[0], &shape);
  work->parameters = orr_generator_parameters(params->generator.backbone);
  set_weights(params, work);
  set_activations(params, work);
}
