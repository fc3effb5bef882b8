/*
 * lengths.h - distributions of the numbers of tokens of prompts and outputs.
 *
 *   constant       tokens
 *   uniform        whole numbers in [(1 - ratio) tokens, (1 + ratio) tokens], the least rounded
 *                  down and the largest up: vllm bench serve --random-range-ratio
 *                  (vllm/benchmarks/datasets/utils.py, get_sampling_params)
 *   uniform-up-to  whole numbers in [ratio tokens, tokens], the least rounded up: the option of the
 *                  same name of SGLang's bench_serving and of InferenceX's client
 *   exponential    mean tokens
 *   normal         mean tokens, standard deviation sigma * tokens
 *   lognormal      mean tokens, sigma of the logarithm
 *   percentiles    p10, p50 and p90 as published: of the logarithm, two halves of normal
 *                  distributions that meet in p50; scaled to `mean` where that is above 0
 *   named ones     quantiles of a published trace (lengths.c says which), scaled to a mean of
 *                  `tokens` where that is above 0
 *
 * A drawn length is rounded and limited to [least, most].
 */
#pragma once

#include "sim/base/field.h"
#include "sim/base/random.h"

typedef struct {
  int kind;
  gint64 tokens;
  double ratio, sigma;
  gint64 p10, p50, p90;
  double mean;         /* percentiles; 0: their own */
  gint64 least, most;  /* limits; most 0: no limit */
  gboolean is_derived; /* no document's: of other lengths, which are checked themselves */
} OrrLengths;

extern const OrrFieldTable orr_lengths_table;

gint64 orr_lengths_draw(const OrrLengths *lengths, OrrRandom *random);
double orr_lengths_mean(const OrrLengths *lengths);    /* before rounding and limits */
gint64 orr_lengths_largest(const OrrLengths *lengths); /* the largest possible length;
                                                        * G_MAXINT32: no limit */
/* Reports what is wrong, and a given mean that limits move by more than 5 %. @room: tokens that a
 * length can have at most, whatever the document says; G_MAXINT32: any. */
void orr_lengths_check(const OrrLengths *lengths, gint64 room, const char *what, OrrPlace place,
                       OrrDiags *diags);
