/*
 * serving_collectives.c - chooses the library of a step's collectives and plans them.
 */
#include "workloads/serving/cost/serving_cost.h"

#include "workloads/collectives/collective_cache.h"

/* The largest message for which engines use their own all-reduce: vLLM's max_size on NVLink
 * (custom_all_reduce.py), and the end of the measured rows. */
#define CUSTOM_MOST_BYTES (8.0 * 1024 * 1024)

static gint64 ranks_of(const OrrServingCostParams *params) {
  return params->shard.tp * MAX(params->shard.dp, 1);
}

static gint64 *gpus_of(const OrrServingCostParams *params, gint64 n) {
  gint64 *gpus = g_new(gint64, n);
  for (gint64 i = 0; i < n; i++) gpus[i] = params->first_gpu + i;
  return gpus;
}

static const OrrCollectiveAlgorithm *choose(const OrrServingCostParams *params,
                                            const OrrCollectiveContext *context,
                                            const OrrCollectiveCall *call) {
  const char *name = params->all_reduce;
  if (call->op != ORR_ALL_REDUCE || g_str_equal(name, "nccl")) return NULL;
  const gboolean is_auto = g_str_equal(name, "auto");
  const OrrCollectiveAlgorithm *algorithm =
      (const OrrCollectiveAlgorithm *)(gconstpointer)orr_registry_find(
          &orr_collective_registry, is_auto ? "custom-vllm" : name);
  if (!algorithm || !algorithm->library) return algorithm;
  return call->bytes <= CUSTOM_MOST_BYTES && algorithm->supports(context, call) ? algorithm : NULL;
}

static OrrCollectiveContext context_of(const OrrServingCostParams *params) {
  return (OrrCollectiveContext){
      .fabric = params->world->fabric,
      .cost = params->world->cost,
      .nccl = &params->nccl,
      .gpus_per_switch = orr_nccl_gpus_per_switch(&params->nccl, params->world->cluster)};
}

static OrrCollectivePlan *plan(const OrrServingCostParams *params, OrrCollectiveOp op, gint64 ranks,
                               double bytes, GError **error) {
  const OrrCollectiveContext context = context_of(params);
  g_autofree gint64 *gpus = gpus_of(params, ranks);
  const OrrCollectiveCall call = {.op = op, .bytes = bytes, .gpus = gpus, .n = (guint)ranks};
  return orr_collective_cache_plan(params->world->plans, &context, &call,
                                   choose(params, &context, &call), error);
}

/* Chooses the kernels that exchange experts' tokens: DeepEP's low-latency kernels up to the size
 * of their buffers (128 per rank: num_max_dispatch_tokens_per_rank in its README), its normal
 * ones for more. */
static const OrrCollectiveAlgorithm *choose_exchange(const OrrServingCostParams *params,
                                                     gint64 tokens) {
  const char *name = params->all_to_all;
  if (g_str_equal(name, "nccl")) return NULL;
  if (g_str_equal(name, "auto")) name = tokens <= 128 ? "deepep-low-latency" : "deepep";
  return (const OrrCollectiveAlgorithm *)(gconstpointer)orr_registry_find(&orr_collective_registry,
                                                                          name);
}

/* NCCL gathers the tokens of all ranks, and scatters the sums of their experts. */
static gboolean is_gathered(const OrrServingCostParams *params) {
  return g_str_equal(params->all_to_all, "gather");
}

static OrrCollectivePlan *plan_gathered(const OrrServingCostParams *params, const OrrOperator *op,
                                        GError **error) {
  const gint64 ranks = ranks_of(params);
  const double bytes =
      (double)(ranks * op->comm.tokens * op->comm.hidden) * orr_dtype_bytes((OrrDtype)op->dtype);
  return plan(params, g_str_equal(op->name, "combine") ? ORR_REDUCE_SCATTER : ORR_ALL_GATHER, ranks,
              bytes, error);
}

static OrrCollectivePlan *plan_exchange(const OrrServingCostParams *params, const OrrOperator *op,
                                        GError **error) {
  const OrrCollectiveContext context = context_of(params);
  g_autofree gint64 *gpus = gpus_of(params, ranks_of(params));
  const OrrExpertExchange exchange = {.tokens = (double)op->comm.tokens,
                                      .hidden = op->comm.hidden,
                                      .topk = op->comm.topk,
                                      .experts = op->comm.experts,
                                      .bytes_per_element = orr_dtype_bytes((OrrDtype)op->dtype),
                                      .experts_dtype = (OrrDtype)op->dtype,
                                      .is_combine = g_str_equal(op->name, "combine")};
  const OrrCollectiveCall call = {.op = ORR_ALL_TO_ALL,
                                  .bytes = orr_expert_exchange_bytes(&exchange),
                                  .gpus = gpus,
                                  .n = (guint)ranks_of(params),
                                  .exchange = &exchange};
  return orr_collective_cache_plan(params->world->plans, &context, &call,
                                   choose_exchange(params, op->comm.tokens), error);
}

static OrrCollectivePlan *plan_operator(const OrrServingCostParams *params, const OrrOperator *op,
                                        GError **error) {
  if (op->comm.op == ORR_COMM_ALL_TO_ALL)
    return (is_gathered(params) ? plan_gathered : plan_exchange)(params, op, error);
  return plan(params, op->comm.op == ORR_COMM_ALL_GATHER ? ORR_ALL_GATHER : ORR_ALL_REDUCE,
              params->shard.tp, op->bytes, error);
}

OrrCost orr_serving_collectives_cost(const OrrServingCostParams *params, const OrrOperator *op) {
  g_autoptr(OrrCollectivePlan) planned = plan_operator(params, op, NULL);
  return planned ? (OrrCost){planned->predicted_s, planned->how} : (OrrCost){0, ORR_HOW_MODELLED};
}

double orr_serving_collectives_sent(const OrrServingCostParams *params, const OrrOperator *op) {
  const gboolean exchanges = op->comm.op == ORR_COMM_ALL_TO_ALL;
  const double n = (double)(exchanges ? ranks_of(params) : params->shard.tp);
  double bytes = op->bytes;
  if (exchanges)
    bytes = (double)op->comm.tokens * (double)op->comm.hidden *
            (is_gathered(params) ? n : (double)op->comm.topk) *
            orr_dtype_bytes((OrrDtype)op->dtype);
  return bytes * (op->comm.op == ORR_COMM_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
}

gboolean orr_serving_collectives_hold(const OrrServingCostParams *params, gint64 tokens) {
  const OrrCollectiveAlgorithm *algorithm = choose_exchange(params, tokens);
  return !algorithm || !orr_expert_exchange_is_direct(algorithm->entry.name);
}

gboolean orr_serving_collectives_try(const OrrServingCostParams *params, GError **error) {
  const OrrModel *model = params->world->model;
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  if (params->shard.tp > 1) {
    g_autoptr(OrrCollectivePlan) planned =
        plan(params, ORR_ALL_REDUCE, params->shard.tp, 1 << 20, error);
    if (!planned) return FALSE;
  }
  for (guint k = 0; k < orr_model_n_layer_kinds(model); k++)
    orr_inference_experts(model, k, &params->shard, ranks_of(params), operators);
  ORR_EACH(const OrrOperator, op, operators) {
    if (op->kind != ORR_OPERATOR_COMM) continue;
    g_autoptr(OrrCollectivePlan) planned = plan_operator(params, op, error);
    if (!planned) return FALSE;
  }
  return TRUE;
}
