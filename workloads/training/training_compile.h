/*
 * training_compile.h - the steps of compilation, in order, for the entry in training.c.
 */
#ifndef ORR_TRAINING_COMPILE_H
#define ORR_TRAINING_COMPILE_H

#include "workloads/training/training_work.h"

G_BEGIN_DECLS

/* OrrWorkloadKind.compile: an OrrTrainingWork with a sealed program; NULL with @error. */
OrrWork *orr_training_compile(const void *params, const OrrWorld *world, GError **error);

/* OrrWorkloadKind.outline: an OrrTrainingWork with its sizes, FLOPs and memory. */
OrrWork *orr_training_compile_outline(const void *params, const OrrWorld *world,
                                      double *ret_least_s, GError **error);

G_END_DECLS

#endif
