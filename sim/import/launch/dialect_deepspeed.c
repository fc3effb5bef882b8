/*
 * dialect_deepspeed.c - DeepSpeed's JSON config; alone, or with a launch line of Megatron or of
 * Transformers, which then decides the model, the sequence and what is "auto".
 *
 * Source: https://www.deepspeed.ai/docs/config-json, runtime/config.py and runtime/zero/config.py
 * of deepspeedai/DeepSpeed, v0.3 to v0.17.
 */
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_deepspeed;

static gboolean is_auto(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_config_says(draft, own, key, "auto");
}

/* A number; 0 where it is absent or "auto". */
static gint64 count(OrrLaunchDraft *draft, const char *key) {
  return is_auto(draft, key) ? 0 : orr_launch_config_count(draft, own, key, 0);
}

/* The same for a factor of the batch or the layout: products of them stay numbers. */
static gint64 factor(OrrLaunchDraft *draft, const char *key) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, key);
  const gboolean is_said = orr_launch_config_text(draft, own, key) && !is_auto(draft, key);
  const gint64 n = count(draft, key);
  if (is_said && setting && !setting->is_unresolved && n < 1)
    orr_launch_draft_bad(draft, setting, "'%s' is not positive: DeepSpeed stops there",
                         setting->value);
  return CLAMP(n, 0, 1 << 20);
}

static gboolean is_on(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_is_on(draft, own, key) && !is_auto(draft, key);
}

static void settle(OrrLaunchDraft *draft, const char *keys) {
  orr_launch_draft_settle(draft, own, keys);
}

static void judge_auto(OrrLaunchDraft *draft) {
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings) {
    if (setting->dialect != own || g_strcmp0(setting->value, "auto") != 0 || !setting->rule)
      continue;
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                           "auto: taken from the script's arguments, else DeepSpeed's default");
  }
}

/* The micro-batch of --set micro=N. FALSE: it is not there. */
static gboolean set_micro(OrrLaunchDraft *draft, gint64 steps, gint64 split) {
  const char *text = orr_launch_draft_variable(draft, "micro");
  const gint64 micro = text ? g_ascii_strtoll(text, NULL, 10) : 0;
  if (micro < 1) return FALSE;
  orr_launch_draft_set(draft, "workload.batch.micro", text, NULL, "--set micro");
  orr_launch_config_put_global(draft, micro, steps, split, "micro-batch x accumulation x replicas");
  return TRUE;
}

/* The micro-batch that follows from train_batch_size. */
static void divide_batch(OrrLaunchDraft *draft, gint64 all, gint64 steps, gint64 split) {
  if (orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, split);
  const gint64 replicas = orr_launch_config_gpus(draft) / split;
  if (replicas < 1 || orr_launch_draft_get(draft, "workload.batch.micro")) return;
  orr_launch_draft_set_number(draft, "workload.batch.micro", MAX(1, all / MAX(steps, 1) / replicas),
                              NULL, "train_batch_size / accumulation / GPUs");
}

/* A config whose batch is the script's. */
static void assume_batch(OrrLaunchDraft *draft, gint64 steps, gint64 split) {
  const gboolean is_assumed = orr_launch_draft_assume(
      draft, "workload.batch.micro", "1",
      "since neither train_batch_size nor train_micro_batch_size_per_gpu is in the config; --set "
      "micro=N sets another",
      "how large is the batch? The config has neither train_batch_size nor "
      "train_micro_batch_size_per_gpu: give the script's launch line, too, or add --set micro=N");
  if (is_assumed)
    orr_launch_config_put_global(draft, 1, steps, split, "micro-batch x accumulation x replicas");
}

/* A batch, its micro-batch and its accumulation give the GPUs; where these are known, too, they
 * must agree. */
static void check_batch(OrrLaunchDraft *draft, gint64 all, gint64 one, gint64 steps, gint64 split) {
  const char *key = "train-batch-size";
  if (all % (one * steps) == 0)
    orr_launch_config_take_gpus(draft, all / (one * steps) * split,
                                "train_batch_size / micro-batch / accumulation");
  const gint64 replicas = orr_launch_config_gpus(draft) / split;
  if (replicas == 0 || all != one * steps * replicas)
    orr_launch_draft_bad(
        draft, orr_launch_draft_find(draft, own, key),
        "%ld is not micro-batch %ld x accumulation %ld x %s: DeepSpeed stops there", all, one,
        steps, replicas ? "the replicas" : "a number of replicas");
}

/* Two of train_batch_size, micro-batch, accumulation and the GPUs give the others. With the
 * Trainer, its arguments count, too (dialect_transformers.c). */
static void set_batch(OrrLaunchDraft *draft) {
  const char *global = "train-batch-size", *micro = "train-micro-batch-size-per-gpu";
  const gint64 all = factor(draft, global), one = factor(draft, micro);
  const gint64 steps = factor(draft, "gradient-accumulation-steps");
  const gint64 split = MIN(CLAMP(count(draft, "tensor-parallel.autotp-size"), 1, 1 << 20) *
                               MAX(factor(draft, "sequence-parallel-size"), 1),
                           1 << 20);
  const gboolean is_alone = !orr_launch_config_has_trainer(draft, own);
  if (orr_launch_config_has(draft, &orr_dialect_transformers)) return;
  if (is_alone && all > 0 && one > 0 && steps > 0) check_batch(draft, all, one, steps, split);
  if (one > 0) settle(draft, micro);
  if (all > 0) {
    settle(draft, global);
    divide_batch(draft, all, steps, split);
  } else if (one > 0) {
    orr_launch_config_put_global(draft, one, steps, split, "micro-batch x accumulation x replicas");
  } else if (is_alone && !set_micro(draft, steps, split)) {
    assume_batch(draft, steps, split);
  }
}

/* A size that does not count must still be one. */
static void settle_size(OrrLaunchDraft *draft, gboolean counts, const char *key) {
  if (count(draft, key) > 0 && counts) settle(draft, key);
}

static void set_sharding(OrrLaunchDraft *draft) {
  const char *stage_key = "zero-optimization.stage";
  const gint64 stage =
      orr_launch_config_says(draft, own, stage_key, "true") ? 1 : count(draft, stage_key);
  g_autofree char *kind =
      stage ? g_strdup_printf("zero-%ld", CLAMP(stage, 1, 3)) : g_strdup("none");
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, stage_key);
  if (setting && (stage < 0 || stage > 3))
    orr_launch_draft_bad(draft, setting, "a stage is 0 to 3");
  if (setting)
    orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind", kind, stage_key);
  else
    orr_launch_draft_set(draft, "workload.optimizer.sharding.kind", "none", NULL,
                         "no zero_optimization");
  if (stage > 0) settle(draft, "zero-optimization.overlap-comm");
  settle_size(draft, stage >= 1, "zero-optimization.reduce-bucket-size");
  settle_size(draft, stage >= 3, "zero-optimization.stage3-param-persistence-threshold");
  settle_size(draft, stage >= 3, "zero-optimization.stage3-max-reuse-distance");
}

static void set_offload(OrrLaunchDraft *draft) {
  const char *device = "zero-optimization.offload-optimizer.device";
  const char *ratio = "zero-optimization.offload-optimizer.ratio";
  const char *parameters = "zero-optimization.offload-param.device";
  settle(draft, device);
  if (is_on(draft, device) && orr_launch_config_text(draft, own, ratio)) settle(draft, ratio);
  if (is_on(draft, device))
    settle(draft, parameters);
  else if (is_on(draft, parameters))
    orr_launch_config_skip(draft, own, parameters,
                           "weights in the host's memory without the optimizer: they are on the "
                           "GPUs here");
}

/* Gradients are reduced in fp32, or in the format of the weights. */
static void set_gradients(OrrLaunchDraft *draft) {
  const char *key = "communication-data-type";
  const char *precision = orr_launch_draft_get(draft, "workload.precision");
  const gboolean is_wide = g_strcmp0(precision, "fp32") == 0;
  const gboolean is_default = is_auto(draft, key) || orr_launch_config_is_null(draft, own, key);
  if (is_wide && !is_default && !orr_launch_config_says(draft, own, key, "fp32"))
    orr_launch_config_skip(draft, own, key, "gradients narrower than the weights");
  else
    settle(draft, key);
}

static void finish(OrrLaunchDraft *draft) {
  const gboolean is_alone = !orr_launch_config_has_trainer(draft, own);
  const char *sequence = orr_launch_draft_variable(draft, "sequence");
  judge_auto(draft);
  if (is_on(draft, "bf16.enabled") && is_on(draft, "fp16.enabled"))
    orr_launch_draft_bad(draft, orr_launch_draft_find(draft, own, "bf16.enabled"),
                         "bf16 and fp16 cannot both be enabled: DeepSpeed stops there");
  if (is_on(draft, "bf16.enabled") || is_on(draft, "fp16.enabled"))
    settle(draft, "fp16.enabled bf16.enabled");
  else if (is_alone && (is_auto(draft, "bf16.enabled") || is_auto(draft, "fp16.enabled")))
    orr_launch_draft_assume(draft, "workload.precision", "bf16",
                            "since the config leaves it to the Trainer's arguments (auto)",
                            "in which format? The config leaves it to the Trainer: auto");
  else if (is_alone)
    orr_launch_draft_set(draft, "workload.precision", "fp32", NULL, "neither bf16 nor fp16");
  set_gradients(draft);
  set_batch(draft);
  set_sharding(draft);
  set_offload(draft);
  if (count(draft, "sequence-parallel-size") > 1) { /* Ulysses: heads are exchanged */
    orr_launch_config_put(draft, own, "workload.parallel.context", "all-to-all",
                          "sequence-parallel-size");
    orr_launch_draft_set(draft, "workload.attention", "flash-2", NULL,
                         "sequence parallelism wants FlashAttention");
  }
  if (is_alone && sequence)
    orr_launch_draft_set(draft, "workload.sequence", sequence, NULL, "--set sequence");
  else if (is_alone && !orr_launch_draft_get(draft, "workload.sequence"))
    orr_launch_draft_assume(draft, "workload.sequence", "4096",
                            "since DeepSpeed's config has no length; --set sequence=N says another",
                            "how long are sequences? DeepSpeed's config does not say: add --set "
                            "sequence=TOKENS");
}

/* A template's bare word where a number stands in quotes or digits. */
static void refuse_templates(OrrLaunchDraft *draft, const OrrNode *node) {
  static const char *const words[] = {"true", "false", "null", NULL};
  for (guint i = 0; node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++)
    refuse_templates(draft, node->items->pdata[i]);
  if (node->kind != ORR_NODE_SCALAR || node->quoted || !g_ascii_isalpha(*node->text)) return;
  if (!g_strv_contains(words, node->text) && g_ascii_isupper(*node->text) &&
      g_ascii_isupper(node->text[1]))
    orr_diags_error(draft->diags, node->place,
                    "'%s' is a word of a template, not JSON: write the value in its place",
                    node->text);
}

static void read(OrrLaunchDraft *draft, const OrrNode *tree) {
  refuse_templates(draft, tree);
  orr_launch_config_add(draft, own, tree, NULL);
}

const OrrLaunchDialect orr_dialect_deepspeed = {
    .name = "deepspeed",
    .kind = "training",
    .is_trainer = TRUE,
    .stack = "deepspeed",
    .finish = finish,
    .signs = "train_micro_batch_size_per_gpu zero_optimization train_batch_size "
             "gradient_accumulation_steps.x zero_allow_untested_optimizer wall_clock_breakdown",
    .read = read,
};
