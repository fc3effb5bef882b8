/*
 * dialect_sglang.c - `sglang serve`, `python -m sglang.launch_server`: SGLang 0.4 to 0.5.
 *
 * Source: python/sglang/srt/server_args.py of v0.4.6, v0.5.9 and of the main branch of 2026.
 *
 * --tp-size counts the GPUs of an engine. With --enable-dp-attention they form --dp-size groups of
 * attention, each of tp / dp GPUs, which divide --max-running-requests among themselves (and
 * --chunked-prefill-size: the scheduler does); without it, --dp-size engines stand behind one front
 * end.
 */
#include "sim/import/launch/launch_private.h"

#include "sim/import/launch/launch_serving.h"

static const OrrLaunchDialect *const own = &orr_dialect_sglang;

#include "sim/import/launch/own_keys.inc"

/* --- Finish --- */

static gint64 whole(OrrLaunchDraft *draft, const char *key, gint64 fallback) {
  return MAX(number(draft, key, fallback), 1);
}

/* Groups of attention that divide an engine's GPUs. */
static gint64 groups_of(OrrLaunchDraft *draft) {
  if (find(draft, "attn-dp-size")) return whole(draft, "attn-dp-size", 1);
  return is_on(draft, "enable-dp-attention") ? whole(draft, "dp-size", 1) : 1;
}

/* All-to-all exchanges come with experts on all GPUs. */
static gint64 experts_of(OrrLaunchDraft *draft, gint64 tp, const OrrLaunchSetting **ret_from) {
  static const char *const all[] = {"moe-a2a-backend", "enable-deepep-moe", "enable-ep-moe", NULL};
  *ret_from = find(draft, "ep-size");
  if (*ret_from) return whole(draft, "ep-size", 1);
  for (const char *const *key = all; *key; key++) {
    if (!is_on(draft, *key)) continue;
    *ret_from = find(draft, *key);
    return tp;
  }
  return 1;
}

static void finish_layout(OrrLaunchDraft *draft) {
  const gint64 tp = whole(draft, "tp-size", 1), groups = groups_of(draft);
  OrrServingLayout layout = {.tp = MAX(tp / groups, 1),
                             .pp = whole(draft, "pp-size", 1),
                             .dp_attention = groups,
                             .replicas = groups > 1 ? 1 : whole(draft, "dp-size", 1),
                             .tp_from = find(draft, "tp-size"),
                             .pp_from = find(draft, "pp-size"),
                             .dp_from = find(draft, "dp-size")};
  layout.ep = orr_launch_serving_has_experts(draft) ? experts_of(draft, tp, &layout.ep_from) : 1;
  if (tp % groups != 0)
    orr_launch_draft_bad(draft, layout.dp_from, "does not divide --tp-size, %ld", tp);
  settle(draft, "deepep-mode");
  orr_launch_serving_finish(draft, &layout);
}

static void finish_limits(OrrLaunchDraft *draft) {
  const gint64 groups = groups_of(draft);
  const OrrLaunchSetting *running = find(draft, "max-running-requests");
  const OrrLaunchSetting *tokens = find(draft, "max-total-tokens");
  if (running)
    orr_launch_draft_set_number(draft, "workload.engine.max-num-seqs",
                                MAX(whole(draft, "max-running-requests", 1) / groups, 1), running,
                                groups > 1 ? "for each group of attention" : NULL);
  if (tokens)
    orr_launch_draft_set_number(
        draft, "workload.engine.kv-blocks",
        MAX(whole(draft, "max-total-tokens", 1) / whole(draft, "page-size", 1), 1), tokens, NULL);
}

static void finish_scheduler(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *chunk = find(draft, "chunked-prefill-size");
  if (!find(draft, "schedule-policy") && !chunk && !find(draft, "enable-mixed-chunk")) return;
  orr_launch_draft_set(draft, "workload.engine.scheduler.kind", "sglang", NULL, NULL);
  const gint64 tokens = number(draft, "chunked-prefill-size", 8192);
  if (chunk)
    orr_launch_draft_set_number(draft, "workload.engine.scheduler.chunked-prefill-size",
                                MAX(tokens, 0), chunk, tokens > 0 ? NULL : "prompts are not cut");
  settle(draft, "enable-mixed-chunk schedule-policy");
}

/* Whether EAGLE drafts SGLang's default tree: it is asked for without numbers, and the model has no
 * layers of prediction of its own (server_args.py, auto_choose_speculative_params: DeepSeek drafts
 * a chain of 3 tokens, other models 8 tokens in 5 steps with topk 4). */
static gboolean drafts_tree(OrrLaunchDraft *draft) {
  const char *name = orr_launch_draft_value(draft, own, "speculative-algorithm");
  return name && g_ascii_strncasecmp(name, "EAGLE", 5) == 0 && !orr_launch_serving_has_mtp(draft) &&
         !find(draft, "speculative-num-steps") && !find(draft, "speculative-eagle-topk") &&
         !find(draft, "speculative-num-draft-tokens");
}

/* A tree of drafts: num-steps passes; each after the first computes topk tokens. */
static void finish_tree(OrrLaunchDraft *draft, gint64 tokens, gint64 branches) {
  const gint64 depth =
      MIN(whole(draft, "speculative-num-steps", drafts_tree(draft) ? 5 : 3), tokens);
  const char *why = drafts_tree(draft) ? "SGLang's default: 5 steps, topk 4, 8 tokens" : NULL;
  orr_launch_draft_set_number(draft, "workload.engine.speculation.depth", depth,
                              find(draft, "speculative-num-steps"), why);
  orr_launch_draft_set_number(draft, "workload.engine.speculation.branches", branches,
                              find(draft, "speculative-eagle-topk"), why);
}

static void finish_speculation(OrrLaunchDraft *draft) {
  OrrLaunchSetting *setting = find(draft, "speculative-algorithm");
  OrrLaunchSetting *model = find(draft, "speculative-draft-model-path");
  if (!setting) return;
  g_autofree char *name = g_ascii_strup(setting->value ? setting->value : "", -1);
  const gboolean is_tree = drafts_tree(draft);
  const gint64 topk = whole(draft, "speculative-eagle-topk", is_tree ? 4 : 1);
  const gint64 steps = topk > 1 ? whole(draft, "speculative-num-draft-tokens", is_tree ? 8 : 4) - 1
                                : whole(draft, "speculative-num-steps", 3);
  g_autofree char *drafter = g_ascii_strdown(model && model->value ? model->value : "", -1);
  const gboolean is_own =
      orr_launch_serving_has_mtp(draft) && (!model || strstr(drafter, "nextn") != NULL);
  if (strcmp(name, "EAGLE3") == 0)
    orr_launch_serving_speculate(draft, setting, "eagle", steps, "joined=3;draft-vocab=32000");
  else if (strcmp(name, "NEXTN") == 0 || (strcmp(name, "EAGLE") == 0 && is_own))
    orr_launch_serving_speculate(draft, setting, "mtp", steps, "");
  else if (strcmp(name, "EAGLE") == 0)
    orr_launch_serving_speculate(draft, setting, "eagle", steps, "joined=2");
  else if (strcmp(name, "NGRAM") == 0 || strcmp(name, "LOOKAHEAD") == 0)
    orr_launch_serving_speculate(draft, setting, "ngram",
                                 whole(draft, "speculative-num-draft-tokens", 12), "found=50 %");
  else if (strcmp(name, "STANDALONE") == 0 && model)
    orr_launch_serving_draft_model(draft, model, steps);
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "drafts of this kind");
  const char *kind = orr_launch_draft_get(draft, "workload.engine.speculation.kind");
  if (topk > 1 && kind && strcmp(kind, "ngram") != 0) finish_tree(draft, steps, topk);
}

/* Host memory in GB of each rank: the scenario's is a replica's. */
static void finish_tiers(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *size = find(draft, "hicache-size");
  double gigabytes = 0;
  if (!size || !orr_launch_serving_number(size->value, &gigabytes) || gigabytes <= 0) return;
  g_autofree char *text = g_strdup_printf(
      "%.0f GB", gigabytes * (double)(whole(draft, "tp-size", 1) * whole(draft, "pp-size", 1)));
  orr_launch_draft_set(draft, "workload.engine.cache-tiers.host", text, size,
                       "for each rank of the engine");
}

static void finish_lora(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *paths = find(draft, "lora-paths");
  if (!paths || !paths->value) return;
  g_auto(GStrv) names = g_strsplit(paths->value, " ", -1);
  orr_launch_draft_set_number(draft, "workload.engine.lora.adapters", (gint64)g_strv_length(names),
                              paths, NULL);
  orr_launch_draft_set_number(draft, "workload.engine.lora.max-loras",
                              whole(draft, "max-loras-per-batch", 8),
                              find(draft, "max-loras-per-batch"), NULL);
  orr_launch_draft_set_number(draft, "workload.engine.lora.shape.rank",
                              whole(draft, "max-lora-rank", 16), find(draft, "max-lora-rank"),
                              NULL);
}

static void finish(OrrLaunchDraft *draft) {
  finish_limits(draft);
  finish_scheduler(draft);
  finish_speculation(draft);
  finish_tiers(draft);
  finish_lora(draft);
  finish_layout(draft); /* last: it compares servers */
}

const OrrLaunchDialect orr_dialect_sglang = {
    .name = "sglang",
    .kind = "serving",
    .stack = "sglang",
    .port = "30000",
    .has_model_option = TRUE,
    .client = &orr_dialect_sglang_bench,
    .finish = finish,
};
