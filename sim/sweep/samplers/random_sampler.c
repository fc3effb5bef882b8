/*
 * random - a uniform sample, without replacement, of the combinations that pass the constraints.
 *
 *   sampler: {kind: random, points: 500}
 */
#include "sim/sweep/sampler.h"

typedef struct {
  gint64 points;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "random", "Parameters of random sampling.", Params,
    ORR_FIELD_INT(Params, "points", points, "100",
                  "Number of points; all combinations if there are fewer.", .min = 1, .max = 1e8));

static GArray *choose(const void *params, const OrrSampleSpace *space, OrrRandom *random) {
  return orr_sampler_uniform(space, (guint64)((const Params *)params)->points, random);
}

const OrrSampler orr_random_sampler = {
    .entry = {"random", "A uniform random sample of the combinations that pass.", &table},
    .choose = choose,
};
