/*
 * training_program.h - a whole job as operations of a program.
 */
#pragma once

#include "workloads/training/comm/training_plan.h"
#include "workloads/training/cost/training_costs.h"
#include "workloads/training/emit/training_emitter.h"

/* Emits all steps into the work's program, and notes the seconds of its labels. */
void orr_training_program_emit(const OrrEmission *emission);

/* training_limit.c: how much of a job is replayed, and whether that is too much. */

/* How many micro-batches of a step are replayed: all, or fewer where the step's middle repeats. */
gint64 orr_training_limit_micro_batches(const OrrJob *job);
/* FALSE where the job is too large to replay, with settings that would make it small enough. */
gboolean orr_training_limit_check(const OrrJob *job, const OrrTrainingCosts *costs,
                                  const OrrTrainingPlan *plan, GError **error);

/* training_passes.c: one step of a stage's schedule, as operations. */

void orr_training_passes_emit(OrrEmitter *e, const OrrLaneAt *lane, const OrrPipelineStep *step,
                              OrrLaneProgress *progress);

/* The lane's part of a slot: its pass, and then its transfers with its neighbours'. */
void orr_training_passes_emit_slot(OrrEmitter *e, const OrrLaneAt *lane, const OrrSlots *slots,
                                   guint slot, OrrLaneProgress *progress);

/* training_update.c: what follows the last backward of a step, as operations. */

void orr_training_update_emit(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress);

/* training_storage_emit.c: checkpoints and data of a file system, as operations. Every function
 * emits nothing where the job does not use them. */

void orr_training_storage_emit_load(OrrEmitter *e, const OrrLaneAt *lane);       /* before step 0 */
void orr_training_storage_emit_data(OrrEmitter *e, const OrrLaneAt *lane);       /* before a step */
void orr_training_storage_emit_last_data(OrrEmitter *e, const OrrLaneAt *lane);  /* at its end */
void orr_training_storage_emit_checkpoint(OrrEmitter *e, const OrrLaneAt *lane); /* after it */
