/*
 * family_attention_prefill.c - fused attention over whole prompts through cuDNN: forward and
 * backward, causal or not, over a cached prefix, with grouped queries.
 *
 * `length` new tokens attend to `prefix` cached tokens and to each other; causal masks are aligned
 * to the bottom right. With pairs = length * prefix + length (length + 1) / 2 under the mask
 * (length (prefix + length) without), FLOPs are 2 batch heads pairs (head-dim + v-dim), and 2.5
 * times as many backward (five products instead of two; Dao 2023, FlashAttention-2, section 3.1.2).
 * Bytes: q, k, v and the output once; backward, those and their gradients.
 *
 * Exported to attention_prefill.csv if forward, causal, without prefix and v-dim = head-dim.
 */
#include "calibration/measure/family.h"

static const char *const dtypes[] = {"fp16", "bf16", NULL};
static const char *const passes[] = {"forward", "backward", NULL};
static const char *const masks[] = {"causal", "full", NULL};

static const OrrShapeColumn columns[] = {
    {"dtype", dtypes, TRUE},  {"pass", passes, TRUE},    {"mask", masks, TRUE},
    {"head-dim", NULL, TRUE}, {"v-dim", NULL, TRUE},     {"prefix", NULL, TRUE},
    {"heads", NULL, FALSE},   {"kv-heads", NULL, FALSE}, {"batch", NULL, FALSE},
    {"length", NULL, FALSE},  {NULL, NULL, FALSE}};

static const gint64 dims[][2] = {{128, 128}, {64, 64}, {192, 128}, {256, 256}};
static const gint64 heads[] = {4, 8, 16, 32, 64, 128};
static const gint64 batches[] = {1, 2, 4, 8, 16, 32};
static const gint64 lengths[] = {16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
static const gint64 prefixes[] = {0, 4096, 32768};

static void plan_heads(const OrrMeasureFamily *family, GArray *shapes, gint64 *values) {
  for (guint h = 0; h < G_N_ELEMENTS(heads); h++)
    for (gint64 group = 1; group <= 8; group *= 2) /* query heads for each key-value head */
      for (guint b = 0; b < G_N_ELEMENTS(batches) && heads[h] >= group; b++)
        for (guint l = 0; l < G_N_ELEMENTS(lengths); l++) {
          values[6] = heads[h], values[7] = heads[h] / group, values[8] = batches[b],
          values[9] = lengths[l];
          if (batches[b] * lengths[l] <= 131072) orr_family_add(family, shapes, values);
        }
}

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (guint d = 0; d < G_N_ELEMENTS(dims); d++)
    for (int pass = 0; pass < 2; pass++)
      for (int mask = 0; mask < 2; mask++)
        for (guint p = 0; p < G_N_ELEMENTS(prefixes); p++) {
          gint64 values[ORR_SHAPE_COLUMNS] = {1, pass, mask, dims[d][0], dims[d][1], prefixes[p]};
          gboolean is_asked = prefixes[p] == 0 || (pass == 0 && mask == 0 && d == 0);
          if (is_asked && (mask == 0 || d == 0)) plan_heads(family, shapes, values);
        }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double length = shape->at[9], prefix = shape->at[5],
               both = (double)shape->at[3] + shape->at[4];
  const double pairs =
      length * prefix + (shape->at[2] == 0 ? length * (length + 1) / 2 : length * length);
  const double batch = shape->at[8], backward = shape->at[1];
  const double elements = batch * both * (shape->at[6] * length + shape->at[7] * (length + prefix));
  return (OrrShapeWork){.flops = 2 * batch * shape->at[6] * pairs * both * (backward ? 2.5 : 1),
                        .bytes = 2 * elements * (backward ? 2 : 1),
                        .dtype = shape->at[0] ? ORR_BF16 : ORR_FP16};
}

static gboolean line(const OrrShape *shape, const OrrMeasureRow *row, GString *text) {
  if (shape->at[1] || shape->at[2] || shape->at[3] != shape->at[4] || shape->at[5]) return FALSE;
  const char *dtype = shape->at[0] ? "bfloat16" : "float16";
  g_string_append_printf(text, "%s,%s,%d,%d,%d,%d,%d,0,%.6g\n", dtype, dtype, (int)shape->at[8],
                         (int)shape->at[9], (int)shape->at[6], (int)shape->at[7], (int)shape->at[3],
                         row->median_us);
  return TRUE;
}

static const OrrMeasureTable tables[] = {{"attention_prefill.csv",
                                          "attn_dtype,kv_cache_dtype,batch_size,isl,num_heads,num_"
                                          "key_value_heads,head_dim,window_size,latency_us",
                                          line},
                                         {NULL, NULL, NULL}};

const OrrMeasureFamily orr_family_attention_prefill = {
    .entry = {"attention-prefill",
              "Fused attention over prompts through cuDNN: forward, backward, cached prefix.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work,
    .tables = tables};
