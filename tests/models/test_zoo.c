/* test_zoo.c - every shipped model is read without a finding, and is as large as published. */
#include <string.h>

#include "models/model.h"
#include "sim/base/library.h"
#include "sim/base/library_alias.h"
#include "sim/base/yaml.h"
#include "models/quantization.h"
#include "sim/run/scenario.h"
#include "workloads/serving/serving.h"
#include "tests/run/shared_library.h"

static void read_zoo_model(OrrLibrary *library, const char *name, OrrModel *ret_model) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace place = {.file = name};
  g_autoptr(OrrNode) node = orr_library_load(library, "model", name, place, diags);
  if (node) {
    orr_field_read(&orr_model_table, node, library, diags, ret_model);
    orr_model_settle(ret_model, node->place, diags);
  }
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, ""); /* warnings too: 'parameters' is within 5 % of the count */
}

static void test_all_are_sound(void) {
  OrrLibrary *library = shared_library();
  g_auto(GStrv) names = orr_library_names(library, "model");
  g_assert_cmpuint(g_strv_length(names), >=, 100);
  for (guint i = 0; names[i]; i++) {
    OrrModel model;
    read_zoo_model(library, names[i], &model);
    g_assert_cmpstr(model.name, ==, names[i]);
    g_assert_nonnull(model.source);
    g_assert_cmpfloat(model.parameters, >, 0);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* Sums of the tensors of the published checkpoints. */
static void test_llamas_are_exact(void) {
  static const struct {
    const char *name;
    double parameters;
  } published[] = {
      {"llama-2-7b", 6738415616},     {"llama-2-13b", 13015864320},
      {"llama-2-70b", 68976648192},   {"llama-3-8b", 8030261248},
      {"llama-3-70b", 70553706496},   {"llama-3.1-8b", 8030261248},
      {"llama-3.1-70b", 70553706496}, {"llama-3.1-405b", 405853388800},
  };
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    OrrModel model;
    read_zoo_model(library, published[i].name, &model);
    g_assert_cmpfloat(orr_model_parameters(&model), ==, published[i].parameters);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* SC21, table 1, prints billions with one digit; its formula leaves out the final norm's 2 h. */
static void test_sc21_to_the_printed_digit(void) {
  static const struct {
    const char *name;
    const char *printed;
  } table[] = {
      {"megatron-1.7b", "1.7"},   {"megatron-3.6b", "3.6"},   {"megatron-7.5b", "7.5"},
      {"megatron-18b", "18.4"},   {"megatron-39b", "39.1"},   {"megatron-76b", "76.1"},
      {"megatron-145b", "145.6"}, {"megatron-310b", "310.1"}, {"megatron-530b", "529.6"},
      {"megatron-1t", "1008.0"},
  };
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
    OrrModel model;
    read_zoo_model(library, table[i].name, &model);
    g_autofree char *text =
        g_strdup_printf("%.1f", (orr_model_parameters(&model) - 2.0 * model.hidden) / 1e9);
    g_assert_cmpstr(text, ==, table[i].printed);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* Published counts, in billions: papers and model cards as each file of the zoo says; of Kimi K2
 * (1.04T on its card) and Llama 4 (109B, 400B) the checkpoints' tensors, the latter's with 0.9
 * billion of a vision tower. Total within 1 %; active within 3 %, with or without the tables of
 * the vocabulary as the publisher counts (0: not published). */
static const struct {
  const char *name;
  double total, active;
  int left_out; /* tables of the vocabulary that the count of active parameters leaves out */
} counts[] = {
    {"deepseek-v2", 236, 21, 0},
    {"deepseek-v2-lite", 15.7, 2.4, 1},
    {"deepseek-v3", 671, 37, 0},
    {"kimi-k2", 1026, 32.6, 0},
    {"glm-5", 744, 40, 1},
    {"mixtral-8x7b", 46.7, 12.9, 0},
    {"mixtral-8x22b", 140.6, 39.1, 0},
    {"grok-1", 314, 0, 0},
    {"qwen3-30b-a3b", 30.5, 3.3, 0},
    {"qwen3-235b-a22b", 235, 22, 0},
    {"qwen3-32b", 32.8, 0, 0},
    {"qwen3-8b", 8.2, 0, 0},
    {"qwen2.5-7b", 7.61, 0, 0},
    {"qwen2.5-72b", 72.7, 0, 0},
    {"llama-4-scout", 108.6, 17, 0},
    {"llama-4-maverick", 401.6, 17, 0},
    {"gpt-oss-120b", 116.83, 5.13, 1},
    {"gpt-oss-20b", 20.91, 3.61, 1},
    {"minimax-m2", 229, 10, 2},
    {"minimax-text-01", 456, 45.9, 2},
    {"nemotron-4-15b", 15.6, 0, 0},
    {"nemotron-4-340b", 341, 0, 0},
    {"nemotron-h-8b", 8.1, 0, 0},
    {"nemotron-nano-9b-v2", 8.89, 0, 0},
    {"nemotron-3-nano-30b-a3b", 31.6, 3.6, 0},
    {"gemma-2-9b", 9.24, 0, 0},
    {"gemma-2-27b", 27.2, 0, 0},
    {"gemma-3-27b", 27.0, 0, 0},
    {"phi-3-mini", 3.82, 0, 0},
    {"phi-4", 14.66, 0, 0},
    {"mistral-7b", 7.25, 0, 0},
    {"mistral-nemo-12b", 12.25, 0, 0},
    {"bloom-176b", 176.25, 0, 0},
    {"opt-175b", 175, 0, 0},
    {"palm-540b", 540.35, 0, 0},
    {"gpt-j-6b", 6.05, 0, 0},
    {"yi-34b", 34.4, 0, 0},
    {"codellama-34b", 33.7, 0, 0},
    {"qwen2-vl-7b", 8.29, 0, 0},
    {"llava-1.5-7b", 7.06, 0, 0},
    {"qwen3-next-80b-a3b", 80, 0, 0},
    {"qwen3-coder-480b-a35b", 480, 35, 0},
    {"qwen3.5-397b-a17b", 397, 17, 0},
    {"nemotron-nano-12b-v2", 12.31, 0, 0},
    {"nemotron-3-super-120b-a12b", 120.6, 12.7, 0},
    {"kimi-k3", 2800, 104, 1},
    {"longcat-flash", 560, 27, 1},
    {"step3", 316, 38, 1},
    {"llama-3.3-nemotron-super-49b", 49.87, 0, 0},
    {"rwkv-7-1.5b", 1.527, 0, 0},
    {"rwkv-7-0.4b", 0.4508, 0, 0},
};

static void test_published_counts(void) {
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    OrrModel model;
    read_zoo_model(library, counts[i].name, &model);
    double total = orr_model_parameters(&model) / 1e9,
           table = (double)model.vocab * model.hidden / 1e9;
    double active = orr_model_active_parameters(&model) / 1e9 - counts[i].left_out * table;
    g_test_message("%s: %.4g of %.4g billion, active %.4g of %.4g", counts[i].name, total,
                   counts[i].total, active, counts[i].active);
    g_assert_cmpfloat_with_epsilon(total / counts[i].total, 1, 0.01);
    if (counts[i].active > 0) g_assert_cmpfloat_with_epsilon(active / counts[i].active, 1, 0.03);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* llm-foundry's benchmarking README prints n_params of MPT at 2,048 tokens to the last digit;
 * the final norm's bias. */
static void test_mpt_is_exact(void) {
  static const struct {
    const char *name;
    double parameters;
  } published[] = {
      {"mpt-125m", 125311488},  {"mpt-350m", 355985408},  {"mpt-760m", 760470528},
      {"mpt-1b", 1315950592},   {"mpt-3b", 2651837440},   {"mpt-7b", 6658859008},
      {"mpt-13b", 12853954560}, {"mpt-30b", 29975214080},
  };
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    OrrModel model;
    read_zoo_model(library, published[i].name, &model);
    g_assert_cmpfloat(orr_model_parameters(&model), ==, published[i].parameters);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* Bytes that a token leaves in the cache, bf16: DeepSeek-AI 2025 (arXiv 2505.09343, table 1):
 * DeepSeek-V3 70.272 kB, Qwen2.5-72B 327.680, Llama 3.1 405B 516.096. Mixtral 8x7B: 2 8 128 2 32
 * = 131,072. Of Nemotron-H's 52 blocks 4 keep keys and values, 2 8 128 2 4; each Mamba-2 block a
 * state of 128 64 128 in fp32 and three tokens of 10,240 channels. */
static void test_kv_bytes(void) {
  static const struct {
    const char *name;
    double bytes;
  } published[] = {{"deepseek-v3", 70272},
                   {"qwen2.5-72b", 327680},
                   {"llama-3.1-405b", 516096},
                   {"mixtral-8x7b", 131072},
                   {"nemotron-h-8b", 16384}};
  OrrLibrary *library = shared_library();
  OrrModel model;
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    read_zoo_model(library, published[i].name, &model);
    g_assert_cmpfloat(orr_model_kv_bytes_per_token(&model, 2), ==, published[i].bytes);
    g_assert_cmpfloat(orr_model_kv_bytes_per_token(&model, 1), ==, published[i].bytes / 2);
    orr_field_clear(&orr_model_table, &model);
  }
  read_zoo_model(library, "nemotron-h-8b", &model);
  g_assert_cmpfloat(orr_model_state_bytes(&model, 0, 2), ==,
                    4 * 128 * 64 * 128.0 + 2 * 3 * (8192 + 2048));
  g_assert_cmpfloat(orr_model_kv_bytes(&model, 0, 2), ==, 0);
  orr_field_clear(&orr_model_table, &model);
}

/* DeepSeek-AI 2025 (arXiv 2505.09343, table 2): training FLOPs per token at 4,096 tokens,
 * attention causal: DeepSeek-V3 250 GFLOP, DeepSeek-V2 155, Llama 3.1 405B 2,448 (its row of
 * Qwen2.5-72B, 394, is less than 6 a parameter). Here the causal half is not taken off, and
 * multi-token prediction is counted in: without both, within 1.5 %. */
static void test_published_flops(void) {
  static const struct {
    const char *name;
    double gflop;
  } published[] = {{"deepseek-v3", 250}, {"deepseek-v2", 155}, {"llama-3.1-405b", 2448}};
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    OrrModel model;
    read_zoo_model(library, published[i].name, &model);
    model.mtp_layers = 0;
    double flops = orr_model_flops(&model, 1, 4096);
    for (guint kind = 0; kind < orr_model_n_layer_kinds(&model); kind++)
      flops -=
          3 * orr_model_kind_layers(&model, kind) * orr_model_core_flops(&model, kind, 1, 4096) / 2;
    g_test_message("%s: %.4g of %.4g GFLOP", published[i].name, flops / 4096e9, published[i].gflop);
    g_assert_cmpfloat_with_epsilon(flops / 4096e9 / published[i].gflop, 1, 0.015);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* Kaplan et al. 2020 (arXiv 2001.08361): a forward is 2 FLOPs per token for each parameter that it
 * multiplies by, attention's products with each other left out. Those are the active ones but
 * for the look-up of the input table (tied, it is the output layer too) and learned positions;
 * norms, biases and convolutions are within 2 %. Of every model of the zoo that reads tokens
 * alone. */
static void test_all_flops_follow_parameters(void) {
  OrrLibrary *library = shared_library();
  g_auto(GStrv) names = orr_library_names(library, "model");
  guint n = 0;
  for (guint i = 0; names[i]; i++) {
    OrrModel model;
    read_zoo_model(library, names[i], &model);
    const double table = model.tied_embeddings ? 0 : (double)model.vocab * model.hidden;
    const double positions =
        model.position == ORR_POSITION_LEARNED ? (double)model.context * model.hidden : 0;
    model.mtp_layers = 0;
    const double multiplied = orr_model_active_parameters(&model) - table - positions;
    const double flops = orr_model_matrix_flops(&model, 1, 1024) / 1024;
    g_test_message("%s: %.4g of %.4g", names[i], flops, 2 * multiplied);
    if (model.encoder.layers == 0)
      g_assert_cmpfloat_with_epsilon(flops / (2 * multiplied), 1, 0.02);
    n += model.encoder.layers == 0;
    orr_field_clear(&orr_model_table, &model);
  }
  g_assert_cmpuint(n, >=, 100);
}

/* Released layers of multi-token prediction, without the embedding and the output layer that they
 * share, in billions: README_WEIGHTS.md of DeepSeek-V3 (11.5); 299 - 295 of Hunyuan 3; the
 * checkpoint's 81.3 - 79.67 of Qwen3-Next. To the last printed digit. */
static void test_prediction_layers(void) {
  static const struct {
    const char *name;
    double published, digit;
  } models[] = {
      {"deepseek-v3", 11.5, 0.12}, {"hy3-preview", 4, 0.5}, {"qwen3-next-80b-a3b", 1.63, 0.05}};
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    OrrModel model;
    read_zoo_model(library, models[i].name, &model);
    g_assert_cmpfloat_with_epsilon(orr_model_mtp_parameters(&model) / 1e9, models[i].published,
                                   models[i].digit);
    orr_field_clear(&orr_model_table, &model);
  }
}

/* No two documents claim a name; every alias leads to the document that has it, and the format that
 * comes with it is one that a served model can have. */
static void test_aliases(void) {
  OrrLibrary *library = shared_library();
  g_auto(GStrv) names = orr_library_names(library, "model");
  g_autofree char *conflict = NULL;
  g_autoptr(OrrLibraryAliases) aliases = orr_library_aliases_new(library, "model", &conflict);
  g_assert_cmpstr(conflict, ==, NULL);
  guint n = 0;
  for (guint i = 0; names[i]; i++) {
    OrrModel model;
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autofree char *path = orr_library_path(library, "model", names[i]);
    read_zoo_model(library, names[i], &model);
    g_autoptr(OrrNode) own = orr_yaml_read_file(path, diags);
    for (char **alias = orr_node_get(own, "aliases") ? model.aliases : NULL; alias && *alias;
         alias++, n++) {
      g_auto(GStrv) parts = g_strsplit(*alias, " ", 2);
      const char *words = NULL;
      g_assert_cmpstr(orr_library_alias(library, "model", parts[0], &words), ==, names[i]);
      g_assert_cmpstr(words, ==, parts[1] ? parts[1] : "");
      g_assert_true(!*words || g_strv_contains(orr_quantization_words, words));
    }
    orr_field_clear(&orr_model_table, &model);
  }
  g_assert_cmpuint(n, >=, 100);
}

/* Case does not matter, a suffix gives a format, and a copy of another organisation is found; a
 * document's own name is not an alias, and an unknown one stays unknown. */
static void test_aliases_of_strangers(void) {
  static const struct {
    const char *name, *document, *words;
  } known[] = {
      {"Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b", "fp8-block"},
      {"qwen/qwen3-235b-a22b-thinking-2507", "qwen3-235b-a22b-2507", ""},
      {"nvidia/Qwen3-32B-NVFP4", "qwen3-32b", "nvfp4"},
      {"RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b", "fp8"},
      {"meta-llama/Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b-fp8", ""},
      {"nvidia/Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b", "fp8"},
      {"unsloth/DeepSeek-R1-BF16", "deepseek-r1", "none"},
      {"hugging-quants/Llama-3.1-8B-Instruct-AWQ", "llama-3.1-8b", "awq"},
      {"openai/gpt-oss-120b", "gpt-oss-120b", "mxfp4"},
      {"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1", "fp8-block"},
      {"Qwen3-8B", "qwen3-8b", ""},
      {"qwen3-8b", NULL, NULL},
      {"Qwen/Qwen9-8B-FP8", NULL, NULL},
      {"./qwen3-8b.yaml", NULL, NULL},
  };
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
    const char *words = NULL;
    g_test_message("%s", known[i].name);
    g_assert_cmpstr(orr_library_alias(library, "model", known[i].name, &words), ==,
                    known[i].document);
    g_assert_cmpstr(words, ==, known[i].words);
  }
}

static OrrScenario *read_scenario(OrrLibrary *library, const char *model, const char *workload) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text =
      g_strdup_printf("{schema: scenario/1, name: t, cluster: {base: dgx-h100-superpod, nodes: 1}, "
                      "model: %s, workload: {%s, load: {kind: closed-loop, concurrency: 1}, "
                      "input: {kind: constant, tokens: 8}, output: {kind: constant, tokens: 8}}}",
                      model, workload);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "t.yaml", diags);
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return scenario;
}

/* The checkpoint's format serves where the workload does not say one, with a stack and without. */
static void test_format_of_a_checkpoint(void) {
  static const struct {
    const char *model, *workload;
    int quantization, precision;
  } cases[] = {
      {"Qwen/Qwen3-30B-A3B-FP8", "kind: serving, stack: none", ORR_QUANTIZATION_FP8_BLOCK,
       ORR_BF16},
      {"Qwen/Qwen3-30B-A3B-FP8", "kind: serving", ORR_QUANTIZATION_FP8_BLOCK, ORR_BF16},
      {"{base: Qwen/Qwen3-30B-A3B-FP8, context: 4096}", "kind: serving", ORR_QUANTIZATION_FP8_BLOCK,
       ORR_BF16},
      {"Qwen/Qwen3-30B-A3B-FP8", "kind: serving, precision: fp8", ORR_QUANTIZATION_NONE, ORR_FP8},
      {"Qwen/Qwen3-30B-A3B-FP8", "kind: serving, precision: bf16", ORR_QUANTIZATION_NONE, ORR_BF16},
      {"Qwen/Qwen3-30B-A3B", "kind: serving", ORR_QUANTIZATION_NONE, ORR_BF16},
      {"openai/gpt-oss-120b", "kind: serving, parallel: {tp: 4}", ORR_QUANTIZATION_MXFP4, ORR_BF16},
      /* as the model's document says that it is published */
      {"minimax-m2.5", "kind: serving, parallel: {tp: 4}", ORR_QUANTIZATION_FP8_BLOCK, ORR_BF16},
      {"MiniMaxAI/MiniMax-M2.5", "kind: serving, parallel: {tp: 4}", ORR_QUANTIZATION_FP8_BLOCK,
       ORR_BF16},
      {"any/MiniMax-M2.5-BF16", "kind: serving, parallel: {tp: 8}", ORR_QUANTIZATION_NONE,
       ORR_BF16},
      {"{base: minimax-m2.5, checkpoint: {quantization: nvfp4-weights}}",
       "kind: serving, parallel: {tp: 8}", ORR_QUANTIZATION_NVFP4_WEIGHTS, ORR_BF16},
  };
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_test_message("%s, %s", cases[i].model, cases[i].workload);
    g_autoptr(OrrScenario) scenario = read_scenario(library, cases[i].model, cases[i].workload);
    const OrrServing *serving = scenario->workload.params;
    g_assert_cmpint(serving->formats.quantization, ==, cases[i].quantization);
    g_assert_cmpint(serving->formats.precision, ==, cases[i].precision);
  }
}

static void test_base_gives_dimensions(void) {
  OrrLibrary *library = shared_library();
  OrrModel megatron, gpt3;
  read_zoo_model(library, "megatron-175b", &megatron);
  read_zoo_model(library, "gpt3-175b", &gpt3);
  g_assert_cmpfloat(orr_model_parameters(&megatron), ==, orr_model_parameters(&gpt3));
  g_assert_cmpint(megatron.heads, ==, 96);
  g_assert_nonnull(strstr(megatron.source, "Korthikanti"));
  orr_field_clear(&orr_model_table, &megatron);
  orr_field_clear(&orr_model_table, &gpt3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/zoo/sound", test_all_are_sound);
  g_test_add_func("/zoo/llamas-exact", test_llamas_are_exact);
  g_test_add_func("/zoo/sc21", test_sc21_to_the_printed_digit);
  g_test_add_func("/zoo/published-counts", test_published_counts);
  g_test_add_func("/zoo/mpt-exact", test_mpt_is_exact);
  g_test_add_func("/zoo/kv-bytes", test_kv_bytes);
  g_test_add_func("/zoo/published-flops", test_published_flops);
  g_test_add_func("/zoo/all-flops", test_all_flops_follow_parameters);
  g_test_add_func("/zoo/aliases", test_aliases);
  g_test_add_func("/zoo/prediction-layers", test_prediction_layers);
  g_test_add_func("/zoo/aliases-of-strangers", test_aliases_of_strangers);
  g_test_add_func("/zoo/format-of-a-checkpoint", test_format_of_a_checkpoint);
  g_test_add_func("/zoo/base", test_base_gives_dimensions);
  return g_test_run();
}
