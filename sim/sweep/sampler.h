/*
 * sampler.h - chooses which combinations of a sweep become points.
 *
 * A sampler is a registry entry. It chooses the points among the combinations that pass the
 * constraints.
 *
 * To add one: write sim/sweep/samplers/NAME.c with one `const OrrSampler` and its line in
 * meson.build.
 */
#pragma once

#include "sim/base/field.h"
#include "sim/base/random.h"

/* The combinations that a sampler chooses from. */
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
  /* The points in order: an array of guint64. NULL: all combinations that pass are points. */
  GArray *(*choose)(const void *params, const OrrSampleSpace *space, OrrRandom *random);
} OrrSampler;

extern const OrrRegistry orr_sampler_registry;

/* The combination of one value of each axis; the first axis varies slowest. */
guint64 orr_sampler_combination(const OrrSampleSpace *space, const guint *values);

/* A uniform sample without replacement of the combinations that pass, in order; all of them if
 * there are fewer than @n. */
GArray *orr_sampler_uniform(const OrrSampleSpace *space, guint64 n, OrrRandom *random);
