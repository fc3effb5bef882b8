/*
 * serving_cost.h - how long one step of an engine takes on its GPUs.
 *
 * A step is what was scheduled together: `tokens` in all, of which chunks of prompts, and the
 * tokens of decodes. Its time is
 *
 *   sum over layers  t_tokens(padded tokens) + t_core(chunks, decodes)  +  t_ends(padded tokens,
 *                    logits)
 *
 * t_tokens is remembered for each number of tokens; the core of a decode is remembered on a ladder
 * of mean contexts (each power of two in 64 rungs) and is linear between two rungs. Invariant:
 * asking does not change answers.
 *
 * Decodes that check guesses have q tokens each, (tokens - chunk) / decodes: their core is the
 * decode kernel with the q queries of a head as q heads more over the same keys, as kernels pack
 * them (FlashAttention-3's pack_gqa).
 */
#ifndef ORR_SERVING_COST_H
#define ORR_SERVING_COST_H

#include "calibration/cost/cost_serving.h"
#include "models/inference.h"
#include "workloads/serving/speculation/speculation.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct {
  double tokens; /* computed, before padding to a graph's size */
  double chunk;  /* prompt tokens among them */
  /* sum over chunks of c (h + c / 2), h: tokens of its sequence computed before */
  double chunk_key_sum;
  double chunk_pairs; /* sum over chunks of query-key pairs: c h + c (c + 1) / 2 */
  guint n_chunks;
  guint decodes;
  double key_sum; /* over decodes, the new tokens included */
  double keys_least, keys_most;
  guint sequences;
  /* of all ranks of attention data parallelism, for the experts; 0: its own alone */
  double group_tokens;
  guint adapters;   /* different ones among its requests */
  guint images;     /* to be encoded for prompts that begin */
  guint candidates; /* of the logits: those whose best are asked for, with their ranks */
  guint logits;     /* tokens whose logits are needed: a sequence's last, and guesses */
} OrrStepShape;

typedef struct {
  double gpu_s;   /* busy with kernels and collectives, all stages in a row */
  double stage_s; /* of the slowest stage: what pp divides */
  double comm_s;  /* of gpu_s, tensor-parallel collectives */
  double attention_s;
} OrrStepTime;

typedef struct {
  const OrrWorld *world;
  OrrInferenceShard shard;
  gint64 pp;
  gint64 first_gpu;
  const char *all_reduce; /* of orr_collective_registry, "auto" or "nccl" */
  const char *all_to_all; /* the same, of the experts' tokens */
  OrrLora lora;           /* rank 0: no adapters */
  /* steps of at most so many tokens run as a CUDA graph, padded; 0: none do */
  gint64 graph_largest;
  /* larger steps are launched kernel by kernel and are no shorter than that takes */
  gboolean is_eager;
  gboolean pads; /* to the graph's sizes */
} OrrServingCostParams;

typedef struct OrrServingCost OrrServingCost;

/* NULL with ORR_FAULT_DOCUMENT, e.g. a collective that the group cannot run. @world outlives it. */
OrrServingCost *orr_serving_cost_new(const OrrServingCostParams *params, GError **error);
void orr_serving_cost_free(OrrServingCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrServingCost, orr_serving_cost_free)

OrrStepTime orr_serving_cost_step(OrrServingCost *cost, const OrrStepShape *shape);
/* of @images that are encoded together, alone */
double orr_serving_cost_images(OrrServingCost *cost, gint64 images);
/* vLLM's sizes: 1, 2, 4, 8, 16, 24, ... */
gint64 orr_serving_cost_padded(const OrrServingCost *cost, gint64 tokens);

/* What of the engine's kernels the profile does not hold, ", " between them; NULL: nothing.
 * Newly allocated. */
char *orr_serving_cost_missing(OrrServingCost *cost);

/* GPU seconds of all steps asked so far, and of them those of attention's cores, and of routed
 * and shared experts with what they exchange. */
typedef struct {
  double gpu_s, attention_s, experts_s;
} OrrServingParts;
OrrServingParts orr_serving_cost_parts(const OrrServingCost *cost);

/* Seconds by how they are known, over all steps asked so far: where the answer's trust lies. */
const double *orr_serving_cost_trust(const OrrServingCost *cost); /* of ORR_HOW_OUTSIDE + 1 */

G_END_DECLS

#endif
