/*
 * speculation.h - speculative decoding: a drafter proposes tokens, and one step of the engine
 * checks several.
 *
 *   step: drafts d1 .. dk of each request are computed with its last token, k + 1 tokens through
 *         the same operators
 *         d1 .. dj are what the model would have written: j + 1 tokens come out; what was cached
 *         for the others goes
 *         the guesser drafts k tokens for the next step
 *
 * Token i of a draft is accepted, given that those before it were, with the probability p_i of the
 * document (or the number of accepted tokens is drawn from a trace). Oracle: the expected tokens
 * per step (Leviathan et al. 2023, arXiv 2211.17192, equation 1) are
 *
 *   1 + p_1 + p_1 p_2 + ... + p_1 ... p_k,   for equal p   (1 - p^(k+1)) / (1 - p)
 *
 * A tree of drafts (SGLang: speculative-num-steps, -eagle-topk, -num-draft-tokens) checks all its
 * tokens in one step, and takes one path of them: at most `depth` are accepted, p_i on level i.
 *
 * Draws depend only on the seed, the request and its position in the output, not on concurrent
 * requests.
 *
 * A drafter is an entry. It states which layers draft (as a model of its own, for which drafter.h
 * computes costs as for any model), what else they need, and the host's work. To add one: write
 * workloads/serving/speculation/NAME.c with one `const OrrSpeculator` whose parameters begin with
 * OrrSpeculation and its line in meson.build.
 */
#pragma once

#include "models/model.h"

enum { ORR_MOST_DRAFTED = 128 };

/* The first members of every drafter's parameters. */
typedef struct {
  gint64 tokens; /* tokens per draft */
  /* of double: probability for token i; the last one applies to all later tokens; NULL: by the
   * trace */
  GArray *acceptance;
  char *trace;     /* a CSV with a column `accepted`, one row per check; NULL: by acceptance */
  gint64 depth;    /* levels of a tree of tokens; 0: as many as tokens, a chain */
  gint64 branches; /* tokens that each further drafting pass computes of a request */
} OrrSpeculation;

/* What drafting costs. */
typedef struct {
  /* the layers that draft; layers 0: no kernel runs. Points into other objects: do not clear it */
  OrrModel model;
  /* vectors of the hidden size that a projection joins before the layers; 0: no projection */
  gint64 joined;
  gboolean has_embedding; /* an embedding of its own, in memory; otherwise the model's */
  gboolean has_head;
  double found;           /* probability that there is a draft */
  double host_sequence_s; /* host time per sequence and step */
} OrrDraft;

typedef struct {
  OrrEntry entry;
  void (*draft)(const void *params, const OrrModel *target,
                OrrDraft *ret_draft); /* NULL: nothing is drafted */
  void (*check)(const void *params, const OrrModel *target, OrrPlace place,
                OrrDiags *diags); /* NULL: nothing to check */
} OrrSpeculator;

extern const OrrRegistry orr_speculation_registry;

/* The common parameters; 0 tokens if nothing is drafted. */
OrrSpeculation orr_speculation_of(const OrrChoice *choice);
void orr_speculation_check(const OrrChoice *choice, const OrrModel *target, OrrPlace place,
                           OrrDiags *diags);

/* Most tokens of a draft that one step accepts: the levels of its tree. */
gint64 orr_speculation_depth(const OrrSpeculation *speculation);
/* p_i of token @i, from 0. */
double orr_speculation_acceptance(const OrrSpeculation *speculation, gint64 i);
/* The oracle above, for drafts of @levels. */
double orr_speculation_expected(const OrrSpeculation *speculation, gint64 levels);

/* @target with @layers layers of kind @kind instead of its own layers, and nothing before or
 * after them. */
OrrModel orr_speculation_layers(const OrrModel *target, guint kind, gint64 layers);

#define ORR_SPECULATION_FIELDS(type_, member_)                                                     \
  ORR_FIELD_INT(type_, "num-speculative-tokens", member_.tokens, NULL,                             \
                "Tokens per draft: each decoding request computes this many more.", .min = 1,      \
                .max = ORR_MOST_DRAFTED),                                                          \
      ORR_FIELD_REALS(                                                                             \
          type_, "acceptance", member_.acceptance, ORR_UNIT_FRACTION, NULL,                        \
          "Probability that a draft's token is accepted if those before it were: one per "         \
          "position, the last one for all later positions. Give this or a trace.",                 \
          .min = 0, .max = 1, .flags = ORR_FIELD_OPTIONAL),                                        \
      ORR_FIELD_TEXT(                                                                              \
          type_, "acceptance-trace", member_.trace, NULL,                                          \
          "A CSV with a column accepted: tokens that each check of an engine accepted; rows are "  \
          "drawn uniformly.",                                                                      \
          .flags = ORR_FIELD_OPTIONAL),                                                            \
      ORR_FIELD_INT(type_, "depth", member_.depth, "0",                                            \
                    "Levels of a tree of drafts: drafting passes, and most tokens that one check " \
                    "accepts; acceptance is each level's. 0: a chain, as many as tokens.",         \
                    .flags = ORR_FIELD_UNSIGNED),                                                  \
      ORR_FIELD_INT(type_, "branches", member_.branches, "1",                                      \
                    "Tokens of a request that each drafting pass after the first computes.",       \
                    .min = 1, .max = ORR_MOST_DRAFTED)
