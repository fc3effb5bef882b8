/*
 * cost_private.h - what the cost_*.c files share. Nobody else includes it.
 */
#ifndef ORR_COST_PRIVATE_H
#define ORR_COST_PRIVATE_H

#include "calibration/cost/cost.h"
#include "calibration/cost/grid.h"
#include "calibration/profile/profile_moe.h"
#include "calibration/profile/profile_private.h"

G_BEGIN_DECLS

/* Attention with so many query heads for each key head: key heads x batch x length. */
typedef struct {
  double group;
  OrrGrid *grid;
} OrrCostAttentionGroup;

/* Attention of one head size. */
typedef struct {
  OrrProfilePhase phase;
  OrrDtype kv_dtype;
  gint64 head_dim;
  GArray *groups; /* OrrCostAttentionGroup, the group rising */
} OrrCostAttention;

void orr_cost_attention_free(OrrCostAttention *attention);

typedef struct {
  const OrrProfileCollective *row;
  GArray *bytes, *us; /* of double */
} OrrCostCollective;

typedef struct OrrCostMoe OrrCostMoe; /* one table of routed experts; cost_moe.c */

struct OrrCostModel {
  const OrrDevice *device;      /* asked about */
  const OrrDevice *measured_on; /* the rows are from; differs from `device` in a what-if */
  gboolean refuses_gaps;        /* on-missing: error */
  gboolean is_another;          /* by name */
  gboolean is_scaled; /* they differ in what kernels depend on: no answer is a measured one */
  OrrProfileConstants defaults; /* holds constants where there is no profile */
  const OrrProfileConstants *constants;
  const GPtrArray *kernels;        /* OrrProfileKernel*, the profile's; NULL: none */
  const GPtrArray *nccl;           /* OrrProfileNccl*, the profile's; NULL: none */
  double peak_flops[ORR_N_DTYPES]; /* of the nearest format that the device has */
  gboolean has_peak[ORR_N_DTYPES]; /* FALSE: it stands in for a format that the device lacks */
  OrrGrid *gemm[ORR_N_DTYPES];     /* log(measured / roofline) over m, n, k; NULL: no rows */
  GPtrArray *attention;            /* OrrCostAttention* */
  GPtrArray *collectives;          /* OrrCostCollective* */
  GPtrArray *moe;                  /* OrrCostMoe* */
  GPtrArray *batch_attention;      /* OrrCostBatch*, see cost_serving.c */
  GPtrArray *token_kernels;        /* see cost_serving.c */
  GPtrArray *libraries;            /* OrrCostLibrary*, see cost_library.c; NULL: none */
};

gboolean orr_cost_gemm_build(OrrCostModel *model, const OrrProfileGemm *table, GError **error);
OrrCost orr_cost_gemm(const OrrCostModel *model, const OrrOperator *op);
double orr_cost_gemm_roofline_s(const OrrCostModel *model, OrrDtype dtype, double m, double n,
                                double k);

gboolean orr_cost_attention_build(OrrCostModel *model, const OrrProfileAttention *table,
                                  GError **error);
/* A decode step may read keys and values in another format than it computes in. */
OrrCost orr_cost_attention(const OrrCostModel *model, const OrrOperator *op, OrrDtype kv_dtype);

gboolean orr_cost_moe_build(OrrCostModel *model, const OrrProfileMoe *table, GError **error);
void orr_cost_moe_free(OrrCostMoe *moe);
OrrCost orr_cost_moe(const OrrCostModel *model, const OrrOperator *op);
gboolean orr_cost_moe_holds(const OrrCostModel *model, OrrDtype dtype);

OrrCost orr_cost_memory(const OrrCostModel *model, const OrrOperator *op);

/* Time over a rising axis: a power law over the floor and the asymptote of the rows. */
OrrCost orr_cost_collective_between(const GArray *axis, const GArray *us, double size);

gboolean orr_cost_library_build(OrrCostModel *model, const GPtrArray *rows, GError **error);

void orr_cost_serving_init(OrrCostModel *model);
void orr_cost_serving_clear(OrrCostModel *model);
gboolean orr_cost_serving_build(OrrCostModel *model, const OrrProfile *profile, GError **error);

gboolean orr_cost_collective_build(OrrCostModel *model, const OrrProfileCollective *row,
                                   GError **error);

/* A ring over @n_ranks of one domain, by the profile's constants, over PCIe where the device has
 * no scale-up link; infinite on a device that states neither. */
OrrCost orr_cost_collective_ring(const OrrCostModel *model, const char *op, gint64 n_ranks,
                                 double bytes);

/* Compute and memory traffic overlap, but not wholly where they are alike: the square root of
 * the sum of squares. */
double orr_cost_roofline_s(const OrrCostModel *model, double compute_s, double bytes);

/* Rows of another device say how far a kernel is from its roofline there, no more. */
static inline OrrCost orr_cost_scaled(const OrrCostModel *model, OrrCost cost) {
  if (model->is_another || model->is_scaled) cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  return cost;
}

/* The same of what depends on the links alone: a what-if of other rates keeps its own. */
static inline OrrCost orr_cost_over_links(const OrrCostModel *model, OrrCost cost) {
  const gboolean same_links =
      model->device->scale_up_bytes_per_s == model->measured_on->scale_up_bytes_per_s;
  if (model->is_another || !same_links) cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  return cost;
}

static inline OrrHow orr_cost_how(OrrGridTrust trust) {
  return trust == ORR_GRID_ROW       ? ORR_HOW_MEASURED
         : trust == ORR_GRID_BETWEEN ? ORR_HOW_INTERPOLATED
                                     : ORR_HOW_OUTSIDE;
}

G_END_DECLS

#endif
