/*
 * training_refusals.h - rules that several sections of a training document, its model and its
 * cluster can break together.
 *
 * Each function returns NULL, or the broken rule as a sentence with the values found (newly
 * allocated).
 */
#ifndef ORR_TRAINING_REFUSALS_H
#define ORR_TRAINING_REFUSALS_H

#include "workloads/training/training_params.h"

G_BEGIN_DECLS

/* optimizer.sharding, with expert parallelism, the schedule and offload.parameters. */
char *orr_training_refusals_sharding(const OrrTraining *params, const OrrModel *model,
                                     const OrrCluster *cluster);

/* parallel.tp-comm-overlap. */
char *orr_training_refusals_overlap(const OrrTraining *params, const OrrCluster *cluster);

/* offload, with the cluster's hosts and the schedule. */
char *orr_training_refusals_offload(const OrrTraining *params, const OrrCluster *cluster,
                                    const OrrPipelineShape *shape);

/* offload.activations, with the @layers of each of @n_blocks blocks. */
char *orr_training_refusals_offloaded_layers(const OrrTraining *params, const gint64 *layers,
                                             gint64 n_blocks);

/* recompute-layers of recompute-method uniform, with the same. */
char *orr_training_refusals_recomputed_layers(const OrrTraining *params, const gint64 *layers,
                                              gint64 n_blocks);

G_END_DECLS

#endif
