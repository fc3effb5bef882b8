/*
 * serving_batches.c - a step of two half-batches: while one exchanges its experts' tokens, the
 * other computes (SGLang's two-batch overlap; vLLM's dual batch overlap, docs/design/dbo.md).
 *
 *   compute    | a1 | a2 | e1 | e2 | a1 | a2 |      a: a layer up to its router
 *   exchange        | d1 | d2 | c1 | c2 |           d: tokens to their experts   e: the experts
 *                                                   c: the results
 *
 * The kernels of both halves share one stream, and the exchanges another; each takes its work in
 * this order. Where every exchange fits under the other half's kernels (d, c <= a, e), L layers
 * take
 *
 *   2 L (a + e) + c            instead of 2 L (a + d + e + c) one half after the other
 *
 * and where exchanges are the longer ones (d = c >= a, e), a + 4 L d. A half computes what a batch
 * of half the size does, so weights are read twice. Kernels that exchange tokens hold
 * multiprocessors (`held`), which the other half's kernels do without: theirs take sms / (sms -
 * held) as long, an assumption that holds for products. Low-latency kernels hand their tokens to
 * the NICs and hold none.
 */
#include "workloads/serving/cost/serving_cost_private.h"

#include "workloads/serving/cost/serving_joules.h"

enum { MOST_MICRO_BATCHES = 64 };

OrrStepShape orr_serving_batches_share(const OrrStepShape *shape, double m) {
  OrrStepShape share = *shape;
  const double decoded = shape->tokens - shape->chunk;
  share.chunk /= m;
  share.chunk_key_sum /= m;
  share.chunk_pairs /= m;
  share.n_chunks = (guint)ceil(shape->n_chunks / m);
  share.decodes = (guint)ceil(shape->decodes / m);
  share.sequences = (guint)ceil(shape->sequences / m);
  share.logits = (guint)ceil(shape->logits / m);
  share.images = (guint)ceil(shape->images / m);
  share.candidates = (guint)ceil(shape->candidates / m);
  if (shape->decodes > 0) {
    share.tokens = share.chunk + decoded * share.decodes / shape->decodes;
    share.key_sum = shape->key_sum * share.decodes / shape->decodes;
  } else {
    share.tokens = share.chunk;
  }
  return share;
}

double orr_serving_batches_stages_s(const OrrPoolStage *layers, guint n, guint micro_batches,
                                    gboolean is_shared) {
  enum { ATTENTION, OUT, FEED, BACK, N };
  const guint user[N] = {ATTENTION, OUT, is_shared ? ATTENTION : FEED, is_shared ? OUT : BACK};
  double free_s[N] = {0};                 /* when each is free */
  double ready[MOST_MICRO_BATCHES] = {0}; /* when each micro-batch can go on */
  double last = 0;
  const guint m = MIN(micro_batches, MOST_MICRO_BATCHES);
  for (guint l = 0; l < n; l++)
    for (guint stage = 0; stage < (layers[l].feed_s > 0 ? N : OUT); stage++)
      for (guint i = 0; i < m; i++) {
        const double times_s[N] = {layers[l].attention_s, layers[l].out_s, layers[l].feed_s,
                                   layers[l].back_s};
        double *free = &free_s[user[stage]];
        *free = ready[i] = fmax(*free, ready[i]) + times_s[stage];
        last = fmax(last, ready[i]);
      }
  return last;
}

static gboolean is_split(const OrrServingCost *cost, const OrrStepShape *shape) {
  const OrrTwoBatches *two = &cost->params.two_batches;
  const gint64 least = shape->chunk > 0 ? two->prompts : two->decodes;
  return least > 0 && shape->tokens >= (double)MAX(least, 2) && cost->params.shard.dp > 1 &&
         cost->params.world->model->moe.experts > 0;
}

/* How much longer kernels take without the multiprocessors that exchange the tokens of @share. */
static double slowdown(const OrrServingCost *cost, const OrrStepShape *share) {
  const double sms = (double)cost->params.world->cluster->device.sms,
               held = (double)cost->params.two_batches.held;
  const gint64 tokens = (gint64)ceil(share->group_tokens / (double)cost->params.shard.dp);
  if (held >= sms || !orr_serving_collectives_hold(&cost->params, tokens)) return 1;
  return sms / (sms - held);
}

/* Of the last step of @cost, a half: two of them, its kernels slower by @slower. */
static double two_halves_s(const OrrServingCost *cost, double kernels_s, double slower) {
  const gint64 n = cost->params.world->model->layers;
  g_autofree OrrPoolStage *stages = g_new(OrrPoolStage, n + 1);
  double layers_s = 0;
  for (gint64 l = 0; l < n; l++) {
    stages[l] = orr_serving_cost_stage(cost, l);
    layers_s += orr_serving_cost_layer_s(cost, l);
    stages[l].attention_s *= slower;
    stages[l].feed_s *= slower;
  }
  stages[n] = (OrrPoolStage){.attention_s = fmax(kernels_s - layers_s, 0)};
  return orr_serving_batches_stages_s(stages, (guint)n + 1, 2, TRUE);
}

OrrStepTime orr_serving_cost_step(OrrServingCost *cost, const OrrStepShape *shape) {
  if (!is_split(cost, shape)) return orr_serving_cost_whole(cost, shape);
  OrrStepShape share = orr_serving_batches_share(shape, 2);
  share.group_tokens = fmax(ceil(shape->group_tokens / 2), share.tokens);
  OrrStepTime time = orr_serving_cost_whole(cost, &share);
  const OrrStepTime other = orr_serving_cost_whole(cost, &share);
  const double kernels_s = cost->kernels_s, all_s = time.gpu_s + other.gpu_s;
  /* power limits and launches stretch halves as they stretch whole steps */
  const double stretch = kernels_s > 0 ? time.gpu_s / fmax(kernels_s, cost->launches_s) : 1;
  const double step_s =
      stretch * fmax(two_halves_s(cost, kernels_s, slowdown(cost, &share)), 2 * cost->launches_s);
  cost->parts.gpu_s += step_s - all_s;
  cost->parts.experts_s += step_s - all_s;
  time.comm_s = fmax(step_s - (all_s - time.comm_s - other.comm_s), 0);
  time.gpu_s = time.stage_s = step_s;
  time.attention_s += other.attention_s;
  orr_joules_add(&time.joules, other.joules, 1);
  return time;
}
