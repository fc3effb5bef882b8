/*
 * validate_choices.h - what choosing by the upper end of a band is worth: several measured rows
 * answer one question, and a planner takes the best of them that meets a bound.
 *
 *   serving   rows of one set, model, device, software and lengths, in closed loops; the most
 *             output per GPU with a time to the first token, or between tokens, of at most the
 *             bound. The output is clients x tokens / (ttft + (tokens - 1) tpot), measured or
 *             simulated
 *   training  rows of one set, model, device, software and sequence; the fewest GPUs that reach a
 *             part of the rate of the fastest measured row
 *
 * The point takes a row that meets the bound as simulated; the upper end one whose 80 % band meets
 * it. Either choice breaks the bound where the row it takes was measured to miss it. Questions
 * whose rows all meet the bound, or that have one row, choose nothing and do not count.
 */
#pragma once

#include "sim/validate/validate_bands.h"

typedef struct {
  const char *name;       /* "tpot 15 ms" */
  guint n_point, n_upper; /* choices; fewer by the upper end: no row's band may meet the bound */
  guint broken_point, broken_upper;
  double kept; /* the worth, measured, of choices by the upper end over the point's; NAN: none */
} OrrChoices;

/* Of OrrChoices: a line for each bound, then one for each kind of bound. */
GArray *orr_validate_choices_new(const OrrValidateBands *bands);

/* Without a bound: how much less than the best measured row the row gives that is best as
 * simulated, and the one whose band has the best lower end. Means over @n questions. */
typedef struct {
  guint n;
  double point, lower;
} OrrChoicesRegret;
OrrChoicesRegret orr_validate_choices_regret(const OrrValidateBands *bands);
