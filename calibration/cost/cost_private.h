/*
 * cost_private.h - the cost model itself, for the files of this folder and the bounds of
 * cross-validation. Functions of single tables are in cost_tables.h.
 *
 * The large tables (products, attention, experts) are built from the profile at the first query
 * that needs them (cost_build.c).
 */
#pragma once

#include "calibration/cost/cost.h"
#include "calibration/cost/grid.h"
#include "calibration/profile/profile_private.h"

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
  const GPtrArray *choices;        /* OrrProfileChoice*, the profile's; NULL: none */
  double peak_flops[ORR_N_DTYPES]; /* of the format, or of the nearest that the device has */
  gboolean has_peak[ORR_N_DTYPES]; /* FALSE: another format stands in */
  int gemm_library[ORR_N_DTYPES];  /* OrrKernelLibrary of the format's rows; ANY: not stated */
  GPtrArray *library_gemm;         /* OrrCostLibraryGemm* */
  GPtrArray *collectives;          /* OrrCostCollective* */
  GPtrArray *batch_attention;      /* OrrCostBatch*, see cost_serving.c */
  GPtrArray *token_kernels;        /* see cost_serving.c */
  GPtrArray *libraries;            /* OrrCostLibrary*, see cost_library.c; NULL: none */
};

/* cost_roofline.c: a device's rates. */

/* Predicts the times of @device from now on; FALSE: it lacks a rate. */
gboolean orr_cost_roofline_take(OrrCostModel *model, const OrrDevice *device, GError **error);

/* The model with the rates of @device, for building tables: none of its answers is scaled. A view:
 * free it with g_free(). */
OrrCostModel *orr_cost_model_with_rates(const OrrCostModel *model, const OrrDevice *device,
                                        GError **error);

/* Seconds that the FLOPs (as @compute_s) and bytes of a kernel take at least. */
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

/* query_values.c: one value of a query: kinds of keys, and the reader of their texts. For query.c
 * alone. */

typedef enum {
  ORR_QUERY_COUNT,         /* a whole number above 0 */
  ORR_QUERY_KNOWN_COUNT,   /* a COUNT, or "known" */
  ORR_QUERY_SIZE,          /* a number above 0 */
  ORR_QUERY_FORMAT,        /* a number format */
  ORR_QUERY_GEMM_FORMAT,   /* a number format, or fp8_block: ORR_QUERY_BY_BLOCKS more */
  ORR_QUERY_LIBRARY,       /* a library of kernels: any, sglang, trtllm or vllm */
  ORR_QUERY_LAYOUT,        /* of a product: forward, dgrad or wgrad */
  ORR_QUERY_NO_WINDOW,     /* 0 */
  ORR_QUERY_DISTRIBUTION,  /* balanced or power_law_A */
  ORR_QUERY_BALANCED,      /* balanced */
  ORR_QUERY_PROJECTIONS,   /* 2, 3 or "known" */
  ORR_QUERY_YES_NO,        /* yes or no */
  ORR_QUERY_DEEPEP_MODE,   /* normal or low_latency: DeepEP's kernels */
  ORR_QUERY_TRTLLM_SOURCE, /* NVLinkTwoSided or NVLinkOneSided: TensorRT-LLM's kernels */
  ORR_QUERY_TEXT,          /* any text, as a GQuark; empty or "any": 0 */
  ORR_QUERY_WHOLE,         /* a whole number, 0 included; empty: 0 */
} OrrQueryKeyKind;

typedef struct {
  const char *name;
  OrrQueryKeyKind kind;
  const char *fallback; /* NULL: required */
} OrrQueryKey;

enum { MAX_KEYS = 13, DEFAULT_GPUS = 8 }; /* of a node, where the profile has no rows of it */

enum { ORR_QUERY_BY_BLOCKS = ORR_N_DTYPES }; /* to a format: blocks of weights */

/* FALSE with ORR_FAULT_USAGE, which says what @key allows. */
gboolean orr_query_values_read(const OrrQueryKey *key, const char *text, double *ret_value,
                               GError **error);

/* query_module.c: queries of sparse and linear attention, by the names of the tables that they
 * were measured in. Texts are GQuarks in doubles, 0 where absent. For query.c alone. */

/* The order of the values. */
enum {
  ORR_SPARSE_OP,
  ORR_SPARSE_SYSTEM,
  ORR_SPARSE_ENGINE,
  ORR_SPARSE_KERNEL,
  ORR_SPARSE_MODEL,
  ORR_SPARSE_WEIGHTS,
  ORR_SPARSE_CACHE,
  ORR_SPARSE_MODE,
  ORR_SPARSE_HEADS,
  ORR_SPARSE_BATCH,
  ORR_SPARSE_QUERIES,
  ORR_SPARSE_BEFORE
};
enum {
  ORR_LINEAR_SYSTEM,
  ORR_LINEAR_ENGINE,
  ORR_LINEAR_KERNEL,
  ORR_LINEAR_PHASE,
  ORR_LINEAR_BATCH,
  ORR_LINEAR_TOKENS,
  ORR_LINEAR_KEY_HEADS,
  ORR_LINEAR_VALUE_HEADS,
  ORR_LINEAR_STATE,
  ORR_LINEAR_HEADS,
  ORR_LINEAR_GROUPS,
  ORR_LINEAR_STATE_DTYPE
};

OrrCost orr_query_module_sparse(const OrrCostModel *cost, const char *name, const double *values);
OrrCost orr_query_module_linear(const OrrCostModel *cost, const char *name, const double *values);
/* What is wrong with them; NULL: nothing. */
const char *orr_query_module_refuse_sparse(const double *values);
const char *orr_query_module_refuse_linear(const double *values);

/* A grid's cells, for grid.c (life, filling, queries) and grid_odd.c (rows that
 * cannot be believed). */

enum { ORR_GRID_HOLE = 255 };

struct OrrGrid {
  guint lengths[ORR_GRID_AXES];
  guint strides[ORR_GRID_AXES];
  double *axes[ORR_GRID_AXES]; /* as given */
  double *logs[ORR_GRID_AXES]; /* their logarithms */
  guint n_cells;
  double *values;
  double *hints
      [ORR_GRID_HINTS]; /* NAN: none; NULL where no cell has one of that kind, and after filling */
  guint8 *trust;        /* OrrGridTrust, or ORR_GRID_HOLE */
  guint8 *odd;          /* TRUE: a row that its neighbours must not use; NULL before filling */
  double *expected;     /* the neighbours' estimate of an outlier; NULL where no row is one */
  /* Log of a row's time, and of its time per work; NULL where no row has one, and after filling. */
  double *times, *rates;
  GArray *aside; /* of OrrGridAside; NULL: none */
  /* Steps from a cell along an axis, down (0) and up (1), to the next usable value; 0: none. NULL
   * but while the grid is filled. */
  guint *steps[ORR_GRID_AXES][2];
};

/* Finds the steps: to be called again whenever values became usable, or no longer are. */
void orr_grid_find_steps(OrrGrid *grid);

/* Interpolates the cell @at on the line along @axis, where a usable value lies on both sides;
 * FALSE where not. */
gboolean orr_grid_line_at(const OrrGrid *grid, guint at, int axis, double *ret_value,
                          double *ret_span);

/* The hint of that kind; FALSE where there is none. */
static inline gboolean orr_grid_hint_at(const OrrGrid *grid, guint at, int kind,
                                        double *ret_value) {
  if (!grid->hints[kind] || isnan(grid->hints[kind][at])) return FALSE;
  *ret_value = grid->hints[kind][at];
  return TRUE;
}

/* Finds outliers, and makes holes of the rows that it excludes. */
void orr_grid_find_odd(OrrGrid *grid);
