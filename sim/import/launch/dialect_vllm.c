/*
 * dialect_vllm.c - `vllm serve MODEL`: arguments of vLLM 0.4 to 0.19 and of its API server.
 *
 * Sources: vllm/engine/arg_utils.py (EngineArgs), vllm/entrypoints/openai/cli_args.py, and the
 * configs under vllm/config, of v0.4, v0.6, v0.7, v0.9, v0.11 and of the main branch of 2026.
 *
 * Data parallelism: each of --data-parallel-size ranks is an engine core on tp * pp GPUs. Ranks of
 * a mixture of experts step together and share the experts, which --enable-expert-parallel keeps
 * whole on tp * dp ranks; without it each expert is split over all of them. Ranks of a dense model
 * are engines behind one front end: replicas.
 */
#include "sim/import/launch/launch_private.h"

#include "sim/import/launch/launch_serving.h"

static const OrrLaunchDialect *const own = &orr_dialect_vllm;

#include "sim/import/launch/own_keys.inc"

/* --- Converters --- */

static void convert_graph_mode(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                               const OrrLaunchRule *rule) {
  g_autofree char *mode = g_ascii_strup(setting->value ? setting->value : "", -1);
  if (strcmp(mode, "NONE") == 0 || strcmp(mode, "0") == 0)
    orr_launch_draft_set(draft, rule->path, "0", setting, NULL);
  else if (strcmp(mode, "FULL_DECODE_ONLY") == 0)
    orr_launch_draft_set(draft, "workload.engine.cuda-graph-prompts", "false", setting, NULL);
  else if (strcmp(mode, "PIECEWISE") == 0)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "launches of attention between the graphs");
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "as the engine's default");
}

/* --- Finish --- */

static gint64 whole(OrrLaunchDraft *draft, const char *key) {
  return MAX(number(draft, key, 1), 1);
}

static void finish_layout(OrrLaunchDraft *draft) {
  const gint64 dp = whole(draft, "data-parallel-size");
  const gboolean has_experts = orr_launch_serving_has_experts(draft);
  OrrLaunchSetting *ep = find(draft, "enable-expert-parallel");
  OrrServingLayout layout = {.tp = whole(draft, "tensor-parallel-size"),
                             .pp = whole(draft, "pipeline-parallel-size"),
                             .dp_attention = has_experts ? dp : 1,
                             .ep = 1,
                             .replicas = has_experts ? 1 : dp,
                             .tp_from = find(draft, "tensor-parallel-size"),
                             .pp_from = find(draft, "pipeline-parallel-size"),
                             .dp_from = find(draft, "data-parallel-size"),
                             .ep_from = ep};
  if (ep && !has_experts)
    orr_launch_draft_judge(draft, ep, ORR_LAUNCH_IRRELEVANT, "the model has no experts");
  else if (is_on(draft, "enable-expert-parallel"))
    layout.ep = layout.tp * dp;
  if (layout.replicas > 1)
    orr_launch_draft_set(draft, "workload.router", "least-loaded", layout.dp_from,
                         "the front end's balance");
  orr_launch_serving_finish(draft, &layout);
}

static void finish_scheduler(OrrLaunchDraft *draft) {
  OrrLaunchSetting *policy = find(draft, "scheduling-policy");
  const char *threshold = "long-prefill-token-threshold";
  const gboolean is_long = number(draft, threshold, 0) > 0;
  const gboolean has_chunks = find(draft, "enable-chunked-prefill") || is_long;
  const char *kind = policy && policy->value ? policy->value : "fcfs";
  const gboolean is_ranked = strcmp(kind, "priority") == 0;
  if (!is_ranked && strcmp(kind, "fcfs") != 0)
    return orr_launch_draft_bad(draft, policy, "is not a policy of vLLM (allowed: fcfs, priority)");
  if (!has_chunks && is_ranked)
    orr_launch_draft_set(draft, "workload.engine.scheduler", kind, policy, NULL);
  if (!has_chunks) return;
  orr_launch_draft_set(draft, "workload.engine.scheduler.kind", is_ranked ? kind : "vllm",
                       is_ranked ? policy : NULL, NULL);
  settle(draft, "enable-chunked-prefill");
  if (is_long) settle(draft, threshold);
}

/* Adapters: the modules that are listed, else as many as fit at once. Every linear layer has slots
 * and kernels, whatever the adapters have (vllm/lora/model_manager.py, _create_lora_modules). */
static void finish_lora(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *modules = find(draft, "lora-modules"), *on = find(draft, "enable-lora");
  const gint64 slots = number(draft, "max-loras", 1);
  const gint64 rank = number(draft, "max-lora-rank", 16);
  if (!is_on(draft, "enable-lora")) return;
  g_auto(GStrv) names = g_strsplit(modules ? modules->value : "", " ", -1);
  const gint64 n = modules ? (gint64)g_strv_length(names) : slots;
  orr_launch_draft_set_number(draft, "workload.engine.lora.adapters", MAX(n, 1),
                              modules ? modules : on, modules ? NULL : "as many as fit at once");
  orr_launch_draft_set_number(draft, "workload.engine.lora.max-loras", MAX(slots, 1),
                              find(draft, "max-loras"), NULL);
  orr_launch_draft_set_number(draft, "workload.engine.lora.shape.rank", rank,
                              find(draft, "max-lora-rank"), NULL);
  orr_launch_draft_set(draft, "workload.engine.lora.shape.targets", "[qkv, projection, fc1, fc2]",
                       on, "slots of every linear layer");
}

/* Dual batch overlap, with the thresholds of vllm/config/parallel.py. */
static void finish_batches(OrrLaunchDraft *draft) {
  static const struct {
    const char *key, *path;
    gint64 tokens;
  } least[] = {{"dbo-decode-token-threshold", "workload.parallel.two-batches.decodes", 32},
               {"dbo-prefill-token-threshold", "workload.parallel.two-batches.prompts", 512}};
  const OrrLaunchSetting *on = find(draft, "enable-dbo");
  if (!is_on(draft, "enable-dbo")) return;
  for (guint i = 0; i < G_N_ELEMENTS(least); i++) {
    const OrrLaunchSetting *said = find(draft, least[i].key);
    const gint64 n = number(draft, least[i].key, least[i].tokens);
    orr_launch_draft_set_number(draft, least[i].path, MAX(n, 1), said ? said : on,
                                said ? NULL : "vLLM's default");
  }
}

/* The method that vLLM derives from the draft model's name where none is given
 * (vllm/config/speculative.py). */
static const char *method_of(OrrLaunchDraft *draft) {
  const char *given = orr_launch_draft_value(draft, own, "speculative-config.method");
  const char *model = orr_launch_draft_value(draft, own, "speculative-config.model");
  g_autofree char *lower = g_ascii_strdown(model ? model : "", -1);
  if (given) return given;
  if (strstr(lower, "eagle3")) return "eagle3";
  if (strstr(lower, "eagle")) return "eagle";
  if (strstr(lower, "ngram")) return "ngram";
  if (strstr(lower, "medusa")) return "medusa";
  return model ? "draft_model" : "mtp";
}

static void finish_speculation(OrrLaunchDraft *draft) {
  OrrLaunchSetting *tokens = find(draft, "num-speculative-tokens");
  OrrLaunchSetting *model = find(draft, "speculative-config.model");
  OrrLaunchSetting *any = find(draft, "speculative-method");
  any = any ? any : tokens ? tokens : model;
  if (!any) return;
  const char *method = method_of(draft);
  const gint64 n = tokens ? whole(draft, "num-speculative-tokens") : 1;
  if (strcmp(method, "eagle3") == 0)
    orr_launch_serving_speculate(draft, any, "eagle", n, "joined=3;draft-vocab=32000");
  else if (strcmp(method, "eagle") == 0)
    orr_launch_serving_speculate(draft, any, "eagle", n, "joined=2");
  else if (strstr(method, "mtp"))
    orr_launch_serving_speculate(draft, any, "mtp", n, "");
  else if (strcmp(method, "ngram") == 0 || strcmp(method, "suffix") == 0)
    orr_launch_serving_speculate(draft, any, "ngram", n, "found=50 %");
  else if (strcmp(method, "draft_model") == 0 && model)
    orr_launch_serving_draft_model(draft, model, n);
  else
    orr_launch_draft_judge(draft, any, ORR_LAUNCH_NOT_SIMULATED, "drafts of this kind");
}

/* Without chunks a step must hold a whole request: vLLM's default is then the longest one, and at
 * least its other default (vllm/engine/arg_utils.py, _set_default_args). */
static void finish_budget(OrrLaunchDraft *draft) {
  enum { LEAST = 8192 };
  const OrrLaunchSetting *chunks = find(draft, "enable-chunked-prefill");
  if (!chunks || is_on(draft, "enable-chunked-prefill")) return;
  if (!find(draft, "max-num-batched-tokens"))
    orr_launch_draft_set_number(draft, "workload.engine.max-num-batched-tokens",
                                MAX(orr_launch_serving_longest(draft), LEAST), chunks,
                                "whole prompts: as many as the longest request");
}

/* YaRN laid over the model's config: the context is then original_max_position_embeddings * factor
 * (vllm/config/model.py, _get_and_verify_max_len). */
static void finish_context(OrrLaunchDraft *draft) {
  OrrLaunchSetting *setting = find(draft, "rope-scaling.factor");
  const char *type = orr_launch_draft_value(draft, own, "rope-scaling.rope-type");
  const gint64 original = number(draft, "rope-scaling.original-max-position-embeddings", 0);
  double factor = 0;
  if (g_strcmp0(type, "yarn") == 0 && setting && original > 0 &&
      orr_launch_serving_number(setting->value, &factor) && factor * (double)original < 1e9)
    orr_launch_draft_set_number(draft, "model.context", (gint64)(factor * (double)original),
                                setting, "YaRN: the original length * factor");
}

static void finish(OrrLaunchDraft *draft) {
  finish_context(draft);
  finish_scheduler(draft);
  finish_budget(draft);
  finish_lora(draft);
  finish_batches(draft);
  finish_speculation(draft);
  finish_layout(draft); /* last: it compares servers */
}

static const OrrLaunchConverter converters[] = {{"graph-mode", convert_graph_mode}, {NULL, NULL}};

const OrrLaunchDialect orr_dialect_vllm = {
    .name = "vllm",
    .kind = "serving",
    .stack = "vllm",
    .port = "8000",
    .converters = converters,
    .finish = finish,
};
