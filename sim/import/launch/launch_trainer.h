/*
 * launch_trainer.h - commands that start training: a launcher (torchrun, deepspeed, accelerate,
 * srun python ...), a script or module, and its arguments.
 *
 * To add a trainer: write its dialect, and add an entry to the array in launch_trainer.c.
 */
#pragma once

#include "sim/import/launch/launch.h"
#include "sim/import/launch/launch_private.h"

typedef struct {
  const char *name; /* of its dialect */
  /* Patterns (* and ?) of the base names of its scripts, its modules, and PROGRAM:WORD of programs
   * whose word names the script, separated by blanks */
  const char *scripts;
  /* Whether it is this one by its arguments, where no script's name says so; may be NULL */
  gboolean (*knows)(const OrrLaunchCommand *command, guint script);
  /* The form whose files it reads itself, with its own options; NULL: none */
  const char *claims;
  gboolean rolls_out;   /* its scripts train a loop of rollouts and updates */
  gboolean takes_pairs; /* it reads scripts that train by preferences */
  gboolean is_named;    /* it knows its scripts by their whole names, and reads what they name */
  /* Adds the settings of the words behind @script. */
  void (*read)(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script);
} OrrLaunchTrainer;

extern const OrrLaunchTrainer orr_trainer_bridge;
extern const OrrLaunchTrainer orr_trainer_maxtext;
extern const OrrLaunchTrainer orr_trainer_megatron;
extern const OrrLaunchTrainer orr_trainer_megatron_grpo;
extern const OrrLaunchTrainer orr_trainer_megatron_swift;
extern const OrrLaunchTrainer orr_trainer_nemo_rl;
extern const OrrLaunchTrainer orr_trainer_openrlhf;
extern const OrrLaunchTrainer orr_trainer_openrlhf_sft;
extern const OrrLaunchTrainer orr_trainer_slime;
extern const OrrLaunchTrainer orr_trainer_torchtitan;
extern const OrrLaunchTrainer orr_trainer_transformers;
extern const OrrLaunchTrainer orr_trainer_trl_grpo;
extern const OrrLaunchTrainer orr_trainer_verl;

/* Whether @command starts training with a known script. Quick. */
gboolean orr_launch_trainer_knows(const OrrLaunchCommand *command);
/* Refuses a command whose script trains, by its name, what is not a decoder of text. FALSE: it does
 * not. */
gboolean orr_launch_trainer_refuse(OrrLaunchDraft *draft, const OrrLaunchCommand *command);
/* Adds the settings of one of @commands (of OrrLaunchCommand *): the only one, or options.choice;
 * otherwise an error lists them. */
void orr_launch_trainer_read(OrrLaunchDraft *draft, const GPtrArray *commands);

/* launch_wrappers.c: tools that build on Hugging Face's Trainer: which one an input is for, and
 * the defaults in which it differs from the Trainer.
 *
 * The Trainer, LLaMA-Factory, axolotl, ms-swift and TRL share most names of arguments, not their
 * defaults: without a key, LLaMA-Factory recomputes activations and the Trainer does not. A
 * default that decides becomes a setting of its own, marked as such, so that it stands in the
 * account and in the scenario's comment. */

/* The tool that the settings of @dialect are for, by a key that it alone has; NULL: the Trainer. */
const char *orr_launch_wrappers_name(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* Whether the tool loads weights in the format of the products; else a key of their own says it. */
gboolean orr_launch_wrappers_load_narrow(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* Adds the tool's defaults for what the input does not say. Training that is neither of the next
 * token nor of pairs (GRPO, KTO, a reward model) is an error. */
void orr_launch_wrappers_begin(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* Whether the input trains by preferences; if so, makes its batches pairs and adds the reference
 * model. Call when batches are set. */
void orr_launch_wrappers_pairs(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* launch_pairs.c */

typedef struct {
  gboolean has_reference; /* a frozen copy of the model computes each micro-batch, too */
  gboolean fill_rows;     /* the batch counts sequences, or rows that packed pairs fill */
  const char *why;        /* why there is no reference, a clause; NULL: there is one */
} OrrLaunchPairs;

/* Training by preferences, as the setting @source says: the batch's lines become pairs, and the
 * reference model a line. */
void orr_launch_pairs_set(OrrLaunchDraft *draft, OrrLaunchSetting *source,
                          const OrrLaunchPairs *pairs);

/* dialect_megatron.c: what Megatron-LM's arguments decide together. */

/* Adds the settings of a YAML of Megatron-LM's own functional tests. */
void orr_dialect_megatron_test(OrrLaunchDraft *draft, const OrrNode *tree);
/* The model: dimensions, or the name of a model of the library that has them all. */
void orr_dialect_megatron_model(OrrLaunchDraft *draft);
/* Layers of a hybrid model's pattern; 0: there is none, or an error says what is wrong with it. */
gint64 orr_dialect_megatron_hybrid_layers(OrrLaunchDraft *draft);
/* The lines of a hybrid model's layers, where there is a pattern. */
void orr_dialect_megatron_hybrid(OrrLaunchDraft *draft);
/* Replaces the model's lines: by a model of the library that agrees with them, or by one of their
 * shape as `base` and the lines that differ. FALSE: there is none, and they stay. */
gboolean orr_dialect_megatron_library(OrrLaunchDraft *draft);
/* Batch, pipeline, precision, recomputation, sharding, experts, offload. */
void orr_dialect_megatron_job(OrrLaunchDraft *draft);

/* dialect_nemo.c: whether the input is a config of NeMo 1.x, which says what differs from NeMo's
 * own defaults; configs of NeMo 2 and Megatron-Bridge come from NVIDIA's recipes, as the stack
 * does. */
gboolean orr_dialect_nemo_is_first(const OrrLaunchDraft *draft);

/* dialect_areal.c: the layout and the GPUs of a config of fine-tuning. */
void orr_dialect_areal_layout(OrrLaunchDraft *draft);

/* dialect_rollouts.c: what launchers of post-training decide alike (dialect_rollouts.c), for those
 * that have more to say. */

/* Completes the draft of the launcher whose settings it has. */
void orr_dialect_rollouts_finish(OrrLaunchDraft *draft);
/* Converts the settings of @chosen, keys separated by blanks whose rules are `later`; the settings
 * of @other are irrelevant, because of @why. */
void orr_dialect_rollouts_choose(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *chosen, const char *other, const char *why);

/* dialect_rollouts_commands.c: the batch of slime that other keys of it say. */
void orr_dialect_rollouts_commands_slime(OrrLaunchDraft *draft);
/* Says so where verl's config is not one of its own and was not given. */
void orr_dialect_rollouts_commands_config(OrrLaunchDraft *draft);
/* The reward model that a launcher loads; the actor's where the library lacks it. Call when the
 * model is set. */
void orr_dialect_rollouts_commands_reward(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);
/* The stacks of a launcher that has none of its own. */
void orr_dialect_rollouts_commands_software(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* launch_trainer.c: settings of @dialect that are options of `accelerate launch`, and not of the
 * script, become its, where TRL's program starts @script: it hands them on. */
void orr_launch_trainer_hand_on(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                const OrrLaunchCommand *command, guint script);

/* launch_trainer.c: groups of verl's fsdp_size GPUs hold the weights, where that is fewer than
 * all. */
void orr_launch_trainer_verl_groups(OrrLaunchDraft *draft);
