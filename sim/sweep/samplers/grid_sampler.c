/*
 * grid - every combination that passes the constraints.
 *
 *   sampler: grid
 */
#include "sim/sweep/sampler.h"

const OrrSampler orr_grid_sampler = {
    .entry = {"grid", "Every combination that passes the constraints.", NULL}};
