/*
 * crossval.h - how far a profile's answers are from measurements that they did not see.
 *
 * Cross-validation leaves whole shapes out: of a GEMM table all rows of an (n, k), of an attention
 * table all lengths of a (head size, heads, key heads, batch), of collectives a size for all
 * groups, of experts a layer and its split, of what exchanges their tokens a group and a layer.
 * Shapes are dealt into ORR_CROSSVAL_FOLDS folds by a fixed shuffle; a cost model is made from the
 * table without one fold and asked for it, each fold in turn.
 *
 * Invariants: 1. A shape that is asked for has no row in the model that answers; the constants of
 * the profile are the same. 2. The same profile gives the same points, in the same order. 3. Every
 * row of the table is asked for once.
 *
 * A row that the rest of its table does not reach (the largest n, say) is asked all the same; it
 * counts in `all` and in the region `outside`, and in no other region.
 */
#ifndef ORR_CROSSVAL_H
#define ORR_CROSSVAL_H

#include "calibration/cost/cost.h"

G_BEGIN_DECLS

enum { ORR_CROSSVAL_FOLDS = 7, ORR_CROSSVAL_KEYS = 7 };

/* Error of a point: modelled over measured, less one. mape, median, p90, worst are of its size,
 * bias is its mean; p90 is the nearest rank. Shares, not per cent; NAN without points. */
typedef struct {
  guint n;
  double mape, bias, median, p90, worst;
} OrrErrors;

typedef struct {
  double keys[ORR_CROSSVAL_KEYS]; /* the shape, as orr_crossval_shape names it */
  double measured_s, modelled_s;
  OrrHow how; /* of the model that did not see it */
  guint region;
} OrrCrossvalPoint;

typedef struct {
  const struct OrrCrossvalFamily *family;
  char *label;    /* "gemm bf16", "attention decode bf16/fp8", "all_reduce" */
  GArray *points; /* OrrCrossvalPoint */
} OrrCrossvalTable;

/* What can be left out, by the name of its validation set: gemm, attention, collectives,
 * dispatch, moe. NULL-terminated. */
extern const char *const orr_crossval_families[];

/* A table for each of the profile's; none where it has no rows. @family NULL: of all. Of
 * OrrCrossvalTable, owned. */
GPtrArray *orr_crossval_run(const OrrProfile *profile, const OrrDevice *device, const char *family,
                            GError **error);

/* NULL-terminated names of the table's regions; the last one is "outside". */
const char *const *orr_crossval_regions(const OrrCrossvalTable *table);

/* "m 128 n 4096 k 4096"; newly allocated. */
char *orr_crossval_shape(const OrrCrossvalTable *table, const OrrCrossvalPoint *point);

/* Of the points of one region; -1: of all. */
OrrErrors orr_crossval_errors(const OrrCrossvalTable *table, int region);

/* The section `errors` of a profile as YAML, beginning with `errors:`; "" where no table has a
 * point. @tables: of orr_crossval_run. Newly allocated. */
char *orr_crossval_yaml(const GPtrArray *tables);

/* Of errors (array of double, in any order; it is sorted by size). */
OrrErrors orr_errors_of(GArray *errors);

G_END_DECLS

#endif
