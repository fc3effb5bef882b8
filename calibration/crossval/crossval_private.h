/*
 * crossval_private.h - the interface of a family of cross-validation, and helpers for families.
 * Only crossval*.c and thin.c include it.
 *
 * To add a family: a file crossval_NAME.c with one `const OrrCrossvalFamily`, and its place in the
 * array of crossval.c.
 */
#pragma once

#include "calibration/cost/cost_tables.h"
#include "calibration/crossval/crossval.h"

/* One fold of one table: the rest of the profile, and the points to query. */
typedef struct {
  /* The profile with only that table, without the rows left out; its arrays are borrowed, or
   * owned by `owned`. */
  OrrProfile rest;
  GPtrArray *owned; /* frees what `rest` needs (orr_crossval_own) */
  GArray *left_out; /* OrrCrossvalPoint: keys and measured_s */
} OrrCrossvalFold;

typedef struct OrrCrossvalFamily {
  const char *name;
  const char *const *keys;    /* names of the keys of a point, NULL-terminated */
  const char *const *regions; /* NULL-terminated, "outside" last */
  guint (*n_tables)(const OrrProfile *profile);
  char *(*label)(const OrrProfile *profile, guint table);
  /* Fills @ret_fold, whose `rest` has no tables yet. FALSE with @error where a text is not a
   * list of numbers. */
  gboolean (*leave_out)(const OrrProfile *profile, guint table, guint fold,
                        OrrCrossvalFold *ret_fold, GError **error);
  OrrCost (*query)(const OrrCostModel *model, const OrrProfile *profile, guint table,
                   const OrrCrossvalPoint *point);
  guint (*region)(const OrrCostModel *model, const OrrProfile *profile, guint table,
                  const OrrCrossvalPoint *point);
} OrrCrossvalFamily;

/* A fold of @profile whose `rest` keeps the constants and the list of kernels, and has no
 * tables. */
void orr_crossval_fold_init(OrrCrossvalFold *fold, const OrrProfile *profile);
void orr_crossval_fold_clear(OrrCrossvalFold *fold);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCrossvalFold, orr_crossval_fold_clear)

extern const OrrCrossvalFamily orr_crossval_attention, orr_crossval_collectives,
    orr_crossval_dispatch, orr_crossval_gemm, orr_crossval_linear_attention, orr_crossval_moe,
    orr_crossval_sparse_attention;

/* The fold of the @shape-th shape, by a hash, so that neighbours in a table land in different
 * folds. */
guint orr_crossval_fold_of(guint shape);

/* A copy of a list of rows without @fold's; the profile still owns the rows. */
GPtrArray *orr_crossval_rest(const GPtrArray *rows, guint fold, OrrCrossvalFold *into);

/* A copy of a struct of @size, owned by the fold. */
gpointer orr_crossval_own(OrrCrossvalFold *fold, gconstpointer data, gsize size);
char *orr_crossval_own_text(OrrCrossvalFold *fold, char *text);
/* A copy of @array, whose memory is the fold's: the model reads len and pdata and no more. */
GPtrArray *orr_crossval_own_array(OrrCrossvalFold *fold, const GPtrArray *array);
/* An array of the one pointer, owned by the fold. */
GPtrArray *orr_crossval_own_list(OrrCrossvalFold *fold, gpointer only);

/* The region of a kernel by the largest term of its roofline: latency, memory or compute, as an
 * index into orr_crossval_bounds. */
guint orr_crossval_bound(const OrrCostModel *model, OrrDtype dtype, double flops, double bytes);
extern const char *const orr_crossval_bounds[];
