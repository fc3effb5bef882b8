/*
 * dialect_nemo.c - YAML of NeMo 1.x, of NeMo 2.x and of Megatron-Bridge.
 *
 * Source: examples/nlp/language_modeling/conf of NVIDIA/NeMo v1.0 to v1.23,
 * nemo/lightning/pytorch/strategies/megatron_strategy.py of v2, and
 * src/megatron/bridge/training/config.py of NVIDIA-NeMo/Megatron-Bridge. Most keys are Megatron's
 * by other names.
 */
#include "sim/import/launch/launch_trainer.h"

/* A key of NeMo 1.x and Megatron-Bridge, and of NeMo 2.x's strategy. */

static const OrrLaunchDialect *const own = &orr_dialect_nemo;

#include "sim/import/launch/own_keys.inc"

static void set_precision(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = find(draft, "trainer.precision");
  const char *const eight = "model.fp8-hybrid";
  const gboolean is_bf16 = setting && strstr(setting->value, "bf16");
  const gboolean is_fp16 = setting && !is_bf16 && strstr(setting->value, "16");
  if (setting && (strstr(setting->value, "fp8") || strstr(setting->value, "nvfp4")))
    orr_dialect_bridge_precision(draft, setting->value, NULL, setting);
  else if (is_bf16 || is_fp16)
    orr_launch_translate_add(draft, is_bf16 ? "bf16" : "fp16", "true", setting);
  if (!is_on(draft, "model.fp8")) return;
  setting = find(draft, is_on(draft, eight) ? eight : "model.fp8");
  orr_launch_translate_add(draft, "fp8-format", "hybrid", setting);
}

static void set_model(OrrLaunchDraft *draft) {
  static const OrrLaunchWordPair gates[] = {{"fast-swiglu", "swiglu"},
                                            {"swiglu", "swiglu"},
                                            {"silu", "swiglu"},
                                            {"geglu", "geglu"},
                                            {"fast-geglu", "geglu"},
                                            {"squared-relu", "squared-relu"},
                                            {NULL, NULL}};
  const OrrLaunchSetting *activation = find(draft, "model.activation");
  const OrrLaunchSetting *norm = find(draft, "model.normalization");
  const OrrLaunchSetting *kv =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "num-query-groups");
  const char *gate = activation ? orr_launch_config_word(gates, activation->value) : NULL;
  if (gate) orr_launch_translate_add(draft, gate, "true", activation);
  if (norm && strstr(norm->value, "rms"))
    orr_launch_translate_add(draft, "normalization", "RMSNorm", norm);
  if (kv) orr_launch_translate_add(draft, "group-query-attention", "true", kv);
}

static void set_optimizer(OrrLaunchDraft *draft) {
  const char *key = "model.optim.name", *sync = "model.optim.grad-sync-dtype";
  const OrrLaunchSetting *name = find(draft, key);
  const OrrLaunchSetting *dtype = find(draft, sync);
  if (name && strstr(name->value, "distributed"))
    orr_launch_translate_add(draft, "use-distributed-optimizer", "true", name);
  if (dtype && strcmp(dtype->value, "bf16") == 0)
    orr_launch_translate_add(draft, "grad-reduce-in-bf16", "true", dtype);
  if (dtype && strcmp(dtype->value, "fp32") == 0)
    orr_launch_translate_add(draft, "accumulate-allreduce-grads-in-fp32", "true", dtype);
}

/* A recipe of Megatron-Bridge names its model. */
static void set_name(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = find(draft, "model");
  if (!setting || draft->options->model) return;
  g_autofree char *path = orr_library_path(draft->library, "model", setting->value);
  if (path)
    orr_launch_draft_set(draft, "model", setting->value, setting, NULL);
  else
    orr_launch_config_put_model(draft, own, "model");
}

/* Without sequence parallelism NeMo and Megatron-Bridge switch tensor parallelism's overlap off. */
static void set_overlap(OrrLaunchDraft *draft) {
  OrrLaunchSetting *overlap =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "tp-comm-overlap");
  if (!overlap || orr_launch_draft_is_on(draft, &orr_dialect_megatron, "sequence-parallel")) return;
  g_free(overlap->value);
  overlap->value = g_strdup("false");
}

/* The last of @key, in the config or as an override on the line; 0: none. */
static gint64 last_of(const OrrLaunchDraft *draft, const char *key) {
  gint64 n = 0;
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings)
    if (setting->dialect == own && strcmp(setting->key, key) == 0 && setting->value)
      n = g_ascii_strtoll(setting->value, NULL, 10);
  return n < 1000000 ? n : 0;
}

/* "#SBATCH --nodes", "-N" of srun. */
static gboolean is_allotted(const char *from) {
  return from && (*from == '#' || strcmp(from, "-N") == 0 || strcmp(from, "--nodes") == 0);
}

/* Before other dialects count their GPUs. Of two that disagree torchrun, which is read later, comes
 * before the trainer, and the trainer before what a scheduler allots. */
static void begin(OrrLaunchDraft *draft) {
  const gint64 nodes = last_of(draft, "trainer.num-nodes");
  const gint64 devices = last_of(draft, "trainer.devices"), gpus = last_of(draft, "trainer.gpus");
  if (nodes > 0 && is_allotted(draft->nodes_from) && draft->nodes != nodes)
    orr_launch_draft_remark(draft,
                            "trainer.num_nodes counts, %ld nodes, and not %s, which says %ld",
                            nodes, draft->nodes_from, draft->nodes);
  if (nodes > 0) orr_launch_draft_set_nodes(draft, nodes, "trainer.num_nodes");
  if (devices > 0)
    orr_launch_draft_set_gpus_per_node(draft, devices, "trainer.devices");
  else if (gpus > 0)
    orr_launch_draft_set_gpus_per_node(draft, gpus, "trainer.gpus");
}

/* A launcher's numbers of nodes and GPUs count before the trainer's. */
static void judge_machine(OrrLaunchDraft *draft) {
  const struct {
    const char *key, *from;
    gint64 counts;
  } rows[] = {{"trainer.num-nodes", draft->nodes_from, draft->nodes},
              {"trainer.devices", draft->gpus_from, draft->gpus_per_node}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrLaunchSetting *setting = find(draft, rows[i].key);
    const gint64 said = setting ? last_of(draft, setting->key) : 0;
    if (said > 0 && rows[i].counts > 0 && said != rows[i].counts)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "the launcher's %ld counts (%s)", rows[i].counts,
                             rows[i].from ? rows[i].from : "");
  }
}

gboolean orr_dialect_nemo_is_first(const OrrLaunchDraft *draft) {
  static const char *const others[] = {"trainer.strategy.", "train.", "ddp.", "comm-overlap.",
                                       "model.config."};
  gboolean has_trainer = FALSE;
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings) {
    g_autofree char *written = g_strdelimit(g_strdup(setting->written), "_", '-');
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
      if (g_str_has_prefix(written, others[i])) return FALSE;
    has_trainer |= setting->dialect == own && g_str_has_prefix(setting->key, "trainer.");
  }
  return has_trainer;
}

static void finish(OrrLaunchDraft *draft) {
  judge_machine(draft);
  set_overlap(draft);
  set_name(draft);
  set_precision(draft);
  set_model(draft);
  set_optimizer(draft);
}

static void read(OrrLaunchDraft *draft, const OrrNode *tree) {
  const guint first = draft->settings->len;
  const OrrNode *training = orr_node_get(tree, "training");
  if (training && training->kind == ORR_NODE_MAP) tree = training;
  orr_launch_config_add(draft, own, tree, NULL);
  orr_launch_translate(draft, own, first);
}

const OrrLaunchDialect orr_dialect_nemo = {
    .name = "nemo",
    .kind = "training",
    .stack = "megatron-core",
    .begin = begin,
    .finish = finish,
    .signs = "model.tensor_model_parallel_size trainer.strategy.tensor_model_parallel_size "
             "training.model.tensor_model_parallel_size model.config.tensor_model_parallel_size "
             "model.encoder_seq_length",
    .read = read,
};
