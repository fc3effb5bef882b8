/*
 * dialect_megatron.h - what Megatron-LM's arguments decide together.
 */
#ifndef ORR_DIALECT_MEGATRON_H
#define ORR_DIALECT_MEGATRON_H

#include "sim/import/launch/dialects.h"

G_BEGIN_DECLS

/* Adds the settings of a YAML of Megatron-LM's own functional tests. */
void orr_dialect_megatron_test(OrrLaunchDraft *draft, const OrrNode *tree);
/* The model: dimensions, or the name of one of the library that has them all. */
void orr_dialect_megatron_model(OrrLaunchDraft *draft);
/* Batch, pipeline, precision, recomputation, sharding, experts, offload. */
void orr_dialect_megatron_job(OrrLaunchDraft *draft);

G_END_DECLS

#endif
