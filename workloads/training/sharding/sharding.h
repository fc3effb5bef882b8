/*
 * sharding.h - data parallelism: what replicas hold of one model, and what they say to each other
 * about it.
 *
 * Ranks of a data-parallel group hold the same part of a model and see different sequences. An
 * entry says which of weights, gradients and optimizer state they share out, and when what is whole
 * again travels:
 *
 *                       weights   gradients  optimizer    collectives a step, of the group's P parameters
 *   none, ddp           whole     whole      whole        all-reduce g
 *   zero-1, distributed-optimizer
 *                       whole     whole      1/n          reduce-scatter g, all-gather w
 *   zero-2              whole     1/n        1/n          m reduce-scatter g, all-gather w
 *   zero-3, fsdp        1/n       1/n        1/n          m (2 all-gather w, reduce-scatter g)
 *   hsdp                1/k       1/k        1/k          as fsdp in groups of k, and all-reduce g/k over n/k
 *
 * with n ranks, m micro-batches, w bytes of a weight and g of a gradient (Rajbhandari et al. 2020,
 * ZeRO, sections 5 and 7; Zhao et al. 2023, PyTorch FSDP, arXiv 2304.11277). A plan is that table's
 * row with the sizes of buckets and how far gathers run ahead; what it costs is replayed by the
 * training workload, which knows no entry by name.
 *
 * To add one: write workloads/training/sharding/NAME.c with one `const OrrShardingKind`, add it to
 * the array in sharding.c and to meson.build. The family's test holds each against its row of bytes
 * sent and bytes held.
 */
#ifndef ORR_SHARDING_H
#define ORR_SHARDING_H

#include "sim/base/field.h"

G_BEGIN_DECLS

/* The job that is sharded. */
typedef struct {
  gint64 ranks;        /* n: data-parallel ranks, context-parallel ones among them */
  gint64 ranks_a_node; /* of those, in one node */
  gint64 stages;       /* of a pipeline */
  /* 2 where the schedule is bidirectional: copies of the model in one pipeline, counted in ranks */
  gint64 models;
  gint64 micro_batches;                /* m: of one replica, a step */
  double weight_bytes, gradient_bytes; /* w, g: of one parameter, as the collectives carry them */
  double autograd_bytes;               /* of one parameter's gradient, as its backward makes it */
  gboolean overlap;                    /* data-parallel.overlap */
  double bucket_bytes;                 /* data-parallel.bucket, of gradients */
} OrrShardingShape;

typedef struct {
  gint64 ranks;                           /* k: that share one copy out; 1: everybody holds all */
  gboolean weights, gradients, optimizer; /* which of the three is shared out */
  gboolean overlap;                       /* reductions run beside the backward */
  gboolean reduces_each_pass; /* in every micro-batch's backward, not in the last one's alone */
  gboolean gathers_again; /* weights are dropped after a forward and gathered for the backward */
  /* after the update, weights are gathered beside the next forward */
  gboolean gather_beside_forward;
  double bucket_bytes, first_bucket_bytes; /* of gradients; infinite: all at once; 0: a unit each */
  double gather_bytes; /* weights that a gather ahead of its use may hold; 0: one unit */
  gint64 ahead;        /* units whose weights are gathered ahead of the one that computes */
  double whole_below;  /* parameters: smaller tensors stay whole everywhere (zero-3) */
  /* a collective a tensor, through lists of a part for each rank, launched by a host that waits */
  gboolean by_tensor;
  /* by_tensor: parameters; a tensor used again after fewer is kept from recomputation on */
  double reuse_within;
  double gradients_again;    /* copies of all gradients in buckets (ddp) */
  gboolean copies_gradients; /* of a unit, into what is scattered: both are there at once */
  /* the rank's share of weights is the optimizer's fp32 one, no other beside */
  gboolean master_alone;
  /* weights of linear layers travel, and are whole, in the products' format */
  gboolean gathers_narrow;
  double flat_bytes,
      update_bytes; /* buckets that are kept; copies of a parameter's gradient at the update */
} OrrShardingPlan;

typedef struct {
  OrrEntry entry;
  /* NULL, or the framework's rule that this shape breaks (newly allocated). */
  char *(*refuse)(const void *params, const OrrShardingShape *shape);
  void (*plan)(const void *params, const OrrShardingShape *shape, OrrShardingPlan *ret_plan);
  const char *refuses_expert_parallel; /* why it takes no ep above 1; NULL: it does */
} OrrShardingKind;

extern const OrrRegistry orr_sharding_registry;

/* Bytes that one rank sends in a step for @parameters of which it would hold all, by rings:
 * (n-1)/n of a buffer for a gather or scatter, twice that for an all-reduce. */
double orr_sharding_sent_bytes(const OrrShardingPlan *plan, const OrrShardingShape *shape,
                               double parameters);

/* What one rank holds of each parameter, in shares of it: 1, or 1/k. */
double orr_sharding_weights_fraction(const OrrShardingPlan *plan);
double orr_sharding_gradients_fraction(const OrrShardingPlan *plan);
double orr_sharding_optimizer_fraction(const OrrShardingPlan *plan);

/* Bytes of gathered weights, beside the rank's own share, at the peak: the unit that computes,
 * those ahead of it, and the backward's gradients before they are scattered. @unit_parameters:
 * of the largest unit. */
double orr_sharding_gathered_bytes(const OrrShardingPlan *plan, const OrrShardingShape *shape,
                                   double unit_parameters);

extern const OrrShardingKind orr_sharding_none, orr_sharding_ddp,
    orr_sharding_distributed_optimizer, orr_sharding_zero_1, orr_sharding_zero_2,
    orr_sharding_zero_3, orr_sharding_fsdp, orr_sharding_hsdp;

/* What a framework that cannot combine @name with pipelines says of it; NULL where there is no
 * pipeline. */
char *orr_sharding_refuse_pipeline(const char *name, const OrrShardingShape *shape,
                                   const char *why);

G_END_DECLS

#endif
