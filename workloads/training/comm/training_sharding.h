/*
 * training_sharding.h - what data-parallel replicas send each other: gradients in buckets, and
 * weights that are gathered layer by layer or after the update.
 */
#pragma once

#include "workloads/training/comm/training_traffic.h"
#include "workloads/training/cost/training_costs.h"

/* Gradients that are reduced together: of the next `n_layers` layers, in the order of the
 * stage's last backwards. */
typedef struct {
  gint64 n_layers;
  guint spec; /* of the last of them */
  double bytes;
  /* Owned by the traffic. NULL: no other rank holds the same; the bucket only goes to the host. */
  const OrrCommPlan *reduction;
  const OrrCommPlan *copies; /* hybrid sharding: the all-reduce that follows, or NULL */
} OrrBucket;

typedef struct {
  GArray **buckets[ORR_N_WEIGHT_SETS];        /* by stage: of OrrBucket; empty: no reduction */
  GPtrArray *bucket_plans;                    /* of OrrCommPlan *, owned */
  OrrCommPlan *parameters[ORR_N_WEIGHT_SETS]; /* by stage: a distributed optimizer's all-gather */
  OrrCommPlan *weights[ORR_N_WEIGHT_SETS];    /* by stage * specs + spec: all-gather of a layer */
  /* By spec, for tensors gathered one by one: the backward's gathers, and the cost of lists. Else
   * NULL. */
  OrrCommPlan *weights_again;
  OrrListWork *lists;
} OrrShardingTraffic;

/* After FALSE, too, it can be cleared. */
gboolean orr_sharding_traffic_init(OrrShardingTraffic *sharding, OrrTraffic *traffic,
                                   GError **error);
void orr_sharding_traffic_clear(OrrShardingTraffic *sharding, const OrrJob *job);

gboolean orr_sharding_traffic_reduces(const OrrShardingTraffic *sharding, gint64 stage);

/* Seconds on an idle fabric, at least: reductions on @stage that follow its last backward, and the
 * gather of its parameters after the update. */
double orr_sharding_traffic_last_s(OrrTraffic *traffic, gint64 stage);
double orr_sharding_traffic_parameters_s(OrrTraffic *traffic, gint64 stage);

/* Adds to @load what it puts on each link (orr_traffic_load). */
void orr_sharding_traffic_load(const OrrShardingTraffic *sharding, const OrrTraffic *traffic,
                               guint64 *load);
/* Sets @links where it uses them during layers (orr_traffic_cover). */
void orr_sharding_traffic_cover(const OrrShardingTraffic *sharding, const OrrTraffic *traffic,
                                guint8 *links);
