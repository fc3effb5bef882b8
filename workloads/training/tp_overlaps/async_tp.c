/*
 * async-tp - PyTorch's asynchronous tensor parallelism: fused_all_gather_matmul,
 * fused_matmul_reduce_scatter.
 *
 * Each rank multiplies its own rows first, while copy engines fetch the next rank's into symmetric
 * memory, and so on over t pieces; a result is made piece by piece for each rank and copied there,
 * where t partial results are summed (torch/distributed/_symmetric_memory, 2024; torchtitan's
 * enable_async_tensor_parallel). Inputs' gradients are scattered the same way, so that nothing is
 * left beside the products by weight. Pieces alternate between two streams, and Python dispatches
 * each.
 *
 * (t - 1) max(g, c) + g for a gather, g + (t - 1) max(g, c) and the sum for a scatter.
 *
 *   parallel: {tp: 8, sequence-parallel: true, tp-comm-overlap: async-tp}
 */
#include "workloads/training/tp_overlaps/tp_overlap.h"

static gboolean gather(const void *params, const OrrTpOverlapCall *call, GArray *operators) {
  (void)params;
  orr_tp_overlap_ring_gather(call, operators);
  return TRUE;
}

static gboolean scatter(const void *params, const OrrTpOverlapCall *call, GArray *operators) {
  (void)params;
  orr_tp_overlap_ring_scatter(call, operators);
  return TRUE;
}

static double ring_s(const void *params, gint64 ranks, double product_s, double comm_s) {
  (void)params;
  return orr_tp_overlap_ring_s(ranks, product_s, comm_s);
}

const OrrTpOverlapKind orr_tp_overlap_async_tp = {
    .entry = {"async-tp", "PyTorch's: a piece a rank, copied while the one before is multiplied.",
              NULL},
    .gather = gather,
    .scatter = scatter,
    .scatters_gradients = TRUE,
    .gather_s = ring_s,
    .scatter_s = ring_s,
};
