/*
 * ppo.c - proximal policy optimization (Schulman et al. 2017) as RLHF uses it (Ouyang et al. 2022):
 * a critic of the actor's shape values every token and is trained, too.
 */
#include "workloads/post_training/algorithms/rl_algorithm.h"

static const OrrFieldTable table =
    ORR_FIELDS("algorithm-ppo", "Proximal policy optimization with a critic.", OrrRlPasses,
               ORR_RL_ALGORITHM_FIELDS("true"));

const OrrRlAlgorithm orr_rl_ppo = {
    .entry = {"ppo", "Proximal policy optimization: a critic, and a reference model.", &table},
    .has_critic = TRUE};
