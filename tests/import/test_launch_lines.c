/*
 * test_launch_lines.c - single lines and small configs: what of them the scenario holds, and what
 * the account says of keys that change the answer.
 */
#include <glib.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"
#include "sim/import/launch/launch_private.h"
#include "sim/run/scenario.h"

#define H100 .options = {.cluster = "dgx-h100-superpod"}

typedef struct {
  const char *file, *text; /* NULL: "run.sh" */
  OrrLaunchOptions options;
  const char *wanted[7];  /* parts of the scenario */
  const char *account[5]; /* parts of the account, or of what is said above the answer */
  const char *lacks;      /* no part of either */
  const char *refused;    /* a part of the error, where it is refused */
} Line;

static void check_scenario(OrrLibrary *library, const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "scenario", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  if (!scenario) g_error("%s\n%s", text, orr_diags_text(diags));
  orr_scenario_free(scenario);
}

static void check_parts(const char *text, const char *const *parts) {
  for (; *parts; parts++)
    if (!strstr(text, *parts)) g_error("'%s' is missing in:\n%s", *parts, text);
}

static void check(const Line *line) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &line->options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, line->file ? line->file : "run.sh", line->text,
                           strlen(line->text));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  if (line->refused) {
    if (!error || !strstr(error->message, line->refused))
      g_error("'%s' is missing in: %s", line->refused, error ? error->message : text);
    return;
  }
  g_assert_no_error(error);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_autofree char *said = orr_launch_draft_warnings(draft);
  g_autofree char *all = g_strconcat(account, said, text, NULL);
  check_parts(text, line->wanted);
  check_parts(all, line->account);
  if (line->lacks && strstr(all, line->lacks)) g_error("'%s' is in:\n%s", line->lacks, all);
  check_scenario(library, text);
}

static void test_lines(gconstpointer data) {
  for (const Line *line = data; line->text; line++) check(line);
}

/* An option that the benchmark only ignores and the engine maps is the engine's. */
static const Line offline[] = {
    {.text =
         "python -m sglang.bench_one_batch --model-path Qwen/Qwen3-32B --batch 32 --input-len 256 "
         "--output-len 32 --tp 2\n",
     H100,
     .wanted = {"model: Qwen/Qwen3-32B", "stack: sglang", "tp: 2", "gpus: 2", "concurrency: 32",
                "tokens: 256"}},
    {.text =
         "python -m sglang.bench_offline_throughput --model-path Qwen/Qwen2.5-72B-Instruct --tp 4 "
         "--num-prompts 10 --dataset-name random --random-input 1024 --random-output 128\n",
     H100,
     .wanted = {"model: Qwen/Qwen2.5-72B-Instruct", "stack: sglang", "gpus: 4", "requests: 10",
                "tokens: 1024"},
     .lacks = "not simulated  "},
    {.text =
         "trtllm-bench --model meta-llama/Llama-3.1-8B-Instruct --model_path /ckpt/v1 throughput "
         "--dataset d.txt --num_requests 100 --tp 2\n",
     H100,
     .wanted = {"model: meta-llama/Llama-3.1-8B-Instruct", "tp: 2"},
     .account = {"--model_path /ckpt/v1: the model's name says which"}},
    {NULL}};

#define DATASET                                                                                    \
  "python prepare_dataset.py --stdout token-norm-dist --input-mean 128 --output-mean 64 "          \
  "--input-stdev 0 --output-stdev 0 --num-requests 300 > d.txt\n"
#define TRTLLM "trtllm-bench --model meta-llama/Llama-3.1-8B-Instruct "

/* Each program's own defaults, by its name alone, and which of several values is taken. */
static const Line programs[] = {
    {.text = DATASET TRTLLM "latency --dataset d.txt\n",
     H100,
     .wanted = {"concurrency: 1  # the tool's default", "requests: 300  # --num-requests 300",
                "tokens: 128  # --input-mean 128", "tokens: 64  # --output-mean 64"},
     .account = {"mapped         run.sh:2  trtllm-bench latency: workload.load"}},
    {.text = DATASET TRTLLM "latency --dataset d.txt --concurrency 4\n",
     H100,
     .wanted = {"concurrency: 4  # --concurrency 4"}},
    {.text = DATASET TRTLLM "throughput --dataset d.txt --num_requests 100\n",
     H100,
     .wanted = {"concurrency: 100", "requests: 100  # --num_requests 100"},
     .account = {"mapped         run.sh:2  --num_requests 100: workload.requests",
                 "overridden     run.sh:1  --num-requests 300: the benchmark runs the first 100"}},
    {.text = DATASET TRTLLM "throughput --dataset d.txt --num_requests 1000\n",
     H100,
     .wanted = {"concurrency: 300", "requests: 300  # --num-requests 300"},
     .account =
         {"overridden     run.sh:2  --num_requests 1000: the data set has no more than 300"}},
    {.text = TRTLLM "prepare-dataset --stdout token-norm-dist --input-mean 128 --output-mean 64 "
                    "--num-requests 300\n" TRTLLM "throughput --dataset d.txt\n",
     H100,
     .wanted = {"concurrency: 300", "requests: 300", "tokens: 128", "tokens: 64"}},
    {.text =
         "python3 -m sglang.bench_offline_throughput --model-path Qwen/Qwen3-8B --num-prompts 10 "
         "--dataset-name random --random-input 500 --random-output 100\n",
     H100,
     .wanted = {"kind: uniform-up-to\n    tokens: 500  # --random-input 500\n    ratio: 0",
                "kind: uniform-up-to\n    tokens: 100  # --random-output 100\n    ratio: 0",
                "requests: 10"}},
    {.text = "python3 -m sglang.bench_offline_throughput --model-path Qwen/Qwen3-8B "
             "--random-input 500 --random-output 100\n",
     H100,
     .wanted = {"requests: 1000  # the tool's default", "tokens: 161", "tokens: 338"},
     .account = {"--random-output 100: only with --dataset-name random"}},
    {.text = "vllm bench latency --model Qwen/Qwen3-8B\n",
     H100,
     .wanted = {"concurrency: 8  # the tool's default", "requests: 8",
                "tokens: 32  # the tool's default", "tokens: 128  # the tool's default"},
     .lacks = "assumed"},
    {.text = "python benchmarks/benchmark_latency.py --model Qwen/Qwen3-8B --batch-size 4\n",
     H100,
     .wanted = {"concurrency: 4  # --batch-size 4", "tokens: 32  # the tool's default"}},
    {.text = "python -m sglang.bench_one_batch --model-path Qwen/Qwen3-8B --batch 2 12 14 "
             "--input-len 256 512\n",
     H100,
     .wanted = {"concurrency: 2  # --batch 2 12 14", "tokens: 256  # --input-len 256 512",
                "tokens: 16  # the tool's default"},
     .account = {"--batch has several values: the first is the load, 2 of 2 12 14",
                 "--input-len has several values: the first is the load, 256 of 256 512"}},
    {.text = "vllm bench throughput --model Qwen/Qwen3-8B --dataset-name sharegpt --dataset-path "
             "s.json "
             "--num-prompts 10 --random-range-ratio 0.5\n",
     H100,
     .wanted = {"requests: 10  # --num-prompts 10"},
     .account = {"not simulated  run.sh:1  --dataset-name sharegpt: lengths of this data set",
                 "not simulated  run.sh:1  --random-range-ratio 0.5: all lengths are alike"}},
    {.text = "vllm serve Qwen/Qwen3-8B\nvllm bench serve\n",
     H100,
     .wanted = {"requests: 1000  # the tool's default", "tokens: 1024  # the tool's default",
                "tokens: 128  # the tool's default"},
     .account = {"mapped         run.sh:2  vllm bench serve: workload.load"},
     .lacks = "no load"},
    {NULL}};

#define SERVE "vllm serve meta-llama/Llama-3.1-8B-Instruct\n"

static const Line loads[] = {
    {.text =
         SERVE "vllm bench serve --dataset-name sonnet --sonnet-input-len 550 --sonnet-output-len "
               "150 --sonnet-prefix-len 200 --request-rate 2 --num-prompts 50\n",
     H100,
     .wanted = {"    tokens: 350  # --sonnet-input-len 550: less the prefix", "shared-prefix: 200",
                "    tokens: 150"}},
    {.text = SERVE "vllm bench serve --dataset-name sonnet --sonnet-input-len 100\n",
     H100,
     .refused = "not longer than its prefix of 200 tokens"},
    {.text =
         SERVE "vllm bench serve --random-input-len 1024 --random-output-len 32 --max-concurrency "
               "8 --goodput ttft:100 e2el:2000 tpot:10.5\n",
     H100,
     .wanted = {"ttft: 100 ms", "e2e: 2000 ms", "tpot: 10.5 ms"},
     .account = {"mapped         run.sh:2  --goodput ttft:100 e2el:2000 tpot:10.5: workload.slo"},
     .lacks = "overridden"},
    {.text = SERVE "vllm bench serve --goodput itl:100\n",
     H100,
     .account = {"not simulated  run.sh:2  --goodput itl:100: 'itl:100' bounds no metric"}},
    {.text = SERVE "vllm bench serve --goodput ttft=100\n",
     H100,
     .refused = "'ttft=100' is not METRIC:MILLISECONDS"},
    {.text = SERVE "aiperf profile --concurrency 4 --isl 128 --osl 64 --goodput "
                   "'time_to_first_token:370 inter_token_latency:648'\n",
     H100,
     .wanted = {"ttft: 370 ms", "tpot: 648 ms"}},
    {.text =
         SERVE "guidellm benchmark --target x --rate-type concurrent --rate 16,32 --max-requests "
               "200 --data '{\"prompt_tokens_stdev\":64,\"prompt_tokens\":256,"
               "\"prompt_tokens_max\":400,\"output_tokens\":128}'\n",
     H100,
     .wanted = {"concurrency: 16", "kind: normal", "    tokens: 256", "sigma: 0.25", "most: 400",
                "    tokens: 128"},
     .account = {"--rate has several values: the first is the load"}},
    {.text = SERVE "inference-perf --config_file c.yaml\n",
     H100,
     .account = {"--config_file c.yaml: this client's load is not read", "16 clients are assumed"}},
    {.text = SERVE "locust -f x.py --users 10 --headless a b\n",
     H100,
     .account = {"--users 10: this client's load is not read"}},
    {.text = SERVE "guidellm benchmark --target x --profile throughput --max-requests 100 --data "
                   "prompt_tokens=100,output_tokens=64\n",
     H100,
     .wanted = {"concurrency: 100"},
     .lacks = "one client is taken"},
    {.text = SERVE "guidellm benchmark --target x --rate-type throughput --data "
                   "prompt_tokens=100,output_tokens=64\n",
     H100,
     .wanted = {"concurrency: 512"}},
    {.text = SERVE "guidellm benchmark --target x --rate-type sweep --max-requests 100 --data "
                   "prompt_tokens=100,output_tokens=64\n",
     H100,
     .account = {"--rate-type sweep: several loads: one client is taken"}},
    {.text = SERVE "vllm bench serve --dataset-name hf --dataset-path x/y --hf-output-len 2000 "
                   "--lora-modules a b c\n",
     H100,
     .wanted = {"    tokens: 2000  # --hf-output-len 2000"},
     .account = {"which adapters the client asks for"}},
    {.text = SERVE
     "guidellm benchmark --target x --rate-type constant --rate 4 --max-seconds 60 --data "
     "prompt_tokens=100,prompt_tokens_min=50,prompt_tokens_max=150,output_tokens=64,"
     "prefix_tokens=512\n",
     H100,
     .wanted = {"kind: uniform", "    tokens: 100", "ratio: 0.5", "    tokens: 64"},
     .account = {"'prefix_tokens': prompts are drawn by prompt_tokens alone"}},
    {NULL}};

/* --choose takes one of several servers that differ; else one of several benchmarks. */
#define TWO                                                                                        \
  "vllm serve Qwen/Qwen3-32B -tp 4\n"                                                              \
  "vllm bench serve --random-input-len 1024 --random-output-len 128 --max-concurrency 4\n"         \
  "vllm bench serve --random-input-len 8192 --random-output-len 128 --max-concurrency 8\n"
#define LOOP                                                                                       \
  "for c in 1 8 64; do vllm bench serve --model Qwen/Qwen3-8B --max-concurrency $c; done\n"

static const Line choices[] = {
    {.text = TWO,
     H100,
     .wanted = {"concurrency: 4"},
     .account = {"2 benchmarks: the one of line 2 is the load; --choose N takes the Nth"}},
    {.text = TWO,
     .options = {.cluster = "dgx-h100-superpod", .choice = 2},
     .wanted = {"tp: 4", "concurrency: 8", "tokens: 8192"},
     .lacks = "2 benchmarks"},
    {.text = TWO,
     .options = {.cluster = "dgx-h100-superpod", .choice = 3},
     .refused = "3 is above the input's 2 benchmarks"},
    {.text = LOOP,
     .options = {.cluster = "dgx-h100-superpod", .choice = 3},
     .wanted = {"concurrency: 64"}},
    {.text = LOOP,
     .options = {.cluster = "dgx-h100-superpod", .choice = 99},
     .refused = "99 is above the input's 3 benchmarks"},
    {.text = SERVE,
     .options = {.cluster = "dgx-h100-superpod", .choice = 2},
     .refused = "2 is above the input's 1 server"},
    {.text = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 "
             "--num-attention-heads 16 --seq-length 2048 --micro-batch-size 4 --bf16\n",
     .options = {.cluster = "dgx-h100-superpod", .choice = 2},
     .refused = "--choose takes one of the launch lines; 1 (line 1)"},
    {NULL}};

/* An engine lowers its own limit on sequences to the tokens of a step; a user's is an error. */
static const Line limits[] = {
    {.text = "vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 512\n",
     H100,
     .wanted = {"max-num-batched-tokens: 512"}},
    {.text = "vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 128\n",
     .options = {.cluster = "l40s-server"},
     .wanted = {"max-num-batched-tokens: 128"}},
    {.text = "trtllm-serve Qwen/Qwen3-8B --max_num_tokens 512\n",
     H100,
     .wanted = {"max-num-batched-tokens: 512"}},
    {.text = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
             "actor_rollout_ref.rollout.max_num_batched_tokens=512 trainer.nnodes=1\n",
     H100,
     .wanted = {"max-num-batched-tokens: 512"},
     .lacks = "max-num-seqs"},
    {NULL}};

/* Switches of post-training: mapped where the scenario has them, else above the answer. */
#define VERL                                                                                       \
  "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=128 "       \
  "data.max_prompt_length=1024 data.max_response_length=4096 "                                     \
  "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.actor.ppo_mini_batch_size=128 "  \
  "actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 trainer.nnodes=4 "
#define DYNAMIC                                                                                    \
  "actor_rollout_ref.actor.use_dynamic_bsz=True "                                                  \
  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.actor."
#define SLIME                                                                                      \
  "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint "   \
  "/root/Qwen3-4B --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len "    \
  "8192 --tensor-model-parallel-size 2 "
#define NEMO_RL                                                                                    \
  "grpo: {num_prompts_per_step: 64, num_generations_per_prompt: 32}\n"                             \
  "policy:\n  model_name: meta-llama/Llama-3.1-8B-Instruct\n  train_global_batch_size: 512\n"      \
  "  max_total_sequence_length: 4096\n  megatron_cfg: {enabled: true}\n"                           \
  "cluster: {gpus_per_node: 8, num_nodes: 2}\n"

static const Line rollouts[] = {
    {.text = VERL "actor_rollout_ref.rollout.enforce_eager=True "
                  "actor_rollout_ref.model.use_remove_padding=False trainer.balance_batch=False "
                  "actor_rollout_ref.rollout.enable_prefix_caching=False "
                  "actor_rollout_ref.rollout.quantization=fp8\n",
     H100,
     .wanted = {"cuda-graph-max-size: 0", "packing: padded", "balance: in-order",
                "prefix-caching: none", "quantization: fp8-block"},
     .account = {"14 mapped, 0 irrelevant, 0 not simulated"}},
    {.text = VERL "actor_rollout_ref.rollout.enforce_eager=False "
                  "actor_rollout_ref.model.use_remove_padding=True trainer.balance_batch=True\n",
     H100,
     .wanted = {"packing: packed", "balance: tokens"},
     .lacks = "cuda-graph"},
    {.text = VERL "actor_rollout_ref.actor.fsdp_config.param_offload=True "
                  "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True\n",
     H100,
     .wanted = {"offload: all"}},
    {.text = VERL "actor_rollout_ref.actor.megatron.param_offload=False "
                  "actor_rollout_ref.actor.megatron.optimizer_offload=True\n",
     H100,
     .wanted = {"offload: optimizer"}},
    {.text = VERL "actor_rollout_ref.actor.fsdp_config.param_offload=True\n",
     H100,
     .wanted = {"offload: none"},
     .account = {"param_offload True: weights in host memory without the optimizer"}},
    {.text = VERL "actor_rollout_ref.rollout.free_cache_engine=False\n",
     H100,
     .wanted = {"sleep: false"}},
    {.text = SLIME "--global-batch-size 256\n", H100, .wanted = {"offload: all"}},
    {.text = SLIME "--global-batch-size 256 --no-offload-train --no-offload-rollout\n",
     H100,
     .wanted = {"offload: none", "sleep: false"}},
    {.text = VERL "actor_rollout_ref.rollout.multi_turn.enable=True "
                  "actor_rollout_ref.rollout.multi_turn.max_assistant_turns=5\n",
     H100,
     .wanted = {"turns:", "tokens: 3  # assumed: half of the most turns", "most: 1365"},
     .account = {"assumed: workload.turns.number.tokens 3"}},
    {.text = VERL "actor_rollout_ref.rollout.multi_turn.enable=True\n",
     H100,
     .account = {"not simulated  run.sh:1  actor_rollout_ref.rollout.multi_turn.enable True: turns "
                 "with tools, and the input lacks their number"}},
    {.text = VERL "actor_rollout_ref.model.enable_activation_offload=True "
                  "actor_rollout_ref.rollout.enable_chunked_prefill=False "
                  "actor_rollout_ref.rollout.a_new_one=False actor_rollout_ref.actor.other=true "
                  "trainer.strange=true\n",
     H100,
     .account = {"not simulated  run.sh:1  actor_rollout_ref.rollout.a_new_one False",
                 "not simulated  run.sh:1  actor_rollout_ref.actor.other true",
                 "enable_activation_offload True: activations in the host's memory",
                 "enable_chunked_prefill False: prompts that are computed whole",
                 "not simulated  run.sh:1  trainer.strange true"}},
    {.text = VERL DYNAMIC "ulysses_sequence_parallel_size=2 "
                          "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192\n",
     H100,
     .wanted = {"micro: 1  # actor_rollout_ref.actor.use_dynamic_bsz True", "sequence: 16384  # "},
     .account =
         {"ppo_micro_batch_size_per_gpu 4: actor_rollout_ref.actor.use_dynamic_bsz True fills",
          "mapped         run.sh:1  actor_rollout_ref.actor.ppo_max_token_len_per_gpu 8192"}},
    {.text = VERL DYNAMIC "shuffle=False\n",
     H100,
     .wanted = {"micro: 1", "sequence: 16384  # the launcher's default"}},
    {.text = VERL DYNAMIC "ppo_max_token_len_per_gpu=4096\n",
     H100,
     .refused =
         "4096 tokens of a micro-batch are fewer than the longest prompt and response, 5120"},
    {.text = VERL DYNAMIC "shuffle=False actor_rollout_ref.model.use_remove_padding=False\n",
     H100,
     .wanted = {"micro: 4", "packing: padded"},
     .account = {"use_dynamic_bsz True: micro-batches by tokens of samples that are padded"}},
    {.text = VERL "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192 "
                  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4\n",
     H100,
     .wanted = {"micro: 4", "sequence: 5120"},
     .account =
         {"irrelevant     run.sh:1  actor_rollout_ref.actor.ppo_max_token_len_per_gpu 8192"}},
    {.file = "grpo.yaml",
     .text = NEMO_RL "policy.sequence_packing: {enabled: true, train_mb_tokens: 16384}\n"
                     "policy.train_micro_batch_size: 4\n",
     H100,
     .wanted = {"micro: 1", "sequence: 16384"},
     .account = {"policy.train_micro_batch_size: 4: policy.sequence_packing.enabled: true fills"}},
    {.file = "grpo.yaml",
     .text = NEMO_RL "policy.sequence_packing: {enabled: false, train_mb_tokens: 16384}\n"
                     "policy.train_micro_batch_size: 4\n",
     H100,
     .wanted = {"micro: 4", "sequence: 4096"},
     .account = {"train_mb_tokens: 16384: takes effect with policy.sequence-packing.enabled"}},
    {.text = SLIME "--global-batch-size 256 --num-steps-per-rollout 1\n",
     H100,
     .wanted = {"global: 256  # --global-batch-size 256"}},
    {.text = SLIME "--num-steps-per-rollout 2 --sglang-disable-cuda-graph\n",
     H100,
     .wanted = {"global: 128  # a rollout's responses / --num-steps-per-rollout 2",
                "cuda-graph-max-size: 0"}},
    {.text = SLIME "--global-batch-size 300 --num-steps-per-rollout 1\n",
     H100,
     .refused = "'300' is not 256, a rollout's responses / num_steps_per_rollout"},
    {.file = "nanotron.yaml",
     .text = "model:\n  model_config: {hidden_size: 4096, intermediate_size: 14336, "
             "num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8, vocab_size: "
             "128256, max_position_embeddings: 8192}\nparallelism: {dp: 1, tp: 8, pp: 1, tp_mode: "
             "REDUCE_SCATTER, tp_recompute_allgather: false}\ntokens: {micro_batch_size: 2, "
             "sequence_length: 8192, batch_accumulation_per_replica: 16}\n",
     H100,
     .wanted = {"keep-gathered: true"}},
    {.file = "grpo.yaml",
     .text = NEMO_RL "policy.generation:\n  max_new_tokens: 4096\n",
     H100,
     .account = {"policy.generation.max_new_tokens: 4096: at most 3072, which the mean prompt"},
     .wanted = {"most: 3072  # the longest sequence less the mean prompt"}},
    {.file = "grpo.yaml",
     .text = NEMO_RL "policy.generation:\n  vllm_cfg: {precision: fp8, kv_cache_dtype: fp8, "
                     "enforce_eager: true, mystery: false}\n",
     H100,
     .wanted = {"quantization: fp8-block", "kv-dtype: fp8", "cuda-graph-max-size: 0"},
     .account = {"not simulated  grpo.yaml:9  policy.generation.vllm_cfg.mystery: false"}},
    {NULL}};

#define RAY                                                                                        \
  "applications:\n- name: llm\n  args:\n    llm_configs:\n"                                        \
  "    - model_loading_config: {model_id: qwen, model_source: Qwen/Qwen3-8B}\n"                    \
  "      accelerator_type: H100\n"                                                                 \
  "      deployment_config:\n        autoscaling_config: {min_replicas: 1, max_replicas: 4}\n"     \
  "        novelty: 1\n"                                                                           \
  "      engine_kwargs: {tensor_parallel_size: 2, enable_prefix_caching: false}\n"

/* Each key of Ray Serve is in the account, and a switch that is off stays off. */
static const Line ray[] = {
    {.file = "ray.yaml",
     .text = RAY,
     H100,
     .wanted = {"model: Qwen/Qwen3-8B", "tp: 2", "prefix-caching: none"},
     .account = {"max_replicas: 4: replicas that follow the load: see workload.autoscaling",
                 "accelerator_type: H100: the GPU", "irrelevant     ray.yaml:2",
                 "deployment_config.novelty: 1: a key that is not known here"}},
    {NULL}};

#define SLURM(n_, gpus_)                                                                           \
  SRUN("#SBATCH --nodes=" n_ "\n#SBATCH --gpus-per-node=" gpus_ "\n", "python")
#define SRUN(headers_, options_)                                                                   \
  headers_                                                                                         \
      "srun " options_                                                                             \
      " pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "              \
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size " \
      "256 --bf16 --vocab-size 51200\n"

#define INCLUDE(hosts_)                                                                            \
  "deepspeed --include " hosts_                                                                    \
  " train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 "        \
  "--max_seq_length 2048\n"

/* The launcher's nodes stay: fewer full ones would have fewer NICs. */
static const Line nodes[] = {
    {.text = SLURM("8", "4"),
     H100,
     .wanted = {"nodes: 8  # #SBATCH --nodes, #SBATCH --gpus-per-node", "gpus: 4",
                "scale-up-domain: 4"},
     .account = {"assumed: 8 nodes of 4 GPUs, as the launcher has them"}},
    {.text = SLURM("8", "8"), H100, .wanted = {"nodes: 8"}, .lacks = "assumed: 8 nodes"},
    {.text = SLURM("8", "8"),
     .options = {.cluster = "gb200-nvl72"},
     .wanted = {"nodes: 16"},
     .account =
         {"assumed: the launcher's 8 nodes of 8 GPUs are nodes of gb200-nvl72, which have 4"}},
    {.text = SLURM("8", "4"),
     .options = {.cluster = "dgx-h100-superpod", .nodes = 2},
     .wanted = {"nodes: 2  # --nodes"},
     .lacks = "as the launcher has them"},
    {.text = SRUN("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n#SBATCH --ntasks-per-node=8\n",
                  "-n 16 python"),
     H100,
     .wanted = {"nodes: 4  # #SBATCH --nodes, tasks of srun", "gpus: 4"}},
    {.text = SRUN("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n#SBATCH --ntasks-per-node=2\n",
                  "python"),
     H100,
     .wanted = {"gpus: 2"}},
    {.text = SRUN("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n#SBATCH --ntasks-per-node=1\n",
                  "torchrun --nproc-per-node 8"),
     H100,
     .wanted = {"nodes: 4"},
     .lacks = "tasks of srun"},
    {.text = INCLUDE("localhost:0,1"), H100, .wanted = {"gpus: 2  # --include"}},
    {.text = INCLUDE("'a:0,1,2,3@b:0,1,2,3'"), H100, .wanted = {"nodes: 2", "gpus: 4"}},
    {.text = INCLUDE("'a:0,1@b:0,1,2,3'"), H100, .account = {"nodes with unlike numbers of GPUs"}},
    {.text = SRUN("#SBATCH --gpus=16\n#SBATCH --nodes=4\n", "python"), H100, .wanted = {"gpus: 4"}},
    {NULL}};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/launch-lines/offline", offline, test_lines);
  g_test_add_data_func("/launch-lines/programs", programs, test_lines);
  g_test_add_data_func("/launch-lines/loads", loads, test_lines);
  g_test_add_data_func("/launch-lines/choice", choices, test_lines);
  g_test_add_data_func("/launch-lines/limits", limits, test_lines);
  g_test_add_data_func("/launch-lines/rollouts", rollouts, test_lines);
  g_test_add_data_func("/launch-lines/ray", ray, test_lines);
  g_test_add_data_func("/launch-lines/nodes", nodes, test_lines);
  return g_test_run();
}
