/*
 * training_run_time.h - how long a lane takes for runs on an idle fabric: compute, collectives and
 * launches.
 *
 * Exact where the lane's collectives are alone on their links; emission uses it for those
 * (OrrLayerTraffic.alone).
 */
#ifndef ORR_TRAINING_RUN_TIME_H
#define ORR_TRAINING_RUN_TIME_H

#include "workloads/training/comm/training_layers.h"

G_BEGIN_DECLS

typedef struct {
  double seconds[ORR_N_TIMES];
  /* The work that the GPU still has when the host has launched everything so far. */
  double backlog_s;
} OrrRunTime;

/* Adds @times runs. A collective that overlaps compute costs the slow-down of that compute, and any
 * time by which it outlasts the compute. */
void orr_run_time_add(OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                      const OrrRun *run, gint64 times);
/* Adds only the GPU's part of one segment, and of the collective that ends it. */
void orr_run_time_add_segment(OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                              const OrrSegment *segment);
/* Adds only the host's part of @run, when its segments are already added. */
void orr_run_time_add_host(OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                           const OrrRun *run);

/* The kind of time of a group's collectives. */
OrrTimeKind orr_run_time_kind(int group);

G_END_DECLS

#endif
