/*
 * family_attention_decode.c - fused attention of one new token per sequence over its cache, through
 * cuDNN.
 *
 * Each of `batch` sequences has `length` cached tokens with `spread` even. With mixed, sequence i
 * has between 1/batch and all of that length, as in a batch in service (cuDNN's padding mask,
 * lengths on the device). FLOPs 2 batch heads length (head-dim + v-dim); bytes: the keys and values
 * in use.
 *
 * Exported to attention_decode.csv if even and v-dim = head-dim; there the context length is isl +
 * step.
 */
#include "calibration/measure/family.h"

static const char *const dtypes[] = {"fp16", "bf16", NULL};
static const char *const spreads[] = {"even", "mixed", NULL};

static const OrrShapeColumn columns[] = {
    {"dtype", dtypes, TRUE}, {"spread", spreads, TRUE}, {"head-dim", NULL, TRUE},
    {"v-dim", NULL, TRUE},   {"heads", NULL, FALSE},    {"kv-heads", NULL, FALSE},
    {"batch", NULL, FALSE},  {"length", NULL, FALSE},   {NULL, NULL, FALSE}};

static const gint64 dims[][2] = {{128, 128}, {64, 64}, {192, 128}, {256, 256}};
static const gint64 heads[] = {4, 8, 16, 32, 64, 128};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (guint d = 0; d < G_N_ELEMENTS(dims); d++)
    for (int spread = 0; spread < (d == 0 ? 2 : 1); spread++)
      for (guint h = 0; h < G_N_ELEMENTS(heads); h++)
        for (gint64 group = 1; group <= 8; group *= 2)
          for (gint64 batch = 1; batch <= 1024; batch *= 2)
            for (gint64 length = 2; length <= 131072; length *= 4) {
              const gint64 values[] = {1,        spread,           dims[d][0], dims[d][1],
                                       heads[h], heads[h] / group, batch,      length};
              if (heads[h] >= group && (spread == 0 || batch > 1))
                orr_family_add(family, shapes, values);
            }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double batch = shape->at[6], both = (double)shape->at[2] + shape->at[3];
  const double share = shape->at[1] ? (batch + 1) / (2 * batch) : 1;
  const double tokens = batch * shape->at[7] * share;
  return (OrrShapeWork){.flops = 2 * shape->at[4] * tokens * both,
                        .bytes = 2 * both * (tokens * shape->at[5] + batch * shape->at[4]),
                        .dtype = shape->at[0] ? ORR_BF16 : ORR_FP16};
}

static gboolean line(const OrrShape *shape, const OrrMeasureRow *row, GString *text) {
  if (shape->at[1] || shape->at[2] != shape->at[3]) return FALSE;
  const char *dtype = shape->at[0] ? "bfloat16" : "float16";
  g_string_append_printf(text, "%s,%s,%d,%d,1,%d,%d,%d,0,%.6g\n", dtype, dtype, (int)shape->at[6],
                         (int)shape->at[7] - 1, (int)shape->at[4], (int)shape->at[5],
                         (int)shape->at[2], row->median_us);
  return TRUE;
}

static const OrrMeasureTable tables[] = {{"attention_decode.csv",
                                          "attn_dtype,kv_cache_dtype,batch_size,isl,step,num_heads,"
                                          "num_key_value_heads,head_dim,window_size,latency_us",
                                          line},
                                         {NULL, NULL, NULL}};

const OrrMeasureFamily orr_family_attention_decode = {
    .entry = {"attention-decode",
              "Fused attention of one token a sequence over its cache, by cuDNN.", NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work,
    .tables = tables};
