/*
 * training_passes.h - one step of a stage's schedule, as operations.
 */
#ifndef ORR_TRAINING_PASSES_H
#define ORR_TRAINING_PASSES_H

#include "workloads/training/emit/training_emitter.h"
#include "workloads/training/emit/training_slots.h"

G_BEGIN_DECLS

void orr_training_passes_emit(OrrEmitter *e, const OrrLaneAt *lane, const OrrPipelineStep *step,
                              OrrLaneProgress *progress);

/* The lane's part of a slot: its pass, and then its transfers with its neighbours'. */
void orr_training_passes_emit_slot(OrrEmitter *e, const OrrLaneAt *lane, const OrrSlots *slots,
                                   guint slot, OrrLaneProgress *progress);

G_END_DECLS

#endif
