/*
 * speculation.h - who guesses tokens ahead, so that one step of the engine checks several
 * (speculative decoding).
 *
 *   step: drafts d1 .. dk of each request are computed beside its last token, k + 1 tokens through the same operators
 *         d1 .. dj are what the model would have written: j + 1 tokens come out; what was cached for the others goes
 *         the guesser drafts k tokens for the next step
 *
 * Whether token i of a draft is accepted, given that those before it were, has the probability p_i
 * of the document (or the number of accepted ones is drawn from a trace). Oracle, of tokens a step
 * (Leviathan et al. 2023, arXiv 2211.17192, equation 1):
 *
 *   1 + p_1 + p_1 p_2 + ... + p_1 ... p_k,   for equal p   (1 - p^(k+1)) / (1 - p)
 *
 * Draws depend on the seed, the request and its place in the output alone, not on who else runs.
 *
 * A guesser is an entry: it says which layers draft (as a model of its own, which drafter.h
 * costs like any), what else they need, and what the host does. To add one: write
 * workloads/serving/speculation/NAME.c with one `const OrrSpeculator` whose parameters begin with
 * OrrSpeculation, add it to the array in speculation.c and to meson.build.
 */
#ifndef ORR_SPECULATION_H
#define ORR_SPECULATION_H

#include "models/model.h"

G_BEGIN_DECLS

enum { ORR_MOST_DRAFTED = 16 };

/* What every guesser's parameters begin with. */
typedef struct {
  gint64 tokens; /* of a draft */
  /* of double: token i's, the last one's for all after it; NULL: by the trace */
  GArray *acceptance;
  char *trace; /* a CSV with a column `accepted`, a row a check; NULL: by acceptance */
} OrrSpeculation;

/* What drafting takes. */
typedef struct {
  /* the layers that draft; layers 0: no kernel runs. Points into others: not to be cleared */
  OrrModel model;
  /* vectors of the hidden size that a projection makes into one before them; 0: none */
  gint64 joined;
  gboolean has_embedding; /* of its own, in memory; else the model's */
  gboolean has_head;
  double found;           /* probability that there is a draft at all */
  double host_sequence_s; /* of the host, for each sequence of a step */
} OrrDraft;

typedef struct {
  OrrEntry entry;
  void (*draft)(const void *params, const OrrModel *target,
                OrrDraft *ret_draft); /* NULL: nothing is guessed */
  void (*check)(const void *params, const OrrModel *target, OrrPlace place,
                OrrDiags *diags); /* NULL: nothing to */
} OrrSpeculator;

extern const OrrRegistry orr_speculation_registry;

/* The parameters that all have; 0 tokens where nothing is guessed. */
OrrSpeculation orr_speculation_of(const OrrChoice *choice);
void orr_speculation_check(const OrrChoice *choice, const OrrModel *target, OrrPlace place,
                           OrrDiags *diags);

/* p_i of token @i, from 0. */
double orr_speculation_acceptance(const OrrSpeculation *speculation, gint64 i);
/* The oracle above, of drafts of @tokens. */
double orr_speculation_expected(const OrrSpeculation *speculation, gint64 tokens);

/* @target with @layers layers of kind @kind instead of its own, and nothing before or after
 * them. */
OrrModel orr_speculation_layers(const OrrModel *target, guint kind, gint64 layers);

#define ORR_SPECULATION_FIELDS(type_, member_)                                                     \
  {.name = "num-speculative-tokens",                                                               \
   .kind = ORR_FIELD_INT,                                                                          \
   .offset = offsetof(type_, member_.tokens),                                                      \
   .sentence = "Tokens of a draft: so many more are computed for each request that decodes.",      \
   .min = 1,                                                                                       \
   .max = ORR_MOST_DRAFTED},                                                                       \
      {.name = "acceptance",                                                                       \
       .kind = ORR_FIELD_REALS,                                                                    \
       .offset = offsetof(type_, member_.acceptance),                                              \
       .sentence = "Probability that a draft's token is accepted where those before it were: one " \
                   "for each place, the "                                                          \
                   "last one for all after it. This or a trace.",                                  \
       .unit = ORR_UNIT_FRACTION,                                                                  \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .flags = ORR_FIELD_OPTIONAL},                                                               \
  {                                                                                                \
    .name = "acceptance-trace", .kind = ORR_FIELD_TEXT, .offset = offsetof(type_, member_.trace),  \
    .sentence = "A CSV with a column accepted: how many tokens each check of an engine accepted; " \
                "drawn from evenly.",                                                              \
    .flags = ORR_FIELD_OPTIONAL                                                                    \
  }

G_END_DECLS

#endif
