/*
 * training_layers.h - the collectives inside layers, of the tensor-, context- and expert-parallel
 * groups of each lane.
 */
#ifndef ORR_TRAINING_LAYERS_H
#define ORR_TRAINING_LAYERS_H

#include "workloads/training/comm/training_fold.h"
#include "workloads/training/comm/training_stages.h"
#include "workloads/training/comm/training_traffic.h"
#include "workloads/training/cost/training_costs.h"

G_BEGIN_DECLS

typedef struct {
  const OrrJob *job;
  const OrrFold *fold;
  GArray **comms; /* by lane: what is planned for it */
  /* No other transfer uses the links of this group's collectives at the same time. */
  gboolean alone[ORR_N_GROUPS];
  gboolean all_alone;
  gboolean interleaves; /* all-to-alls between experts overlap another micro-batch's compute */
} OrrLayerTraffic;

/* What the planning reads; job, fold and traffic outlive the OrrLayerTraffic. */
typedef struct {
  OrrTraffic *traffic;
  const OrrFold *fold;
  const OrrTrainingCosts *costs;
  const OrrStageTraffic *stages;
  const guint8 *busy; /* by fabric link: carries what replicas and hosts send during layers */
} OrrLayerInputs;

/* After FALSE, too, it can be cleared. */
gboolean orr_layer_traffic_init(OrrLayerTraffic *layers, const OrrLayerInputs *inputs,
                                GError **error);
void orr_layer_traffic_clear(OrrLayerTraffic *layers);

/* The plan of the collective that ends @segment on @lane; NULL: not planned. */
const OrrCommPlan *orr_layer_traffic_of(const OrrLayerTraffic *layers, guint lane,
                                        const OrrSegment *segment);
/* Seconds of the collective that ends @segment on an idle fabric, in the first group of @stage: no
 * plan of the lane, which joins all of its groups, takes less. */
double orr_layer_traffic_alone_s(const OrrTraffic *traffic, gint64 stage,
                                 const OrrSegment *segment);
/* "tp-all-reduce" */
const char *orr_layer_traffic_name(const OrrSegment *segment);

G_END_DECLS

#endif
