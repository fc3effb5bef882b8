/*
 * launch_trainer.h - commands that start training: a launcher (torchrun, deepspeed, accelerate,
 * srun python ...), a script or module, and its arguments.
 *
 * To add a trainer: write its dialect, and add an entry to the array in launch_trainer.c.
 */
#ifndef ORR_LAUNCH_TRAINER_H
#define ORR_LAUNCH_TRAINER_H

#include "sim/import/launch/launch_server.h"

G_BEGIN_DECLS

typedef struct {
  const char *name; /* of its dialect */
  /* Patterns (* and ?) of the base names of its scripts, its modules, and PROGRAM:WORD of programs
   * whose word names the script, separated by blanks */
  const char *scripts;
  /* Whether it is this one by its arguments, where no script's name says so; may be NULL */
  gboolean (*knows)(const OrrLaunchCommand *command, guint script);
  /* The form whose files it reads itself, with its own options; NULL: none */
  const char *claims;
  gboolean rolls_out; /* its scripts train a loop of rollouts and updates */
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

G_END_DECLS

#endif
