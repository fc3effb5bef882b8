/*
 * profile_serving.h - the sections of a profile that describe the steps of a serving engine. For
 * calibration/ alone.
 *
 * An engine with continuous batching runs prefill chunks and decodes in one attention kernel, and
 * its small kernels follow the number of tokens of a step. Both were measured as the engine runs
 * them:
 *
 *   token-kernels:
 *     - {operator: rms-norm, width: 4096, tokens: "1 2 4", us: "2.42 2.44 2.5"}
 *   batch-attention:
 *     - dtype: bf16
 *       kv-dtype: bf16
 *       head-dim: 128
 *       heads: 32
 *       kv-heads: 8
 *       source: who measured it, with what
 *       chunks:
 *         - {chunk: 0, decodes: "1 2", keys: "16 32", us: "8.4 8.5 12.6 12.7"}
 *         - {chunk: 512, prefill-keys: "256 768", alone: "60 80", decodes: "1 2", keys: "16 32",
 *           us: "..."}
 *       skew:
 *         - {with-prefill: false, decodes: "2 4", rates: "0.05 1", longest: "1024", shares: "0.1
 *           0.2 - 0.1"}
 *
 * A chunk is the prompt tokens of a step; prefill-keys is the mean number of keys that one of them
 * sees, history + chunk / 2; `us` is prefill-keys by decodes by keys. Decodes of unequal contexts
 * take longer than decodes of their mean context: by `shares` of the difference between the times
 * of their longest context and of their mean. The share depends on the number of decodes, on rate =
 * (mean - least) / (most - least), and on the longest context.
 */
#pragma once

#include "calibration/profile/profile.h"

typedef struct {
  char *operator_name; /* a name that models/inference.c gives */
  gint64 width;        /* elements per token: hidden size, inner size or vocabulary */
  char *tokens, *us;
} OrrProfileTokenKernel;

typedef struct {
  gint64 chunk;                                     /* 0: decodes only */
  char *prefill_keys, *alone, *decodes, *keys, *us; /* the first two are NULL where chunk is 0 */
} OrrProfileBatchChunk;

typedef struct {
  gboolean with_prefill;
  char *decodes, *rates, *longest, *shares;
} OrrProfileBatchSkew;

typedef struct {
  int dtype, kv_dtype;
  gint64 head_dim, heads, kv_heads;
  char *source;
  GPtrArray *chunks; /* OrrProfileBatchChunk* */
  GPtrArray *skew;   /* OrrProfileBatchSkew* */
} OrrProfileBatchAttention;

extern const OrrFieldTable orr_profile_token_kernel_table, orr_profile_batch_attention_table;

/* Check that axes rise and that rows are as long as their axes demand; findings have the places
 * of @map. */
void orr_profile_token_kernel_check(const OrrProfileTokenKernel *kernel, const OrrNode *map,
                                    GHashTable *seen, OrrDiags *diags);
void orr_profile_batch_attention_check(const OrrProfileBatchAttention *attention,
                                       const OrrNode *map, GHashTable *seen, OrrDiags *diags);
