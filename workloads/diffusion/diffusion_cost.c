/*
 * diffusion_cost.c - a generator's operators as seconds, joules and launches, by stage.
 *
 * A stage is a list of segments: kernels up to a collective. A kernel takes its sustained cost; its
 * launch takes the host's time per operator, and a stage lasts as long as the slower of both
 * (diffusion_compile.c). Watts of a kind of time are its kernels' joules over their seconds, as in
 * training (training_power.c).
 */
#include "workloads/diffusion/diffusion.h"

#include "calibration/cost/cost_tables.h"

typedef struct {
  const OrrDiffusion *params;
  const OrrWorld *world;
  OrrDiffusionWork *work;
  OrrJoules joules[ORR_N_TIMES]; /* of all stages, steps as often as they run */
  double seconds[ORR_N_TIMES];
  double dispatch_s;
} Costing;

static int kind_of(const OrrOperator *op) {
  return op->kind == ORR_OPERATOR_GEMM        ? ORR_TIME_GEMM
         : op->kind == ORR_OPERATOR_ATTENTION ? ORR_TIME_ATTENTION
                                              : ORR_TIME_MEMORY;
}

double orr_diffusion_segment_s(const OrrDiffusionSegment *segment) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += segment->seconds[kind];
  return sum;
}

static OrrDiffusionSegment *last_of(OrrDiffusionStage *stage) {
  if (stage->segments->len == 0) g_array_set_size(stage->segments, 1);
  return &g_array_index(stage->segments, OrrDiffusionSegment, stage->segments->len - 1);
}

static gboolean is_ring(const OrrDiffusionSegment *segment) {
  return segment->comm.kind == ORR_OPERATOR_COMM && segment->comm.comm.op == ORR_COMM_SEND_RECV;
}

/* Of the 16-bit peak: what a kernel reaches that waits for tensor cores alone, a product of cuBLAS
 * or attention of cuDNN; and FlashAttention-2, whose instructions (mma.sync) feed Hopper's tensor
 * cores at two thirds of their rate. Both as H20s show (diffusion-layouts). */
static const double fed = 0.92, fed_by_flash_2 = 0.68;

/* A table keeps a kernel's distance from the roofline. On multiprocessors whose tensor cores alone
 * are slower, the rest of the kernel is as fast as before: it takes the same time for each
 * multiprocessor, or as long as its tensor cores are busy. */
static double starved_s(const Costing *costing, const OrrOperator *op, double carried_s) {
  const double share = orr_cost_tensor_share(costing->world->cost);
  const double peak = orr_device_peak_flops(&costing->world->cluster->device, (OrrDtype)op->dtype);
  const gboolean is_flash =
      op->kind == ORR_OPERATOR_ATTENTION && op->attention.flash == ORR_FLASH_2;
  if (share >= 0.9 || peak <= 0 || op->flops <= 0 || op->kind == ORR_OPERATOR_MEMORY)
    return carried_s;
  const double busy_s = op->flops / (peak * (is_flash ? fed_by_flash_2 : fed));
  return fmin(carried_s, fmax(busy_s, carried_s * share));
}

/* A product whose rate a stack states. The decoder's convolutions are thin, in the memory layout
 * that cuDNN transposes, frame by frame: never faster than measured products. The backbone's may
 * be: they are of another library, and read and write their operands at least once. */
static OrrCost cost_of(const Costing *costing, const OrrDiffusionStage *stage,
                       const OrrOperator *op) {
  const OrrDiffusion *params = costing->params;
  const OrrDevice *device = &costing->world->cluster->device;
  const gboolean decodes = stage == &costing->work->stages[ORR_STAGE_DECODER],
                 steps = stage == &costing->work->stages[ORR_STAGE_STEP];
  const double efficiency = decodes ? params->decode.efficiency
                            : steps ? params->product_efficiency
                                    : 0;
  const double peak =
      orr_device_peak_flops(device, steps ? (OrrDtype)params->precision
                                    : params->generator.decoder_format == ORR_FP32 ? ORR_TF32
                                                                                   : ORR_BF16);
  OrrCost cost = orr_cost_narrow(costing->world->cost, op);
  cost.time_s = starved_s(costing, op, cost.time_s);
  if (efficiency <= 0 || op->kind != ORR_OPERATOR_GEMM || peak <= 0) return cost;
  const double least_s = decodes ? cost.time_s : op->bytes / device->memory_bytes_per_s;
  return (OrrCost){.time_s = fmax(least_s, op->flops / (peak * efficiency)),
                   .how = ORR_HOW_MODELLED};
}

/* While the tensor cores of a fused attention rest, its multiprocessors compute exponentials and
 * sums: power `simt` of the device for the rest of its time (topologies/device.h). */
static OrrJoules joules_of(const Costing *costing, const OrrOperator *op, double time_s) {
  const OrrCostModel *cost = costing->world->cost;
  const OrrDevice *device = &costing->world->cluster->device;
  OrrJoules joules = orr_cost_energy_operator(cost, op, time_s);
  const double peak = orr_device_peak_flops(device, ORR_BF16);
  if (op->kind == ORR_OPERATOR_ATTENTION && peak > 0 && orr_cost_energy_is_known(cost))
    joules.compute += device->power.simt_w * fmax(time_s - op->flops / peak, 0);
  return joules;
}

/* @repeats: how often the stage runs. A ring's attention belongs to the segment of its sends. */
static void add_kernel(Costing *costing, OrrDiffusionStage *stage, const OrrBlockOperator *one,
                       double repeats) {
  const OrrCost cost = cost_of(costing, stage, &one->op);
  const int kind = kind_of(&one->op);
  OrrDiffusionSegment *segment = last_of(stage);
  if (one->op.kind == ORR_OPERATOR_ATTENTION && stage->segments->len > 1 && is_ring(segment - 1) &&
      segment[-1].parts == 0) {
    segment[-1].part_s = cost.time_s;
    segment[-1].parts = (gint64)one->times;
    segment[-1].host_s += one->dispatches * costing->dispatch_s;
  } else {
    segment->seconds[kind] += one->times * cost.time_s;
    segment->host_s += one->dispatches * costing->dispatch_s;
  }
  stage->flops += one->times * one->op.flops;
  costing->work->cost_s[cost.how] += repeats * one->times * cost.time_s;
  costing->seconds[kind] += repeats * one->times * cost.time_s;
  const OrrJoules joules = joules_of(costing, &one->op, cost.time_s);
  orr_joules_add(&costing->joules[kind], joules, repeats * one->times);
  orr_joules_add(&stage->joules, joules, one->times);
}

static void add_comm(Costing *costing, OrrDiffusionStage *stage, const OrrBlockOperator *one) {
  OrrDiffusionSegment *segment = last_of(stage);
  segment->comm = one->op;
  segment->comm_times = one->times;
  segment->host_s += one->dispatches * costing->dispatch_s;
  g_array_set_size(stage->segments, stage->segments->len + 1);
}

/* Kernels wait for a block's weights, which come over the GPU's host link. */
static void add_copy(Costing *costing, OrrDiffusionStage *stage, double bytes) {
  if (bytes > 0)
    last_of(stage)->seconds[ORR_TIME_OFFLOAD] +=
        orr_diffusion_copy_s(costing->world->cluster, bytes);
}

/* A block's weights that come while the block before it runs: its first segment waits for them. */
static void add_fetch(const Costing *costing, OrrDiffusionStage *stage, OrrDiffusionStageKind kind,
                      double bytes) {
  if (!orr_diffusion_fetches(costing->params, kind)) return;
  if (orr_diffusion_segment_s(last_of(stage)) > 0)
    g_array_set_size(stage->segments, stage->segments->len + 1);
  last_of(stage)->fetch_bytes = bytes;
}

/* Blocks [from, to) of a list. */
typedef struct {
  const GPtrArray *blocks;
  gint64 from, to;
  OrrDiffusionStageKind kind;
} Blocks;

static Blocks all_of(const GPtrArray *blocks, OrrDiffusionStageKind kind) {
  return (Blocks){blocks, 0, G_MAXINT64, kind};
}

static void add_blocks(Costing *costing, OrrDiffusionStage *stage, Blocks of,
                       const OrrGeneratorShape *shape, double repeats) {
  gint64 at = 0;
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrBlockOperator));
  ORR_EACH_POINTER(const OrrBlock, block, of.blocks) {
    const double bytes =
        orr_dtype_bytes(shape->dtype) * orr_generator_block_parameters(block) / (double)shape->tp;
    g_array_set_size(operators, 0);
    orr_generator_operators(block, shape, operators);
    for (gint64 n = 0; n < block->count; n++, at++) {
      if (at < of.from || at >= of.to) continue;
      add_copy(costing, stage, costing->params->offload == ORR_OFFLOAD_BLOCKS ? bytes : 0);
      add_fetch(costing, stage, of.kind, bytes);
      ORR_EACH(const OrrBlockOperator, one, operators) {
        if (one->op.kind == ORR_OPERATOR_COMM)
          add_comm(costing, stage, one);
        else
          add_kernel(costing, stage, one, repeats);
      }
    }
  }
}

static void set_dispatch(Costing *costing, gboolean compiled) {
  const OrrDiffusionHost *host = &costing->params->host;
  const OrrCostModel *cost = costing->world->cost;
  costing->dispatch_s =
      compiled ? (host->compiled_s > 0 ? host->compiled_s
                                       : orr_cost_host_launch_s(cost, ORR_KERNELS_MODERN))
               : (host->dispatch_s > 0 ? host->dispatch_s
                                       : orr_cost_operator_dispatch_s(cost, ORR_KERNELS_EAGER));
}

/* A second of a collective on the critical path, as in training_power.c. */
static OrrJoules comm_second(const OrrWorld *world) {
  const OrrDevice *device = &world->cluster->device;
  return orr_cost_energy_link(world->cost,
                              device->scale_up_bytes_per_s * device->scale_up_efficiency, 1);
}

static OrrWorkPower power_of(const Costing *costing) {
  const OrrCostModel *cost = costing->world->cost;
  OrrWorkPower power = {.is_known = orr_cost_energy_is_known(cost),
                        .static_w =
                            orr_device_power_static_w(&costing->world->cluster->device.power)};
  for (int kind = 0; power.is_known && kind < ORR_N_TIMES; kind++) {
    OrrJoules second = {0};
    if (kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM) second = comm_second(costing->world);
    if (costing->seconds[kind] > 0)
      orr_joules_add(&second, costing->joules[kind], 1 / costing->seconds[kind]);
    power.watts[kind] = orr_cost_energy_limited(cost, second, 1);
  }
  return power;
}

/* Each stage of a pipeline has an equal number of blocks, or one more: first over whole pictures,
 * for the steps that warm up, then over patches. */
static void add_parts(Costing *costing, double steps) {
  const OrrDiffusion *params = costing->params;
  const gint64 n = params->parallel.pipefusion;
  const double warm_up = (double)orr_diffusion_warm_up(params);
  OrrDiffusionWork *work = costing->work;
  gint64 blocks = 0;
  ORR_EACH_POINTER(const OrrBlock, block, params->generator.backbone) blocks += block->count;
  work->parts = g_array_new(FALSE, TRUE, sizeof(OrrDiffusionStage));
  for (gint64 i = 0; i < 2 * n; i++) {
    const gint64 p = i % n;
    OrrGeneratorShape shape = orr_diffusion_shape(params);
    OrrDiffusionStage part = {.segments = g_array_new(FALSE, TRUE, sizeof(OrrDiffusionSegment))};
    shape.patches = i < n ? 1 : orr_diffusion_patches(params);
    const double calls =
        (i < n ? warm_up : steps - warm_up) * (double)(work->passes * shape.patches);
    add_blocks(
        costing, &part,
        (Blocks){params->generator.backbone, p * blocks / n, (p + 1) * blocks / n, ORR_STAGE_STEP},
        &shape, calls);
    work->stages[ORR_STAGE_STEP].flops +=
        part.flops * calls / (double)n / steps / (double)work->passes;
    orr_joules_add(&work->stages[ORR_STAGE_STEP].joules, part.joules,
                   calls / (double)n / steps / (double)work->passes);
    g_array_append_val(work->parts, part);
  }
}

void orr_diffusion_costs(const OrrDiffusion *params, const OrrWorld *world,
                         OrrDiffusionWork *work) {
  const OrrGenerator *generator = &params->generator;
  const OrrGeneratorShape text = orr_diffusion_text_shape(params),
                          step = orr_diffusion_shape(params),
                          decoder = orr_diffusion_decoder_shape(params);
  Costing costing = {.params = params, .world = world, .work = work};
  const double calls = (double)(work->full_steps * work->passes);
  for (int stage = 0; stage < ORR_N_STAGES; stage++)
    work->stages[stage].segments = g_array_new(FALSE, TRUE, sizeof(OrrDiffusionSegment));
  set_dispatch(&costing, FALSE);
  add_blocks(&costing, &work->stages[ORR_STAGE_TEXT], all_of(generator->text, ORR_STAGE_TEXT),
             &text, 1);
  add_blocks(&costing, &work->stages[ORR_STAGE_DECODER],
             all_of(generator->decoder, ORR_STAGE_DECODER), &decoder, 1);
  set_dispatch(&costing, params->compiled);
  if (params->parallel.pipefusion > 1)
    add_parts(&costing, (double)work->full_steps);
  else
    add_blocks(&costing, &work->stages[ORR_STAGE_STEP], all_of(generator->backbone, ORR_STAGE_STEP),
               &step, calls);
  work->work.power = power_of(&costing);
}

/* One GPU has no collectives, so a stage is one segment, or one for each block whose weights come
 * while the block before it runs. */
static double stage_s(const OrrDiffusionStage *stage, const OrrCluster *cluster) {
  double sum = 0;
  ORR_EACH_AT(i, const OrrDiffusionSegment, segment, stage->segments) {
    const gboolean is_last = i + 1 == stage->segments->len;
    const double next_s = is_last ? 0 : orr_diffusion_copy_s(cluster, segment[1].fetch_bytes);
    if (i == 0) sum += orr_diffusion_copy_s(cluster, segment->fetch_bytes);
    sum += fmax(fmax(orr_diffusion_segment_s(segment), segment->host_s), next_s);
  }
  return sum;
}

OrrDiffusionAlone orr_diffusion_alone(const OrrDiffusion *params, const OrrWorld *world) {
  OrrDiffusionWork work = {0};
  OrrDiffusionAlone alone = {0};
  orr_diffusion_counts(params, &work);
  orr_diffusion_costs(params, world, &work);
  for (int i = 0; i < ORR_N_STAGES; i++) {
    const double times = i == ORR_STAGE_STEP ? (double)(work.full_steps * work.passes) : 1;
    alone.stage_s[i] = times * stage_s(&work.stages[i], world->cluster);
    if (params->offload == ORR_OFFLOAD_STAGES)
      alone.stage_s[i] += orr_diffusion_copy_s(world->cluster, work.stages[i].weight_bytes);
    orr_joules_add(&alone.joules[i], work.stages[i].joules, times);
    g_array_unref(work.stages[i].segments);
  }
  alone.output_s = params->host.output_s * work.pixels / 1e6;
  return alone;
}
