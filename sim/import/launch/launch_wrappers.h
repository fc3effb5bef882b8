/*
 * launch_wrappers.h - tools that build on Hugging Face's Trainer: which one an input is for, and
 * the defaults in which it differs from the Trainer.
 *
 * The Trainer, LLaMA-Factory, axolotl, ms-swift and TRL share most names of arguments, not their
 * defaults: without a key, LLaMA-Factory recomputes activations and the Trainer does not. A default
 * that decides becomes a setting of its own, marked as such, so that it stands in the account and
 * in the scenario's comment.
 */
#ifndef ORR_LAUNCH_WRAPPERS_H
#define ORR_LAUNCH_WRAPPERS_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* The tool that the settings of @dialect are for, by a key that it alone has; NULL: the Trainer. */
const char *orr_launch_wrappers_name(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* Whether the tool loads weights in the format of the products; else a key of their own says it. */
gboolean orr_launch_wrappers_load_narrow(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

/* Adds the tool's defaults for what the input does not say. Training that is not of the next token
 * (GRPO, DPO, a reward model) is an error. */
void orr_launch_wrappers_begin(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);

G_END_DECLS

#endif
