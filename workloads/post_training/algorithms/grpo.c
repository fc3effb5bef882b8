/*
 * grpo.c - group relative policy optimization (Shao et al. 2024, DeepSeekMath): the advantage of a
 * sample is its reward against its group's, so there is no critic.
 */
#include "workloads/post_training/algorithms/rl_algorithm.h"

static const OrrField fields[] = {ORR_RL_ALGORITHM_FIELDS("true")};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("algorithm-grpo", "Group relative policy optimization.", OrrRlPasses, fields);

const OrrRlAlgorithm orr_rl_grpo = {
    .entry = {"grpo", "Group relative policy optimization: no critic, a reference model.", &table}};
