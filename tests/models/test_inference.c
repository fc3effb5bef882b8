/*
 * test_inference.c - a serving step's operators: sizes worked by hand, sums over ranks,
 * what is refused.
 */
#include <math.h>
#include <string.h>

#include "models/inference.h"
#include "models/layer.h"
#include "sim/base/library.h"
#include "tests/run/shared_library.h"

static void read_model(const char *name, OrrModel *ret_model) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {.file = name};
  g_autoptr(OrrNode) node = orr_library_load(library, "model", name, place, diags);
  g_assert_true(orr_field_read(&orr_model_table, node, library, diags, ret_model));
  orr_model_settle(ret_model, node->place, diags);
}

static OrrInferenceShard shard_of(gint64 tp, OrrDtype weights) {
  return (OrrInferenceShard){.tp = tp, .weights = weights, .activations = ORR_BF16, .kv = ORR_BF16};
}

static double sum(const OrrModel *model, const OrrInferenceShard *shard, OrrOperatorKind kind,
                  gboolean bytes) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  double total = 0;
  orr_inference_layer(model, 0, shard, 100, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == kind) total += bytes ? op->bytes : op->flops;
  }
  return total;
}

/* Llama 3.1 8B, 100 tokens: 2 * 100 * (6144 * 4096 + 4096^2 + 3 * 4096 * 14336) FLOPs; ranks of
 * tp 8 have an eighth; two all-reduces of 100 * 4096 * 2 bytes. */
static void test_dense(void) {
  OrrModel model;
  read_model("llama-3.1-8b", &model);
  OrrInferenceShard one = shard_of(1, ORR_BF16), eight = shard_of(8, ORR_BF16);
  const double flops = 2 * 100 * (6144.0 * 4096 + 4096.0 * 4096 + 3 * 4096.0 * 14336);
  g_assert_cmpfloat(sum(&model, &one, ORR_OPERATOR_GEMM, FALSE), ==, flops);
  g_assert_cmpfloat(sum(&model, &eight, ORR_OPERATOR_GEMM, FALSE), ==, flops / 8);
  g_assert_cmpfloat(sum(&model, &one, ORR_OPERATOR_COMM, TRUE), ==, 0);
  g_assert_cmpfloat(sum(&model, &eight, ORR_OPERATOR_COMM, TRUE), ==, 2 * 100 * 4096 * 2);
  /* 2 * 8 heads * 128 * 2 bytes * 32 layers = 128 KiB per token; a rank of 8 has one head, of 16 a
   * copy of one */
  OrrInferenceShard sixteen = shard_of(16, ORR_BF16);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &one, 0, 32), ==, 131072);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &eight, 0, 32), ==, 131072 / 8);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &sixteen, 0, 32), ==, 131072 / 8);
  /* 8.03 billion parameters of 2 bytes, but for the final norm */
  g_assert_cmpfloat_with_epsilon(orr_inference_weight_bytes(&model, &one, 0, 32, TRUE, TRUE),
                                 2 * 8030261248.0, 1e4);
  OrrInferenceShard fp8 = shard_of(1, ORR_FP8);
  /* the ends and the norms keep two bytes */
  g_assert_cmpfloat_with_epsilon(orr_inference_weight_bytes(&model, &fp8, 0, 32, TRUE, TRUE),
                                 8030261248.0 + 2 * 128256.0 * 4096 + 64 * 4096, 1e4);
  orr_field_clear(&orr_model_table, &model);
}

/* Experts take their share and no dense MLP; ep 4 of tp 8 halves each of a quarter of them. */
static void test_experts(void) {
  OrrModel model;
  read_model("mixtral-8x7b", &model);
  OrrInferenceShard shard = shard_of(8, ORR_BF16);
  shard.ep = 4;
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_layer(&model, 0, &shard, 64, operators);
  orr_inference_experts(&model, 0, &shard, 64, operators);
  guint n = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    g_assert_cmpstr(op->name, !=, "mlp-up");
    if (op->kind != ORR_OPERATOR_MOE) continue;
    n++;
    g_assert_cmpint(op->moe.ep, ==, 4);
    g_assert_cmpint(op->moe.tp, ==, 2);
    g_assert_cmpint(op->moe.tokens, ==, 64);
  }
  g_assert_cmpuint(n, ==, 1);
  orr_field_clear(&orr_model_table, &model);
}

/* nvfp4-mlp leaves the products of attention in 16 bits and narrows the products of feed-forwards,
 * shared and routed experts. Of DeepSeek-V3's layers (187,105,280 weights of attention each, 61
 * of them; arXiv 2412.19437: 671 billion in all, 129,280 x 7,168 at both ends) attention keeps 2
 * bytes, as do the routers of 58 layers, 256 x 7,168; the rest 9/16. */
static void test_narrow_mlp(void) {
  OrrModel model;
  read_model("deepseek-v3", &model);
  OrrInferenceShard shard = shard_of(1, ORR_BF16);
  orr_inference_quantize(&shard, ORR_QUANTIZATION_NVFP4_MLP, &(OrrWeightFormats){0});
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_layer(&model, orr_model_layer_kind(&model, 3), &shard, 8, operators);
  orr_inference_shared_experts(&model, orr_model_layer_kind(&model, 3), &shard, 8, operators);
  orr_inference_experts(&model, orr_model_layer_kind(&model, 3), &shard, 8, operators);
  guint wide = 0, narrow = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind != ORR_OPERATOR_GEMM && op->kind != ORR_OPERATOR_MOE) continue;
    wide += op->dtype == ORR_BF16;
    narrow += op->dtype == ORR_FP4;
  }
  g_assert_cmpuint(wide, ==, 4);   /* qkv-down, q-up, projection, router */
  g_assert_cmpuint(narrow, ==, 3); /* shared up and down, experts */
  const double ends = 2 * 129280.0 * 7168, attention = 61 * 187105280.0 + 58 * 256.0 * 7168;
  const double rest = orr_model_parameters(&model) - ends - attention;
  g_assert_cmpfloat_with_epsilon(
      orr_inference_weight_bytes(&model, &shard, 0, model.layers, TRUE, TRUE) /
          (2 * (ends + attention) + 9 * rest / 16),
      1, 1e-4);
  orr_field_clear(&orr_model_table, &model);
}

/* Llama 3.1 405B as Meta publishes it in fp8: only the feed-forwards of layers 2 to 125 have a
 * byte. Attention has 16,384 (2 * 16,384 + 2 * 1,024) weights, a feed-forward 3 * 16,384 * 53,248,
 * each end 128,256 * 16,384; each rank has both norms of a layer. On one of 8 ranks: 56.7 GiB,
 * where vLLM 0.5.3 printed 57.75 with 16 key-value heads (vllm-project/vllm 6746). With all layers
 * in fp8 it would be 47.7. */
static void test_plain_ends(void) {
  OrrModel model;
  read_model("llama-3.1-405b-fp8", &model);
  OrrInferenceShard shard = shard_of(8, ORR_BF16);
  orr_inference_quantize(&shard, (OrrQuantization)model.checkpoint.quantization,
                         &model.checkpoint.weights);
  const double attention = 16384.0 * (2 * 16384 + 2 * 1024), feed = 3 * 16384.0 * 53248;
  const double expected =
      (2 * 126 * attention + 124 * feed + 2 * 2 * feed + 2 * 2 * 128256.0 * 16384) / 8 +
      2 * 126 * 2 * 16384.0;
  const double bytes = orr_inference_weight_bytes(&model, &shard, 0, 126, TRUE, TRUE);
  g_assert_cmpfloat_with_epsilon(bytes / expected, 1, 1e-9);
  g_assert_cmpfloat_with_epsilon(bytes / (1 << 30), 56.7, 0.05);
  /* of 16 ranks on two stages the first and the last layer are on different ones */
  g_assert_true(orr_inference_is_plain(&model, &shard, 0));
  g_assert_false(orr_inference_is_plain(&model, &shard, 1));
  g_assert_true(orr_inference_is_plain(&model, &shard, 125));
  g_assert_cmpfloat(orr_inference_weight_bytes(&model, &shard, 0, 126, TRUE, TRUE), ==,
                    orr_inference_weight_bytes(&model, &shard, 0, 63, TRUE, FALSE) +
                        orr_inference_weight_bytes(&model, &shard, 63, 63, FALSE, TRUE));
  orr_field_clear(&orr_model_table, &model);
}

/* gpt-oss-20b on two ranks in mxfp4: 24 layers of 32 experts with three matrices of 2,880 x 1,440 a
 * rank. To multiples of 256 and 128 these are 3,072 x 1,536, in half a byte and a scale for 32. */
static void test_padded_experts(void) {
  OrrModel model;
  read_model("gpt-oss-20b", &model);
  OrrInferenceShard shard = shard_of(2, ORR_BF16);
  orr_inference_quantize(&shard, ORR_QUANTIZATION_MXFP4, &(OrrWeightFormats){0});
  const double as_it_is = orr_inference_weight_bytes(&model, &shard, 0, 24, TRUE, TRUE);
  shard.pad_hidden = 256;
  shard.pad_inner = 128;
  g_assert_cmpfloat_with_epsilon(orr_inference_weight_bytes(&model, &shard, 0, 24, TRUE, TRUE) -
                                     as_it_is,
                                 24 * 32 * 3 * (3072 * 1536 - 2880 * 1440.0) * (0.5 + 1.0 / 32), 1);
  orr_field_clear(&orr_model_table, &model);
}

/* What a step of 8,192 tokens holds at once. Qwen3-235B-A22B on 4 ranks: 2 * 4,096 of input and
 * residual, and of the experts 8 copies of 4,096 (wider than 2 * 1,536 / 4) and of 384, and their
 * sum of 4,096: 48,128 elements per token. Llama 3.1 8B on one: 2 * 4,096 + 3 * 14,336.
 * DeepSeek-V3 in fp8 by blocks on 8 groups of attention of one rank each: a rank's experts get the
 * tokens of all groups, with 8 pairs each of 2 * 7,168 elements (TensorRT-LLM's pull request 18322
 * reports a workspace of 14.02 GiB) and their sum; and there are the rank's own input and residual.
 * In fp8 without blocks what the products read has one byte. */
static void test_activations(void) {
  OrrModel model;
  read_model("qwen3-235b-a22b", &model);
  OrrInferenceShard shard = shard_of(4, ORR_BF16);
  g_assert_cmpfloat(orr_inference_activation_bytes(&model, &shard, 8192), ==, 8192 * 48128.0 * 2);
  orr_field_clear(&orr_model_table, &model);
  read_model("llama-3.1-8b", &model);
  shard = shard_of(1, ORR_BF16);
  g_assert_cmpfloat(orr_inference_activation_bytes(&model, &shard, 8192), ==,
                    8192 * (2 * 4096.0 + 3 * 14336.0) * 2);
  orr_field_clear(&orr_model_table, &model);
  read_model("deepseek-v3", &model);
  shard = shard_of(1, ORR_FP8);
  shard.dp = shard.ep = 8;
  const double rest = 8192 * 2 * (2 * 7168.0 + 8 * 7168), pairs = 8 * 8192 * 8 * 7168.0;
  g_assert_cmpfloat(orr_inference_activation_bytes(&model, &shard, 8192), ==, rest + 3 * pairs);
  orr_inference_quantize(&shard, ORR_QUANTIZATION_FP8_BLOCK, &(OrrWeightFormats){0});
  const double bytes = orr_inference_activation_bytes(&model, &shard, 8192);
  g_assert_cmpfloat(bytes, ==, rest + 4 * pairs);
  g_assert_cmpfloat_with_epsilon((bytes - rest) / (1 << 30), 14.02, 0.05);
  shard.experts_at_once = 16384; /* of 65,536 */
  g_assert_cmpfloat(orr_inference_activation_bytes(&model, &shard, 8192), ==,
                    8192 * 2 * 2 * 7168.0 + (bytes - 8192 * 2 * 2 * 7168.0) / 4);
  orr_field_clear(&orr_model_table, &model);
}

/* Bytes of the cache a token in 16 bits, as published: "Insights into DeepSeek-V3" (arXiv
 * 2505.09343), table 1: DeepSeek-V3 70.272 KB, Qwen2.5-72B 327.680 KB, Llama 3.1 405B 516.096
 * KB. Eight ranks share key-value heads, and each has the latent whole. */
static void test_cache_bytes(void) {
  static const struct {
    const char *name;
    double bytes, of_eight;
  } all[] = {{"deepseek-v3", 70272, 70272},
             {"qwen2.5-72b", 327680, 40960},
             {"llama-3.1-405b", 516096, 64512}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    OrrModel model;
    read_model(all[i].name, &model);
    OrrInferenceShard one = shard_of(1, ORR_BF16), eight = shard_of(8, ORR_BF16);
    g_assert_cmpfloat(orr_inference_kv_bytes(&model, &one, 0, model.layers), ==, all[i].bytes);
    g_assert_cmpfloat(orr_inference_kv_bytes(&model, &eight, 0, model.layers), ==, all[i].of_eight);
    orr_field_clear(&orr_model_table, &model);
  }
}

static double flops_of(const GArray *operators, OrrOperatorKind kind) {
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == kind) sum += op->flops;
  }
  return sum;
}

/* A latent layer of DeepSeek-V3 (dense): 8 tokens that decode take the products of the absorbed
 * block and the MLP; 100 of a prompt that see 300 expand the latent of 300. */
static void test_latent(void) {
  OrrModel model;
  read_model("deepseek-v3", &model);
  OrrInferenceShard shard = shard_of(4, ORR_BF16);
  g_autoptr(GArray) decode = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_autoptr(GArray) prompt = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_layer(&model, 0, &shard, 8, decode);
  orr_inference_decodes(&model, 0, &shard, 8, decode);
  orr_inference_prompts(&model, 0, &shard, 100, 300, prompt);
  const double down = 7168.0 * (1536 + 576),
               split = 1536.0 * 128 * 192 + 512.0 * 128 * 256 + 128 * 128 * 7168.0;
  g_assert_cmpfloat(flops_of(decode, ORR_OPERATOR_GEMM), ==,
                    2 * 8 * (down + (split + 3 * 7168.0 * 18432) / 4));
  g_assert_cmpfloat(flops_of(prompt, ORR_OPERATOR_GEMM), ==, 2 * 300 * 512.0 * 128 * 256 / 4);
  const OrrInferenceHeads heads = orr_inference_decode_heads(&model, 0, &shard);
  g_assert_cmpint(heads.heads, ==, 32);
  g_assert_cmpint(heads.kv_heads, ==, 1);
  g_assert_cmpint(heads.head_dim, ==, 576);
  g_assert_cmpint(heads.value_dim, ==, 512);
  orr_field_clear(&orr_model_table, &model);
}

/* Nemotron-H, Mamba-2: a sequence's state in a layer is 128 heads * 64 * 128 in fp32 and 3 (8192
 * + 2 * 8 * 128) of the convolution in 16 bits; a token that decodes reads and writes the
 * former. */
static void test_state(void) {
  OrrModel model;
  read_model("nemotron-h-8b", &model);
  OrrInferenceShard shard = shard_of(2, ORR_BF16);
  const double state = 128.0 * 64 * 128, conv = 3 * (8192 + 2048.0);
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &shard, 0, 1), ==,
                    (4 * state + 2 * conv) / 2);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &shard, 0, 1), ==, 0);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_decodes(&model, 0, &shard, 10, operators);
  const OrrOperator *update = &g_array_index(operators, OrrOperator, operators->len - 1);
  g_assert_cmpstr(update->name, ==, "state-update");
  g_assert_cmpfloat(update->bytes, ==, 10 * 8 * state / 2);
  orr_field_clear(&orr_model_table, &model);
}

/* Two ranks of attention data parallelism, two of tp: 400 tokens in all are 100 of each rank,
 * sent to 8 experts in fp8 and back in 16 bits; the experts see 400. */
static void test_exchange(void) {
  OrrModel model;
  read_model("deepseek-v3", &model);
  OrrInferenceShard shard = shard_of(2, ORR_FP8);
  shard.dp = 2;
  shard.ep = 4;
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_experts(&model, 1, &shard, 400, operators);
  g_assert_cmpuint(operators->len, ==, 3);
  const OrrOperator *dispatch = &g_array_index(operators, OrrOperator, 0);
  const OrrOperator *experts = dispatch + 1, *combine = dispatch + 2;
  g_assert_cmpint(dispatch->comm.tokens, ==, 100);
  g_assert_cmpfloat(dispatch->bytes, ==, 100.0 * 7168 * 8);
  g_assert_cmpfloat(combine->bytes, ==, 2 * 100.0 * 7168 * 8);
  g_assert_cmpint(experts->moe.tokens, ==, 400);
  g_assert_cmpint(experts->moe.ep, ==, 4);
  g_assert_cmpint(experts->moe.tp, ==, 1);
  orr_field_clear(&orr_model_table, &model);
}

/* --- cross-attention --- */

/* Whisper large-v3: the second half of each of the decoder's 32 layers attends to 1,500 positions.
 * Keys and values of a clip: 32 layers, 2 x 1,280 elements of each position; a token's, of
 * self-attention alone, 2 x 1,280 in 32 layers. Three clips that begin multiply 3 x 1,500 rows by
 * the matrix of keys and values; queries and the result are of the tokens. */
static void test_cross(void) {
  OrrModel model;
  read_model("whisper-large-v3", &model);
  const OrrInferenceShard one = shard_of(1, ORR_BF16), four = shard_of(4, ORR_BF16);
  const double d = 1280;
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &one, 0, 64), ==, 32 * 1500 * 2 * d * 2);
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &four, 0, 64), ==, 8 * 1500 * 2 * d * 2);
  g_assert_cmpfloat(orr_inference_kv_bytes(&model, &one, 0, 64), ==, 32 * 2 * d * 2);
  g_assert_cmpint(orr_inference_source(&model, 0), ==, 0);
  g_assert_cmpint(orr_inference_source(&model, 1), ==, 1500);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_cross(&model, 0, &one, 3, operators);
  g_assert_cmpuint(operators->len, ==, 0);
  orr_inference_cross(&model, 1, &one, 3, operators);
  g_assert_cmpuint(operators->len, ==, 1);
  g_assert_cmpfloat(g_array_index(operators, OrrOperator, 0).flops, ==, 2 * 3 * 1500 * d * 2 * d);
  g_array_set_size(operators, 0);
  orr_inference_layer(&model, 1, &one, 10, operators);
  double flops = 0;
  for (guint i = 0; i < operators->len; i++)
    flops += g_array_index(operators, OrrOperator, i).kind == ORR_OPERATOR_GEMM
                 ? g_array_index(operators, OrrOperator, i).flops
                 : 0;
  g_assert_cmpfloat(flops, ==, 2 * 10 * (2 * d * d + 2 * d * 5120));
  /* the forward of 50 tokens: products, both attentions, the encoder, logits */
  const double encoder = 32 * (24 * 1500 * d * d + 4 * 1500.0 * 1500 * d) + 2 * 1500 * 4608 * d;
  const double decoder = 32 * (2 * 50 * (4 * d * d + 2 * d * d + 2 * d * 5120) +
                               2 * 1500 * 2 * d * d + 4 * 50.0 * 50 * d + 4 * 50.0 * 1500 * d) +
                         2 * 50 * d * 51866;
  g_assert_cmpfloat_with_epsilon(orr_model_flops(&model, 1, 50) / (3 * (encoder + decoder)), 1,
                                 1e-9);
  orr_field_clear(&orr_model_table, &model);
}

/* --- every matrix of the table is multiplied by every token --- */

/* FLOPs of the products by weight of a step of 16 tokens, all of one prompt. A layer with a state
 * has products of its scan among its prompts', without weights. */
static double product_flops(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  double flops = 0;
  orr_inference_layer(model, kind, shard, 16, operators);
  orr_inference_shared_experts(model, kind, shard, 16, operators);
  if (orr_inference_attends(model, kind))
    orr_inference_prompts(model, kind, shard, 16, 16, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == ORR_OPERATOR_GEMM) flops += op->flops;
  }
  return flops;
}

static void test_every_matrix(void) {
  static const char *const names[] = {"llama-3.1-8b",
                                      "deepseek-v3",
                                      "deepseek-v2-lite",
                                      "qwen3-next-80b-a3b",
                                      "nemotron-h-8b",
                                      "gemma-3-27b",
                                      "minimax-text-01",
                                      "gpt-oss-20b",
                                      "qwen2.5-7b",
                                      "llama-4-maverick",
                                      "kimi-k3",
                                      "longcat-flash",
                                      "step3",
                                      "rwkv-7-1.5b",
                                      "kimi-linear-48b-a3b",
                                      "llama-3.3-nemotron-super-49b"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    OrrModel model;
    read_model(names[i], &model);
    OrrInferenceShard shard = shard_of(1, ORR_BF16);
    for (guint kind = 0; kind < orr_model_n_layer_kinds(&model); kind++) {
      if ((gint64)kind == orr_model_encoder_kind(&model)) continue;
      const OrrLayer layer = orr_layer(&model, kind, 1, 1, 1);
      double expected = 0;
      for (guint m = 0; m < layer.n_matrices; m++) {
        const OrrMatrix *matrix = &layer.matrices[m];
        /* routed experts are a MOE; the gate of one column is not a product of its own */
        if (matrix->part != ORR_QUANTIZED_EXPERTS && strcmp(matrix->name, "shared-gate") != 0)
          expected += 2 * 16 * orr_matrix_weights(matrix, 1);
      }
      g_assert_cmpfloat(product_flops(&model, kind, &shard), ==, expected);
    }
    orr_field_clear(&orr_model_table, &model);
  }
}

static void assert_refused(const char *name, gint64 tp, gint64 ep, const char *wanted) {
  OrrModel model;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  read_model(name, &model);
  OrrInferenceShard shard = shard_of(tp, ORR_BF16);
  shard.ep = ep;
  orr_inference_check(&model, &shard, (OrrPlace){.file = "t"}, diags);
  g_autofree char *text = orr_diags_text(diags);
  if (!strstr(text, wanted)) g_error("%s: wanted '%s' in '%s'", name, wanted, text);
  orr_field_clear(&orr_model_table, &model);
}

/* Qwen3 30B-A3B's experts of 768 columns: a half is three blocks of 128, a quarter one and a half;
 * with whole experts on each rank nothing is split. Scales per tensor can be. */
static void test_split_blocks(void) {
  static const struct {
    gint64 tp, ep;
    OrrQuantization quantization;
    gboolean is_refused;
  } rows[] = {{1, 1, ORR_QUANTIZATION_FP8_BLOCK, FALSE}, {2, 1, ORR_QUANTIZATION_FP8_BLOCK, FALSE},
              {4, 1, ORR_QUANTIZATION_FP8_BLOCK, TRUE},  {4, 2, ORR_QUANTIZATION_FP8_BLOCK, FALSE},
              {4, 4, ORR_QUANTIZATION_FP8_BLOCK, FALSE}, {4, 1, ORR_QUANTIZATION_FP8, FALSE}};
  OrrModel model;
  read_model("qwen3-30b-a3b", &model);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrInferenceShard shard = shard_of(rows[i].tp, ORR_BF16);
    g_autoptr(OrrDiags) diags = orr_diags_new();
    shard.ep = rows[i].ep;
    orr_inference_quantize(&shard, rows[i].quantization, &(OrrWeightFormats){0});
    orr_inference_check(&model, &shard, (OrrPlace){.file = "t"}, diags);
    g_autofree char *text = orr_diags_text(diags);
    g_assert_cmpint(strstr(text, "(768) split over 4 ranks is 192 columns each") != NULL, ==,
                    rows[i].is_refused);
    g_assert_cmpint(orr_diags_n_errors(diags), ==, rows[i].is_refused);
  }
  orr_field_clear(&orr_model_table, &model);
}

static void test_refused(void) {
  assert_refused("llama-3.1-8b", 64, 1, "above the 32 attention heads");
  assert_refused("llama-3.1-8b", 3, 1, "heads (32) cannot be divided by tp (3)");
  assert_refused("nemotron-h-8b", 256, 1, "mamba's heads (128) cannot be divided by tp (256)");
  assert_refused("deepseek-v2-lite", 3, 1, "shared-ffn (2816) cannot be divided by tp (3)");
  assert_refused("mixtral-8x7b", 8, 16, "ep (16) is above the 8 experts");
  assert_refused("mixtral-8x7b", 4, 8, "tp * dp-attention (4) cannot be divided by ep (8)");
}

/* DeepSeek-V4 Flash: 41 layers of compressed attention keep the last 128 tokens of 512 elements in
 * 16 bits, whatever the length; its two layers with a window are in the cache. Others keep none. */
static void test_rings(void) {
  OrrModel model;
  const OrrInferenceShard shard = {.tp = 1, .dp = 1, .kv = ORR_BF16};
  read_model("deepseek-v4-flash", &model);
  g_assert_cmpfloat(orr_inference_ring_bytes(&model, &shard, 0, 43), ==, 41.0 * 128 * 512 * 2);
  g_assert_cmpfloat(orr_inference_ring_bytes(&model, &shard, 0, 2), ==, 0);
  orr_field_clear(&orr_model_table, &model);
  read_model("deepseek-v3.2", &model);
  g_assert_cmpfloat(orr_inference_ring_bytes(&model, &shard, 0, model.layers), ==, 0);
  orr_field_clear(&orr_model_table, &model);
}

/* Of two ranks each has the whole of what is not split and half of the rest: twice a rank of two,
 * less the one of one, is the former. Every matrix that the table does not split is whole: in a
 * layer of V4 its projections to entries and its indexer's, V3.2's indexer's, a shared gate. So are
 * norms (V4 has a number for each head too) and the biases of matrices split along their inputs. */
static void test_whole_matrices(void) {
  static const char *const models[] = {"deepseek-v4-flash", "deepseek-v3.2", "qwen1.5-moe-a2.7b",
                                       "qwen2.5-7b",        "gpt-oss-20b",   "gpt3-175b"};
  for (guint m = 0; m < G_N_ELEMENTS(models); m++) {
    OrrModel model;
    read_model(models[m], &model);
    const guint kind = orr_model_layer_kind(&model, model.layers - 1);
    const OrrLayer layer = orr_layer(&model, kind, 1, 1, 1);
    double whole = 2 * orr_layer(&model, kind, 2, 1, 1).vectors - layer.vectors, bytes[2];
    for (guint i = 0; i < layer.n_matrices; i++) {
      const OrrMatrix *matrix = &layer.matrices[i];
      if (matrix->split == ORR_SPLIT_NONE) whole += orr_matrix_weights(matrix, 1);
      if (matrix->split != ORR_SPLIT_COLUMN && matrix->part != ORR_QUANTIZED_EXPERTS)
        whole += orr_matrix_biases(matrix, 1);
    }
    for (gint64 tp = 1; tp <= 2; tp++) {
      const OrrInferenceShard shard = {
          .tp = tp, .dp = 1, .weights = ORR_BF16, .activations = ORR_BF16};
      bytes[tp - 1] = orr_inference_weight_bytes(&model, &shard, model.layers - 1, 1, FALSE, FALSE);
    }
    g_assert_cmpfloat_with_epsilon((2 * bytes[1] - bytes[0]) / (2 * whole), 1, 1e-9);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* A layer of Llama 3.1 8B (h 4,096, 32 heads, 8 of keys of 128 each, f 14,336) on each of 16 ranks:
 * two heads' queries, a copy of one key and one value, the products split by 16, and two whole
 * norms, in 16 bits beside fp8 as well. */
static void test_more_ranks_than_keys(void) {
  OrrModel model;
  read_model("llama-3.1-8b", &model);
  const double products = 4096.0 * (2 + 2 * 1) * 128 + 4096.0 * 4096 / 16 + 3 * 4096.0 * 14336 / 16;
  const OrrInferenceShard wide = shard_of(16, ORR_BF16), narrow = shard_of(16, ORR_FP8);
  g_assert_cmpfloat(orr_inference_weight_bytes(&model, &wide, 0, 1, FALSE, FALSE), ==,
                    2 * (products + 2 * 4096));
  g_assert_cmpfloat(orr_inference_weight_bytes(&model, &narrow, 0, 1, FALSE, FALSE), ==,
                    products + 2 * 2 * 4096);
  orr_field_clear(&orr_model_table, &model);
}

/* Bytes of the steps that expand NF4 for @tokens tokens, and of weights that products read in
 * NF4. */
static double expanded(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                       double *ret_stored) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  double sum = *ret_stored = 0;
  orr_inference_layer(model, 0, shard, tokens, operators);
  orr_inference_experts(model, 0, shard, tokens, operators);
  ORR_EACH(const OrrOperator, op, operators) {
    if (strcmp(op->name, "dequantise") == 0) sum += op->bytes;
    if (op->kind == ORR_OPERATOR_GEMM)
      *ret_stored += op->gemm.stored.weight_bytes * (double)op->gemm.n * (double)op->gemm.k;
    if (op->kind == ORR_OPERATOR_MOE) g_assert_cmpfloat(op->moe.stored.weight_bytes, ==, 0);
  }
  return sum;
}

/* bitsandbytes reads NF4 (0.5 + 1/64 + 4/16384 bytes) in a product of one row. For more it writes
 * each matrix out in 16 bits first: of Llama 3.1 8B qkv, projection and three of the feed-forward;
 * of Mixtral on two ranks half of qkv and projection, and of each of the eight experts half of its
 * three matrices, at one token, too. */
static void test_expansion(void) {
  OrrModel model;
  double stored;
  const double nf4 = 0.5 + 1.0 / 64 + 4.0 / 16384, mixer = (6144.0 + 4096) * 4096;
  const double mlp = 3 * 4096.0 * 14336;
  OrrInferenceShard shard = shard_of(1, ORR_BF16);
  read_model("llama-3.1-8b", &model);
  orr_inference_quantize(&shard, ORR_QUANTIZATION_NF4, &(OrrWeightFormats){0});
  g_assert_cmpfloat(expanded(&model, &shard, 1, &stored), ==, 0);
  g_assert_cmpfloat(stored, ==, (mixer + mlp) * nf4);
  g_assert_cmpfloat(expanded(&model, &shard, 8, &stored), ==, (mixer + mlp) * (nf4 + 2));
  g_assert_cmpfloat(stored, ==, 0);
  orr_field_clear(&orr_model_table, &model);
  read_model("mixtral-8x7b", &model);
  shard.tp = 2;
  g_assert_cmpfloat(expanded(&model, &shard, 1, &stored), ==, 8 * mlp / 2 * (nf4 + 2));
  g_assert_cmpfloat(expanded(&model, &shard, 8, &stored), ==, (mixer + 8 * mlp) / 2 * (nf4 + 2));
  orr_field_clear(&orr_model_table, &model);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/models/transformer-inference/dense", test_dense);
  g_test_add_func("/models/transformer-inference/experts", test_experts);
  g_test_add_func("/models/transformer-inference/narrow-mlp", test_narrow_mlp);
  g_test_add_func("/models/transformer-inference/plain-ends", test_plain_ends);
  g_test_add_func("/models/transformer-inference/activations", test_activations);
  g_test_add_func("/models/transformer-inference/padded-experts", test_padded_experts);
  g_test_add_func("/models/transformer-inference/cache-bytes", test_cache_bytes);
  g_test_add_func("/models/transformer-inference/latent", test_latent);
  g_test_add_func("/models/transformer-inference/state", test_state);
  g_test_add_func("/models/transformer-inference/exchange", test_exchange);
  g_test_add_func("/models/transformer-inference/cross", test_cross);
  g_test_add_func("/models/transformer-inference/every-matrix", test_every_matrix);
  g_test_add_func("/models/transformer-inference/refused", test_refused);
  g_test_add_func("/models/transformer-inference/split-blocks", test_split_blocks);
  g_test_add_func("/models/transformer-inference/rings", test_rings);
  g_test_add_func("/models/transformer-inference/whole-matrices", test_whole_matrices);
  g_test_add_func("/models/transformer-inference/more-ranks-than-keys", test_more_ranks_than_keys);
  g_test_add_func("/models/transformer-inference/expansion", test_expansion);
  return g_test_run();
}
