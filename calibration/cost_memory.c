/*
 * cost_memory.c - kernels that HBM bounds: norms, softmax, activations, residuals, embedding, optimizer.
 *
 *   t = overhead + max(bytes / (bandwidth * memory-efficiency), flops / fp32 peak)
 *
 * The overhead is the ramp: a kernel of a few microseconds reaches little of the bandwidth, a long one the stated share
 * of it. Valid where the tensors are larger than the L2 cache; smaller ones may be faster than this says.
 */
#include <math.h>

#include "calibration/cost_private.h"

OrrCost orr_cost_memory(const OrrCostModel *model, const OrrOperator *op) {
  if (op->bytes <= 0 && op->flops <= 0) return (OrrCost){0, ORR_HOW_MODELLED};
  double memory_s = op->bytes / (model->device->memory_bytes_per_s * model->constants->memory_efficiency);
  double compute_s = op->flops / model->peak_flops[ORR_FP32];
  return (OrrCost){model->constants->kernel_overhead_s + fmax(memory_s, compute_s), ORR_HOW_MODELLED};
}
