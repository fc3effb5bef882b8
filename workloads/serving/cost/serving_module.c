/*
 * serving_module.c - asks for a module's time and takes its products off.
 */
#include "workloads/serving/cost/serving_cost.h"

#include "calibration/cost/cost_module.h"
#include "workloads/serving/cost/serving_joules.h"

enum { RUNGS = 64 }; /* steps in a doubling of keys */

struct OrrServingModules {
  const OrrServingCostParams *params;
  guint kind;
  OrrInferenceShard shard;
  OrrProfileModuleLayer layer;
  GHashTable *prompts; /* OrrCost by chunks, queries and rung of keys */
};

OrrServingModules *orr_serving_modules_new(const OrrServingCostParams *params, guint kind,
                                           const OrrInferenceShard *shard) {
  const OrrModel *model = params->world->model;
  if (!orr_inference_module_op(model, kind, FALSE)) return NULL;
  OrrServingModules *modules = g_new(OrrServingModules, 1);
  *modules = (OrrServingModules){
      params, kind, *shard, orr_cost_module_layer(params->world->cost, model, kind),
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free)};
  return modules;
}

void orr_serving_modules_free(OrrServingModules *modules) {
  if (!modules) return;
  g_hash_table_unref(modules->prompts);
  g_free(modules);
}

/* The format of the mixer's products, as the tables call it. */
static const char *weights_of(const OrrInferenceShard *shard) {
  const OrrQuantized *format = shard->formats[ORR_QUANTIZED_MIXER];
  const OrrDtype products = !shard->is_quantized ? shard->weights
                            : format && format->products != ORR_N_DTYPES
                                ? (OrrDtype)format->products
                                : shard->activations;
  return products == ORR_FP4 ? "nvfp4" : products == ORR_FP8 ? "fp8_block" : "bfloat16";
}

static double products_s(const OrrServingModules *modules, gint64 tokens) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  double sum = 0;
  orr_inference_module(modules->params->world->model, modules->kind, &modules->shard, tokens,
                       operators);
  for (guint i = 0; i < operators->len; i++)
    sum += orr_serving_cost_operator(modules->params, &g_array_index(operators, OrrOperator, i))
               .time_s;
  return sum;
}

static OrrCost core(const OrrServingModules *modules, gboolean decodes, double batch,
                    double queries, double keys) {
  const OrrServingCostParams *params = modules->params;
  const OrrModel *model = params->world->model;
  const OrrKernelLibrary library = params->kernels;
  const OrrModuleCall call = {
      .op = orr_inference_module_op(model, modules->kind, decodes),
      .engine = library == ORR_KERNEL_LIBRARY_ANY ? NULL : orr_kernel_library_words[library],
      .weights = weights_of(&modules->shard),
      .cache = orr_dtype_bytes(modules->shard.kv) < 2 ? "fp8" : "bfloat16",
      .mode = "",
      .layer = &modules->layer,
      .heads = (double)orr_inference_heads(model, modules->kind, &modules->shard).heads,
      .batch = batch,
      .queries = queries,
      .keys = fmax(keys, queries)};
  OrrCost cost = orr_cost_module(params->world->cost, &call);
  cost.time_s = fmax(cost.time_s - products_s(modules, (gint64)(batch * queries)),
                     orr_cost_module_core_s(params->world->cost, &call));
  return cost;
}

OrrCost orr_serving_modules_prompts(OrrServingModules *modules, const OrrStepShape *shape) {
  const double n = shape->n_chunks, queries = ceil(shape->chunk / n);
  const double before = fmax(0, shape->chunk_key_sum / shape->chunk - queries / 2);
  const gint64 rung = (gint64)round(RUNGS * log2(queries + before));
  const gint64 key = ((gint64)n << 48) + ((gint64)queries << 16) + rung;
  const OrrCost *known = g_hash_table_lookup(modules->prompts, &key);
  if (known) return *known;
  const OrrCost answer = core(modules, FALSE, n, queries, exp2((double)rung / RUNGS));
  g_hash_table_insert(modules->prompts, g_memdup2(&key, sizeof key),
                      g_memdup2(&answer, sizeof answer));
  return answer;
}

/* Further queries count as further sequences: no row was measured with them. */
OrrCost orr_serving_modules_decodes(OrrServingModules *modules, guint decodes, guint queries,
                                    double keys) {
  OrrCost answer = core(modules, TRUE, (double)decodes * queries, 1, keys);
  if (queries > 1 && answer.how != ORR_HOW_OUTSIDE) answer.how = ORR_HOW_MODELLED;
  return answer;
}

OrrJoules orr_serving_modules_joules(const OrrServingModules *modules, const OrrStepShape *shape,
                                     double core_s) {
  const OrrModel *model = modules->params->world->model;
  const double ratio = modules->layer.ratio, top = modules->layer.topk;
  const double mean = shape->decodes ? shape->key_sum / shape->decodes / ratio : 0;
  const double chunk = shape->chunk > 0 ? shape->chunk_key_sum / shape->chunk / ratio : 0;
  const double of_decode = top > 0 ? fmin(mean, top) : mean,
               of_chunk = top > 0 ? fmin(chunk, top) : chunk;
  const OrrServingCoreWork work = {.pairs = shape->chunk * of_chunk +
                                            (shape->tokens - shape->chunk) * of_decode,
                                   .keys = shape->decodes * of_decode + shape->n_chunks * of_chunk,
                                   .tokens = shape->tokens};
  const OrrInferenceHeads heads = orr_inference_decode_heads(model, modules->kind, &modules->shard);
  return orr_serving_joules_core(modules->params, &heads, work, core_s);
}
