/*
 * test_launch_server.c - lines that start servers, in tests/import/launch: each becomes a scenario
 * that the reader of scenarios accepts, with every key accounted for.
 *
 * Commands are split here as GLib splits them, so that the test does not depend on the reader of
 * shell scripts.
 */
#include <glib.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"
#include "sim/run/scenario.h"

typedef struct {
  OrrLibrary *library;
  OrrLaunchDraft *draft;
} Case;

static void free_word(gpointer data) {
  g_free(((OrrLaunchWord *)data)->text);
  g_free(data);
}

static void free_command(gpointer data) {
  OrrLaunchCommand *command = data;
  g_ptr_array_unref(command->words);
  g_ptr_array_unref(command->environment);
  g_free(command);
}

/* One command: assignments in front, then words; what redirects ends it. */
static OrrLaunchCommand *command_of(const char *text, const char *file, int line) {
  g_auto(GStrv) words = NULL;
  OrrLaunchCommand *command = g_new0(OrrLaunchCommand, 1);
  command->words = g_ptr_array_new_with_free_func(free_word);
  command->environment = g_ptr_array_new_with_free_func(free_word);
  if (!g_shell_parse_argv(text, NULL, &words, NULL)) return command;
  for (char **word = words; *word; word++) {
    if (strcmp(*word, "&") == 0 || strcmp(*word, ">") == 0) break;
    const gboolean is_variable =
        command->words->len == 0 && strchr(*word, '=') && g_ascii_isupper(**word);
    if (strcmp(*word, "export") == 0) continue;
    OrrLaunchWord *copy = g_new0(OrrLaunchWord, 1);
    copy->text = g_strdup(*word);
    copy->place = (OrrPlace){.file = g_intern_string(file), .line = line, .column = 1};
    g_ptr_array_add(is_variable ? command->environment : command->words, copy);
  }
  return command;
}

/* The commands of a script: logical lines, and quotes that cross lines. */
static GPtrArray *commands_of(const char *text, const char *file) {
  GPtrArray *commands = g_ptr_array_new_with_free_func(free_command);
  g_autoptr(GString) logical = g_string_new(NULL);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    if (logical->len == 0 && lines[i][0] == '#') continue;
    g_string_append(logical, lines[i]);
    const gboolean continues = logical->len > 0 && logical->str[logical->len - 1] == '\\';
    if (continues) logical->str[logical->len - 1] = ' ';
    g_autoptr(GError) error = NULL;
    if (continues || (!g_shell_parse_argv(logical->str, NULL, NULL, &error) &&
                      !g_error_matches(error, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING)))
      continue;
    OrrLaunchCommand *command = command_of(logical->str, file, (int)i + 1);
    g_string_truncate(logical, 0);
    if (orr_launch_server_knows(command))
      g_ptr_array_add(commands, command);
    else
      free_command(command);
  }
  return commands;
}

static void read_commands(Case *own, const char *text, const char *file) {
  g_autoptr(GPtrArray) commands = commands_of(text, file);
  orr_launch_server_group_read(own->draft, commands);
  orr_launch_draft_apply(own->draft);
}

static Case read_text(const char *text, const char *file, const char *config,
                      const OrrLaunchOptions *options) {
  Case own = {.library = orr_library_new(NULL)};
  own.draft = orr_launch_draft_new(own.library, options);
  if (config) {
    g_autofree char *path = g_build_filename(ORR_SOURCE_DIR, "tests/import/launch", config, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(orr_launch_form_add_file(own.draft, path, &error));
  }
  read_commands(&own, text, file);
  return own;
}

static void clear(Case *own) {
  orr_launch_draft_free(own->draft);
  orr_library_free(own->library);
}

typedef struct {
  const char *file, *config, *cluster;
  const char *expect[8]; /* lines that the scenario holds, without their comments */
} Line;

static const Line lines[] = {
    {"serve-vllm-qwen3-32b-tp2.sh",
     NULL,
     "dgx-h100-superpod",
     {"stack: vllm-0.11", "model: Qwen/Qwen3-32B", "tp: 2", "concurrency: 32", "requests: 320",
      "tokens: 161", "gpus: 2"}},
    {"serve-sglang-deepseek-r1-h200.sh",
     NULL,
     "aws-p5en",
     {"gpu-memory-utilization: 0.82", "reserved: 1.4 GiB", "chunked-prefill-size: 32768",
      "max-num-seqs: 512", "prefix-caching: none", "kind: uniform-up-to", "ratio: 0.8",
      "stream-interval: 10"}},
    {"serve-sglang-deepseek-r1-b200.sh",
     NULL,
     "dgx-b200-superpod",
     {"recv-interval: 30", "max-num-seqs: 128", "cuda-graph-max-size: 128", "kv-dtype: fp8",
      "chunked-prefill-size: 32768", "stream-interval: 30", "concurrency: 64"}},
    {"serve-trtllm-deepseek-r1-b200.sh",
     "dsr1-fp4.yml",
     "dgx-b200-superpod",
     {"dp-attention: 8", "ep: 8", "kv-dtype: fp8", "cache-fraction: 0.8",
      "balance-timeout-iters: 60", "cuda-graph-max-size: 64", "concurrency: 64"}},
    {"serve-vllm-gpt-oss.sh",
     "gpt-oss.yaml",
     "dgx-h100-superpod",
     {"async: true", "prefix-caching: none", "cuda-graph-max-size: 512",
      "cuda-graph-prompts: false", "max-model-len: 10240", "tp: 4"}},
    {"serve-sglang-llama-70b.sh",
     NULL,
     "dgx-h100-superpod",
     {"stack: sglang-0.5", "tp: 8", "kind: uniform-up-to", "ratio: 0", "concurrency: 16"}},
    {"serve-vllm-deepseek-dp-ep.sh",
     NULL,
     "dgx-h100-superpod",
     {"dp-attention: 16", "ep: 16", "nodes: 2", "all-to-all: deepep-low-latency",
      "max-model-len: 8000", "processes: 4", "kv-dtype: fp8"}},
    {"serve-vllm-eagle3.sh",
     NULL,
     "dgx-h100-superpod",
     {"kind: eagle", "num-speculative-tokens: 3", "joined: 3", "kind: poisson", "rate: 4",
      "gpus: 1", "kind: exponential"}},
    {"serve-sglang-deepseek-dp-mtp.sh",
     NULL,
     "aws-p5en",
     {"dp-attention: 8", "kind: mtp", "num-speculative-tokens: 2", "max-num-seqs: 32",
      "cuda-graph-max-size: 32", "longest-prefix-first: false", "decodes: 2", "nodes: 1"}},
    {"serve-vllm-prefill-decode.sh",
     NULL,
     "dgx-h100-superpod",
     {"prefill: 1", "replicas: 1", "groups: [{replicas: 1, parallel: {tp: 2}}]", "gpus: 3",
      "shared-prefix: 200", "rate: 8"}},
    {"serve-sglang-prefill-decode.sh",
     NULL,
     "dgx-h100-superpod",
     {"prefill: 2", "replicas: 2", "gpus: 4",
      "groups: [{replicas: 2, engine: {max-num-seqs: 128}}]"}},
    {"serve-trtllm-aiperf.sh",
     NULL,
     "dgx-h100-superpod",
     {"tp: 4", "max-num-seqs: 128", "max-num-batched-tokens: 16384", "kind: normal", "sigma: 0.1",
      "concurrency: 16"}},
    {"serve-trtllm-bench.sh",
     NULL,
     "dgx-h100-superpod",
     {"stack: trtllm-1.0", "tp: 2", "concurrency: 1500", "requests: 1500", "cache-fraction: 0.95",
      "tokens: 1000"}},
    {"serve-vllm-guidellm.sh",
     NULL,
     "dgx-h100-superpod",
     {"kind: constant", "rate: 5", "requests: 150", "tokens: 256", "max-model-len: 2000"}},
    {"serve-vllm-awq-lora.sh",
     NULL,
     "dgx-h100-superpod",
     {"adapters: 3", "max-loras: 2", "rank: 32", "targets: [qkv, projection, fc1, fc2]",
      "cuda-graph-max-size: 0", "chunked-prefill: true", "model: Qwen/Qwen2.5-7B-Instruct-AWQ",
      "kind: poisson"}},
};

/* Whether @text has @line, indented or not, followed by its end or a comment. */
static gboolean has_line(const char *text, const char *line) {
  g_auto(GStrv) all = g_strsplit(text, "\n", -1);
  for (char **one = all; *one; one++) {
    char *comment = strstr(*one, "  #");
    if (comment) *comment = '\0';
    if (strcmp(g_strstrip(*one), line) == 0) return TRUE;
  }
  return FALSE;
}

static void check_scenario(OrrLibrary *library, const char *text) {
  OrrDiags *diags = orr_diags_new();
  OrrNode *tree = orr_yaml_parse(text, strlen(text), "imported", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  g_autofree char *findings = orr_diags_text(diags);
  if (!scenario) g_test_message("%s\n%s", text, findings);
  g_assert_nonnull(scenario);
  orr_scenario_free(scenario);
  orr_node_free(tree);
  orr_diags_free(diags);
}

static void test_line(gconstpointer data) {
  const Line *line = data;
  const OrrLaunchOptions options = {.cluster = line->cluster};
  g_autofree char *path = g_build_filename(ORR_SOURCE_DIR, "tests/import/launch", line->file, NULL);
  g_autofree char *script = NULL;
  g_assert_true(g_file_get_contents(path, &script, NULL, NULL));
  Case own = read_text(script, line->file, line->config, &options);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < G_N_ELEMENTS(line->expect) && line->expect[i]; i++) {
    if (!has_line(text, line->expect[i])) g_test_message("%s lacks\n%s", text, line->expect[i]);
    g_assert_true(has_line(text, line->expect[i]));
  }
  g_autofree char *account = orr_launch_draft_account(own.draft);
  g_assert_null(strstr(account, ": unknown\n"));
  if (g_test_verbose()) g_test_message("%s\n%s", text, account);
  check_scenario(own.library, text);
  clear(&own);
}

/* --- Manifests --- */

static const Line manifests[] = {
    {"serve-deployment.yaml",
     NULL,
     NULL,
     {"base: dgx-h100-superpod", "stack: vllm-0.9", "replicas: 3", "tp: 2", "gpus: 6",
      "max-num-batched-tokens: 1024", "chunked-prefill: true"}},
    {"serve-leader-worker.yaml",
     NULL,
     "aws-p5en",
     {"stack: sglang-0.5", "tp: 16", "nodes: 2", "model: deepseek-ai/DeepSeek-R1"}},
    {"serve-compose.yaml",
     NULL,
     "dgx-h100-superpod",
     {"stack: vllm-0.11", "nvls: false", "max-model-len: 8192", "gpu-memory-utilization: 0.85",
      "model: Qwen/Qwen3-14B-AWQ", "gpus: 1"}},
    /* anchors, merge keys, a template and `extends`, as Compose files of many projects have them */
    {"serve-compose-anchors.yaml",
     NULL,
     "dgx-h100-superpod",
     {"stack: vllm-0.11", "tp: 2", "max-model-len: 8192", "max-num-seqs: 48", "gpus: 2",
      "model: Qwen/Qwen3-14B"}},
    /* of kserve/kserve, docs/samples: options of its own around vLLM's */
    {"serve-kserve.yaml",
     NULL,
     "dgx-h100-superpod",
     {"tp: 2", "max-model-len: 8192", "model: meta-llama/Llama-3.1-8B-Instruct"}},
    /* of kubernetes-sigs/lws: a script of the image beside the server */
    {"serve-leader-script.yaml",
     NULL,
     "dgx-h100-superpod",
     {"tp: 8", "pp: 2", "model: meta-llama/Llama-3.1-405B-Instruct"}},
    /* of llm-d-incubation/llm-d-modelservice, examples */
    {"serve-llm-d.yaml",
     NULL,
     "dgx-h100-superpod",
     {"prefill: 2", "groups: [{replicas: 1, parallel: {tp: 2}}]", "block-size: 128"}},
    /* ENTRYPOINT and CMD as lists, CMD continued; a version that RUN installs */
    {"Dockerfile.serve",
     NULL,
     "dgx-h100-superpod",
     {"stack: vllm-0.9", "tp: 2", "max-model-len: 16384",
      "model: mistralai/Mistral-7B-Instruct-v0.3"}},
    {"serve-skypilot.yaml",
     NULL,
     NULL,
     {"base: dgx-h100-superpod", "stack: vllm-0.9", "tp: 8", "replicas: 2", "nodes: 2"}},
    {"serve-dstack.yaml", NULL, NULL, {"base: aws-p5en", "stack: sglang-0.5", "tp: 2", "gpus: 2"}},
    {"serve-production-stack.yaml",
     NULL,
     "dgx-h100-superpod",
     {"stack: vllm-0.9", "replicas: 2", "tp: 2", "gpus: 4", "prefix-caching: none",
      "max-model-len: 16384", "gpu-memory-utilization: 0.8", "chunked-prefill: true"}},
    {"serve-trtllm-disaggregated.yaml",
     NULL,
     "dgx-h100-superpod",
     {"prefill: 2", "replicas: 2",
      "groups: [{replicas: 1, parallel: {tp: 2}, engine: {max-num-seqs: 256}}]", "gpus: 4",
      "async: false", "kv-dtype: fp8"}},
    {"serve-disaggregated.yaml",
     NULL,
     "dgx-h100-superpod",
     {"prefill: 1", "replicas: 3", "gpus: 3", "model: Qwen/Qwen3-0.6B"}},
};

static Case read_files(const char *const *names, const OrrLaunchOptions *options) {
  Case own = {.library = orr_library_new(NULL)};
  own.draft = orr_launch_draft_new(own.library, options);
  for (; *names; names++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(ORR_SOURCE_DIR, "tests", *names, NULL);
    g_assert_true(orr_launch_form_add_file(own.draft, path, &error));
  }
  orr_launch_form_read(own.draft);
  return own;
}

static void test_manifest(gconstpointer data) {
  const Line *line = data;
  const OrrLaunchOptions options = {.cluster = line->cluster};
  g_autofree char *name = g_build_filename("import/launch", line->file, NULL);
  const char *const names[] = {name, NULL};
  Case own = read_files(names, &options);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < G_N_ELEMENTS(line->expect) && line->expect[i]; i++) {
    if (!has_line(text, line->expect[i])) g_test_message("%s lacks\n%s", text, line->expect[i]);
    g_assert_true(has_line(text, line->expect[i]));
  }
  g_autofree char *account = orr_launch_draft_account(own.draft);
  if (g_test_verbose()) g_test_message("%s\n%s", text, account);
  check_scenario(own.library, text);
  clear(&own);
}

/* A script as bash would read it: variables, conditions, a config in two parts. */
static void test_script(void) {
  static char *variables[] = {"CONC=64", "TP=8", "DP_ATTENTION=true", NULL};
  static const char *const expected[] = {
      "dp-attention: 8",           "cuda-graph-max-size: 16",
      "balance-timeout-iters: 60", "max-num-batched-tokens: 8192",
      "concurrency: 64",           "requests: 640"};
  const OrrLaunchOptions options = {.cluster = "dgx-b200-superpod", .variables = variables};
  const char *const names[] = {"import/launch/serve-trtllm-heredoc.sh", NULL};
  Case own = read_files(names, &options);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
    if (!has_line(text, expected[i])) g_test_message("%s lacks\n%s", text, expected[i]);
    g_assert_true(has_line(text, expected[i]));
  }
  check_scenario(own.library, text);
  clear(&own);
}

/* --- Refusals --- */

static char *refusal(const char *text, const OrrLaunchOptions *options) {
  Case own = read_text(text, "paste.sh", NULL, options);
  g_autoptr(GError) error = NULL;
  g_autofree char *yaml = orr_launch_draft_scenario(own.draft, &error);
  g_assert_null(yaml);
  clear(&own);
  return g_strdup(error->message);
}

static void assert_refuses(const char *text, const char *part) {
  static const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  g_autofree char *message = refusal(text, &options);
  if (!strstr(message, part)) g_test_message("%s", message);
  g_assert_nonnull(strstr(message, part));
}

static void test_refusals(void) {
  assert_refuses("vllm serve Qwen/Qwen3-32B --max-nums-seq 3", "did you mean 'max-num-seqs'");
  assert_refuses("vllm serve Qwen/Qwen3-32B --max-nums-seq 3", "paste.sh:1:1");
  assert_refuses("vllm serve Qwen/Qwen3-33B", "the library has no model");
  assert_refuses("vllm serve Qwen/Qwen3-33B", "config.json");
  assert_refuses("vllm serve Qwen/Qwen3-32B -tp two", "'two' is not a whole number");
  assert_refuses("vllm serve Qwen/Qwen3-32B --quantization fp9", "did you mean 'fp8'");
  assert_refuses("vllm serve Qwen/Qwen3-32B --gpu-memory-utilization 90",
                 "not a fraction above 0 and at most 1");
  assert_refuses("vllm serve Qwen/Qwen3-32B --speculative-config '{\"method\"'",
                 "is not a JSON object");
  assert_refuses("vllm serve Qwen/Qwen3-32B --config nowhere.yaml", "give it as another FILE");
  assert_refuses("sglang serve --model-path Qwen/Qwen3-32B --tp 4 --dp 3 --enable-dp-attention",
                 "does not divide --tp-size");
  assert_refuses("trtllm-serve Qwen/Qwen3-32B extra", "does not take the argument 'extra'");
}

/* Half of a deployment: said, since nothing stands for the other half. */
static void test_half(void) {
  const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  Case own = read_text("sglang serve --model-path Qwen/Qwen3-8B --disaggregation-mode prefill\n",
                       "paste.sh", NULL, &options);
  g_autofree char *account = orr_launch_draft_account(own.draft);
  g_assert_nonnull(strstr(account, "not simulated  paste.sh:1  --disaggregation-mode prefill: "
                                   "the input has no counterpart"));
  clear(&own);
}

/* Names under which others publish a model, and what they say of its weights. */
static void test_names(void) {
  static const char *const names[][2] = {
      {"RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", "int8"},
      {"RedHatAI/Llama-3.1-8B-Instruct-quantized.w4a16", "gptq"},
      {"hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "awq"},
      {"neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8-KV", "fp8"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", ""},
  };
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    const char *words = NULL;
    g_assert_nonnull(orr_library_alias(library, "model", names[i][0], &words));
    g_assert_cmpstr(words, ==, names[i][1]);
  }
}

typedef struct {
  const char *line, *config; /* an hf_quant_config.json with it; NULL: none */
  const char *has, *has_not; /* lines of the scenario */
} Weights;

/* A local path is known by the name that the server gives the model; a checkpoint's own format
 * beats --dtype; ModelOpt's file says the format of a model that is named. */
static void test_formats(void) {
  static const char modelopt[] =
      "{\"producer\": {\"name\": \"modelopt\"}, \"quantization\": {\"quant_algo\": \"NVFP4\", "
      "\"exclude_modules\": [\"lm_head\", \"model.layers.*.self_attn*\"]}}";
  static const Weights cases[] = {
      {"vllm serve /models/mine --served-model-name Qwen/Qwen3-32B-FP8\n", NULL,
       "model: Qwen/Qwen3-32B-FP8", "precision: bf16"},
      {"vllm serve /models/qwen3-32b --served-model-name Qwen/Qwen3-32B-FP8 --dtype bfloat16\n",
       NULL, "model: Qwen/Qwen3-32B-FP8", "precision: bf16"},
      {"vllm serve /models/Qwen3-32B-FP8 --served-model-name Qwen/Qwen3-32B\n", NULL,
       "model: Qwen3-32B-FP8", "model: Qwen/Qwen3-32B"},
      {"vllm serve TheBloke/Llama-2-7B-Chat-AWQ --dtype half\n", NULL, "activations: fp16",
       "precision: fp16"},
      {"vllm serve Qwen/Qwen3-32B --dtype half\n", NULL, "precision: fp16", "checkpoint:"},
      {"vllm serve /models/qwen3-32b\n", modelopt,
       "checkpoint: {quantization: nvfp4, weights: {attention: none}}", "precision: bf16"},
  };
  const OrrLaunchOptions options = {.cluster = "dgx-b200-superpod"};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const Weights *one = &cases[i];
    Case own = {.library = orr_library_new(NULL)};
    own.draft = orr_launch_draft_new(own.library, &options);
    if (one->config)
      orr_launch_form_add_text(own.draft, "hf_quant_config.json", one->config, strlen(one->config));
    read_commands(&own, one->line, "paste.sh");
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
    g_assert_no_error(error);
    g_test_message("%s: %s", one->line, text);
    g_assert_true(has_line(text, one->has));
    g_assert_false(has_line(text, one->has_not));
    clear(&own);
  }
}

/* What several keys of one server say together is in its scenario, or refused. */
static void test_together(void) {
  static const struct {
    const char *line, *has[3];
  } rows[] = {
      {"vllm serve Qwen/Qwen3-32B --scheduling-policy priority --long-prefill-token-threshold "
       "2048\n",
       {"kind: priority", "long-prefill-token-threshold: 2048"}},
      {"vllm serve Qwen/Qwen3-32B --scheduling-policy priority --no-enable-chunked-prefill\n",
       {"kind: priority", "chunked-prefill: false"}},
      {"vllm serve Qwen/Qwen3-32B --no-enable-chunked-prefill --max-model-len 2048\n",
       {"max-num-batched-tokens: 8192", "chunked-prefill: false"}},
      {"vllm serve Qwen/Qwen3-32B --scheduling-policy fcfs --long-prefill-token-threshold 2048\n",
       {"kind: vllm", "long-prefill-token-threshold: 2048"}},
      {"sglang serve --model-path Qwen/Qwen3-32B --speculative-algorithm EAGLE "
       "--speculative-num-steps 5 --speculative-eagle-topk 8 --speculative-num-draft-tokens 64\n",
       {"num-speculative-tokens: 63", "depth: 5", "branches: 8"}},
      {"sglang serve --model-path Qwen/Qwen3-32B --speculative-algorithm EAGLE "
       "--speculative-eagle-topk 4 --speculative-num-draft-tokens 16\n",
       {"num-speculative-tokens: 15", "depth: 3", "branches: 4"}},
      {"sglang serve --model-path meta-llama/Llama-3.1-8B-Instruct --speculative-algorithm EAGLE "
       "--speculative-draft-model-path x/y\n",
       {"num-speculative-tokens: 7", "depth: 5", "branches: 4"}},
      {"vllm serve nvidia/Llama-3.3-70B-Instruct-FP4 -tp 2\n", {"quantization: nvfp4-weights"}},
      {"vllm serve deepseek-ai/DeepSeek-V3 -dp 32 --enable-expert-parallel --enable-eplb "
       "--num-redundant-experts 32\n",
       {"redundant-experts: 32", "expert-placement: packed"}},
      {"sglang serve --model-path Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-size 30 "
       "--hicache-storage-backend mooncake --hicache-storage-prefetch-policy timeout\n",
       {"host: 30 GB"}},
      {"trtllm-serve Qwen/Qwen3-8B --max_num_tokens 2048\n",
       {"kind: trtllm", "chunked-prefill: false"}},
      {"trtllm-serve Qwen/Qwen3-8B --max_num_tokens 2048 --enable_chunked_prefill\n",
       {"kind: trtllm", "chunked-prefill: true"}},
  };
  const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    Case own = read_text(rows[i].line, "paste.sh", NULL, &options);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
    g_assert_no_error(error);
    for (guint k = 0; k < 3 && rows[i].has[k]; k++)
      if (!has_line(text, rows[i].has[k])) g_error("'%s' is missing in %s", rows[i].has[k], text);
    clear(&own);
  }
  assert_refuses("vllm serve Qwen/Qwen3-32B --scheduling-policy sjf",
                 "is not a policy of vLLM (allowed: fcfs, priority)");
}

static void test_alternatives(void) {
  static const char two[] = "vllm serve Qwen/Qwen3-32B -tp 2\nvllm serve Qwen/Qwen3-8B\n";
  assert_refuses(two, "one of 2 servers that differ: --choose 2 takes it");
  const OrrLaunchOptions second = {.cluster = "dgx-h100-superpod", .choice = 2};
  Case own = read_text(two, "paste.sh", NULL, &second);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
  g_assert_no_error(error);
  g_assert_true(has_line(text, "model: Qwen/Qwen3-8B"));
  g_assert_nonnull(strstr(text, "16 clients are assumed"));
  clear(&own);
}

/* Servers that differ only in where they run are replicas. */
static void test_replicas(void) {
  const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  Case own = read_text("vllm serve Qwen/Qwen3-8B --port 1\nvllm serve Qwen/Qwen3-8B --port 2\n",
                       "paste.sh", NULL, &options);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(own.draft, &error);
  g_assert_no_error(error);
  g_assert_true(has_line(text, "replicas: 2"));
  g_assert_true(has_line(text, "gpus: 2"));
  clear(&own);
}

/* Every key of a manifest is in the account; what is not simulated and not known warns. */
static void test_manifest_account(void) {
  static const char values[] =
      "servingEngineSpec:\n  modelSpec:\n  - name: chat\n    modelURL: Qwen/Qwen3-8B\n"
      "    replicaCount: 2\n    requestCPU: 4\n    vllmConfig: {maxModelLen: 8192, "
      "tensorParallelSize: 2}\n"
      "    lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: \"20\", kvRole: kv_producer}\n"
      "    env: [{name: TEAM, value: red}, {name: VLLM_LOGGING_LEVEL, value: DEBUG}]\n"
      "    flavour: sweet\nrouterSpec: {routingLogic: prefixaware}\n"
      "cacheserverSpec: {replicaCount: 1, serde: naive}\n";
  static const struct {
    const char *wanted;
  } rows[] = {
      {"mapped         a.yaml:5  servingEngineSpec.modelSpec.replicaCount: 2"},
      {"irrelevant     a.yaml:6  servingEngineSpec.modelSpec.requestCPU: 4"},
      {"mapped         a.yaml:8  servingEngineSpec.modelSpec.lmcacheConfig.enabled"},
      {"not simulated  a.yaml:8  servingEngineSpec.modelSpec.lmcacheConfig.kvRole: "
       "kv_producer: engines that prefill apart"},
      {"irrelevant     a.yaml:9  servingEngineSpec.modelSpec.env.value: red: a variable"},
      {"irrelevant     a.yaml:9  VLLM_LOGGING_LEVEL=DEBUG: logs"},
      {"not simulated  a.yaml:10  servingEngineSpec.modelSpec.flavour: sweet: a key that is "
       "not known here"},
      {"mapped         a.yaml:11  routerSpec.routingLogic: prefixaware: workload.router"},
      {"not simulated  a.yaml:12  cacheserverSpec.serde: naive: a cache on the network"}};
  static const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "a.yaml", values, strlen(values));
  orr_launch_form_read(draft);
  g_autofree char *scenario = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_assert_nonnull(strstr(scenario, "router: prefix-aware"));
  g_assert_nonnull(strstr(scenario, "host: 40 GiB"));
  g_autofree char *account = orr_launch_draft_account(draft);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    if (!strstr(account, rows[i].wanted))
      g_error("'%s' is missing in:\n%s", rows[i].wanted, account);
  g_assert_null(strstr(account, "env.value: DEBUG")); /* once */
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
    g_autofree char *name = g_strdup_printf("/launch-server/%s", lines[i].file);
    g_test_add_data_func(name, &lines[i], test_line);
  }
  for (guint i = 0; i < G_N_ELEMENTS(manifests); i++) {
    g_autofree char *name = g_strdup_printf("/launch-server/%s", manifests[i].file);
    g_test_add_data_func(name, &manifests[i], test_manifest);
  }
  g_test_add_func("/launch-server/script", test_script);
  g_test_add_func("/launch-server/refusals", test_refusals);
  g_test_add_func("/launch-server/half", test_half);
  g_test_add_func("/launch-server/names", test_names);
  g_test_add_func("/launch-server/formats", test_formats);
  g_test_add_func("/launch-server/together", test_together);
  g_test_add_func("/launch-server/alternatives", test_alternatives);
  g_test_add_func("/launch-server/replicas", test_replicas);
  g_test_add_func("/launch-server/manifest-account", test_manifest_account);
  return g_test_run();
}
