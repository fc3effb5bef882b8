/*
 * family_moe_ffn.c - the routed experts that one rank holds of a mixture-of-experts layer: permute,
 * grouped product to 2 * inter-size, SwiGLU, grouped product back to hidden-size, weighted sum.
 *
 * `num-tokens` tokens choose `topk` of `num-experts` experts; this rank holds num-experts / ep of
 * them. The tokens per expert are equal (balanced) or follow the power law with exponent 1.2 that
 * NVIDIA aiconfigurator calls power_law_1.2 (power-law). The rank with the most tokens is measured:
 * see expert_draw.h.
 *
 * FLOPs 6 tokens topk/ep hidden inter; bytes: the weights of the experts that receive tokens, and
 * the input and output of each kernel. Grouped products are cuBLAS's cublasGemmGroupedBatchedEx in
 * 16 bits. It supports no narrower formats, so fp8, mxfp8 and nvfp4 (as in family_gemm.c) go
 * through cuBLASLt, one product per expert over four streams, with an expert's rows padded to 16
 * (nvfp4: 32), as Transformer Engine's GroupedLinear does. Tokens arrive quantised, SwiGLU
 * quantises its result, and results are bf16. Exported to moe_ffn.csv, mxfp8 to moe_ffn_more.csv.
 */
#include "calibration/measure/family.h"

static const char *const dtypes[] = {"fp16", "bf16", "fp8", "mxfp8", "nvfp4", NULL};
enum { FP16, BF16, FP8, MXFP8, NVFP4 };
static const char *const distributions[] = {"balanced", "power-law", NULL};

static const OrrShapeColumn columns[] = {
    {"dtype", dtypes, TRUE},     {"distribution", distributions, TRUE},
    {"hidden-size", NULL, TRUE}, {"inter-size", NULL, TRUE},
    {"topk", NULL, TRUE},        {"num-experts", NULL, TRUE},
    {"ep", NULL, TRUE},          {"num-tokens", NULL, FALSE},
    {NULL, NULL, FALSE}};

/* hidden, inter, topk, experts, ep: Mixtral 8x7B, Qwen3-30B-A3B, Qwen3-235B-A22B, DeepSeek-V3,
 * gpt-oss-120b. */
static const gint64 layers[][5] = {{4096, 14336, 2, 8, 1},   {4096, 14336, 2, 8, 8},
                                   {2048, 768, 8, 128, 1},   {2048, 768, 8, 128, 8},
                                   {4096, 1536, 8, 128, 8},  {7168, 2048, 8, 256, 8},
                                   {7168, 2048, 8, 256, 32}, {2880, 2880, 4, 128, 8}};

static gboolean is_there(int dtype, const OrrBenchFacts *facts) {
  if (dtype == FP8) return facts->flops[ORR_FP8] > 0;
  return (dtype != MXFP8 && dtype != NVFP4) || facts->scales_blocks;
}

static void plan_format(const OrrMeasureFamily *family, GArray *shapes, int dtype) {
  for (guint l = 0; l < G_N_ELEMENTS(layers); l++)
    for (int distribution = 0; distribution < 2; distribution++)
      for (gint64 tokens = 1; tokens <= 65536; tokens *= 2) {
        const gint64 values[] = {dtype,        distribution, layers[l][0], layers[l][1],
                                 layers[l][2], layers[l][3], layers[l][4], tokens};
        orr_family_add(family, shapes, values);
      }
}

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  static const int order[] = {BF16, FP8, NVFP4, MXFP8};
  for (guint i = 0; i < G_N_ELEMENTS(order); i++)
    if (is_there(order[i], facts)) plan_format(family, shapes, order[i]);
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  static const OrrDtype peaks[] = {ORR_FP16, ORR_BF16, ORR_FP8, ORR_FP8, ORR_FP4};
  const OrrDtype dtype = peaks[shape->at[0]];
  const double operand = orr_dtype_bytes(dtype);
  const double hidden = shape->at[2], inter = shape->at[3], topk = shape->at[4];
  const double experts = (double)shape->at[5] / shape->at[6],
               routed = shape->at[7] * topk / shape->at[6];
  return (OrrShapeWork){.flops = 6 * routed * hidden * inter,
                        .bytes = operand * (MIN(experts, routed) * 3 * hidden * inter +
                                            routed * (3 * hidden + 2 * inter)) +
                                 2 * routed * (2 * hidden + 3 * inter),
                        .dtype = dtype};
}

static gboolean line(const OrrShape *shape, const OrrMeasureRow *row, GString *text) {
  static const char *const words[] = {"float16", "bfloat16", "fp8", NULL, "nvfp4"};
  if (!words[shape->at[0]]) return FALSE; /* another kernel than fp8's, and no word there */
  g_string_append_printf(text, "%s,%d,%d,%d,%d,%d,1,%d,%s,%.6g\n", words[shape->at[0]],
                         (int)shape->at[7], (int)shape->at[2], (int)shape->at[3], (int)shape->at[4],
                         (int)shape->at[5], (int)shape->at[6],
                         shape->at[1] ? "power_law_1.2" : "balanced", row->median_us);
  return TRUE;
}

static const OrrMeasureTable tables[] = {{"moe_ffn.csv",
                                          "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_"
                                          "experts,moe_tp_size,moe_ep_size,distribution,latency_us",
                                          line},
                                         {NULL, NULL, NULL}};

const OrrMeasureFamily orr_family_moe_ffn = {
    .entry = {"moe-ffn",
              "Routed experts of a layer: permute, grouped products, SwiGLU; five formats; even "
              "and skewed loads.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work,
    .tables = tables};
