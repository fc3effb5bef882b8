/*
 * verb_compare.h - what the files of `orrery compare` share.
 */
#pragma once

#include "results/store.h"
#include "sim/base/library.h"

/* --- Three or more runs side by side (compare_many.c): the first is what the others are held
 * against --- */

enum { ORR_COMPARE_MANY_MOST = 20 }; /* runs */

/* The inputs that are not the same in all @runs: path, run_N, ... NULL with @error. */
OrrAnswer *orr_compare_many_inputs(OrrStore *store, const gint64 *runs, guint n, GError **error);

/* A row per result that is not 0 in all: metric, unit, and per run its value.
 * For people (@is_plain FALSE) a cell holds the value with its error band and its change against
 * the first run, "29.08 [28 to 33.1] -0.3 %"; otherwise each has a column of its own: run_N,
 * run_N_low, run_N_high, run_N_change_percent. */
OrrAnswer *orr_compare_many_results(OrrStore *store, const gint64 *runs, guint n, gboolean is_plain,
                                    GError **error);

/* --- Which of two stored runs is better, and how sure that is (compare_verdict.c): the band of the
 * ratio of their results (sim/bands/band.h) ---
 *
 *   run 2 is 1.10 times faster (1.04 to 1.15, 80 % band from 61 measured pairs): 97 % sure
 *   statistically tied: 0.97 to 1.08 times as fast (80 % band from 61 measured pairs)
 */

/* One result of both runs. */
typedef struct {
  char *metric;
  double other, this;      /* values */
  double ratio;            /* @this over @other */
  double low, high, level; /* bounds of that ratio as it would be measured; NAN: no band */
  gint64 n_pairs;
  double sure;         /* that the better run is the better one; NAN: no band */
  gboolean is_decided; /* the bounds exclude 1, on the side of @ratio */
  char *quality, *text;
} OrrVerdict;

typedef struct {
  char *differ;     /* "tp, micro-batch"; "" where the runs have no likeness */
  char *note;       /* why there is no verdict, or why to doubt them; NULL: none */
  GArray *verdicts; /* of OrrVerdict */
} OrrVerdicts;

/* The verdicts on run @this against run @other, which are of one kind. NULL with @error. */
OrrVerdicts *orr_compare_verdict_new(OrrLibrary *library, OrrStore *store, gint64 other,
                                     gint64 this, GError **error);
void orr_compare_verdict_free(OrrVerdicts *verdicts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrVerdicts, orr_compare_verdict_free)

/* As lines of text, a Markdown table, and members of a JSON object. Newly allocated. */
char *orr_compare_verdict_lines(const OrrVerdicts *verdicts);
char *orr_compare_verdict_markdown(const OrrVerdicts *verdicts);
char *orr_compare_verdict_json(const OrrVerdicts *verdicts);

/* --- Warnings of stored runs (compare_warnings.c) ---
 *
 * A run has stored its warnings. A point of a sweep has not: its scenario, the sweep's with the
 * point's settings, is read again for its caveats (caveats.h). */

/* Of char *: "runs 3, 4: optimistic: ...", each text once. NULL with @error. */
GPtrArray *orr_compare_warnings(OrrLibrary *library, OrrStore *store, const gint64 *runs, guint n,
                                GError **error);
