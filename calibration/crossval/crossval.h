/*
 * crossval.h - cross-validation: the errors of a profile's answers for measurements that it did not
 * see.
 *
 * Whole shapes are left out: of a GEMM table all rows of an (n, k), of an attention table all
 * lengths of a (head size, heads, key heads, batch), of collectives one size for all groups, of
 * experts one layer and its split, of exchanges of tokens one group and layer, of sparse and
 * linear attention one (operation, heads, sequences, queries, keys) on all devices and engines.
 * Shapes are dealt into ORR_CROSSVAL_FOLDS folds by a fixed shuffle; for each fold in turn, a cost
 * model is made
 * from the table without it and queried for it.
 *
 * Invariants: 1. The model that answers has no row of the shape queried; the constants of the
 * profile are the same. 2. The same profile gives the same points, in the same order. 3. Every row
 * of the table is queried once.
 *
 * A row beyond the range of the rest of its table (the largest n, say) is queried too; it counts in
 * `all` and in the region `outside`, and in no other region.
 */
#pragma once

#include "calibration/cost/cost.h"

enum { ORR_CROSSVAL_FOLDS = 7, ORR_CROSSVAL_KEYS = 7 };

/* Error of a point: modelled over measured, minus one. bias is the mean error; mape, median, p90
 * (nearest rank) and worst are of the absolute error. Fractions, not per cent; NAN without
 * points. */
typedef struct {
  guint n;
  double mape, bias, median, p90, worst;
} OrrErrors;

typedef struct {
  double keys[ORR_CROSSVAL_KEYS]; /* the shape; orr_crossval_shape prints it */
  double measured_s, modelled_s;
  OrrHow how; /* how the model without it knew */
  guint region;
} OrrCrossvalPoint;

typedef struct {
  const struct OrrCrossvalFamily *family;
  char *label;    /* "gemm bf16", "attention decode bf16/fp8", "all_reduce" */
  GArray *points; /* OrrCrossvalPoint */
} OrrCrossvalTable;

/* The families, by the name of their validation set: gemm, attention, collectives, dispatch,
 * linear-attention, moe, sparse-attention. NULL-terminated. */
extern const char *const orr_crossval_families[];

/* One OrrCrossvalTable per table of the profile with rows, owned. @family NULL: of all families. */
GPtrArray *orr_crossval_run(const OrrProfile *profile, const OrrDevice *device, const char *family,
                            GError **error);

/* NULL-terminated names of the table's regions; the last one is "outside". */
const char *const *orr_crossval_regions(const OrrCrossvalTable *table);

/* "m 128 n 4096 k 4096"; newly allocated. */
char *orr_crossval_shape(const OrrCrossvalTable *table, const OrrCrossvalPoint *point);

/* Errors of the points of one region; -1: of all. */
OrrErrors orr_crossval_errors(const OrrCrossvalTable *table, int region);

/* The section `errors` of a profile as YAML, beginning with `errors:`; "" where no table has a
 * point. @tables: of orr_crossval_run. Newly allocated. */
char *orr_crossval_yaml(const GPtrArray *tables);

/* Sums up errors (array of double, which it sorts by size). */
OrrErrors orr_errors_of(GArray *errors);

/* crossval_plot.c: modelled against measured, drawn by gnuplot
 * (calibration/plots/measured-modelled.gp). */

/* One block per table, separated by two empty lines for gnuplot's `index`: a title, then
 * measured and modelled microseconds and the error in percent. Of a long table only every k-th
 * point, so that about @max_points remain. */
char *orr_crossval_plot_data(const GPtrArray *tables, guint max_points);

/* Writes OUTPUT.dat and draws @output (.svg, .png, .pdf) with @script. FALSE with
 * ORR_FAULT_RESOURCE where gnuplot is missing or fails: the message says what to install and how
 * to draw the data then, which stay; with ORR_FAULT_USAGE for another suffix. */
gboolean orr_crossval_plot(const GPtrArray *tables, const char *title, const char *script,
                           const char *output, GError **error);
