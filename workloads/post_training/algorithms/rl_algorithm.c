/*
 * rl_algorithm.c - the registry of algorithms.
 */
#include "workloads/post_training/algorithms/rl_algorithm.h"

static const OrrEntry *const entries[] = {&orr_rl_dapo.entry, &orr_rl_grpo.entry, &orr_rl_ppo.entry,
                                          NULL};
const OrrRegistry orr_rl_algorithm_registry = {"algorithm", entries};
