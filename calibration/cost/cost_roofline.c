/*
 * cost_roofline.c - the time that a kernel's FLOPs and bytes allow.
 *
 *   t = kernel-overhead + sqrt(compute^2 + memory^2)      memory = bytes / (bandwidth *
 *                                                         memory-efficiency)
 *
 * Compute and memory traffic overlap, but not wholly where they take about equally long: hence the
 * square root of the sum of squares rather than the larger one.
 *
 * A systolic array of u x u (TPU) holds a block of one operand, k and one side of the result,
 * while rows of the other operand pass through it, eight at a time. Other lengths than multiples of
 * u are padded, on the side that wastes less ("How to Scale Your Model", Google DeepMind 2025,
 * chapter "How to think about TPUs": matrices are padded to the array's size):
 *
 *   use = m n k / (pad(k, u) min(pad(n, u) pad(m, 8), pad(m, u) pad(n, 8)))
 */
#include "calibration/cost/cost_private.h"

double orr_cost_roofline_s(const OrrCostModel *model, double compute_s, double bytes) {
  double memory_s =
      bytes / (model->device->memory_bytes_per_s * model->constants->memory_efficiency);
  return model->constants->kernel_overhead_s + sqrt(compute_s * compute_s + memory_s * memory_s);
}

static double padded(double length, double to) { return ceil(length / to) * to; }

double orr_cost_matrix_unit_use(const OrrDevice *device, double m, double n, double k) {
  enum { ROWS = 8 }; /* of a register of the vector unit, which feeds the array */
  const double unit = (double)device->matrix_unit;
  if (unit <= 0) return 1;
  return m * n * k /
         (padded(k, unit) *
          fmin(padded(n, unit) * padded(m, ROWS), padded(m, unit) * padded(n, ROWS)));
}
