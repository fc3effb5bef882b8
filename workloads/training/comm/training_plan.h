/*
 * training_plan.h - every communication of a job, planned.
 *
 * The one thing that emission reads of this room. Lane l = stage * fold.n + class.
 */
#pragma once

#include "workloads/training/comm/training_fold.h"
#include "workloads/training/comm/training_sharding.h"
#include "workloads/training/comm/training_traffic.h"
#include "workloads/training/cost/training_costs.h"

/* training_offload_paths.c: the paths of a program between GPUs and their hosts' memory. */

/* Of all GPUs of one lane together. */
typedef struct {
  guint32 to_host, from_host;
  guint32 memory; /* within the hosts' memory */
} OrrOffloadPaths;

/* By lane; newly allocated. */
OrrOffloadPaths *orr_offload_paths_new(OrrTraffic *traffic, const OrrFold *fold);

/* Sets @links where the copies of @n_lanes lanes use them (orr_traffic_cover). */
void orr_offload_paths_cover(const OrrOffloadPaths *paths, guint n_lanes, const OrrTraffic *traffic,
                             guint8 *links);

/* training_storage.c: what a job reads from and writes to a file system: checkpoints and data, as
 * bytes and as communications. */

/* Of one lane. */
typedef struct {
  OrrCommPlan write, snapshot, load, data;
} OrrStorageTraffic;

/* By lane; newly allocated. */
OrrStorageTraffic *orr_storage_traffic_new(OrrTraffic *traffic, const OrrFold *fold);
void orr_storage_traffic_free(OrrStorageTraffic *storage, gsize n_lanes); /* NULL is fine */

double orr_training_storage_bytes(const OrrJob *job, OrrStorageUse use); /* of all GPUs, once */

/* training_stages.c: what pipeline stages send each other: boundary tensors, the tied embedding's
 * gradient, the gradient norm. */

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

/* training_layers.c: the collectives inside layers, of the tensor-, context- and expert-parallel
 * groups of each lane. */

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

/* training_run_time.c: how long a lane takes for runs on an idle fabric: compute, collectives and
 * launches.
 *
 * Exact where the lane's collectives are alone on their links; emission uses it for those
 * (OrrLayerTraffic.alone). */

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
/* Whether the host would add the same to each of the next runs like @run. */
gboolean orr_run_time_is_steady(const OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                                const OrrRun *run);

/* The kind of time of a group's collectives. */
OrrTimeKind orr_run_time_kind(int group);
