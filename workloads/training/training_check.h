/*
 * training_check.h - what checks of single fields cannot find in a training job.
 */
#ifndef ORR_TRAINING_CHECK_H
#define ORR_TRAINING_CHECK_H

#include "workloads/training/training_params.h"

G_BEGIN_DECLS

/* OrrWorkloadKind.check: reports every broken rule at its section below @place. */
void orr_training_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                        OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif
