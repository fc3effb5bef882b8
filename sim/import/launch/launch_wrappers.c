/*
 * launch_wrappers.c - tables of the tools on Hugging Face's Trainer.
 *
 * Sources: LLaMA-Factory 0.9, src/llamafactory/hparams (disable_gradient_checkpointing False,
 * cutoff_len 2048, stage sft, finetuning_type lora, lora_target all); axolotl 0.16,
 * src/axolotl/utils/schemas (micro_batch_size 1, bf16 auto, sequence_len 512; utils/config: the
 * model's torch_dtype follows bf16); ms-swift 3.9 and 4, target_modules all-linear,
 * docs/source_en/Instruction/Command-line-parameters.md (torch_dtype is the checkpoint's, and bf16
 * follows it); TRL 1.0, trl/trainer/sft_config.py
 * (gradient_checkpointing True, bf16 True unless fp16, max_length 1024), which TRL has had since it
 * dropped max_seq_length. open-r1 builds on TRL.
 */
#include "sim/import/launch/launch_trainer.h"

/* In the order in which they are tried. */
static const struct {
  const char *name, *signs; /* keys, any of which only this tool has */
  const char *without;      /* keys that only its older releases have, with other defaults */
  gboolean loads_narrow;    /* it loads weights in the format of the products */
} wrappers[] = {
    {"LLaMA-Factory", "finetuning-type cutoff-len stage pref-loss pure-bf16 dataset-dir", "",
     FALSE},
    {"axolotl", "base-model sequence-len sample-packing", "", TRUE},
    {"ms-swift", "tuner-type train-type sft-type rlhf-type split-dataset-ratio", "", TRUE},
    {"TRL",
     "assistant-only-loss completion-only-loss packing-strategy dataset-text-field "
     "dataset-num-proc trl-script",
     "max-seq-length", FALSE},
};

static const struct {
  const char *wrapper, *key, *value;
  const char *unless; /* more keys, any of which says it already */
} defaults[] = {
    {"LLaMA-Factory", "disable_gradient_checkpointing", "false", ""},
    {"LLaMA-Factory", "finetuning_type", "lora", ""},
    {"LLaMA-Factory", "lora_target", "all", ""},
    {"LLaMA-Factory", "cutoff_len", "2048", "max-seq-length"},
    {"axolotl", "micro_batch_size", "1", ""},
    {"axolotl", "bf16", "auto", "fp16 tf32"},
    {"axolotl", "sequence_len", "512", ""},
    {"ms-swift", "gradient_checkpointing", "true", ""},
    {"ms-swift", "per_device_train_batch_size", "1", ""},
    {"ms-swift", "tuner_type", "lora", "train-type sft-type"},
    {"ms-swift", "target_modules", "all-linear", "target-regex"},
    {"ms-swift", "bf16", "true", "fp16 torch-dtype"},
    {"TRL", "gradient_checkpointing", "true", ""},
    {"TRL", "bf16", "true", "fp16"},
    {"TRL", "max_length", "1024", ""},
};

static const char loop[] = "rollouts and updates in one loop: write a scenario (workload.kind "
                           "post-training; docs/tutorial)";
static const char examples[] =
    "training by preferences that are not pairs is not simulated: examples are good or bad alone, "
    "and prompts with other answers pass the model, too";
static const char rewards[] = "training of a reward model is not simulated: an example is two "
                              "sequences, and the output layer is one number";

/* Training that is not of the next token. */
typedef struct {
  const char *key;
  const char *values; /* NULL: any that switches it on */
  const char *why;    /* it is refused; NULL: its examples are pairs */
  gboolean has_reference;
} Other;

static const Other others[] = {
    {"num-generations", NULL, loop},
    {"reward-funcs", NULL, loop},
    {"max-completion-length", NULL, loop},
    {"rl", "grpo gdpo", loop},
    {"rl", "kto bco ebft", examples},
    {"rl", "dpo ipo", NULL, TRUE},
    {"rl", "orpo simpo cpo", NULL, FALSE},
    {"reward-model", NULL, rewards},
    {"process-reward-model", NULL, rewards},
    {"rlhf-type", "grpo gkd ppo", loop},
    {"rlhf-type", "kto", examples},
    {"rlhf-type", "dpo", NULL, TRUE},
    {"rlhf-type", "orpo simpo cpo", NULL, FALSE},
    {"rlhf-type", "rm", rewards},
    {"stage", "ppo", loop},
    {"stage", "kto", examples},
    {"stage", "dpo", NULL, TRUE},
    {"stage", "rm", rewards},
};

static gboolean has_any(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *keys) {
  g_auto(GStrv) all = g_strsplit(keys, " ", -1);
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings)
    if (setting->dialect == dialect && g_strv_contains((const char *const *)all, setting->key))
      return TRUE;
  return FALSE;
}

/* Its place in the table; -1: the Trainer. */
static int find(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  for (guint i = 0; i < G_N_ELEMENTS(wrappers); i++)
    if (has_any(draft, dialect, wrappers[i].signs) && !has_any(draft, dialect, wrappers[i].without))
      return (int)i;
  return -1;
}

const char *orr_launch_wrappers_name(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  const int at = find(draft, dialect);
  return at < 0 ? NULL : wrappers[at].name;
}

gboolean orr_launch_wrappers_load_narrow(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  const int at = find(draft, dialect);
  return at >= 0 && wrappers[at].loads_narrow;
}

static void add_defaults(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                         const char *wrapper) {
  for (guint i = 0; i < G_N_ELEMENTS(defaults); i++) {
    if (g_strcmp0(defaults[i].wrapper, wrapper) != 0) continue;
    g_autofree char *key = g_strdelimit(g_strdup(defaults[i].key), "_", '-');
    if (orr_launch_draft_find(draft, dialect, key) || has_any(draft, dialect, defaults[i].unless))
      continue;
    OrrLaunchSetting *setting =
        orr_launch_draft_add(draft, dialect, defaults[i].key, defaults[i].value, (OrrPlace){0});
    setting->is_default = TRUE;
    g_free(setting->written);
    setting->written =
        g_strdup_printf("%s: %s, %s's default", defaults[i].key, defaults[i].value, wrapper);
  }
}

/* The first of @others that the settings of @dialect name; NULL: the next token is trained. */
static const Other *find_other(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                               OrrLaunchSetting **ret_setting) {
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings) {
    for (guint k = 0; setting->dialect == dialect && k < G_N_ELEMENTS(others); k++) {
      if (strcmp(setting->key, others[k].key) != 0) continue;
      g_auto(GStrv) values = g_strsplit(others[k].values ? others[k].values : "", " ", -1);
      const gboolean is_it =
          others[k].values
              ? setting->value && g_strv_contains((const char *const *)values, setting->value)
              : orr_launch_draft_is_on(draft, dialect, setting->key);
      *ret_setting = setting;
      if (is_it) return &others[k];
    }
  }
  return NULL;
}

static void refuse_others(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  OrrLaunchSetting *setting = NULL;
  const Other *other = find_other(draft, dialect, &setting);
  if (other && other->why)
    orr_diags_error(draft->diags, setting->place, "%s: %s", setting->written, other->why);
}

/* LLaMA-Factory's losses that compare with no reference. */
static gboolean is_alone(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  static const char *const alone[] = {"orpo", "simpo", NULL};
  const char *loss = orr_launch_draft_value(draft, dialect, "pref-loss");
  return loss && g_strv_contains(alone, loss);
}

void orr_launch_wrappers_pairs(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  static const char *const off[] = {"precompute-ref-log-probs", "reference-free",
                                    "reference-logprobs-cache"};
  OrrLaunchSetting *setting = NULL;
  const Other *other = find_other(draft, dialect, &setting);
  if (!other || other->why) return;
  OrrLaunchPairs pairs = {.has_reference = other->has_reference && !is_alone(draft, dialect),
                          .why = "the loss compares the two sequences alone"};
  for (guint i = 0; i < G_N_ELEMENTS(off); i++) {
    if (!orr_launch_draft_is_on(draft, dialect, off[i])) continue;
    pairs.has_reference = FALSE;
    pairs.why = orr_launch_draft_find(draft, dialect, off[i])->written;
  }
  orr_launch_pairs_set(draft, setting, &pairs);
}

void orr_launch_wrappers_begin(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  const char *wrapper = orr_launch_wrappers_name(draft, dialect);
  refuse_others(draft, dialect);
  if (wrapper) add_defaults(draft, dialect, wrapper);
}
