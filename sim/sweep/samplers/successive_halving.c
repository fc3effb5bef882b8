/*
 * successive-halving - simulates all points cheaply, and the best of them again in more detail
 * (Jamieson, Talwalkar 2016).
 *
 * Each rung changes the scenario by its settings. The best fraction `keep` of a rung, by the first
 * objective, reaches the next rung, in order of combination. The last rung has the result. By
 * default there are two rungs: folded without contention (engine: ideal, fidelity: folded), which
 * gives a lower bound of the time, and the unchanged scenario.
 *
 *   sampler: {kind: successive-halving, points: 2000, keep: 0.25}
 *   sampler: {kind: successive-halving,
 *             rungs: [{engine: ideal, fidelity: folded}, {fidelity: folded}, {}]}
 */
#include "sim/sweep/sampler.h"

typedef struct {
  gint64 points;
  double keep;
  OrrNode *rungs;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "successive-halving", "Parameters of successive halving.", Params,
    ORR_FIELD_INT(Params, "points", points, "0",
                  "Number of points of the first rung, a random sample; 0: all that pass.",
                  .min = 0, .max = 1e8),
    ORR_FIELD_REAL(Params, "keep", keep, ORR_UNIT_FRACTION, "25 %",
                   "Fraction of a rung's points that reach the next rung; at least one point does.",
                   .min = 1e-6, .max = 1),
    ORR_FIELD_TREE(
        Params, "rungs", rungs, "[{engine: ideal, fidelity: folded}, {}]",
        "The settings of each rung, cheapest first: a list of maps of paths and values."));

static GArray *choose(const void *params, const OrrSampleSpace *space, OrrRandom *random) {
  const Params *p = params;
  return orr_sampler_uniform(space, p->points ? (guint64)p->points : G_MAXUINT64, random);
}

static guint n_rungs(const void *params) {
  return MAX(orr_node_length(((const Params *)params)->rungs), 1);
}

static guint64 survivors(const void *params, guint64 n) {
  return n == 0 ? 0 : MAX((guint64)ceil(((const Params *)params)->keep * (double)n - 1e-9), 1);
}

static const OrrNode *rung(const void *params, guint i) {
  const OrrNode *rungs = ((const Params *)params)->rungs;
  return i < orr_node_length(rungs) ? rungs->items->pdata[i] : NULL;
}

const OrrSampler orr_successive_halving = {
    .entry = {"successive-halving", "All points cheaply, then the best of them in full.", &table},
    .choose = choose,
    .n_rungs = n_rungs,
    .survivors = survivors,
    .rung = rung,
};
