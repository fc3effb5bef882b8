/*
 * sampler.h - which combinations of a sweep become points.
 *
 * A sampler is an entry: it chooses the points of the first rung among the combinations that pass
 * the constraints. Those that go by rungs (successive halving) then say how many of a rung go on to
 * the next, and what each rung lays on the scenario.
 *
 * To add one: write sim/sweep/samplers/NAME.c with one `const OrrSampler`, add it to the array in
 * sampler.c and to meson.build.
 */
#ifndef ORR_SAMPLER_H
#define ORR_SAMPLER_H

#include "sim/base/field.h"
#include "sim/base/random.h"

G_BEGIN_DECLS

/* What a sampler chooses from. */
typedef struct {
  guint n_axes;
  const guint *n_values; /* of each axis */
  gboolean (*passes)(guint64 combination,
                     void *user); /* the constraints; counts what it excludes */
  gboolean (*next)(guint64 *ret_combination,
                   void *user); /* passing ones in order; FALSE: no more */
  void *user;
} OrrSampleSpace;

typedef struct {
  OrrEntry entry;
  /* The points of the first rung in order: GArray of guint64. NULL: all that pass (choose is
   * NULL). */
  GArray *(*choose)(const void *params, const OrrSampleSpace *space, OrrRandom *random);
  /* By rungs; NULL: there is one. */
  guint (*n_rungs)(const void *params);
  guint64 (*survivors)(const void *params, guint64 n); /* of a rung of n points */
  const OrrNode *(*rung)(const void *params,
                         guint rung); /* paths and values; NULL: the scenario as it is */
} OrrSampler;

extern const OrrRegistry orr_sampler_registry;
extern const OrrSampler orr_grid_sampler, orr_latin_hypercube, orr_random_sampler,
    orr_successive_halving;

/* The combination of one value of each axis; the first axis varies slowest. */
guint64 orr_sampler_combination(const OrrSampleSpace *space, const guint *values);

/* A uniform sample without replacement of what passes, in order of combination: all where @n is
 * more than there are. */
GArray *orr_sampler_uniform(const OrrSampleSpace *space, guint64 n, OrrRandom *random);

G_END_DECLS

#endif
