/*
 * dialect_trtllm.c - `trtllm-serve MODEL` and the YAML of --extra_llm_api_options: TensorRT-LLM
 * 0.16 to 1.3.
 *
 * Sources: tensorrt_llm/commands/serve.py, tensorrt_llm/llmapi/llm_args.py (TorchLlmArgs) of v0.17,
 * v1.0 and of the main branch of 2026; examples/disaggregated.
 *
 * The YAML has the command line's keys and more. Both are settings of this dialect; the
 * YAML wins, since trtllm-serve lays it over its options. With enable_attention_dp every GPU of
 * tensor parallelism is a group of attention of its own.
 */
#include "sim/import/launch/launch_private.h"

#include "sim/import/launch/launch_serving.h"

static const OrrLaunchDialect *const own = &orr_dialect_trtllm;

#include "sim/import/launch/own_keys.inc"

/* --- Converters --- */

/* trtllm-bench has the model's name and, with --model_path, the folder of its checkpoint. */
static void convert_path(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  if (find(draft, "model"))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the model's name says which");
  else
    orr_launch_serving_model(draft, setting, rule);
}

static const OrrLaunchConverter converters[] = {{"path", convert_path}, {NULL, NULL}};

/* --- Finish --- */

static gint64 whole(OrrLaunchDraft *draft, const char *key, gint64 fallback) {
  return MAX(number(draft, key, fallback), 1);
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

/* trtllm-bench cuts prompts; trtllm-serve and the LLM API cut them on request (llm_args.py:
 * enable_chunked_prefill False). */
static void finish_chunks(OrrLaunchDraft *draft) {
  static const char key[] = "enable-chunked-prefill";
  if (!find(draft, key) && orr_launch_config_has(draft, &orr_dialect_offline_bench)) return;
  orr_launch_draft_set(draft, "workload.engine.scheduler.kind", "trtllm", NULL, NULL);
  if (find(draft, key))
    settle(draft, key);
  else
    orr_launch_draft_set(draft, "workload.engine.scheduler.chunked-prefill", "false", NULL,
                         "no --enable_chunked_prefill");
}

static void finish_scheduler(OrrLaunchDraft *draft) {
  const char *balance = "attention-dp-config.timeout-iters";
  const gboolean is_balanced = is_on(draft, "attention-dp-config.enable-balance");
  if (find(draft, "batch-wait-timeout-iters") || find(draft, "batch-wait-max-tokens-ratio") ||
      (is_balanced && find(draft, balance)))
    orr_launch_draft_set(draft, "workload.engine.scheduler.kind", "trtllm", NULL, NULL);
  finish_chunks(draft);
  orr_launch_draft_settle(draft, own, "batch-wait-timeout-iters batch-wait-max-tokens-ratio");
  if (is_balanced) settle(draft, balance);
}

static void finish_speculation(OrrLaunchDraft *draft) {
  OrrLaunchSetting *kind = find(draft, "speculative-config.decoding-type");
  OrrLaunchSetting *model = find(draft, "speculative-config.speculative-model-dir");
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
    orr_launch_draft_set_number(draft, "workload.engine.kv-blocks",
                                MAX(whole(draft, "kv-cache-config.max-tokens", 1) / block, 1),
                                tokens, NULL);
  finish_layout(draft); /* last: it compares servers */
}

const OrrLaunchDialect orr_dialect_trtllm = {
    .name = "trtllm",
    .kind = "serving",
    .stack = "trtllm",
    .port = "8000",
    .config = "extra-llm-api-options",
    .config_wins = TRUE,
    .is_written_in_full = TRUE,
    .converters = converters,
    .finish = finish,
};
