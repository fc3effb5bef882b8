/*
 * inputs.h - uncertain inputs: a run is replayed with other values of the numbers that the scenario
 * marks (uncertain.h), and its results spread.
 *
 *   {value, low, high} --design--> n values of each --n replays--> results --> spreads, effects
 *
 * The design is a Latin hypercube (latin.c): each input takes the middle of each of n equally
 * probable intervals once, so that with one input the quantiles of a linear result are exact. Which
 * values meet is drawn at random: of 64 draws, the one whose inputs are least correlated.
 *
 * This is what the user does not know about the question. How far Orrery is off is another matter,
 * the band (band.h), and neither contains the other.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

typedef struct OrrInputs OrrInputs;

typedef struct {
  guint samples;                              /* replays: 2 or more */
  guint jobs;                                 /* at once; 0: one per core */
  void (*progress)(guint n_done, void *user); /* may be NULL */
  void *user;
} OrrInputsHow;

/* The number of replays where nobody says: 8, and 2 for each input. */
guint orr_inputs_samples(const OrrScenario *scenario);

/* The probabilities of a design: [r * n_inputs + i] for input i of replay r. Each input has
 * (0.5, 1.5, ... n - 0.5) / n, in the order that @seed's stream "uncertain inputs" gives. Newly
 * allocated. */
double *orr_inputs_design(guint64 seed, guint n_inputs, guint n);

/* Replays @scenario, which was read from @tree, in child processes; one that fails has no results
 * but a reason. Call it before this process makes a SimGrid engine. */
OrrInputs *orr_inputs_replay(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                             const OrrInputsHow *how);
/* Whether another seed would give another answer: requests come at random, and a standard error of
 * @outcome's means is above a tenth of the mean. FALSE in an overload, whose waits grow with the
 * run, whatever the seed. */
gboolean orr_inputs_is_chance(const OrrScenario *scenario, const OrrOutcome *outcome);

/* Replays @scenario with other seeds, as if `seed` were its only uncertain input. */
OrrInputs *orr_inputs_replay_seeds(OrrLibrary *library, const OrrNode *tree,
                                   const OrrScenario *scenario, const OrrInputsHow *how);

/* Whether these rows are of other seeds. */
gboolean orr_inputs_are_seeds(const OrrOutcome *outcome);

/* Centres the bands of @outcome on the middle of its replays with other seeds, and widens them by
 * their spread: a measurement is one draw, too. */
void orr_inputs_widen(OrrOutcome *outcome);

void orr_inputs_free(OrrInputs *inputs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrInputs, orr_inputs_free)

/* Adds to the run's @outcome its rows `uncertain_input`, `input_replay`, `input_result`,
 * `input_spread` and `input_effect`. */
void orr_inputs_add(const OrrInputs *inputs, OrrOutcome *outcome);

/* The spread of @metric ("iteration_time_s") in @outcome; NULL: it has none. */
const OrrInputSpreadRow *orr_inputs_spread(const OrrOutcome *outcome, const char *metric);
