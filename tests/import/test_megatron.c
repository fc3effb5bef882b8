/* test_megatron.c - Megatron-LM's launch lines, in our own words, become scenarios that pass. */
#include <glib.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"
#include "sim/run/scenario.h"

static const OrrLaunchOptions on_h100 = {.cluster = "dgx-h100-superpod"};

/* The scenario of @line on @options; a failure, or a scenario that does not pass, ends the test. */
static char *scenario_of(const char *line, const OrrLaunchOptions *options) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, options);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "run.sh", line, strlen(line));
  orr_launch_form_read(draft);
  char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "scenario", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  if (!scenario) g_error("%s\n%s", text, orr_diags_text(diags));
  orr_scenario_free(scenario);
  return text;
}

/* What @line gives holds every line of @wanted (ends with NULL). */
static void check(const char *line, const char *const *wanted) {
  g_autofree char *text = scenario_of(line, &on_h100);
  for (; *wanted; wanted++)
    if (!strstr(text, *wanted)) g_error("'%s' is missing in:\n%s\nof:\n%s", *wanted, text, line);
}

#define LLAMA                                                                                      \
  "torchrun --nproc-per-node 8 --nnodes 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "     \
  "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 " \
  "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "         \
  "--untie-embeddings-and-output-weights --vocab-size 128256 --seq-length 8192 "                   \
  "--max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 128 --bf16 "            \
  "--attention-dropout 0 --hidden-dropout 0 "

static void test_model(void) {
  check(LLAMA, (const char *const[]){"model: llama-3", "  nodes: 8", "sequence: 8192",
                                     "dropout: false", "precision: bf16", NULL});
  /* one dimension differs: a model of its own; 4096 * 8 / 3 / 64 * 64 = 10880 */
  check("python pretrain_gpt.py --num-layers 33 --hidden-size 4096 --num-attention-heads 32 "
        "--swiglu --vocab-size 50000 --seq-length 2048 --max-position-embeddings 4096 "
        "--micro-batch-size 1 --global-batch-size 8 --bf16 --qk-layernorm\n"
        "#SBATCH --nodes=1\n#SBATCH --gres=gpu:8\n",
        (const char *const[]){"  layers: 33", "  ffn: 10880", "  vocab: 50048", "  context: 4096",
                              "  activation: swiglu", "  tied-embeddings: true", "  qk-norm: true",
                              "  position: learned", "nodes: 1", NULL});
  check(
      "torchrun --nproc_per_node=8 --nnodes=16 pretrain_gpt.py --num-layers 61 --hidden-size 7168 "
      "--num-attention-heads 128 --ffn-hidden-size 18432 --swiglu --normalization RMSNorm "
      "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 "
      "--qk-pos-emb-head-dim 64 --v-head-dim 128 --num-experts 64 --moe-router-topk 6 "
      "--moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 "
      "--moe-layer-freq '([0]*3+[1]*58)' --position-embedding-type rope --vocab-size 129280 "
      "--untie-embeddings-and-output-weights --disable-bias-linear --seq-length 4096 "
      "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 1024 --bf16 "
      "--fp8-format e4m3 --fp8-recipe blockwise --expert-model-parallel-size 8 "
      "--pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 13 "
      "--moe-token-dispatcher-type flex --moe-enable-deepep --moe-grouped-gemm "
      "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
      (const char *const[]){"layout: [3 attention+dense, 58 attention+moe]", "experts: 64",
                            "kv-lora-rank: 512", "dispatch: deepep", "precision: fp8-blockwise",
                            "last: 13", "kind: distributed-optimizer", "overlap-param-gather: true",
                            NULL});
}

static void test_job(void) {
  check(LLAMA "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
              "--num-layers-per-virtual-pipeline-stage 4 --sequence-parallel "
              "--recompute-granularity full --recompute-method block --recompute-num-layers 2",
        (const char *const[]){"kind: interleaved-1f1b", "chunks: 2", "sequence-parallel: true",
                              "recompute: full", "recompute-method: block", "recompute-layers: 2",
                              "overlap: false  # no --overlap-grad-reduce", NULL});
  check(LLAMA "--context-parallel-size 2 --cp-comm-type a2a --fp8-format hybrid "
              "--fp8-recipe tensorwise --tensor_model_parallel_size=4 --sequence-parallel "
              "--tp-comm-overlap --recompute-granularity selective "
              "--recompute-modules core_attn layernorm --cross-entropy-loss-fusion "
              "--cross-entropy-fusion-impl te --enable-cuda-graph",
        (const char *const[]){"context: all-to-all", "precision: fp8-current", "tp: 4",
                              "tp-comm-overlap: userbuffers",
                              "recompute-modules: [core-attn, layernorm]", "loss: fused",
                              "launches: graphs", NULL});
  check(LLAMA "--fp8-format hybrid --first-last-layers-bf16 --num-layers-at-end-in-bf16 4",
        (const char *const[]){"first: 1", "last: 4", NULL});
  check(LLAMA "--num-experts 8 --expert-model-parallel-size 8 --moe-router-dtype fp32 "
              "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
        (const char *const[]){"dispatch: deepep", "gather-map: true", "router-fp32: true", NULL});
  check(LLAMA "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
              "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 "
              "--no-rope-fusion",
        (const char *const[]){"kind: fsdp", "moments: bf16", "rope: apart", NULL});
  /* a layout's blocks are stages and chunks; m is a layer of multi-token prediction */
  check(LLAMA "--mtp-num-layers 1 --pipeline-model-parallel-size 4 "
              "--pipeline-model-parallel-layout 'Et*4|(t*5|)*5t*3,m|L'",
        (const char *const[]){"layout: \"Et*4|(t*5|)*5t*3,m|L\"", "kind: interleaved-1f1b",
                              "chunks: 2", NULL});
}

/* A model of the library stands for a line only where they agree in every dimension; else what
 * differs is written over it, and is not the library's count of parameters. */
static void test_dimensions(void) {
  static const char flags[] = "--untie-embeddings-and-output-weights ";
  check(LLAMA "--kv-channels 128", (const char *const[]){"model: llama-3-8b  #", NULL});
  check(LLAMA "--kv-channels 64",
        (const char *const[]){"base: llama-3-8b  #", "  head-dim: 64  # --kv-channels 64",
                              "  parameters: 0  #", "  name: from-the-launch-line", NULL});
  check(LLAMA "--mtp-num-layers 1",
        (const char *const[]){"base: llama-3-8b", "mtp-layers: 1", NULL});
  check(LLAMA "--qk-layernorm", (const char *const[]){"base: llama-3-8b", "qk-norm: true", NULL});
  check(LLAMA "--add-qkv-bias", (const char *const[]){"base: llama-3-8b", "qkv-bias: true", NULL});
  check(LLAMA "--num-experts 8 --moe-router-topk 2 --moe-shared-expert-intermediate-size 14336 "
              "--vocab-size 32000 --max-position-embeddings 32768",
        (const char *const[]){"base: mixtral-8x7b", "shared-ffn: 14336", NULL});
  /* Megatron's defaults are dimensions, too */
  static const char *const removed[][2] = {{"--swiglu ", "activation: gelu"},
                                           {"--normalization RMSNorm ", "norm: layernorm"},
                                           {"--disable-bias-linear ", "bias: true"},
                                           {"--position-embedding-type rope ", "position: learned"},
                                           {flags, "tied-embeddings: true"}};
  for (guint i = 0; i < G_N_ELEMENTS(removed); i++) {
    g_auto(GStrv) parts = g_strsplit(LLAMA, removed[i][0], 2);
    g_autofree char *line = g_strjoinv("", parts);
    check(line, (const char *const[]){"base: llama-3-8b", removed[i][1], NULL});
  }
}

/* Every error of @line names @problem. */
static void check_refused(const char *line, const char *problem) {
  static const OrrLaunchOptions strict = {.cluster = "dgx-h100-superpod", .strict = TRUE};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &strict);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "run.sh", line, strlen(line));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_null(text);
  if (!strstr(error->message, problem)) g_error("'%s' is missing in: %s", problem, error->message);
}

static void test_refused(void) {
  check_refused(LLAMA "--tensor-model-paralel-size 2",
                "megatron-lm does not know 'tensor-model-paralel-size': did you mean "
                "'tensor-model-parallel-size'?");
  check_refused(LLAMA "--tensor-model-parallel-size $TP", "add --set TP=VALUE");
  check_refused(LLAMA "--num-experts 8 --moe-layer-freq '[1]*31'",
                "neither a number nor a list of 32 layers");
  check_refused(LLAMA "--tensor-model-parallel-size eight", "'eight' is not a whole number");
  check_refused("torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 --bf16",
                "--num-layers, --hidden-size");
  check_refused(LLAMA "\n" LLAMA "--fp16\n", "several launch lines: add --choose N");
  check_refused("ls -l\n", "no command starts training or serving (commands: ls)");
}

/* The account names every key of the line; nothing is dropped. */
static void test_account(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &on_h100);
  static const char line[] = LLAMA "--lr 1e-4 --rampup-batch-size 8 8 100 --save $DIR --wandb-x y";
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "run.sh", line, strlen(line));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_auto(GStrv) words = g_strsplit(line, " ", -1);
  for (char **word = words; *word; word++)
    if (g_str_has_prefix(*word, "--") && !strstr(account, *word))
      g_error("%s is missing in:\n%s", *word, account);
  g_assert_nonnull(
      strstr(account, "not simulated  run.sh:1  --rampup-batch-size 8 8 100: batches"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/megatron/model", test_model);
  g_test_add_func("/megatron/dimensions", test_dimensions);
  g_test_add_func("/megatron/job", test_job);
  g_test_add_func("/megatron/refused", test_refused);
  g_test_add_func("/megatron/account", test_account);
  return g_test_run();
}
