/*
 * training_compile.h - the steps of compilation, in order, for the entry in training.c.
 */
#pragma once

#include "workloads/training/cost/training_costs.h"
#include "workloads/training/training_params.h"
#include "workloads/training/training_work.h"

/* OrrWorkloadKind.compile: an OrrTrainingWork with a sealed program; NULL with @error. */
OrrWork *orr_training_compile(const void *params, const OrrWorld *world, GError **error);

/* OrrWorkloadKind.outline: an OrrTrainingWork with its sizes, FLOPs and memory. */
OrrWork *orr_training_compile_outline(const void *params, const OrrWorld *world,
                                      double *ret_least_s, GError **error);

/* training_bound.c: a lower bound of a step's time, before anything is compiled.
 *
 * A sweep that looks for its best points needs no simulation of a point whose bound is already
 * worse than what it has found (sim/sweep/sweep_prune.h). So the bound must hold for every replay
 * of the job: it counts only what no schedule, route or overlap can avoid. */

/* Seconds that a step of @job takes at least; 0: no bound is known. Adds the optimizer's operators
 * to @costs, as compilation does. */
double orr_training_bound_s(const OrrJob *job, OrrTrainingCosts *costs);

/* training_check.c: what checks of single fields cannot find in a training job. */

/* OrrWorkloadKind.check: reports every broken rule at its section below @place. */
void orr_training_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                        OrrPlace place, OrrDiags *diags);

/* Refuses a training job whose checkpoints are further apart than its steps: the mean step has the
 * writes of the steps that are simulated. A campaign has checkpoints of its own. */
void orr_training_check_interval(const OrrChoice *workload, OrrPlace place, OrrDiags *diags);

/* training_refusals.c: rules that several sections of a training document, its model and its
 * cluster can break together.
 *
 * Each function returns NULL, or the broken rule as a sentence with the values found (newly
 * allocated). */

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
