/*
 * dialect_trtllm.c - `trtllm-serve MODEL` and the YAML of --extra_llm_api_options: TensorRT-LLM
 * 0.16 to 1.3.
 *
 * Sources: tensorrt_llm/commands/serve.py, tensorrt_llm/llmapi/llm_args.py (TorchLlmArgs) of v0.17,
 * v1.0 and of the main branch of 2026; examples/disaggregated.
 *
 * The YAML's keys are those of the command line and more. Both are settings of this dialect; the
 * YAML wins, since trtllm-serve lays it over its options. With enable_attention_dp every GPU of
 * tensor parallelism is a group of attention of its own.
 */
#include "sim/import/launch/dialects_serving.h"

#include <string.h>

#include "sim/import/launch/launch_serving.h"

/* --- Converters --- */

static gboolean is_on(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_is_on(draft, &orr_dialect_trtllm, key);
}

static void convert_reuse(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  orr_launch_draft_set(draft, rule->path, is_on(draft, setting->key) ? "block-hash" : "none",
                       setting, NULL);
}

static void convert_async(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  orr_launch_draft_set(draft, rule->path, is_on(draft, setting->key) ? "false" : "true", setting,
                       NULL);
}

/* cuda_graph_config: null, use_cuda_graph: false. */
static void convert_graphs(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                           const OrrLaunchRule *rule) {
  if (is_on(draft, setting->key))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the default");
  else
    orr_launch_draft_set(draft, rule->path, "0", setting, "no graphs");
}

static void convert_batches(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            const OrrLaunchRule *rule) {
  double largest = 0, size = 0;
  g_auto(GStrv) words = g_strsplit_set(setting->value ? setting->value : "", "[], ", -1);
  for (char **word = words; *word; word++)
    if (orr_launch_serving_number(*word, &size)) largest = MAX(largest, size);
  orr_launch_serving_set(draft, rule->path, (gint64)largest, setting, NULL);
}

static void convert_all_reduce(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                               const OrrLaunchRule *rule) {
  g_autofree char *value = g_ascii_strup(setting->value ? setting->value : "", -1);
  if (strcmp(value, "NCCL") == 0)
    orr_launch_draft_set(draft, rule->path, "nccl", setting, NULL);
  else if (strcmp(value, "AUTO") == 0)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the default");
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "a strategy of its all-reduce: computed as AUTO");
}

static void convert_bytes(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  double number = 0;
  if (!orr_launch_serving_number(setting->value, &number) || number < 0) {
    orr_launch_draft_bad(draft, setting, "'%s' is not a number of bytes",
                         setting->value ? setting->value : "");
    return;
  }
  g_autofree char *text = g_strdup_printf("%.0f B", number);
  orr_launch_draft_set(draft, rule->path, text, setting, NULL);
}

/* --- Rules --- */

#define LATER orr_launch_convert_later
#define COUNT orr_launch_serving_count
#define ENGINE "workload.engine."
#define GRAPHS ENGINE "cuda-graph-max-size"
#define SCHEDULER ENGINE "scheduler"
#define SPECULATION ENGINE "speculation"

static const OrrLaunchRule rules[] = {
    ORR_SERVING_MAPS(VALUE, "model", "model", orr_launch_serving_model),
    ORR_SERVING_MAPS(VALUE, "tensor-parallel-size tp-size tp", "workload.parallel.tp", LATER),
    ORR_SERVING_MAPS(VALUE, "pipeline-parallel-size pp-size pp", "workload.parallel.pp", LATER),
    ORR_SERVING_MAPS(VALUE, "moe-expert-parallel-size ep-size ep", "workload.parallel.ep", LATER),
    ORR_SERVING_MAPS(FLAG, "enable-attention-dp", "workload.parallel.dp-attention", LATER),
    ORR_SERVING_MAPS(VALUE, "max-batch-size", ENGINE "max-num-seqs", COUNT),
    ORR_SERVING_MAPS(VALUE, "max-num-tokens", ENGINE "max-num-batched-tokens", COUNT),
    ORR_SERVING_MAPS(VALUE, "max-seq-len", ENGINE "max-model-len", COUNT),
    ORR_SERVING_MAPS(
        VALUE,
        "kv-cache-free-gpu-memory-fraction kv-cache-free-gpu-mem-fraction free-gpu-memory-fraction "
        "kv-cache-config.free-gpu-memory-fraction",
        ENGINE "cache-fraction", orr_launch_serving_fraction),
    ORR_SERVING_MAPS(VALUE,
                     "kv-cache-dtype kv-cache-config.dtype pytorch-backend-config.kv-cache-dtype",
                     "workload.kv-dtype", orr_launch_serving_kv_dtype),
    ORR_SERVING_MAPS(VALUE, "dtype", "workload.precision", orr_launch_serving_dtype),
    ORR_SERVING_MAPS(FLAG, "kv-cache-config.enable-block-reuse", ENGINE "prefix-caching",
                     convert_reuse),
    ORR_SERVING_MAPS(VALUE, "kv-cache-config.tokens-per-block", ENGINE "block-size", COUNT),
    ORR_SERVING_MAPS(VALUE, "kv-cache-config.max-tokens", ENGINE "kv-blocks", LATER),
    ORR_SERVING_MAPS(VALUE, "kv-cache-config.host-cache-size", ENGINE "cache-tiers.host",
                     convert_bytes),
    ORR_SERVING_MAPS(VALUE,
                     "cuda-graph-config use-cuda-graph pytorch-backend-config.use-cuda-graph",
                     GRAPHS, convert_graphs),
    ORR_SERVING_MAPS(VALUE,
                     "cuda-graph-config.max-batch-size cuda-graph-max-batch-size "
                     "pytorch-backend-config.cuda-graph-max-batch-size",
                     GRAPHS, COUNT),
    ORR_SERVING_MAPS(VALUE,
                     "cuda-graph-config.batch-sizes cuda-graph-batch-sizes "
                     "pytorch-backend-config.cuda-graph-batch-sizes",
                     GRAPHS, convert_batches),
    ORR_SERVING_MAPS(FLAG,
                     "cuda-graph-config.enable-padding cuda-graph-padding-enabled "
                     "pytorch-backend-config.cuda-graph-padding-enabled",
                     ENGINE "cuda-graph-padding", orr_launch_convert_bool),
    ORR_SERVING_MAPS(FLAG,
                     "torch-compile-config.enable-piecewise-cuda-graph "
                     "torch-compile-piecewise-cuda-graph",
                     ENGINE "cuda-graph-prompts", orr_launch_convert_bool),
    ORR_SERVING_MAPS(FLAG,
                     "disable-overlap-scheduler pytorch-backend-config.disable-overlap-scheduler",
                     ENGINE "host.async", convert_async),
    ORR_SERVING_MAPS(FLAG,
                     "pytorch-backend-config.enable-overlap-scheduler enable-overlap-scheduler",
                     ENGINE "host.async", orr_launch_convert_bool),
    ORR_SERVING_MAPS(VALUE, "allreduce-strategy", ENGINE "all-reduce", convert_all_reduce),
    ORR_SERVING_MAPS(VALUE, "stream-interval", ENGINE "front-end.stream-interval", COUNT),
    ORR_SERVING_MAPS(VALUE, "batch-wait-timeout-iters", SCHEDULER, LATER),
    ORR_SERVING_MAPS(VALUE, "batch-wait-max-tokens-ratio", SCHEDULER, LATER),
    ORR_SERVING_MAPS(VALUE, "attention-dp-config.timeout-iters", SCHEDULER, LATER),
    ORR_SERVING_MAPS(FLAG, "attention-dp-config.enable-balance", SCHEDULER, LATER),
    ORR_SERVING_MAPS(VALUE, "speculative-config.decoding-type", SPECULATION, LATER),
    ORR_SERVING_MAPS(VALUE,
                     "speculative-config.num-nextn-predict-layers speculative-config.max-draft-len "
                     "speculative-config.max-draft-tokens",
                     SPECULATION, LATER),
    ORR_SERVING_MAPS(
        VALUE,
        "speculative-config.speculative-model-dir speculative-config.speculative-model "
        "speculative-config.pytorch-weights-path",
        SPECULATION, LATER),
    ORR_SERVING_MAPS(VALUE, "server-role", "workload.disaggregation", LATER),
    /* what does not change time or memory */
    ORR_SERVING_IGNORES(VALUE, "extra-llm-api-options config c", "its keys follow"),
    ORR_SERVING_IGNORES(VALUE,
                        "host port tokenizer custom-tokenizer tokenizer-mode revision "
                        "tokenizer-revision reasoning-parser tool-parser tool-call-parser "
                        "chat-template media-io-kwargs metadata-server-config-file "
                        "disagg-cluster-uri served-model-name hostname postprocess-tokenizer-dir "
                        "guided-decoding-backend batched-logits-processor sampler-type "
                        "trtllm-sampler extra-encoder-options "
                        "log-level otlp-traces-endpoint custom-module-dirs load-format "
                        "checkpoint-loader checkpoint-format mm-encoder-only video-pruning-rate "
                        "return-perf-metrics max-stats-len garbage-collection-gen0-threshold "
                        "max-input-len iter-stats-max-iterations request-stats-max-iterations "
                        "hang-detection-timeout perf-metrics-max-requests seed "
                        "orchestrator-type env-overrides telemetry-config telemetry-config.*",
                        "the API's protocol, logs, how weights are loaded"),
    ORR_SERVING_IGNORES(FLAG,
                        "trust-remote-code fail-fast-on-attention-window-too-large "
                        "skip-tokenizer-init print-iter-log enable-iter-perf-stats "
                        "enable-iter-req-stats enable-layerwise-nvtx-marker "
                        "pytorch-backend-config.print-iter-log "
                        "pytorch-backend-config.enable-iter-perf-stats "
                        "pytorch-backend-config.enable-layerwise-nvtx-marker "
                        "gather-generation-logits enable-trtllm-sampler use-torch-sampler "
                        "enable-autotuner autotuner-enabled grpc sampler-force-async-worker",
                        "the API's protocol, logs, how weights are loaded"),
    ORR_SERVING_IGNORES(VALUE,
                        "gpus-per-node cache-transceiver-config cache-transceiver-config.* "
                        "disagg-cluster disagg-cluster.* env env.* gpu-ids",
                        "which processes run where"),
    ORR_SERVING_IGNORES(VALUE,
                        "attn-backend moe-backend moe-config.backend "
                        "pytorch-backend-config.attn-backend pytorch-backend-config.moe-backend "
                        "nvfp4-gemm-config nvfp4-gemm-config.* attention-backend "
                        "moe-config.use-low-precision-moe-combine "
                        "moe-config.disable-finalize-fusion",
                        "which library's kernels: the profile holds the ones measured"),
    ORR_SERVING_IGNORES(
        VALUE,
        "kv-cache-config.enable-partial-reuse kv-cache-config.copy-on-partial-reuse "
        "kv-cache-config.event-buffer-max-size kv-cache-config.secondary-offload-min-priority "
        "kv-cache-config.onboard-blocks kv-cache-config.use-uvm",
        "a detail of the cache"),
    /* what is not simulated */
    ORR_SERVING_WARNS(VALUE, "backend", "pytorch", "this backend: computed as the PyTorch backend"),
    ORR_SERVING_WARNS(VALUE, "max-beam-width", "1", "beams: set workload.beam-search"),
    ORR_SERVING_WARNS(FLAG, "enable-chunked-prefill", "true",
                      "prompts are cut at max_num_tokens whether it is on or off"),
    ORR_SERVING_WARNS(VALUE, "context-parallel-size cp-size cp-config cp-config.*", "1",
                      "context parallelism in serving"),
    ORR_SERVING_WARNS(VALUE, "moe-cluster-parallel-size cluster-size", "1 -1",
                      "clusters of experts"),
    ORR_SERVING_WARNS(VALUE, "moe-tensor-parallel-size", NULL,
                      "it follows from tensor and expert parallelism"),
    ORR_SERVING_WARNS(VALUE, "num-postprocess-workers", "0",
                      "processes after the engine: set engine.front-end"),
    ORR_SERVING_WARNS(VALUE,
                      "scheduler-config.capacity-scheduler-policy "
                      "scheduler-config.context-chunking-policy "
                      "scheduler-config.dynamic-batch-config "
                      "scheduler-config.dynamic-batch-config.* scheduler-config.*",
                      "guaranteed_no_evict first_come_first_served true false 128",
                      "this choice of the scheduler: room for the output is reserved"),
    ORR_SERVING_WARNS(VALUE, "attention-dp-config.*", "0", "how attention groups wait"),
    ORR_SERVING_WARNS(VALUE, "kv-cache-config.*", "null none", "this detail of the cache"),
    ORR_SERVING_WARNS(VALUE, "moe-config.*", NULL, "this detail of experts"),
    ORR_SERVING_WARNS(VALUE, "moe-max-num-tokens moe-load-balancer moe-load-balancer.*", NULL,
                      "this detail of experts"),
    ORR_SERVING_WARNS(VALUE, "cuda-graph-config.*", NULL, "this detail of graphs"),
    ORR_SERVING_WARNS(VALUE, "speculative-config.*", "false true", "this detail of speculation"),
    ORR_SERVING_WARNS(VALUE, "torch-compile-config torch-compile-config.* torch-compile-enabled",
                      "null true false", "fusions of torch.compile"),
    ORR_SERVING_WARNS(VALUE, "quant-config quant-config.*", NULL,
                      "the format of weights: set workload.quantization"),
    ORR_SERVING_WARNS(VALUE,
                      "lora-config lora-config.* peft-cache-config peft-cache-config.* enable-lora "
                      "sparse-attention-config sparse-attention-config.* "
                      "extended-runtime-perf-knob-config extended-runtime-perf-knob-config.* "
                      "build-config build-config.* decoding-config decoding-config.* "
                      "enable-lm-head-tp-in-adp enable-min-latency batching-type "
                      "normalize-log-probs force-dynamic-quantization ray-worker-extension-cls "
                      "max-total-draft-tokens mm-encoder-max-batch-size "
                      "mm-encoder-max-num-tokens pp-partition disable-flashinfer-sampling "
                      "kv-connector-config kv-connector-config.* multimodal-config "
                      "multimodal-config.* layer-wise-benchmarks-config.* "
                      "enable-sleep enable-in-framework-sleep pytorch-backend-config.*",
                      "false null true", "this detail of the engine"),
};

/* --- Finish --- */

static const OrrLaunchSetting *find(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_find(draft, &orr_dialect_trtllm, key);
}

static gint64 whole(OrrLaunchDraft *draft, const char *key, gint64 fallback) {
  return MAX(orr_launch_draft_int(draft, &orr_dialect_trtllm, key, fallback), 1);
}

static void finish_layout(OrrLaunchDraft *draft) {
  const gint64 tp = whole(draft, "tp-size", 1);
  const gboolean by_groups = is_on(draft, "enable-attention-dp");
  const gboolean has_experts = orr_launch_serving_has_experts(draft);
  const OrrServingLayout layout = {.tp = by_groups ? 1 : tp,
                                   .pp = whole(draft, "pp-size", 1),
                                   .dp_attention = by_groups ? tp : 1,
                                   .ep = has_experts ? whole(draft, "ep-size", 1) : 1,
                                   .replicas = 1,
                                   .tp_from = find(draft, "tp-size"),
                                   .pp_from = find(draft, "pp-size"),
                                   .dp_from = find(draft, "enable-attention-dp"),
                                   .ep_from = find(draft, "ep-size")};
  orr_launch_serving_finish(draft, &layout);
}

static void put(OrrLaunchDraft *draft, const char *key, const OrrLaunchSetting *setting,
                const char *value) {
  g_autofree char *path = g_strdup_printf("workload.engine.scheduler.%s", key);
  orr_launch_draft_set(draft, "workload.engine.scheduler.kind", "trtllm", NULL, NULL);
  orr_launch_draft_set(draft, path, value, setting, NULL);
}

static void finish_scheduler(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *timeout = find(draft, "batch-wait-timeout-iters");
  const OrrLaunchSetting *ratio = find(draft, "batch-wait-max-tokens-ratio");
  const OrrLaunchSetting *balance = find(draft, "attention-dp-config.timeout-iters");
  if (timeout) put(draft, "batch-wait-timeout-iters", timeout, timeout->value);
  if (ratio) put(draft, "batch-wait-max-tokens-ratio", ratio, ratio->value);
  if (balance && is_on(draft, "attention-dp-config.enable-balance"))
    put(draft, "balance-timeout-iters", balance, balance->value);
}

static void finish_speculation(OrrLaunchDraft *draft) {
  OrrLaunchSetting *kind =
      orr_launch_draft_find(draft, &orr_dialect_trtllm, "speculative-config.decoding-type");
  OrrLaunchSetting *model =
      orr_launch_draft_find(draft, &orr_dialect_trtllm, "speculative-config.speculative-model-dir");
  if (!kind) return;
  g_autofree char *name = g_ascii_strup(kind->value ? kind->value : "", -1);
  const gint64 tokens = whole(draft, "speculative-config.max-draft-len", 1);
  if (strcmp(name, "MTP") == 0)
    orr_launch_serving_speculate(draft, kind, "mtp", tokens, "");
  else if (strcmp(name, "EAGLE") == 0 || strcmp(name, "EAGLE3") == 0)
    orr_launch_serving_speculate(draft, kind, "eagle", tokens, "joined=3;draft-vocab=32000");
  else if (strcmp(name, "NGRAM") == 0)
    orr_launch_serving_speculate(draft, kind, "ngram", tokens, "found=50 %");
  else if ((strcmp(name, "DRAFTTARGET") == 0 || strcmp(name, "DRAFT_TARGET") == 0) && model)
    orr_launch_serving_draft_model(draft, model, tokens);
  else
    orr_launch_draft_judge(draft, kind, ORR_LAUNCH_NOT_SIMULATED, "drafts of this kind");
}

/* NVIDIA's quantised checkpoints name the cache's format too (hf_quant_config.json:
 * kv_cache_quant_algo FP8). */
static void finish_cache(OrrLaunchDraft *draft) {
  const char *model = orr_launch_draft_get(draft, "model");
  const char *format = orr_launch_serving_format(draft);
  const gboolean is_quantised =
      g_str_has_prefix(format, "fp8") || g_str_has_prefix(format, "nvfp4");
  if (!is_quantised || !g_str_has_prefix(model ? model : "", "nvidia/")) return;
  if (!orr_launch_draft_get(draft, "workload.kv-dtype"))
    orr_launch_draft_set(draft, "workload.kv-dtype", "fp8", NULL,
                         "NVIDIA's quantised checkpoints: kv_cache_quant_algo");
}

static void finish(OrrLaunchDraft *draft) {
  finish_cache(draft);
  finish_scheduler(draft);
  finish_speculation(draft);
  const OrrLaunchSetting *tokens = find(draft, "kv-cache-config.max-tokens");
  const gint64 block = whole(draft, "kv-cache-config.tokens-per-block", 32);
  if (tokens)
    orr_launch_serving_set(draft, "workload.engine.kv-blocks",
                           MAX(whole(draft, "kv-cache-config.max-tokens", 1) / block, 1), tokens,
                           NULL);
  finish_layout(draft); /* last: it compares servers */
}

const OrrLaunchDialect orr_dialect_trtllm = {
    .name = "trtllm",
    .sentence = "TensorRT-LLM: trtllm-serve MODEL, and the YAML of --extra_llm_api_options.",
    .kind = "serving",
    .stack = "trtllm",
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
    .finish = finish,
};
