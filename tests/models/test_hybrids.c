/*
 * test_hybrids.c - models whose layers lack a part, differ in width or keep a state: Kimi-K3,
 * Kimi Linear, LongCat-Flash, Step-3, Llama Nemotron Super and RWKV-7. Parameters, caches, states,
 * FLOPs and scans are counted by hand from the published configurations.
 */
#include <math.h>
#include <string.h>

#include "models/inference.h"
#include "tests/models/zoo_fixture.h"

static double parameters_of(const char *name) {
  OrrModel model = zoo(name);
  const double parameters = orr_model_parameters(&model);
  orr_field_clear(&orr_model_table, &model);
  return parameters;
}

static guint kind_at(const OrrModel *model, gint64 layer) {
  return orr_model_layer_kind(model, layer);
}

static double layer_parameters(const OrrModel *model, gint64 layer) {
  return orr_model_layer_parameters(model, kind_at(model, layer));
}

/* --- parameters --- */

/* arXiv 2503.14456 gives the count of D, L and low-rank widths d (decay, rate, value, gate):
 *   2 D V + 4 D + L D (12 D + 2 (dw + da + dv + dg) + 19) - (2 D dv + D)
 * and prints 450,767,872 and 1,527,404,544 for the two models. The zoo has no biases of norms
 * ((2 L + 1) D) and no norm of the embedding (2 D), but a mix of values in the first layer, too. */
static void test_rwkv_parameters(void) {
  static const struct {
    const char *name;
    double published, width, layers, ranks, value;
  } models[] = {
      {"rwkv-7-0.4b", 450767872, 1024, 24, 64 + 64 + 32 + 128, 32},
      {"rwkv-7-1.5b", 1527404544, 2048, 24, 96 + 96 + 64 + 256, 64},
  };
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    const double d = models[i].width, l = models[i].layers, first = 2 * d * models[i].value + d;
    const double by_hand =
        2 * d * 65536 + 4 * d + l * d * (12 * d + 2 * models[i].ranks + 19) - first;
    g_assert_cmpfloat(by_hand, ==, models[i].published);
    g_assert_cmpfloat(parameters_of(models[i].name), ==, by_hand - (2 * l + 1) * d - 2 * d + first);
  }
}

/* The checkpoint's tensors: 49,867,145,216. Of 80 layers 49 have attention (64 heads on 8 of keys);
 * the widths of the feed-forwards add up to 1,642,496. */
static void test_nemotron_parameters(void) {
  const double h = 8192, attention = 2 * h * h + 2 * h * 1024;
  const double by_hand = 2 * 128256 * h + 49 * attention + 3 * h * 1642496 + (80 + 49 + 1) * h;
  OrrModel model = zoo("llama-3.3-nemotron-super-49b");
  g_assert_cmpfloat(by_hand, ==, 49867145216);
  g_assert_cmpfloat(orr_model_parameters(&model), ==, by_hand);
  /* layer 6 is the first without attention, 14,336 wide; layer 42 is as wide as the model's ffn */
  g_assert_cmpfloat(layer_parameters(&model, 6), ==, 3 * h * 14336 + h);
  g_assert_cmpint(orr_model_kind(&model, kind_at(&model, 6)).mixer, ==, ORR_MIXER_NONE);
  gint64 attending = 0;
  for (gint64 i = 0; i < model.layers; i++)
    attending += orr_model_kind(&model, kind_at(&model, i)).mixer == ORR_MIXER_ATTENTION;
  g_assert_cmpint(attending, ==, 49);
  orr_field_clear(&orr_model_table, &model);
}

/* Step-3 (arXiv 2507.19427; config.json): queries of 64 x 256 from 2,048, one head of keys and
 * values of 256; 48 experts and one shared of 5,120 in 56 layers, 18,432 in five. 316 billion, 38
 * of them active (without the input's table). */
static void test_step_parameters(void) {
  const double h = 7168, attention = h * 2048 + 2048. * 16384 + 2 * h * 256 + 16384 * h + 2048;
  const double expert = 3 * h * 5120, ends = 2 * 128815 * h + h;
  const double rest = 61 * (attention + 2 * h) + 5 * 3 * h * 18432 + 56 * h * 48 + ends;
  OrrModel model = zoo("step3");
  g_assert_cmpfloat(orr_model_parameters(&model), ==, rest + 56 * 49 * expert);
  g_assert_cmpfloat(orr_model_active_parameters(&model), ==, rest + 56 * 4 * expert);
  g_assert_cmpfloat_with_epsilon((rest + 56 * 49 * expert) / 316e9, 1, 0.01);
  g_assert_cmpfloat_with_epsilon((rest + 56 * 4 * expert - 128815 * h) / 38e9, 1, 0.01);
  orr_field_clear(&orr_model_table, &model);
}

/* LongCat-Flash (arXiv 2509.01322): 28 layers of two latent attentions, two feed-forwards of 12,288
 * and 512 experts of 2,048. A token chooses 12 of 768 experts, 256 of them empty: "18.6B to
 * 31.3B" are active with none and with 12 of the others, 27 in the mean, the input's table left
 * out. */
static void test_longcat_parameters(void) {
  const double h = 6144, expert = 3 * h * 2048, table = 131072 * h;
  const double attention =
      h * 1536 + 1536. * 64 * 192 + h * 576 + 512. * 64 * 256 + 64 * 128 * h + 1536 + 512;
  const double rest = 56 * (attention + 3 * h * 12288 + 2 * h) + 28 * (h * 768 + h) + table + h;
  OrrModel model = zoo("longcat-flash");
  g_assert_cmpfloat(orr_model_parameters(&model), ==, rest + table + 28 * 512 * expert);
  g_assert_cmpfloat_with_epsilon(rest / 18.6e9, 1, 0.01);
  g_assert_cmpint(model.moe.topk, ==, 12 * 512 / 768);
  g_assert_cmpfloat(orr_model_active_parameters(&model) - table, ==, rest + 28 * 8 * expert);
  g_assert_cmpfloat_with_epsilon((rest + 28 * 8 * expert) / 27e9, 1, 0.01);
  model.moe.topk = 12;
  g_assert_cmpfloat(orr_model_active_parameters(&model) - table, ==, rest + 28 * 12 * expert);
  g_assert_cmpfloat_with_epsilon((rest + 28 * 12 * expert) / 31.3e9, 1, 0.01);
  orr_field_clear(&orr_model_table, &model);
}

/* A layer of Kimi Delta Attention: q, k and v of H heads of 128, how much each head learns, decays
 * through 128, the output gate as a matrix (K3) or through 128 (Linear), the result. Vectors: taps
 * of the convolution, A of each head, the bias of each channel, a norm of 128. */
static double delta_parameters(double h, double heads, gboolean full_gate) {
  const double v = heads * 128, low = h * 128 + 128 * v;
  return 3 * h * v + h * heads + low + (full_gate ? h * v : low) + v * h + 4 * 3 * v + heads + v +
         128;
}

/* Kimi-K3: 69 such layers and 24 of latent attention with an output gate; 896 experts of 3,072 that
 * work in 3,584, two shared ones of 3,072, from the second layer on. 2.8 trillion, 104 billion
 * of them active (without the input's table). */
static void test_kimi_k3_parameters(void) {
  const double h = 7168, v = 96 * 128, latent = 3584, expert = 3 * latent * 3072;
  const double attention =
      h * 1536 + 1536. * 96 * 192 + h * 576 + 512. * 96 * 256 + 2 * h * v + 1536 + 512;
  const double moe = h * 896 + 2 * h * latent + 3 * h * 6144;
  const double rest = 69 * delta_parameters(h, 96, TRUE) + 24 * attention + 3 * h * 33792 +
                      92 * moe + (2 * 93 + 1) * h + 2 * 163840 * h;
  OrrModel model = zoo("kimi-k3");
  g_assert_cmpfloat(orr_model_parameters(&model), ==, rest + 92. * 896 * expert);
  g_assert_cmpfloat(orr_model_active_parameters(&model), ==, rest + 92. * 16 * expert);
  g_assert_cmpfloat_with_epsilon((rest + 92. * 896 * expert) / 2.8e12, 1, 0.01);
  g_assert_cmpfloat_with_epsilon((rest + 92. * 16 * expert - 163840 * h) / 104e9, 1, 0.01);
  orr_field_clear(&orr_model_table, &model);
}

/* Kimi Linear: 39.5 million weights of matrices in a layer with a state. */
static void test_kimi_linear_parameters(void) {
  const double h = 2304;
  OrrModel model = zoo("kimi-linear-48b-a3b");
  g_assert_cmpfloat(layer_parameters(&model, 0), ==,
                    delta_parameters(h, 32, FALSE) + 3 * h * 9216 + 2 * h);
  g_assert_cmpfloat_with_epsilon(delta_parameters(h, 32, FALSE) / 39.5e6, 1, 0.005);
  orr_field_clear(&orr_model_table, &model);
}

/* --- caches and states --- */

/* Elements of a token in all layers: K3's 24 latent layers 576 each, LongCat's 56; Step-3 one head
 * of 256, key and value, in 61; Nemotron 8 of 128 in 49; RWKV-7 none. */
static void test_caches(void) {
  static const struct {
    const char *name;
    double elements;
  } models[] = {{"kimi-k3", 24 * 576},
                {"longcat-flash", 56 * 576},
                {"step3", 61 * 2 * 256},
                {"llama-3.3-nemotron-super-49b", 49 * 2 * 8 * 128},
                {"rwkv-7-1.5b", 0},
                {"rwkv-7-0.4b", 0},
                {"kimi-linear-48b-a3b", 7 * 576}};
  const OrrInferenceShard shard = {
      .tp = 1, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16};
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    OrrModel model = zoo(models[i].name);
    g_test_message("%s", models[i].name);
    g_assert_cmpfloat(orr_model_kv_bytes_per_token(&model, 2), ==, 2 * models[i].elements);
    g_assert_cmpfloat(orr_inference_kv_bytes(&model, &shard, 0, model.layers), ==,
                      2 * models[i].elements);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* What a sequence keeps whatever its length. K3: in 69 layers 96 states of 128 x 128 in fp32 and
 * three tokens of 3 x 12,288 channels in 16 bits. RWKV-7: in 24 layers 32 states of 64 x 64 in fp32
 * and two tokens of 2,048, the mixer's and the feed-forward's. Two ranks have half of the states,
 * and both tokens whole. */
static void test_states(void) {
  const OrrInferenceShard one = {
      .tp = 1, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16};
  OrrInferenceShard two = one;
  two.tp = 2;
  OrrModel model = zoo("kimi-k3");
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &one, 0, 93), ==,
                    69 * (4 * 96. * 128 * 128 + 2 * 3 * 3 * 12288));
  orr_field_clear(&orr_model_table, &model);
  model = zoo("rwkv-7-1.5b");
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &one, 0, 24), ==,
                    24 * (4 * 32 * 64 * 64 + 2 * 2 * 2048));
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &two, 0, 24), ==,
                    24 * (4 * 16 * 64 * 64 + 2 * 2 * 2048));
  orr_field_clear(&orr_model_table, &model);
  model = zoo("llama-3.3-nemotron-super-49b");
  g_assert_cmpfloat(orr_inference_state_bytes(&model, &one, 0, 80), ==, 0);
  orr_field_clear(&orr_model_table, &model);
}

/* The second layer of Kimi-K3, with a state and experts, on 8 ranks in 16 bits. Whole on each: the
 * low-rank projection of decays, the router, both projections of the experts' width, the norms of a
 * head and of the layer; an eighth of all else. */
static void test_weights_of_ranks(void) {
  const double h = 7168, v = 96 * 128, latent = 3584;
  const OrrInferenceShard shard = {
      .tp = 8, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16};
  OrrModel model = zoo("kimi-k3");
  const double whole = h * 128 + h * 896 + 2 * h * latent + 128 + 2 * h;
  const double split = 3 * h * v + h * 96 + 128 * v + h * v + v * h + 3 * h * 6144 +
                       896. * 3 * latent * 3072 + 4 * 3 * v + 96 + v;
  assert_near(orr_inference_weight_bytes(&model, &shard, 1, 1, FALSE, FALSE),
              2 * (whole + split / 8));
  orr_field_clear(&orr_model_table, &model);
}

/* --- FLOPs --- */

static double forward_flops(const OrrModel *model, gint64 layer, double tokens) {
  return orr_model_layer_flops(model, kind_at(model, layer), 1, tokens);
}

/* Of s tokens. RWKV-7: receptance, key, value and result h^2 each, the low-rank pairs 2 h R, the
 * feed-forward 2 h 4 h; a state of k x v is multiplied four times for each token, 8 h k. Nemotron's
 * layer without attention: 3 h f alone. Step-3: its products, and 4 s q of attention to all s. */
static void test_flops(void) {
  const double s = 4096;
  OrrModel model = zoo("rwkv-7-1.5b");
  const double h = 2048;
  assert_near(forward_flops(&model, 3, s),
              s * (2 * (4 * h * h + 2 * h * 512 + 8 * h * h) + 8 * h * 64));
  /* no part of it grows with the length */
  assert_near(forward_flops(&model, 3, 8 * s), 8 * forward_flops(&model, 3, s));
  orr_field_clear(&orr_model_table, &model);
  model = zoo("llama-3.3-nemotron-super-49b");
  assert_near(forward_flops(&model, 6, s), s * 2 * 3 * 8192. * 14336);
  orr_field_clear(&orr_model_table, &model);
  model = zoo("step3");
  const double w = 7168, q = 64 * 256;
  assert_near(forward_flops(&model, 0, s),
              s * (2 * (w * 2048 + 2048 * q + 2 * w * 256 + q * w + 3 * w * 18432) + 4 * s * q));
  orr_field_clear(&orr_model_table, &model);
}

/* --- serving --- */

static double sum_of(const GArray *operators, const char *name, gboolean bytes) {
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (strcmp(op->name, name) == 0) sum += bytes ? op->bytes : op->flops;
  }
  return sum;
}

/* Kimi-K3 on 8 ranks, experts over all: 64 tokens, 8 of each rank, go to 16 experts in the latent
 * width, 3,584, and its projections are whole on each rank; LongCat's router scores 768. */
static void test_experts(void) {
  OrrInferenceShard shard = {
      .tp = 1, .dp = 8, .ep = 8, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16};
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  OrrModel model = zoo("kimi-k3");
  orr_inference_layer(&model, kind_at(&model, 1), &shard, 8, operators);
  assert_near(sum_of(operators, "latent-down", FALSE), 2 * 8 * 7168. * 3584);
  assert_near(sum_of(operators, "latent-up", FALSE), 2 * 8 * 7168. * 3584);
  g_array_set_size(operators, 0);
  orr_inference_experts(&model, kind_at(&model, 1), &shard, 64, operators);
  g_assert_cmpuint(operators->len, ==, 3);
  const OrrOperator *dispatch = &g_array_index(operators, OrrOperator, 0);
  g_assert_cmpfloat(dispatch->bytes, ==, 8. * 16 * 3584 * 2);
  g_assert_cmpint(dispatch[1].moe.hidden, ==, 3584);
  g_assert_cmpint(dispatch[1].moe.inter, ==, 3072);
  orr_field_clear(&orr_model_table, &model);
  model = zoo("longcat-flash");
  g_array_set_size(operators, 0);
  orr_inference_layer(&model, kind_at(&model, 2), &shard, 8, operators);
  assert_near(sum_of(operators, "router", FALSE), 2 * 8 * 6144. * 768);
  g_assert_cmpfloat(sum_of(operators, "mlp-up", FALSE), ==, 0);
  orr_field_clear(&orr_model_table, &model);
}

/* A decode of 10 sequences of RWKV-7 reads and writes their states, 4 bytes each way, and nothing
 * else that a length could change. */
static void test_decode_of_states(void) {
  const OrrInferenceShard shard = {
      .tp = 1, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16};
  OrrModel model = zoo("rwkv-7-1.5b");
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_inference_decodes(&model, 0, &shard, 10, operators);
  assert_near(sum_of(operators, "state-update", TRUE), 10 * 8 * 32. * 64 * 64);
  g_assert_false(orr_inference_attends(&model, 0));
  orr_field_clear(&orr_model_table, &model);
}

/* --- training --- */

/* Widths that ranks gather of each token in a layer's forward under sequence parallelism, in 16
 * bits; and the widths of the gradients that they sum in its backward. */
static void assert_gathers(const char *name, gint64 layer, const char *forward,
                           const char *backward) {
  OrrModel model = zoo(name);
  OrrShard shard = plain(4096);
  shard.tp = 8;
  shard.sequence_parallel = TRUE;
  g_autoptr(GString) gathered = g_string_new(NULL);
  g_autoptr(GString) summed = g_string_new(NULL);
  GString *const texts[] = {gathered, summed};
  for (guint i = 0; i < 2; i++) {
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    (i == 0 ? orr_transformer_layer_forward
            : orr_transformer_layer_backward)(&model, kind_at(&model, layer), &shard, operators);
    const char *wanted = i == 0 ? "tp-all-gather" : "tp-reduce-scatter";
    ORR_EACH(const OrrOperator, op, operators)
      if (strcmp(op->name, wanted) == 0)
        g_string_append_printf(texts[i], " %g", op->bytes / (2 * 4096));
  }
  g_test_message("%s, layer %ld", name, layer);
  g_assert_cmpstr(texts[0]->str, ==, forward);
  g_assert_cmpstr(texts[1]->str, ==, backward);
  orr_field_clear(&orr_model_table, &model);
}

/* Step-3 gathers the compressed queries with keys and values, 2,048 + 2 x 256, and sums the
 * gradients of the latter, which all heads share. RWKV-7 gathers the stream for its products and
 * the 512 inner numbers of its low-rank projections, Kimi-K3 128; each result's gradient is summed.
 * Feed-forwards gather the stream. */
static void test_gathers(void) {
  assert_gathers("step3", 0, " 2560 7168", " 7168 2048 512");
  assert_gathers("rwkv-7-1.5b", 0, " 2048 512 2048", " 2048 128 128 128 128 2048");
  assert_gathers("kimi-k3", 0, " 7168 128 7168", " 7168 128 7168");
  assert_gathers("kimi-linear-48b-a3b", 0, " 2304 256 2304", " 2304 128 128 2304");
}

/* FLOPs and bytes of the forward kernels of a scan. */
static void scan_of(const OrrModel *model, guint kind, gint64 s, double *ret_flops,
                    double *ret_bytes) {
  const OrrShard shard = plain(s);
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(model, kind, &shard, operators);
  *ret_flops = *ret_bytes = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (!g_str_has_prefix(op->name, "scan-")) continue;
    *ret_flops += op->flops;
    *ret_bytes += op->bytes;
  }
}

/* RWKV-7's chunk of c tokens, for each token and head (arXiv 2503.14456; fla, dplr): four kinds of
 * scores, 4 c k; removal keys through the inverse, c k, values through scores and inverse, 2 c v;
 * states: what is removed, what both kinds of keys add, 3 k v; results: from the states k v, from
 * both kinds of scores 2 c v. c, k and v are 64. */
static void test_scan_of_rwkv(void) {
  OrrModel model = zoo("rwkv-7-1.5b");
  double flops, bytes;
  scan_of(&model, 0, 8192, &flops, &bytes);
  assert_near(flops, 8192. * 32 * 2 * (4 + 1 + 2 + 3 + 1 + 2) * 64 * 64);
  orr_field_clear(&orr_model_table, &model);
}

/* Kimi Delta Attention multiplies as the gated delta rule does; its decays are 4 bytes for each
 * channel of a key, read by the four kernels that read keys. */
static void test_scan_of_kimi(void) {
  OrrModel model = zoo("kimi-linear-48b-a3b");
  double flops, bytes, plain_flops, plain_bytes;
  scan_of(&model, 0, 8192, &flops, &bytes);
  model.linear.kind = ORR_LINEAR_GATED_DELTA;
  scan_of(&model, 0, 8192, &plain_flops, &plain_bytes);
  assert_near(flops, plain_flops);
  assert_near(bytes - plain_bytes, 4 * 4 * 8192. * 32 * 128);
  orr_field_clear(&orr_model_table, &model);
}

/* A model of each mixer. */
static const char *const mixers[] = {"deepseek-v3",        "llama-3.1-8b",      "glm-5",
                                     "qwen3-next-80b-a3b", "nemotron-h-8b",     "kimi-k3",
                                     "rwkv-7-1.5b",        "deepseek-v4-flash", "step3"};

/* Bytes of the tensor-parallel group's collectives of kind @comm. */
static double comm_bytes(const GArray *operators, OrrOperatorComm comm) {
  double bytes = 0;
  ORR_EACH(const OrrOperator, op, operators)
    if (op->kind == ORR_OPERATOR_COMM && op->comm.group == ORR_GROUP_TP && op->comm.op == comm)
      bytes += op->bytes;
  return bytes;
}

/* Under sequence parallelism each rank has a gradient of its own for what the forward gathers, so
 * the backward reduces it: at least as many bytes, and more where several matrices read one input.
 * DeepSeek-V3 on 4 ranks: 1,536 + 512 + 64 elements of each token for attention, and 7,168 for the
 * feed-forward. */
static void test_gathered_is_reduced(void) {
  OrrShard shard = plain(4096);
  shard.tp = 4;
  shard.sequence_parallel = shard.keeps_gathered = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(mixers); i++) {
    OrrModel model = zoo(mixers[i]);
    for (guint kind = 0; kind < orr_model_n_layer_kinds(&model); kind++) {
      g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
      g_autoptr(GArray) backward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
      orr_transformer_layer_forward(&model, kind, &shard, forward);
      orr_transformer_layer_backward(&model, kind, &shard, backward);
      const double gathered = comm_bytes(forward, ORR_COMM_ALL_GATHER),
                   reduced = comm_bytes(backward, ORR_COMM_REDUCE_SCATTER);
      g_test_message("%s, kind %u: %g of %g", mixers[i], kind, reduced, gathered);
      g_assert_cmpfloat(reduced, >=, gathered);
      if (i == 0 && kind == 0) assert_near(reduced, 4096.0 * 2 * (1536 + 512 + 64 + 7168));
    }
    orr_field_clear(&orr_model_table, &model);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/hybrids/rwkv-parameters", test_rwkv_parameters);
  g_test_add_func("/hybrids/nemotron-parameters", test_nemotron_parameters);
  g_test_add_func("/hybrids/step-parameters", test_step_parameters);
  g_test_add_func("/hybrids/longcat-parameters", test_longcat_parameters);
  g_test_add_func("/hybrids/kimi-k3-parameters", test_kimi_k3_parameters);
  g_test_add_func("/hybrids/kimi-linear-parameters", test_kimi_linear_parameters);
  g_test_add_func("/hybrids/caches", test_caches);
  g_test_add_func("/hybrids/states", test_states);
  g_test_add_func("/hybrids/weights-of-ranks", test_weights_of_ranks);
  g_test_add_func("/hybrids/flops", test_flops);
  g_test_add_func("/hybrids/experts", test_experts);
  g_test_add_func("/hybrids/decode-of-states", test_decode_of_states);
  g_test_add_func("/hybrids/gathers", test_gathers);
  g_test_add_func("/hybrids/scan-of-rwkv", test_scan_of_rwkv);
  g_test_add_func("/hybrids/scan-of-kimi", test_scan_of_kimi);
  g_test_add_func("/hybrids/gathered-is-reduced", test_gathered_is_reduced);
  return g_test_run();
}
