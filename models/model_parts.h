/*
 * model_parts.h - the parts that layers can have: forms of attention, experts, state spaces.
 */
#pragma once

#include "sim/base/ground.h"

/* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, and keys with values,
 * are made from compressed forms; one part of each key, common to all heads, carries the
 * position. With q_rank alone only queries are: multi-matrix factorization attention (Step-3, arXiv
 * 2507.19427), whose keys and values are plain. */
typedef struct {
  gint64 q_rank;   /* 0: queries come from the residual stream */
  gint64 kv_rank;  /* 0: keys and values are not compressed */
  gint64 nope_dim; /* part of a head's query and key without position */
  gint64 rope_dim; /* part with position */
  gint64 value_dim;
} OrrMla;

typedef struct {
  gint64 experts; /* 0: none */
  gint64 topk;
  gint64 ffn;           /* inner width of an expert; 0: as in the dense layers */
  gint64 shared_ffn;    /* inner width of all shared experts together */
  gboolean shared_gate; /* a gate on the shared experts' result: hidden weights */
  gboolean clamp;       /* gates and values of the experts are limited before they meet (gpt-oss) */
  /* Width in which the experts compute; 0: the residual stream's (LatentMoE projects down and
   * up). */
  gint64 latent;
  gint64 zero_experts; /* that the router scores too, and that compute nothing (LongCat-Flash) */
} OrrMoe;

/* The range of layers with the mixer `window`: each token sees the last `size` tokens or, chunked,
 * its own chunk's. */
typedef struct {
  gint64 size;
  gboolean chunked;
} OrrWindow;

/* Mamba-2 (Dao, Gu 2024, arXiv 2405.21060). */
typedef struct {
  gint64 heads; /* 0: no such layers */
  gint64 head_dim;
  gint64 state;
  gint64 groups;
  gint64 conv;  /* taps of the convolution */
  gint64 chunk; /* tokens that a kernel computes as one product */
} OrrMamba;

typedef enum {
  ORR_LINEAR_LIGHTNING,
  ORR_LINEAR_GATED_DELTA,
  ORR_LINEAR_KIMI_DELTA, /* a decay for each channel of a key (Kimi Linear, arXiv 2510.26692) */
  ORR_LINEAR_RWKV_7      /* the same with vectors of its own for removal (arXiv 2503.14456) */
} OrrLinearKind;

/* Linear attention: a state of key_dim x value_dim per head instead of a cache. */
typedef struct {
  int kind;         /* OrrLinearKind */
  gint64 key_heads; /* 0: no such layers */
  gint64 value_heads;
  gint64 key_dim;
  gint64 value_dim;
  gint64 conv; /* taps over q, k and v; 0: none */
  gint64 chunk;
  gint64 low_rank;    /* sum of the inner widths of projections that make decays, rates and gates */
  gboolean full_gate; /* the output gate is a whole matrix, none of these projections */
} OrrLinear;

/* Sparse attention: each query attends to the entries of the cache that score best. An indexer of
 * its own scores them (lightning indexer, DeepSeek-V3.2: relu(q_i k) weighted over index_heads,
 * keys of index_dim stored in fp8); without one, the means of blocks' keys do (MoBA, arXiv
 * 2502.13189). */
typedef struct {
  gint64 topk;  /* 0: no such layers */
  gint64 block; /* tokens that are chosen together */
  gint64 index_heads, index_dim;
} OrrSparse;

/* DeepSeek-V4: one key per token that is also its value, entries that stand for several tokens, and
 * an output projection in groups of heads. Layers `csa` have entries of `ratio` tokens, and an
 * indexer chooses among them (the model's `sparse`); `hca` of `heavy` tokens, all of them seen.
 * Both also see the last `window.size` tokens one by one. */
typedef struct {
  gint64 ratio; /* 0: no such attention */
  gint64 heavy;
  gint64 q_rank;
  gint64 rope_dim;
  gint64 groups, rank; /* of the output projection */
} OrrCompressed;

/* Layers `cross`: keys and values are made once for each sequence, from what an encoder gives for
 * its input, and stay (the decoder of T5 or Whisper). */
typedef struct {
  gint64 tokens; /* of the encoder's result; 0: no such layers */
  gint64 width;  /* of one of them; 0: the encoder's hidden, or the decoder's */
} OrrCross;
