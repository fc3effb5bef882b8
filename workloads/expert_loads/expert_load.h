/*
 * expert_load.h - distribution of routed tokens over the experts of a layer, and the load of the
 * fullest rank that follows.
 *
 * An entry gives each expert's fraction of all pairs of a token and an expert. The scenario's seed
 * draws, layer by layer, which experts share a rank. With E experts on ep ranks, fractions s_e and
 * a random permutation p,
 *
 *   rank r holds       sum of s_p(e) over e in [r E/ep, (r + 1) E/ep)
 *   fullest            mean over DRAWS draws of the fullest rank's sum, times ep: 1 where all are
 *                      equal
 *
 *
 * Redundant experts are further slots, E + R in all, as many on each rank. They are dealt out one
 * by one, each as another copy of the expert whose copies have the most; the copies of an expert
 * share its tokens equally. Packed placement knows the loads (DeepSeek's EPLB, eplb.py:
 * replicate_experts and balanced_packing; TensorRT-LLM's balancers have the same two steps): the
 * largest slot first, to the emptiest rank that has room.
 *
 * Loads drift: a plan is of some age. The loads as a set stay; which expert has which changes. Each
 * expert has a normal variable whose order gives the experts their loads, and whose correlation
 * between two times decays,
 *
 *   x(t + a) = r x(t) + sqrt(1 - r^2) z,   r = exp(-a / drift)
 *
 * A plan packs x(t), and serves until the next one, `aging` drift times later. The fullest rank is
 * the mean over plans and over their ages; at r = 1 the packed one, at r = 0 a drawn one.
 *
 * A histogram may have counts of each layer: each layer waits for a rank of its own, so the mean
 * over layers answers (exact where experts' time grows in proportion to their tokens).
 *
 * The step waits for the fullest rank, which multiplies, receives and stores the most tokens. A
 * token chooses an expert at most once, so no fraction exceeds 1 / topk (the excess goes to the
 * other experts in proportion, or evenly where these have none). With a capacity C an expert takes
 * at most C / E and drops the rest: the fullest rank then has at most C times its balanced load,
 * and less than 1 if all experts are full.
 *
 * To add one: write workloads/expert_loads/NAME.c with one `const OrrExpertLoadKind` and
 * its line in meson.build. The family's test holds each against its closed form at ep = experts.
 */
#pragma once

#include "sim/base/field.h"

typedef struct {
  OrrEntry entry;
  gboolean is_even; /* every expert has as much */
  /* Mandatory: loads. Other functions may be NULL. */
  /* NULL, or why it does not fit a model with this number of experts (newly allocated). */
  char *(*refuse)(const void *params, gint64 experts);
  /* Relative loads of all experts, in any order; their sum is arbitrary. @layer < n_layers. */
  void (*loads)(const void *params, gint64 experts, guint layer, double *ret_loads);
  guint (*n_layers)(const void *params, gint64 experts); /* NULL: one load for all layers */
} OrrExpertLoadKind;

extern const OrrRegistry orr_expert_load_registry;

typedef struct {
  gint64 experts, topk, ep;
  double capacity;  /* in multiples of the balanced load; 0: no limit */
  gint64 redundant; /* copies beyond one per expert; experts + redundant are a multiple of ep */
  gboolean packed;  /* by load; FALSE: drawn */
  double aging;     /* packed: time from a plan to the next, in drift times; 0: it always knows */
} OrrExpertSpread;

/* The load of the fullest rank as above: 1 or more (dropless), at most the fraction at one
 * expert's cap. @choice NULL or without an entry: balanced. */
double orr_expert_load_fullest(const OrrChoice *choice, const OrrExpertSpread *spread,
                               guint64 seed);

/* Slots of a layer whose weights the rank with most of them receives at a new plan, mean: it lacks
 * their experts. 0 unless packed with an aging. */
double orr_expert_load_moved(const OrrChoice *choice, const OrrExpertSpread *spread, guint64 seed);
