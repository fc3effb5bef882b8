/*
 * serving.h - the workload `serving`: engines that answer requests, step by step, as vLLM v1 does.
 *
 *   load (arrivals/) -> router -> replica: engine cores -> scheduler (schedulers/) -> batch -> step on the GPUs
 *
 * A replica is one engine on tp * pp GPUs (times dp-attention, whose ranks are cores in lock-step).
 * Everything happens as calls of one engine (sim/engine/engine.h), so that replicas, and whatever
 * else uses the fabric, share one clock. A step ends at
 *
 *   begin + gpu + host          or, with asynchronous scheduling,   begin + max(gpu, host)
 *
 * where gpu is serving_cost.h's and host = step + sequences * sequence: scheduling, preparing
 * inputs, sampling's bookkeeping and detokenisation between two steps.
 *
 * Invariants, checked while it runs: blocks are neither lost nor made (kv.h); the time
 * integral of the number of requests in the system is the sum of their times in it (Little 1961),
 * to rounding.
 */
#ifndef ORR_SERVING_H
#define ORR_SERVING_H

#include "models/lora.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/autoscalers/autoscaler.h"
#include "workloads/serving/routers/router.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/speculation/speculation.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct {
  double step_s, sequence_s; /* host time of a step; of each of its sequences */
  gboolean async;            /* beside the GPU's work */
  double front_end_s;        /* of the front end, for what a step gave a request: frontend.c */
  /* from the end of a step to the client: detokenisation and streaming; delays, blocks not */
  double token_s;
} OrrServingHost;

/* Low-rank adapters, of which each request has one. */
typedef struct {
  gint64 adapters, slots; /* in all; on the GPU */
  double skew;            /* of the power law that requests follow over them */
  OrrLoraFields shape;
} OrrServingLora;

/* What a request that queues has read to host memory; see cache_tiers.c. */
typedef enum {
  ORR_PREFETCH_NONE,
  ORR_PREFETCH_BEST_EFFORT,
  ORR_PREFETCH_WAIT_COMPLETE,
  ORR_PREFETCH_TIMEOUT
} OrrPrefetchPolicy;

/* Below HBM; see tiers.h. */
typedef struct {
  int prefetch; /* OrrPrefetchPolicy */
  gint64 prefetch_threshold;
  double host_bytes, ssd_bytes; /* of a replica */
  double remote_bytes;          /* of all */
  double ssd_bytes_per_s, ssd_latency_s, remote_bytes_per_s, remote_latency_s;
} OrrCacheTiers;

typedef struct {
  OrrChoice scheduler; /* of orr_scheduler_registry */
  gint64 max_num_seqs, max_num_batched_tokens, max_model_len;
  gint64 block_size, kv_blocks;
  double memory_utilization;
  double reserved_bytes; /* CUDA context, NCCL's buffers, graphs */
  double watermark;      /* share of the blocks left free by admissions */
  gboolean reserve_prompt;
  int preemption;       /* OrrPreemption */
  int prefix_caching;   /* OrrPrefixCaching */
  gint64 graph_largest; /* cudagraph capture size */
  gboolean graph_padding, eager;
  char *all_reduce;
  OrrChoice speculation; /* of orr_speculation_registry */
  OrrCacheTiers tiers;
  OrrServingLora lora;
  OrrServingHost host;
} OrrEngineParams;

typedef struct {
  gint64 tp, pp, dp_attention, ep;
  double imbalance;
  char *all_to_all;
} OrrServingParallel;

/* Replicas that differ from the first ones. */
typedef struct {
  gint64 replicas;
  OrrServingParallel parallel;
  OrrDevice device; /* without a name: the cluster's */
} OrrReplicaGroup;

typedef struct {
  double ttft_s, tpot_s, e2e_s; /* 0: none */
} OrrSlo;

typedef struct {
  char *name;
  double share;    /* of the requests */
  gint64 priority; /* smaller is first, where the scheduler goes by it */
  OrrSlo slo;      /* zeros: the workload's */
} OrrRequestClass;

typedef enum { ORR_METRICS_VLLM, ORR_METRICS_AIPERF } OrrMetricsDefinition;
extern const char *const orr_metrics_words[]; /* "vllm", "aiperf", NULL */

typedef struct {
  int definition;
  double warmup_s;     /* requests that arrive before are not counted */
  gint64 request_rows; /* of the table serving_request, at most: evenly spaced */
  gint64 step_rows;    /* of serving_step */
  double price_per_gpu_hour;
  double busy_power, idle_power; /* shares of the device's TDP */
} OrrServingMetricsParams;

typedef enum { ORR_TRANSFER_WHOLE, ORR_TRANSFER_PER_LAYER } OrrCacheTransfer;

typedef struct {
  gint64 prefill; /* of the replicas; 0: all do both */
  int transfer;   /* OrrCacheTransfer */
  /* tokens that the decoder lacks; prompts with fewer are computed where they decode */
  gint64 least_prompt;
  /* prompts for prefill; with as many, others are computed where they decode; below 0: no limit */
  gint64 most_waiting;
  double overhead_s;
} OrrDisaggregation;

typedef struct {
  gint64 in_flight; /* requests of a replica at once; 0: no limit */
  gint64 queue;     /* that wait for one; below 0: no limit */
} OrrAdmission;

typedef struct {
  OrrChoice by; /* of orr_autoscaler_registry */
  gint64 least; /* of each pool */
  double interval_s, down_after_s;
} OrrAutoscaling;

typedef struct {
  double overhead_s;
  gboolean weights, warm;
} OrrReplicaStart;

typedef enum { ORR_BEAMS_FRONT_END, ORR_BEAMS_ENGINE } OrrBeamsBy;

/* See encoders.c. */
typedef struct {
  gint64 replicas;     /* of one GPU each; 0: images are encoded where prompts are computed */
  gint64 cache, batch; /* tokens of images; 0: max-num-batched-tokens */
  OrrChoice router;    /* of orr_router_registry */
  double overhead_s;
} OrrEncoderPool;

/* See beam_search.c. */
typedef struct {
  gint64 width; /* 1: none */
  int by;       /* OrrBeamsBy */
  double skew;
} OrrBeamSearch;

typedef enum { ORR_FAILURE_RETRY, ORR_FAILURE_FAIL } OrrOnFailure;

typedef struct {
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
  int quantization;                     /* OrrQuantization; none: by precision */
  int precision, activations, kv_dtype; /* OrrDtype */
  OrrChoice load;                       /* of orr_arrival_registry */
  gint64 requests;
  OrrLengths input, output;
  gint64 shared_prefix;   /* tokens that all prompts begin with */
  gint64 images;          /* of a prompt */
  gint64 distinct_images; /* that requests show; 0: each its own */
  OrrEncoderPool encoders;
  gint64 samples; /* outputs of a prompt */
  OrrBeamSearch beams;
  OrrSlo slo;
  GPtrArray *classes; /* OrrRequestClass*; NULL: one */
  OrrServingMetricsParams metrics;
  double most_queue_s; /* a request that waits longer ends the run: the queue diverges; 0: never */
} OrrServing;

static inline gint64
orr_serving_outputs(const OrrServing *params) { /* of a prompt, that its client gets */
  return params->samples * params->beams.width;
}

/* --- what follows from a document: serving_params.c --- */

OrrInferenceShard orr_serving_shard(const OrrServing *params);
OrrLora orr_serving_lora(const OrrServing *params); /* rank 0: no adapters */
/* Of a prompt. */
gint64 orr_serving_image_tokens(const OrrServing *params, const OrrModel *model);
guint orr_serving_n_groups(const OrrServing *params);
/* Of a stage, the last one at most. */
gint64 orr_serving_layers(const OrrServing *params, const OrrModel *model);
/* Replicas come and go without anything going wrong. */
gboolean orr_serving_is_eventful(const OrrServing *params);
gboolean orr_serving_scales(const OrrServing *params); /* the number of replicas follows the load */

extern const OrrFieldTable orr_serving_table;
extern const OrrWorkloadKind orr_serving_kind;

/* A request that has ended. */
typedef struct {
  guint32 id;
  guint16 group;
  gint16 replica;
  gint32 prompt, output, hit, preemptions;
  double arrival_s, scheduled_s, first_token_s, end_s;
  double measured_first_s, measured_end_s; /* 0: not measured */
  double handover_s;                       /* 0: its cache stayed where it was computed */
} OrrServedRequest;

/* One step of one replica; of a run of equal decodes that was taken at once, each. */
typedef struct {
  gint32 replica;
  double begin_s, end_s;
  gint32 tokens, chunk, decodes, running, waiting;
  gint64 used_blocks;
} OrrServedStep;

/* Gaps between tokens: `n` of them were as long. */
typedef struct {
  float gap_s;
  guint32 n;
} OrrTokenGap;

/* Replicas that are alike. */
typedef struct {
  OrrServing params;             /* the workload's, with the group's replicas and parallel */
  OrrCluster cluster;            /* with the group's device; borrows */
  gint64 first, first_gpu, gpus; /* replica; its first GPU; GPUs of each */
  gint64 n_blocks;               /* of one core */
  double weight_bytes, kv_bytes_per_token, activation_bytes, budget_bytes; /* of one GPU */
  double state_bytes;   /* of a sequence, on one GPU */
  double adapter_bytes; /* of one, on one GPU */
  OrrKvLayout kv_layout;
} OrrServedGroup;

typedef struct {
  guint group;
  gint64 requests, steps, preemptions, hit_tokens, looked_up_tokens, evicted_blocks, tokens,
      most_running;
  gint64 tier_tokens[ORR_N_TIERS]; /* of hit_tokens */
  gint64 adapter_loads;
  gint64 checks, drafted,
      accepted; /* decodes of requests; guesses checked in them; those that were right */
  double busy_s, host_s, comm_s; /* GPUs computing; waiting for the host; of busy_s, collectives */
  double used_block_s, peak_blocks, running_s; /* time integrals; most blocks at once */
  gint64 starts;                               /* that came to their end */
  double held_s, starting_s;                   /* its GPUs were its own; of that, in those starts */
} OrrServedReplica;

/* A replica's state from a date on. */
typedef struct {
  double at_s;
  gint32 replica;
  const char *state; /* static: "off", "starting", "up", "draining", "down" */
} OrrServedTurn;

typedef struct OrrServingPaths
    OrrServingPaths;              /* the links that transfers cross: serving_paths.c */
typedef struct OrrFleet OrrFleet; /* what is under way: fleet.c */

typedef struct {
  OrrWork work;      /* first */
  OrrServing params; /* points into the scenario's: not owned */
  const OrrWorld *world;
  OrrWorld own_world; /* what it points to */
  OrrServingPaths *paths;
  OrrFleet *fleet; /* from begin on */
  GArray *groups;  /* of OrrServedGroup: at least one; params.replicas counts the replicas of all */
  gint64 longest;  /* tokens of a request */
  /* what the run leaves */
  GArray *requests; /* OrrServedRequest, in order of their end */
  GArray *steps;    /* OrrServedStep, sampled */
  GArray *gaps;     /* OrrTokenGap */
  GArray *turns;    /* OrrServedTurn; none where replicas do not come and go */
  OrrServedReplica *replicas;
  double end_s, last_arrival_s;
  gint64 backlog_at_last_arrival, rejected;
  gint64 retried,
      failed;       /* requests of replicas that were lost: once more elsewhere, or given up */
  double failed_s;  /* that the latter were in the system */
  gint64 handovers; /* of caches; seconds from prompts' ends till they were over, bytes */
  double handover_s, handover_bytes;
  gint64 first_encoder;                         /* its GPU; the others follow */
  gint64 images_encoded, image_hits, encodings; /* in the pool: images computed, found; requests */
  double encode_s, embedding_bytes, encoder_busy_s;
  double area_request_s; /* integral of the number in the system */
  double trust_s[ORR_HOW_OUTSIDE + 1];
  OrrServingParts parts; /* of the steps */
  /* what the profile holds no rows of, of the first group that lacks any; NULL: nothing */
  char *missing;
  gint64 calls; /* of the engine */
} OrrServingWork;

/* How far the integral of the number in the system is from the sum of the times in it (Little
 * 1961), as a share: rounding; a run in which it is more fails. */
double orr_serving_littles_law_error(const OrrServingWork *work);

static inline const OrrServedGroup *orr_serving_group(const OrrServingWork *work, guint replica) {
  return &g_array_index(work->groups, OrrServedGroup, work->replicas[replica].group);
}

G_END_DECLS

#endif
