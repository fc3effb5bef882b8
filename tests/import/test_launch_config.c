/* test_launch_config.c - trainers' configs, in our own words, become scenarios that pass. */
#include <glib.h>
#include <string.h>

#include "sim/base/file.h"
#include "sim/base/yaml.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_form.h"
#include "sim/run/scenario.h"

#define FOLDER ORR_SOURCE_DIR "/tests/import/launch/"

typedef struct {
  OrrLaunchOptions options;
  const char *files[3], *line; /* a launch line after the files, or NULL */
  const char *wanted[12];
} Case;

static OrrLaunchDraft *draft_of(OrrLibrary *library, const Case *given) {
  OrrLaunchDraft *draft = orr_launch_draft_new(library, &given->options);
  g_autoptr(GError) error = NULL;
  for (guint i = 0; i < 3 && given->files[i]; i++) {
    g_autofree char *path = g_strconcat(FOLDER, given->files[i], NULL);
    orr_launch_form_add_file(draft, path, &error);
    g_assert_no_error(error);
  }
  if (given->line) orr_launch_form_add_text(draft, "run.sh", given->line, strlen(given->line));
  orr_launch_form_read(draft);
  return draft;
}

static void check_account(OrrLaunchDraft *draft) {
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  g_assert_cmpuint(settings->len, >, 0);
  for (guint i = 0; i < settings->len; i++) {
    const OrrLaunchSetting *setting = settings->pdata[i];
    if (!setting->rule) g_error("no verdict on %s", setting->written);
  }
}

static void check(const Case *given) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = draft_of(library, given);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  check_account(draft);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "scenario", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  if (!scenario) g_error("%s\n%s", text, orr_diags_text(diags));
  orr_scenario_free(scenario);
  for (const char *const *line = given->wanted; *line; line++)
    if (!strstr(text, *line)) g_error("'%s' is missing in:\n%s", *line, text);
}

/* What @given is refused with under --strict. */
static void check_refused(const Case *given, const char *message) {
  Case strict = *given;
  strict.options.strict = TRUE;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = draft_of(library, &strict);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_null(text);
  if (!strstr(error->message, message)) g_error("'%s' is missing in %s", message, error->message);
}

static OrrLaunchDraft *draft_of_text(OrrLibrary *library, const OrrLaunchOptions *options,
                                     const char *name, const char *text) {
  OrrLaunchDraft *draft = orr_launch_draft_new(library, options);
  orr_launch_form_add_text(draft, name, text, strlen(text));
  orr_launch_form_read(draft);
  return draft;
}

#define H100 .cluster = "dgx-h100-superpod"

static void test_torchtitan(void) {
  check(&(Case){.options = {H100, .nodes = 1},
                .files = {"titan-8b-2024.toml"},
                .wanted = {"model: llama-3.1-8b", "stack: torchtitan-2024.12", "micro: 2",
                           "global: 16", "recompute: operators", "kind: fsdp", "sequence: 8192"}});
  check(&(Case){.options = {H100, .nodes = 8},
                .files = {"titan-70b-pipeline.toml"},
                .wanted = {"model: llama-3.1-70b", "kind: hsdp", "group: 2",
                           "kind: interleaved-1f1b", "precision: fp8-rowwise", "async-tp",
                           "global: 32", "micro: 1", "recompute: full", "sequence: 4096"}});
  /* training.dtype: the model, its gradients and Adam's moments are in bf16 */
  check(&(Case){.options = {H100},
                .files = {"titan-8b-2024.toml"},
                .line = "torchrun --nnodes 2 --nproc_per_node 8 -m torchtitan.train "
                        "--job.config_file x.toml --training.dtype bfloat16\n",
                .wanted = {"master: weights  # --training.dtype bfloat16", "moments: bf16",
                           "gradients: same"}});
  /* compile: false is about torch's layers, which another stack does not set */
  check(&(Case){.options = {H100, .nodes = 1, .stack = "megatron-core-26.06"},
                .files = {"titan-8b-2024.toml"},
                .line = "torchrun --nnodes 1 --nproc_per_node 8 -m torchtitan.train "
                        "--job.config_file x.toml --training.compile=false\n",
                .wanted = {"stack: megatron-core-26.06", "compile: false", "layers: torch"}});
  /* the line overrides the file, wherever they stand */
  check(&(Case){.options = {H100},
                .files = {"titan-8b-2024.toml"},
                .line = "torchrun --nnodes 2 --nproc_per_node 8 -m torchtitan.train "
                        "--job.config_file x.toml --training.batch_size 4 "
                        "--activation_checkpoint.mode=none\n",
                .wanted = {"micro: 4  # --training.batch_size 4", "global: 64", "nodes: 2",
                           "recompute: none"}});
}

static void test_nemo(void) {
  check(&(Case){.options = {H100},
                .files = {"nemo-1x-20b.yaml"},
                .wanted = {"layers: 44", "ffn: 24576", "nodes: 4", "tp: 4",
                           "kind: distributed-optimizer", "recompute: selective", "dropout: true",
                           "was not given", "precision: bf16", "vocab: 50688"}});
  check(&(Case){.options = {H100},
                .files = {"nemo-2x-moe.yaml"},
                .wanted = {"model: mixtral-8x7b", "ep: 8", "chunks: 8", "pp: 4", "nodes: 8",
                           "dropout: false"}});
}

static void test_gpt_neox(void) {
  check(&(Case){.options = {H100, .nodes = 1},
                .files = {"neox-model.yml", "neox-run.yml"},
                .wanted = {"stack: gpt-neox-2022.11", "ffn: 5632", "activation: swiglu", "pp: 2",
                           "tp: 2", "global: 64", "kind: zero-1", "overlap-comm: true",
                           "recompute: full", "precision: bf16", "norm: rmsnorm"}});
  static const OrrLaunchOptions options = {H100, .nodes = 1, .model = "gpt3-1.3b"};
  static const struct {
    const char *config;
    gboolean is_unfused;
  } rows[] = {{"", TRUE},
              {", attention_config: [[[global], 24]]", TRUE},
              {", attention_config: [[[flash], 24]]", FALSE}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *config = g_strdup_printf(
        "{pipe_parallel_size: 1, seq_length: 2048, train_micro_batch_size_per_gpu: 4%s}\n",
        rows[i].config);
    g_autoptr(OrrLibrary) library = orr_library_new(NULL);
    g_autoptr(OrrLaunchDraft) draft = draft_of_text(library, &options, "a.yml", config);
    g_autofree char *text = orr_launch_draft_scenario(draft, NULL);
    g_autofree char *account = orr_launch_draft_account(draft);
    g_assert_true(text && !strstr(text, "attention: unfused") == !rows[i].is_unfused);
    g_assert_null(strstr(account, "not simulated"));
  }
}

static void test_foundry(void) {
  check(&(Case){.options = {H100, .nodes = 2},
                .files = {"foundry-3b.yaml"},
                .wanted = {"model: mpt-3b", "sequence: 2048", "global: 512", "micro: 8",
                           "reshard-after-forward: false", "gradients: same", "recompute: none",
                           "stack: llm-foundry"}});
}

/* Primus (AMD-AGI/Primus, examples/megatron/configs): the model by its file's name, Megatron's
 * arguments by their attributes' names, null for a default. */
static void test_primus(void) {
  check(&(Case){.options = {H100, .nodes = 2},
                .files = {"primus-megatron.yaml"},
                .wanted = {"model: llama-3.1-8b", "global: 64", "micro: 2", "sequence: 8192",
                           "tp: 2", "precision: bf16  # bf16: true, Primus's default",
                           "kind: distributed-optimizer", "recompute: full", "dropout: false"}});
  check(&(Case){.options = {H100, .nodes = 1},
                .files = {"primus-torchtitan.yaml"},
                .wanted = {"stack: torchtitan-2025.06", "model: llama-3.1-8b", "micro: 4",
                           "sequence: 8192"}});
}

/* OLMo (allenai/OLMo, configs): the width of a gated layer counts both halves. */
static void test_olmo(void) {
  check(&(Case){.options = {H100, .nodes = 2},
                .files = {"olmo-7b.yaml"},
                .wanted = {"ffn: 11008", "layers: 32", "vocab: 100352", "sequence: 4096",
                           "activation: swiglu", "norm: rmsnorm", "qk-norm: true",
                           "tied-embeddings: false", "kind: fsdp", "gradients: fp32"}});
}

/* NVIDIA's dgxc-benchmarking starts recipes of Megatron-Bridge by the options of
 * setup_experiment.py. A recipe is a program: what the line leaves out is asked for. */
static void test_bridge(void) {
  check(&(Case){.options = {H100},
                .line = "python3 scripts/performance/setup_experiment.py --compute_dtype fp8 "
                        "--gpu h100 --num_gpus 128 --gpus_per_node 8 --model_name llama3 "
                        "--model_size 70b -tp 4 -pp 8 -vp 5 -mb 1 -gb 256 -sl 8192 "
                        "--fp8_recipe cs --account me model.sequence_parallel=true\n",
                .wanted = {"model: llama-3-70b", "nodes: 16", "tp: 4", "chunks: 5",
                           "precision: fp8-current", "kind: distributed-optimizer",
                           "sequence-parallel: true", "dropout: false"}});
  check_refused(&(Case){.options = {H100, .nodes = 1},
                        .line = "torchrun --nproc_per_node 8 run_recipe.py --recipe "
                                "llama32_1b_pretrain_config train.global_batch_size=8\n"},
                "what does the recipe llama32_1b_pretrain_config set?");
}

#define SETUP                                                                                      \
  "setup_experiment.py --model_name llama3 --model_size 8b -tp 1 -pp 1 -mb 1 -gb 96 -sl 8192 "
#define TORCHRUN "torchrun --nproc_per_node 8 scripts/performance/"

/* How many GPUs a line of Megatron-Bridge has, and what the account says of a number that does not
 * count. */
static void test_bridge_machine(void) {
  static const struct {
    const char *line, *wanted, *said; /* said: NULL: nothing loses */
  } rows[] = {
      {"python3 " SETUP "--num_gpus 4 --gpus_per_node 8\n", "gpus: 4  #", NULL},
      {"python3 " SETUP "-ng 16 -gn 8\n", "nodes: 2  #", NULL},
      {"python3 " SETUP "-ng 12 -gn 8\n", "nodes: 2  #",
       "not simulated  run.sh:1  -ng 12: the job has 16 GPUs: 2 nodes"},
      {TORCHRUN SETUP "-ng 16\n", "nodes: 2  #", NULL},
      {TORCHRUN SETUP "-ng 16 -gn 4\n", "nodes: 2  #", "not simulated  run.sh:1  -gn 4: nodes of"},
      {"torchrun --nnodes 3 --nproc_per_node 8 " SETUP "-ng 16\n", "nodes: 3  #",
       "not simulated  run.sh:1  -ng 16: the job has 24 GPUs: 3 nodes (--nnodes 3)"},
      {"torchrun --nnodes 3 --nproc_per_node 8 " SETUP "trainer.num_nodes=2\n", "nodes: 3  #",
       "not simulated  run.sh:1  trainer.num_nodes 2: the launcher's 3 counts (--nnodes 3)"}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrLibrary) library = orr_library_new(NULL);
    const OrrLaunchOptions options = {H100};
    g_autoptr(OrrLaunchDraft) draft = draft_of_text(library, &options, "run.sh", rows[i].line);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_launch_draft_scenario(draft, &error);
    g_assert_no_error(error);
    g_autofree char *account = orr_launch_draft_account(draft);
    if (!strstr(text, rows[i].wanted)) g_error("'%s' is missing in %s", rows[i].wanted, text);
    if (rows[i].said ? !strstr(account, rows[i].said)
                     : strstr(account, "the job has") || strstr(account, "nodes of another"))
      g_error("%s: %s", rows[i].line, account);
  }
}

#define SPARSE                                                                                     \
  "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 27 --hidden-size 2048 "     \
  "--num-attention-heads 16 --ffn-hidden-size 10944 --num-experts 64 --moe-router-topk 6 "         \
  "--moe-ffn-hidden-size 1408 --multi-latent-attention --kv-lora-rank 512 --vocab-size 102400 "    \
  "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 "  \
  "--moe-shared-expert-intermediate-size 2816 --normalization RMSNorm --disable-bias-linear "      \
  "--position-embedding-type rope --untie-embeddings-and-output-weights --bf16 --swiglu "          \
  "--moe-layer-freq "

/* A model of the library keeps its layout only where the launch line has the same. */
static void test_layout(void) {
  check(&(Case){.options = {H100},
                .line = SPARSE "'([0]*1+[1]*26)'\n",
                .wanted = {"model: deepseek-v2-lite  #"}});
  check(&(Case){.options = {H100},
                .line = SPARSE "'([0]*3+[1]*24)'\n",
                .wanted = {"base: deepseek-v2-lite  #",
                           "layout: [3 attention+dense, 24 attention+moe]",
                           "parameters: 0  # the published count is the base's"}});
  check(&(Case){.options = {H100},
                .line = SPARSE "1\n",
                .wanted = {"base: deepseek-v2-lite  #", "layout: [attention+moe]"}});
  check_refused(&(Case){.options = {H100}, .line = SPARSE "'([0]*3+[1]*22)'\n"},
                "is neither a number nor a list of 27 layers");
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  const OrrLaunchOptions options = {H100, .model = "deepseek-v2-lite"};
  g_autoptr(OrrLaunchDraft) draft = draft_of_text(library, &options, "run.sh", SPARSE "2\n");
  g_autofree char *account = orr_launch_draft_account(draft);
  g_assert_nonnull(strstr(account, "not simulated  run.sh:1  --moe-layer-freq 2: layers with"));
}

#define SHAPE(layers_, rest_)                                                                      \
  "torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --num-layers " layers_                   \
  " --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 " \
  "--micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size 8 --bf16 " rest_ "\n"
#define LLAMA                                                                                      \
  "--group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 --swiglu "                 \
  "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope "                  \
  "--untie-embeddings-and-output-weights"

/* No size of the vocabulary: 50,257 padded to a multiple of 128 x 8 is 51,200, whatever model of
 * the library happens to have the number of layers (30 is bloom-7b1's). A model that agrees in all
 * dimensions, or a tokenizer that may be its own, lends its vocabulary, aloud. */
static void test_vocabulary(void) {
  static const char assumed[] = "# assumed: model.vocab 51200, GPT-2's 50,257 padded";
  check(&(Case){.options = {H100}, .line = SHAPE("30", ""), .wanted = {"layers: 30", assumed}});
  check(&(Case){.options = {H100}, .line = SHAPE("31", ""), .wanted = {"layers: 31", assumed}});
  check(&(Case){.options = {H100},
                .line = SHAPE("32", LLAMA),
                .wanted = {"model: internlm2.5-7b", /* the first of four of this shape */
                           "# assumed: the vocabulary of internlm2.5-7b, whose other dimensions "
                           "agree: no --vocab-size\n"}});
  check(&(Case){.options = {H100},
                .line = SHAPE("30", "--tokenizer-type HuggingFaceTokenizer"),
                .wanted = {"base: bloom-7b1", "# assumed: the vocabulary of bloom-7b1, whose "
                                              "other dimensions are nearest: no --vocab-size\n"}});
  check(&(Case){.options = {H100},
                .line = SHAPE("30", "--vocab-size 250880"),
                .wanted = {"base: bloom-7b1"}});
  check_refused(&(Case){.options = {H100}, .line = SHAPE("32", LLAMA)},
                "how large is the vocabulary? The input does not say");
}

static void test_deepspeed(void) {
  static char *sequence[] = {"sequence=2048", NULL};
  check(&(Case){.options = {H100, .nodes = 1, .model = "llama-3.1-8b", .variables = sequence},
                .files = {"deepspeed-zero3.json"},
                .wanted = {"kind: zero-3", "persistence-threshold: 100000", "optimizer: 1  #",
                           "global: 64", "sequence: 2048", "precision: bf16"}});
  check(&(Case){
      .options = {H100},
      .files = {"deepspeed-auto.json"},
      .line = "deepspeed --num_nodes 1 --num_gpus 8 train.py --deepspeed ds/deepspeed-auto.json "
              "--model_name_or_path meta-llama/Llama-3.1-8B --bf16 "
              "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 "
              "--max_seq_length 1024 --num_train_epochs 3 --output_dir /tmp/x\n",
      .wanted = {"kind: zero-2", "global: 64", "micro: 2", "sequence: 1024"}});
}

static void test_huggingface(void) {
  static char *script[] = {"sequence=4096", "micro=2", NULL};
  check(&(Case){
      .options = {H100, .model = "llama-3.1-8b", .variables = script},
      .files = {"accelerate-hsdp.yaml"},
      .wanted = {"kind: hsdp", "group: 4", "tp: 2", "global: 16", "nodes: 2", "recompute: full"}});
  /* Liger's loss computes all logits of a token on one GPU */
  check(&(Case){.options = {H100, .model = "llama-3.1-8b", .variables = script},
                .files = {"accelerate-hsdp.yaml"},
                .line = "accelerate launch sft.py --use_liger_kernel true\n",
                .wanted = {"tp: 2", "loss: fused"}});
  static const OrrLaunchOptions options = {H100, .model = "llama-3.1-8b", .variables = script};
  static const char strategy[] = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
                                 "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n";
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "a.yaml", strategy, strlen(strategy));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_assert_nonnull(strstr(text, "reshard-after-forward: false"));
  check(&(Case){
      .options = {H100, .nodes = 1},
      .files = {"llamafactory-lora.yaml"},
      .wanted = {"model: qwen2.5-7b", "rank: 16", "sequence: 4096", "global: 64", "kind: ddp"}});
}

/* The YAML of Megatron-LM's own tests: false leaves a flag out, encoders are refused. */
static void test_megatron_tests(void) {
  static const OrrLaunchOptions options = {H100, .nodes = 1};
  static const char good[] =
      "TEST_TYPE: regular\nENV_VARS: {NCCL_ALGO: Ring, NCCL_NVLS_ENABLE: 0, NCCL_PXN_DISABLE: 1}\n"
      "MODEL_ARGS:\n  --num-layers: 32\n  --hidden-size: 4096\n  --num-attention-heads: 32\n"
      "  --seq-length: 4096\n  --max-position-embeddings: 4096\n  --micro-batch-size: 1\n"
      "  --global-batch-size: 8\n  --bf16: true\n  --sequence-parallel: false\n";
  static const char bad[] = "MODEL_ARGS: {--num-layers: 4, --encoder-num-layers: 4}\n";
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(OrrLaunchDraft) refused = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "a.yaml", good, strlen(good));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_assert_nonnull(strstr(text, "context: 4096")); /* of learned positions, which gpt3-6.7b lacks */
  g_assert_nonnull(strstr(text, "collectives: ring"));
  g_assert_true(strstr(text, "nvls: false") && strstr(text, "pxn: false"));
  g_assert_null(strstr(text, "sequence-parallel"));
  orr_launch_form_add_text(refused, "b.yaml", bad, strlen(bad));
  orr_launch_form_read(refused);
  g_autofree char *none = orr_launch_draft_scenario(refused, &error);
  g_assert_null(none);
  g_assert_nonnull(strstr(error->message, "b.yaml:1:53: error: --encoder-num-layers 4: a model"));
}

#define QWEN "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\n"
#define SWIFT "model: Qwen/Qwen3-8B\ntrain_type: full\nmax_length: 4096\n"
#define AXOLOTL "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\n"

/* Of two configs whose keys a tree has, the more particular one is meant. */
static void test_signs(void) {
  static const char *const rows[][2] = {
      {"{train_batch_size: 8, model_name_or_path: x}", "deepspeed"},
      {"{per_device_train_batch_size: 8, distributed_type: FSDP}", "transformers"},
      {"{modules: {pre_trainer: {}}, base_model: x}", "primus"},
      {"{pipe_parallel_size: 2, train_batch_size: 8}", "gpt-neox"}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(rows[i][0], strlen(rows[i][0]), "a.yaml", diags);
    g_assert_cmpstr(orr_launch_config_of(tree)->name, ==, rows[i][1]);
  }
}

#define MEGATRON                                                                                   \
  "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "                 \
  "--num-attention-heads 16 --seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 "  \
  "--global-batch-size 16 --tokenizer-type NullTokenizer --vocab-size 1000 --bf16 "
#define BRIDGE                                                                                     \
  "torchrun --nproc_per_node 8 run_recipe.py --recipe llama32_1b_pretrain_config -tp 1 -pp 1 "     \
  "-mb 1 -gb 32 -sl 2048 "

/* A value that the table does not have, and a key whose meaning is not simulated, is said. */
static void test_strangers(void) {
  static const OrrLaunchOptions options = {H100, .nodes = 1, .model = "llama-3.1-8b",
                                           .strict = TRUE};
  static const struct {
    const char *name, *text, *said;
  } rows[] = {
      {"a.json",
       "{\"bf16\": {\"enabled\": true}, \"communication_data_type\": \"int8\", "
       "\"train_batch_size\": 8}",
       "'int8' is a"},
      {"a.json", "{\"train_batch_size\": 8, \"communication_data_type\": \"fp16\"}",
       "gradients narrower than the weights"},
      {"a.yaml",
       "global_train_batch_size: 8\nmax_seq_len: 2048\nmodel: {attn_config: {attn_impl: flex}}\n",
       "'flex' is a value that the table does not have"},
      {"a.toml", "[activation_checkpoint]\nmode = 'often'\n", "'often' is a value"},
      {"a.toml", "[parallelism]\nexpert_parallel_comm_backend = 'own'\n", "'own' is a value"},
      {"run.sh", MEGATRON "--recompute-granularity some\n", "'some' is a value"},
      {"run.sh", MEGATRON "--partition-activations\n", "split over tensor-parallel GPUs"},
      {"run.sh",
       MEGATRON "--num-experts 8 --expert-model-parallel-size 8 --moe-token-dispatcher-type flex "
                "--moe-router-num-groups 4 --moe-router-group-topk 2\n",
       "groups of experts that are not nodes"},
      {"run.sh", BRIDGE "-ng 16 -gn 4\n", "nodes of another size than the cluster's"}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrLibrary) library = orr_library_new(NULL);
    g_autoptr(OrrLaunchDraft) draft = draft_of_text(library, &options, rows[i].name, rows[i].text);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_launch_draft_scenario(draft, &error);
    g_autofree char *account = orr_launch_draft_account(draft);
    const char *said = strstr(account, "not simulated");
    if (!said || !strstr(said, rows[i].said))
      g_error("'%s' is missing in: %s", rows[i].said, account);
  }
}

/* Nodes of an override count as a config's do; one wrong value is one error. */
static void test_overrides(void) {
  check(&(Case){.options = {H100},
                .line = BRIDGE "trainer.num_nodes=4 trainer.devices=8\n",
                .wanted = {"nodes: 4  # trainer.num_nodes"}});
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  const OrrLaunchOptions options = {H100, .nodes = 1};
  g_autoptr(OrrLaunchDraft) draft =
      draft_of_text(library, &options, "run.sh", MEGATRON "--zero-stage x\n");
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_null(text);
  const char *first = strstr(error->message, "error: ");
  g_assert_nonnull(strstr(error->message, "'x' is not a stage"));
  g_assert_null(first ? strstr(first + 1, "error: ") : NULL);
}

static void test_refused(void) {
  static const OrrLaunchOptions options = {H100, .nodes = 1, .model = "llama-3.1-8b",
                                           .strict = TRUE};
  static const struct {
    const char *name, *text, *message;
  } rows[] = {
      {"a.toml", "[training]\nseq_lenn = 1\n", "a.toml:2:12: error: torchtitan does not know"},
      {"a.toml", "[training]\nseq_len = many\n", "a.toml:2:11: error: 'many' is not a value"},
      {"a.json", "{\"train_batch_size\": CONFIG_BATCH_SIZE, \"steps_per_print\": 1}",
       "a.json:1:22: error: 'CONFIG_BATCH_SIZE' is a word of a template"},
      {"a.yaml", "global_train_batch_size: ${batch}\nmax_seq_len: 2048\n", "--set batch=VALUE"},
      {"a.yaml", "compute_environment: LOCAL\ndistributed_typ: FSDP\n",
       "did you mean 'distributed_type'?"},
      {"a.json", "{\"zero_optimization\": {\"stage\": 7}}", "a stage is 0 to 3"},
      {"a.yaml", "model: &a\n  tensor_model_parallel_size: 1\n  x: *a\n", "inside its own anchor"},
      /* of facebookresearch/lingua, apps/main/configs */
      {"a.yaml", "grad_acc_steps: 1\ndistributed: {fsdp_type: full_shard}\nbatch_size: 2\n",
       "a config of lingua, which is not read"},
      {"a.yaml", "modules:\n  pre_trainer:\n    framework: maxtext\n    model: llama3_8B.yaml\n",
       "Primus's framework 'maxtext' is not read"},
      {"a.yaml",
       "modules:\n  pre_trainer:\n    framework: megatron\n    model: none_7B.yaml\n"
       "    overrides: {micro_batch_sise: 1}\n",
       "primus does not know 'micro_batch_sise'"},
      {"a.yaml", "model: {tensor_model_parallel_size: 1\n", "is not valid YAML"},
      /* what no program is known for: what it looks like, or what is read */
      {"a.yaml", "model_list:\n- model_name: x\n", "it looks like a config of LiteLLM's proxy"},
      {"a.yaml", "engine: vllm\nlearning: false\n",
       "it looks like something about serving: a manifest with containers"},
      {"a.yaml", "schema: scenario/1\nname: x\n", "it looks like a document of Orrery"},
      {"a.txt", "hello world\n", "what is read: A trainer's config in YAML or JSON; "},
      /* open-r1, ms-swift, LLaMA-Factory, axolotl: not training of the next token */
      {"a.yaml", SWIFT "rlhf_type: kto\n", "rlhf_type: kto: training by preferences that are not"},
      {"a.yaml", QWEN "stage: rm\n", "stage: rm: training of a reward model"},
      {"a.yaml", AXOLOTL "rl: grpo\n", "rl: grpo: rollouts and updates in one loop"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrLibrary) library = orr_library_new(NULL);
    g_autoptr(OrrLaunchDraft) draft = draft_of_text(library, &options, rows[i].name, rows[i].text);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_launch_draft_scenario(draft, &error);
    g_assert_null(text);
    if (!strstr(error->message, rows[i].message))
      g_error("'%s' is missing in: %s", rows[i].message, error->message);
  }
  check_refused(&(Case){.options = {H100}, .files = {"titan-8b-2024.toml"}}, "on how many GPUs?");
}

/* What a config leaves open, with the line that the scenario has for it. */
static void test_assumed(void) {
  static const struct {
    const char *name, *text, *wanted[5];
  } rows[] = {
      /* 8.03e9 x 18 B / (0.6 x 79.6 GiB) = 2.8: one node of 8 */
      {"z.json",
       "{\"zero_optimization\": {\"stage\": 3}, \"bf16\": {\"enabled\": true}}",
       {"# assumed: model llama-3.1-8b,", "nodes: 1  # assumed: 8 GPUs",
        "sequence: 4096  # assumed", "micro: 1  # assumed", "global: 8"}},
      {"a.yaml",
       "distributed_type: DEEPSPEED\ndeepspeed_config: {deepspeed_config_file: "
       "x/zero_stage1.json}\n",
       {"kind: zero-1  # assumed: by the name of x/zero_stage1.json"}},
      /* 70.6e9 x 18 / (0.6 x 85.5e9) = 24.8 GPUs: 4 nodes; TP 8: 4 replicas of 2 sequences */
      {"t.toml",
       "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[parallelism]\n"
       "tensor_parallel_degree = 8\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n",
       {"nodes: 4", "global: 8"}},
      /* all degrees of torchtitan multiply to its GPUs */
      {"t.toml",
       "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n"
       "data_parallel_shard_degree = 4\ntensor_parallel_degree = 4\n"
       "[training]\nlocal_batch_size = 1\nseq_len = 8192\n",
       {"nodes: 2  # the product of the config's degrees", "global: 4"}},
      /* a batch of 4 has no 8 replicas */
      {"z.json",
       "{\"train_batch_size\": 4, \"zero_optimization\": {\"stage\": 3}}",
       {"gpus: 4", "global: 4", "micro: 1"}},
      /* a variable that nobody sets, and an option that nobody knows */
      {"run.sh",
       "torchrun --nproc-per-node $N pretrain_gpt.py --num-layers 24 --hidden-size 1024 "
       "--num-attention-heads 16 --seq-length $LENGTH --max-position-embeddings 2048 "
       "--vocab-size 51200 --use-quantum-tunnelling 3 --bf16\n",
       {"assumed: run.sh:1: '--seq-length $LENGTH' is absent, since nobody sets LENGTH", "nodes: 1",
        "global: 8"}},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const OrrLaunchOptions options = {H100};
    g_autoptr(OrrLibrary) library = orr_library_new(NULL);
    g_autoptr(OrrLaunchDraft) draft = draft_of_text(library, &options, rows[i].name, rows[i].text);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_launch_draft_scenario(draft, &error);
    g_assert_no_error(error);
    for (guint k = 0; k < 5 && rows[i].wanted[k]; k++)
      if (!strstr(text, rows[i].wanted[k]))
        g_error("'%s' is missing in:\n%s", rows[i].wanted[k], text);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch-config/torchtitan", test_torchtitan);
  g_test_add_func("/launch-config/signs", test_signs);
  g_test_add_func("/launch-config/nemo", test_nemo);
  g_test_add_func("/launch-config/gpt-neox", test_gpt_neox);
  g_test_add_func("/launch-config/llm-foundry", test_foundry);
  g_test_add_func("/launch-config/primus", test_primus);
  g_test_add_func("/launch-config/olmo", test_olmo);
  g_test_add_func("/launch-config/bridge", test_bridge);
  g_test_add_func("/launch-config/bridge-machine", test_bridge_machine);
  g_test_add_func("/launch-config/layout", test_layout);
  g_test_add_func("/launch-config/vocabulary", test_vocabulary);
  g_test_add_func("/launch-config/deepspeed", test_deepspeed);
  g_test_add_func("/launch-config/huggingface", test_huggingface);
  g_test_add_func("/launch-config/megatron-tests", test_megatron_tests);
  g_test_add_func("/launch-config/strangers", test_strangers);
  g_test_add_func("/launch-config/overrides", test_overrides);
  g_test_add_func("/launch-config/refused", test_refused);
  g_test_add_func("/launch-config/assumed", test_assumed);
  return g_test_run();
}
