/*
 * sharding.h - data parallelism: what each replica holds of a model, and what replicas communicate.
 *
 * Ranks of a data-parallel group hold the same part of a model and process different sequences. An
 * entry states which of weights, gradients and optimizer state they shard, and when the whole
 * tensors are communicated:
 *
 *                       weights   gradients  optimizer    collectives per step
 *   none, ddp           whole     whole      whole        all-reduce g
 *   zero-1, distributed-optimizer
 *                       whole     whole      1/n          reduce-scatter g, all-gather w
 *   zero-2              whole     1/n        1/n          m reduce-scatter g, all-gather w
 *   zero-3, fsdp        1/n       1/n        1/n          m (2 all-gather w, reduce-scatter g)
 *   hsdp                1/k       1/k        1/k          fsdp over k, all-reduce g/k over n/k
 *
 * with n ranks, m micro-batches, w bytes per weight and g per gradient (Rajbhandari et al. 2020,
 * ZeRO, sections 5 and 7; Zhao et al. 2023, PyTorch FSDP, arXiv 2304.11277). A plan is that table's
 * row with the sizes of buckets and the distance by which gathers run ahead. The training workload
 * replays its cost without reference to the entry's name.
 *
 * To add one: write workloads/training/sharding/NAME.c with one `const OrrShardingKind` and its
 * line in meson.build. The family's test holds each against its row of bytes sent and bytes held.
 */
#pragma once

#include "sim/base/field.h"

/* The job to shard. */
/* How the job is sharded. Here a layer is a transformer layer, the embedding or the head. */
typedef struct {
  gint64 ranks;        /* n: data-parallel ranks, including context-parallel ones */
  gint64 ranks_a_node; /* ranks per node */
  gint64 stages;       /* stages of the pipeline */
  /* 2 if the schedule is bidirectional: copies of the model in one pipeline, counted in ranks */
  gint64 models;
  gint64 micro_batches; /* m: micro-batches of one replica per step */
  /* w, g: bytes per parameter, as the collectives carry them */
  double weight_bytes, gradient_bytes;
  /* bytes per parameter's gradient, as its backward produces it */
  double autograd_bytes;
  gboolean overlap;    /* data-parallel.overlap */
  double bucket_bytes; /* data-parallel.bucket, of gradients */
} OrrShardingShape;

typedef struct {
  /* k: ranks that shard one copy; 1: every rank holds all */
  gint64 ranks;
  gboolean weights, gradients, optimizer; /* which of the three are sharded */
  gboolean overlap;                       /* reductions overlap with the backward */
  /* reductions run in every micro-batch's backward, not only in the last one */
  gboolean reduces_each_pass;
  gboolean gathers_again; /* weights are dropped after a forward and gathered for the backward */
  /* weights are gathered during the next forward, after the update */
  gboolean gather_beside_forward;
  /* bytes of gradients per bucket; infinite: all at once; 0: one layer each */
  double bucket_bytes, first_bucket_bytes;
  gint64 ahead;       /* layers whose weights are gathered ahead of the computing one */
  double whole_below; /* parameters: smaller tensors stay whole everywhere (zero-3) */
  /* one collective per tensor, through lists of one slice per rank, launched by a host that
   * waits */
  gboolean by_tensor;
  /* by_tensor: a tensor used again within this many parameters is kept after recomputation */
  double reuse_within;
  double fetch_s;         /* of the host, for each product whose weights are gathered */
  double gradients_again; /* copies of all gradients in buckets (ddp) */
  /* a layer's gradients are copied into the buffer that is scattered: both exist at once */
  gboolean copies_gradients;
  /* the rank's shard of weights exists only as the optimizer's fp32 copy */
  gboolean master_alone;
  /* weights of linear layers are sent, and stored whole, in the products' format */
  gboolean gathers_narrow;
  double flat_bytes,
      /* buckets that are kept; bytes of copies of a parameter's gradient at the update */
      update_bytes;
} OrrShardingPlan;

typedef struct {
  OrrEntry entry;
  /* Mandatory: plan. Other functions may be NULL. */
  /* NULL, or the framework's rule that this shape breaks (newly allocated). */
  char *(*refuse)(const void *params, const OrrShardingShape *shape);
  void (*plan)(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan);
  gboolean shards_weights; /* of all ranks each holds a part, made whole layer by layer */
  const char *refuses_expert_parallel; /* why it does not support ep > 1; NULL: it does */
} OrrShardingKind;

extern const OrrRegistry orr_sharding_registry;

/* The bytes that one rank sends per step for @parameters that it would hold without sharding, by
 * rings: (n-1)/n of a buffer for a gather or scatter, twice that for an all-reduce. */
double orr_sharding_sent_bytes(const OrrShardingPlan *plan, const OrrShardingShape *shape,
                               double parameters);

/* The fraction of each parameter that one rank holds: 1, or 1/k. */
double orr_sharding_weights_fraction(const OrrShardingPlan *plan);
double orr_sharding_gradients_fraction(const OrrShardingPlan *plan);
double orr_sharding_optimizer_fraction(const OrrShardingPlan *plan);

/* The peak bytes of gathered weights in addition to the rank's own shard: the computing layer,
 * the layers ahead of it, and the backward's gradients before they are scattered.
 * @layer_parameters: of the largest layer. */
double orr_sharding_gathered_bytes(const OrrShardingPlan *plan, const OrrShardingShape *shape,
                                   double layer_parameters);

/* The reason of a framework that cannot combine @name with pipelines; NULL if there is no
 * pipeline. */
char *orr_sharding_refuse_pipeline(const char *name, const OrrShardingShape *shape,
                                   const char *why);
