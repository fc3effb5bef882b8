/*
 * serving_cost_private.h - what the files of a step's cost share. No other file includes it.
 */
#pragma once

#include "workloads/collectives/many_to_many.h"
#include "workloads/serving/cost/serving_cost.h"

enum {
  N_HOWS = ORR_HOW_OUTSIDE + 1,
  RUNGS = 64,
  LADDER = RUNGS * 24,
  MOST_QUERIES = 1 + ORR_MOST_DRAFTED,
  MOST_BESIDE = 256, /* tokens: see shared_seconds */
  PIECES_A_BLOCK = 32
};

/* Costs that depend only on a number of tokens (or sequences). */
typedef struct {
  double total_s, comm_s; /* total_s < 0: not yet computed */
  double combine_s;       /* of comm_s: experts' results */
  double bytes;           /* bytes that its kernels move */
  double by_how[N_HOWS];
  guint kernels;
  OrrJoules joules;
} Piece;

typedef struct {
  float core_s[LADDER]; /* core time of one decode; NAN: not yet computed */
  guint8 how[LADDER];
} Ladder;

/* A kind of layer: the model's kinds, then the same of layers at the ends in 16 bits. */
typedef struct {
  guint kind;
  OrrInferenceShard shard;
  gint64 n, n_of_largest_stage;
  OrrInferenceHeads heads;
  gboolean has_core;         /* whether it has attention */
  gint64 source;             /* orr_inference_source */
  OrrServingModules *module; /* NULL: plain attention, or none */
  const OrrCostBatch *batch; /* measured mixed batches; NULL: prefill and decode are separate */
  GPtrArray *ladders[1 + MOST_QUERIES]; /* by queries per decode: Ladder* by number of decodes;
                                   * elements may be NULL */
  OrrInferenceHeads decode_heads;
  /* Blocks of PIECES_A_BLOCK Piece, NULL: none of them is known */
  GPtrArray *pieces;  /* by tokens */
  GPtrArray *experts; /* by tokens of all ranks */
  GPtrArray *shared;  /* by tokens: shared experts */
  GPtrArray *prompts; /* by prompt tokens, or by blocks of keys that they attend to */
  GPtrArray *decodes; /* by decoding tokens */
  GPtrArray *crosses; /* by sequences that begin: keys and values of an encoder's results */
  /* Piece by orr_serving_states_key of prompts; NULL: no state, or no rows of one like it */
  GHashTable *states;
  double layer_s;     /* of one layer, in the last step */
  OrrPoolStage stage; /* the same, without overlap of shared experts */
} Kind;

/* serving_stages.c: sends between stages, per byte that a rank sends: over all boundaries, and over
 * the slowest. */
typedef struct {
  OrrManyToManyTime all, slowest;
} OrrServingStages;

struct OrrServingCost {
  OrrServingCostParams params;
  Kind *kinds;
  guint n_kinds;
  /* blocks, as a kind's */
  GPtrArray *embedding, *final_norm, *head; /* by tokens, tokens, logits */
  GPtrArray *candidates;                    /* by logits */
  GPtrArray *encoder;                       /* by images */
  GPtrArray *gather;                        /* by tokens: one tensor, after a send */
  OrrServingStages stages;
  GArray *operators; /* scratch */
  double trust[N_HOWS];
  OrrServingParts parts;
  double rung_keys[LADDER]; /* of each rung */
  double kernels_s;         /* of the last step, all layers and ends */
  double launches_s;        /* of the last step, by the host; 0: a graph */
};

/* A step in one batch. */
OrrStepTime orr_serving_cost_whole(OrrServingCost *cost, const OrrStepShape *shape);

/* serving_graph.c: the host's time to launch a step kernel by kernel. */
double orr_serving_graph_launches_s(const OrrServingCost *cost, guint kernels);

/* pp > 1. What one tensor of @tokens takes to be gathered, as operators. */
OrrServingStages orr_serving_stages(const OrrServingCostParams *params);
void orr_serving_stages_gather(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                               GArray *operators);
/* Adds the sends of @tokens to @time, each tensor gathered in @gather_s. Returns the seconds of a
 * batch's sends alone. */
double orr_serving_stages_add(const OrrServingStages *stages, const OrrServingCostParams *params,
                              gint64 tokens, double gather_s, OrrStepTime *time);

/* serving_states.c: a layer of @kind with a state, over @sequences of @queries tokens each, on one
 * of @tp ranks. */
typedef struct {
  guint kind;
  gint64 tp;
  gboolean decodes;
  double sequences, queries;
} OrrServingStates;

/* Whether the tables have rows of such a layer, for prompts and for decodes. */
gboolean orr_serving_states_are_known(const OrrServingCostParams *params, guint kind);
/* Replaces the time of @operators (OrrOperator) in @costs (OrrCost) by the tables'. */
void orr_serving_states_settle(const OrrServingCostParams *params, const OrrServingStates *states,
                               const GArray *operators, GArray *costs);
/* Prompts that cost the same, and the length that stands for them. */
gint64 orr_serving_states_key(guint sequences, double queries);
double orr_serving_states_queries(gint64 key);

/* serving_keys.c: keys that a decode of @shape sees in a layer of @kind, in the mean. */
double orr_serving_keys_mean(const Kind *kind, const OrrModel *model, const OrrStepShape *shape);
/* Of @history tokens of a prompt before the ones that a step computes, those that these see. */
double orr_serving_keys_history(const Kind *kind, const OrrModel *model, double history);

/* The attention core of @batch sequences. */
OrrOperator orr_serving_cost_core(const OrrServingCost *cost, const OrrInferenceHeads *heads,
                                  gint64 batch, gint64 queries, gint64 keys);
/* serving_cost_gaps.c: FALSE with ORR_FAULT_DOCUMENT where the profile is asked to refuse gaps and
 * has some. */
gboolean orr_serving_cost_check_missing(OrrServingCost *cost, GError **error);
