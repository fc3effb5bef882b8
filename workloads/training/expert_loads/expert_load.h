/*
 * expert_load.h - how routed tokens spread over the experts of a layer, and what that makes of the
 * fullest rank.
 *
 * An entry gives each expert's share of all pairs of a token and an expert. Which experts lie
 * together on a rank is drawn from the scenario's seed, layer by layer: with E experts on ep ranks,
 * shares s_e and a permutation p of a draw,
 *
 *   rank r holds       sum of s_p(e) over e in [r E/ep, (r + 1) E/ep)
 *   fullest            mean over DRAWS draws of the fullest rank's sum, times ep: 1 where all are equal
 *
 * The step waits for the fullest rank: its tokens are multiplied, sent to it, kept by it. A token
 * has an expert once: no share is above 1 / topk (what is above goes to the others, in their
 * proportions). With a capacity C an expert takes C / E at most and drops the rest: the fullest
 * rank then has C times its balanced share at most, and less than 1 where all experts are full.
 *
 * To add one: write workloads/training/expert_loads/NAME.c with one `const OrrExpertLoadKind`, add
 * it to the array in expert_load.c and to meson.build. The family's test holds each against its
 * closed form at ep = experts.
 */
#ifndef ORR_EXPERT_LOAD_H
#define ORR_EXPERT_LOAD_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  OrrEntry entry;
  /* NULL, or why it does not fit a model of so many experts (newly allocated). */
  char *(*refuse)(const void *params, gint64 experts);
  /* Relative loads of all experts, the largest first; of any sum. */
  void (*loads)(const void *params, gint64 experts, double *ret_loads);
} OrrExpertLoadKind;

extern const OrrRegistry orr_expert_load_registry;
extern const OrrExpertLoadKind orr_expert_load_balanced, orr_expert_load_histogram,
    orr_expert_load_zipf;

typedef struct {
  gint64 experts, topk, ep;
  double capacity; /* balanced shares; 0: experts take what comes */
} OrrExpertSpread;

/* As above: 1 or more (dropless), at most the share of one expert's cap. @choice NULL or without
 * an entry: balanced. */
double orr_expert_load_fullest(const OrrChoice *choice, const OrrExpertSpread *spread,
                               guint64 seed);

G_END_DECLS

#endif
