/* test_transformer.c - operators of layers and ends: order, shapes, FLOPs, bytes, collectives;
 * sharding. */
#include "models/transformer.h"

#include <math.h>
#include <string.h>

static const OrrModel llama_8b = {.layers = 32,
                                  .hidden = 4096,
                                  .heads = 32,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .ffn = 14336,
                                  .vocab = 128256,
                                  .context = 8192,
                                  .activation = ORR_ACTIVATION_SWIGLU,
                                  .norm = ORR_NORM_RMSNORM,
                                  .position = ORR_POSITION_ROPE};

static OrrModel gpt(gint64 layers, gint64 hidden, gint64 heads) {
  return (OrrModel){.layers = layers,
                    .hidden = hidden,
                    .heads = heads,
                    .kv_heads = heads,
                    .head_dim = hidden / heads,
                    .ffn = 4 * hidden,
                    .vocab = 51200,
                    .context = 2048,
                    .tied_embeddings = TRUE,
                    .bias = TRUE};
}

static OrrShard megatron(gint64 micro_batch, gint64 tp, gboolean sequence_parallel) {
  return (OrrShard){.micro_batch = micro_batch,
                    .sequence = 2048,
                    .tp = tp,
                    .sequence_parallel = sequence_parallel,
                    .attention = ORR_ATTENTION_UNFUSED,
                    .kernels = ORR_KERNELS_EAGER,
                    .dropout = TRUE,
                    .dtype = ORR_FP16};
}

typedef void (*Build)(const OrrModel *model, const OrrShard *shard, GArray *operators);

static GArray *build(Build function, const OrrModel *model, const OrrShard *shard) {
  GArray *operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  function(model, shard, operators);
  return operators;
}

static void layer_forward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_forward(model, 0, shard, operators);
}

static void layer_backward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_backward(model, 0, shard, operators);
}

static void recompute_full(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_recompute(model, 0, shard, ORR_MODULE_LAYER, operators);
}

static void recompute_selective(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_recompute(model, 0, shard, ORR_MODULE_CORE_ATTN, operators);
}

static void recompute_none(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_recompute(model, 0, shard, 0, operators);
}

static double total_flops(Build function, const OrrModel *model, const OrrShard *shard) {
  g_autoptr(GArray) operators = build(function, model, shard);
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) sum += g_array_index(operators, OrrOperator, i).flops;
  return sum;
}

/* Bytes of the operators of @kind; of @name alone where it is given. */
static double total_bytes(Build function, const OrrModel *model, const OrrShard *shard,
                          OrrOperatorKind kind, const char *name) {
  g_autoptr(GArray) operators = build(function, model, shard);
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == kind && (!name || strcmp(op->name, name) == 0)) sum += op->bytes;
  }
  return sum;
}

static void assert_near(double value, double expected) {
  g_assert_cmpfloat_with_epsilon(value, expected, 1e-12 * fabs(expected));
}

/* Names in order, a '*' after backward-by-weight ones. */
static void assert_names(Build function, const OrrModel *model, const OrrShard *shard,
                         const char *expected) {
  g_autoptr(GArray) operators = build(function, model, shard);
  g_autoptr(GString) names = g_string_new(NULL);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    g_string_append_printf(names, "%s%s%s", i ? " " : "", op->name,
                           op->pass == ORR_PASS_WGRAD ? "*" : "");
  }
  g_assert_cmpstr(names->str, ==, expected);
}

/* --- order --- */

static void test_order_megatron(void) {
  OrrModel model = gpt(24, 1024, 16);
  OrrShard shard = megatron(2, 8, FALSE);
  assert_names(layer_forward, &model, &shard,
               "layer-norm qkv qkv-bias attention-scores attention-softmax attention-dropout "
               "attention-context "
               "context-permute projection tp-all-reduce bias-dropout-add "
               "layer-norm fc1 gelu fc2 tp-all-reduce bias-dropout-add");
  assert_names(
      layer_backward, &model, &shard,
      "bias-dropout-add bias-grad* fc2 fc2* main-grad-add* gelu bias-grad* "
      "fc1 tp-all-reduce fc1* main-grad-add* norm-weight-grad* layer-norm residual-grad-add "
      "bias-dropout-add bias-grad* projection projection* main-grad-add* "
      "attention-context attention-context attention-dropout attention-softmax attention-scores "
      "attention-scores attention-grad-scale attention-grad-scale qkv-grad-concat bias-grad* "
      "qkv tp-all-reduce qkv* main-grad-add* norm-weight-grad* layer-norm residual-grad-add");
  assert_names(
      recompute_selective, &model, &shard,
      "attention-scores attention-softmax attention-dropout attention-context context-permute");
  assert_names(recompute_none, &model, &shard, "");
}

static void test_order_llama(void) {
  OrrShard shard = {.micro_batch = 1,
                    .sequence = 8192,
                    .tp = 1,
                    .attention = ORR_ATTENTION_FUSED,
                    .dtype = ORR_BF16};
  assert_names(
      layer_forward, &llama_8b, &shard,
      "rms-norm qkv rope attention projection residual-add rms-norm fc1 swiglu fc2 residual-add");
  assert_names(layer_backward, &llama_8b, &shard,
               "fc2 fc2* swiglu fc1 fc1* rms-norm residual-grad-add "
               "projection projection* attention rope qkv qkv* rms-norm residual-grad-add");
}

static void test_order_sequence_parallel(void) {
  OrrModel model = gpt(24, 1024, 16);
  OrrShard shard = megatron(2, 8, TRUE);
  shard.attention = ORR_ATTENTION_FUSED;
  shard.kernels = ORR_KERNELS_MODERN;
  assert_names(
      layer_forward, &model, &shard,
      "layer-norm tp-all-gather qkv attention projection tp-reduce-scatter bias-dropout-add "
      "layer-norm tp-all-gather fc1 gelu fc2 tp-reduce-scatter bias-dropout-add");
  assert_names(
      layer_backward, &model, &shard,
      "bias-dropout-add bias-grad* tp-all-gather fc2 fc2* gelu bias-grad* "
      "tp-all-gather* fc1 tp-reduce-scatter fc1* layer-norm residual-grad-add "
      "bias-dropout-add bias-grad* tp-all-gather projection projection* attention bias-grad* "
      "tp-all-gather* qkv tp-reduce-scatter qkv* layer-norm residual-grad-add");
}

static void test_order_ends(void) {
  OrrModel model = gpt(24, 1024, 16);
  OrrShard shard = megatron(2, 8, FALSE);
  assert_names(orr_transformer_embedding_forward, &model, &shard,
               "embedding tp-all-reduce position-embedding embedding-transpose embedding-dropout");
  assert_names(orr_transformer_embedding_backward, &model, &shard,
               "embedding-dropout embedding-transpose position-embedding* main-grad-add* "
               "embedding* main-grad-add*");
  assert_names(orr_transformer_head_forward, &model, &shard,
               "layer-norm logits cross-entropy-max loss-all-reduce loss-all-reduce "
               "cross-entropy-exp loss-all-reduce "
               "cross-entropy-softmax");
  assert_names(
      orr_transformer_head_backward, &model, &shard,
      "cross-entropy logits tp-all-reduce logits* main-grad-add* norm-weight-grad* layer-norm");
}

/* --- FLOPs --- */

static double step_flops(const OrrModel *model, const OrrShard *shard, Build recompute) {
  double layer = total_flops(layer_forward, model, shard) +
                 total_flops(layer_backward, model, shard) + total_flops(recompute, model, shard);
  double ends = total_flops(orr_transformer_embedding_forward, model, shard) +
                total_flops(orr_transformer_embedding_backward, model, shard) +
                total_flops(orr_transformer_head_forward, model, shard) +
                total_flops(orr_transformer_head_backward, model, shard);
  return model->layers * layer + ends;
}

/* All operators' FLOPs, times tp, are Megatron's formula: for every tp, with and without
 * sequence parallelism. */
static void test_flops_are_the_models(void) {
  OrrModel models[] = {gpt(24, 2304, 24), gpt(96, 12288, 96), gpt(128, 25600, 160)};
  for (guint i = 0; i < G_N_ELEMENTS(models); i++)
    for (gint64 tp = 1; tp <= 8; tp *= 2) {
      OrrShard shard = megatron(4, tp, tp == 4);
      const double flops = orr_model_flops(&models[i], 4, 2048);
      const double layers = (double)models[i].layers;
      assert_near(tp * step_flops(&models[i], &shard, recompute_none), flops);
      assert_near(tp * step_flops(&models[i], &shard, recompute_full),
                  flops + layers * orr_model_layer_flops(&models[i], 0, 4, 2048));
      assert_near(tp * step_flops(&models[i], &shard, recompute_selective),
                  flops + layers * orr_model_core_flops(&models[i], 0, 4, 2048));
    }
}

/* GQA, gated and fused. Flash does half of the core's forward (4 b s^2 q a layer; causal), and
 * 2.5 times that backward where the formula has 1 and 2: so 3 - 3.5 / 2 = 1.25 cores less. */
static void test_flops_of_llama(void) {
  double core = 32 * 4 * 2048.0 * 2048 * 4096;
  for (gint64 tp = 1; tp <= 8; tp *= 2) {
    OrrShard shard = {.micro_batch = 1, .sequence = 2048, .tp = tp, .dtype = ORR_BF16};
    shard.attention = ORR_ATTENTION_FUSED;
    shard.kernels = ORR_KERNELS_MODERN;
    assert_near(tp * step_flops(&llama_8b, &shard, recompute_none),
                orr_model_flops(&llama_8b, 1, 2048) - 1.25 * core);
    shard.attention = ORR_ATTENTION_UNFUSED;
    assert_near(tp * step_flops(&llama_8b, &shard, recompute_none),
                orr_model_flops(&llama_8b, 1, 2048));
  }
}

/* --- shapes --- */

static void assert_gemm(const GArray *operators, const char *name, OrrPass pass, guint which,
                        gint64 batch, gint64 m, gint64 n, gint64 k) {
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (strcmp(op->name, name) || op->pass != pass || op->kind != ORR_OPERATOR_GEMM || which-- > 0)
      continue;
    g_test_message("%s pass %d: %d x %d x %d x %d", name, pass, (int)op->gemm.batch,
                   (int)op->gemm.m, (int)op->gemm.n, (int)op->gemm.k);
    g_assert_true(op->gemm.batch == batch && op->gemm.m == m && op->gemm.n == n && op->gemm.k == k);
    return;
  }
  g_assert_not_reached();
}

/* h = 1024, 16 heads of 64, tp 8: 2 heads, qkv 3 * 128, fc1 512 wide; 2 sequences: 4,096 tokens,
 * 4 head products. */
static void test_shapes(void) {
  OrrModel model = gpt(24, 1024, 16);
  OrrShard shard = megatron(2, 8, FALSE);
  g_autoptr(GArray) forward = build(layer_forward, &model, &shard);
  g_autoptr(GArray) backward = build(layer_backward, &model, &shard);
  g_autoptr(GArray) head = build(orr_transformer_head_backward, &model, &shard);
  assert_gemm(forward, "qkv", ORR_PASS_FORWARD, 0, 1, 4096, 384, 1024);
  assert_gemm(forward, "attention-scores", ORR_PASS_FORWARD, 0, 4, 2048, 2048, 64);
  assert_gemm(forward, "attention-context", ORR_PASS_FORWARD, 0, 4, 2048, 64, 2048);
  assert_gemm(forward, "projection", ORR_PASS_FORWARD, 0, 1, 4096, 1024, 128);
  assert_gemm(forward, "fc1", ORR_PASS_FORWARD, 0, 1, 4096, 512, 1024);
  assert_gemm(forward, "fc2", ORR_PASS_FORWARD, 0, 1, 4096, 1024, 512);
  assert_gemm(backward, "fc1", ORR_PASS_DGRAD, 0, 1, 4096, 1024, 512);
  assert_gemm(backward, "fc1", ORR_PASS_WGRAD, 0, 1, 512, 1024, 4096);
  assert_gemm(backward, "fc2", ORR_PASS_DGRAD, 0, 1, 4096, 512, 1024);
  assert_gemm(backward, "fc2", ORR_PASS_WGRAD, 0, 1, 1024, 512, 4096);
  assert_gemm(backward, "attention-context", ORR_PASS_DGRAD, 0, 4, 2048, 2048, 64);
  assert_gemm(backward, "attention-context", ORR_PASS_DGRAD, 1, 4, 2048, 64, 2048);
  assert_gemm(backward, "attention-scores", ORR_PASS_DGRAD, 1, 4, 2048, 64, 2048);
  assert_gemm(head, "logits", ORR_PASS_DGRAD, 0, 1, 4096, 1024, 6400);
  assert_gemm(head, "logits", ORR_PASS_WGRAD, 0, 1, 6400, 1024, 4096);
}

/* --- bytes --- */

/* One GPU, fp16, in bytes per element of s b h, then of scores b a s^2:
 * forward   norms 2 * 4, qkv-bias 3 * 4, permute 4, bias-dropout-add 2 * 7, gelu 4 * 4: 54;
 *           softmax 3, dropout 5: 8
 * backward  bias-dropout-add 2 * 5, bias-grad 2 + 2 + 6 + 8, gelu 4 * 6, scale 2 * 4, concat 12,
 *           norms 2 * 10, residual 2 * 6: 104; dropout 5, softmax 4: 9;
 *           main-grad-add 6 bytes of 12 h^2 weights. */
static void test_bytes_of_memory_bound_kernels(void) {
  OrrModel model = gpt(24, 2304, 24);
  OrrShard shard = megatron(16, 1, FALSE);
  double sbh = 2048.0 * 16 * 2304, scores = 16.0 * 24 * 2048 * 2048;
  assert_near(total_bytes(layer_forward, &model, &shard, ORR_OPERATOR_MEMORY, NULL),
              54 * sbh + 8 * scores);
  assert_near(total_bytes(layer_backward, &model, &shard, ORR_OPERATOR_MEMORY, NULL),
              104 * sbh + 9 * scores + 6 * 12 * 2304.0 * 2304);
  shard.dtype = ORR_BF16; /* gradients gather in fp32: reads 2 + 4, writes 4 */
  assert_near(total_bytes(layer_backward, &model, &shard, ORR_OPERATOR_MEMORY, "main-grad-add"),
              10 * 12 * 2304.0 * 2304);
}

/* Sequence parallelism splits norms, dropouts and residuals: 8 + 14 of the forward's bytes by 8,
 * the rest as before. */
static void test_sequence_parallel_splits_elementwise_work(void) {
  OrrModel model = gpt(24, 2304, 24);
  OrrShard tp = megatron(16, 8, FALSE), sp = megatron(16, 8, TRUE);
  double sbh = 2048.0 * 16 * 2304;
  double less = total_bytes(layer_forward, &model, &tp, ORR_OPERATOR_MEMORY, NULL) -
                total_bytes(layer_forward, &model, &sp, ORR_OPERATOR_MEMORY, NULL);
  assert_near(less, 22 * sbh * 7 / 8);
}

/* 38 bytes a logit forward, 14 backward, on 1/8 of 51,200 columns. */
static void test_bytes_of_loss(void) {
  OrrModel model = gpt(24, 2304, 24);
  OrrShard shard = megatron(2, 8, FALSE);
  double logits = 4096.0 * 6400, norm = 4096.0 * 2304;
  assert_near(total_bytes(orr_transformer_head_forward, &model, &shard, ORR_OPERATOR_MEMORY, NULL),
              38 * logits + 4 * norm);
  assert_near(total_bytes(orr_transformer_head_backward, &model, &shard, ORR_OPERATOR_MEMORY,
                          "cross-entropy"),
              14 * logits);
  assert_near(total_bytes(orr_transformer_head_forward, &model, &shard, ORR_OPERATOR_COMM, NULL),
              3 * 4 * 4096);
}

/* fp16: average 4, to fp32 6, unscale 8, norm 4, clip 8, Adam 28, to half 6, zero 2. bf16 has
 * its gradients in fp32 and no loss scale: average 8, norm 4, clip 8, Adam 28, to half 6, zero
 * 4. fp32: no copy either. */
static void test_bytes_of_optimizer(void) {
  static const double per_parameter[] = {[ORR_FP16] = 66, [ORR_BF16] = 58, [ORR_FP32] = 52};
  const OrrDtype dtypes[] = {ORR_FP16, ORR_BF16, ORR_FP32};
  for (guint i = 0; i < G_N_ELEMENTS(dtypes); i++) {
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    double sum = 0;
    orr_transformer_optimizer(1000, dtypes[i], (OrrAdamBytes){4, 4}, operators);
    for (guint j = 0; j < operators->len; j++) {
      sum += g_array_index(operators, OrrOperator, j).bytes;
      g_assert_cmpint(g_array_index(operators, OrrOperator, j).pass, ==, ORR_PASS_OPTIMIZER);
    }
    g_assert_cmpfloat(sum, ==, 1000 * per_parameter[dtypes[i]]);
  }
}

/* bf16 weights that are their own masters, with moments in bf16: Adam reads a gradient of 4 and
 * reads and writes three of 2, 16 bytes instead of 28, and nothing is copied: 58 - 12 - 6. */
static void test_bytes_without_masters(void) {
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  double sum = 0;
  orr_transformer_optimizer(1000, ORR_BF16, (OrrAdamBytes){0, 2}, operators);
  for (guint i = 0; i < operators->len; i++) sum += g_array_index(operators, OrrOperator, i).bytes;
  g_assert_cmpfloat(sum, ==, 1000 * 40);
}

/* Two all-reduces of 2 s b h bytes each way; none where tp = 1, sequence parallel or not. */
static void test_collectives(void) {
  OrrModel model = gpt(24, 1024, 16);
  OrrShard shard = megatron(2, 8, FALSE);
  double one = 2 * 2.0 * 2048 * 1024;
  assert_near(total_bytes(layer_forward, &model, &shard, ORR_OPERATOR_COMM, "tp-all-reduce"),
              2 * one);
  assert_near(total_bytes(layer_backward, &model, &shard, ORR_OPERATOR_COMM, "tp-all-reduce"),
              2 * one);
  shard.sequence_parallel = TRUE;
  assert_near(total_bytes(layer_backward, &model, &shard, ORR_OPERATOR_COMM, "tp-all-gather"),
              4 * one);
  assert_near(total_bytes(layer_backward, &model, &shard, ORR_OPERATOR_COMM, "tp-reduce-scatter"),
              2 * one);
  shard.tp = 1;
  g_assert_cmpfloat(total_bytes(layer_backward, &model, &shard, ORR_OPERATOR_COMM, NULL), ==, 0);
  g_assert_cmpfloat(total_bytes(layer_forward, &model, &shard, ORR_OPERATOR_COMM, NULL), ==, 0);
}

static void test_boundary(void) {
  OrrModel model = gpt(24, 1024, 16);
  OrrShard shard = megatron(2, 8, FALSE);
  g_assert_cmpfloat(orr_transformer_boundary_bytes(&model, &shard), ==, 2 * 2.0 * 2048 * 1024);
  shard.sequence_parallel = TRUE;
  g_assert_cmpfloat(orr_transformer_boundary_bytes(&model, &shard), ==, 2 * 2.0 * 2048 * 1024 / 8);
}

/* --- parameters --- */

static double layer_parameters(const OrrModel *model, gint64 tp) {
  return orr_weights_sum(orr_transformer_layer_weights(model, 0, &(OrrShard){.tp = tp}));
}

static double embedding_parameters(const OrrModel *model, gint64 tp) {
  return orr_weights_sum(orr_transformer_embedding_weights(model, &(OrrShard){.tp = tp}));
}

static double head_parameters(const OrrModel *model, gint64 tp, gboolean shares) {
  return orr_weights_sum(orr_transformer_head_weights(model, &(OrrShard){.tp = tp}, shares));
}

static void test_parameters(void) {
  OrrModel models[] = {gpt(24, 2304, 24), llama_8b};
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    const OrrModel *model = &models[i];
    double sum = model->layers * layer_parameters(model, 1) + embedding_parameters(model, 1) +
                 head_parameters(model, 1, model->tied_embeddings);
    g_assert_cmpfloat(sum, ==, orr_model_parameters(model));
  }
  /* 12 h^2 / 8 weights, column-parallel biases 7 h / 8, row-parallel 2 h and norms 4 h whole. */
  double h = 2304;
  g_assert_cmpfloat(layer_parameters(&models[0], 8), ==, 12 * h * h / 8 + 7 * h / 8 + 6 * h);
  g_assert_cmpfloat(embedding_parameters(&models[0], 8), ==, 6400 * h + 2048 * h);
  g_assert_cmpfloat(head_parameters(&models[0], 8, FALSE), ==, 6400 * h + 2 * h);
  g_assert_cmpfloat(head_parameters(&models[0], 8, TRUE), ==, 2 * h);
}

/* --- what cannot be split --- */

static void assert_complaint(const OrrModel *model, const OrrShard *shard, const char *expected) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace place = {.file = "s.yaml", .line = 3, .column = 1};
  orr_transformer_check(model, shard, place, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_strchomp(findings);
  g_assert_cmpstr(findings, ==, expected);
}

static void test_complaints(void) {
  OrrModel model = gpt(24, 2304, 24);
  OrrShard shard = megatron(1, 8, TRUE);
  assert_complaint(&model, &shard, "");
  shard.tp = 16;
  assert_complaint(
      &model, &shard,
      "s.yaml:3:1: error: 24 attention heads cannot be split over tp = 16: tp must divide them\n"
      "s.yaml:3:1: error: 24 key-value heads cannot be split over tp = 16: tp must divide them");
  shard.tp = 8;
  shard.sequence = 2044;
  assert_complaint(&model, &shard,
                   "s.yaml:3:1: error: 2044 tokens of a sequence (sequence parallelism) cannot be "
                   "split over tp = 8: "
                   "tp must divide them");
  shard.sequence = 4096;
  assert_complaint(
      &model, &shard,
      "s.yaml:3:1: error: sequence 4096 is longer than the model's 2048 learned positions");
  shard = (OrrShard){
      .micro_batch = 1, .sequence = 8192, .tp = 16}; /* 8 key-value heads: each on two ranks */
  assert_complaint(&llama_8b, &shard, "");
  shard.tp = 0;
  assert_complaint(&llama_8b, &shard,
                   "s.yaml:3:1: error: tp 0, micro-batch 1, sequence 8192: each must be 1 or more");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/transformer/order-megatron", test_order_megatron);
  g_test_add_func("/transformer/order-llama", test_order_llama);
  g_test_add_func("/transformer/order-sequence-parallel", test_order_sequence_parallel);
  g_test_add_func("/transformer/order-ends", test_order_ends);
  g_test_add_func("/transformer/flops", test_flops_are_the_models);
  g_test_add_func("/transformer/flops-llama", test_flops_of_llama);
  g_test_add_func("/transformer/shapes", test_shapes);
  g_test_add_func("/transformer/bytes-memory-bound", test_bytes_of_memory_bound_kernels);
  g_test_add_func("/transformer/bytes-sequence-parallel",
                  test_sequence_parallel_splits_elementwise_work);
  g_test_add_func("/transformer/bytes-loss", test_bytes_of_loss);
  g_test_add_func("/transformer/bytes-optimizer", test_bytes_of_optimizer);
  g_test_add_func("/transformer/bytes-optimizer-without-masters", test_bytes_without_masters);
  g_test_add_func("/transformer/collectives", test_collectives);
  g_test_add_func("/transformer/boundary", test_boundary);
  g_test_add_func("/transformer/parameters", test_parameters);
  g_test_add_func("/transformer/complaints", test_complaints);
  return g_test_run();
}
