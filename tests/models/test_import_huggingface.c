/* test_import_huggingface.c - config.json files: each makes the model that the zoo has; what is
 * wrong is reported. */
#include <glib/gstdio.h>
#include <string.h>

#include "models/import_huggingface.h"
#include "sim/base/fault.h"
#include "sim/base/library.h"
#include "sim/base/yaml.h"

static OrrModel settle(const OrrNode *node, OrrLibrary *library) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model;
  orr_field_read(&orr_model_table, node, library, diags, &model);
  orr_model_settle(&model, node->place, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return model;
}

static char *config_path(const char *name) {
  return g_strdup_printf("%s/models/huggingface/%s.json", g_getenv("G_TEST_SRCDIR"), name);
}

static OrrModel imported(const char *name, char **ret_left_out, char **ret_warnings) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *path = config_path(name),
                  *text = orr_import_huggingface(path, NULL, ret_left_out, ret_warnings, &error);
  g_assert_no_error(error);
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "imported.yaml", diags);
  g_assert_nonnull(node);
  g_assert_cmpstr(orr_node_get_text(node, "schema"), ==, "model/1");
  return settle(node, NULL);
}

static OrrModel zoo(OrrLibrary *library, const char *name) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node =
      orr_library_load(library, "model", name, (OrrPlace){.file = name}, diags);
  g_assert_nonnull(node);
  return settle(node, library);
}

static const char *sparse_of(const OrrModel *model) {
  for (char **one = model->not_modelled; one && *one; one++)
    if (g_str_has_prefix(*one, "attention is sparse")) return *one;
  return NULL;
}

/* Sparse attention is computed as dense: where the config @a has it, the zoo's @b says so. */
static void assert_warns(const OrrModel *a, const OrrModel *b) {
  g_assert_true((sparse_of(a) != NULL) == (sparse_of(b) != NULL));
}

/* What a config cannot say (kept by hand in the zoo) or says more of. */
static void assert_same(const char *name, const OrrModel *a, const OrrModel *b) {
  OrrModel published = *b; /* layers of multi-token prediction that its config does not name */
  published.mtp_layers = a->mtp_layers;
  g_test_message("%s: %.0f and %.0f", name, orr_model_parameters(a), orr_model_parameters(b));
  g_assert_cmpfloat(orr_model_parameters(a), ==, orr_model_parameters(b));
  g_assert_cmpfloat(orr_model_active_parameters(a), ==, orr_model_active_parameters(b));
  g_assert_cmpfloat(orr_model_kv_bytes_per_token(a, 2), ==, orr_model_kv_bytes_per_token(b, 2));
  g_assert_cmpfloat(orr_model_flops(a, 1, 16384), ==, orr_model_flops(&published, 1, 16384));
  g_assert_cmpint(a->activation, ==, b->activation);
  g_assert_cmpint(a->context, ==, b->context);
  g_assert_cmpint(a->window.size, ==, b->window.size);
  g_assert_cmpint(a->yarn, ==, b->yarn);
  g_assert_cmpint(a->moe.clamp, ==, b->moe.clamp);
  if (a->checkpoint.quantization != ORR_QUANTIZATION_NONE)
    g_assert_cmpint(a->checkpoint.quantization, ==, b->checkpoint.quantization);
  assert_warns(a, b);
  for (gint64 layer = 0; layer < a->layers; layer++) {
    OrrLayerKind one = orr_model_kind(a, orr_model_layer_kind(a, layer));
    OrrLayerKind other = orr_model_kind(b, orr_model_layer_kind(b, layer));
    g_assert_true(one.mixer == other.mixer && one.feed == other.feed);
  }
}

static void test_makes_the_zoo(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_strdup_printf("%s/models/huggingface", g_getenv("G_TEST_SRCDIR"));
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  guint n = 0;
  g_assert_nonnull(dir);
  for (const char *file = g_dir_read_name(dir); file; file = g_dir_read_name(dir)) {
    g_autofree char *name = g_strndup(file, strlen(file) - strlen(".json")), *left_out = NULL,
                    *warnings = NULL;
    OrrModel read = imported(name, &left_out, &warnings), known = zoo(library, name);
    assert_same(name, &read, &known);
    orr_field_clear(&orr_model_table, &read);
    orr_field_clear(&orr_model_table, &known);
    n++;
  }
  g_assert_cmpuint(n, >=, 46);
}

/* @warned: the keys in front of the effect; "" where there is no warning. */
static void assert_left_out(const char *name, const char *expected, const char *warned) {
  g_autofree char *left_out = NULL, *warnings = NULL;
  OrrModel model = imported(name, &left_out, &warnings);
  g_assert_cmpstr(left_out, ==, expected);
  g_assert_true(*warned ? g_str_has_prefix(warnings, warned) : *warnings == '\0');
  g_assert_cmpuint(model.not_modelled ? g_strv_length(model.not_modelled) : 0, ==, *warned ? 1 : 0);
  orr_field_clear(&orr_model_table, &model);
}

/* Nothing that costs falls away in silence, and nothing else is reported. */
static void test_left_out(void) {
  assert_left_out("llama-3.1-8b", "", "");
  assert_left_out("qwen3-235b-a22b", "", "");
  assert_left_out("mixtral-8x7b", "", "");
  assert_left_out("glm-5", "", ""); /* its indexer is read */
  assert_left_out(
      "deepseek-v4-flash", "",
      "hc_mult: 4, hc_eps: 1e-06, hc_sinkhorn_iters: 20: more than one residual stream");
  assert_left_out("deepseek-v3", "", "");
  assert_left_out("llava-1.5-7b", "", "");
  assert_left_out("gemma-3-27b", "", "vision_config: the vision tower is left out");
  assert_left_out("rwkv-7-1.5b", "", "decay_low_rank_dim: 96: kernels that norm keys");
  assert_left_out("llama-3.3-nemotron-super-49b", "", "");
  assert_left_out("step3", "", "");
  assert_left_out("kimi-k3", "", "text_config.attn_res_block_size: 12: each block adds");
  assert_left_out("longcat-flash", "", "zero_expert_num: 256: each token is taken to choose");
  assert_left_out("llama-4-maverick", "", "vision_config: the vision tower is left out");
}

/* --- models that the zoo does not have --- */

static char *written(const char *text) {
  char *path = NULL;
  int file = g_file_open_tmp("orrery-config-XXXXXX.json", &path, NULL);
  g_assert_cmpint(file, >=, 0);
  g_close(file, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  return path;
}

/* Keys that cost of published configs, and the counts of their model cards in billions; what is not
 * mapped is reported. */
static const struct {
  const char *config;
  double total;
  const char *left_out;
} others[] = {
    {"{'model_type': 'granite', 'hidden_size': 4096, 'intermediate_size': 12800, "
     "'num_hidden_layers': 40, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 49155, "
     "'max_position_embeddings': 131072, "
     "'tie_word_embeddings': true, 'embedding_multiplier': 12.0}",
     8.17, ""}, /* granite-3.1-8b */
    {"{'model_type': 'olmoe', 'hidden_size': 2048, 'intermediate_size': 1024, 'num_hidden_layers': "
     "16, "
     "'num_attention_heads': 16, 'num_key_value_heads': 16, 'num_experts': 64, "
     "'num_experts_per_tok': 8, "
     "'vocab_size': 50304, 'max_position_embeddings': 4096}",
     6.92, ""}, /* OLMoE-1B-7B */
    {"{'model_type': 'phimoe', 'hidden_size': 4096, 'intermediate_size': 6400, "
     "'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'num_local_experts': 16, "
     "'num_experts_per_tok': 2, "
     "'vocab_size': 32064, 'max_position_embeddings': 131072, 'attention_bias': true, "
     "'sliding_window': 131072}",
     41.9, ""}, /* Phi-3.5-MoE; a window as long as the context has no effect */
    {"{'model_type': 'cohere2', 'hidden_size': 4096, 'intermediate_size': 14336, "
     "'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 256000, "
     "'max_position_embeddings': 8192, "
     "'head_dim': 128, 'sliding_window': 4096, 'sliding_window_pattern': 4}",
     8.03, ""}, /* Command R7B */
    {"{'model_type': 'qwen2_5_vl', 'hidden_size': 8192, 'intermediate_size': 29568, "
     "'num_hidden_layers': 80, "
     "'num_attention_heads': 64, 'num_key_value_heads': 8, 'vocab_size': 152064, "
     "'max_position_embeddings': 128000, "
     "'tie_word_embeddings': false, 'vision_config': {'model_type': 'qwen2_5_vl', 'depth': 32, "
     "'hidden_size': 1280, "
     "'intermediate_size': 3456, 'num_heads': 16, 'out_hidden_size': 8192, 'patch_size': 14, "
     "'spatial_merge_size': 2, "
     "'temporal_patch_size': 2, 'window_size': 112}}",
     73.4, "vision_config.window_size: 112\n"}, /* Qwen2.5-VL-72B */
    {"{'model_type': 'qwen3_vl_moe', 'tie_word_embeddings': false, 'text_config': {'model_type': "
     "'qwen3_vl_moe_text', "
     "'hidden_size': 4096, 'moe_intermediate_size': 1536, 'num_hidden_layers': 94, "
     "'num_attention_heads': 64, "
     "'num_key_value_heads': 4, 'head_dim': 128, 'num_experts': 128, 'num_experts_per_tok': 8, "
     "'vocab_size': 151936, "
     "'max_position_embeddings': 262144, 'intermediate_size': 12288}, 'vision_config': "
     "{'model_type': 'qwen3_vl_moe', "
     "'depth': 27, 'hidden_size': 1152, 'intermediate_size': 4304, 'num_heads': 16, 'patch_size': "
     "16, "
     "'spatial_merge_size': 2, 'temporal_patch_size': 2, 'deepstack_visual_indexes': [8, 16, 24]}}",
     236, "vision_config.deepstack_visual_indexes\n"}, /* Qwen3-VL-235B-A22B */
};

static void test_others(void) {
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autofree char *json = g_strdelimit(g_strdup(others[i].config), "'", '"'),
                    *path = written(json), *left_out = NULL, *warnings = NULL;
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_assert_no_error(error);
    g_unlink(path);
    g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "imported.yaml", diags);
    OrrModel model = settle(node, NULL);
    g_test_message("%s: %.4g of %.4g billion", model.name, orr_model_parameters(&model) / 1e9,
                   others[i].total);
    g_assert_cmpfloat_with_epsilon(orr_model_parameters(&model) / 1e9 / others[i].total, 1, 0.005);
    g_assert_cmpstr(left_out, ==, others[i].left_out);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* --- what is wrong --- */

static void assert_refused(const char *text, const char *part, int code) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = written(text), *left_out = NULL, *warnings = NULL;
  g_autofree char *document = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
  g_unlink(path);
  g_assert_null(document);
  g_assert_error(error, ORR_FAULT, code);
  g_test_message("%s", error->message);
  g_assert_nonnull(strstr(error->message, part));
}

/* A type that is not known is read as a decoder, and warned of; numbers of each layer that are all
 * equal are one number. Parameters: 2 (64 x 64 x 4 + 3 x 64 x 32 x 8 + 64 x 8 + 2 x 64) + 9 x 64 x
 * 2 + 64 = 133,568. */
static void test_unknown_type(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *left_out = NULL, *warnings = NULL;
  g_autofree char *path = written(
      "{\"architectures\": [\"NovelForCausalLM\"], \"model_type\": \"novel\", \"hidden_size\": 64, "
      "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": 128, "
      "\"vocab_size\": 9, \"max_position_embeddings\": 8, \"num_experts\": 8, \"moe_topk\": [2, "
      "2], "
      "\"moe_intermediate_size\": [32, 32], \"hidden_size_per_layer_input\": 0}");
  g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
  g_unlink(path);
  g_assert_no_error(error);
  g_assert_true(g_str_has_prefix(warnings, "model_type: novel: the model's type is not known"));
  g_assert_null(strstr(warnings, "hidden_size_per_layer_input"));
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "imported.yaml", diags);
  OrrModel model = settle(node, NULL);
  g_assert_cmpfloat(orr_model_parameters(&model), ==, 133568);
  orr_field_clear(&orr_model_table, &model);
}

static void test_refused(void) {
  const int document = ORR_FAULT_DOCUMENT;
  assert_refused("{\"model_type\": \"lama\"}",
                 "json:1:16: error: unknown model_type 'lama': did you mean 'llama'?", document);
  assert_refused("{\"model_type\": \"mamba3\"}", "(known: apertus, arcee, baichuan, bailing_moe,",
                 document);
  assert_refused("{\"hidden_size\": 5}", "missing key 'model_type'", document);
  /* layers that no document can say are refused by name, whatever the type is */
  assert_refused("{\"model_type\": \"deepseek_v4\", \"hidden_size\": 64, \"num_hidden_layers\": 3, "
                 "\"num_attention_heads\": 2, \"vocab_size\": 8, \"max_position_embeddings\": 64, "
                 "\"compress_ratios\": [4, 16, 128]}",
                 "'compress_ratios' has more than two ratios above 1", document);
  assert_refused("{\"model_type\": \"rwkv7\", \"attn\": {\"layers\": [1]}}",
                 "layers of attention between layers of RWKV", document);
  assert_refused("{\"model_type\": \"bert\", \"architectures\": [\"BertForMaskedLM\"], "
                 "\"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": 12, "
                 "\"intermediate_size\": 3072}",
                 "unknown model_type 'bert'", document);
  assert_refused("{\"model_type\": \"llama\"}",
                 "missing key for 'layers': one of num_hidden_layers, n_layer", document);
  assert_refused("{\"model_type\": \"llama\",\n \"hidden_size\": 12,,}", "json:2:", document);
  assert_refused("{\"model_type\": \"llama\"", "error:", document);
  assert_refused("", "error:", document);
  assert_refused("[1, 2]", "a config is a JSON object", document);
  assert_refused("{\"model_type\": \"llama\"} 7", "the file goes on", document);
  assert_refused("{\"model_type\": \"llama\", \"num_hidden_layers\": 2.5, \"hidden_size\": 64, "
                 "\"vocab_size\": 9,\n"
                 "\"num_attention_heads\": 4, \"max_position_embeddings\": 8}",
                 "must be a whole number from 0 to 2147483647, found '2.5'", document);
  assert_refused(
      "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"vocab_size\": "
      "9,\n"
      "\"num_attention_heads\": 4, \"num_key_value_heads\": 3, \"max_position_embeddings\": 8}",
      "'heads' 4 is not a multiple of 'kv-heads' 3", document);
}

/* A model of 4 layers: attention of all; a feed-forward in the first, experts in the others. */
#define DENSE                                                                                      \
  "'model_type': 'llama', 'hidden_size': 64, 'intermediate_size': 128, 'num_hidden_layers': 4, "   \
  "'num_attention_heads': 4, 'vocab_size': 9, 'max_position_embeddings': 8, "
#define MIXED                                                                                      \
  "'model_type': 'deepseek_v3', 'hidden_size': 64, 'intermediate_size': 128, "                     \
  "'num_hidden_layers': 4, 'num_attention_heads': 4, 'vocab_size': 9, "                            \
  "'max_position_embeddings': 8, 'kv_lora_rank': 16, 'q_lora_rank': 16, 'qk_nope_head_dim': 16, "  \
  "'qk_rope_head_dim': 8, 'v_head_dim': 16, 'n_routed_experts': 8, 'num_experts_per_tok': 2, "     \
  "'n_shared_experts': 1, 'moe_intermediate_size': 32, 'first_k_dense_replace': 1, "
#define WEIGHTS "'config_groups': {'group_0': {'targets': ['Linear'], 'weights': "

/* Each config, the format that its weights have, and what is reported. The lists are as publishers
 * write them: DeepSeek, Meta, Moonshot, NVIDIA, Qwen, Red Hat. */
static const struct {
  const char *config;
  const char *checkpoint; /* "quantization part=format ..." */
  const char *warnings;
} formats[] = {
    {"{" DENSE "'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128]}}",
     "fp8-block", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'fp8', 'activation_scheme': 'static', "
     "'modules_to_not_convert': ['lm_head', 'model.layers.0.mlp.gate']}}",
     "fp8", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'fbgemm_fp8', 'modules_to_not_convert': ["
     "'model.layers.0.self_attn.q_proj', 'model.layers.0.self_attn.v_proj', "
     "'model.layers.0.self_attn.o_proj', 'model.layers.0.mlp', 'model.layers.1.self_attn', "
     "'model.layers.2.self_attn', 'model.layers.3.self_attn', 'model.layers.3.mlp']}}",
     "fp8 attention=none first=1 last=1", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'compressed-tensors', " WEIGHTS
     "{'num_bits': 8, 'type': 'float', 'strategy': 'channel'}, "
     "'input_activations': {'num_bits': 8, 'type': 'float'}}}, 'ignore': ['lm_head']}}",
     "fp8", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'compressed-tensors', " WEIGHTS
     "{'num_bits': 8, 'type': 'int'}, 'input_activations': {'num_bits': 8, 'type': 'int'}}}}}",
     "int8", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'compressed-tensors', " WEIGHTS
     "{'num_bits': 4, 'type': 'int', 'group_size': 128, 'symmetric': false}}}}}",
     "awq", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'compressed-tensors', " WEIGHTS
     "{'num_bits': 4, 'type': 'float', 'group_size': 16}, "
     "'input_activations': {'num_bits': 4, 'type': 'float'}}}}}",
     "nvfp4", ""},
    {"{" MIXED "'quantization_config': {'quant_method': 'compressed-tensors', " WEIGHTS
     "{'num_bits': 4, 'type': 'int', 'group_size': 32}}}, 'ignore': ['lm_head', "
     "'re:.*self_attn.*', 're:.*shared_experts.*', "
     "'re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*']}}",
     "int4-32 attention=none shared-experts=none first=1", ""},
    {"{" MIXED "'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', "
     "'ignore': ['lm_head', 'model.layers.*.self_attn*', 'model.layers.0.mlp*']}}",
     "nvfp4 attention=none first=1", ""},
    {"{" MIXED "'quantization_config': {'quant_method': 'compressed-tensors', 'config_groups': {"
     "'a': {'targets': ['re:.*self_attn.*'], 'weights': {'num_bits': 8, 'type': 'float', "
     "'strategy': 'block'}, 'input_activations': {'num_bits': 8}}, 'b': {'targets': ['Linear'], "
     "'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16}, "
     "'input_activations': {'num_bits': 4}}}}}",
     "nvfp4 attention=fp8-block", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'modelopt', 'quant_algo': "
     "'MIXED_PRECISION', 'quantized_layers': {"
     "'model.layers.0.mlp': {'quant_algo': 'FP8'}, 'model.layers.1.mlp': {'quant_algo': 'FP8'}, "
     "'model.layers.2.mlp': {'quant_algo': 'NVFP4'}, 'model.layers.3.mlp': {'quant_algo': "
     "'FP8'}}}}",
     "fp8 attention=none",
     "quantization_config: feed-forward is in fp8 in 3 of 4 layers: counted so in all of them\n"},
    {"{" DENSE "'quantization_config': {'quant_method': 'gptq', 'bits': 8, 'group_size': 128, "
     "'lm_head': true}}",
     "int8-weights", "quantization_config: lm_head: the output layer is counted in 16 bits\n"},
    {"{" DENSE "'quantization_config': {'quant_method': 'gptq', 'bits': 4, 'group_size': 64, "
     "'dynamic': {'-:.*\\\\.down_proj': {}}}}",
     "gptq",
     "quantization_config: groups of 64 are counted as groups of 128\n"
     "quantization_config: some matrices of feed-forward are in 16 bits: counted as the others\n"},
    {"{" DENSE "'quantization_config': {'quant_method': 'bitsandbytes', 'load_in_4bit': true}}",
     "nf4", ""},
    {"{" MIXED "'quantization_config': {'quant_method': 'mxfp4', 'modules_to_not_convert': "
     "['model.layers.*.self_attn', 'model.layers.*.mlp.router', 'lm_head', 'shared_experts']}}",
     "mxfp4 feed-forward=mxfp4", ""},
    {"{" DENSE "'quantization_config': {'quant_method': 'aqlm'}}", "none",
     "quantization_config: method 'aqlm' is not known: weights are counted in 16 bits; set "
     "workload.quantization\n"},
    {"{" DENSE "'quantization_config': {'quant_method': 'compressed-tensors', 'kv_cache_scheme': "
     "{'num_bits': 8}, " WEIGHTS "{'num_bits': 3, 'type': 'int'}}}}}",
     "none",
     "quantization_config: weights of 3 bits are not known: counted in 16\n"
     "quantization_config: the cache's format is the server's option here: set "
     "workload.kv-dtype\n"},
};

static char *checkpoint_text(const OrrModel *model) {
  const OrrWeightFormats *weights = &model->checkpoint.weights;
  GString *text = g_string_new(orr_quantization_words[model->checkpoint.quantization]);
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++)
    if (weights->parts[part] > 0)
      g_string_append_printf(text, " %s=%s", orr_quantized_part_words[part],
                             orr_quantization_words[weights->parts[part] - 1]);
  if (weights->plain_first > 0) g_string_append_printf(text, " first=%ld", weights->plain_first);
  if (weights->plain_last > 0) g_string_append_printf(text, " last=%ld", weights->plain_last);
  return g_string_free(text, FALSE);
}

static void test_formats(void) {
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autofree char *json = g_strdelimit(g_strdup(formats[i].config), "'", '"'), *left_out = NULL,
                    *warnings = NULL;
    g_autofree char *path = written(json);
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_no_error(error);
    g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "imported.yaml", diags);
    OrrModel model = settle(node, NULL);
    g_autofree char *checkpoint = checkpoint_text(&model);
    g_test_message("%s", json);
    g_assert_cmpstr(checkpoint, ==, formats[i].checkpoint);
    g_assert_cmpstr(warnings, ==, formats[i].warnings);
    g_assert_cmpstr(left_out, ==, "");
    orr_field_clear(&orr_model_table, &model);
  }
}

#define HYBRID                                                                                     \
  "{\"model_type\": \"nemotron_h\", \"num_hidden_layers\": 4, \"hidden_size\": 64, "               \
  "\"vocab_size\": 9,\n"                                                                           \
  "\"num_attention_heads\": 4, \"max_position_embeddings\": 8, \"mamba_num_heads\": 4, "           \
  "\"hybrid_override_pattern\": "
#define LISTED                                                                                     \
  "{\"model_type\": \"gpt_oss\", \"num_hidden_layers\": 4, \"hidden_size\": 64, \"vocab_size\": "  \
  "9, "                                                                                            \
  "\"sliding_window\": 8,\n"                                                                       \
  "\"num_attention_heads\": 4, \"max_position_embeddings\": 80, \"layer_types\": "

/* What tells layers tells all of them, in words that are known: nothing becomes plain attention
 * in silence. */
static void test_layers_refused(void) {
  const int document = ORR_FAULT_DOCUMENT;
  assert_refused(HYBRID "\"M-*\"}", "'hybrid_override_pattern' has 3 layers, and the model has 4",
                 document);
  assert_refused(HYBRID "\"M-*X\"}", "unknown layer 'X' (known: M Mamba-2", document);
  assert_refused(LISTED "[\"full_attention\"]}", "json:2:", document);
  assert_refused(LISTED "[\"full_attention\"]}", "'layer_types' has 1 layers, and the model has 4",
                 document);
  assert_refused(LISTED "[\"full_attention\", \"conv\", \"conv\", \"conv\"]}",
                 "'layer_types': unknown layer 'conv' (known: attention, full_attention,",
                 document);
  assert_refused("{\"model_type\": \"llama\", \"intermediate_size\": [1, 2]}", "found a list",
                 document);
}

#define LLAMA_WITH(key, value)                                                                     \
  "{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 64, 'vocab_size': 9, "           \
  "'num_attention_heads': 4, "                                                                     \
  "'max_position_embeddings': 8,\n'" key "': " value "}"

/* Every key that is read must hold what it is read as: each line here gives one key a value of
 * another kind, or out of range, and the message names the key. The first one was a segmentation
 * fault. */
static const struct {
  const char *config, *wanted;
} kinds[] = {
    {LLAMA_WITH("hidden_act", "[]"), "2:15: error: 'hidden_activation' or 'hidden_act' or"},
    {LLAMA_WITH("hidden_act", "{}"), "must be a text, found a map"},
    {LLAMA_WITH("hidden_act", "7"), "must be a text, found '7'"},
    {LLAMA_WITH("head_dim", "18446744073709551616"), "to 2147483647, found '18446744073709551616'"},
    {LLAMA_WITH("head_dim", "9223372036854775807"),
     "'head_dim' or 'attention_head_dim' or 'kv_channels' must be"},
    {LLAMA_WITH("head_dim", "-1"), "must be a whole number from 0 to 2147483647, found '-1'"},
    {LLAMA_WITH("head_dim", "0.5"), "found '0.5'"},
    {LLAMA_WITH("head_dim", "1e400"),
     "'head_dim': found '1e400' where a number of at most 1.8e308 was expected"},
    {LLAMA_WITH("head_dim", "NaN"), "must be a whole number from 0 to 2147483647, found 'NaN'"},
    {LLAMA_WITH("head_dim", "-Infinity"),
     "must be a whole number from 0 to 2147483647, found '-Infinity'"},
    {LLAMA_WITH("head_dim", "'64'"), "found the text '64'"},
    {LLAMA_WITH("head_dim", "true"), "found 'true'"},
    {LLAMA_WITH("tie_word_embeddings", "'no'"),
     "'tie_word_embeddings' must be true or false, found the text 'no'"},
    {LLAMA_WITH("tie_word_embeddings", "[]"),
     "'tie_word_embeddings' must be true or false, found a list"},
    {LLAMA_WITH("use_sliding_window", "1"),
     "'use_sliding_window' must be true or false, found '1'"},
    {LLAMA_WITH("layer_types", "'full_attention'"), "'layer_types' must be a list, found the text"},
    {LLAMA_WITH("layer_types", "[[], []]"),
     "'layer_types' must be a list of numbers or words, found a list"},
    {LLAMA_WITH("mlp_only_layers", "{}"), "'mlp_only_layers' must be a list, found a map"},
    {LLAMA_WITH("moe_layer_freq", "{}"), "'moe_layer_freq' must be a whole number"},
    {LLAMA_WITH("attention_chunk_size", "'x'"), "'attention_chunk_size' must be a whole number"},
    {LLAMA_WITH("hybrid_override_pattern", "7"),
     "'hybrid_override_pattern' must be a text, found '7'"},
    {LLAMA_WITH("attn_type_list", "7"), "'attn_type_list' must be a list, found '7'"},
    {LLAMA_WITH("vision_config", "7"), "'vision_config' must be a map, found '7'"},
    {LLAMA_WITH("text_config", "[]"), "'text_config' must be a map, found a list"},
    {LLAMA_WITH("_name_or_path", "{}"), "'_name_or_path' must be a text, found a map"},
    {LLAMA_WITH("vocab_size", "10"), "duplicate key 'vocab_size'"},
    {"{'model_type': []}", "'model_type' must be a text, found a list"},
    {"{'model_type': 'llava', 'text_config': {'model_type': {}}}",
     "'model_type' must be a text, found a map"},
    {"{'model_type': 'qwen2_vl', 'vision_config': {'model_type': []}}",
     "'model_type' must be a text, found a list"},
    {"{'model_type': 'qwen2_vl', 'num_hidden_layers': 2, 'hidden_size': 64, 'vocab_size': 9, "
     "'num_attention_heads': 4, "
     "'max_position_embeddings': 8, 'vision_config': {'depth': 2, 'embed_dim': 2147483647, "
     "'num_heads': 2, "
     "'patch_size': 2, 'spatial_merge_size': 2147483647}}",
     "the config is not a valid model"},
};

static void test_kinds(void) {
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *json = g_strdelimit(g_strdup(kinds[i].config), "'", '"');
    assert_refused(json, kinds[i].wanted, ORR_FAULT_DOCUMENT);
  }
  /* Null is as good as an absent key, and a whole number may be written with a point. */
  static const char *const fine[] = {
      LLAMA_WITH("hidden_act", "null"), LLAMA_WITH("head_dim", "16.0"),
      LLAMA_WITH("layer_types", "null"), LLAMA_WITH("text_config", "null")};
  for (guint i = 0; i < G_N_ELEMENTS(fine); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *json = g_strdelimit(g_strdup(fine[i]), "'", '"'), *path = written(json),
                    *left_out = NULL, *warnings = NULL;
    g_autofree char *document = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_no_error(error);
  }
}

/* What is not mapped becomes a comment: no line end of its text, of any kind, lets it out. */
static void test_comments(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *json = g_strdelimit(
      g_strdup(LLAMA_WITH("odd", "'a\\u2028layers: 3\\u0085heads: 7\\u0003\\nvocab: 1'")), "'",
      '"');
  g_autofree char *path = written(json), *left_out = NULL, *warnings = NULL;
  g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
  g_unlink(path);
  g_assert_no_error(error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "imported.yaml", diags);
  g_assert_nonnull(node);
  g_assert_cmpstr(orr_node_get_text(node, "layers"), ==, "2");
  g_assert_cmpstr(orr_node_get_text(node, "heads"), ==, "4");
}

/* Layers by the list of their kinds alone; Infinity, which Python writes; a text config without the
 * keys that have their default: 256 wide heads, 256 experts, three linear layers to one of
 * attention. */
static void test_released_forms(void) {
  static const struct {
    const char *config, *part;
  } forms[] = {
      {LLAMA_WITH("time_step_limit", "[0.0, Infinity]"), "\nlayers: 2\n"},
      {LLAMA_WITH("rope_theta", "NaN"), "\nlayers: 2\n"},
      {"{'model_type': 'nemotron_h', 'hidden_size': 64, 'num_attention_heads': 4, "
       "'vocab_size': 9, 'max_position_embeddings': 8, 'intermediate_size': 128, "
       "'mamba_num_heads': 4, 'mamba_head_dim': 16, 'ssm_state_size': 16, 'n_groups': 1, "
       "'layers_block_type': ['mamba', 'mlp', 'mamba', 'attention', 'mlp']}",
       "\nlayers: 5\n"},
      {"{'model_type': 'nemotron_h', 'hidden_size': 64, 'num_attention_heads': 4, "
       "'vocab_size': 9, 'max_position_embeddings': 8, 'intermediate_size': 128, "
       "'mamba_num_heads': 4, 'mamba_head_dim': 16, 'ssm_state_size': 16, 'n_groups': 1, "
       "'hybrid_override_pattern': 'M-M*-M-'}",
       "\nlayers: 7\n"},
      {"{'model_type': 'qwen3_5_moe', 'text_config': {'model_type': 'qwen3_5_moe_text', "
       "'num_hidden_layers': 8, 'mtp_num_hidden_layers': 1}}",
       "\nlayout:\n- 3 linear+moe\n- attention+moe\n"},
      {"{'model_type': 'qwen3_5_moe', 'text_config': {'model_type': 'qwen3_5_moe_text', "
       "'num_hidden_layers': 8, 'mtp_num_hidden_layers': 1}}",
       "\nhead-dim: 256\n"},
      {"{'model_type': 'qwen3_5', 'text_config': {'num_hidden_layers': 8, 'hidden_size': 64, "
       "'num_attention_heads': 4, 'vocab_size': 9, 'max_position_embeddings': 8, "
       "'intermediate_size': 128, 'mtp_num_hidden_layers': 1}}",
       "\nmtp-layers: 1\n"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *json = g_strdelimit(g_strdup(forms[i].config), "'", '"'),
                    *path = written(json), *left_out = NULL, *warnings = NULL;
    g_autofree char *text = orr_import_huggingface(path, NULL, &left_out, &warnings, &error);
    g_unlink(path);
    g_assert_no_error(error);
    if (!strstr(text, forms[i].part)) g_error("'%s' is missing in:\n%s", forms[i].part, text);
  }
}

static void test_no_file(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *left_out = NULL, *warnings = NULL;
  g_assert_null(orr_import_huggingface("/nowhere/config.json", NULL, &left_out, &warnings, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
}

/* Types are alphabetical, so that a new one has its place. */
static void test_types_are_alphabetical(void) {
  g_autofree char *names = orr_huggingface_type_names();
  g_auto(GStrv) words = g_strsplit(names, ", ", -1);
  for (guint i = 1; words[i]; i++) g_assert_cmpstr(words[i - 1], <, words[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/import-huggingface/makes-the-zoo", test_makes_the_zoo);
  g_test_add_func("/import-huggingface/left-out", test_left_out);
  g_test_add_func("/import-huggingface/others", test_others);
  g_test_add_func("/import-huggingface/refused", test_refused);
  g_test_add_func("/import-huggingface/formats", test_formats);
  g_test_add_func("/import-huggingface/layers-refused", test_layers_refused);
  g_test_add_func("/import-huggingface/kinds", test_kinds);
  g_test_add_func("/import-huggingface/comments", test_comments);
  g_test_add_func("/import-huggingface/released-forms", test_released_forms);
  g_test_add_func("/import-huggingface/no-file", test_no_file);
  g_test_add_func("/import-huggingface/types-are-alphabetical", test_types_are_alphabetical);
  g_test_add_func("/import-huggingface/unknown-type", test_unknown_type);
  return g_test_run();
}
