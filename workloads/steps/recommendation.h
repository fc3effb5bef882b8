/*
 * recommendation.h - the workload `recommendation`: a step of training, or of answering, with
 * tables that GPUs share.
 */
#pragma once

#include "models/recommender.h"
#include "workloads/collectives/nccl.h"
#include "workloads/workload.h"

/* How a table that is not replicated is placed. */
typedef enum {
  ORR_TABLES_BALANCED, /* whole, or its rows in 2, 4, ... parts: what takes least */
  ORR_TABLES_WHOLE,
  ORR_TABLES_ROWS,    /* every GPU has a part of its rows, and a partial sum of each sample */
  ORR_TABLES_COLUMNS, /* every GPU has some elements of each vector */
} OrrTables;

typedef struct {
  char *stack;
  OrrRecommender recommender;
  gint64 batch;                     /* of all GPUs */
  gint64 items;                     /* that a sample ranks */
  int mode;                         /* 0: training, 1: inference */
  int precision, stored, exchanged; /* OrrDtype: dense layers; rows; pooled vectors */
  int sharding;                     /* OrrTables */
  double replicate_bytes;           /* smaller tables are on every GPU */
  int tier;                         /* 0: HBM, 1: host memory */
  double cached;                    /* tier host: fraction of lookups found in HBM */
  gboolean graphs;
  double overhead_s; /* of a step, outside its graph */
  OrrNccl nccl;
} OrrRecommendation;

extern const OrrFieldTable orr_recommendation_table;
extern const OrrWorkloadKind orr_recommendation_kind;

/* What the fullest of @n GPUs has of the tables that are not replicated, and every GPU of the
 * others. Per sample of the whole batch: lookups, and vectors to send, each of `share` of its
 * width. */
typedef struct {
  double lookups, vectors, share, bytes;
  double unique;                               /* rows to update, for the batch */
  double own_lookups, own_bytes, own_elements; /* of replicated tables, per own sample */
} OrrTablePlacement;

/* Bytes of the rows of all tables that are not replicated. */
double orr_table_placement_shared_bytes(const OrrRecommendation *params);

/* @vector_cost: what sending a vector takes, in lookups. */
OrrTablePlacement orr_table_placement(const OrrRecommendation *params, gint64 n,
                                      double vector_cost);
