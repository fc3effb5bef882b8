/*
 * query_module.c - reads a query of sparse or linear attention into a call of the cost model.
 */
#include "calibration/cost/cost_private.h"

#include "calibration/cost/cost_module.h"

static const char *text_of(double value) {
  return value > 0 ? g_quark_to_string((GQuark)value) : NULL;
}

/* The operations by the names of aiconfigurator's tables. */
static const struct {
  const char *given, *op;
} sparse_ops[] = {{"dsa_context_module", "dsa-prefill"},
                  {"dsa_context_module_skip_indexer", "dsa-prefill-shared"},
                  {"dsa_generation_module", "dsa-decode"},
                  {"dsa_generation_module_skip_indexer", "dsa-decode-shared"},
                  {"dsv4_csa_context_module", "csa-prefill"},
                  {"dsv4_csa_generation_module", "csa-decode"},
                  {"dsv4_csa_topk_calib", "topk"},
                  {"dsv4_flash_hca_attn_module", "sparse-core"},
                  {"dsv4_hca_attn_module", "sparse-core"},
                  {"dsv4_hca_context_module", "hca-prefill"},
                  {"dsv4_hca_generation_module", "hca-decode"},
                  {"dsv4_paged_mqa_logits_module", "index-scores"},
                  {"glm5_dsa_attn_module", "sparse-core"},
                  {"glm5_mqa_logits_module", "index-scores"},
                  {"glm5_topk_module", "topk"}};

static const char *op_of(const char *given) {
  for (guint i = 0; i < G_N_ELEMENTS(sparse_ops); i++)
    if (strcmp(sparse_ops[i].given, given) == 0) return sparse_ops[i].op;
  return orr_cost_module_is_op(given) ? given : NULL;
}

/* The rows' layer of a model: "deepseek-ai/DeepSeek-V4-Pro" in an hca operation is
 * deepseek-v4-pro-hca. */
static char *layer_name(const char *model, const char *given) {
  g_autofree char *low = g_ascii_strdown(model, -1);
  if (strstr(low, "glm-5")) return g_strdup("glm-5");
  if (strstr(low, "v3.2")) return g_strdup("deepseek-v3.2");
  if (!strstr(low, "v4")) return g_strdup(low);
  return g_strdup_printf("deepseek-v4-%s-%s", strstr(low, "flash") ? "flash" : "pro",
                         strstr(given, "hca") ? "hca" : "csa");
}

const char *orr_query_module_refuse_sparse(const double *values) {
  const char *op = text_of(values[ORR_SPARSE_OP]);
  if (!op || !op_of(op))
    return "op_name is unknown: want a table's name such as dsa_generation_module, or an "
           "operation: dsa-prefill, dsa-prefill-shared, dsa-decode, dsa-decode-shared, "
           "csa-prefill, csa-decode, hca-prefill, hca-decode, index-scores, topk or sparse-core";
  return NULL;
}

static OrrCost refused(void) { return (OrrCost){NAN, ORR_HOW_OUTSIDE}; }

OrrCost orr_query_module_sparse(const OrrCostModel *cost, const char *name, const double *values) {
  const char *given = text_of(values[ORR_SPARSE_OP]), *model = text_of(values[ORR_SPARSE_MODEL]);
  const char *mode = text_of(values[ORR_SPARSE_MODE]);
  g_autofree char *layer = layer_name(model ? model : "", given);
  const OrrProfileModuleLayer *of =
      cost->profile ? orr_profile_module_layer(orr_profile_modules(cost->profile), layer) : NULL;
  if (!of) return refused();
  const OrrModuleCall call = {.op = op_of(given),
                              .device = text_of(values[ORR_SPARSE_SYSTEM]),
                              .engine = text_of(values[ORR_SPARSE_ENGINE]),
                              .kernel = text_of(values[ORR_SPARSE_KERNEL]),
                              .weights = text_of(values[ORR_SPARSE_WEIGHTS]),
                              .cache = text_of(values[ORR_SPARSE_CACHE]),
                              .mode = mode ? mode : "",
                              .layer = of,
                              .heads = values[ORR_SPARSE_HEADS],
                              .batch = values[ORR_SPARSE_BATCH],
                              .queries = values[ORR_SPARSE_QUERIES],
                              .keys = values[ORR_SPARSE_QUERIES] + values[ORR_SPARSE_BEFORE]};
  return orr_cost_module(cost, &call);
}

/* --- linear attention --- */

const char *orr_query_module_refuse_linear(const double *values) {
  const char *phase = text_of(values[ORR_LINEAR_PHASE]);
  if (strcmp(phase, "context") != 0 && strcmp(phase, "generation") != 0)
    return "phase: want context or generation";
  const char *state = text_of(values[ORR_LINEAR_STATE_DTYPE]);
  if (strcmp(state, "float32") != 0 && strcmp(state, "bfloat16") != 0)
    return "state_dtype: want float32 or bfloat16";
  const gboolean is_delta = values[ORR_LINEAR_VALUE_HEADS] > 0 && values[ORR_LINEAR_KEY_HEADS] > 0;
  const gboolean is_mamba =
      values[ORR_LINEAR_HEADS] > 0 && values[ORR_LINEAR_STATE] > 0 && values[ORR_LINEAR_GROUPS] > 0;
  return is_delta != is_mamba ? NULL
                              : "want num_k_heads and num_v_heads (gated delta), or nheads, "
                                "d_state and n_groups (Mamba-2)";
}

/* A head of 128 x 128 and its part of the keys; or of 64 x N and its part of B and C. Named as the
 * rows of equal widths. */
static OrrProfileModuleLayer linear_layer(const OrrCostModel *cost, const double *values,
                                          char **ret_name) {
  const double heads = values[ORR_LINEAR_VALUE_HEADS], state = values[ORR_LINEAR_STATE];
  const double per_key = heads > 0 ? heads / values[ORR_LINEAR_KEY_HEADS]
                                   : values[ORR_LINEAR_HEADS] / values[ORR_LINEAR_GROUPS];
  const gboolean halved = strcmp(text_of(values[ORR_LINEAR_STATE_DTYPE]), "bfloat16") == 0;
  *ret_name = heads > 0 ? g_strdup_printf("gated-delta-%g%s", per_key, halved ? "-bf16" : "")
                        : g_strdup_printf("mamba-2-%g-%g", state, per_key);
  const OrrProfileModuleLayer *known =
      cost->profile ? orr_profile_module_layer(orr_profile_modules(cost->profile), *ret_name)
                    : NULL;
  if (known) return *known;
  if (heads > 0)
    return (OrrProfileModuleLayer){.ratio = 1,
                                   .channels = 256 / per_key + 128,
                                   .state = 128 * 128,
                                   .output = 128,
                                   .state_bytes = halved ? 2 : 0};
  return (OrrProfileModuleLayer){
      .ratio = 1, .channels = 64 + 2 * state / per_key, .state = 64 * state, .output = 64};
}

OrrCost orr_query_module_linear(const OrrCostModel *cost, const char *name, const double *values) {
  const char *kernel = text_of(values[ORR_LINEAR_KERNEL]);
  const gboolean convolves = kernel && strstr(kernel, "conv");
  const gboolean decodes = strcmp(text_of(values[ORR_LINEAR_PHASE]), "generation") == 0;
  g_autofree char *layer_name = NULL;
  const OrrProfileModuleLayer layer = linear_layer(cost, values, &layer_name);
  const double heads = values[ORR_LINEAR_VALUE_HEADS] > 0 ? values[ORR_LINEAR_VALUE_HEADS]
                                                          : values[ORR_LINEAR_HEADS];
  const OrrModuleCall call = {.op = convolves ? (decodes ? "conv-update" : "conv")
                                              : (decodes ? "state-update" : "scan"),
                              .device = text_of(values[ORR_LINEAR_SYSTEM]),
                              .engine = text_of(values[ORR_LINEAR_ENGINE]),
                              .kernel = kernel,
                              .mode = "",
                              .layer = &layer,
                              .heads = heads,
                              .batch = values[ORR_LINEAR_BATCH],
                              .queries = values[ORR_LINEAR_TOKENS],
                              .keys = values[ORR_LINEAR_TOKENS]};
  return orr_cost_module(cost, &call);
}
