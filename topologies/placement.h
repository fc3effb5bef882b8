/*
 * placement.h - which GPU holds which rank of the parallel grid.
 *
 * A rank has coordinates (tp, cp, dp, pp). `order` lists the axes from the fastest-varying to the
 * slowest, joined by '-'. It may name ep too, Megatron's axis of experts, which is no axis of the
 * grid: expert groups are cut from the ranks of tp, cp and dp anew. Before dp (the default) the
 * ranks of an expert group are next to each other, after it they are as far apart as can be.
 * Megatron's default is "tp-cp-dp-pp": the ranks of a tensor-parallel group sit side by side. Rank
 * r runs on GPU r.
 */
#ifndef ORR_PLACEMENT_H
#define ORR_PLACEMENT_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { ORR_AXIS_TP, ORR_AXIS_CP, ORR_AXIS_DP, ORR_AXIS_PP, ORR_N_AXES } OrrAxis;

typedef struct {
  gint64 size[ORR_N_AXES];
  int order[ORR_N_AXES]; /* fastest first */
  /* `order` names ep, and after dp: equal experts are next to each other, not all experts */
  gboolean ep_after_dp;
} OrrPlacement;

/* @order as above, each axis exactly once. FALSE with ORR_FAULT_DOCUMENT that lists the axes.
 * @size indexed by OrrAxis. */
gboolean orr_placement_init(OrrPlacement *placement, const char *order,
                            const gint64 size[ORR_N_AXES], GError **error);

gint64 orr_placement_n_ranks(const OrrPlacement *placement);
gint64 orr_placement_gpu(const OrrPlacement *placement, const gint64 at[ORR_N_AXES]);
void orr_placement_coordinates(const OrrPlacement *placement, gint64 gpu,
                               gint64 ret_at[ORR_N_AXES]);

/* The GPUs of the group along @axis through the rank at @at, in order of that coordinate.
 * @ret_gpus has size[axis] room. */
void orr_placement_group(const OrrPlacement *placement, OrrAxis axis, const gint64 at[ORR_N_AXES],
                         gint64 *ret_gpus);

G_END_DECLS

#endif
