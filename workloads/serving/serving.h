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
#ifndef ORR_SERVING_H
#define ORR_SERVING_H

#include "models/lora.h"
#include "results/rows/rows.h"
#include "workloads/collectives/nccl.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/autoscalers/autoscaler.h"
#include "workloads/serving/power_time.h"
#include "workloads/serving/routers/router.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/speculation/speculation.h"
#include "workloads/serving/tasks/task_params.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct {
  double step_s, sequence_s; /* host time per step, and per sequence of a step */
  double sampling_s;         /* of the GPUs per sequence where requests sample from the likeliest */
  gboolean async;            /* the host works during the GPU's step */
  double exposed;            /* fraction of it that it does between two steps even so */
  double launch_s;           /* per kernel that is launched eagerly */
  /* from the end of a step to the client: detokenisation and streaming; it delays tokens but
   * blocks nothing */
  double token_s;
  /* servers of a node, this one among them; the cores that they share (0: the node's); threads of
   * each that must all run before a step goes on (0: one per core) */
  gint64 neighbours, cores, threads;
} OrrServingHost;

/* The processes between an engine and its clients: frontend.c. */
typedef struct {
  gint64 processes, interval;       /* tokens per chunk */
  double request_s, prompt_token_s; /* before a request comes to the engine */
  double chunk_s, written_token_s;  /* per chunk; and for each token that the output has */
} OrrFrontEnd;

/* Low-rank adapters; each request uses one. */
typedef struct {
  gint64 adapters, slots; /* adapters in total; slots on the GPU */
  double skew;            /* exponent of the power law of requests over adapters */
  OrrLoraFields shape;
} OrrServingLora;

/* What is read to host memory while a request queues; see cache_tiers.c. */
typedef enum {
  ORR_PREFETCH_NONE,
  ORR_PREFETCH_BEST_EFFORT,
  ORR_PREFETCH_WAIT_COMPLETE,
  ORR_PREFETCH_TIMEOUT
} OrrPrefetchPolicy;

/* Cache tiers below HBM; see kv.h. */
typedef struct {
  int prefetch; /* OrrPrefetchPolicy */
  gint64 prefetch_threshold;
  double host_bytes, ssd_bytes; /* per replica */
  double remote_bytes;          /* shared by all replicas */
  double ssd_bytes_per_s, ssd_latency_s, remote_bytes_per_s, remote_latency_s;
} OrrCacheTiers;

typedef struct {
  OrrChoice scheduler; /* of orr_scheduler_registry */
  gint64 max_num_seqs, max_num_batched_tokens, max_model_len;
  gint64 recv_interval; /* steps of decodes from one look for new requests to the next */
  gint64 block_size, kv_blocks;
  double memory_utilization, cache_fraction;
  double reserved_bytes; /* CUDA context, NCCL's buffers, graphs */
  /* at start: whether activations leave room for less cache; bytes at the sampler's peak per logit
   * of max-num-seqs sequences */
  gboolean profiles_activations;
  double sampler_peak_bytes;
  double watermark; /* fraction of the blocks that admissions leave free */
  gboolean reserve_prompt;
  int preemption;       /* OrrPreemption */
  int prefix_caching;   /* OrrPrefixCaching */
  gint64 graph_largest; /* cudagraph capture size */
  int graph_unit;       /* OrrGraphUnit: what it counts */
  int graph_sizes;      /* OrrGraphSizes */
  gboolean graph_prompts, graph_padding, eager;
  OrrExpertKernels experts;
  char *all_reduce;
  int kernels; /* OrrKernelLibrary */
  OrrNccl nccl;
  OrrChoice speculation; /* of orr_speculation_registry */
  OrrCacheTiers tiers;
  OrrServingLora lora;
  OrrServingHost host;
  OrrFrontEnd front;
} OrrEngineParams;

typedef enum { ORR_EXPERTS_DRAWN, ORR_EXPERTS_PACKED } OrrExpertPlacement;

typedef struct {
  gint64 tp, pp, dp_attention, ep;
  double imbalance;
  OrrChoice load;   /* of orr_expert_load_registry */
  gint64 redundant; /* copies of experts beyond one of each */
  int placement;    /* OrrExpertPlacement */
  char *all_to_all;
} OrrServingParallel;

/* Replicas that differ from the first ones. */
typedef struct {
  gint64 replicas;
  OrrServingParallel parallel;
  OrrDevice device; /* unnamed: the cluster's device */
  /* The workload's with what the group changes (scenario_stack.c merges the two); without a
   * scheduler: the workload's. */
  OrrEngineParams engine;
} OrrReplicaGroup;

typedef struct {
  double ttft_s, tpot_s, e2e_s; /* 0: none */
} OrrSlo;

typedef struct {
  char *name;
  double share;    /* weight among the classes */
  gint64 priority; /* smaller is first, if the scheduler uses priorities */
  OrrSlo slo;      /* all zero: the workload's */
} OrrRequestClass;

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
} OrrReplicaStart;

typedef enum { ORR_BEAMS_FRONT_END, ORR_BEAMS_ENGINE } OrrBeamsBy;

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
  int by;       /* OrrBeamsBy */
  double skew;
} OrrBeamSearch;

/* What a token is drawn from: all tokens, or the likeliest, for which logits are sorted. */
typedef enum { ORR_SAMPLING_ALL, ORR_SAMPLING_LIKELIEST } OrrServingSampling;

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
  OrrWeightFormats weights;             /* parts of the layers in other formats than that */
  int precision, activations, kv_dtype; /* OrrDtype */
  OrrChoice load;                       /* of orr_arrival_registry */
  gint64 max_concurrency; /* requests that the clients keep in flight at most; 0: no limit */
  gint64 requests;
  OrrLengths input, output;
  gint64 shared_prefix;   /* tokens with which all prompts begin */
  gint64 images;          /* per prompt */
  gint64 distinct_images; /* images that requests draw from; 0: each request has its own */
  OrrEncoderPool encoders;
  int sampling;   /* OrrServingSampling */
  gint64 samples; /* outputs per prompt */
  OrrBeamSearch beams;
  OrrSlo slo;
  GPtrArray *classes; /* OrrRequestClass*; NULL: one */
  OrrTasks tasks;     /* without steps: a request is one turn */
  OrrServingMetricsParams metrics;
  /* a request that waits longer ends the run, because the queue diverges; 0: never */
  double most_queue_s;
  /* With window: steady, the fraction of requests that is to meet the objectives: a run that surely
   * does not reach it is ended early; 0: none is asked for. */
  double least_good;
  char *stack; /* name of the software stack, whose defaults are in the members above */
} OrrServing;

static inline gint64
orr_serving_outputs(const OrrServing *params) { /* of a prompt, that its client gets */
  return params->samples * params->beams.width;
}

/* --- derived from a document: serving_params.c --- */

OrrInferenceShard orr_serving_shard(const OrrServing *params);
/* The same, with the load of the fullest rank of @model's experts. */
OrrInferenceShard orr_serving_loaded_shard(const OrrServing *params, const OrrModel *model);
OrrLora orr_serving_lora(const OrrServing *params); /* rank 0: no adapters */
/* Image tokens per prompt. */
gint64 orr_serving_image_tokens(const OrrServing *params, const OrrModel *model);
guint orr_serving_n_groups(const OrrServing *params);
/* Layers per stage, at most. */
gint64 orr_serving_layers(const OrrServing *params, const OrrModel *model);
/* Whether replicas come and go without faults. */
gboolean orr_serving_is_eventful(const OrrServing *params);
gboolean orr_serving_scales(const OrrServing *params); /* whether the number of replicas follows
                                                        * the load */

/* What the GPUs take to find the likeliest tokens of a sequence, at full clock, in seconds. */
static inline double orr_serving_sampling_s(const OrrServing *params) {
  return params->sampling == ORR_SAMPLING_LIKELIEST ? params->engine.host.sampling_s : 0;
}
/* Wait of a step, in seconds, for the time slices of other servers of its node: its threads go on
 * when the last of them has run, after all that share its core. */
double orr_serving_neighbours_s(const OrrServingHost *host, const OrrCluster *cluster);

extern const OrrFieldTable orr_serving_table;
extern const OrrWorkloadKind orr_serving_kind;

/* A finished request: the row that its client would write, without the name of its class. */
typedef struct {
  OrrServingRequestRow row;
  guint16 group;
  gboolean first_is_good, gap_is_good; /* ttft, tpot; where nothing is asked, too */
  double end_s;                        /* its last token, before it is written to the client */
  /* When it left; then, of the requests in the system or waiting at a client: how many, and the
   * integral of their number. */
  double left_s, area_s;
  gint32 in_system;
} OrrServedRequest;

/* `n` gaps between tokens of equal length. */
typedef struct {
  float gap_s;
  guint32 n;
} OrrTokenGap;

/* A group of equal replicas. */
typedef struct {
  OrrServing params;             /* the workload's, with the group's replicas and parallel */
  OrrCluster cluster;            /* with the group's device; borrows */
  gint64 first, first_gpu, gpus; /* replica; its first GPU; GPUs of each */
  gint64 n_blocks;               /* blocks per core */
  double weight_bytes, kv_bytes_per_token, activation_bytes, budget_bytes; /* per GPU */
  double state_bytes;   /* per sequence, on one GPU */
  double adapter_bytes; /* per adapter, on one GPU */
  OrrKvLayout kv_layout;
} OrrServedGroup;

typedef struct {
  guint group;
  gint64 requests, steps, preemptions, hit_tokens, looked_up_tokens, evicted_blocks, tokens,
      most_running;
  gint64 tier_tokens[ORR_N_TIERS]; /* of hit_tokens */
  gint64 adapter_loads;
  gint64 checks, drafted,
      accepted; /* decodes; draft tokens checked in them; accepted draft tokens */
  /* GPU time computing; waiting for the host; in collectives (part of busy_s) */
  double busy_s, host_s, comm_s;
  double host_busy_s; /* cores of its hosts: engine cores and front end */
  /* of its GPUs, on top of their static power; the step that draws most */
  OrrJoules joules;
  double peak_dynamic_w;
  /* of the steps' part that reads prompts: on top of static power, its time, the tokens computed */
  double prompt_j, prompt_s, prompt_tokens;
  double used_block_s, peak_blocks, running_s; /* time integrals; largest number of blocks in use */
  gint64 starts;                               /* completed starts */
  /* time for which it held GPUs; the part of it spent in completed starts */
  double held_s, starting_s;
} OrrServedReplica;

typedef struct OrrServingPaths
    OrrServingPaths;              /* the links that transfers cross: serving_paths.c */
typedef struct OrrFleet OrrFleet; /* the running fleet: fleet.c */

/* A request that the fleet did not serve to its end: it was rejected, or its replica was lost. */
typedef struct {
  double arrival_s, at_s; /* on the run's clock */
  gboolean is_failed;
} OrrUnserved;

typedef enum {
  ORR_STEADY_SHORT, /* the run is too short to tell */
  ORR_STEADY_HOLDS, /* the window is a steady state */
  ORR_STEADY_GROWS, /* requests arrive faster than they are served */
  ORR_STEADY_MISSES /* more requests miss an objective than least-good allows */
} OrrSteadyState;

/* What is known of a run's steady state: fleet/fleet_private.h. */
typedef struct {
  gint32 state;          /* OrrSteadyState */
  double begin_s, end_s; /* the window, on the run's clock; of a short run what there is of it */
  double residence_s;    /* mean time in the system of the requests that left last */
  double in_system;      /* requests in the system over the window, mean */
  double growth_rps;     /* of that number, per second, where it grows; else 0 */
  /* standard error of the fraction within the objectives, where one is asked for; NAN: the window
   * does not show it */
  double good_error;
  double margin; /* of the rate of output tokens: half of a 95 % interval, over the rate */
} OrrSteady;

/* The time of metrics.window: full or steady. Full begins with the first token of request `places`
 * and ends with the last request's. */
typedef struct {
  gint64 places, n_first; /* of all engines; requests with a first token */
  double begin_s, end_s;  /* on the run's clock */
  guint64 gaps, kept;     /* noted since it began; until end_s */
  guint64 tokens;         /* written from begin_s to end_s */
  /* of all replicas, up to begin_s and up to end_s */
  OrrJoules begin_joules, end_joules;
} OrrTokenWindow;

typedef struct {
  OrrWork work;      /* first */
  OrrServing params; /* points into the scenario: not owned */
  const OrrWorld *world;
  OrrWorld own_world; /* what it points to */
  OrrServingPaths *paths;
  OrrFleet *fleet; /* set by begin */
  GArray *groups;  /* of OrrServedGroup: at least one; params.replicas counts the replicas of all */
  gint64 longest;  /* longest request in tokens */
  /* results of the run */
  GArray *requests; /* OrrServedRequest, in order of completion */
  GArray *unserved; /* OrrUnserved, in order of time */
  GArray *steps;    /* OrrServingStepRow, sampled */
  GArray *gaps;     /* OrrTokenGap */
  OrrTokenWindow window;
  OrrCycle cycle; /* of a load that repeats itself until there is a steady state; else 0, 0 */
  OrrSteady steady;
  GArray *turns;       /* OrrServingTurnRow; empty if replicas do not come and go */
  OrrPowerTime *power; /* of all replicas, on top of static power; NULL: metrics.step-rows is 0 */
  OrrServedReplica *replicas;
  double end_s, last_arrival_s;
  double client_wait_s; /* of requests that waited at the client for max-concurrency, in all */
  gint64 backlog_at_last_arrival;
  gint64 unfinished; /* requests in the system when the run was cut */
  gint64 retried;    /* requests of lost replicas that went on elsewhere */
  double failed_s;   /* time that failed requests spent in the system */
  gint64 handovers;  /* of caches; seconds from prompts' ends till they were over, bytes */
  double handover_s, handover_bytes;
  gint64 first_encoder;  /* GPU of the first encoder; the others follow */
  gint64 first_task_gpu; /* of the pools of tasks, in their order, after the encoders */
  GArray *tasks;         /* OrrServingTaskRow, in order of arrival */
  GArray *task_steps;    /* OrrServingTaskStepRow, in order of their ends */
  GArray *task_pools;    /* OrrServingTaskPoolRow */
  OrrJoules task_joules; /* of the pools' GPUs, on top of static power */
  /* in the pool: images computed, cache hits, requests */
  gint64 images_encoded, image_hits, encodings;
  double encode_s, embedding_bytes, encoder_busy_s;
  double area_request_s; /* integral of the number of requests in the system */
  double trust_s[ORR_HOW_OUTSIDE + 1];
  OrrServingParts parts; /* breakdown of the steps */
  /* kernels without rows in the profile, for the first group that lacks any; NULL: none */
  char *missing;
  char *left_out; /* of the load's file: "columns that are not read: a, b"; NULL: nothing */
  gint64 calls;   /* of the engine */
} OrrServingWork;

/* The relative difference between the integral of the number of requests in the system and the
 * sum of their times in it (Little 1961). Rounding only; a run with a larger one fails. */
double orr_serving_littles_law_error(const OrrServingWork *work);

/* Blocks of the key-value cache of one of its replicas. */
static inline double orr_served_group_blocks(const OrrServedGroup *group) {
  return (double)(group->n_blocks * group->params.parallel.dp_attention);
}
static inline const OrrServedGroup *orr_serving_group(const OrrServingWork *work, guint replica) {
  return &g_array_index(work->groups, OrrServedGroup, work->replicas[replica].group);
}

G_END_DECLS

#endif
