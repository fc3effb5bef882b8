/*
 * serving_run.h - a run of a serving workload: what its replicas, its stations and its fleet share.
 *
 * The engine's clock, the costs of steps by group of replicas, and what the run leaves (serving.h).
 * All dates are the engine's; rows count from `start_s`. Once `error` is set nothing more happens.
 */
#pragma once

#include "sim/base/children.h"
#include "workloads/serving/core/core.h"
#include "workloads/serving/serving_work.h"

/* What has been added up by a date of the run. */
typedef struct {
  double at_s;
  OrrJoules joules;
  guint64 gaps;
} OrrServingSum;

/* The GPUs of a group's feed-forwards, with their device and costs. */
typedef struct {
  OrrCluster cluster;
  OrrWorld world;
} OrrFeedMachine;

typedef struct {
  OrrServingWork *work;
  OrrEngine *engine;
  const OrrLink *links; /* the engine's, by link of the work's program */
  double start_s;
  double next_arrival_s;   /* of requests known in advance; G_MAXDOUBLE: none */
  double next_look_s;      /* of the autoscaler: no run of steps goes past it */
  gboolean sees_blocks;    /* the router goes by caches: replicas catch up before it picks */
  gboolean dates_blocks;   /* and by when blocks come and go: no steps are taken at once */
  gboolean streams;        /* clients get tokens as they are written; FALSE: all at the end */
  OrrWorld *worlds;        /* by group: with its device and costs */
  OrrWorld *own_worlds;    /* by replica: with faulty links, while it has a price of its own */
  OrrServingCost **costs;  /* of attention's GPUs, where the feed-forwards have their own */
  OrrServingPools **pools; /* by group; NULL: one pool computes all */
  OrrFeedMachine *feeds;   /* by group, where it has a pool of feed-forwards */
  OrrDrafter **drafters;   /* by group; NULL: speculation is off */
  OrrPool *flows;          /* transfers.c */
  gint64 n_flows;          /* transfers that have not ended */
  guint64 seen_steps, step_stride;
  GArray *sums; /* OrrServingSum, in order of time; NULL: the window is not steady */
  GError *error;
} OrrServingRun;

static inline double orr_serving_run_now(const OrrServingRun *run) {
  return orr_engine_now(run->engine);
}

/* An engine core with an empty cache: replica.c. @ranks: of attention, whose batches and caches are
 * one here; 1 where each rank has a core. */
void orr_serving_run_open_core(const OrrServingRun *run, guint group, gint64 ranks, OrrCore *core);

/* --- the cost models of each group of replicas, with its device and layout: group_costs.c --- */

/* Makes @run's worlds, costs and drafters. FALSE with @error; free them all the same. */
gboolean orr_group_costs_open(OrrServingRun *run, GError **error);
/* Writes how costs are known, and their parts, to the run's work. */
void orr_group_costs_close(const OrrServingRun *run);
void orr_group_costs_free(OrrServingRun *run);
/* What the steps of @replica's engine take over @fabric, at its own GPUs; NULL with @error. @world
 * is storage that must outlive it. */
OrrServingCost *orr_group_costs_at(const OrrServingRun *run, guint replica, const OrrFabric *fabric,
                                   OrrWorld *world, GError **error);

/* --- what a step takes, by group of replicas: step_time.c --- */

/* On the GPUs: the model alone. */
OrrStepTime orr_serving_run_model_time(const OrrServingRun *run, guint group,
                                       const OrrStepShape *shape);
/* On the GPUs, speculation included. @price: the replica's own model; NULL: its group's. */
OrrStepTime orr_serving_run_step_time(const OrrServingRun *run, guint group, OrrServingCost *price,
                                      const OrrStepShape *shape);
/* On the host. */
double orr_serving_run_host_seconds(const OrrServingRun *run, guint group, guint sequences);
double orr_serving_run_cpu_speed(const OrrServingRun *run, guint group); /* of one core */
/* Both, one after the other or at once. */
double orr_serving_run_step_seconds(const OrrServingRun *run, guint group, double gpu_s,
                                    double host_s);
/* Before the batch of @core begins: moving swapped requests, blocks from tiers below HBM and
 * adapters. */
double orr_serving_run_move_seconds(const OrrServingRun *run, guint group, const OrrCore *core);
/* A replica's weights go to host memory; and a start of a replica whose weights are there. */
double orr_serving_run_sleep_seconds(const OrrServingRun *run, guint group);
double orr_serving_run_wake_seconds(const OrrServingRun *run, guint group);
/* Writes the tokens that the experts of all @cores get together into the shapes of their steps. */
void orr_serving_run_sum_experts(const OrrServingRun *run, guint group, OrrCore *cores,
                                 guint n_cores);
/* Blocks of the group's cache that @bytes of a tier hold. */
gint64 orr_serving_run_tier_blocks(const OrrServingRun *run, guint group, double bytes);

/* --- rows: tally.c --- */

/* @n gaps alike that clients saw, with @tokens in the chunks at their ends. */
void orr_serving_run_note_gaps(OrrServingRun *run, double gap_s, guint n, guint tokens);
/* A request's first token is written. */
void orr_serving_run_note_first(OrrServingRun *run);
/* Adds to the sums; a steady window's are interpolated from them. */
void orr_serving_run_note_sum(OrrServingRun *run);
/* At the end: keeps the gaps of metrics.window alone. FALSE with ORR_FAULT_DOCUMENT: nothing was
 * ever in it. */
gboolean orr_serving_run_close_window(OrrServingRun *run, GError **error);
/* 1, or 0 for a request of the warm-up, whose figures are not counted. */
guint orr_serving_run_counts(const OrrServingRun *run, const OrrRequest *request);
gboolean orr_serving_run_check_law(const OrrServingRun *run,
                                   GError **error); /* Little's, to 1e-9 */
