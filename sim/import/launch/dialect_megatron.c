/*
 * dialect_megatron.c - the arguments of Megatron-LM and Megatron-DeepSpeed, from 2021 to 2026.
 *
 * Source: megatron/arguments.py, megatron/training/arguments.py of NVIDIA/Megatron-LM (v2.4 to
 * core_v0.15), and those that microsoft/Megatron-DeepSpeed adds.
 */
#include "sim/import/launch/launch_trainer.h"

static void finish(OrrLaunchDraft *draft) {
  if (orr_launch_config_has(draft, &orr_dialect_slime)) return; /* the model's options alone */
  orr_dialect_megatron_model(draft);
  orr_dialect_megatron_job(draft);
}

const OrrLaunchDialect orr_dialect_megatron = {
    .name = "megatron-lm",
    .kind = "training",
    .is_trainer = TRUE,
    .stack = "megatron-core",
    .finish = finish,
    .signs = "MODEL_ARGS",
    .read = orr_dialect_megatron_test,
};

/* The config of DeepSpeed that the arguments name is read, too. */
static void read_config(OrrLaunchDraft *draft) {
  const char *path = orr_launch_draft_value(draft, &orr_dialect_megatron, "deepspeed-config");
  OrrLaunchSource *source = path ? orr_launch_form_source(draft, path) : NULL;
  if (source)
    source->is_used = FALSE;
  else if (path)
    orr_launch_draft_remark(draft, "%s was not given: add it to the command line", path);
}

/* Megatron's arguments do not say what a script trains. */
static void ask_kind(OrrLaunchDraft *draft, const OrrLaunchWord *script) {
  const char *kind = orr_launch_draft_variable(draft, "trains");
  if (draft->options->model || orr_launch_scripts_is_text(script->text) ||
      g_strcmp0(kind, "gpt") == 0)
    return;
  orr_diags_error(draft->diags, script->place,
                  "does '%s' train a GPT, a decoder of text? Its name does not show it: add --set "
                  "trains=gpt, or --model NAME",
                  script->text);
}

static void read(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  ask_kind(draft, command->words->pdata[script]);
  orr_launch_argv(draft, &orr_dialect_megatron, command->words, script + 1, NULL);
  read_config(draft);
}

/* By three options that only Megatron has. */
static gboolean knows(const OrrLaunchCommand *command, guint script) {
  static const char *const signs[] = {"tensor-model-parallel-size", "num-attention-heads",
                                      "micro-batch-size", "num-layers", "hidden-size"};
  guint n = 0;
  for (guint i = script + 1; i < command->words->len; i++) {
    g_autofree char *text = g_strdup(((const OrrLaunchWord *)command->words->pdata[i])->text);
    g_strdelimit(text, "_", '-');
    for (guint k = 0; k < G_N_ELEMENTS(signs); k++)
      n += g_str_has_prefix(text, "--") && g_str_has_prefix(text + 2, signs[k]);
  }
  return n >= 3;
}

const OrrLaunchTrainer orr_trainer_megatron = {
    .name = "megatron-lm",
    .scripts = "pretrain_*.py finetune_megatron_*.py train_rl.py",
    .knows = knows,
    .read = read,
};
