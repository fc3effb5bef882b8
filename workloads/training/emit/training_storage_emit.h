/*
 * training_storage_emit.h - checkpoints and data of a file system, as operations. Every function
 * emits nothing where the job does not use them.
 */
#ifndef ORR_TRAINING_STORAGE_EMIT_H
#define ORR_TRAINING_STORAGE_EMIT_H

#include "workloads/training/emit/training_emitter.h"

G_BEGIN_DECLS

void orr_training_storage_emit_load(OrrEmitter *e, const OrrLaneAt *lane);       /* before step 0 */
void orr_training_storage_emit_data(OrrEmitter *e, const OrrLaneAt *lane);       /* before a step */
void orr_training_storage_emit_checkpoint(OrrEmitter *e, const OrrLaneAt *lane); /* after it */

G_END_DECLS

#endif
