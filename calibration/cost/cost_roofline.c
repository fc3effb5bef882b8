/*
 * cost_roofline.c - the rates of a device, and the time that a kernel's FLOPs and bytes allow.
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

/* The formats that stand in for one that the device lacks, best first: the next wider ones that
 * it computes in. */
static const OrrDtype stand_ins[ORR_N_DTYPES][4] = {
    [ORR_FP32] = {ORR_FP32, ORR_FP32, ORR_FP32, ORR_FP32},
    [ORR_TF32] = {ORR_TF32, ORR_FP32, ORR_FP32, ORR_FP32},
    [ORR_FP16] = {ORR_FP16, ORR_BF16, ORR_TF32, ORR_FP32},
    [ORR_BF16] = {ORR_BF16, ORR_FP16, ORR_TF32, ORR_FP32},
    [ORR_FP8] = {ORR_FP8, ORR_BF16, ORR_FP16, ORR_FP32},
    [ORR_FP4] = {ORR_FP4, ORR_FP8, ORR_BF16, ORR_FP16},
    [ORR_INT8] = {ORR_INT8, ORR_BF16, ORR_FP16, ORR_FP32},
};

gboolean orr_cost_roofline_take(OrrCostModel *model, const OrrDevice *device, GError **error) {
  model->device = device;
  for (int d = 0; d < ORR_N_DTYPES; d++) {
    model->peak_flops[d] = 0;
    for (int i = 0; i < 4 && model->peak_flops[d] <= 0; i++)
      model->peak_flops[d] = orr_device_peak_flops(model->device, stand_ins[d][i]);
    model->has_peak[d] = orr_device_peak_flops(model->device, (OrrDtype)d) > 0;
  }
  if (model->peak_flops[ORR_BF16] <= 0 || model->device->memory_bytes_per_s <= 0 ||
      model->device->sms <= 0)
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "device %s: needs a peak rate (bf16, fp16 or fp32), a memory bandwidth and a number of SMs",
        model->device->name ? model->device->name : "?");
  for (int d = 0; d < ORR_N_DTYPES; d++)
    if (model->peak_flops[d] <= 0) model->peak_flops[d] = model->peak_flops[ORR_BF16];
  return TRUE;
}

OrrCostModel *orr_cost_model_with_rates(const OrrCostModel *model, const OrrDevice *device,
                                        GError **error) {
  g_autofree OrrCostModel *view = g_memdup2(model, sizeof *model);
  return orr_cost_roofline_take(view, device, error) ? g_steal_pointer(&view) : NULL;
}

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
