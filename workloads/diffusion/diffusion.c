/*
 * diffusion.c - the fields of the workload `diffusion`, and their checks.
 *
 *   workload:
 *     kind: diffusion
 *     stack: xdit-0.4
 *     generator: hunyuan-video
 *     parallel: {ulysses: 8}
 */
#include "workloads/diffusion/diffusion.h"

#include "sim/base/idle.h"
#include "workloads/products.h"

static const char *const guidance_words[] = {"auto", "none", "batched", "sequential", NULL};
static const char *const attention_words[] = {"as-measured", "flash-2", NULL};
static const char *const offload_words[] = {"none", "stages", "blocks", "prefetch", NULL};

#define DEGREE(name_, member_, sentence_)                                                          \
  ORR_POSITIVE_INT(OrrDiffusionParallel, name_, member_, "1", sentence_)
static const OrrFieldTable parallel_table = ORR_FIELDS(
    "diffusion-parallel", "How GPUs share a picture.", OrrDiffusionParallel,
    DEGREE("ulysses", ulysses, "GPUs that exchange heads for tokens around attention."),
    DEGREE("ring", ring, "GPUs around which keys and values go."),
    DEGREE("cfg", cfg, "1, or 2: the two passes of guidance on GPUs of their own."),
    DEGREE("tp", tp, "GPUs that share each matrix."),
    DEGREE("pipefusion", pipefusion,
           "Stages of a pipeline, each with a part of the backbone's blocks, through "
           "which a picture's patches go one after another (PipeFusion)."),
    DEGREE("displaced", displaced,
           "GPUs that compute a patch of the picture each, with the others' keys, "
           "values and border rows of the step before (DistriFusion)."),
    ORR_FIELD_INT(OrrDiffusionParallel, "patches", patches, "0",
                  "Patches of a picture in that pipeline; 0: as many as stages.", .min = 0,
                  .max = 1e4),
    ORR_FIELD_INT(OrrDiffusionParallel, "warm-up", warm_up, "1",
                  "First steps, before earlier keys and values are there: of a pipeline, "
                  "in which the whole picture goes from stage to stage; of displaced "
                  "patches, in which GPUs wait for each other in every layer.",
                  .min = 1, .max = 1e4),
    ORR_FIELD_BOOL(OrrDiffusionParallel, "fsdp", fsdp, "false",
                   "Whether each GPU keeps its share of every block of text encoder and "
                   "backbone; a block's weights are gathered from all GPUs while the "
                   "block before it runs."));

#define TIME(name_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_REAL(OrrDiffusionHost, name_, member_, ORR_UNIT_SECONDS, fallback_, sentence_,         \
                 .flags = ORR_FIELD_UNSIGNED)
static const OrrFieldTable host_table = ORR_FIELDS(
    "diffusion-host", "What the host does.", OrrDiffusionHost,
    TIME("dispatch", dispatch_s, "0 s",
         "The host's time for one operator of eager software; 0 s: the profile's."),
    TIME("compiled-dispatch", compiled_s, "0 s",
         "The same for one kernel of a compiled graph; 0 s: the profile's host-launch."),
    TIME("output-per-megapixel", output_s, "0 s",
         "The host's time to make a million pixels of the decoder's result into a picture."));

static const OrrFieldTable decode_table = ORR_FIELDS(
    "diffusion-decode", "The VAE's decoder.", OrrDiffusionDecode,
    ORR_FIELD_BOOL(OrrDiffusionDecode, "parallel", parallel, "false",
                   "Whether the GPUs share the decoder's positions; otherwise each computes all."),
    ORR_FIELD_REAL(
        OrrDiffusionDecode, "efficiency", efficiency, ORR_UNIT_FRACTION, "0",
        "Fraction of the 16-bit peak that its convolutions reach, with the copies around "
        "them; 0: the profile's for matrix products of the same sizes.",
        .min = 0, .max = 1),
    ORR_FIELD_INT(OrrDiffusionDecode, "tile", tile, "0",
                  "Pixels along the side of a tile; tiles are decoded one after another, which "
                  "takes less memory and more time. 0: the whole picture at once.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_REAL(OrrDiffusionDecode, "overlap", overlap, ORR_UNIT_FRACTION, "25 %",
                   "Part of a tile's side that it shares with the next one, and that both compute "
                   "(diffusers: a quarter).",
                   .min = 0, .max = 0.9));

#define SIZE(name_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_INT(OrrDiffusion, name_, member_, fallback_, sentence_, .min = 0, .max = 1e6)
const OrrFieldTable orr_diffusion_table = ORR_FIELDS(
    "diffusion", "A batch of pictures or videos.", OrrDiffusion,
    ORR_WORKLOAD_STACK_FIELD(OrrDiffusion),
    ORR_FIELD_SECTION(OrrDiffusion, "generator", generator, &orr_generator_table, NULL,
                      "What makes the pictures.", .document = "generator"),
    SIZE("height", height, "0", "Pixels down; 0: the generator's."),
    SIZE("width", width, "0", "Pixels across; 0: the generator's."),
    SIZE("frames", frames, "0", "Frames; 0: the generator's."),
    SIZE("steps", steps, "0", "Steps of the sampler; 0: the generator's."),
    ORR_FIELD_INT(OrrDiffusion, "batch", batch, "1", "Pictures or videos of a call.", .min = 1,
                  .max = 1e6),
    ORR_FIELD_WORD(OrrDiffusion, "guidance", guidance, guidance_words, "auto",
                   "Classifier-free guidance: none, batched (two pictures in one pass), sequential "
                   "(two passes), or as the generator has it (auto)."),
    ORR_FIELD_SECTION(OrrDiffusion, "parallel", parallel, &parallel_table, "{}",
                      "How GPUs share a picture."),
    ORR_FIELD_WORD(OrrDiffusion, "precision", precision, orr_dtype_names, "bf16",
                   "Number format of the matrices; attention and the rest are in 16 bits."),
    ORR_FIELD_WORD(OrrDiffusion, "attention", attention, attention_words, "as-measured",
                   "The kernel of attention: the profile's fastest, or FlashAttention-2."),
    ORR_FIELD_WORD(
        OrrDiffusion, "offload", offload, offload_words, "none",
        "Weights in host memory: none; each stage's come before it runs (stages: diffusers' "
        "enable_model_cpu_offload); each block's come in every pass, and the kernels wait for them "
        "(blocks: enable_sequential_cpu_offload); or they come while the block before runs "
        "(prefetch: enable_group_offload with use_stream)."),
    ORR_FIELD_REAL(OrrDiffusion, "product-efficiency", product_efficiency, ORR_UNIT_FRACTION, "0",
                   "Fraction of the peak of `precision` that the backbone's products and "
                   "convolutions reach, where no kernel like them is measured (TensorRT's in 8 "
                   "bits); 0: the profile's rate.",
                   .min = 0, .max = 1),
    ORR_FIELD_BOOL(OrrDiffusion, "compiled", compiled, "false",
                   "Whether the backbone is compiled: pointwise kernels are fused."),
    ORR_FIELD_BOOL(OrrDiffusion, "fused-heads", fused_heads, "false",
                   "Whether eager software has fused kernels for norms of heads and rotations "
                   "(Transformer Engine)."),
    SIZE("cached-steps", cached_steps, "0",
         "Steps whose backbone a step cache (TeaCache, First Block Cache) leaves out."),
    ORR_FIELD_SECTION(OrrDiffusion, "host", host, &host_table, "{}", "What the host does."),
    ORR_FIELD_SECTION(OrrDiffusion, "decode", decode, &decode_table, "{}", "The VAE's decoder."),
    ORR_NCCL_FIELD(OrrDiffusion));

static gint64 given(gint64 value, gint64 fallback) { return value > 0 ? value : fallback; }

OrrGuidance orr_diffusion_guidance(const OrrDiffusion *params) {
  return params->guidance == 0 ? (OrrGuidance)params->generator.guidance
                               : (OrrGuidance)(params->guidance - 1);
}

gint64 orr_diffusion_steps(const OrrDiffusion *params) {
  return given(params->steps, params->generator.steps);
}

gint64 orr_diffusion_ranks(const OrrDiffusion *params) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  return parallel->ulysses * parallel->ring * parallel->cfg * parallel->tp * parallel->pipefusion *
         parallel->displaced;
}

gint64 orr_diffusion_patches(const OrrDiffusion *params) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  return parallel->pipefusion > 1 ? given(parallel->patches, parallel->pipefusion) : 1;
}

gint64 orr_diffusion_warm_up(const OrrDiffusion *params) {
  return MIN(params->parallel.warm_up, orr_diffusion_steps(params) - params->cached_steps);
}

gboolean orr_diffusion_fetches(const OrrDiffusion *params, OrrDiffusionStageKind stage) {
  return params->offload == ORR_OFFLOAD_PREFETCH ||
         (params->parallel.fsdp && stage != ORR_STAGE_DECODER);
}

/* Every rank has all of it. */
static OrrGeneratorShape alone(const OrrDiffusion *params) {
  const OrrGenerator *generator = &params->generator;
  return (OrrGeneratorShape){.batch = params->batch,
                             .height = given(params->height, generator->height),
                             .width = given(params->width, generator->width),
                             .frames = given(params->frames, generator->frames),
                             .text_tokens = generator->text_tokens,
                             .ulysses = 1,
                             .ring = 1,
                             .tp = 1,
                             .shards = 1,
                             .dtype = ORR_BF16,
                             .flash = (guint8)params->attention};
}

OrrGeneratorShape orr_diffusion_text_shape(const OrrDiffusion *params) {
  OrrGeneratorShape shape = alone(params);
  if (orr_diffusion_guidance(params) != ORR_GUIDANCE_NONE) shape.batch *= 2;
  return shape;
}

static gint64 tiles_along(const OrrDiffusionDecode *decode, gint64 pixels) {
  const double tile = (double)decode->tile;
  if (tile <= 0 || (double)pixels <= tile) return 1;
  return 1 + (gint64)ceil(((double)pixels - tile) / (tile * (1 - decode->overlap)));
}

gint64 orr_diffusion_tiles(const OrrDiffusion *params) {
  const OrrGeneratorShape shape = alone(params);
  return tiles_along(&params->decode, shape.height) * tiles_along(&params->decode, shape.width);
}

/* Tiles are pictures of their own. */
OrrGeneratorShape orr_diffusion_decoder_shape(const OrrDiffusion *params) {
  OrrGeneratorShape shape = alone(params);
  const gint64 tile = params->decode.tile;
  if (params->decode.parallel) shape.shards = orr_diffusion_ranks(params);
  if (tile == 0) return shape;
  shape.batch *= orr_diffusion_tiles(params);
  shape.height = MIN(shape.height, tile);
  shape.width = MIN(shape.width, tile);
  return shape;
}

OrrGeneratorShape orr_diffusion_shape(const OrrDiffusion *params) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  OrrGeneratorShape shape = alone(params);
  if (orr_diffusion_guidance(params) == ORR_GUIDANCE_BATCHED && parallel->cfg == 1)
    shape.batch *= 2;
  shape.ulysses = parallel->ulysses;
  shape.ring = parallel->ring;
  shape.tp = parallel->tp;
  shape.shards = parallel->ulysses * parallel->ring * parallel->displaced;
  shape.patches = shape.displaced = parallel->displaced;
  shape.dtype = (OrrDtype)params->precision;
  shape.compiled = params->compiled;
  shape.fused_heads = params->fused_heads;
  return shape;
}

/* --- Checks --- */

static void check_block(const OrrDiffusion *params, const OrrBlock *block, OrrPlace place,
                        OrrDiags *diags) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  if (block->heads % (parallel->ulysses * parallel->tp))
    orr_diags_error(diags, place,
                    "parallel.ulysses %ld x tp %ld does not divide the %ld heads of %s: each GPU "
                    "needs whole heads (use ring instead)",
                    parallel->ulysses, parallel->tp, block->heads, params->generator.name);
  if (block->heads > 0 && block->ffn % parallel->tp)
    orr_diags_error(diags, place, "parallel.tp %ld does not divide the feed-forward of %ld",
                    parallel->tp, block->ffn);
  if (block->heads == 0 && orr_diffusion_ranks(params) > parallel->cfg * parallel->displaced)
    orr_diags_error(diags, place,
                    "the backbone of %s has convolutions: only parallel.cfg and displaced share it",
                    params->generator.name);
}

static void check_cfg(const OrrDiffusion *params, OrrPlace place, OrrDiags *diags) {
  if (params->parallel.cfg > 2)
    orr_diags_error(diags, place, "parallel.cfg is %ld: guidance has two passes (1 or 2)",
                    params->parallel.cfg);
  if (params->parallel.cfg == 2 && orr_diffusion_guidance(params) == ORR_GUIDANCE_NONE)
    orr_diags_error(diags, place, "parallel.cfg is 2, but %s has one pass per step (no guidance)",
                    params->generator.name);
}

static void check_pipeline(const OrrDiffusion *params, OrrPlace place, OrrDiags *diags) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  gint64 blocks = 0;
  ORR_EACH_POINTER(const OrrBlock, block, params->generator.backbone) blocks += block->count;
  if (parallel->pipefusion > blocks)
    orr_diags_error(diags, place, "parallel.pipefusion %ld: %s has %ld blocks",
                    parallel->pipefusion, params->generator.name, blocks);
  if (parallel->pipefusion > 1 && parallel->ring > 1)
    orr_diags_error(diags, place,
                    "parallel.pipefusion keeps the keys and values of the whole picture on each "
                    "stage, and ring passes them on: give ulysses");
  if (parallel->pipefusion > 1 && params->offload > ORR_OFFLOAD_STAGES)
    orr_diags_error(diags, place, "parallel.pipefusion goes with offload none or stages");
  if (parallel->pipefusion == 1 && parallel->patches > 0)
    orr_diags_error(diags, place, "parallel.patches is for pipefusion above 1");
  const OrrIdleKey warm_up = {"parallel.warm-up",
                              parallel->pipefusion == 1 && parallel->displaced == 1,
                              "parallel.pipefusion and displaced are 1"};
  orr_idle_warn(&warm_up, 1, place, diags);
}

static void check_displaced(const OrrDiffusion *params, OrrPlace place, OrrDiags *diags) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  if (parallel->displaced == 1) return;
  if (orr_diffusion_ranks(params) > parallel->cfg * parallel->displaced || parallel->fsdp ||
      params->offload > ORR_OFFLOAD_STAGES)
    orr_diags_error(
        diags, place,
        "parallel.displaced gives each GPU a patch and the whole backbone: it goes with "
        "cfg alone, and offload none or stages");
}

static void check_fsdp(const OrrDiffusion *params, OrrPlace place, OrrDiags *diags) {
  const OrrDiffusionParallel *parallel = &params->parallel;
  if (!parallel->fsdp) return;
  if (orr_diffusion_ranks(params) == 1)
    orr_diags_error(diags, place, "parallel.fsdp needs several GPUs: give ulysses, ring or cfg");
  if (parallel->tp > 1 || parallel->pipefusion > 1 || params->offload != ORR_OFFLOAD_NONE)
    orr_diags_error(diags, place,
                    "parallel.fsdp shares whole blocks: tp, pipefusion and offload place weights "
                    "in another way");
}

static double stored_bytes(const OrrDiffusion *params) {
  const OrrGenerator *generator = &params->generator;
  return orr_generator_parameters(generator->backbone) *
             orr_dtype_bytes((OrrDtype)params->precision) +
         2 * (orr_generator_parameters(generator->text) +
              orr_generator_parameters(generator->decoder));
}

/* Every GPU of a node has a copy of its own in the host's memory. */
static void check_offload(const OrrDiffusion *params, const OrrCluster *cluster, OrrPlace place,
                          OrrDiags *diags) {
  const double room = cluster->node.host.memory_bytes;
  const double bytes =
      stored_bytes(params) * (double)MIN(orr_diffusion_ranks(params), cluster->node.gpus);
  if (params->offload == ORR_OFFLOAD_NONE) return;
  if (orr_cluster_host_link_bytes_per_s(cluster) <= 0)
    orr_diags_error(diags, place, "offload needs the device's host-link");
  if (room > 0 && bytes > room)
    orr_diags_error(diags, place, "offload: the weights, %.4g GB, do not fit a host of %.4g GB",
                    bytes / 1e9, room / 1e9);
}

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrDiffusion *params = data;
  const gint64 ranks = orr_diffusion_ranks(params), gpus = orr_cluster_n_gpus(cluster);
  const guint before = orr_diags_n_errors(diags);
  orr_generator_settle(&params->generator, place, diags);
  orr_generator_check_size(&params->generator, params->frames, 0, place, diags);
  if (orr_diags_n_errors(diags) > before) return;
  if (ranks > gpus)
    orr_diags_error(diags, place, "parallel needs %ld GPUs: the cluster has %ld", ranks, gpus);
  orr_products_check(&cluster->device, "precision", orr_dtype_names[params->precision],
                     (OrrDtype)params->precision, "", place, diags);
  check_cfg(params, place, diags);
  check_offload(params, cluster, place, diags);
  check_pipeline(params, place, diags);
  check_fsdp(params, place, diags);
  check_displaced(params, place, diags);
  for (guint i = 0; i < params->generator.backbone->len; i++)
    check_block(params, params->generator.backbone->pdata[i], place, diags);
  if (params->cached_steps >= orr_diffusion_steps(params))
    orr_diags_error(diags, place, "cached-steps is %ld of %ld steps: the first one is computed",
                    params->cached_steps, orr_diffusion_steps(params));
}

static void work_free(OrrWork *data) {
  OrrDiffusionWork *work = (OrrDiffusionWork *)data;
  for (int stage = 0; stage < ORR_N_STAGES; stage++)
    if (work->stages[stage].segments) g_array_unref(work->stages[stage].segments);
  ORR_EACH(const OrrDiffusionStage, part, work->parts) g_array_unref(part->segments);
  if (work->parts) g_array_unref(work->parts);
  g_free(work);
}

const OrrWorkloadKind orr_diffusion_kind = {
    .entry = {"diffusion",
              "Pictures or videos: text encoders, steps of a backbone, the VAE's decoder.",
              &orr_diffusion_table},
    .without_model = TRUE,
    .default_family = "diffusers",
    .check = check,
    .compile = orr_diffusion_compile,
    .work_free = work_free,
};
