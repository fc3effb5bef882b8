/* test_layers.c - kinds of layers: what their operators add up to, in which order, over which
 * groups. */
#include <math.h>
#include <string.h>

#include "models/transformer.h"
#include "models/inference.h"
#include "tests/models/zoo_fixture.h"

/* --- sums of operators --- */

static const char *const whole[] = {"deepseek-v3",
                                    "deepseek-v2-lite",
                                    "mixtral-8x7b",
                                    "qwen3-8b",
                                    "gpt-oss-20b",
                                    "grok-1",
                                    "nemotron-h-8b",
                                    "gemma-3-27b",
                                    "glm-5",
                                    "qwen3-next-80b-a3b",
                                    "llama-4-maverick",
                                    "minimax-text-01",
                                    "gpt-j-6b",
                                    "qwen2-vl-7b",
                                    "llava-1.5-7b",
                                    "nemotron-3-nano-30b-a3b",
                                    "bloom-176b",
                                    "palm-540b",
                                    "qwen2.5-7b",
                                    "minimax-m2",
                                    "kimi-k3",
                                    "kimi-linear-48b-a3b",
                                    "llama-3.3-nemotron-super-49b",
                                    "longcat-flash",
                                    "step3",
                                    "rwkv-7-1.5b",
                                    "deepseek-v4-flash"};

/* Every parameter is on some rank: with all groups of one, layers and ends are
 * orr_model_parameters. */
static void test_weights_are_the_models(void) {
  for (guint i = 0; i < G_N_ELEMENTS(whole); i++) {
    OrrModel model = zoo(whole[i]);
    OrrShard shard = plain(4096);
    double sum =
        orr_weights_sum(orr_transformer_embedding_weights(&model, &shard)) +
        orr_weights_sum(orr_transformer_head_weights(&model, &shard, model.tied_embeddings));
    for (guint kind = 0; kind < orr_model_n_layer_kinds(&model); kind++)
      sum += orr_model_kind_layers(&model, kind) *
             orr_weights_sum(orr_transformer_layer_weights(&model, kind, &shard));
    g_test_message("%s: %.0f and %.0f", whole[i], sum, orr_model_parameters(&model));
    assert_near(sum, orr_model_parameters(&model));
    if (model.mtp_layers)
      assert_near(orr_weights_sum(orr_transformer_mtp_weights(&model, &shard)) * model.mtp_layers,
                  orr_model_mtp_parameters(&model));
    orr_field_clear(&orr_model_table, &model);
  }
}

/* A forward's products are the model's formula but for what that counts otherwise: fused
 * attention does the causal half (an encoder's all), scans are Megatron's estimate. What is left
 * are the matrices: 2 a token and parameter of the layer, the same for every kind, whatever the
 * split. */
static void test_flops_are_the_models(void) {
  const double tokens = 32768;
  for (guint i = 0; i < G_N_ELEMENTS(whole); i++) {
    OrrModel model = zoo(whole[i]);
    OrrShard shard = plain((gint64)tokens);
    for (guint kind = 0; kind < orr_model_n_layer_kinds(&model); kind++) {
      g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
      orr_transformer_layer_forward(&model, kind, &shard, operators);
      double matrices = 0;
      for (guint j = 0; j < operators->len; j++) {
        const OrrOperator *op = &g_array_index(operators, OrrOperator, j);
        if (op->kind == ORR_OPERATOR_ATTENTION || g_str_has_prefix(op->name, "scan-") ||
            strcmp(op->name, "index-scores") == 0)
          continue;
        matrices += op->flops;
      }
      double formula = orr_model_layer_flops(&model, kind, 1, tokens) -
                       orr_model_core_flops(&model, kind, 1, tokens);
      if (model.moe.shared_gate && orr_model_kind(&model, kind).feed == ORR_FEED_MOE)
        formula -= 2 * tokens * model.hidden; /* a gate of one column is not a product of its own */
      assert_near(matrices, formula);
    }
    orr_field_clear(&orr_model_table, &model);
  }
}

/* Fused attention over s: half of the formula's core; a window of W the pairs W s - W^2 / 2
 * rounded up to whole pieces; an encoder all of it. */
static void test_flops_of_attention(void) {
  static const struct {
    const char *name;
    guint kind;
    double share;
  } cases[] = {{"deepseek-v3", 1, 0.5}, {"qwen3-8b", 0, 0.5},    {"gemma-3-27b", 0, 0.5},
               {"gemma-3-27b", 1, 0.5}, {"gpt-oss-20b", 0, 0.5}, {"llama-4-maverick", 0, 0.5},
               {"qwen2-vl-7b", 1, 1},   {"llava-1.5-7b", 1, 1}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    OrrModel model = zoo(cases[i].name);
    OrrShard shard = plain(32768);
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_layer_recompute(&model, cases[i].kind, &shard, ORR_MODULE_CORE_ATTN, operators);
    g_assert_cmpuint(operators->len, ==, 1);
    assert_near(flops_of(operators),
                cases[i].share * orr_model_core_flops(&model, cases[i].kind, 1, 32768));
    orr_field_clear(&orr_model_table, &model);
  }
}

/* Splitting experts over ep and etp, and tensors over tp, splits work and weights of a layer
 * exactly. */
static void test_split(void) {
  OrrModel model = zoo("mixtral-8x7b");
  OrrShard one = plain(4096), split = plain(4096);
  split.tp = 2;
  split.sequence_parallel = TRUE;
  split.ep = 4;
  split.etp = 2;
  g_autoptr(GArray) whole_ops = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) split_ops = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 0, &one, whole_ops);
  orr_transformer_layer_forward(&model, 0, &split, split_ops);
  /* 8 ranks (ep * etp) route 4096 / 2 tokens each; the group's tokens are 4 times one rank's at
   * tp 1. */
  assert_near(flops_of(split_ops) * 2, flops_of(whole_ops));
  OrrWeights all = orr_transformer_layer_weights(&model, 0, &one);
  OrrWeights part = orr_transformer_layer_weights(&model, 0, &split);
  assert_near(part.experts * 8, all.experts);
  g_assert_cmpfloat(all.experts, ==, 8 * 3 * 4096.0 * 14336);
  g_assert_cmpfloat(part.dense, ==,
                    (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096) / 2 + 8 * 4096 + 2 * 4096);
  orr_field_clear(&orr_model_table, &model);
}

/* --- order --- */

typedef void (*Build)(const OrrModel *model, guint kind, const OrrShard *shard, GArray *operators);

/* Names in order, a '*' after backward-by-weight ones, the group of collectives in front. */
static gboolean has_operator(const GArray *operators, const char *name) {
  ORR_EACH(const OrrOperator, op, operators)
    if (strcmp(op->name, name) == 0) return TRUE;
  return FALSE;
}

static void assert_names(Build function, const OrrModel *model, guint kind, const OrrShard *shard,
                         const char *expected) {
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GString) names = g_string_new(NULL);
  function(model, kind, shard, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    g_string_append_printf(names, "%s%s%s", i ? " " : "", op->name,
                           op->pass == ORR_PASS_WGRAD ? "*" : "");
    if (op->kind == ORR_OPERATOR_COMM)
      g_assert_true(g_str_has_prefix(op->name, orr_group_words[op->comm.group]));
  }
  g_assert_cmpstr(names->str, ==, expected);
}

static void test_order_of_deepseek(void) {
  OrrModel model = zoo("deepseek-v3");
  OrrShard shard = plain(4096);
  shard.ep = 8;
  assert_names(
      orr_transformer_layer_forward, &model, 1, &shard,
      "rms-norm q-down kv-down latent-norm q-up kv-up rope attention projection residual-add "
      "rms-norm router router-topk shared-fc1 swiglu shared-fc2 permute ep-dispatch "
      "expert-sort experts expert-unsort ep-combine unpermute shared-add residual-add");
  assert_names(
      orr_transformer_layer_backward, &model, 1, &shard,
      "unpermute ep-combine expert-unsort experts experts* expert-sort ep-dispatch permute "
      "shared-fc2 shared-fc2* swiglu shared-fc1 shared-fc1* router-topk router router* "
      "shared-grad-add "
      "rms-norm residual-grad-add "
      "projection projection* attention rope kv-up kv-up* q-up q-up* latent-norm kv-down kv-down* "
      "q-down q-down* rms-norm residual-grad-add");
  shard.sends_tokens = TRUE; /* the dispatch reads tokens where they are */
  assert_names(
      orr_transformer_layer_forward, &model, 1, &shard,
      "rms-norm q-down kv-down latent-norm q-up kv-up rope attention projection residual-add "
      "rms-norm router router-topk shared-fc1 swiglu shared-fc2 ep-dispatch expert-sort experts "
      "expert-unsort ep-combine shared-add residual-add");
  shard.ep = 1; /* no dispatch: tokens are sorted here */
  g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 1, &shard, alone);
  g_assert_true(has_operator(alone, "permute"));
  shard.ep = 8;
  shard.sends_tokens = FALSE;
  shard.tp = 4;
  shard.sequence_parallel = TRUE;
  shard.etp = 2;
  assert_names(
      orr_transformer_layer_forward, &model, 1, &shard,
      "rms-norm q-down kv-down latent-norm tp-all-gather q-up kv-up rope attention projection "
      "tp-reduce-scatter residual-add "
      "rms-norm router router-topk tp-all-gather shared-fc1 swiglu shared-fc2 tp-reduce-scatter "
      "permute "
      "ep-dispatch etp-all-gather expert-sort experts expert-unsort etp-reduce-scatter ep-combine "
      "unpermute "
      "shared-add residual-add");
  orr_field_clear(&orr_model_table, &model);
}

/* What the operators called @name of gpt-oss-20b's first layer move, forward and backward. */
static double bytes_of(const OrrShard *shard, const char *name) {
  OrrModel model = zoo("gpt-oss-20b");
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 1, shard, operators);
  orr_transformer_layer_backward(&model, 1, shard, operators);
  double bytes = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (strcmp(op->name, name) == 0) bytes += op->bytes;
  }
  orr_field_clear(&orr_model_table, &model);
  return bytes;
}

/* 4,096 tokens to 4 experts each: 16,384 results of 2,880 elements, as many inner ones; 28 and 36
 * bytes of each for the bias, 16 and 20 for the clamp. The router's casts: 16 of each input. By
 * PyTorch's operators a rotary embedding moves each element 12 and 13 times. */
static void test_apart(void) {
  OrrShard shard = plain(4096);
  shard.bias_apart = shard.clamp_apart = shard.rope_apart = shard.router_fp32 = TRUE;
  assert_near(bytes_of(&shard, "experts-bias"), 4096.0 * 4 * 2880 * (28 + 36));
  assert_near(bytes_of(&shard, "experts-clamp"), 4096.0 * 4 * 2880 * (16 + 20));
  assert_near(bytes_of(&shard, "router-cast"), 4096.0 * 2880 * 16);
  assert_near(bytes_of(&shard, "rope"), 4096.0 * (64 + 8) * 64 * 2 * (12 + 13));
}

/* 32 experts on 8 ranks of 4,096 tokens: a map of a megabyte, gathered in the forward alone and
 * read once; nothing on one rank. */
static void test_map_gathered(void) {
  OrrShard shard = plain(4096);
  shard.map_gathered = TRUE;
  g_assert_cmpfloat(bytes_of(&shard, "routing-map"), ==, 0);
  shard.ep = 8;
  g_assert_cmpfloat(bytes_of(&shard, "routing-map"), ==, 4096 * 32 * 8);
  g_assert_cmpfloat(bytes_of(&shard, "routing-map-scan"), ==, 4096 * 32 * 8);
}

/* Of a dense feed-forward, fc1 replays all but the second product, and keeps as little. */
static void test_without_fc2(void) {
  OrrModel model = zoo("qwen3-8b");
  const OrrShard shard = plain(4096);
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  g_autoptr(GArray) part = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(&model, 0, &shard, ORR_MODULE_MLP, all);
  orr_transformer_layer_recompute(&model, 0, &shard, ORR_MODULE_FC1, part);
  assert_near(flops_of(all) - flops_of(part), 2.0 * 4096 * 4096 * 12288);
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  g_autoptr(GArray) kept_part = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  orr_transformer_layer_kept(&model, 0, &shard, ORR_MODULE_MLP, kept);
  orr_transformer_layer_kept(&model, 0, &shard, ORR_MODULE_FC1, kept_part);
  g_assert_cmpuint(kept->len, ==, kept_part->len);
  for (guint i = 0; i < kept->len; i++)
    assert_near(g_array_index(kept_part, OrrKeptBytes, i).bytes,
                g_array_index(kept, OrrKeptBytes, i).bytes);
  orr_field_clear(&orr_model_table, &model);
}

/* The dispatch of 4096 tokens to 8 experts each in bf16: 4096 8 7168 2 bytes, and its shape;
 * overlapped, the three kernels of the shared expert run meanwhile. */
static void test_dispatch(void) {
  OrrModel model = zoo("deepseek-v3");
  OrrShard shard = plain(4096);
  shard.ep = 8;
  shard.shared_expert_overlap = TRUE;
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 1, &shard, operators);
  guint found = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind != ORR_OPERATOR_COMM) continue;
    g_assert_cmpint(op->comm.op, ==, ORR_COMM_ALL_TO_ALL);
    g_assert_cmpfloat(op->bytes, ==, 4096.0 * 8 * 7168 * 2);
    g_assert_true(op->comm.tokens == 4096 && op->comm.hidden == 7168 && op->comm.topk == 8 &&
                  op->comm.experts == 256);
    g_assert_cmpint(op->comm.n_overlap, ==, strcmp(op->name, "ep-dispatch") == 0 ? 3 : 0);
    found++;
  }
  g_assert_cmpuint(found, ==, 2);
  shard.capacity = 1.5; /* padded to one and a half of the balanced share */
  g_array_set_size(operators, 0);
  orr_transformer_layer_forward(&model, 1, &shard, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == ORR_OPERATOR_COMM)
      g_assert_cmpfloat(op->bytes, ==, 1.5 * 4096.0 * 8 * 7168 * 2);
    if (op->kind == ORR_OPERATOR_MOE) g_assert_cmpint(op->moe.tokens, ==, 4096 * 8 * 3 / 2);
  }
  orr_field_clear(&orr_model_table, &model);
}

static void test_order_of_others(void) {
  OrrShard shard = plain(4096);
  OrrModel model = zoo("nemotron-h-8b");
  assert_names(
      orr_transformer_layer_forward, &model, 0, &shard,
      "rms-norm mamba-in mamba-conv scan-scores scan-states scan-carry scan-output gated-norm "
      "mamba-out residual-add");
  assert_names(orr_transformer_layer_backward, &model, 0, &shard,
               "mamba-out mamba-out* gated-norm scan-scores scan-states scan-carry scan-states "
               "scan-carry scan-values scan-keys scan-keys scan-scores scan-keys scan-keys "
               "scan-decays mamba-conv mamba-conv mamba-in mamba-in* rms-norm residual-grad-add");
  shard.micro_batch = 2; /* and so sequences first become batches first, and back */
  assert_names(orr_transformer_layer_forward, &model, 0, &shard,
               "rms-norm mamba-in scan-layout mamba-conv scan-scores scan-states scan-carry "
               "scan-output scan-layout gated-norm mamba-out residual-add");
  shard.micro_batch = 1;
  assert_names(orr_transformer_layer_forward, &model, 1, &shard,
               "rms-norm fc1 squared-relu fc2 residual-add");
  orr_field_clear(&orr_model_table, &model);
  model = zoo("gemma-2-9b");
  assert_names(orr_transformer_layer_forward, &model, 0, &shard,
               "rms-norm qkv rope attention projection rms-norm residual-add "
               "rms-norm fc1 geglu fc2 rms-norm residual-add");
  orr_field_clear(&orr_model_table, &model);
  model = zoo("gpt-j-6b");
  assert_names(orr_transformer_layer_forward, &model, 0, &shard,
               "layer-norm qkv rope attention projection fc1 gelu fc2 parallel-add bias-add");
  orr_field_clear(&orr_model_table, &model);
  model = zoo("qwen3-8b");
  assert_names(orr_transformer_layer_forward, &model, 0, &shard,
               "rms-norm qkv qk-norm rope attention projection residual-add rms-norm fc1 swiglu "
               "fc2 residual-add");
  orr_field_clear(&orr_model_table, &model);
}

/* --- context parallelism --- */

static double attention_flops(const GArray *operators) {
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == ORR_OPERATOR_ATTENTION) sum += op->flops;
  }
  return sum;
}

/* Whatever way a sequence is shared, a rank does 1 / cp of the causal work, forward and
 * backward. */
static void test_context_shares_work(void) {
  OrrModel model = zoo("qwen3-8b");
  OrrShard one = plain(65536);
  for (gint64 cp = 2; cp <= 8; cp *= 2)
    for (int context = ORR_CONTEXT_P2P; context <= ORR_CONTEXT_HIERARCHICAL; context++) {
      OrrShard shard = plain(65536);
      shard.cp = cp;
      shard.cp_inner = cp / 2;
      shard.context = (OrrContext)context;
      g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
      g_autoptr(GArray) part = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
      orr_transformer_layer_forward(&model, 0, &one, all);
      orr_transformer_layer_backward(&model, 0, &one, all);
      orr_transformer_layer_forward(&model, 0, &shard, part);
      orr_transformer_layer_backward(&model, 0, &shard, part);
      assert_near(cp * attention_flops(part), attention_flops(all));
      assert_near(cp * flops_of(part), flops_of(all));
    }
  orr_field_clear(&orr_model_table, &model);
}

/* Layers with a window exchange heads: a rank has 1 / cp of the heads, and the window's pairs. */
static void test_context_windows(void) {
  OrrModel model = zoo("gemma-3-27b");
  OrrShard one = plain(32768), shard = plain(32768);
  shard.cp = 4;
  shard.context = ORR_CONTEXT_ALL_TO_ALL;
  for (guint kind = 0; kind < 2; kind++) {
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    g_autoptr(GArray) part = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_layer_forward(&model, kind, &one, all);
    orr_transformer_layer_backward(&model, kind, &one, all);
    orr_transformer_layer_forward(&model, kind, &shard, part);
    orr_transformer_layer_backward(&model, kind, &shard, part);
    assert_near(4 * attention_flops(part), attention_flops(all));
  }
  orr_field_clear(&orr_model_table, &model);
}

/* Two ranks of 2,048 tokens each, 8 key heads of 128 in bf16: keys and values are 2048 2 1024 2
 * = 8,388,608 bytes. */
static void test_context_collectives(void) {
  OrrModel model = zoo("qwen3-8b");
  OrrShard shard = plain(4096);
  shard.cp = 2;
  assert_names(orr_transformer_layer_forward, &model, 0, &shard,
               "rms-norm qkv qk-norm rope cp-send-recv attention attention attention-merge "
               "projection residual-add "
               "rms-norm fc1 swiglu fc2 residual-add");
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 0, &shard, operators);
  const OrrOperator *op = &g_array_index(operators, OrrOperator, 4);
  g_assert_cmpfloat(op->bytes, ==, 8388608);
  g_assert_cmpint(op->comm.n_overlap, ==, 1);
  shard.context = ORR_CONTEXT_ALL_GATHER;
  g_array_set_size(operators, 0);
  orr_transformer_layer_forward(&model, 0, &shard, operators);
  op = &g_array_index(operators, OrrOperator, 4);
  g_assert_cmpstr(op->name, ==, "cp-all-gather");
  g_assert_cmpfloat(op->bytes, ==, 2 * 8388608);
  orr_field_clear(&orr_model_table, &model);
}

/* Four ranks of 1,024 tokens, two and two. Inside a pair queries (32 heads), keys and values (8
 * each) of 128 in bf16 are exchanged, 1024 (4096 + 2 1024) 2 bytes; then a rank has 2,048 tokens
 * of 4 key heads, which go round a ring of two: 2048 2 512 2 bytes, as many as a rank's own
 * before. The result goes back, 1024 4096 2. */
static void test_context_hierarchical(void) {
  OrrModel model = zoo("qwen3-8b");
  OrrShard shard = plain(4096);
  shard.cp = 4;
  shard.cp_inner = 2;
  shard.context = ORR_CONTEXT_HIERARCHICAL;
  assert_names(orr_transformer_layer_forward, &model, 0, &shard,
               "rms-norm qkv qk-norm rope cp-inner-all-to-all cp-outer-send-recv attention "
               "attention attention-merge "
               "cp-inner-all-to-all projection residual-add rms-norm fc1 swiglu fc2 residual-add");
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(&model, 0, &shard, operators);
  const OrrOperator *ops = (const OrrOperator *)(const void *)operators->data;
  g_assert_cmpfloat(ops[4].bytes, ==, 1024.0 * (4096 + 2 * 1024) * 2);
  g_assert_cmpfloat(ops[5].bytes, ==, 2048.0 * 2 * 512 * 2);
  g_assert_cmpint(ops[6].attention.heads, ==, 16);
  g_assert_cmpint(ops[6].attention.q_length, ==, 2048);
  g_assert_cmpfloat(ops[9].bytes, ==, 1024.0 * 4096 * 2);
  orr_field_clear(&orr_model_table, &model);
}

/* --- multi-token prediction --- */

/* DeepSeek-V3's layer of it: the last layer, a projection of 2 h to h and the output layer
 * again, forward and twice backward; attention backward is 3 (n + r) + 2 v for forward's n + r +
 * v. */
static void test_mtp(void) {
  OrrModel model = zoo("deepseek-v3");
  OrrShard shard = plain(4096);
  g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_mtp_forward(&model, &shard, forward);
  double expected = orr_model_layer_flops(&model, 1, 1, 4096) -
                    orr_model_core_flops(&model, 1, 1, 4096) / 2 + 4 * 4096.0 * 7168 * 7168 +
                    2 * 4096.0 * 7168 * 129280;
  assert_near(flops_of(forward), expected);
  /* "11.5B unique parameters" (README_WEIGHTS.md of DeepSeek-V3): the layer's 11.507 and the
   * projection's 0.103. */
  g_assert_cmpfloat_with_epsilon((orr_model_mtp_parameters(&model) - 2 * 7168.0 * 7168) / 1e9, 11.5,
                                 0.05);
  orr_field_clear(&orr_model_table, &model);
}

/* --- latent attention, absorbed --- */

/* DeepSeek-V3's dense layer on 4 ranks (32 heads), 8 decodes of 1,000 tokens. The cache's 576
 * elements a token are read once by each rank: 8 1000 576 2 bytes, and queries and results 8 32
 * (576 + 512) 2, and 4 a row of log-sum-exp. FLOPs 2 8 32 1000 (576 + 512). The products of
 * up-projections equal the plain form's for one token: Rk a (n + v) either way. The feed-forward
 * has 3 h f / 4 weights.
 */
static void test_absorbed(void) {
  OrrModel model = zoo("deepseek-v3");
  const OrrInferenceShard shard = {
      .tp = 4, .weights = ORR_BF16, .activations = ORR_BF16, .kv = ORR_BF16};
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_inference_layer(&model, 0, &shard, 8, operators);
  orr_inference_decodes(&model, 0, &shard, 8, operators);
  g_autoptr(GString) names = g_string_new(NULL);
  double products = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    g_string_append_printf(names, "%s%s", i ? " " : "", op->name);
    if (op->kind == ORR_OPERATOR_GEMM) products += op->flops;
  }
  g_assert_cmpstr(
      names->str, ==,
      "rms-norm qkv-down latent-norm q-up rope projection tp-all-reduce rms-norm mlp-up "
      "swiglu mlp-down tp-all-reduce q-absorb v-absorb");
  double down = 7168.0 * (1536 + 576), feed = 3 * 7168.0 * 18432,
         split = 1536.0 * 128 * 192 + 512.0 * 128 * 256 + 128 * 128 * 7168.0;
  g_assert_cmpfloat(products, ==, 2 * 8 * (down + (split + feed) / 4));
  const OrrInferenceHeads heads = orr_inference_decode_heads(&model, 0, &shard);
  const OrrOperator op = orr_operator_attention("attention", ORR_PASS_FORWARD, ORR_BF16,
                                                (OrrAttentionShape){.batch = 8,
                                                                    .q_length = 1,
                                                                    .kv_length = 1000,
                                                                    .heads = heads.heads,
                                                                    .kv_heads = heads.kv_heads,
                                                                    .head_dim = heads.head_dim,
                                                                    .value_dim = heads.value_dim,
                                                                    .latent = heads.latent});
  g_assert_cmpfloat(op.flops, ==, 2.0 * 8 * 32 * 1000 * (576 + 512));
  g_assert_cmpfloat(op.bytes, ==, 2 * (8.0 * 1000 * 576 + 8 * 32 * (576.0 + 512)) + 4 * 8 * 32);
  orr_field_clear(&orr_model_table, &model);
}

/* --- what cannot be split --- */

static void assert_refused(const char *name, const OrrShard *shard, const char *part) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model = zoo(name);
  orr_transformer_check(&model, shard, (OrrPlace){.file = "s.yaml", .line = 1, .column = 1}, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_test_message("%s", findings);
  if (part)
    g_assert_nonnull(strstr(findings, part));
  else
    g_assert_cmpstr(findings, ==, "");
  orr_field_clear(&orr_model_table, &model);
}

static void test_refused(void) {
  OrrShard shard = plain(4096);
  shard.ep = 16;
  assert_refused("mixtral-8x7b", &shard, "ep = 16 is more than the model's 8 experts");
  assert_refused("qwen3-8b", &shard, "ep = 16, etp = 1, but the model has no experts");
  shard.ep = 3;
  assert_refused("mixtral-8x7b", &shard, "8 experts cannot be split over ep = 3");
  shard.ep = 8;
  assert_refused("mixtral-8x7b", &shard, NULL);
  shard.tp = 2;
  assert_refused("mixtral-8x7b", &shard, "tp = 2 with experts wants sequence-parallel: true");
  shard.sequence_parallel = TRUE;
  assert_refused("mixtral-8x7b", &shard, NULL);
  shard = plain(4096);
  shard.cp = 3;
  assert_refused("qwen3-8b", &shard, "4096 tokens of a sequence cannot be split over 2 * cp = 6");
  shard.cp = 64;
  shard.context = ORR_CONTEXT_ALL_TO_ALL;
  assert_refused("qwen3-8b", &shard,
                 "32 attention heads (all-to-all context parallelism) cannot be split");
  shard.context = ORR_CONTEXT_HIERARCHICAL;
  shard.cp = 8;
  shard.cp_inner = 3;
  assert_refused("qwen3-8b", &shard,
                 "context-inner that divides cp = 8 and is neither 1 nor cp itself, found 3");
  shard.cp_inner = 8;
  assert_refused("qwen3-8b", &shard, "found 8");
  shard.cp_inner = 4;
  shard.tp = 16;
  assert_refused("qwen3-8b", &shard,
                 "32 attention heads (hierarchical context parallelism) cannot be split over tp *");
  shard.tp = 1;
  shard.context = ORR_CONTEXT_P2P;
  shard.cp = 2;
  assert_refused("gemma-3-27b", &shard, "cp = 2 and windows of 1024 tokens");
  shard.attention = ORR_ATTENTION_UNFUSED;
  assert_refused("qwen3-8b", &shard, "cp = 2 wants fused attention");
  shard.cp = 1;
  assert_refused("deepseek-v3", &shard, "unfused does not support latent attention");
  shard = plain(4096);
  shard.tp = 16;
  assert_refused("nemotron-h-8b", &shard, "8 groups of Mamba layers cannot be split over tp = 16");
  shard = plain(512);
  assert_refused("llava-1.5-7b", &shard, "1 images make 576 tokens, more than the sequence's 512");
  shard = plain(100);
  assert_refused("whisper-large-v3", &shard, "cross-attention, which training does not support");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/layers/weights-are-the-models", test_weights_are_the_models);
  g_test_add_func("/layers/flops-are-the-models", test_flops_are_the_models);
  g_test_add_func("/layers/flops-of-attention", test_flops_of_attention);
  g_test_add_func("/layers/split", test_split);
  g_test_add_func("/layers/order-of-deepseek", test_order_of_deepseek);
  g_test_add_func("/layers/dispatch", test_dispatch);
  g_test_add_func("/layers/apart", test_apart);
  g_test_add_func("/layers/map-gathered", test_map_gathered);
  g_test_add_func("/layers/without-fc2", test_without_fc2);
  g_test_add_func("/layers/order-of-others", test_order_of_others);
  g_test_add_func("/layers/context-shares-work", test_context_shares_work);
  g_test_add_func("/layers/context-windows", test_context_windows);
  g_test_add_func("/layers/context-collectives", test_context_collectives);
  g_test_add_func("/layers/context-hierarchical", test_context_hierarchical);
  g_test_add_func("/layers/mtp", test_mtp);
  g_test_add_func("/layers/absorbed", test_absorbed);
  g_test_add_func("/layers/refused", test_refused);
  return g_test_run();
}
