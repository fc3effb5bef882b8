/*
 * none - collectives stay whole: each waits for its product, or its product waits for it.
 *
 * Collectives of the backward's input gradients can still overlap with the products by weight
 * (async-tp-all-reduce).
 *
 *   parallel: {tp-comm-overlap: none}
 */
#include "workloads/training/tp_overlaps/tp_overlap.h"

const OrrTpOverlapKind orr_tp_overlap_none = {
    .entry = {"none", "Tensor-parallel collectives stay whole, before or after their products.",
              NULL},
};
