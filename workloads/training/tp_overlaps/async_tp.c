/*
 * async-tp - PyTorch's asynchronous tensor parallelism: fused_all_gather_matmul,
 * fused_matmul_reduce_scatter.
 *
 * Each rank first multiplies its own rows while copy engines fetch the next rank's rows into
 * symmetric memory, and so on over t slices. A result is computed slice by slice for each rank and
 * copied there, where t partial results are summed (torch/distributed/_symmetric_memory, 2024;
 * torchtitan's enable_async_tensor_parallel). Gradients of inputs are scattered in the same way, so
 * nothing remains to overlap with the products for weight gradients. Slices alternate between two
 * streams, and Python dispatches each.
 *
 * (t - 1) max(g, c) + g for a gather, g + (t - 1) max(g, c) and the sum for a scatter.
 *
 * `gathers: false`: the compiler finds only the scatters, and gathers block.
 *
 *   parallel: {tp: 8, sequence-parallel: true, tp-comm-overlap: async-tp}
 */
#include "workloads/training/tp_overlaps/tp_overlap.h"

typedef struct {
  gboolean gathers;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("async-tp", "Parameters of PyTorch's overlap.", Params,
               ORR_FIELD_BOOL(Params, "gathers", gathers, "true",
                              "Whether gathers are split, not only scatters."));

static gboolean gather(const void *params, const OrrTpOverlapCall *call, GArray *operators) {
  if (!((const Params *)params)->gathers) return FALSE;
  orr_tp_overlap_ring_gather(call, operators);
  return TRUE;
}

static gboolean scatter(const void *params, const OrrTpOverlapCall *call, GArray *operators) {
  orr_tp_overlap_ring_scatter(call, operators);
  return TRUE;
}

static double ring_s(const void *params, gint64 ranks, double product_s, double comm_s) {
  return orr_tp_overlap_ring_s(ranks, product_s, comm_s);
}

const OrrTpOverlapKind orr_tp_overlap_async_tp = {
    .entry = {"async-tp",
              "PyTorch's: one slice per rank, copied while the previous one is multiplied.",
              &table},
    .gather = gather,
    .scatter = scatter,
    .scatters_gradients = TRUE,
    .gather_s = ring_s,
    .scatter_s = ring_s,
};
