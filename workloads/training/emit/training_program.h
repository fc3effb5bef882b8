/*
 * training_program.h - a whole job as operations of a program.
 */
#ifndef ORR_TRAINING_PROGRAM_H
#define ORR_TRAINING_PROGRAM_H

#include "workloads/training/emit/training_emitter.h"

G_BEGIN_DECLS

/* Emits all steps into the work's program, and notes the seconds of its labels. */
void orr_training_program_emit(const OrrEmission *emission);

G_END_DECLS

#endif
