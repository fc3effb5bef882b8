/*
 * training_stages.h - what pipeline stages send each other: boundary tensors, the tied embedding's
 * gradient, the gradient norm.
 */
#ifndef ORR_TRAINING_STAGES_H
#define ORR_TRAINING_STAGES_H

#include "workloads/training/comm/training_fold.h"
#include "workloads/training/comm/training_traffic.h"

G_BEGIN_DECLS

typedef struct {
  OrrCommPlan *transfers; /* by (class * pp + stage) * 2 + d: d 0: to stage + 1; 1: and back */
  OrrCommPlan *embedding; /* by class: all-reduce between first and last stage */
  OrrCommPlan norm;       /* over the ranks of a replica */
  double gather_s; /* scatter-gather: what the receiver's all-gather over NVLink takes; else 0 */
} OrrStageTraffic;

/* Allocates plans for each class: nothing is communicated until they are filled. */
void orr_stage_traffic_init(OrrStageTraffic *stages, const OrrJob *job, const OrrFold *fold);
gboolean orr_stage_traffic_plan(OrrStageTraffic *stages, OrrTraffic *traffic, const OrrFold *fold,
                                GError **error);
/* On an idle fabric, at least: a transfer of the boundary tensor between two stages, and what its
 * receivers gather. */
double orr_stage_traffic_alone_s(const OrrTraffic *traffic, gint64 from, gint64 to);
double orr_stage_traffic_gather_alone_s(const OrrTraffic *traffic);
void orr_stage_traffic_clear(OrrStageTraffic *stages, const OrrJob *job, const OrrFold *fold);

G_END_DECLS

#endif
