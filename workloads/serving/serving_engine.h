/*
 * serving_engine.h - the parameters of one engine: batches, the cache and its tiers, kernels, what
 * the host does between two steps, and the processes in front.
 */
#pragma once

#include "models/lora.h"
#include "workloads/collectives/nccl.h"
#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/serving/speculation/speculation.h"

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

typedef enum { ORR_SSD_OF_REPLICA, ORR_SSD_OF_NODE } OrrSsdOf;
/* When a block is written to the SSD: when it is computed, or when host memory drops it. */
typedef enum { ORR_WRITE_THROUGH, ORR_WRITE_BACK } OrrTierWrites;

/* Cache tiers below HBM; see kv.h. */
typedef struct {
  int prefetch;                 /* OrrPrefetchPolicy */
  int ssd_of;                   /* OrrSsdOf: whose reads queue for one drive */
  int ssd_writes;               /* OrrTierWrites */
  double ssd_write_bytes_per_s; /* 0: writes take nothing of the drive's time */
  gint64 remote_readers;        /* at once, at remote_bytes_per_s each; 0: no limit */
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
  int preemption;         /* OrrPreemption */
  int prefix_caching;     /* OrrPrefixCaching */
  double window_room;     /* of layers with a window: OrrKvLayout.window_room */
  gint64 experts_at_once; /* tokens of their kernels; 0: all */
  gboolean keeps_workspaces;
  gint64 graph_largest; /* cudagraph capture size */
  int graph_unit;       /* OrrGraphUnit: what it counts */
  int graph_sizes;      /* OrrGraphSizes */
  gboolean graph_prompts, graph_padding, eager;
  OrrExpertKernels experts;
  double cross_bytes_per_s, chunked_bytes_per_s; /* per multiprocessor; 0: as any decode */
  char *all_reduce;
  gint64 stage_tensors; /* sent from a pipeline stage to the next, each of the model's width */
  gboolean stage_slices;
  int kernels; /* OrrKernelLibrary */
  OrrNccl nccl;
  OrrChoice speculation; /* of orr_speculation_registry */
  OrrCacheTiers tiers;
  OrrServingLora lora;
  OrrServingHost host;
  OrrFrontEnd front;
} OrrEngineParams;
