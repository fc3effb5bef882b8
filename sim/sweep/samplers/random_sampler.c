/*
 * random - some of the combinations that pass the constraints, all as likely, none twice.
 *
 *   sampler: {kind: random, points: 500}
 */
#include "sim/sweep/sampler.h"

typedef struct {
  gint64 points;
} Params;

static const OrrField fields[] = {
    {.name = "points",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Params, points),
     .sentence = "How many; all, where there are fewer.",
     .fallback = "100",
     .min = 1,
     .max = 1e8},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("random", "Parameters of random sampling.", Params, fields);

static GArray *choose(const void *params, const OrrSampleSpace *space, OrrRandom *random) {
  return orr_sampler_uniform(space, (guint64)((const Params *)params)->points, random);
}

const OrrSampler orr_random_sampler = {
    .entry = {"random", "Some of the combinations that pass, all as likely, none twice.", &table},
    .choose = choose,
};
