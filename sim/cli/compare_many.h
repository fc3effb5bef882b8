/*
 * compare_many.h - three or more runs side by side: the first is what the others are held against.
 */
#ifndef ORR_COMPARE_MANY_H
#define ORR_COMPARE_MANY_H

#include "results/store.h"

G_BEGIN_DECLS

enum { ORR_COMPARE_MANY_MOST = 20 }; /* runs */

/* The inputs that are not the same in all @runs: path, run_N, ... NULL with @error. */
OrrAnswer *orr_compare_many_inputs(OrrStore *store, const gint64 *runs, guint n, GError **error);

/* A row per result that is not 0 in all: metric, unit, and per run its value.
 * For people (@is_plain FALSE) a cell holds the value with its error band and its change against
 * the first run, "29.08 [28 to 33.1] -0.3 %"; otherwise each has a column of its own: run_N,
 * run_N_low, run_N_high, run_N_change_percent. */
OrrAnswer *orr_compare_many_results(OrrStore *store, const gint64 *runs, guint n, gboolean is_plain,
                                    GError **error);

G_END_DECLS

#endif
