/*
 * grid - every combination that passes the constraints.
 *
 *   sampler: grid
 */
#include "sim/run/sampler.h"

const OrrSampler orr_grid_sampler = {.entry = {"grid", "Every combination that passes the constraints.", NULL}};
