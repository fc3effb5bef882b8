/* test_transformer_memory.c - activation bytes against Korthikanti et al. 2022 (arXiv
 * 2205.05198). */
#include <math.h>

#include "models/transformer.h"

typedef struct {
  gint64 layers, hidden, heads, pp, micro_batch, chunks;
  double fig1_baseline_gib, fig1_present_gib; /* TP alone, nothing recomputed; SP and selective */
  double fig7[4]; /* per cent of TP alone: SP, selective, SP and selective, full */
} Published;

/* Figures 1 and 7; numbers as in Calculon's calculon/llm/validation.py. TP = 8, s = 2048. */
static const Published published[] = {
    {48, 6144, 64, 1, 4, 1, 59.25, 9.5625, {66.84, 49.42, 16.18, 7.64}},
    {96, 12288, 96, 8, 1, 3, 66.84375, 12.3515625, {62.04, 56.53, 18.49, 8.71}},
    {105, 20480, 128, 35, 1, 3, 114.0234375, 23.076171875, {58.31, 62.04, 20.27, 9.42}},
    {128, 25600, 160, 64, 1, 1, 131.25, 26.5625, {58.31, 62.04, 20.27, 9.42}},
};

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

static void assert_near(double value, double expected) {
  g_assert_cmpfloat_with_epsilon(value, expected, 1e-12 * fabs(expected));
}

/* Table 2: sbh (34 + 5 a s / h), sbh (10 + 24 / t + 5 a s / (h t)), sbh / t (34 + 5 a s / h),
 * sbh (10 + 24 / t), sbh 34 / t, sbh 2. */
static void test_formulas(void) {
  double s = 2048, b = 4, h = 6144, a = 64, t = 8, sbh = s * b * h, core = 5 * a * s / h;
  OrrModel model = gpt(48, 6144, 64);
  OrrShard one = megatron(4, 1, FALSE), tp = megatron(4, 8, FALSE), sp = megatron(4, 8, TRUE);
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &one, 0), sbh * (34 + core));
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &tp, 0),
              sbh * (10 + 24 / t + core / t));
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &sp, 0), sbh / t * (34 + core));
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &tp, ORR_MODULE_CORE_ATTN),
              sbh * (10 + 24 / t));
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &sp, ORR_MODULE_CORE_ATTN),
              sbh * 34 / t);
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &tp, ORR_MODULE_LAYER), sbh * 2);
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &sp, ORR_MODULE_LAYER),
              sbh * 2 / t);
}

/* The first stage holds as much as L layers, with interleaving L (1 + (p - 1) / (p m)): section
 * 4.2.3. */
static void test_figure_1(void) {
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    OrrModel model = gpt(p->layers, p->hidden, p->heads);
    OrrShard tp = megatron(p->micro_batch, 8, FALSE), sp = megatron(p->micro_batch, 8, TRUE);
    double held =
        p->layers * (p->chunks > 1 ? 1 + (p->pp - 1.0) / (p->pp * p->chunks) : 1) / 1073741824.0;
    assert_near(held * orr_transformer_layer_activation_bytes(&model, 0, &tp, 0),
                p->fig1_baseline_gib);
    assert_near(held * orr_transformer_layer_activation_bytes(&model, 0, &sp, ORR_MODULE_CORE_ATTN),
                p->fig1_present_gib);
  }
}

/* The percentages were read off a figure: within 0.15 points of the formulas (22B full: 2 /
 * 26.33 = 7.59, not 7.64). */
static void test_figure_7(void) {
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    OrrModel model = gpt(published[i].layers, published[i].hidden, published[i].heads);
    OrrShard tp = megatron(published[i].micro_batch, 8, FALSE),
             sp = megatron(published[i].micro_batch, 8, TRUE);
    double whole = orr_transformer_layer_activation_bytes(&model, 0, &tp, 0);
    double shares[] = {orr_transformer_layer_activation_bytes(&model, 0, &sp, 0),
                       orr_transformer_layer_activation_bytes(&model, 0, &tp, ORR_MODULE_CORE_ATTN),
                       orr_transformer_layer_activation_bytes(&model, 0, &sp, ORR_MODULE_CORE_ATTN),
                       orr_transformer_layer_activation_bytes(&model, 0, &tp, ORR_MODULE_LAYER)};
    for (guint j = 0; j < G_N_ELEMENTS(shares); j++)
      g_assert_cmpfloat_with_epsilon(100 * shares[j] / whole, published[i].fig7[j], 0.15);
  }
}

/* Section 4.3: dropout mask s b h / t; 4 s b h / t (1 + v / h) for final norm, output layer and
 * loss. */
static void test_ends(void) {
  OrrModel model = gpt(48, 6144, 64);
  OrrShard sp = megatron(4, 8, TRUE);
  double sbh = 2048.0 * 4 * 6144;
  assert_near(orr_transformer_embedding_activation_bytes(&model, &sp), sbh / 8);
  assert_near(orr_transformer_head_activation_bytes(&model, &sp),
              4 * sbh / 8 * (1 + 51200.0 / 6144));
  sp.dropout = FALSE;
  g_assert_cmpfloat(orr_transformer_embedding_activation_bytes(&model, &sp), ==, 0);
}

/* Loss and output layer together keep no logits. 51,200 columns of a model of 6,144 are 9 parts, so
 * the chunks of 8,192 tokens are of 1,024; the backward holds one chunk's logits, or the gradient
 * of the input. */
static void test_linear_losses(void) {
  OrrModel model = gpt(48, 6144, 64);
  OrrShard shard = megatron(4, 1, FALSE);
  const double tokens = 4.0 * 2048, ends = 2 * 2 * tokens * 6144;
  shard.loss = ORR_LOSS_CHUNKED;
  assert_near(orr_transformer_head_activation_bytes(&model, &shard), ends);
  assert_near(orr_transformer_head_gradient_bytes(&model, &shard), 2 * 1024.0 * 51200);
  shard.loss = ORR_LOSS_CUT;
  assert_near(orr_transformer_head_activation_bytes(&model, &shard), ends + 4 * tokens);
  assert_near(orr_transformer_head_gradient_bytes(&model, &shard), 2 * tokens * 6144);
  g_assert_cmpfloat(orr_transformer_logits_bytes(&model, &shard), ==, 0);
}

/* PyTorch's loss keeps the log-softmax, and its backward holds two numbers per logit: 4 bytes each,
 * or 2 where the logits are not widened. */
static void test_torch_losses(void) {
  OrrModel model = gpt(48, 6144, 64);
  OrrShard shard = megatron(4, 1, FALSE);
  const double tokens = 4.0 * 2048, ends = 2 * 2 * tokens * 6144, logits = tokens * 51200;
  shard.loss = ORR_LOSS_TORCH;
  assert_near(orr_transformer_head_activation_bytes(&model, &shard), ends + 4 * logits);
  assert_near(orr_transformer_head_gradient_bytes(&model, &shard), 2 * 4 * logits);
  shard.loss = ORR_LOSS_TORCH_NARROW;
  assert_near(orr_transformer_head_activation_bytes(&model, &shard), ends + 2 * logits);
  assert_near(orr_transformer_head_gradient_bytes(&model, &shard), 2 * 2 * logits);
}

/* Llama 3 8B, bf16, Flash, no dropout, one token's elements: residual stream 4 * 4096; q, k, v,
 * context 2 * 4096 + 2 * 1024; gate, up and their product 3 * 14336; and 4 bytes of log-sum-exp
 * for each of 32 heads. */
static void test_llama(void) {
  OrrModel model = {.layers = 32,
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
  OrrShard shard = {.micro_batch = 1,
                    .sequence = 8192,
                    .tp = 1,
                    .attention = ORR_ATTENTION_FUSED,
                    .dtype = ORR_BF16};
  double token = 2 * (4 * 4096 + 2 * 4096 + 2 * 1024 + 3 * 14336) + 4 * 32;
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &shard, 0), 8192 * token);
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &shard, ORR_MODULE_LAYER),
              8192 * 2 * 4096);
}

/* torchtitan's selective op of Llama 3 8B, one token's elements: input 4096; q and v of QKV 4096
 * + 1024; context 4096 with 4 bytes for each of 32 heads; w1 14336 and w2 4096. Over 8
 * tensor-parallel ranks with sequence parallelism: input and two reduce-scatters an eighth, w2's
 * partial sums whole, the rest an eighth. Replayed: wk, wo and w3, no attention. */
static void test_operators(void) {
  OrrModel model = {.layers = 32,
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
  OrrShard shard = {.micro_batch = 1,
                    .sequence = 8192,
                    .tp = 1,
                    .attention = ORR_ATTENTION_FUSED,
                    .dtype = ORR_BF16};
  double parts = 4096 + 1024 + 4096 + 14336;
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &shard, ORR_MODULE_OPERATORS),
              8192 * (2 * (4096 + parts + 4096) + 4.0 * 32));
  g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(&model, 0, &shard, ORR_MODULE_OPERATORS, again);
  double flops = 0;
  for (guint i = 0; i < again->len; i++) flops += g_array_index(again, OrrOperator, i).flops;
  assert_near(flops, 2.0 * 8192 * 4096 * (1024 + 4096 + 14336));
  shard.tp = 8;
  shard.sequence_parallel = TRUE;
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &shard, ORR_MODULE_OPERATORS),
              8192 * (2 * (3 * 4096 / 8.0 + parts / 8 + 4096) + 4.0 * 32 / 8));
}

/* Kept gathered, the inputs of QKV and of fc1 are whole: 2 s b h (1 - 1/t) more each, and no
 * gather in the backward. */
static void test_keep_gathered(void) {
  double s = 2048, b = 4, h = 6144, t = 8;
  OrrModel model = gpt(48, 6144, 64);
  OrrShard again = megatron(4, 8, TRUE), kept = again;
  kept.keeps_gathered = TRUE;
  assert_near(orr_transformer_layer_activation_bytes(&model, 0, &kept, 0) -
                  orr_transformer_layer_activation_bytes(&model, 0, &again, 0),
              2 * 2 * s * b * h * (1 - 1 / t));
  g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) after = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_backward(&model, 0, &again, before);
  orr_transformer_layer_backward(&model, 0, &kept, after);
  g_assert_cmpuint(before->len, ==, after->len + 2);
}

/* The most that a product of GPT's backward by data touches, elements a token: fc1's or fc2's, 4
 * h / t + h. And the residual stream's gradient, h / t. */
static void test_gradients(void) {
  double sbh = 2048.0 * 4 * 6144;
  OrrModel model = gpt(48, 6144, 64);
  OrrShard sp = megatron(4, 8, TRUE);
  sp.attention = ORR_ATTENTION_FUSED;
  assert_near(orr_transformer_layer_gradient_bytes(&model, 0, &sp),
              2 * sbh * (4 / 8.0 + 1 + 1 / 8.0));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/transformer-memory/formulas", test_formulas);
  g_test_add_func("/transformer-memory/figure-1", test_figure_1);
  g_test_add_func("/transformer-memory/figure-7", test_figure_7);
  g_test_add_func("/transformer-memory/ends", test_ends);
  g_test_add_func("/transformer-memory/linear-losses", test_linear_losses);
  g_test_add_func("/transformer-memory/torch-losses", test_torch_losses);
  g_test_add_func("/transformer-memory/llama", test_llama);
  g_test_add_func("/transformer-memory/operators", test_operators);
  g_test_add_func("/transformer-memory/keep-gathered", test_keep_gathered);
  g_test_add_func("/transformer-memory/gradients", test_gradients);
  return g_test_run();
}
