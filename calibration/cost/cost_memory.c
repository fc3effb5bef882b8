/*
 * cost_memory.c - kernels bound by HBM: norms, softmax, activations, residuals, embedding,
 * optimizer; and scans of mixers with a state, which instructions bind.
 *
 *   t = overhead + max(bytes / (bandwidth * efficiency), flops / (fp32 peak * rate))
 *
 * The efficiency is the profile's for this operator and generation of kernels (`kernels`), else
 * memory-efficiency; so is the rate, else 1. Kernels of a training framework reach
 * trainer-efficiency at most: Blackwell needs more bytes in flight than PyTorch's and Transformer
 * Engine's kernels have.
 *
 * The overhead models the ramp: a kernel of a few microseconds reaches little of the bandwidth, a
 * long one the stated fraction. Valid where the tensors are larger than the L2 cache; kernels on
 * smaller ones can be faster than predicted.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

static gboolean holds(const OrrProfileKernel *kernel, const OrrOperator *op) {
  const gboolean forward = op->pass == ORR_PASS_FORWARD;
  if (kernel->pass != 0 && (kernel->pass == 1) != forward) return FALSE;
  return g_strv_contains((const char *const *)kernel->operators, op->name);
}

static const OrrProfileKernel *find_kernel(const OrrCostModel *model, const OrrOperator *op) {
  for (guint i = 0; i < orr_profile_length(model->kernels); i++)
    if (holds(model->kernels->pdata[i], op)) return model->kernels->pdata[i];
  return NULL;
}

static double efficiency(const OrrCostModel *model, const OrrProfileKernel *kernel,
                         const OrrOperator *op) {
  const double reached = !kernel                            ? model->constants->memory_efficiency
                         : op->kernels == ORR_KERNELS_EAGER ? kernel->eager
                                                            : kernel->modern;
  return op->of_trainer ? fmin(reached, model->constants->trainer_efficiency) : reached;
}

OrrCost orr_cost_memory(const OrrCostModel *model, const OrrOperator *op) {
  if (op->bytes <= 0 && op->flops <= 0) return (OrrCost){0, ORR_HOW_MODELLED};
  const OrrProfileKernel *kernel = find_kernel(model, op);
  double memory_s = op->bytes / (model->device->memory_bytes_per_s * efficiency(model, kernel, op));
  double compute_s = op->flops / (model->peak_flops[ORR_FP32] * (kernel ? kernel->flops : 1));
  return (OrrCost){model->constants->kernel_overhead_s + fmax(memory_s, compute_s),
                   ORR_HOW_MODELLED};
}
