/*
 * training_plan.h - every communication of a job, planned.
 *
 * The one thing that emission reads of this room. Lane l = stage * fold.n + class.
 */
#ifndef ORR_TRAINING_PLAN_H
#define ORR_TRAINING_PLAN_H

#include "workloads/training/comm/training_fold.h"
#include "workloads/training/comm/training_layers.h"
#include "workloads/training/comm/training_offload_paths.h"
#include "workloads/training/comm/training_sharding.h"
#include "workloads/training/comm/training_stages.h"
#include "workloads/training/comm/training_storage.h"
#include "workloads/training/comm/training_traffic.h"

G_BEGIN_DECLS

typedef struct {
  OrrTraffic traffic;
  OrrFold fold;
  OrrShardingTraffic sharding; /* between replicas */
  OrrStageTraffic stages;      /* between pipeline stages */
  OrrLayerTraffic layers;      /* inside layers */
  OrrStorageTraffic *storage;  /* by lane; NULL: the file system is not used */
  OrrOffloadPaths *offload;    /* by lane; NULL: nothing is offloaded */
} OrrTrainingPlan;

/* @program gets the links and paths. The plan points into itself, so it must not be moved. After
 * FALSE, too, it can be cleared. */
gboolean orr_training_plan_init(OrrTrainingPlan *plan, const OrrJob *job,
                                const OrrTrainingCosts *costs, OrrFidelity fidelity,
                                OrrProgram *program, GError **error);
void orr_training_plan_clear(OrrTrainingPlan *plan);

G_END_DECLS

#endif
