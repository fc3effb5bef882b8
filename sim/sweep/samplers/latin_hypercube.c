/*
 * latin-hypercube - points that spread over every axis (McKay, Beckman, Conover 1979).
 *
 * A design of n points (random.h) tries every value of an axis n / values times (give or take one),
 * whatever the other axes do. Combinations that the constraints exclude, and repetitions, are
 * dropped, and further designs are added until there are n points, or 64 designs: constraints that
 * exclude nearly everything leave fewer than n points.
 *
 *   sampler: {kind: latin-hypercube, points: 200}
 */
#include "sim/base/random.h"
#include "sim/sweep/sampler.h"

typedef struct {
  gint64 points;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("latin-hypercube", "Parameters of Latin hypercube sampling.", Params,
               ORR_FIELD_INT(Params, "points", points, "100",
                             "Number of points; fewer if the constraints exclude too much.",
                             .min = 1, .max = 1e6));

#define MOST_DESIGNS 64

static GArray *choose(const void *params, const OrrSampleSpace *space, OrrRandom *random) {
  const guint n = (guint)((const Params *)params)->points;
  g_autoptr(GHashTable) known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  g_autofree guint *values = g_new(guint, (gsize)n * MAX(space->n_axes, 1));
  GArray *sample = g_array_new(FALSE, FALSE, sizeof(guint64));
  for (guint design = 0; design < MOST_DESIGNS && sample->len < n; design++) {
    orr_latin_deal(space->n_values, space->n_axes, n, values, random);
    for (guint r = 0; r < n && sample->len < n; r++) {
      const guint64 combination = orr_sampler_combination(space, values + (gsize)r * space->n_axes);
      if (!g_hash_table_add(known, g_memdup2(&combination, sizeof combination))) continue;
      if (space->passes(combination, space->user)) g_array_append_val(sample, combination);
    }
  }
  g_array_sort(sample, orr_order_uint64s);
  return sample;
}

const OrrSampler orr_latin_hypercube = {
    .entry = {"latin-hypercube", "Points that spread over the values of every axis.", &table},
    .choose = choose,
};
