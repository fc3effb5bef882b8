/*
 * sampler.c - the uniform sample that several samplers use.
 */
#include "sim/sweep/sampler.h"

guint64 orr_sampler_combination(const OrrSampleSpace *space, const guint *values) {
  guint64 combination = 0;
  for (guint a = 0; a < space->n_axes; a++)
    combination = combination * space->n_values[a] + values[a];
  return combination;
}

/* Reservoir sampling (Vitter 1985, algorithm R): reads the combinations once and keeps only the
 * sample. */
GArray *orr_sampler_uniform(const OrrSampleSpace *space, guint64 n, OrrRandom *random) {
  GArray *sample = g_array_new(FALSE, FALSE, sizeof(guint64));
  guint64 combination;
  for (guint64 seen = 0; space->next(&combination, space->user); seen++) {
    if (seen < n) {
      g_array_append_val(sample, combination);
      continue;
    }
    const guint64 at = orr_random_below(random, seen + 1);
    if (at < n) g_array_index(sample, guint64, at) = combination;
  }
  g_array_sort(sample, orr_order_uint64s);
  return sample;
}
