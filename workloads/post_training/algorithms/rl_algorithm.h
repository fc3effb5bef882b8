/*
 * rl_algorithm.h - algorithms of post-training by what they compute besides rollouts and the
 * update. Which samples count, and how much, does not change what a step takes.
 *
 * To add one: write algorithms/NAME.c with one `const OrrRlAlgorithm` and its line in meson.build.
 */
#pragma once

#include "sim/base/field.h"

/* The first members of every algorithm's parameters. */
typedef struct {
  gboolean old_pass;       /* a forward of the actor for the log-probabilities before the update */
  gboolean reference_pass; /* a forward of the reference model, for the KL term */
  double filtered; /* fraction of the groups whose rewards are all equal: they are dropped */
} OrrRlPasses;

typedef struct {
  OrrEntry entry;       /* mandatory; its parameters begin with OrrRlPasses */
  gboolean has_critic;  /* a model of the actor's shape: a forward for values, and an update */
  gboolean drops_equal; /* DAPO's dynamic sampling: dropped groups are replaced */
} OrrRlAlgorithm;

#define ORR_RL_ALGORITHM_FIELDS(reference_)                                                        \
  ORR_FIELD_BOOL(OrrRlPasses, "old-log-probs", old_pass, "true",                                   \
                 "Compute the log-probabilities of the samples by a forward pass before the "      \
                 "update."),                                                                       \
      ORR_FIELD_BOOL(OrrRlPasses, "reference", reference_pass, reference_,                         \
                     "Compute a reference model's log-probabilities, for a KL term.")

extern const OrrRegistry orr_rl_algorithm_registry;
