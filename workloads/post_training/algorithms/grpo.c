/*
 * grpo.c - group relative policy optimization (Shao et al. 2024, DeepSeekMath): the advantage of a
 * sample is its reward against its group's, so there is no critic.
 */
#include "workloads/post_training/algorithms/rl_algorithm.h"

static const OrrFieldTable table =
    ORR_FIELDS("algorithm-grpo", "Group relative policy optimization.", OrrRlPasses,
               ORR_RL_ALGORITHM_FIELDS("true"));

const OrrRlAlgorithm orr_rl_grpo = {
    .entry = {"grpo", "Group relative policy optimization: no critic, a reference model.", &table}};
