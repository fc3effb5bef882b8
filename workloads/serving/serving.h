/*
 * serving.h - the workload `serving`: engines that answer requests, step by step, as vLLM v1 does.
 *
 *   load (arrivals/) -> router -> replica: engine cores -> scheduler (schedulers/) -> batch
 *     -> step on the GPUs
 *
 * A replica is one engine on tp * pp GPUs (times dp-attention, whose ranks are cores in lock-step).
 * All events are calls of one simulation engine (sim/engine/engine.h), so replicas and everything
 * else that uses the fabric share one clock. A step ends at
 *
 *   begin + gpu + host, or with asynchronous scheduling   begin + max(gpu + exposed * host, host)
 *
 * where serving_cost.h computes gpu, and host = step + sequences * sequence: scheduling, preparing
 * inputs, the bookkeeping of sampling, and detokenisation between two steps.
 *
 * Invariants, checked during a run: blocks are neither lost nor created (kv.h); the time integral
 * of the number of requests in the system equals the sum of their times in it (Little 1961), up to
 * rounding.
 */
#pragma once

#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/autoscalers/autoscaler.h"
#include "workloads/serving/routers/router.h"
#include "workloads/serving/serving_engine.h"
#include "workloads/serving/serving_regions.h"
#include "workloads/serving/tasks/task_params.h"
#include "workloads/workload.h"

/* Feed-forwards on GPUs of their own: cost/serving_pools.h. */
typedef struct {
  gint64 gpus;          /* 0: they are computed where attention is */
  gint64 micro_batches; /* of a step, under way at once */
  OrrDevice device;     /* unnamed: attention's */
} OrrFeedForwardPool;

typedef enum { ORR_EXPERTS_DRAWN, ORR_EXPERTS_PACKED } OrrExpertPlacement;

/* New plans of where experts are: stations/rebalance.c. */
typedef struct {
  double interval_s; /* 0: the plan always knows the loads, and moves nothing */
  double drift_s;    /* in which the correlation of experts' loads falls to 1/e */
} OrrRebalance;

typedef struct {
  gint64 tp, pp, dp_attention, ep;
  double imbalance;
  OrrChoice load;   /* of orr_expert_load_registry */
  gint64 redundant; /* copies of experts beyond one of each */
  int placement;    /* OrrExpertPlacement */
  OrrRebalance rebalance;
  char *all_to_all;
  OrrTwoBatches two_batches;
  OrrFeedForwardPool feed;
} OrrServingParallel;

/* GPUs of a replica: attention's, then the feed-forwards'. */
static inline gint64 orr_serving_parallel_gpus(const OrrServingParallel *parallel) {
  return parallel->tp * parallel->pp * parallel->dp_attention + parallel->feed.gpus;
}

/* Number formats of the weights, between kernels, and of the cache. */
typedef struct {
  int quantization;               /* OrrQuantization; none: by precision */
  OrrWeightFormats weights;       /* parts of the layers in other formats than that */
  int precision, activations, kv; /* OrrDtype */
} OrrServingFormats;

/* Replicas that differ from the first ones. */
typedef struct {
  gint64 replicas;
  OrrServingParallel parallel;
  OrrDevice device; /* unnamed: the cluster's device */
  OrrModel model;   /* unnamed: the scenario's */
  char *region;     /* NULL: the first */
  gboolean shares;  /* the GPUs of the group before it: one of their replicas is awake on each */
  /* The workload's with what the group changes (scenario_stack.c merges the two); without a
   * scheduler: the workload's. */
  OrrEngineParams engine;
  OrrServingFormats formats; /* the workload's where the group's document names none */
} OrrReplicaGroup;

typedef struct {
  double ttft_s, tpot_s, e2e_s; /* 0: none */
} OrrSlo;

typedef struct {
  char *name;
  double share;             /* weight among the classes */
  gint64 priority;          /* smaller is first, if the scheduler uses priorities */
  OrrSlo slo;               /* all zero: the workload's */
  char *model;              /* that it asks; NULL: the scenario's */
  OrrLengths input, output; /* all zero: the workload's */
} OrrRequestClass;

/* Lengths of a class, where its document gives any; else @other. */
static inline const OrrLengths *orr_request_class_lengths(const OrrLengths *own,
                                                          const OrrLengths *other) {
  return own->kind != 0 || own->tokens > 0 ? own : other;
}

typedef enum { ORR_METRICS_VLLM, ORR_METRICS_AIPERF } OrrMetricsDefinition;
extern const char *const orr_metrics_words[]; /* "vllm", "aiperf", NULL */

/* FULL: while every place of the engines is taken. STEADY: fleet/fleet_private.h. */
typedef enum { ORR_WINDOW_ALL, ORR_WINDOW_FULL, ORR_WINDOW_STEADY } OrrMetricsWindow;

typedef struct {
  int definition;
  int window;          /* OrrMetricsWindow: what counts */
  double warmup_s;     /* requests that arrive earlier are not counted */
  gint64 request_rows; /* maximum rows of table serving_request, evenly spaced */
  gint64 step_rows;    /* maximum rows of serving_step */
} OrrServingMetricsParams;

typedef enum { ORR_TRANSFER_WHOLE, ORR_TRANSFER_PER_LAYER } OrrCacheTransfer;

typedef struct {
  gint64 prefill; /* replicas that prefill; 0: all do both */
  int transfer;   /* OrrCacheTransfer */
  /* prompts with fewer tokens missing in the decoder's cache are computed by the decoder */
  gint64 least_prompt;
  /* waiting prompts at which further ones are computed by the decoder; < 0: no limit */
  gint64 most_waiting;
  double overhead_s;
} OrrDisaggregation;

typedef struct {
  gint64 in_flight; /* concurrent requests per replica; 0: no limit */
  gint64 queue;     /* waiting requests; < 0: no limit */
} OrrAdmission;

typedef struct {
  OrrChoice by; /* of orr_autoscaler_registry */
  gint64 least; /* minimum per pool */
  double interval_s, down_after_s;
} OrrAutoscaling;

typedef struct {
  double overhead_s;
  gboolean weights, warm;
  gboolean sleeps; /* replicas that are not wanted keep their weights in host memory */
  double wake_s;   /* of a start from there, before the weights */
  double stays_s;  /* least time from a start on until another replica gets its GPUs */
} OrrReplicaStart;

/* See encoders.c. */
typedef struct {
  gint64 replicas;     /* one GPU each; 0: replicas encode images themselves */
  gint64 cache, batch; /* tokens of images; 0: max-num-batched-tokens */
  OrrChoice router;    /* of orr_router_registry */
  double overhead_s;
} OrrEncoderPool;

/* See beam_search.c. */
typedef struct {
  gint64 width; /* 1: none */
  double skew;
} OrrBeamSearch;

/* What a token is drawn from: all tokens, or the likeliest, for which logits are sorted. */
typedef enum { ORR_SAMPLING_ALL, ORR_SAMPLING_LIKELIEST } OrrServingSampling;

typedef enum { ORR_FAILURE_RETRY, ORR_FAILURE_FAIL } OrrOnFailure;

struct OrrServing {
  OrrEngineParams engine;
  OrrServingParallel parallel;
  gint64 replicas;
  GPtrArray *groups; /* OrrReplicaGroup*: after those; NULL: none */
  OrrChoice router;  /* of orr_router_registry */
  OrrAdmission admission;
  OrrAutoscaling autoscaling;
  OrrReplicaStart start;
  int on_failure; /* OrrOnFailure */
  OrrDisaggregation disaggregation;
  OrrServingFormats formats;
  OrrChoice load;         /* of orr_arrival_registry */
  gint64 max_concurrency; /* requests that the clients keep in flight at most; 0: no limit */
  gint64 requests;
  OrrLengths input, output;
  gint64 shared_prefix;     /* tokens with which all prompts begin */
  gint64 distinct_prefixes; /* prefixes that requests draw from */
  gint64 images;            /* per prompt */
  gint64 distinct_images;   /* images that requests draw from; 0: each request has its own */
  OrrEncoderPool encoders;
  int sampling;   /* OrrServingSampling */
  gint64 samples; /* outputs per prompt */
  OrrBeamSearch beams;
  OrrSlo slo;
  GPtrArray *classes; /* OrrRequestClass*; NULL: one */
  GPtrArray *regions; /* OrrRegion*; NULL: all are in one place */
  OrrBetweenRegions between;
  OrrTasks tasks; /* without steps: a request is one turn */
  OrrServingMetricsParams metrics;
  /* a request that waits longer ends the run, because the queue diverges; 0: never */
  double most_queue_s;
  /* With window: steady, the fraction of requests that is to meet the objectives: a run that surely
   * does not reach it is ended early; 0: none is asked for. */
  double least_good;
  char *stack; /* name of the software stack, whose defaults are in the members above */
};

static inline gint64
orr_serving_outputs(const OrrServing *params) { /* of a prompt, that its client gets */
  return params->samples * params->beams.width;
}

/* --- derived from a document: serving_params.c --- */

/* Of the GPUs of attention, which compute feed-forwards too where no pool does. */
OrrInferenceShard orr_serving_shard(const OrrServing *params);
/* Of the pool of feed-forwards. */
OrrInferenceShard orr_serving_feed_shard(const OrrServing *params);
/* Of those GPUs: a device of their own, or @cluster's. */
const OrrDevice *orr_serving_feed_device(const OrrServing *params, const OrrCluster *cluster);
/* Seconds for which a replica of @cluster stands still at a new plan: the weights of the experts
 * that the rank with most new ones lacks, over its link to the others. */
double orr_serving_rebalance_s(const OrrServing *params, const OrrModel *model,
                               const OrrCluster *cluster);
/* orr_serving_shard with that load. */
OrrInferenceShard orr_serving_loaded_shard(const OrrServing *params, const OrrModel *model);
OrrLora orr_serving_lora(const OrrServing *params); /* rank 0: no adapters */
/* Image tokens per prompt. */
gint64 orr_serving_image_tokens(const OrrServing *params, const OrrModel *model);
guint orr_serving_n_groups(const OrrServing *params);
/* Layers per stage, at most. */
gint64 orr_serving_layers(const OrrServing *params, const OrrModel *model);
/* Whether replicas come and go without faults. */
gboolean orr_serving_is_eventful(const OrrServing *params);
gboolean orr_serving_shares(const OrrServing *params); /* whether groups share GPUs */
gboolean orr_serving_groups_shares(const OrrServing *params, guint g); /* with the one before */
gboolean orr_serving_scales(const OrrServing *params); /* replicas follow the load */
/* Tokens of the longest request that the cache of every group holds, if one of the engines must
 * hold *@ret_longest (its engine.max-model-len) to start and does not; 0: all start. Each vLLM
 * server checks its own cache: v1/core/kv_cache_utils.py, _check_enough_kv_cache_memory. */
gint64 orr_serving_start_room(const OrrServing *params, const OrrModel *model,
                              const OrrCluster *cluster, gint64 *ret_longest);

/* What the GPUs take to find the likeliest tokens of a sequence, at full clock, in seconds. */
static inline double orr_serving_sampling_s(const OrrServing *params) {
  return params->sampling == ORR_SAMPLING_LIKELIEST ? params->engine.host.sampling_s : 0;
}
/* Wait of a step, in seconds, for the time slices of other servers of its node: its threads go on
 * when the last of them has run, after all that share its core. */
double orr_serving_neighbours_s(const OrrServingHost *host, const OrrCluster *cluster);

extern const OrrFieldTable orr_slo_table, orr_request_class_table; /* serving_classes.c */
extern const OrrFieldTable orr_serving_table;
extern const OrrWorkloadKind orr_serving_kind;
