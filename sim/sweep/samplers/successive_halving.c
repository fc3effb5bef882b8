/*
 * successive-halving - all points cheaply, the better part again at the next rung (Jamieson,
 * Talwalkar 2016).
 *
 * Each rung lays its settings on the scenario; the best `keep` of a rung by the first objective go
 * on to the next, in order of combination. The last rung is the answer. By default there are two:
 * folded without contention (engine: ideal, fidelity: folded), which is a lower bound of the time,
 * and the scenario as it is.
 *
 *   sampler: {kind: successive-halving, points: 2000, keep: 0.25}
 *   sampler: {kind: successive-halving, rungs: [{engine: ideal, fidelity: folded}, {fidelity: folded}, {}]}
 */
#include <math.h>

#include "sim/sweep/sampler.h"

typedef struct {
  gint64 points;
  double keep;
  OrrNode *rungs;
} Params;

static const OrrField fields[] = {
    {.name = "points",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Params, points),
     .sentence = "Points of the first rung, drawn as by random; 0: all that pass.",
     .fallback = "0",
     .min = 0,
     .max = 1e8},
    {.name = "keep",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(Params, keep),
     .sentence = "Share of a rung's points that go on to the next; one at least.",
     .fallback = "25 %",
     .unit = ORR_UNIT_FRACTION,
     .min = 1e-6,
     .max = 1},
    {.name = "rungs",
     .kind = ORR_FIELD_TREE,
     .offset = offsetof(Params, rungs),
     .sentence =
         "What each rung lays on the scenario, cheapest first: a list of maps of paths and values.",
     .fallback = "[{engine: ideal, fidelity: folded}, {}]"},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("successive-halving", "Parameters of successive halving.", Params, fields);

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
    .entry = {"successive-halving", "All points cheaply, the better part again in full.", &table},
    .choose = choose,
    .n_rungs = n_rungs,
    .survivors = survivors,
    .rung = rung,
};
