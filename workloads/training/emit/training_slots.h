/*
 * training_slots.h - the slots in which all stages move together (pipeline-comm.lock-step).
 */
#ifndef ORR_TRAINING_SLOTS_H
#define ORR_TRAINING_SLOTS_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

typedef struct OrrSlots OrrSlots;

/* Whether @job's stages move in slots: with several chunks per stage, in one direction, each pass
 * by itself. */
gboolean orr_slots_apply(const OrrJob *job);

/* @job must outlive the slots. */
OrrSlots *orr_slots_new(const OrrJob *job);
void orr_slots_free(OrrSlots *slots); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSlots, orr_slots_free)

guint orr_slots_n(const OrrSlots *slots);
/* What @stage does in @slot; NULL: nothing. */
const OrrPipelineStep *orr_slots_at(const OrrSlots *slots, gint64 stage, guint slot);

G_END_DECLS

#endif
