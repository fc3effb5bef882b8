/*
 * family_attention_mixed.c - fused attention of a batch of a server with chunked prefill, through
 * cuDNN: one chunk of a prompt over its cached prefix, together with decodes of many lengths.
 *
 *   together   one kernel over all sequences, each with its own rows and keys (cuDNN's padding mask
 *              and a causal mask aligned to each sequence's end): what FlashAttention's varlen call
 *              is
 *   apart      a kernel for the chunk, then one for the decodes: what engines with two wrappers do
 *              (FlashInfer)
 *
 * Of `decodes` sequences the i-th has i / decodes of `length` cached tokens. With pairs = chunk
 * prefix + chunk (chunk + 1) / 2 + length (decodes + 1) / 2, FLOPs are 4 heads pairs head-dim;
 * bytes: keys and values in use, queries and outputs.
 *
 * In addition to attention-prefill and attention-decode it shows whether a mixed batch takes the
 * sum of its parts or less. Exported to attention_mixed.csv with these columns.
 */
#include "calibration/measure/family.h"

static const char *const dtypes[] = {"fp16", "bf16", NULL};
static const char *const ways[] = {"together", "apart", NULL};

static const OrrShapeColumn columns[] = {{"dtype", dtypes, TRUE},  {"way", ways, TRUE},
                                         {"head-dim", NULL, TRUE}, {"heads", NULL, TRUE},
                                         {"kv-heads", NULL, TRUE}, {"chunk", NULL, FALSE},
                                         {"prefix", NULL, FALSE},  {"decodes", NULL, FALSE},
                                         {"length", NULL, FALSE},  {NULL, NULL, FALSE}};
enum { DTYPE, WAY, HEAD_DIM, HEADS, KV_HEADS, CHUNK, PREFIX, DECODES, LENGTH };

/* Llama 3 8B and 70B on one GPU and on eight GPUs, and multi-head attention. */
static const gint64 heads[][2] = {{32, 8}, {64, 8}, {8, 1}, {32, 32}};
static const gint64 prefixes[] = {0, 2048, 8192, 32768};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (guint h = 0; h < G_N_ELEMENTS(heads); h++)
    for (int way = 0; ways[way]; way++)
      for (gint64 chunk = 128; chunk <= 8192; chunk *= 2)
        for (guint p = 0; p < G_N_ELEMENTS(prefixes); p++)
          for (gint64 decodes = 1; decodes <= 256; decodes *= 4)
            for (gint64 length = 512; length <= 32768; length *= 4) {
              const gint64 values[] = {1,     way,         128,     heads[h][0], heads[h][1],
                                       chunk, prefixes[p], decodes, length};
              orr_family_add(family, shapes, values);
            }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double chunk = shape->at[CHUNK], prefix = shape->at[PREFIX], decodes = shape->at[DECODES];
  const double cached = shape->at[LENGTH] * (decodes + 1) / 2, dim = shape->at[HEAD_DIM];
  const double pairs = chunk * prefix + chunk * (chunk + 1) / 2 + cached;
  const double elements =
      2 * dim *
      (shape->at[HEADS] * (chunk + decodes) + shape->at[KV_HEADS] * (prefix + chunk + cached));
  return (OrrShapeWork){.flops = 4 * shape->at[HEADS] * pairs * dim,
                        .bytes = 2 * elements,
                        .dtype = shape->at[DTYPE] ? ORR_BF16 : ORR_FP16};
}

const OrrMeasureFamily orr_family_attention_mixed = {
    .entry = {"attention-mixed",
              "Fused attention of a prompt's chunk and decodes, in one kernel and in two.", NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work};
