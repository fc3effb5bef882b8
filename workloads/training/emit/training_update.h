/*
 * training_update.h - what follows the last backward of a step, as operations.
 */
#ifndef ORR_TRAINING_UPDATE_H
#define ORR_TRAINING_UPDATE_H

#include "workloads/training/emit/training_emitter.h"

G_BEGIN_DECLS

void orr_training_update_emit(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress);

G_END_DECLS

#endif
