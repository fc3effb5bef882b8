/*
 * family_moe_ffn.c - the routed experts of one rank's share of a mixture-of-experts layer: permute, grouped product to
 * 2 * inter-size, SwiGLU, grouped product back to hidden-size, weighted sum.
 *
 * `num-tokens` tokens choose `topk` of `num-experts` experts, of which this rank holds num-experts / ep; tokens by
 * expert are even (balanced) or follow a power law with exponent 1.2 over the experts in a seeded order (power-law; as
 * NVIDIA aiconfigurator's power_law_1.2: expert i gets a share of (i + 1)^-1.2). A rank measures the first
 * num-experts / ep of the shuffled experts.
 *
 * FLOPs 6 tokens topk/ep hidden inter; bytes: the weights of the experts that are hit, and the tokens in and out of
 * each kernel. Grouped products are cuBLAS's cublasGemmGroupedBatchedEx. Exported to moe_ffn.csv.
 */
#include "calibration/measure/family.h"

static const char *const dtypes[] = {"fp16", "bf16", NULL};
static const char *const distributions[] = {"balanced", "power-law", NULL};

static const OrrShapeColumn columns[] = {{"dtype", dtypes, TRUE},     {"distribution", distributions, TRUE},
                                         {"hidden-size", NULL, TRUE}, {"inter-size", NULL, TRUE},
                                         {"topk", NULL, TRUE},        {"num-experts", NULL, TRUE},
                                         {"ep", NULL, TRUE},          {"num-tokens", NULL, FALSE},
                                         {NULL, NULL, FALSE}};

/* hidden, inter, topk, experts, ep: Mixtral 8x7B, Qwen3-30B-A3B, Qwen3-235B-A22B, DeepSeek-V3, gpt-oss-120b. */
static const gint64 layers[][5] = {{4096, 14336, 2, 8, 1},   {4096, 14336, 2, 8, 8},  {2048, 768, 8, 128, 1},
                                   {2048, 768, 8, 128, 8},   {4096, 1536, 8, 128, 8}, {7168, 2048, 8, 256, 8},
                                   {7168, 2048, 8, 256, 32}, {2880, 2880, 4, 128, 8}};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  (void)facts;
  for (guint l = 0; l < G_N_ELEMENTS(layers); l++)
    for (int distribution = 0; distribution < 2; distribution++)
      for (gint64 tokens = 1; tokens <= 65536; tokens *= 2) {
        const gint64 values[] = {
            1, distribution, layers[l][0], layers[l][1], layers[l][2], layers[l][3], layers[l][4], tokens};
        orr_family_add(family, shapes, values);
      }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  (void)facts;
  const double hidden = shape->at[2], inter = shape->at[3], topk = shape->at[4];
  const double experts = (double)shape->at[5] / shape->at[6], routed = shape->at[7] * topk / shape->at[6];
  return (OrrShapeWork){.flops = 6 * routed * hidden * inter,
                        .bytes = 2 * (MIN(experts, routed) * 3 * hidden * inter + routed * (5 * hidden + 5 * inter)),
                        .dtype = shape->at[0] ? ORR_BF16 : ORR_FP16};
}

static gboolean line(const OrrShape *shape, const OrrMeasureRow *row, GString *text) {
  g_string_append_printf(text, "%s,%d,%d,%d,%d,%d,1,%d,%s,%.6g\n", shape->at[0] ? "bfloat16" : "float16",
                         (int)shape->at[7], (int)shape->at[2], (int)shape->at[3], (int)shape->at[4], (int)shape->at[5],
                         (int)shape->at[6], shape->at[1] ? "power_law_1.2" : "balanced", row->median_us);
  return TRUE;
}

static const OrrMeasureTable tables[] = {
    {"moe_ffn.csv",
     "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency_us",
     line},
    {NULL, NULL, NULL}};

const OrrMeasureFamily orr_family_moe_ffn = {
    .entry = {"moe-ffn", "Routed experts of a layer: permute, grouped products, SwiGLU; even and skewed loads.", NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work,
    .tables = tables};
