/*
 * scaling.h - what a model's loss is after how many tokens, by published laws.
 *
 *   L(N, D) = E + A / N^alpha + B / D^beta
 *
 * N parameters, D tokens seen once; E, A, alpha, B, beta were fitted to training runs of dense
 * transformers (Hoffmann et al. 2022, arXiv 2203.15556, approach 3). For a law that knows
 * repetition (Muennighoff et al. 2023, arXiv 2305.16264, eq. 5 and 6), U unique tokens and R = D/U
 * - 1 repetitions count as
 *
 *   D' = U + U r (1 - exp(-R / r))        r: after r repetitions a token is worth 1/e of a new one
 *
 * and likewise parameters beyond the N that is best for U tokens, with a constant of their own.
 *
 * Valid where the runs were: the loss is of the law's own data and tokenizer, so differences count
 * and not the number. No law here knows experts.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  const char *name, *source;
  double e, a, alpha, b, beta;
  double token_repeats, parameter_repeats; /* r of tokens and of parameters; 0: not known */
  double most_parameters;                  /* of the runs behind it */
} OrrScalingLaw;

/* The law of @name. NULL with ORR_FAULT_USAGE and the names that are known. */
const OrrScalingLaw *orr_scaling_law(const char *name, GError **error);

/* The loss of @parameters after @tokens. @unique: how many different tokens there are (INFINITY:
 * none repeats). */
double orr_scaling_loss(const OrrScalingLaw *law, double parameters, double tokens, double unique);
/* Parameters for which @tokens, each seen once, are the best use of compute (6 N D). */
double orr_scaling_parameters(const OrrScalingLaw *law, double tokens);
/* The best parameters for @flops = 6 N D: G (C / 6)^(beta / (alpha + beta)), G = (alpha A / (beta
 * B))^(1 / (alpha + beta)) (arXiv 2203.15556, eq. 4). */
double orr_scaling_parameters_of_flops(const OrrScalingLaw *law, double flops);
/* The tokens after which @parameters reach @loss, by bisection. INFINITY: never. */
double orr_scaling_tokens(const OrrScalingLaw *law, double parameters, double loss, double unique);

/* A size that was simulated. */
typedef struct {
  double parameters, tokens_per_s; /* of the fastest layout */
} OrrScalingSpeed;

/* The size of least loss after @seconds between the first and the last of @speeds (ascending, n >=
 * 1): tokens per second are interpolated in the logarithms of both. Returns the parameters, and in
 * *@ret_tokens what they are trained on. */
double orr_scaling_best(const OrrScalingLaw *law, const OrrScalingSpeed *speeds, guint n,
                        double seconds, double unique, double *ret_tokens);
