/* test_transformer_torch.c - layers of plain PyTorch: products, copies, casts, repeated keys. */
#include <math.h>
#include <string.h>

#include "models/transformer.h"

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

static OrrShard shard_of(OrrLayers layers, OrrPrecision precision) {
  const OrrPrecisionRecipe *recipe = orr_precision_recipe(precision);
  return (OrrShard){.micro_batch = 2,
                    .sequence = 8192,
                    .tp = 1,
                    .layers = layers,
                    .attention = ORR_ATTENTION_FLASH_2,
                    .dtype = recipe->storage,
                    .recipe = recipe};
}

typedef struct {
  guint products;
  double flops;
} Sum;

static GArray *layer_of(const OrrShard *shard) {
  GArray *operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&llama_8b, 0, shard, operators);
  orr_transformer_layer_backward(&llama_8b, 0, shard, operators);
  return operators;
}

static Sum sum_of(const OrrShard *shard) {
  g_autoptr(GArray) operators = layer_of(shard);
  Sum sum = {0};
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind != ORR_OPERATOR_GEMM) continue;
    sum.products++;
    sum.flops += op->flops;
  }
  return sum;
}

/* Of all operators named @name. */
static double bytes_of(const OrrShard *shard, const char *name) {
  g_autoptr(GArray) operators = layer_of(shard);
  double bytes = 0;
  for (guint i = 0; i < operators->len; i++)
    if (strcmp(g_array_index(operators, OrrOperator, i).name, name) == 0)
      bytes += g_array_index(operators, OrrOperator, i).bytes;
  return bytes;
}

/* wq, wk, wv, wo, w1, w3, w2 instead of qkv, wo, fc1, fc2; the same FLOPs. Inputs of attention
 * and of the MLP have 3 and 2 gradients: 2 and 1 more reads of 16,384 x 4,096 elements. */
static void test_products(void) {
  const OrrShard plain = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  const OrrShard megatron = shard_of(ORR_LAYERS_MEGATRON, ORR_PRECISION_BF16);
  g_assert_cmpuint(sum_of(&plain).products, ==, 3 * 7);
  g_assert_cmpuint(sum_of(&megatron).products, ==, 3 * 4);
  g_assert_cmpfloat(sum_of(&plain).flops, ==, sum_of(&megatron).flops);
  g_assert_cmpfloat(bytes_of(&plain, "input-grad-sum"), ==, (2 + 1) * 2.0 * 16384 * 4096);
}

/* Two gathers and two scatters in each direction, of 16,384 x 4,096 elements of 2 bytes, each read
 * and written. One sequence is in one piece. */
static void test_copies(void) {
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  const double copies = 4 * 2 * 2.0 * 16384 * 4096;
  shard.tp = 8;
  shard.sequence_parallel = shard.keeps_gathered = TRUE;
  g_assert_cmpfloat(bytes_of(&shard, "gather-copy"), ==, copies);
  g_assert_cmpfloat(bytes_of(&shard, "scatter-copy"), ==, copies);
  shard.micro_batch = 1;
  g_assert_cmpfloat(bytes_of(&shard, "gather-copy"), ==, 0);
}

/* Widths of inputs 3 x 4,096 + 14,336 = 26,624, of results 6,144 + 2 x 4,096 + 28,672 = 43,008;
 * weights 218,103,808. */
static void test_casts(void) {
  const double tokens = 16384, in = 26624, out = 43008, weights = 218103808;
  const OrrShard tensor = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_FP8_CURRENT);
  const OrrShard row = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_FP8_ROWWISE);
  g_assert_cmpfloat(bytes_of(&tensor, "scaled-cast"), ==, tokens * (5 * in + 2 * out));
  g_assert_cmpfloat(bytes_of(&tensor, "turned-cast"), ==,
                    tokens * (3 * in + 4 * out) + 2 * weights);
  g_assert_cmpfloat(bytes_of(&row, "scaled-cast"), ==, 3 * (tokens * (in + out) + weights));
  g_assert_cmpfloat(bytes_of(&row, "turned-cast"), ==, 5 * (tokens * (in + out) + weights));
}

/* Keys and values of 32 heads, not 8, of all 4 ranks' tokens are gathered, forward and backward;
 * their gradients travel in fp32 after each of 4 steps. */
static void test_gathered_ring(void) {
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  shard.cp = 4;
  shard.context = ORR_CONTEXT_GATHERED_RING;
  const double own = 2.0 * 2 * 4096 * 4096; /* 16,384 / 4 tokens, keys and values */
  g_assert_cmpfloat(bytes_of(&shard, "cp-all-gather"), ==, 2 * 4 * own);
  g_assert_cmpfloat(bytes_of(&shard, "cp-send-recv"), ==, 4 * 2 * own);
}

/* 16,384 / 4 tokens of 4,096 elements. Compiled: 2 + 4, 4 + 2, and three merges of 10 or 9;
 * without the compiler three of 38 or 19 + 8. Norms: two of 4,096 x 16,384 elements, forward 36 and
 * backward 68 bytes instead of 4 and 6; the gate 10 and 18 of 14,336. */
static void test_uncompiled(void) {
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  const double norm = 16384.0 * 4096, gate = 16384.0 * 14336;
  g_assert_cmpfloat(bytes_of(&shard, "rms-norm"), ==, 2 * (4 + 6) * norm);
  shard.uncompiled = TRUE;
  g_assert_cmpfloat(bytes_of(&shard, "rms-norm"), ==, 2 * (36 + 68) * norm);
  g_assert_cmpfloat(bytes_of(&shard, "swiglu"), ==, (10 + 18) * gate);
  shard.cp = 4;
  shard.context = ORR_CONTEXT_GATHERED_RING;
  g_assert_cmpfloat(bytes_of(&shard, "attention-merge"), ==, (12 + 3 * 32.5) * norm / 4);
  shard.uncompiled = FALSE;
  g_assert_cmpfloat(bytes_of(&shard, "attention-merge"), ==, (12 + 3 * 9.5) * norm / 4);
}

/* Adapters of projection (4,096 x 4,096) and fc2 (4,096 x 14,336): inputs are cast to fp32 and
 * back, 6 + 6 bytes, dropped out 9, results scaled 4; backward the gradients of inputs and
 * results. The compiler fuses all of it. */
static void test_uncompiled_adapters(void) {
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  char *targets[] = {"projection", "fc2", NULL};
  const OrrLoraFields fields = {.rank = 16, .targets = targets, .dropout = TRUE, .fp32 = TRUE};
  shard.lora = orr_lora_settle(&fields);
  const double in = 16384.0 * (4096 + 14336), out = 16384.0 * 2 * 4096;
  g_assert_cmpfloat(bytes_of(&shard, "lora-cast"), ==, 0);
  shard.uncompiled = TRUE;
  g_assert_cmpfloat(bytes_of(&shard, "lora-cast"), ==, 2 * 12 * in);
  g_assert_cmpfloat(bytes_of(&shard, "lora-dropout"), ==, 2 * 9 * in);
  g_assert_cmpfloat(bytes_of(&shard, "lora-scale"), ==, 2 * 4 * out);
  shard.lora.fp32 = FALSE;
  g_assert_cmpfloat(bytes_of(&shard, "lora-cast"), ==, 0);
  g_assert_cmpfloat(bytes_of(&shard, "lora-dropout"), ==, 2 * 5 * in);
  shard.lora.dropout = FALSE;
  g_assert_cmpfloat(bytes_of(&shard, "lora-dropout"), ==, 0);
}

static double norm_bytes(OrrLayers layers, gboolean uncompiled) {
  OrrModel model = llama_8b;
  OrrShard shard = shard_of(layers, ORR_PRECISION_BF16);
  model.norm = ORR_NORM_LAYERNORM;
  shard.uncompiled = uncompiled;
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 0, &shard, operators);
  orr_transformer_layer_backward(&model, 0, &shard, operators);
  double bytes = 0;
  for (guint i = 0; i < operators->len; i++)
    if (g_str_has_prefix(g_array_index(operators, OrrOperator, i).name, "layer-norm") ||
        g_str_has_prefix(g_array_index(operators, OrrOperator, i).name, "norm-"))
      bytes += g_array_index(operators, OrrOperator, i).bytes;
  return bytes;
}

/* PyTorch's layer_norm is one kernel forward, 4 bytes, and two backward: the gradient of its input,
 * 6, and of its weights, which reads input and gradient again, 4. It does not matter whose modules
 * hold it. */
static void test_uncompiled_layer_norm(void) {
  const double norms = 2 * 16384.0 * 4096;
  for (int layers = ORR_LAYERS_MEGATRON; layers <= ORR_LAYERS_TORCH; layers++) {
    g_assert_cmpfloat(norm_bytes((OrrLayers)layers, FALSE), ==, (4 + 6) * norms);
    g_assert_cmpfloat(norm_bytes((OrrLayers)layers, TRUE), ==, (4 + 6 + 4) * norms);
  }
}

/* A chunked loss makes its gradients in the forward: three products of each chunk. Where no
 * backward follows, the logits are all, and each is read once, 2 bytes. */
static void test_evaluated_chunks(void) {
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  shard.loss = ORR_LOSS_CHUNKED;
  for (int i = 0; i < 2; i++) {
    shard.forward_only = i;
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_head_forward(&llama_8b, &shard, operators);
    double flops = 0, bytes = 0;
    for (guint o = 0; o < operators->len; o++) {
      const OrrOperator *op = &g_array_index(operators, OrrOperator, o);
      if (strcmp(op->name, "logits") == 0) flops += op->flops;
      if (strcmp(op->name, "cross-entropy") == 0) bytes += op->bytes;
    }
    g_assert_cmpfloat(flops, ==, (i ? 1 : 3) * 2.0 * 16384 * 4096 * 128256);
    g_assert_cmpfloat(bytes, ==, (i ? 1 : 3) * 2.0 * 16384 * 128256);
  }
}

/* Bytes per logit of PyTorch's loss: the cast 2 + 4, log-softmax 3 x 4 + 4; backward the zeros 4,
 * 8 + 4, the cast 4 + 2. On logits in their own format no cast, and 2 for each 4. */
static void test_loss_bytes(void) {
  static const struct {
    OrrLoss loss;
    double bytes;
  } cases[] = {{ORR_LOSS_TORCH, 22 + 22}, {ORR_LOSS_TORCH_NARROW, 8 + 8}};
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    shard.loss = cases[i].loss;
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_head_forward(&llama_8b, &shard, operators);
    orr_transformer_head_backward(&llama_8b, &shard, operators);
    double bytes = 0;
    for (guint o = 0; o < operators->len; o++)
      if (strcmp(g_array_index(operators, OrrOperator, o).name, "cross-entropy") == 0)
        bytes += g_array_index(operators, OrrOperator, o).bytes;
    g_assert_cmpfloat(bytes, ==, cases[i].bytes * 16384 * 128256);
  }
}

/* XLA's save_qkv_proj replays attention's last product too: 16,384 tokens x 4,096 over 4,096. */
static void test_replayed_projection(void) {
  OrrShard shard = shard_of(ORR_LAYERS_MEGATRON, ORR_PRECISION_BF16);
  g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(&llama_8b, 0, &shard, ORR_MODULE_PROJECTION, again);
  g_assert_cmpuint(again->len, ==, 1);
  g_assert_cmpfloat(g_array_index(again, OrrOperator, 0).flops, ==, 2.0 * 16384 * 4096 * 4096);
}

/* What a recomputed layer of experts runs again: all up to the experts' first products. Two of
 * three products are 2/3 of the work; nothing follows them, and tokens go to their experts once
 * more but do not come back. */
static void test_recomputed_experts(void) {
  OrrModel mixture = llama_8b;
  mixture.moe = (OrrMoe){.experts = 64, .topk = 8, .ffn = 2048};
  OrrShard shard = shard_of(ORR_LAYERS_TORCH, ORR_PRECISION_BF16);
  shard.ep = 8;
  g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&mixture, 0, &shard, forward);
  orr_transformer_layer_recompute(&mixture, 0, &shard, ORR_MODULE_LAYER, again);
  const OrrOperator *last = &g_array_index(again, OrrOperator, again->len - 1);
  const OrrOperator *whole = &g_array_index(forward, OrrOperator, again->len - 1);
  g_assert_cmpstr(whole->name, ==, "experts");
  g_assert_cmpstr(last->name, ==, "experts");
  g_assert_cmpfloat(fabs(last->flops / whole->flops - 2.0 / 3), <, 1e-9);
  guint to_experts = 0;
  for (guint i = 0; i < again->len; i++)
    to_experts += g_array_index(again, OrrOperator, i).kind == ORR_OPERATOR_COMM;
  g_assert_cmpuint(to_experts, ==, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/transformer-torch/products", test_products);
  g_test_add_func("/transformer-torch/recomputed-experts", test_recomputed_experts);
  g_test_add_func("/transformer-torch/copies", test_copies);
  g_test_add_func("/transformer-torch/casts", test_casts);
  g_test_add_func("/transformer-torch/gathered-ring", test_gathered_ring);
  g_test_add_func("/transformer-torch/uncompiled", test_uncompiled);
  g_test_add_func("/transformer-torch/uncompiled-adapters", test_uncompiled_adapters);
  g_test_add_func("/transformer-torch/uncompiled-layer-norm", test_uncompiled_layer_norm);
  g_test_add_func("/transformer-torch/evaluated-chunks", test_evaluated_chunks);
  g_test_add_func("/transformer-torch/loss-bytes", test_loss_bytes);
  g_test_add_func("/transformer-torch/replayed-projection", test_replayed_projection);
  return g_test_run();
}
