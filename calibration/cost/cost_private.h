/*
 * cost_private.h - the cost model itself, for the files of this folder and the bounds of
 * cross-validation. Functions of single tables are in cost_tables.h.
 *
 * The large tables (products, attention, experts) are built from the profile at the first query
 * that needs them (cost_build.c).
 */
#ifndef ORR_COST_PRIVATE_H
#define ORR_COST_PRIVATE_H

#include "calibration/cost/cost.h"
#include "calibration/cost/grid.h"
#include "calibration/profile/profile_private.h"

G_BEGIN_DECLS

/* What is built on demand; ask cost_build.c for it. */
struct OrrCostTables {
  guint n_gemm;          /* tables in the profile's `gemm` */
  gsize *has_built_gemm; /* for g_once_init_enter */
  gsize has_built_attention[ORR_N_PHASES][ORR_N_DTYPES];
  gsize has_built_moe;
  gsize has_built_modules;
  OrrGrid **gemm; /* log(measured / roofline) over m, n, k; NULL: no rows */
  /* OrrCostAttention*, by the format of the keys and values; NULL: no rows */
  GPtrArray *attention[ORR_N_PHASES][ORR_N_DTYPES];
  GPtrArray *moe;     /* OrrCostMoe*, in the order of the profile */
  GPtrArray *modules; /* see cost_module.c */
};

struct OrrCostModel {
  const OrrProfile *profile; /* borrowed; NULL: none */
  OrrCostTables *tables;     /* shared with measured and named */
  gboolean borrows_tables;
  /* The same model with the rates of the device of the rows, and of the unchanged device: tables
   * are built by them. NULL where no table needs them. */
  OrrCostModel *measured, *named;
  const OrrDevice *device;      /* whose times it predicts */
  const OrrDevice *measured_on; /* whose rows it has; differs from `device` in a what-if */
  gboolean refuses_gaps;        /* on-missing: error */
  gboolean is_another;          /* the two have different names */
  /* they differ in rates that kernels depend on: no answer counts as measured */
  gboolean is_scaled;
  gboolean is_changed;          /* it differs from the document of its own name (a what-if) */
  OrrProfileConstants defaults; /* the constants where there is no profile */
  const OrrProfileConstants *constants;
  const GPtrArray *kernels;        /* OrrProfileKernel*, the profile's; NULL: none */
  const GPtrArray *nccl;           /* OrrProfileNccl*, the profile's; NULL: none */
  double peak_flops[ORR_N_DTYPES]; /* of the format, or of the nearest that the device has */
  gboolean has_peak[ORR_N_DTYPES]; /* FALSE: another format stands in */
  int gemm_library[ORR_N_DTYPES];  /* OrrKernelLibrary of the format's rows; ANY: not stated */
  GPtrArray *library_gemm;         /* OrrCostLibraryGemm* */
  GPtrArray *collectives;          /* OrrCostCollective* */
  GPtrArray *batch_attention;      /* OrrCostBatch*, see cost_serving.c */
  GPtrArray *token_kernels;        /* see cost_serving.c */
  GPtrArray *libraries;            /* OrrCostLibrary*, see cost_library.c; NULL: none */
};

/* Seconds that the FLOPs (as @compute_s) and bytes of a kernel take at least (cost_roofline.c). */
double orr_cost_roofline_s(const OrrCostModel *model, double compute_s, double bytes);

/* Fraction of the device's systolic array that a product of m x n x k fills; 1 without one. */
double orr_cost_matrix_unit_use(const OrrDevice *device, double m, double n, double k);

/* Marks @cost as carried over where the rows are of another device: they give a kernel's distance
 * from its roofline there, not a time measured here. */
static inline OrrCost orr_cost_scaled(const OrrCostModel *model, OrrCost cost) {
  const gboolean carried =
      cost.from_here ? model->is_changed : model->is_another || model->is_scaled;
  if (carried) cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  return cost;
}

/* The same for a cost that depends on the links alone: it stays measured in a what-if that changes
 * other rates. */
static inline OrrCost orr_cost_over_links(const OrrCostModel *model, OrrCost cost) {
  const gboolean same_links =
      model->device->scale_up_bytes_per_s == model->measured_on->scale_up_bytes_per_s;
  if (model->is_another || !same_links) cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  return cost;
}

/* Whether the device's GPUs are joined as the measured GPUs were: a switch gives a pair all links,
 * a mesh some of them, and rows of one say nothing of the other. */
static inline gboolean orr_cost_has_links_of_rows(const OrrCostModel *model) {
  return model->device->scale_up_links == model->measured_on->scale_up_links;
}

/* 16-bit formats run at one rate on every device that has both, so they share a table. */
static inline gboolean orr_cost_is_16_bit(OrrDtype dtype) {
  return dtype == ORR_FP16 || dtype == ORR_BF16;
}

static inline OrrHow orr_cost_how(OrrGridTrust trust) {
  return trust == ORR_GRID_ROW       ? ORR_HOW_MEASURED
         : trust == ORR_GRID_BETWEEN ? ORR_HOW_INTERPOLATED
                                     : ORR_HOW_OUTSIDE;
}

G_END_DECLS

#endif
