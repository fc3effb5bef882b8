/*
 * lognormal - the logarithms of the experts' loads are a normal distribution's quantiles.
 *
 *   load_i = exp(spread * q_i),   q_i the standard normal quantile at (i + 1/2) / experts
 *
 * With a rank per expert the fullest one has about exp(spread * q - spread^2 / 2) times the mean, q
 * the quantile of the last. DeepSeek-R1 on a machine translation data set over 32 GB200 (NVIDIA,
 * "Scaling Expert Parallelism in TensorRT-LLM", part 1, table 1; mean over layers and steps) has
 * loads of experts with a standard deviation of 1.28 means, which a spread of 1 has too, as
 * sqrt(exp(spread^2) - 1) = 1.31. What follows from 1, and what was measured:
 *
 *   fullest expert                          10.9    11.9
 *   fullest of 32 ranks of 8 experts         2.3     2.56
 *   with 32 redundant experts, packed        1.00    1.11, which has the draws of 1,024 tokens too
 *
 *   expert-load: {kind: lognormal, spread: 1}
 */
#include "workloads/expert_loads/expert_load.h"

typedef struct {
  double spread;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "lognormal", "Parameters of a lognormal distribution.", Params,
    ORR_FIELD_REAL(
        Params, "spread", spread, ORR_UNIT_NONE, "1",
        "Standard deviation of the loads' logarithms; 0: balanced. DeepSeek-R1's is about 1.",
        .min = 0, .max = 4));

/* By bisection: half of 1e-12 of the interval after 44 steps. */
static double normal_quantile(double probability) {
  double low = -8, high = 8;
  for (int i = 0; i < 44; i++) {
    const double middle = (low + high) / 2;
    if (erfc(-middle / G_SQRT2) / 2 < probability)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
}

static void loads(const void *params, gint64 experts, guint layer, double *ret_loads) {
  for (gint64 e = 0; e < experts; e++)
    ret_loads[experts - 1 - e] = exp(((const Params *)params)->spread *
                                     normal_quantile(((double)e + 0.5) / (double)experts));
}

const OrrExpertLoadKind orr_expert_load_lognormal = {
    .entry = {"lognormal", "The logarithms of the experts' loads are normally distributed.",
              &table},
    .loads = loads,
};
