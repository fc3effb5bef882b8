/*
 * balanced - every expert gets the same number of tokens (an effective balancing loss or bias;
 * NVIDIA's benchmarks force it: moe-router-force-load-balancing).
 *
 * The fullest rank has 1 / ep of the tokens.
 *
 *   experts: {load: balanced}
 */
#include "workloads/expert_loads/expert_load.h"

static void loads(const void *params, gint64 experts, guint layer, double *ret_loads) {
  for (gint64 e = 0; e < experts; e++) ret_loads[e] = 1;
}

const OrrExpertLoadKind orr_expert_load_balanced = {
    .entry = {"balanced", "Every expert gets the same number of tokens.", NULL},
    .is_even = TRUE,
    .loads = loads,
};
