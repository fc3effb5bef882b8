/*
 * serving_keys.c - how many keys the decodes of a step see, in a layer of some kind.
 *
 *   keys   ^                                  all layers: x tokens
 *          |            /                     window W:   min(x, W)
 *   W  ----|-----/|----/|----                 chunks W:   (x - 1) mod W + 1, a sawtooth: a token
 *          |    / |   / |                                 sees those before it in its own chunk
 *          +----------------> x
 *
 * Decodes in different chunks are taken as spread evenly from the shortest to the longest one.
 */
#include "workloads/serving/cost/serving_cost_private.h"

/* The integral of the sawtooth from 0 to @x. */
static double sawtooth(double x, double w) {
  const double chunks = floor(x / w), rest = x - chunks * w;
  return (chunks * w * w + rest * rest) / 2;
}

static double chunk_mean(double mean, double least, double most, double w) {
  const double first = floor((least - 1) / w), last = floor((most - 1) / w);
  if (first >= last) return mean - first * w;
  return fmax(1, (sawtooth(most, w) - sawtooth(least, w)) / (most - least));
}

double orr_serving_keys_mean(const Kind *kind, const OrrModel *model, const OrrStepShape *shape) {
  const double all = shape->decodes ? shape->key_sum / shape->decodes : 0;
  const double window = (double)kind->heads.window;
  if (kind->source > 0) return (double)kind->source;
  if (window <= 0 || all <= 0) return all;
  if (model->window.chunked)
    return chunk_mean(all, fmin(fmax(shape->keys_least, 1), all), fmax(shape->keys_most, all),
                      window);
  return fmin(all, window);
}

double orr_serving_keys_history(const Kind *kind, const OrrModel *model, double history) {
  const double window = (double)kind->heads.window;
  return model->window.chunked ? fmod(history, window) : fmin(history, window);
}
