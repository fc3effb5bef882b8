/* test_recipes.c - precision recipes and adapters: which product runs in what, what is cast,
 * kept, frozen, trained. */
#include <math.h>
#include <string.h>

#include "models/transformer.h"
#include "tests/base/field_lint.h"

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

static OrrShard shard_of(OrrPrecision precision) {
  const OrrPrecisionRecipe *recipe = orr_precision_recipe(precision);
  return (OrrShard){.micro_batch = 1,
                    .sequence = 8192,
                    .tp = 1,
                    .attention = ORR_ATTENTION_FUSED,
                    .dtype = recipe->storage,
                    .recipe = recipe};
}

typedef struct {
  guint gemms[ORR_N_DTYPES], wgrads;
  double casts, gathers, scatters, flops, dequantised;
} Sum;

static Sum sum_of(const OrrShard *shard) {
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  Sum sum = {{0}};
  orr_transformer_layer_forward(&llama_8b, 0, shard, operators);
  orr_transformer_layer_backward(&llama_8b, 0, shard, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == ORR_OPERATOR_GEMM) sum.gemms[op->dtype]++;
    if (op->kind == ORR_OPERATOR_GEMM && op->pass == ORR_PASS_WGRAD) sum.wgrads++;
    if (op->kind == ORR_OPERATOR_COMM && op->comm.op == ORR_COMM_ALL_GATHER)
      sum.gathers += op->bytes;
    if (op->kind == ORR_OPERATOR_COMM && op->comm.op == ORR_COMM_REDUCE_SCATTER)
      sum.scatters += op->bytes;
    if (strcmp(op->name, "cast") == 0) sum.casts += op->bytes;
    if (strcmp(op->name, "dequantise") == 0) sum.dequantised += op->bytes;
    sum.flops += op->flops;
  }
  return sum;
}

/* A layer has 4 linear layers, 12 products. Casts: inputs of QKV, projection, fc1, fc2 are 4096
 * + 4096 + 4096 + 14336 wide, their results' gradients 6144 + 4096 + 28672 + 4096, of 8,192
 * tokens: 69,632 in all. */
static void test_recipes(void) {
  static const struct {
    OrrPrecision precision;
    OrrDtype products;
    double cast_bytes;
  } cases[] = {
      {ORR_PRECISION_BF16, ORR_BF16, 0},
      {ORR_PRECISION_FP8_DELAYED, ORR_FP8, 2 + 1 + 1},
      {ORR_PRECISION_FP8_CURRENT, ORR_FP8, 2 + 2 + 1 + 1},
      {ORR_PRECISION_FP8_BLOCKWISE, ORR_FP8, 2 + 2 * (1 + 4.0 / 128)},
      {ORR_PRECISION_MXFP8, ORR_FP8, 2 + 2 * (1 + 1.0 / 32)},
      {ORR_PRECISION_NVFP4, ORR_FP4, 2 + 2 + 2 * (0.5 + 1.0 / 16)},
      {ORR_PRECISION_FP8_ROWWISE, ORR_FP8, 2 + 1 + 2 + 2 + 1},
  };
  OrrShard bf16 = shard_of(ORR_PRECISION_BF16);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    OrrShard shard = shard_of(cases[i].precision);
    Sum sum = sum_of(&shard);
    g_test_message("%s", orr_precision_words[cases[i].precision]);
    g_assert_cmpuint(sum.gemms[cases[i].products], ==, 12);
    g_assert_cmpfloat(sum.casts, ==, 8192.0 * 69632 * cases[i].cast_bytes);
    g_assert_cmpfloat(sum.flops, ==, sum_of(&bf16).flops);
  }
}

/* Gathers carry 1 byte instead of 2, reduce-scatters 2 as before. */
static void test_gathers(void) {
  OrrShard wide = shard_of(ORR_PRECISION_BF16), narrow = shard_of(ORR_PRECISION_FP8_CURRENT);
  wide.tp = narrow.tp = 8;
  wide.sequence_parallel = narrow.sequence_parallel = TRUE;
  g_assert_cmpfloat(sum_of(&wide).gathers, ==, 2 * sum_of(&narrow).gathers);
  g_assert_cmpfloat(sum_of(&wide).scatters, ==, sum_of(&narrow).scatters);
  g_assert_cmpfloat(sum_of(&wide).gathers, >, 0);
}

/* Weights once a step: 218,103,808 in linear layers; kept as two fp8 copies beside bf16. */
static void test_weights(void) {
  OrrShard shard = shard_of(ORR_PRECISION_FP8_CURRENT), bf16 = shard_of(ORR_PRECISION_BF16);
  OrrWeights weights = orr_transformer_layer_weights(&llama_8b, 0, &shard);
  g_assert_cmpfloat(weights.linear, ==, 218112000 - 2 * 4096);
  g_assert_cmpfloat(orr_transformer_weight_bytes(&shard, weights), ==,
                    2 * 218112000.0 + 2 * weights.linear);
  g_assert_cmpfloat(orr_transformer_weight_bytes(&bf16, weights), ==, 2 * 218112000.0);
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_weight_cast(&bf16, weights, operators);
  g_assert_cmpuint(operators->len, ==, 0);
  orr_transformer_weight_cast(&shard, weights, operators);
  g_assert_cmpfloat(g_array_index(operators, OrrOperator, 0).bytes, ==, 6 * weights.linear);
}

/* What is kept falls: linear layers' inputs are 1 byte, the attention's result is kept twice. By
 * token: norms 2 2 4096; inputs of QKV and fc1 2 4096, of fc2 14336, of the projection 4096 in 1
 * byte; q, k, v, result, gate and up in 2; 4 of log-sum-exp a head. */
static void test_activations(void) {
  OrrShard shard = shard_of(ORR_PRECISION_FP8_CURRENT);
  double token =
      2 * 2 * 4096 + (2 * 4096 + 14336 + 4096) + 2 * (4096 + 2 * 1024 + 4096 + 2 * 14336) + 4 * 32;
  g_assert_cmpfloat(orr_transformer_layer_activation_bytes(&llama_8b, 0, &shard, 0), ==,
                    8192 * token);
}

/* The word that serving has for it is the recipe of per-tensor scales, whatever else it says. */
static void test_plain_fp8(void) {
  g_assert_cmpstr(orr_precision_words[ORR_PRECISION_FP8], ==, "fp8");
  g_assert_true(orr_precision_recipe(ORR_PRECISION_FP8) ==
                orr_precision_recipe(ORR_PRECISION_FP8_CURRENT));
}

/* --- adapters --- */

static OrrShard lora_of(gint64 rank, guint targets, gboolean quantised) {
  OrrShard shard = shard_of(ORR_PRECISION_BF16);
  shard.lora = (OrrLora){rank, targets, quantised};
  return shard;
}

/* Rank 16 on QKV and projection of Llama 3 8B: 16 (4096 + 6144) + 16 (4096 + 4096) parameters a
 * layer, 294,912; all else is frozen. Products by weight belong to the adapters' four matrices. */
static void test_lora(void) {
  OrrShard shard = lora_of(16, ORR_LORA_QKV | ORR_LORA_PROJECTION, FALSE);
  OrrWeights weights = orr_transformer_layer_weights(&llama_8b, 0, &shard);
  g_assert_cmpfloat(weights.dense, ==, 294912);
  g_assert_cmpfloat(weights.frozen, ==, 218112000);
  g_assert_cmpfloat(weights.experts, ==, 0);
  g_assert_cmpuint(sum_of(&shard).wgrads, ==, 4);
  g_assert_cmpfloat(orr_transformer_embedding_weights(&llama_8b, &shard).dense, ==, 0);
  /* FLOPs: forward and backward by data of all, 4 a token and frozen parameter; 6 of an
   * adapter's; attention 3.5. */
  OrrShard full = shard_of(ORR_PRECISION_BF16);
  /* What the model's FLOPs lose to it, less the embedding's look-up and the output layer: the
   * layers' share. */
  double layers = orr_model_matrix_flops(&llama_8b, 1, 8192) - 2 * 8192.0 * 4096 * 128256;
  g_assert_cmpfloat_with_epsilon(layers, 32 * 2 * 8192.0 * (218112000 - 2 * 4096), 1e-9 * layers);
  double saved = 2 * 8192.0 * (218112000 - 2 * 4096) - 6 * 8192.0 * 294912;
  g_assert_cmpfloat_with_epsilon(sum_of(&full).flops - sum_of(&shard).flops, saved, 1e-9 * saved);
}

static void test_all_targets(void) {
  OrrShard shard = lora_of(8, ORR_LORA_ALL, FALSE);
  double widths = (4096 + 6144) + (4096 + 4096) + (4096 + 28672) + (14336 + 4096);
  g_assert_cmpfloat(orr_transformer_layer_weights(&llama_8b, 0, &shard).dense, ==, 8 * widths);
  g_assert_cmpuint(sum_of(&shard).wgrads, ==, 8);
}

/* Under modules that are not joined each projection has an A of its own: PEFT prints 41,943,040
 * trainable parameters for rank 16 on all seven of Llama 3 8B's 32 layers, and 6,815,744 for q_proj
 * and v_proj. Joined, q and v alone have the same two. */
static void test_parts(void) {
  OrrShard all = lora_of(16, ORR_LORA_ALL, FALSE);
  OrrShard some = lora_of(16, ORR_LORA_Q | ORR_LORA_V, FALSE);
  g_assert_cmpfloat(32 * orr_transformer_layer_weights(&llama_8b, 0, &some).dense, ==, 6815744);
  all.layers = some.layers = ORR_LAYERS_TORCH;
  g_assert_cmpfloat(32 * orr_transformer_layer_weights(&llama_8b, 0, &all).dense, ==, 41943040);
  g_assert_cmpfloat(32 * orr_transformer_layer_weights(&llama_8b, 0, &some).dense, ==, 6815744);
  g_assert_cmpuint(sum_of(&all).wgrads, ==, 14);
  g_assert_cmpuint(sum_of(&some).wgrads, ==, 4);
}

/* NF4: 0.5 + 1/64 + 4/16384 bytes a parameter; made 16-bit before both products of each linear
 * layer. */
static void test_qlora(void) {
  OrrShard shard = lora_of(16, ORR_LORA_QKV, TRUE);
  OrrWeights weights = orr_transformer_layer_weights(&llama_8b, 0, &shard);
  double linear = 218112000 - 2 * 4096, nf4 = 0.5 + 1.0 / 64 + 4.0 / 16384;
  g_assert_cmpfloat_with_epsilon(orr_transformer_weight_bytes(&shard, weights),
                                 linear * nf4 + 2 * (2 * 4096 + weights.dense), 1);
  g_assert_cmpfloat_with_epsilon(sum_of(&shard).dequantised, 2 * linear * (nf4 + 2), 10);
}

/* Frozen linear layers are two narrow copies of 1 byte and nothing in 16 bits, cast when they
 * were loaded. The recipes that Megatron-Bridge runs on 16-bit weights keep those too, beside
 * copies of 1 + 4/128 bytes. */
static void test_frozen_narrow(void) {
  OrrShard shard = shard_of(ORR_PRECISION_FP8_CURRENT);
  shard.lora = (OrrLora){16, ORR_LORA_QKV | ORR_LORA_PROJECTION, FALSE};
  OrrWeights weights = orr_transformer_layer_weights(&llama_8b, 0, &shard);
  double linear = 218112000 - 2 * 4096, wide = 2 * (2 * 4096 + 294912);
  g_assert_true(orr_shard_is_frozen_narrow(&shard));
  g_assert_cmpfloat(orr_transformer_weight_bytes(&shard, weights), ==, wide + 2 * linear);
  shard.recipe = orr_precision_recipe(ORR_PRECISION_FP8_BLOCKWISE);
  g_assert_false(orr_shard_is_frozen_narrow(&shard));
  g_assert_cmpfloat(orr_transformer_weight_bytes(&shard, weights), ==,
                    wide + (2 + 2 * (1 + 4.0 / 128)) * linear);
}

/* Nothing is kept for layers that have no gradient by weight and no adapter. */
static void test_lora_keeps_less(void) {
  OrrShard some = lora_of(16, ORR_LORA_QKV, FALSE), all = lora_of(16, ORR_LORA_ALL, FALSE);
  OrrShard full = shard_of(ORR_PRECISION_BF16);
  double kept_some = orr_transformer_layer_activation_bytes(&llama_8b, 0, &some, 0);
  double kept_all = orr_transformer_layer_activation_bytes(&llama_8b, 0, &all, 0);
  double kept = orr_transformer_layer_activation_bytes(&llama_8b, 0, &full, 0);
  g_assert_cmpfloat(kept - kept_some, ==,
                    8192.0 * (2 * (4096 + 14336) - 2 * 16)); /* inputs of fc1 and fc2; + Ax */
  g_assert_cmpfloat(kept_all - kept, ==, 8192.0 * 4 * 2 * 16);
}

static void test_lora_section(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace place = {.file = "s.yaml", .line = 1, .column = 1};
  char *words[] = {"qkv", "fc2", NULL}, *wrong[] = {"qvk", NULL}, *none[] = {NULL};
  OrrLora lora = orr_lora_settle(&(OrrLoraFields){16, words, FALSE});
  orr_lora_check(&(OrrLoraFields){4096, words, FALSE}, 4096, place, diags);
  g_assert_cmpuint(lora.targets, ==, ORR_LORA_QKV | ORR_LORA_FC2);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
  orr_lora_check(&(OrrLoraFields){16, wrong, FALSE}, 4096, place, diags);
  orr_lora_check(&(OrrLoraFields){16, none, FALSE}, 4096, place, diags);
  orr_lora_check(&(OrrLoraFields){0, words, TRUE}, 4096, place, diags);
  orr_lora_check(&(OrrLoraFields){4097, words, FALSE}, 4096, place, diags);
  g_autofree char *text = orr_diags_text(diags);
  g_assert_nonnull(strstr(
      text,
      "lora.targets: unknown 'qvk': did you mean 'qkv'? (allowed: qkv, projection, fc1, fc2, q, k, "
      "v, gate, up)"));
  g_assert_nonnull(strstr(text, "lora.rank (4097) is above the model's hidden size (4096)"));
  g_assert_nonnull(strstr(text, "lora.rank is 16, but lora.targets names no layer"));
  g_assert_nonnull(strstr(text, "lora.quantised needs adapters"));
  g_autofree char *lint = orr_field_lint(&orr_lora_table);
  g_assert_null(lint);
}

/* Padding for products of fp8 copies 16,384 rows of 4096 elements before and after the experts, in
 * both directions; for 16-bit products nothing. */
static void test_padding(void) {
  OrrModel model = llama_8b;
  model.moe = (OrrMoe){.experts = 8, .topk = 2, .ffn = 14336};
  for (int narrow = 0; narrow < 2; narrow++) {
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    OrrShard shard = shard_of(narrow ? ORR_PRECISION_FP8_BLOCKWISE : ORR_PRECISION_BF16);
    double bytes = 0;
    shard.padding_apart = TRUE;
    orr_transformer_layer_forward(&model, 0, &shard, operators);
    orr_transformer_layer_backward(&model, 0, &shard, operators);
    for (guint i = 0; i < operators->len; i++)
      if (g_str_has_suffix(g_array_index(operators, OrrOperator, i).name, "pad"))
        bytes += g_array_index(operators, OrrOperator, i).bytes;
    g_assert_cmpfloat(bytes, ==, narrow * 8192.0 * 2 * 4096 * 2 * 8);
  }
}

static void test_words(void) {
  for (int p = 0; p < ORR_N_PRECISIONS; p++) {
    g_assert_nonnull(orr_precision_words[p]);
    g_assert_nonnull(orr_precision_recipe((OrrPrecision)p)->sentence);
  }
  g_assert_null(orr_precision_words[ORR_N_PRECISIONS]);
}

/* A frozen tower has its forward alone: no backward, nothing kept or replayed, no weights that are
 * trained. All weights are still there, and the language model's layers are as before. */
static void test_frozen_encoder(void) {
  OrrModel model = llama_8b;
  model.encoder = (OrrEncoder){.layers = 32,
                               .hidden = 1280,
                               .heads = 16,
                               .ffn = 5120,
                               .patch = 14,
                               .image = 448,
                               .images = 8,
                               .merge = 2};
  const guint tower = (guint)orr_model_encoder_kind(&model);
  const OrrShard trained = shard_of(ORR_PRECISION_BF16);
  OrrShard frozen = trained;
  frozen.frozen_encoder = TRUE;
  g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) theirs = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_backward(&model, tower, &frozen, own);
  orr_transformer_layer_recompute(&model, tower, &frozen, ORR_MODULE_LAYER, own);
  g_assert_cmpuint(own->len, ==, 0);
  orr_transformer_layer_backward(&model, tower, &trained, theirs);
  g_assert_cmpuint(theirs->len, >, 0);
  g_array_set_size(theirs, 0);
  orr_transformer_layer_forward(&model, tower, &frozen, own);
  orr_transformer_layer_forward(&model, tower, &trained, theirs);
  g_assert_cmpuint(own->len, ==, theirs->len);
  for (guint kind = 0; kind <= tower; kind++) {
    const OrrWeights weights = orr_transformer_layer_weights(&model, kind, &frozen),
                     all = orr_transformer_layer_weights(&model, kind, &trained);
    const double kept = orr_transformer_layer_activation_bytes(&model, kind, &frozen, 0);
    g_assert_cmpfloat(weights.dense, ==, kind == tower ? 0 : all.dense);
    g_assert_cmpfloat(weights.frozen, ==, kind == tower ? all.dense : 0);
    g_assert_cmpfloat(
        kept, ==,
        kind == tower ? 0 : orr_transformer_layer_activation_bytes(&model, kind, &trained, 0));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/recipes/words", test_words);
  g_test_add_func("/recipes/padding", test_padding);
  g_test_add_func("/recipes/precision", test_recipes);
  g_test_add_func("/recipes/gathers", test_gathers);
  g_test_add_func("/recipes/weights", test_weights);
  g_test_add_func("/recipes/activations", test_activations);
  g_test_add_func("/recipes/lora", test_lora);
  g_test_add_func("/recipes/frozen-encoder", test_frozen_encoder);
  g_test_add_func("/recipes/lora-all-targets", test_all_targets);
  g_test_add_func("/recipes/plain-fp8", test_plain_fp8);
  g_test_add_func("/recipes/frozen-narrow", test_frozen_narrow);
  g_test_add_func("/recipes/lora-parts", test_parts);
  g_test_add_func("/recipes/qlora", test_qlora);
  g_test_add_func("/recipes/lora-keeps-less", test_lora_keeps_less);
  g_test_add_func("/recipes/lora-section", test_lora_section);
  return g_test_run();
}
