/*
 * cost_roofline.c - the time that a kernel's FLOPs and bytes allow.
 *
 *   t = kernel-overhead + sqrt(compute^2 + memory^2)      memory = bytes / (bandwidth *
 *                                                         memory-efficiency)
 *
 * Compute and memory traffic overlap, but not wholly where they take about equally long: hence the
 * square root of the sum of squares rather than the larger one.
 */
#include <math.h>

#include "calibration/cost/cost_private.h"

double orr_cost_roofline_s(const OrrCostModel *model, double compute_s, double bytes) {
  double memory_s =
      bytes / (model->device->memory_bytes_per_s * model->constants->memory_efficiency);
  return model->constants->kernel_overhead_s + sqrt(compute_s * compute_s + memory_s * memory_s);
}
