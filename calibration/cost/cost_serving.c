/*
 * cost_serving.c - interpolates the measured steps of a serving engine: small kernels over tokens,
 * and one attention kernel for prompt chunks and decodes together.
 *
 * Both are interpolated linearly along their axes: within the range of a step, a kernel's time is a
 * floor plus a slope, which a line between rows follows and a power law bends. A hole in a chunk's
 * table takes the nearest smaller number of decodes; what those add to the chunk's time is scaled
 * by the number.
 *
 *   t(chunk, K, n, k)   K: mean keys of a prompt token; n decodes of k keys each
 *   t = t(mean k) + fraction(n, rate, most k) (t(most k) - t(mean k)),
 *       rate = (mean - least) / (most - least)
 *
 * The fraction comes from the authors of the measurement, who fitted it on batches of two lengths;
 * FlashAttention pads tiles and loads SMs unevenly where contexts differ.
 */
#include "calibration/cost/cost_serving.h"

#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "calibration/profile/profile_serving.h"

typedef struct {
  double chunk;
  GArray *prefill_keys, *decodes, *keys; /* of double; prefill_keys is NULL where chunk is 0 */
  double *us; /* prefill_keys x (1 + decodes) x keys: decodes 0 is the chunk alone */
} Chunk;

typedef struct {
  GArray *decodes, *rates, *longest, *shares; /* NULL: no skew */
} Skew;

struct OrrCostBatch {
  const OrrProfileBatchAttention *table;
  Chunk *chunks;
  guint n_chunks;
  Skew skew[2]; /* without and with a chunk */
};

typedef struct {
  const OrrProfileTokenKernel *row;
  GArray *tokens, *us;
} TokenKernel;

/* --- building --- */

static double at(const GArray *axis, guint i) { return g_array_index(axis, double, i); }

static void unref(GArray *array) {
  if (array) g_array_unref(array);
}

static void batch_free(gpointer data) {
  OrrCostBatch *batch = data;
  for (guint i = 0; i < batch->n_chunks; i++) {
    unref(batch->chunks[i].prefill_keys);
    unref(batch->chunks[i].decodes);
    unref(batch->chunks[i].keys);
    g_free(batch->chunks[i].us);
  }
  for (int i = 0; i < 2; i++) {
    unref(batch->skew[i].decodes);
    unref(batch->skew[i].rates);
    unref(batch->skew[i].longest);
    unref(batch->skew[i].shares);
  }
  ORR_FREE(batch->chunks, batch);
}

static void kernel_free(gpointer data) {
  TokenKernel *kernel = data;
  unref(kernel->tokens);
  unref(kernel->us);
  g_free(kernel);
}

static guint n_prefill(const Chunk *chunk) {
  return chunk->prefill_keys ? chunk->prefill_keys->len : 1;
}

static double *cell(const Chunk *chunk, guint prefill, guint decodes, guint key) {
  return &chunk->us[(prefill * (chunk->decodes->len + 1) + decodes) * chunk->keys->len + key];
}

/* Fills each hole from fewer decodes of the same number of keys. */
static void fill_holes(Chunk *chunk) {
  for (guint p = 0; p < n_prefill(chunk); p++)
    for (guint n = 1; n <= chunk->decodes->len; n++)
      for (guint k = 0; k < chunk->keys->len; k++) {
        if (!isnan(*cell(chunk, p, n, k))) continue;
        double alone = *cell(chunk, p, 0, k),
               ratio = n > 1 ? at(chunk->decodes, n - 1) / at(chunk->decodes, n - 2) : 1;
        double fewer = n > 1   ? *cell(chunk, p, n - 1, k)
                       : k > 0 ? *cell(chunk, p, n, k - 1)
                               : alone;
        *cell(chunk, p, n, k) = alone + (fewer - alone) * ratio;
      }
}

static gboolean build_chunk(const OrrProfileBatchChunk *row, Chunk *chunk, GError **error) {
  g_autoptr(GArray) alone = row->chunk > 0 ? orr_profile_numbers(row->alone, TRUE, error) : NULL;
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  chunk->chunk = (double)row->chunk;
  chunk->decodes = us ? orr_profile_numbers(row->decodes, FALSE, error) : NULL;
  chunk->keys = chunk->decodes ? orr_profile_numbers(row->keys, FALSE, error) : NULL;
  if (!chunk->keys || (row->chunk > 0 && !alone)) return FALSE;
  if (row->chunk > 0 &&
      !(chunk->prefill_keys = orr_profile_numbers(row->prefill_keys, FALSE, error)))
    return FALSE;
  guint n_decodes = chunk->decodes->len, n_keys = chunk->keys->len;
  chunk->us = g_new0(double, n_prefill(chunk) * (n_decodes + 1) * n_keys);
  for (guint p = 0; p < n_prefill(chunk); p++)
    for (guint k = 0; k < n_keys; k++) {
      double before = p > 0 ? *cell(chunk, p - 1, 0, k) : 0;
      *cell(chunk, p, 0, k) = alone ? (isnan(at(alone, p)) ? before : at(alone, p)) : 0;
      for (guint n = 0; n < n_decodes; n++)
        *cell(chunk, p, n + 1, k) = at(us, (p * n_decodes + n) * n_keys + k);
    }
  fill_holes(chunk);
  return TRUE;
}

static gboolean build_skew(const OrrProfileBatchSkew *row, Skew *skew, GError **error) {
  return (skew->decodes = orr_profile_numbers(row->decodes, FALSE, error)) != NULL &&
         (skew->rates = orr_profile_numbers(row->rates, FALSE, error)) != NULL &&
         (skew->longest = orr_profile_numbers(row->longest, FALSE, error)) != NULL &&
         (skew->shares = orr_profile_numbers(row->shares, TRUE, error)) != NULL;
}

static gboolean build_batch(OrrCostModel *model, const OrrProfileBatchAttention *table,
                            GError **error) {
  OrrCostBatch *batch = g_new0(OrrCostBatch, 1);
  g_ptr_array_add(model->batch_attention, batch);
  batch->table = table;
  batch->n_chunks = table->chunks->len;
  batch->chunks = g_new0(Chunk, batch->n_chunks);
  for (guint i = 0; i < batch->n_chunks; i++)
    if (!build_chunk(table->chunks->pdata[i], &batch->chunks[i], error)) return FALSE;
  for (guint i = 0; i < orr_profile_length(table->skew); i++) {
    const OrrProfileBatchSkew *row = table->skew->pdata[i];
    if (!build_skew(row, &batch->skew[row->with_prefill != FALSE], error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_cost_serving_build(OrrCostModel *model, const OrrProfile *profile, GError **error) {
  for (guint i = 0; i < orr_profile_length(profile->batch_attention); i++)
    if (!build_batch(model, profile->batch_attention->pdata[i], error)) return FALSE;
  for (guint i = 0; i < orr_profile_length(profile->token_kernels); i++) {
    TokenKernel *kernel = g_new0(TokenKernel, 1);
    g_ptr_array_add(model->token_kernels, kernel);
    kernel->row = profile->token_kernels->pdata[i];
    if (!(kernel->tokens = orr_profile_numbers(kernel->row->tokens, FALSE, error)) ||
        !(kernel->us = orr_profile_numbers(kernel->row->us, FALSE, error)))
      return FALSE;
  }
  return TRUE;
}

void orr_cost_serving_init(OrrCostModel *model) {
  model->batch_attention = g_ptr_array_new_with_free_func(batch_free);
  model->token_kernels = g_ptr_array_new_with_free_func(kernel_free);
}

void orr_cost_serving_clear(OrrCostModel *model) {
  if (model->batch_attention) g_ptr_array_unref(model->batch_attention);
  if (model->token_kernels) g_ptr_array_unref(model->token_kernels);
}

/* --- queries --- */

/* A place on a rising axis: @fraction of the distance from below to above; above 1 beyond the
 * last two. */
typedef struct {
  guint below, above;
  double fraction;
} Spot;

static Spot spot_on(const GArray *axis, double wanted, OrrHow *how) {
  guint low = 0, high = axis->len - 1;
  if (wanted <= at(axis, 0) || high == 0) {
    if (wanted < at(axis, 0)) *how = MAX(*how, ORR_HOW_INTERPOLATED);
    if (wanted > at(axis, 0)) *how = ORR_HOW_OUTSIDE;
    return (Spot){0, 0, 0};
  }
  if (wanted > at(axis, high)) *how = ORR_HOW_OUTSIDE;
  while (high - low > 1) {
    guint middle = (low + high) / 2;
    if (at(axis, middle) <= wanted)
      low = middle;
    else
      high = middle;
  }
  double fraction = (wanted - at(axis, low)) / (at(axis, high) - at(axis, low));
  if (fraction > 0 && fraction < 1) *how = MAX(*how, ORR_HOW_INTERPOLATED);
  return (Spot){low, high, fraction};
}

static double mix(double below, double above, double fraction) {
  return below + (above - below) * fraction;
}

/* The place on the axis of decodes, which begins with 0. */
static Spot spot_of_decodes(const Chunk *chunk, double decodes, OrrHow *how) {
  double first = at(chunk->decodes, 0);
  if (decodes < first) return (Spot){0, 1, decodes / first};
  Spot spot = spot_on(chunk->decodes, decodes, how);
  return (Spot){spot.below + 1, spot.above + 1, spot.fraction};
}

static double chunk_us(const Chunk *chunk, double prefill_keys, double decodes, double keys,
                       OrrHow *how) {
  Spot p = chunk->prefill_keys ? spot_on(chunk->prefill_keys, prefill_keys, how) : (Spot){0, 0, 0};
  Spot n = spot_of_decodes(chunk, decodes, how);
  Spot k = decodes > 0 ? spot_on(chunk->keys, keys, how) : (Spot){0, 0, 0};
  double sums[2];
  for (int i = 0; i < 2; i++) {
    guint row = i ? p.above : p.below;
    double below =
        mix(*cell(chunk, row, n.below, k.below), *cell(chunk, row, n.below, k.above), k.fraction);
    double above = n.fraction != 0 ? mix(*cell(chunk, row, n.above, k.below),
                                         *cell(chunk, row, n.above, k.above), k.fraction)
                                   : below;
    sums[i] = mix(below, above, n.fraction);
    if (p.fraction == 0) return sums[0];
  }
  return mix(sums[0], sums[1], p.fraction);
}

static double uniform_us(const OrrCostBatch *batch, const OrrBatchAttention *step, double keys,
                         OrrHow *how) {
  guint above = 0, last = batch->n_chunks - 1;
  while (above < last && batch->chunks[above].chunk < step->chunk) above++;
  if (step->chunk > batch->chunks[last].chunk) *how = ORR_HOW_OUTSIDE;
  guint below = above > 0 && batch->chunks[above].chunk != step->chunk ? above - 1 : above;
  double top = chunk_us(&batch->chunks[above], step->chunk_keys, step->decodes, keys, how);
  if (below == above) return top;
  *how = MAX(*how, ORR_HOW_INTERPOLATED);
  double base = batch->chunks[below].chunk == 0 && step->decodes <= 0
                    ? 0
                    : chunk_us(&batch->chunks[below], step->chunk_keys, step->decodes, keys, how);
  double span = batch->chunks[above].chunk - batch->chunks[below].chunk;
  return mix(base, top, (step->chunk - batch->chunks[below].chunk) / span);
}

static guint first_not_below(const GArray *axis, double wanted) {
  guint i = 0;
  while (i + 1 < axis->len && at(axis, i) < wanted) i++;
  return i;
}

static double skew_fraction(const Skew *skew, double decodes, double rate, double longest) {
  if (!skew->shares) return 0;
  guint row = first_not_below(skew->decodes, decodes) * skew->rates->len +
              first_not_below(skew->rates, rate);
  double fraction =
      at(skew->shares, row * skew->longest->len + first_not_below(skew->longest, longest));
  return isnan(fraction) ? 0 : fraction;
}

const OrrCostBatch *orr_cost_batch_find(const OrrCostModel *model, const OrrBatchAttention *of) {
  ORR_EACH_POINTER(const OrrCostBatch, batch, model->batch_attention) {
    const OrrProfileBatchAttention *table = batch->table;
    if (table->dtype == (int)of->dtype && table->kv_dtype == (int)of->kv_dtype &&
        table->heads == of->heads && table->kv_heads == of->kv_heads &&
        table->head_dim == of->head_dim)
      return batch;
  }
  return NULL;
}

OrrCost orr_cost_batch_attention(const OrrCostModel *model, const OrrCostBatch *batch,
                                 const OrrBatchAttention *step) {
  OrrHow how = ORR_HOW_MEASURED;
  if (step->chunk <= 0 && step->decodes <= 0) return (OrrCost){0, ORR_HOW_MODELLED};
  double us = uniform_us(batch, step, step->keys_mean, &how);
  if (step->decodes > 1 && step->keys_most > step->keys_least) {
    double rate = (step->keys_mean - step->keys_least) / (step->keys_most - step->keys_least);
    double fraction =
        skew_fraction(&batch->skew[step->chunk > 0], step->decodes, rate, step->keys_most);
    if (fraction > 0) us += fraction * (uniform_us(batch, step, step->keys_most, &how) - us);
  }
  return orr_cost_scaled(model, (OrrCost){us * 1e-6, how});
}

OrrCost orr_cost_serving_attention_over(const OrrCostModel *model, const OrrOperator *op,
                                        OrrDtype kv_dtype) {
  return orr_cost_scaled(model, orr_cost_attention(model, op, kv_dtype));
}

gboolean orr_cost_serving_token_kernel(const OrrCostModel *model, const char *operator_name,
                                       double tokens, double width, OrrCost *ret_cost) {
  const TokenKernel *best = NULL;
  ORR_EACH_POINTER(const TokenKernel, kernel, model->token_kernels) {
    if (strcmp(kernel->row->operator_name, operator_name) != 0) continue;
    if (!best ||
        fabs(log((double)kernel->row->width / width)) < fabs(log((double)best->row->width / width)))
      best = kernel;
  }
  if (!best || tokens <= 0) return FALSE;
  OrrHow how = ORR_HOW_MEASURED;
  Spot spot = spot_on(best->tokens, tokens * width / (double)best->row->width, &how);
  if ((double)best->row->width != width) how = ORR_HOW_MODELLED;
  double us = mix(at(best->us, spot.below), at(best->us, spot.above), spot.fraction);
  *ret_cost = orr_cost_scaled(model, (OrrCost){us * 1e-6, how});
  return TRUE;
}
