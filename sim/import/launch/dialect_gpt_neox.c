/*
 * dialect_gpt_neox.c - GPT-NeoX's configs: JSON in YAML, several files laid over each other.
 *
 * Source: megatron/neox_arguments of EleutherAI/gpt-neox, v1.0 to v2.0 with main of 2025.
 * Most keys are Megatron-LM's by other names; what DeepSpeed decides is read here.
 */
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_gpt_neox;

#include "sim/import/launch/own_keys.inc"

static void set_global(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *other = &orr_dialect_megatron;
  const gint64 micro = orr_launch_config_count(draft, other, "micro-batch-size", 0);
  const gint64 steps = count(draft, "gradient-accumulation-steps", 1);
  const gint64 split = MAX(1, count(draft, "pipe-parallel-size", 1)) *
                       orr_launch_config_count(draft, other, "tensor-model-parallel-size", 1) *
                       orr_launch_config_count(draft, other, "context-parallel-size", 1);
  if (steps > 1 && orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, split);
  const gint64 gpus = orr_launch_config_gpus(draft);
  OrrLaunchSetting *source = orr_launch_draft_find(draft, other, "micro-batch-size");
  if (orr_launch_draft_find(draft, other, "global-batch-size") || !source) return;
  if (split < 1 || gpus < split) return; /* Megatron's finish asks */
  g_autofree char *text = g_strdup_printf("%ld", micro * MAX(steps, 1) * (gpus / split));
  orr_launch_translate_add(draft, "global-batch-size", text, source);
}

/* `num_experts` is of releases until 2.0, whose experts are in every second layer. */
static void set_experts(OrrLaunchDraft *draft, const OrrLaunchSetting *experts) {
  const gboolean is_old = g_str_has_prefix(experts->written, "num");
  const OrrLaunchSetting *every = find(draft, "moe-expert-interval");
  g_autofree char *interval =
      g_strdup_printf("%ld", count(draft, "moe-expert-interval", is_old ? 2 : 1));
  if (strcmp(interval, "1") != 0)
    orr_launch_translate_add(draft, "moe-layer-freq", interval, every ? every : experts);
  if (strcmp(interval, "1") != 0 && !every)
    orr_launch_draft_remark(draft, "assumed: experts in every second layer, GPT-NeoX's default; "
                                   "moe_expert_interval says another");
  if (orr_launch_draft_find(draft, &orr_dialect_megatron, "moe-router-topk")) return;
  orr_launch_translate_add(draft, "moe-router-topk", "1", experts); /* Megatron's is 2 */
  orr_launch_draft_remark(draft, "assumed: 1 expert for each token, GPT-NeoX's default; moe_top_k "
                                 "says another");
}

static void set_model(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *vocab = find(draft, "vocab-file");
  const OrrLaunchSetting *activation = find(draft, "activation");
  const OrrLaunchSetting *ffn = find(draft, "intermediate-size");
  const OrrLaunchSetting *kv =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "num-query-groups");
  const OrrLaunchSetting *experts =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "num-experts");
  const gboolean is_gated = activation && (strcmp(activation->value, "swiglu") == 0 ||
                                           strcmp(activation->value, "geglu") == 0);
  gint64 width = count(draft, "intermediate-size", 0);
  if (vocab && strstr(vocab->value, "20B_tokenizer"))
    orr_launch_translate_add(draft, "vocab-size", "50277", vocab);
  if (experts && orr_launch_draft_int(draft, &orr_dialect_megatron, "num-experts", 1) > 1)
    set_experts(draft, experts);
  if (is_gated) orr_launch_translate_add(draft, activation->value, "true", activation);
  if (kv) orr_launch_translate_add(draft, "group-query-attention", "true", kv);
  if (is_gated && !width)
    width = 4 * orr_launch_config_count(draft, &orr_dialect_megatron, "hidden-size", 0);
  if (width > 0) {
    /* a gated layer is two thirds as wide, and in two halves */
    g_autofree char *text = g_strdup_printf("%ld", is_gated ? width * 2 / 3 / 2 : width);
    orr_launch_translate_add(draft, "ffn-hidden-size", text, ffn ? ffn : activation);
  }
}

static void set_precision(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *precision = find(draft, "precision");
  if (precision && strcmp(precision->value, "bfloat16") == 0)
    orr_launch_translate_add(draft, "bf16", "true", precision);
  if (precision && strcmp(precision->value, "fp16") == 0)
    orr_launch_translate_add(draft, "fp16", "true", precision);
}

/* attention_config lists [[kinds], layers] ([[["flash"], 24]]); without it all layers are "global",
 * whose scores are matrices (neox_arguments/arguments.py). FlashAttention is the stack's. */
static void set_attention(OrrLaunchDraft *draft) {
  static const char both[] = "layers without FlashAttention: those with it are simulated",
                    other[] = "attention of this kind: global is simulated";
  OrrLaunchSetting *source = NULL;
  gboolean is_flash = FALSE, is_plain = FALSE;
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings) {
    if (setting->dialect != own || !g_str_has_prefix(setting->key, "attention-config")) continue;
    g_auto(GStrv) words = g_strsplit_set(setting->value ? setting->value : "", "[], \"'", -1);
    for (char **word = words; *word; word++) {
      if (!g_ascii_isalpha(**word)) continue;
      source = setting;
      is_flash |= strcmp(*word, "flash") == 0;
      is_plain |= strcmp(*word, "flash") != 0;
      if (strcmp(*word, "flash") != 0 && strcmp(*word, "global") != 0)
        orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s", other);
    }
  }
  if (is_flash && is_plain)
    orr_launch_draft_judge(draft, source, ORR_LAUNCH_NOT_SIMULATED, "%s", both);
  if (!is_flash)
    orr_launch_draft_set(draft, "workload.attention", "unfused", source,
                         source ? NULL : "GPT-NeoX's default: global");
}

static void finish(OrrLaunchDraft *draft) {
  static const OrrLaunchWordPair positions[] = {
      {"rotary", "rope"}, {"sinusoidal", "learned"}, {NULL, NULL}};
  const OrrLaunchSetting *stages = find(draft, "pipe-parallel-size");
  orr_launch_translate_value(draft, "position-embedding-type", positions);
  set_global(draft);
  if (stages && strcmp(stages->value, "0") != 0) {
    orr_launch_translate_add(draft, "pipeline-model-parallel-size", stages->value, stages);
    orr_launch_config_put(draft, own, "workload.parallel.pp", stages->value, "pipe-parallel-size");
  }
  set_model(draft);
  set_attention(draft);
  set_precision(draft);
  const char *bucket = "zero-optimization.reduce-bucket-size";
  const gboolean has_size = count(draft, bucket, 0) > 0;
  const char *stage = orr_launch_draft_value(draft, &orr_dialect_megatron, "zero-stage");
  if (stage && strcmp(stage, "0") != 0) {
    settle(draft, "zero-optimization.overlap-comm");
    if (has_size) settle(draft, bucket);
  }
  settle(draft, "zero-optimization.offload-optimizer.device");
  if (!draft->options->stack)
    orr_launch_draft_set(draft, "workload.stack", "gpt-neox-2022.11", NULL,
                         "the newest known of GPT-NeoX");
}

const OrrLaunchDialect orr_dialect_gpt_neox = {
    .name = "gpt-neox",
    .kind = "training",
    .finish = finish,
    .signs = "pipe_parallel_size gpt_j_residual no_weight_tying output_layer_parallelism",
};
