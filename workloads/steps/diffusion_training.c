/*
 * diffusion_training.c - a step of training a generator: fields, checks, and the list of its items.
 *
 *   workload:
 *     kind: diffusion-training
 *     generator: flux.1-schnell
 *     height: 256
 *     width: 256
 *     batch: 1024
 *
 * Blocks are joined to buckets of at least `bucket` parameters. With p parameters of a bucket on a
 * GPU, over the d GPUs that hold the same ones:
 *
 *   none       all-reduce of the gradients of p, under the backward of the bucket before it
 *   optimizer  reduce-scatter likewise; all-gather of the weights, under the forward
 *   full       the same, and a second all-gather before the backward; each runs one bucket ahead
 *
 * Adam updates p, or p / d. Zhao et al. 2023 (FSDP); Rajbhandari et al. 2020 (ZeRO).
 */
#include "workloads/steps/diffusion_training.h"

#include "models/transformer.h"
#include "sim/base/idle.h"
#include "workloads/steps/batch_step.h"

static const char *const shards_words[] = {"none", "optimizer", "full", NULL};
static const char *const encoders_words[] = {"cached", "live", NULL};
static const char *const attention_words[] = {"as-measured", "flash-2", NULL};

#define DEGREE(name_, member_, sentence_)                                                          \
  ORR_FIELD_INT(OrrDiffusionTrainingParallel, name_, member_, "1", sentence_,                      \
                .flags = ORR_FIELD_POSITIVE)
static const OrrFieldTable parallel_table = ORR_FIELDS(
    "diffusion-training-parallel", "How GPUs share a picture; the rest is data-parallel.",
    OrrDiffusionTrainingParallel, DEGREE("tp", tp, "GPUs that share each matrix."),
    DEGREE("ulysses", ulysses, "GPUs that exchange heads for tokens around attention."));

#define SIZE(name_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_INT(OrrDiffusionTraining, name_, member_, fallback_, sentence_, .min = 0, .max = 1e6)
#define FLAG(name_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_BOOL(OrrDiffusionTraining, name_, member_, fallback_, sentence_)
const OrrFieldTable orr_diffusion_training_table = ORR_FIELDS(
    "diffusion-training", "A step of training a generator.", OrrDiffusionTraining,
    ORR_WORKLOAD_STACK_FIELD(OrrDiffusionTraining),
    ORR_FIELD_SECTION(OrrDiffusionTraining, "generator", generator, &orr_generator_table, NULL,
                      "The model; its backbone is trained.", .document = "generator"),
    SIZE("height", height, "0", "Pixels down; 0: the generator's."),
    SIZE("width", width, "0", "Pixels across; 0: the generator's."),
    SIZE("frames", frames, "0", "Frames; 0: the generator's."),
    SIZE("text-tokens", text_tokens, "0", "Tokens of text; 0: the generator's."),
    ORR_FIELD_INT(OrrDiffusionTraining, "batch", batch, NULL, "Pictures or clips of a step.",
                  .min = 1, .max = 1e9),
    SIZE("micro-batch", micro_batch, "0",
         "Pictures of one pass of a GPU; 0: all that it has in a step."),
    ORR_FIELD_SECTION(OrrDiffusionTraining, "parallel", parallel, &parallel_table, "{}",
                      "How GPUs share a picture."),
    ORR_FIELD_WORD(OrrDiffusionTraining, "sharding", sharding, shards_words, "optimizer",
                   "State that is sharded over data-parallel GPUs: nothing (none: DDP), the "
                   "optimizer's state, or weights and gradients, too (full: FSDP)."),
    ORR_FIELD_WORD(OrrDiffusionTraining, "precision", precision, orr_dtype_names, "bf16",
                   "Number format of the matrices; attention and the rest are in 16 bits."),
    ORR_FIELD_WORD(OrrDiffusionTraining, "attention", attention, attention_words, "as-measured",
                   "The kernel of attention: the profile's fastest, or FlashAttention-2."),
    ORR_FIELD_WORD(OrrDiffusionTraining, "gradients", gradients, orr_dtype_names, "bf16",
                   "Number format in which gradients are reduced."),
    ORR_FIELD_WORD(OrrDiffusionTraining, "encoders", encoders, encoders_words, "cached",
                   "Text is encoded beforehand (cached) or in each step (live). Pictures always "
                   "come as latents."),
    ORR_FIELD_REAL(OrrDiffusionTraining, "bucket", bucket, ORR_UNIT_NONE, "40e6",
                   "Least number of parameters of one collective.", .min = 1),
    FLAG("overlap-gather", overlaps_gather, "true",
         "Sharding optimizer: weights are gathered under the forward, not before it."),
    FLAG("two-outputs", two_outputs, "false",
         "Whether attention and feed-forward of a single block have output matrices of their own, "
         "as Megatron's layers have: with tp, two all-reduces instead of one."),
    FLAG("compiled", compiled, "true", "Whether pointwise kernels are fused."),
    FLAG("fused-heads", fused_heads, "false",
         "Whether eager software has fused kernels for norms of heads and rotations."),
    FLAG("graphs", graphs, "true",
         "Whether CUDA graphs launch the kernels: the host takes no time."),
    ORR_NCCL_FIELD(OrrDiffusionTraining));

static gint64 given(gint64 value, gint64 fallback) { return value > 0 ? value : fallback; }

/* GPUs that share a picture, and pictures of each such group. */
static gint64 sharing(const OrrDiffusionTraining *params) {
  return params->parallel.tp * params->parallel.ulysses;
}
static gint64 own_batch(const OrrDiffusionTraining *params, gint64 n_gpus) {
  return params->batch * sharing(params) / n_gpus;
}

/* A pass of one GPU. */
static OrrGeneratorShape shape_of(const OrrDiffusionTraining *params, gint64 n_gpus) {
  const OrrGenerator *generator = &params->generator;
  return (OrrGeneratorShape){.batch = given(params->micro_batch, own_batch(params, n_gpus)),
                             .height = given(params->height, generator->height),
                             .width = given(params->width, generator->width),
                             .frames = given(params->frames, generator->frames),
                             .text_tokens = given(params->text_tokens, generator->text_tokens),
                             .ulysses = params->parallel.ulysses,
                             .ring = 1,
                             .tp = params->parallel.tp,
                             .shards = params->parallel.ulysses,
                             .dtype = (OrrDtype)params->precision,
                             .flash = (guint8)params->attention,
                             .compiled = params->compiled,
                             .fused_heads = params->fused_heads};
}

/* --- Checks --- */

static void check_block(const OrrDiffusionTraining *params, const OrrBlock *block, OrrPlace place,
                        OrrDiags *diags) {
  const OrrDiffusionTrainingParallel *parallel = &params->parallel;
  if (block->heads == 0 && sharing(params) > 1)
    orr_diags_error(diags, place,
                    "the backbone of %s has convolutions: GPUs cannot share a picture, leave "
                    "parallel out",
                    params->generator.name);
  else if (block->heads % sharing(params))
    orr_diags_error(diags, place,
                    "parallel.ulysses %ld x tp %ld does not divide the %ld heads of %s",
                    parallel->ulysses, parallel->tp, block->heads, params->generator.name);
}

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrDiffusionTraining *params = data;
  const gint64 gpus = orr_cluster_n_gpus(cluster);
  const guint before = orr_diags_n_errors(diags);
  orr_generator_settle(&params->generator, place, diags);
  orr_generator_check_size(&params->generator, params->frames, params->text_tokens, place, diags);
  const OrrIdleKey gather = {"overlap-gather", params->sharding != ORR_SHARDS_OPTIMIZER,
                             "sharding is not optimizer"};
  orr_idle_warn(&gather, 1, place, diags);
  if (orr_diags_n_errors(diags) > before) return;
  for (guint i = 0; i < params->generator.backbone->len; i++)
    check_block(params, params->generator.backbone->pdata[i], place, diags);
  if (gpus % sharing(params))
    orr_diags_error(diags, place, "parallel needs a multiple of %ld GPUs: the cluster has %ld",
                    sharing(params), gpus);
  else if (params->batch % (gpus / sharing(params)))
    orr_diags_error(diags, place, "a batch of %ld cannot be dealt to %ld groups of GPUs evenly",
                    params->batch, gpus / sharing(params));
  else if (params->micro_batch && own_batch(params, gpus) % params->micro_batch)
    orr_diags_error(diags, place, "micro-batch %ld does not divide the %ld pictures of a GPU",
                    params->micro_batch, own_batch(params, gpus));
}

/* --- Blocks and buckets --- */

typedef struct {
  GArray *forward, *backward; /* of OrrBlockOperator */
  double parameters;          /* on this GPU */
  double reductions;          /* all-reduces of a tensor-parallel group, for each in the lists */
} Layer;

typedef struct {
  guint first, last; /* layers */
  double parameters; /* on this GPU */
  guint gather, reduce;
} Bucket;

typedef struct {
  const OrrDiffusionTraining *params;
  OrrBatchStep *step;
  GPtrArray *kinds;  /* of Layer, owned */
  GPtrArray *layers; /* of Layer, borrowed: a block `count` times */
  GArray *buckets;
  OrrBatchGroup replicas; /* GPUs that hold the same weights */
} Making;

static void layer_free(gpointer data) {
  Layer *layer = data;
  g_array_unref(layer->forward);
  g_array_unref(layer->backward);
  g_free(layer);
}

static Layer *layer_new(const OrrDiffusionTraining *params, const OrrBlock *block,
                        const OrrGeneratorShape *shape) {
  Layer *layer = g_new0(Layer, 1);
  OrrBlock one = *block;
  g_autoptr(GPtrArray) list = g_ptr_array_new();
  OrrBlockOperator modulation = {.times = 1, .dispatches = 1};
  one.count = 1;
  g_ptr_array_add(list, &one);
  layer->parameters = orr_generator_parameters(list) / (double)shape->tp;
  layer->reductions = params->two_outputs && block->kind == ORR_BLOCK_SINGLE ? 2 : 1;
  layer->forward = g_array_new(FALSE, TRUE, sizeof(OrrBlockOperator));
  layer->backward = g_array_new(FALSE, TRUE, sizeof(OrrBlockOperator));
  if (orr_generator_modulation(block, shape, &modulation.op))
    g_array_append_val(layer->forward, modulation);
  orr_generator_operators(block, shape, layer->forward);
  orr_generator_backward(layer->forward, layer->backward);
  return layer;
}

static void add_layers(Making *making, const OrrGeneratorShape *shape) {
  const GPtrArray *blocks = making->params->generator.backbone;
  ORR_EACH_POINTER(const OrrBlock, block, blocks) {
    Layer *layer = layer_new(making->params, block, shape);
    g_ptr_array_add(making->kinds, layer);
    for (gint64 i = 0; i < block->count; i++) g_ptr_array_add(making->layers, layer);
  }
}

static void add_buckets(Making *making) {
  Bucket bucket = {0};
  for (guint i = 0; i < making->layers->len; i++) {
    bucket.last = i;
    bucket.parameters += ((const Layer *)making->layers->pdata[i])->parameters;
    if (bucket.parameters < making->params->bucket && i + 1 < making->layers->len) continue;
    g_array_append_val(making->buckets, bucket);
    bucket = (Bucket){.first = i + 1};
  }
}

static Bucket *bucket_at(const Making *making, guint b) {
  return &g_array_index(making->buckets, Bucket, b);
}

/* --- Items --- */

static void put_operators(Making *making, const GArray *operators, double reductions) {
  const OrrDiffusionTrainingParallel *parallel = &making->params->parallel;
  ORR_EACH(const OrrBlockOperator, one, operators) {
    const gboolean is_tensor = one->op.comm.group == ORR_GROUP_TP;
    const OrrBatchItem comm = {
        .name = one->op.name,
        .op = one->op.comm.op == ORR_COMM_ALL_TO_ALL ? ORR_ALL_TO_ALL : ORR_ALL_REDUCE,
        .bytes = one->op.bytes,
        .group = is_tensor ? (OrrBatchGroup){parallel->tp, 1}
                           : (OrrBatchGroup){parallel->ulysses, parallel->tp},
        .category = is_tensor ? "tp-comm" : "cp-comm"};
    if (one->op.kind != ORR_OPERATOR_COMM)
      orr_batch_step_operator(making->step, &one->op, one->times, one->dispatches);
    for (double n = 0;
         one->op.kind == ORR_OPERATOR_COMM && n < one->times * (is_tensor ? reductions : 1); n++)
      orr_batch_step_comm(making->step, &comm);
  }
}

static void put_layer(Making *making, guint i, gboolean backward) {
  const Layer *layer = making->layers->pdata[i];
  put_operators(making, backward ? layer->backward : layer->forward, layer->reductions);
}

static OrrBatchItem weights_of(const Making *making, const Bucket *bucket) {
  return (OrrBatchItem){.name = "gather weights",
                        .op = ORR_ALL_GATHER,
                        .bytes = bucket->parameters *
                                 orr_dtype_bytes((OrrDtype)making->params->precision),
                        .group = making->replicas,
                        .category = "dp-comm"};
}

static OrrBatchItem gradients_of(const Making *making, const Bucket *bucket) {
  const gboolean whole = making->params->sharding == ORR_SHARDS_NONE;
  return (OrrBatchItem){.name = whole ? "all-reduce gradients" : "reduce gradients",
                        .op = whole ? ORR_ALL_REDUCE : ORR_REDUCE_SCATTER,
                        .bytes = bucket->parameters *
                                 orr_dtype_bytes((OrrDtype)making->params->gradients),
                        .group = making->replicas,
                        .category = "dp-comm"};
}

static void begin_gather(Making *making, guint b) {
  const OrrBatchItem gather = weights_of(making, bucket_at(making, b));
  bucket_at(making, b)->gather = orr_batch_step_begin(making->step, &gather);
}

static void put_forward(Making *making, gboolean gathers) {
  const guint n = making->buckets->len;
  const gboolean ahead = making->params->sharding == ORR_SHARDS_FULL;
  if (gathers)
    for (guint b = 0; b < (ahead ? 1 : n); b++) begin_gather(making, b);
  const Bucket *last = bucket_at(making, n - 1);
  for (guint b = 0; b < n; b++) {
    const Bucket *bucket = bucket_at(making, b);
    const gboolean exposed = b == 0 && !ahead && !making->params->overlaps_gather;
    if (gathers) orr_batch_step_meet(making->step, exposed ? last->gather : bucket->gather);
    if (gathers && ahead && b + 1 < n) begin_gather(making, b + 1);
    orr_batch_step_work(making->step, "forward");
    for (guint i = bucket->first; i <= bucket->last; i++) put_layer(making, i, FALSE);
  }
}

static void put_backward(Making *making, gboolean reduces) {
  const guint n = making->buckets->len;
  const gboolean gathers = making->params->sharding == ORR_SHARDS_FULL;
  if (gathers) begin_gather(making, n - 1);
  for (guint b = n; b-- > 0;) {
    Bucket *bucket = bucket_at(making, b);
    const OrrBatchItem gradients = gradients_of(making, bucket);
    if (gathers) orr_batch_step_meet(making->step, bucket->gather);
    if (gathers && b > 0) begin_gather(making, b - 1);
    orr_batch_step_work(making->step, "backward");
    for (guint i = bucket->last + 1; i-- > bucket->first;) put_layer(making, i, TRUE);
    if (reduces || gathers) bucket->reduce = orr_batch_step_begin(making->step, &gradients);
  }
  for (guint b = n; reduces && b-- > 0;)
    orr_batch_step_meet(making->step, bucket_at(making, b)->reduce);
}

static double own_parameters(const Making *making) {
  double sum = 0;
  for (guint b = 0; b < making->buckets->len; b++) sum += bucket_at(making, b)->parameters;
  return sum;
}

static void put_optimizer(Making *making) {
  const gboolean whole = making->params->sharding == ORR_SHARDS_NONE;
  const double parameters = own_parameters(making) / (whole ? 1 : (double)making->replicas.n);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_transformer_optimizer(parameters, ORR_BF16, (OrrAdamBytes){4, 4}, operators);
  orr_batch_step_work(making->step, "optimizer");
  ORR_EACH(OrrOperator, operator, operators) orr_batch_step_operator(making->step, operator, 1, 1);
}

static void put_text(Making *making, const OrrGeneratorShape *shape) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrBlockOperator));
  OrrGeneratorShape alone = *shape;
  alone.tp = alone.ulysses = 1;
  orr_batch_step_work(making->step, "text");
  ORR_EACH_POINTER(const OrrBlock, block, making->params->generator.text) {
    g_array_set_size(operators, 0);
    orr_generator_operators(block, &alone, operators);
    for (gint64 i = 0; i < block->count; i++) put_operators(making, operators, 1);
  }
}

static void put_step(Making *making, const OrrGeneratorShape *shape, gint64 passes) {
  for (gint64 pass = 0; pass < passes; pass++) {
    const gboolean is_sharded = making->params->sharding == ORR_SHARDS_FULL ||
                                (making->params->sharding == ORR_SHARDS_OPTIMIZER && pass == 0);
    if (making->params->encoders == 1) put_text(making, shape);
    put_forward(making, is_sharded);
    put_backward(making, pass + 1 == passes);
  }
  put_optimizer(making);
}

/* Weights, gradients and Adam's 12 bytes per parameter, as far as they are not sharded. */
static double model_bytes(const Making *making) {
  const OrrDiffusionTraining *params = making->params;
  const double replicas = (double)making->replicas.n, own = own_parameters(making);
  const double state = 12 / (params->sharding == ORR_SHARDS_NONE ? 1 : replicas);
  const double rest = (orr_dtype_bytes((OrrDtype)params->precision) +
                       orr_dtype_bytes((OrrDtype)params->gradients)) /
                      (params->sharding == ORR_SHARDS_FULL ? replicas : 1);
  const double text =
      params->encoders == 1 ? 2 * orr_generator_parameters(params->generator.text) : 0;
  return own * (state + rest) + text;
}

static OrrWork *compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrDiffusionTraining *params = data;
  const gint64 gpus = orr_fabric_n_gpus(world->fabric), tp = params->parallel.tp;
  const OrrGeneratorShape shape = shape_of(params, gpus);
  OrrBatchStep *step = orr_batch_step_new(&orr_diffusion_training_kind, world);
  Making making = {.params = params,
                   .step = step,
                   .kinds = g_ptr_array_new_with_free_func(layer_free),
                   .layers = g_ptr_array_new(),
                   .buckets = g_array_new(FALSE, TRUE, sizeof(Bucket)),
                   .replicas = {gpus / tp, tp}};
  if (!params->graphs)
    step->dispatch_s = orr_cost_operator_dispatch_s(world->cost, ORR_KERNELS_EAGER);
  add_layers(&making, &shape);
  add_buckets(&making);
  put_step(&making, &shape, own_batch(params, gpus) / shape.batch);
  step->batch = (double)params->batch;
  step->parameters = orr_generator_parameters(params->generator.backbone);
  step->model_bytes = model_bytes(&making);
  g_array_unref(making.buckets);
  g_ptr_array_unref(making.layers);
  g_ptr_array_unref(making.kinds);
  return orr_batch_step_compile(step, &params->nccl, error);
}

const OrrWorkloadKind orr_diffusion_training_kind = {
    .entry = {"diffusion-training",
              "A step of training a model that makes pictures or videos, data-parallel.",
              &orr_diffusion_training_table},
    .without_model = TRUE,
    .check = check,
    .compile = compile,
    .work_free = orr_batch_step_free,
};
