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
  ORR_TABLES_LOOKUPS, /* as by rows, but each looked-up row is sent, and its receiver sums */
} OrrTables;

typedef enum { ORR_TABLES_IN_HBM, ORR_TABLES_IN_HOST, ORR_TABLES_ON_DRIVES } OrrTableTier;

/* The drives of a node, which its GPUs share. */
typedef struct {
  double capacity_bytes, bytes_per_s;
  double reads_per_s, writes_per_s, page_bytes; /* of pages, at random */
} OrrTableDrives;

typedef struct {
  char *stack;
  OrrRecommender recommender;
  gint64 batch;                     /* of all GPUs */
  gint64 items;                     /* that a sample ranks */
  int mode;                         /* 0: training, 1: inference */
  int precision, stored, exchanged; /* OrrDtype: dense layers; rows; pooled vectors */
  int sharding;                     /* OrrTables */
  double replicate_bytes;           /* smaller tables are on every GPU */
  int tier;                         /* OrrTableTier */
  double cached;                    /* below HBM: fraction of lookups found in HBM */
  double host_cached;               /* tier ssd: of the others, found in host memory */
  OrrTableDrives drives;            /* tier ssd */
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

/* Answers to @items of a batch on one GPU that holds all tables, without a replay: seconds, and the
 * joules of the kernels in *ret_joules. */
double orr_recommendation_alone(const OrrRecommendation *params, const OrrWorld *world,
                                gint64 items, OrrJoules *ret_joules);
