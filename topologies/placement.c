/*
 * placement.c - ranks of the parallel grid, as mixed-radix numbers.
 *
 * Rank r = sum over the axes, fastest first, of at[axis] * (product of the sizes of the faster
 * axes). Rank r runs on GPU r. Megatron-LM's order (megatron/core/parallel_state.py,
 * "tp-cp-ep-dp-pp") is this with ep inside dp.
 */
#include "topologies/placement.h"

static const char *const axis_names[] = {"tp", "cp", "dp", "pp", NULL};

static int find_axis(const char *name) {
  for (int axis = 0; axis < ORR_N_AXES; axis++)
    if (strcmp(axis_names[axis], name) == 0) return axis;
  return -1;
}

static gboolean refuse_order(const char *order, GError **error) {
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "'%s' is not an order of ranks: it must name each of tp, cp, dp, pp once, the fastest first, "
      "joined by '-' (e.g. tp-cp-dp-pp), and may name ep once, after tp (tp-cp-ep-dp-pp)",
      order);
}

static gboolean check_sizes(const gint64 size[ORR_N_AXES], GError **error) {
  gint64 n = 1;
  for (int axis = 0; axis < ORR_N_AXES; axis++) {
    if (size[axis] < 1 || size[axis] > G_MAXINT32 / n)
      return orr_fault_set(
          error, ORR_FAULT_DOCUMENT,
          "%s is %ld: it must be 1 or more, and the axes together may have at most %d ranks",
          axis_names[axis], size[axis], G_MAXINT32);
    n *= size[axis];
  }
  return TRUE;
}

gboolean orr_placement_init(OrrPlacement *placement, const char *order,
                            const gint64 size[ORR_N_AXES], GError **error) {
  g_auto(GStrv) names = g_strsplit(order, "-", -1);
  OrrPlacement made = {{0}, {0}, FALSE};
  const unsigned experts = 1u << ORR_N_AXES;
  unsigned seen = 0;
  int n = 0;
  for (guint i = 0; names[i]; i++) {
    int axis = find_axis(names[i]);
    gboolean is_ep = strcmp(names[i], "ep") == 0;
    unsigned bit = is_ep ? experts : axis < 0 ? 0 : 1u << axis;
    if (bit == 0 || (seen & bit) || (is_ep && !(seen & (1u << ORR_AXIS_TP))))
      return refuse_order(order, error);
    if (is_ep) made.ep_after_dp = (seen & (1u << ORR_AXIS_DP)) != 0;
    seen |= bit;
    if (!is_ep) made.order[n++] = axis;
  }
  if (n != ORR_N_AXES) return refuse_order(order, error);
  if (!check_sizes(size, error)) return FALSE;
  memcpy(made.size, size, sizeof made.size);
  *placement = made;
  return TRUE;
}

gint64 orr_placement_gpu(const OrrPlacement *placement, const gint64 at[ORR_N_AXES]) {
  gint64 gpu = 0;
  for (int i = ORR_N_AXES - 1; i >= 0; i--)
    gpu = gpu * placement->size[placement->order[i]] + at[placement->order[i]];
  return gpu;
}

void orr_placement_group(const OrrPlacement *placement, OrrAxis axis, const gint64 at[ORR_N_AXES],
                         gint64 *ret_gpus) {
  gint64 member[ORR_N_AXES];
  memcpy(member, at, sizeof member);
  for (gint64 i = 0; i < placement->size[axis]; i++) {
    member[axis] = i;
    ret_gpus[i] = orr_placement_gpu(placement, member);
  }
}
