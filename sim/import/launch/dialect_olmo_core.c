/*
 * dialect_olmo_core.c - OLMo-core's scripts, whose batches are in tokens (form_olmo_core.c).
 *
 * Models are made by functions: dimensions of olmo2_* as in the config.json of allenai/OLMo-2-*.
 */
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_olmo_core;

#include "sim/import/launch/own_keys.inc"

static const OrrLaunchWordPair known[] = {
    {"olmo3_32B", "olmo-3-32b"},   {"llama2_7B", "llama-2-7b"},       {"llama2_13B", "llama-2-13b"},
    {"llama2_70B", "llama-2-70b"}, {"llama3_1B", "llama-3.2-1b"},     {"llama3_8B", "llama-3-8b"},
    {"llama3_70B", "llama-3-70b"}, {"llama3_405B", "llama-3.1-405b"}, {"qwen3_0_6B", "qwen3-0.6b"},
    {"qwen3_1_7B", "qwen3-1.7b"},  {"qwen3_4B", "qwen3-4b"},          {"qwen3_8B", "qwen3-8b"},
    {"qwen3_14B", "qwen3-14b"},    {"qwen3_32B", "qwen3-32b"},        {NULL, NULL}};

/* Models that the library lacks. */
static const struct {
  const char *factory, *hidden, *layers, *heads, *kv_heads, *ffn;
} shapes[] = {{"olmo2_1B", "2048", "18", "16", "16", "8192"},
              {"olmo2_1B_v2", "2048", "16", "16", "16", "8192"},
              {"olmo2_7B", "4096", "32", "32", "32", "11008"},
              {"olmo2_13B", "5120", "40", "40", "40", "13824"},
              {"olmo2_32B", "5120", "64", "40", "8", "27648"}};

static void put(OrrLaunchDraft *draft, const char *path, const char *value,
                const OrrLaunchSetting *source) {
  if (!orr_launch_draft_get(draft, path)) orr_launch_draft_set(draft, path, value, source, NULL);
}

static void set_shape(OrrLaunchDraft *draft, guint i, const OrrLaunchSetting *factory) {
  g_autofree char *name = g_strdelimit(g_ascii_strdown(shapes[i].factory, -1), "_", '-');
  put(draft, "model.name", name, factory);
  put(draft, "model.layers", shapes[i].layers, factory);
  put(draft, "model.hidden", shapes[i].hidden, factory);
  put(draft, "model.heads", shapes[i].heads, factory);
  put(draft, "model.kv-heads", shapes[i].kv_heads, factory);
  put(draft, "model.ffn", shapes[i].ffn, factory);
  put(draft, "model.vocab", "100352", factory); /* dolma2's tokenizer, padded to 128 */
  put(draft, "model.context", orr_launch_draft_get(draft, "workload.sequence"), factory);
  put(draft, "model.activation", "swiglu", factory);
  put(draft, "model.norm", "rmsnorm", factory);
  put(draft, "model.position", "rope", factory);
  put(draft, "model.qk-norm", "true", factory);
  put(draft, "model.bias", "false", factory);
  put(draft, "model.tied-embeddings", "false", factory);
}

static void set_model(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *factory = find(draft, "model.factory");
  const char *name = factory ? orr_launch_config_word(known, factory->value) : NULL;
  const gboolean differs =
      orr_launch_draft_get(draft, "model.kv-heads") || orr_launch_draft_get(draft, "model.layers");
  if (draft->options->model || !factory) return;
  if (name)
    return orr_launch_draft_set(draft, differs ? "model.base" : "model", name, factory, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
    if (g_ascii_strcasecmp(shapes[i].factory, factory->value) == 0)
      return set_shape(draft, i, factory);
  orr_launch_draft_ask_model(draft, "which model is OLMo-core's '%s'? Add --model NAME",
                             factory->value);
}

static gint64 sequence_of(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"main.sequence-length", "dataset.sequence-length",
                                     "train.max-sequence-length"};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const char *text = text_of(draft, keys[i]);
    const gint64 value = text ? g_ascii_strtoll(text, NULL, 10) : 0;
    if (value < 1) continue;
    orr_launch_config_put_count(draft, own, "workload.sequence", value, keys[i]);
    return value;
  }
  orr_launch_draft_assume(draft, "workload.sequence", "4096", "since the script has no number",
                          "how long are sequences?");
  return 4096;
}

/* The script's number of tokens under @key in sequences, 0: not said. */
static gint64 sequences(OrrLaunchDraft *draft, const char *key, gint64 sequence) {
  const char *text = text_of(draft, key);
  return text ? g_ascii_strtoll(text, NULL, 10) / sequence : 0;
}

static void set_batch(OrrLaunchDraft *draft, gint64 sequence, gint64 split) {
  const char *global_key = "main.global-batch-size", *micro_key = "train.rank-microbatch-size";
  const gint64 global = sequences(draft, global_key, sequence);
  const gint64 micro = sequences(draft, micro_key, sequence);
  if (micro > 0)
    orr_launch_config_put_count(draft, own, "workload.batch.micro", micro, micro_key);
  else
    orr_launch_draft_assume(draft, "workload.batch.micro", "1",
                            "since the script has no number for it",
                            "how many sequences has a micro-batch?");
  if (global > 0)
    orr_launch_config_put_count(draft, own, "workload.batch.global", global, global_key);
  draft->copies = count(draft, "train.dp-config.num-replicas", 1);
  if (orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, split);
  if (global < 1)
    orr_launch_config_put_global(draft, MAX(micro, 1), 1, split,
                                 "a micro-batch on each replica: the script has no number");
}

/* hsdp: groups of shard_degree, or num_replicas groups. */
static void set_sharding(OrrLaunchDraft *draft, gint64 split) {
  const char *kind = orr_launch_draft_get(draft, "workload.optimizer.sharding.kind");
  const gint64 shards = count(draft, "train.dp-config.shard-degree", 0);
  const gint64 groups = count(draft, "train.dp-config.num-replicas", 0);
  const gint64 replicas = orr_launch_config_gpus(draft) / MAX(split, 1);
  if (!kind)
    orr_launch_draft_set(draft, "workload.optimizer.sharding.kind", "fsdp", NULL,
                         "OLMo-core's scripts shard");
  if (g_strcmp0(kind, "hsdp") != 0) return;
  const gint64 node = orr_launch_config_gpus_of_node(draft);
  const gint64 group = shards > 0 ? shards : groups > 0 ? replicas / groups : MAX(node, 1);
  orr_launch_draft_set_number(draft, "workload.optimizer.sharding.group",
                              CLAMP(group, 1, MAX(replicas, 1)), NULL,
                              shards > 0 || groups > 0 ? "shard_degree, or replicas / num_replicas"
                                                       : "OLMo-core's default: a node");
}

static void finish(OrrLaunchDraft *draft) {
  const gint64 sequence = sequence_of(draft);
  const gint64 split = count(draft, "train.tp-config.degree", 1) *
                       count(draft, "train.cp-config.degree", 1) *
                       count(draft, "train.pp-config.degree", 1);
  set_model(draft);
  set_batch(draft, sequence, MAX(split, 1));
  set_sharding(draft, MAX(split, 1));
}

const OrrLaunchDialect orr_dialect_olmo_core = {
    .name = "olmo-core",
    .kind = "training",
    .is_trainer = TRUE,
    .finish = finish,
};
