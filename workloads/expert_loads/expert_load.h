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
 * largest slot first, to the emptiest rank that has room. The plan is taken to know the loads
 * exactly and to keep up.
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
  /* Relative loads of all experts, the largest first; their sum is arbitrary. */
  void (*loads)(const void *params, gint64 experts, double *ret_loads);
} OrrExpertLoadKind;

extern const OrrRegistry orr_expert_load_registry;

typedef struct {
  gint64 experts, topk, ep;
  double capacity;  /* in multiples of the balanced load; 0: no limit */
  gint64 redundant; /* copies beyond one per expert; experts + redundant are a multiple of ep */
  gboolean packed;  /* by load; FALSE: drawn */
} OrrExpertSpread;

/* The load of the fullest rank as above: 1 or more (dropless), at most the fraction at one
 * expert's cap. @choice NULL or without an entry: balanced. */
double orr_expert_load_fullest(const OrrChoice *choice, const OrrExpertSpread *spread,
                               guint64 seed);
