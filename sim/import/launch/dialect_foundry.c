/*
 * dialect_foundry.c - llm-foundry's YAML.
 *
 * Source: llmfoundry/utils/config_utils.py (TrainConfig), scripts/train/yamls of
 * mosaicml/llm-foundry, v0.1 to v0.20; the Trainer's arguments of mosaicml/composer.
 */
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_foundry;

#include "sim/import/launch/own_keys.inc"

/* The MPT of the library with these dimensions; NULL: none. */
static char *library_mpt(OrrLaunchDraft *draft) {
  OrrLibrary *library = orr_launch_draft_library(draft);
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  g_auto(GStrv) names = orr_library_names(library, "model");
  g_autofree char *layers = g_strdup_printf("%ld", count(draft, "model.n-layers", 0));
  g_autofree char *hidden = g_strdup_printf("%ld", count(draft, "model.d-model", 0));
  for (char **name = names; *name; name++) {
    if (!g_str_has_prefix(*name, "mpt-")) continue;
    const OrrNode *tree = orr_library_borrow(library, "model", *name, (OrrPlace){0}, ignored);
    if (tree && g_strcmp0(orr_node_get_text(tree, "layers"), layers) == 0 &&
        g_strcmp0(orr_node_get_text(tree, "hidden"), hidden) == 0)
      return g_strdup(*name);
  }
  return NULL;
}

static gboolean is_plain_mpt(OrrLaunchDraft *draft) {
  const char *tied = text_of(draft, "model.tie-word-embeddings");
  if (tied && !is_on(draft, "model.tie-word-embeddings")) return FALSE;
  return !text_of(draft, "model.attn-config.kv-n-heads") &&
         !text_of(draft, "model.ffn-config.ffn-hidden-size") &&
         !is_on(draft, "model.attn-config.rope") && count(draft, "model.expansion-ratio", 4) == 4;
}

static void set_kinds(OrrLaunchDraft *draft) {
  const gboolean is_rope = is_on(draft, "model.attn-config.rope");
  const gboolean is_alibi = is_on(draft, "model.attn-config.alibi");
  settle(draft, "model.ffn-config.ffn-type model.norm-type");
  orr_launch_draft_set(draft, "model.position",
                       is_rope    ? "rope"
                       : is_alibi ? "none"
                                  : "learned",
                       NULL, is_rope || is_alibi ? "model.attn_config" : "MPT's default");
  settle(draft, "model.no-bias model.tie-word-embeddings");
}

static void set_dimensions(OrrLaunchDraft *draft) {
  const gint64 hidden = count(draft, "model.d-model", 0);
  const gint64 ffn = count(draft, "model.ffn-config.ffn-hidden-size", 0);
  g_autofree char *width =
      g_strdup_printf("%ld", ffn ? ffn : hidden * count(draft, "model.expansion-ratio", 4));
  orr_launch_draft_set(draft, "model.name", "from-the-config", NULL, NULL);
  settle(draft, "model.n-layers model.d-model model.n-heads model.attn-config.kv-n-heads");
  orr_launch_draft_set(draft, "model.ffn", width, NULL, "model.expansion_ratio or ffn_hidden_size");
  orr_launch_config_put_count(draft, own, "model.vocab", count(draft, "model.vocab-size", 50368),
                              "model.vocab-size");
  orr_launch_config_put_count(draft, own, "model.context", count(draft, "model.max-seq-len", 2048),
                              "model.max-seq-len");
  set_kinds(draft);
}

static void set_model(OrrLaunchDraft *draft) {
  if (draft->options->model) return;
  if (text_of(draft, "model.pretrained-model-name-or-path"))
    return orr_launch_config_put_model(draft, own, "model.pretrained-model-name-or-path");
  if (count(draft, "model.n-layers", 0) == 0 || count(draft, "model.d-model", 0) == 0) return;
  g_autofree char *name = is_plain_mpt(draft) ? library_mpt(draft) : NULL;
  if (name)
    orr_launch_draft_set(draft, "model", name, NULL, "has the config's d_model and n_layers");
  else
    set_dimensions(draft);
}

static void set_batch(OrrLaunchDraft *draft) {
  const char *micro = "device-train-microbatch-size", *global = "global-train-batch-size";
  const OrrLaunchSetting *setting = find(draft, micro);
  const gint64 gpus = orr_launch_config_gpus(draft), all = count(draft, global, 0);
  if (all > 0)
    settle(draft, global);
  else
    orr_launch_config_put_global(draft, count(draft, micro, 1), 1, 1,
                                 "one micro-batch on each GPU: no global_train_batch_size");
  if (setting && strcmp(setting->value, "auto") == 0) {
    orr_launch_draft_judge(draft, (OrrLaunchSetting *)setting, ORR_LAUNCH_NOT_SIMULATED,
                           "auto: the largest that fits; one sequence is simulated");
    orr_launch_draft_set(draft, "workload.batch.micro", "1", NULL, "auto");
    return;
  }
  gint64 size = count(draft, micro, 1);
  if (gpus > 0 && all >= gpus) size = MIN(size, all / gpus);
  if (setting) orr_launch_config_put_count(draft, own, "workload.batch.micro", MAX(size, 1), micro);
}

static void finish(OrrLaunchDraft *draft) {
  set_model(draft);
  set_batch(draft);
  settle(draft, "fsdp-config.sharding-strategy fsdp-config.mixed-precision "
                "fsdp-config.activation-checkpointing precision model.attn-config.attn-impl");
}

const OrrLaunchDialect orr_dialect_foundry = {
    .name = "llm-foundry",
    .kind = "training",
    .stack = "llm-foundry",
    .finish = finish,
    .signs = "device_train_microbatch_size global_train_batch_size max_duration model.attn_config",
};
