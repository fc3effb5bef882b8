/*
 * serving_cost.h - the GPU time of one step of an engine.
 *
 * A step is the work scheduled together: `tokens` in total, in chunks of prompts and in decodes.
 * Its time is
 *
 *   sum over layers  t_tokens(padded tokens) + t_core(chunks, decodes)  +  t_ends(padded tokens,
 *                    logits)
 *
 * t_tokens is cached for each number of tokens. The core of a decode is cached on a ladder of mean
 * contexts (each power of two in 64 rungs) and interpolated linearly between two rungs. Invariant:
 * queries do not change later results.
 *
 * Decodes that check drafts have q tokens each, (tokens - chunk) / decodes. Their core is the
 * decode kernel with the q queries of a head as q heads over the same keys, as kernels pack them
 * (FlashAttention-3's pack_gqa).
 */
#pragma once

#include "calibration/cost/cost_energy.h"
#include "calibration/cost/cost_serving.h"
#include "models/inference.h"
#include "workloads/collectives/nccl.h"
#include "workloads/serving/cost/serving_experts.h"
#include "workloads/serving/speculation/speculation.h"
#include "workloads/workload.h"

typedef struct {
  double tokens; /* computed tokens, before padding to a graph's size */
  double chunk;  /* prompt tokens among them */
  /* sum over chunks of c (h + c / 2); h: tokens of the sequence computed earlier */
  double chunk_key_sum;
  double chunk_pairs; /* sum over chunks of query-key pairs: c h + c (c + 1) / 2 */
  guint n_chunks;
  guint decodes;
  double key_sum; /* keys summed over decodes, including the new tokens */
  double keys_least, keys_most;
  guint sequences;
  /* tokens of all ranks of attention data parallelism, for the experts; 0: only its own */
  double group_tokens;
  guint adapters;   /* number of different adapters among its requests */
  guint images;     /* images to encode for prompts that begin */
  guint candidates; /* logits whose best candidates are requested, with their ranks */
  guint logits;     /* tokens that need logits: the last one of a sequence, and drafts */
} OrrStepShape;

typedef struct {
  double gpu_s;   /* kernels and collectives, summed over all stages */
  double stage_s; /* time of the slowest stage */
  double comm_s;  /* tensor-parallel collectives, part of gpu_s */
  double attention_s;
  /* serving_stages.c: activations sent between stages: of a batch, part of gpu_s and comm_s; and of
   * the stage that sends and receives most, beyond stage_s */
  double sends_s, stage_sends_s;
  double idle_s; /* serving_pools.h: of gpu_s, what a GPU waits for the other pool, mean of all */
  /* of one GPU of each stage, summed over the stages, on top of static power; zero without a power
   * model */
  OrrJoules joules;
  OrrJoules feed_joules; /* serving_pools.h: of one GPU of the feed-forwards */
} OrrStepTime;

typedef enum { ORR_GRAPH_TOKENS, ORR_GRAPH_SEQUENCES } OrrGraphUnit;
extern const char *const orr_graph_unit_words[]; /* "tokens", "sequences", NULL */
typedef enum { ORR_GRAPHS_EVEN, ORR_GRAPHS_POWERS } OrrGraphSizes;
extern const char *const orr_graph_sizes_words[]; /* "even", "powers-of-two", NULL */

/* What a layer of one micro-batch takes. Without a feed-forward the last three are 0. */
typedef struct {
  double attention_s, out_s, feed_s, back_s;
} OrrPoolStage;

/* Tokens of a rank's step from which on it is cut into two halves: of steps that decode alone, and
 * of others; 0: never. Multiprocessors that their exchanges hold. */
typedef struct {
  gint64 decodes, prompts, held;
} OrrTwoBatches;

typedef struct {
  const OrrWorld *world;
  OrrInferenceShard shard;
  OrrTwoBatches two_batches;
  gint64 pp;
  gint64 first_gpu;
  gint64 stage_tensors;  /* that a stage sends to the next for each token */
  gboolean stage_slices; /* each rank sends its slice of them, and the next stage gathers */
  OrrKernelLibrary kernels;
  OrrNccl nccl;
  const char *all_reduce; /* of orr_collective_registry, "auto" or "nccl" */
  const char *all_to_all; /* the same, for experts' tokens */
  OrrLora lora;           /* rank 0: no adapters */
  /* steps with at most this many graph_units run as a CUDA graph, padded; 0: none */
  gint64 graph_largest;
  OrrGraphUnit graph_unit;
  OrrGraphSizes graph_sizes;
  gboolean graph_prompts; /* also steps with prompts; FALSE: only those that decode alone */
  /* other steps are launched kernel by kernel and take at least the host's time for it */
  gboolean is_eager;
  double launch_s; /* of a kernel; 0: the profile's host-launch */
  /* of decodes' cross-attention, and of layers with chunks; per multiprocessor, 0: no limit */
  double cross_bytes_per_s, chunked_bytes_per_s;
  OrrExpertKernels experts;
  gboolean pads; /* whether steps are padded to the graphs' sizes */
} OrrServingCostParams;

typedef struct OrrServingCost OrrServingCost;

/* NULL with ORR_FAULT_DOCUMENT, e.g. for a collective that the group cannot run. @world must
 * outlive it. */
OrrServingCost *orr_serving_cost_new(const OrrServingCostParams *params, GError **error);
void orr_serving_cost_free(OrrServingCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrServingCost, orr_serving_cost_free)

OrrStepTime orr_serving_cost_step(OrrServingCost *cost, const OrrStepShape *shape);
/* Of the last step, before launches and power limits stretch it: its kernels, all layers and ends;
 * and one layer of the model. */
double orr_serving_cost_kernels_s(const OrrServingCost *cost);
double orr_serving_cost_layer_s(const OrrServingCost *cost, gint64 layer);
OrrPoolStage orr_serving_cost_stage(const OrrServingCost *cost, gint64 layer);
/* seconds to encode @images together, alone */
double orr_serving_cost_images(OrrServingCost *cost, gint64 images);
/* The tokens that a step computes: @shape's, or in a graph the next captured size:
 * 1, 2, 4, 8, 16, 24, ..., in graph_units. */
gint64 orr_serving_cost_padded(const OrrServingCost *cost, const OrrStepShape *shape);
/* Whether that is a captured size. */
gboolean orr_serving_cost_pads(const OrrServingCost *cost, const OrrStepShape *shape);

/* One operator of a step, by the engine's kernels and collectives. */
OrrCost orr_serving_cost_operator(const OrrServingCostParams *params, const OrrOperator *op);

/* The engine's kernels without rows in the profile, joined by ", "; NULL: none. Newly allocated. */
char *orr_serving_cost_missing(OrrServingCost *cost);

/* GPU seconds of all steps so far, and the parts of attention's cores, and of routed and shared
 * experts with their exchange. */
typedef struct {
  double gpu_s, attention_s, experts_s;
} OrrServingParts;
OrrServingParts orr_serving_cost_parts(const OrrServingCost *cost);

/* Seconds by how they are known, over all steps so far. */
const double *orr_serving_cost_trust(const OrrServingCost *cost); /* of ORR_HOW_OUTSIDE + 1 */

/* serving_graph.c: which steps run as CUDA graphs, and how many tokens those compute.
 *
 * An engine captures a graph for each of some sizes; a step takes the next one, and computes that
 * many. vLLM counts tokens (vllm/config, cudagraph_capture_sizes): a decode with k drafts counts 1
 * + k, and uniform decodes take sizes that are multiples of it. TensorRT-LLM and SGLang count the
 * sequences of a step that decodes alone (cuda_graph_runner.py of both: a graph for each batch
 * size, of as many tokens per sequence as it checks). Above 128, TensorRT-LLM captures powers of
 * two (llm_args.py, _generate_cuda_graph_batch_sizes), the others multiples of 16 from 256 on. */

/* Whether a step of @shape is a graph. */
gboolean orr_serving_graph_holds(const OrrServingCostParams *params, const OrrStepShape *shape);
/* The tokens that a step of @shape computes: its own, or its graph's where steps are padded
 * to the captured sizes (1, 2, 4, 8, 16, 24 ...). */
gint64 orr_serving_graph_tokens(const OrrServingCostParams *params, const OrrStepShape *shape);

/* serving_module.c: the attention core of layers whose queries see a choice of keys or a
 * compressed cache: what the whole module takes beyond its products.
 *
 * Rows were measured of whole modules (calibration/cost/cost_module.h). A step prices their
 * products over all its tokens, prompts and decodes together, so the core is the module's time
 * less the time of the products of its own tokens, and at least the roofline of indexer and
 * attention. */

typedef struct OrrServingModules OrrServingModules;

/* Of the model's layers of @kind; NULL: they have no such module. Borrows both. */
OrrServingModules *orr_serving_modules_new(const OrrServingCostParams *params, guint kind,
                                           const OrrInferenceShard *shard);
void orr_serving_modules_free(OrrServingModules *modules);

/* The chunks of prompts in a step, as chunks of their mean size at the nearest of 64 steps in each
 * doubling of keys; and decodes with @queries tokens each, over @keys. */
OrrCost orr_serving_modules_prompts(OrrServingModules *modules, const OrrStepShape *shape);
OrrCost orr_serving_modules_decodes(OrrServingModules *modules, guint decodes, guint queries,
                                    double keys);
/* Joules of a step's cores. The entries that a query sees count; entries of several tokens count as
 * tokens. */
OrrJoules orr_serving_modules_joules(const OrrServingModules *modules, const OrrStepShape *shape,
                                     double core_s);

/* serving_collectives.c: the collectives within an engine's step: which library runs them, and how
 * long they take alone.
 *
 * All-reduces of tensor parallelism use vLLM's own kernel while they are small and the group is in
 * one domain, otherwise NCCL. Experts' tokens use DeepEP's low-latency kernels while they are few,
 * otherwise its normal ones, over all ranks of attention data parallelism. Both can be forced
 * (serving_cost.h). */

/* @op: a COMM */
OrrCost orr_serving_collectives_cost(const OrrServingCostParams *params, const OrrOperator *op);
/* Bytes that leave a rank for another one in @op, a COMM. */
double orr_serving_collectives_sent(const OrrServingCostParams *params, const OrrOperator *op);
/* Whether the exchange of @tokens per rank holds multiprocessors while it runs. */
gboolean orr_serving_collectives_hold(const OrrServingCostParams *params, gint64 tokens);
/* Reports collectives that cannot run before the first step: ORR_FAULT_DOCUMENT. */
gboolean orr_serving_collectives_try(const OrrServingCostParams *params, GError **error);

/* serving_batches.c: a step's batch in parts. */

/* The share of one of @m micro-batches, whole decodes and prompts. */
OrrStepShape orr_serving_batches_share(const OrrStepShape *shape, double m);
/* The time in which @micro_batches go through @n layers, each stage one at a time and in order.
 * @is_shared: feed-forwards use attention's GPUs, and the way back the way out's links. */
double orr_serving_batches_stages_s(const OrrPoolStage *layers, guint n, guint micro_batches,
                                    gboolean is_shared);
