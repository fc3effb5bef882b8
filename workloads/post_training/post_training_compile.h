/*
 * post_training_compile.h - from the document to the loop: pools, engines, passes, weights.
 */
#ifndef ORR_POST_TRAINING_COMPILE_H
#define ORR_POST_TRAINING_COMPILE_H

#include "workloads/post_training/post_training.h"

G_BEGIN_DECLS

/* Checks engines and trainer as the workloads that they are, on their own GPUs. */
void orr_post_training_compile_check(const OrrPostTraining *params, const OrrModel *model,
                                     const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

/* OrrWorkloadKind's. The loop runs here: the program that it returns is empty. */
OrrWork *orr_post_training_compile(const void *params, const OrrWorld *world, GError **error);

G_END_DECLS

#endif
