/*
 * dialect_megatron_swift.c - `megatron sft` and `megatron pt` of ms-swift: Megatron-LM's arguments,
 * each with a value, a model by its name, LoRA, and defaults of their own.
 *
 * Source: docs/source_en/Megatron-SWIFT/Command-line-parameters.md of modelscope/ms-swift 3.9 to 4.
 * `megatron rlhf` by preferences is read here: pairs, and the reference model's forward in front of
 * each micro-batch's (swift/megatron/trainers/dpo_trainer.py). Packed rows hold both sequences of
 * their pairs. With GRPO it is read by dialect_rollouts.c.
 */
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_megatron_swift;

#include "sim/import/launch/own_keys.inc"

static const struct {
  const char *key, *value;
  const char *unless; /* another key that decides it; or NULL */
} defaults[] = {{"micro-batch-size", "1", NULL},
                {"global-batch-size", "16", NULL},
                {"seq-length", "2048", NULL},
                {"bf16", "true", "fp16"},
                {"recompute-granularity", "selective", NULL},
                {"use-distributed-optimizer", "true", NULL},
                {"attention-backend", "flash", NULL},
                {"attention-dropout", "0", NULL},
                {"hidden-dropout", "0", NULL},
                {"expert-tensor-parallel-size", "1", NULL}};

static void set_defaults(OrrLaunchDraft *draft) {
  for (guint i = 0; i < G_N_ELEMENTS(defaults); i++) {
    if (orr_launch_draft_find(draft, &orr_dialect_megatron, defaults[i].key) ||
        (defaults[i].unless &&
         orr_launch_draft_is_on(draft, &orr_dialect_megatron, defaults[i].unless)))
      continue;
    OrrLaunchSetting *setting = orr_launch_draft_add(draft, &orr_dialect_megatron, defaults[i].key,
                                                     defaults[i].value, (OrrPlace){0});
    setting->is_default = TRUE;
    g_free(setting->written);
    setting->written =
        g_strdup_printf("%s: %s, ms-swift's default", defaults[i].key, defaults[i].value);
  }
}

/* LoRA of rank 8 on all linear layers where the input says no other (all weights are trained by
 * default). */
static void set_lora(OrrLaunchDraft *draft) {
  const char *type = orr_launch_draft_value(draft, own, "tuner-type");
  if (g_strcmp0(type, "lora") != 0) return;
  const OrrLaunchSetting *rank = find(draft, "lora-rank");
  orr_launch_draft_set(draft, "workload.lora.rank", rank && rank->value ? rank->value : "8", rank,
                       rank ? NULL : "ms-swift's default");
  settle(draft, "target-modules");
  if (!orr_launch_draft_get(draft, "workload.lora.targets"))
    orr_launch_draft_set(draft, "workload.lora.targets", "[qkv, projection, fc1, fc2]", NULL,
                         "ms-swift's default: all-linear");
}

/* Megatron's batches count sequences. */
static void double_batches(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"micro-batch-size", "global-batch-size"};
  if (!find(draft, "rlhf-type") || is_on(draft, "packing")) return;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_megatron, keys[i]);
    const gint64 pairs = orr_launch_draft_int(draft, &orr_dialect_megatron, keys[i], 1);
    char *written = g_strdup_printf("%s: pairs, two sequences of each", setting->written);
    ORR_FREE(setting->value, setting->written);
    setting->value = g_strdup_printf("%ld", 2 * CLAMP(pairs, 1, 1 << 30));
    setting->written = written;
  }
}

static void begin(OrrLaunchDraft *draft) {
  set_defaults(draft);
  double_batches(draft);
}

static void set_pairs(OrrLaunchDraft *draft) {
  OrrLaunchSetting *type = find(draft, "rlhf-type");
  if (!type) return;
  if (g_strcmp0(type->value, "dpo") != 0)
    return orr_launch_draft_bad(draft, type, "'%s' is not read: dpo and grpo are", type->value);
  orr_launch_pairs_set(draft, type, &(OrrLaunchPairs){.has_reference = TRUE, .fill_rows = TRUE});
}

static void finish(OrrLaunchDraft *draft) {
  orr_launch_config_put_model(draft, own, "model");
  set_lora(draft);
  set_pairs(draft);
}

const OrrLaunchDialect orr_dialect_megatron_swift = {
    .name = "megatron-swift",
    .kind = "training",
    .begin = begin,
    .finish = finish,
};

static void read(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  const guint first = draft->settings->len;
  orr_launch_argv(draft, own, command->words, script + 1, NULL);
  for (guint i = first; i < draft->settings->len; i++)
    orr_launch_translate_adopt(draft->settings->pdata[i], own, &orr_dialect_megatron);
  orr_launch_translate(draft, own, first);
}

/* `megatron rlhf` that has no rewards: dialect_rollouts.c knows the others before. */
static gboolean knows(const OrrLaunchCommand *command, guint script) {
  const OrrLaunchWord *word = command->words->pdata[script];
  const OrrLaunchWord *program = script > 0 ? command->words->pdata[script - 1] : word;
  return g_str_has_suffix(program->text, "megatron") && strcmp(word->text, "rlhf") == 0;
}

const OrrLaunchTrainer orr_trainer_megatron_swift = {
    .name = "megatron-swift",
    .scripts = "megatron:sft megatron:pt",
    .knows = knows,
    .is_named = TRUE,
    .read = read,
};
