/*
 * dialect_olmo.c - YAML of OLMo, before OLMo-core: PyTorch's FSDP around its own layers.
 *
 * Source: olmo/config.py and configs of allenai/OLMo, 2023 to 2025. Its feed-forward width counts
 * both halves of a gated layer: mlp_hidden_size: 22016 is a width of 11,008.
 */
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_olmo;

#include "sim/import/launch/own_keys.inc"

static gboolean says(OrrLaunchDraft *draft, const char *key, const char *value) {
  return orr_launch_config_says(draft, own, key, value);
}

static void put(OrrLaunchDraft *draft, const char *path, const char *value, const char *key,
                const char *otherwise) {
  const OrrLaunchSetting *source = find(draft, key);
  orr_launch_draft_set(draft, path, value, source, source ? NULL : otherwise);
}

static void put_count(OrrLaunchDraft *draft, const char *path, gint64 value, const char *key,
                      const char *otherwise) {
  g_autofree char *text = g_strdup_printf("%ld", value);
  put(draft, path, text, key, otherwise);
}

/* --- The model --- */

static gboolean is_gated(OrrLaunchDraft *draft) {
  const char *type = text_of(draft, "model.activation-type");
  return !type || strcmp(type, "swiglu") == 0;
}

static void set_widths(OrrLaunchDraft *draft) {
  const char *wide = "model.mlp-hidden-size", *embedding = "model.embedding-size";
  const char *groups = "model.n-kv-heads";
  const gint64 hidden = count(draft, "model.d-model", 0), size = count(draft, wide, 0);
  const gint64 whole = size ? size : hidden * count(draft, "model.mlp-ratio", 4);
  const gint64 vocab = count(draft, embedding, 0), kv = count(draft, groups, 0);
  put_count(draft, "model.ffn", is_gated(draft) ? whole / 2 : whole,
            size ? wide : "model.mlp-ratio", "OLMo's default: mlp_ratio 4");
  put_count(draft, "model.vocab", vocab ? vocab : count(draft, "model.vocab-size", 50257),
            vocab ? embedding : "model.vocab-size", "OLMo's default");
  if (kv || is_on(draft, "model.multi-query-attention"))
    put_count(draft, "model.kv-heads", kv ? kv : 1, kv ? groups : "model.multi-query-attention",
              NULL);
}

static void set_kinds(OrrLaunchDraft *draft) {
  const gboolean is_rope = is_on(draft, "model.rope"), is_alibi = is_on(draft, "model.alibi");
  settle(draft, "model.activation-type model.layer-norm-type");
  put(draft, "model.position",
      is_rope    ? "rope"
      : is_alibi ? "none"
                 : "learned",
      is_rope ? "model.rope" : "model.alibi", "OLMo's default");
  settle(draft, "model.include-bias model.weight-tying model.attention-layer-norm");
}

static void set_model(OrrLaunchDraft *draft) {
  const char *sequence = "model.max-sequence-length";
  put_count(draft, "workload.sequence", count(draft, sequence, 1024), sequence, "OLMo's default");
  if (draft->options->model) return;
  orr_launch_draft_set(draft, "model.name", "from-the-config", NULL, NULL);
  put_count(draft, "model.context", count(draft, sequence, 1024), sequence, "OLMo's default");
  set_widths(draft);
  set_kinds(draft);
}

/* --- The job --- */

static void set_sharding(OrrLaunchDraft *draft) {
  const char *path = "workload.optimizer.sharding.kind", *key = "fsdp.sharding-strategy";
  const char *precision = "fsdp.precision";
  const gboolean is_ddp = says(draft, "distributed-strategy", "ddp");
  const gboolean is_hybrid =
      says(draft, key, "HYBRID_SHARD") || says(draft, key, "_HYBRID_SHARD_ZERO2");
  if (is_ddp || says(draft, key, "NO_SHARD"))
    put(draft, path, "ddp", is_ddp ? "distributed-strategy" : key, NULL);
  else
    put(draft, path, is_hybrid ? "hsdp" : "fsdp", key, "OLMo's default: FULL_SHARD");
  if (says(draft, key, "SHARD_GRAD_OP") || says(draft, key, "_HYBRID_SHARD_ZERO2"))
    put(draft, "workload.optimizer.sharding.reshard-after-forward", "false", key, NULL);
  if (!is_ddp || says(draft, precision, "mixed") || says(draft, precision, "DEFAULT"))
    settle(draft, precision);
}

static void finish(OrrLaunchDraft *draft) {
  set_model(draft);
  set_sharding(draft);
  settle(draft, "activation-checkpointing precision model.flash-attention");
  if (!draft->options->stack)
    orr_launch_draft_remark(draft, "no stack is of OLMo's layers: llm-foundry's are "
                                   "simulated, which PyTorch's FSDP shards as well");
}

const OrrLaunchDialect orr_dialect_olmo = {
    .name = "olmo",
    .kind = "training",
    .stack = "llm-foundry",
    .finish = finish,
    .signs = "model.max_sequence_length model.mlp_ratio model.mlp_hidden_size",
};
