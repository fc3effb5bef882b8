/*
 * dialects_training.h - the dialects of launchers and trainers (launch.h).
 */
#ifndef ORR_DIALECTS_TRAINING_H
#define ORR_DIALECTS_TRAINING_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

extern const OrrLaunchDialect orr_dialect_accelerate;
extern const OrrLaunchDialect orr_dialect_bridge;
extern const OrrLaunchDialect orr_dialect_deepspeed;
extern const OrrLaunchDialect orr_dialect_deepspeed_launcher;
extern const OrrLaunchDialect orr_dialect_foundry;
extern const OrrLaunchDialect orr_dialect_gpt_neox;
extern const OrrLaunchDialect orr_dialect_megatron;
extern const OrrLaunchDialect orr_dialect_nemo;
extern const OrrLaunchDialect orr_dialect_olmo;
extern const OrrLaunchDialect orr_dialect_primus;
extern const OrrLaunchDialect orr_dialect_torchrun;
extern const OrrLaunchDialect orr_dialect_torchtitan;
extern const OrrLaunchDialect orr_dialect_transformers;
/* Environment variables of a training job. */
extern const OrrLaunchDialect orr_dialect_training_environment;

G_END_DECLS

#endif
