/*
 * serving_experts.c - compares fused and grouped kernels for the routed experts of a step.
 */
#include "workloads/serving/cost/serving_experts.h"

#include "workloads/grouped_experts.h"

const char *const orr_serving_experts_words[] = {"measured", "tuned", "default-tiles", NULL};

const OrrFieldTable orr_expert_kernels_table = ORR_FIELDS(
    "expert-kernels", "An engine's kernels for the routed experts of a layer.", OrrExpertKernels,
    ORR_FIELD_WORD(OrrExpertKernels, "rows", rows, orr_serving_experts_words, "measured",
                   "Products: as the profile's rows; tuned: 8-bit and 4-bit experts at the "
                   "roofline that kernels tuned for the layer's shape reach; default-tiles: as "
                   "Triton's kernel takes for a shape without tuned tiles, by `step`."),
    ORR_FIELD_REAL(OrrExpertKernels, "efficiency", efficiency, ORR_UNIT_NONE, "1",
                   "Rate of the engine's kernels as a fraction of the rate of the profile's.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrExpertKernels, "small", small, "0",
                  "Kernels around a layer's products that the profile's rows do not hold: they "
                  "route, sort, cast and sum, and each takes the profile's kernel-overhead.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_INT(OrrExpertKernels, "launches", launches, "0",
                  "Host time for a layer's experts where a step is launched eagerly, beyond one "
                  "launch: a number of launches of host.launch each.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_REAL(OrrExpertKernels, "step", step_s, ORR_UNIT_SECONDS, "0 s",
                   "With default-tiles: time of a multiprocessor for a step of a program along k, "
                   "where programs fill it.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrExpertKernels, "step-alone", step_alone_s, ORR_UNIT_SECONDS, "0 s",
                   "With default-tiles: time of a step of a program that is alone on its "
                   "multiprocessor.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_BOOL(OrrExpertKernels, "merged", merged, "false",
                   "Whether the products of 4-bit experts gather, cast and activate on the way, as "
                   "TensorRT-LLM's do with moe_config.backend TRTLLM."),
    ORR_FIELD_INT(OrrExpertKernels, "pad-hidden", pad_hidden, "0",
                  "The model's width is padded to a multiple of this in the memory of the experts' "
                  "weights; 0: it is not.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_INT(OrrExpertKernels, "pad-inner", pad_inner, "0",
                  "The same of a rank's part of an expert's inner width.", .min = 0, .max = 1e6));

static gboolean holds(const OrrCostModel *model, const OrrOperator *op) {
  g_autofree char *missing = orr_cost_missing(model, op);
  return !missing;
}

/* Whether the profile has products in the experts' format. */
static gboolean holds_products(const OrrCostModel *model, const OrrOperator *op) {
  const OrrOperator product =
      orr_operator_gemm("experts", op->pass, (OrrDtype)op->dtype,
                        (OrrGemmShape){1, 1, op->moe.inter, op->moe.hidden});
  return holds(model, &product);
}

static gboolean is_narrow(const OrrOperator *op) {
  return orr_dtype_bytes((OrrDtype)op->dtype) < 2;
}

static void add_move(const OrrCostModel *model, const char *name, double bytes, OrrCost *sum) {
  const OrrOperator move = orr_operator_memory(name, ORR_PASS_FORWARD, ORR_BF16, bytes, 0);
  const OrrCost cost = orr_cost_operator(model, &move);
  sum->time_s += cost.time_s;
  sum->how = MAX(sum->how, cost.how);
}

static OrrCost products_alone(const OrrCostModel *model, const OrrOperator *op) {
  return op->kind == ORR_OPERATOR_GEMM ? orr_cost_among(model, op) : (OrrCost){0, ORR_HOW_MEASURED};
}

static OrrCost merged_cost(const OrrCostModel *model, const OrrOperator *op, OrrDtype activations) {
  OrrOperator cast_once = *op;
  double pairs = 0, active = 0;
  cast_once.moe.stored.cast_apart = TRUE;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  const double tokens = MIN((double)op->moe.tokens, pairs), hidden = (double)op->moe.hidden;
  const double wide = orr_dtype_bytes(activations), narrow = orr_dtype_bytes((OrrDtype)op->dtype);
  OrrCost sum = orr_grouped_experts(model, &cast_once, activations, products_alone);
  add_move(model, "cast", tokens * (wide + narrow) * hidden, &sum);
  add_move(model, "unpermute", (tokens + pairs) * wide * hidden, &sum);
  return sum;
}

static OrrCost grouped_cost(const OrrCostModel *model, const OrrOperator *op,
                            OrrDtype activations) {
  double pairs = 0, active = 0;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  const double tokens = MIN((double)op->moe.tokens, pairs), hidden = (double)op->moe.hidden;
  const double wide = orr_dtype_bytes(activations), narrow = orr_dtype_bytes((OrrDtype)op->dtype);
  OrrCost sum = orr_grouped_experts(model, op, activations, orr_cost_among);
  add_move(model, "permute", (tokens * wide + pairs * narrow) * hidden, &sum);
  add_move(model, "unpermute", (tokens + pairs) * wide * hidden, &sum);
  return sum;
}

static OrrCost faster(OrrCost a, OrrCost b) { return b.time_s < a.time_s ? b : a; }

static OrrCost measured_cost(const OrrCostModel *model, const OrrOperator *op, OrrDtype activations,
                             gboolean merged) {
  const OrrCost fused = orr_cost_among(model, op);
  if (!is_narrow(op)) return fused;
  const OrrCost grouped = merged && op->dtype == ORR_FP4 ? merged_cost(model, op, activations)
                                                         : grouped_cost(model, op, activations);
  if (!holds(model, op) && holds_products(model, op)) return grouped;
  return faster(fused, grouped);
}

/* Tiles matter where experts have few rows: there tuned kernels read as fast as memory is. With
 * many rows they compute at the rate of the kernels that were measured. */
static OrrCost tuned_cost(const OrrCostModel *model, const OrrOperator *op, OrrDtype activations,
                          gboolean merged) {
  static const gint64 many = 16384; /* tokens */
  OrrOperator large = *op;
  double pairs = 0, large_pairs = 0, active = 0;
  large.moe.tokens = many;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  orr_cost_moe_load(&large.moe, &large_pairs, &active);
  const double compute_s =
      measured_cost(model, &large, activations, merged).time_s * pairs / large_pairs;
  return (OrrCost){orr_cost_moe_overhead_s(model) +
                       hypot(compute_s, orr_cost_moe_bytes_s(model, op)),
                   ORR_HOW_MODELLED};
}

/* The tiles of get_default_config; serving_experts.h has the formula. */
static OrrCost default_tiles_cost(const OrrCostModel *model, const OrrMoeShape *moe,
                                  const OrrExpertKernels *kernels, gint64 sms) {
  const gboolean few = moe->tokens <= moe->experts;
  const double rows = few ? 16 : 64, columns = few ? 32 : 64, depth = few ? 64 : 32;
  const double hidden = (double)moe->hidden, width = (double)moe->inter / (double)moe->tp;
  const double up = (double)((moe->projections ? moe->projections : 3) - 1);
  double pairs = 0, active = 0;
  orr_cost_moe_load(moe, &pairs, &active);
  const double blocks = active * fmax(1, pairs / active / rows + 0.5);
  const double steps = blocks * (ceil(up * width / columns) * ceil(hidden / depth) +
                                 ceil(hidden / columns) * ceil(width / depth));
  const double alone = ceil(hidden / depth) + ceil(width / depth);
  return (OrrCost){orr_cost_moe_overhead_s(model) + alone * kernels->step_alone_s +
                       steps / (double)sms * kernels->step_s,
                   ORR_HOW_MODELLED};
}

OrrCost orr_serving_experts(const OrrCostModel *model, const OrrOperator *op, OrrDtype activations,
                            const OrrExpertKernels *kernels, gint64 sms) {
  OrrCost cost = kernels->rows == ORR_EXPERTS_DEFAULT_TILES
                     ? default_tiles_cost(model, &op->moe, kernels, sms)
                     : measured_cost(model, op, activations, kernels->merged);
  if (is_narrow(op) && kernels->rows == ORR_EXPERTS_TUNED)
    cost = faster(cost, tuned_cost(model, op, activations, kernels->merged));
  cost.time_s = cost.time_s / kernels->efficiency +
                (double)kernels->small * orr_cost_kernel_overhead_s(model);
  return cost;
}

gboolean orr_serving_experts_are_missing(const OrrCostModel *model, const OrrOperator *op) {
  return !holds(model, op) && !(is_narrow(op) && holds_products(model, op));
}
