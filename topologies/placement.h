/*
 * placement.h - which GPU holds which rank of the parallel grid.
 *
 * A rank has coordinates (tp, cp, dp, pp). `order` lists the axes from the fastest-varying to the
 * slowest, joined by '-'. It may also name ep, Megatron's expert axis, which is not an axis of the
 * grid: expert groups are cut from the ranks of tp, cp and dp. With ep before dp (the default) the
 * ranks of an expert group are adjacent; after dp they are as far apart as possible. Megatron's
 * default is "tp-cp-dp-pp": the ranks of a tensor-parallel group are adjacent. Rank r runs on GPU
 * r.
 */
#pragma once

#include "sim/base/ground.h"

typedef enum { ORR_AXIS_TP, ORR_AXIS_CP, ORR_AXIS_DP, ORR_AXIS_PP, ORR_N_AXES } OrrAxis;

typedef struct {
  gint64 size[ORR_N_AXES];
  int order[ORR_N_AXES]; /* axes, the fastest-varying first */
  /* `order` names ep after dp: ranks that hold the same experts are adjacent, not the ranks of
   * an expert group */
  gboolean ep_after_dp;
} OrrPlacement;

/* Parses @order (see above); each axis must appear exactly once. FALSE with ORR_FAULT_DOCUMENT
 * that lists the axes. @size is indexed by OrrAxis. */
gboolean orr_placement_init(OrrPlacement *placement, const char *order,
                            const gint64 size[ORR_N_AXES], GError **error);

gint64 orr_placement_gpu(const OrrPlacement *placement, const gint64 at[ORR_N_AXES]);

/* The GPUs of the group along @axis that contains the rank at @at, ordered by that coordinate.
 * @ret_gpus has room for size[axis] of them. */
void orr_placement_group(const OrrPlacement *placement, OrrAxis axis, const gint64 at[ORR_N_AXES],
                         gint64 *ret_gpus);
