/*
 * dapo.c - decoupled clip and dynamic sampling policy optimization (Yu et al. 2025,
 * arXiv 2503.14476): GRPO without a reference model, and groups whose rewards are all equal teach
 * nothing, so they are dropped and others sampled in their place.
 */
#include "workloads/post_training/algorithms/rl_algorithm.h"

static const OrrFieldTable table = ORR_FIELDS(
    "algorithm-dapo", "Dynamic sampling policy optimization.", OrrRlPasses,
    ORR_RL_ALGORITHM_FIELDS("false"),
    ORR_FIELD_REAL(
        OrrRlPasses, "filtered", filtered, ORR_UNIT_FRACTION, "0",
        "Fraction of the groups whose rewards are all equal: dropped (dynamic sampling). "
        "In turns, rounds of all prompts follow until enough are kept; ahead or "
        "over-sampled, one other for each.",
        .min = 0, .max = 0.95));

const OrrRlAlgorithm orr_rl_dapo = {
    .entry = {"dapo", "GRPO without a reference model; groups of equal rewards can be dropped.",
              &table},
    .drops_equal = TRUE};
