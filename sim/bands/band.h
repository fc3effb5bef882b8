/*
 * band.h - error bands: between which bounds a measurement would lie, at some level.
 *
 * The residuals (residuals.h) of the measured rows that are most like the question say how far
 * Orrery has been off: their weights fall with distance (distance.c), and a weighted quantile with
 * a finite-sample correction gives the bounds (conformal.h). A band says how well its question is
 * known:
 *
 *   good   enough measured rows are like the question
 *   weak   the nearest measured rows differ in something that decides errors; `reason` says what.
 *          Where all rows are far, the bounds come from all of the quantity's rows, with the same
 *          say for each campaign, and are as wide as such rows differ
 *   none   nothing of the kind was measured, or too little: there are no bounds
 *
 * The answer itself is never corrected: `bias` shows the mean error of the rows. Where rows were
 * all off to one side, the answer can lie outside its own band: every output that prints the band
 * then says by how much measurements differ.
 */
#pragma once

#include "sim/bands/residuals.h"

/* The level of bands where nobody asks for another. */
#define ORR_BAND_LEVEL 0.8

typedef enum { ORR_BAND_NONE, ORR_BAND_WEAK, ORR_BAND_GOOD } OrrBandQuality;
extern const char *const orr_band_quality_words[]; /* "none", "weak", "good", NULL */

typedef struct {
  OrrBandQuality quality;
  /* The ratio of measurement to answer, at the level's bounds: 0.95, 1.06. NAN: none. */
  double low, high;
  double middle; /* the median of measured rows, which most often lies between them; NAN: none */
  double level;
  guint n_rows;       /* measured rows that carry weight */
  double bias;        /* mean of simulated / measured - 1 over them */
  double sided;       /* fraction of their weight on the middle's side of the answer; NAN: none */
  const char *reason; /* interned; why it is weak or none, "" for good */
} OrrBand;

/* No band, for @reason (interned). */
OrrBand orr_band_none(double level, const char *reason);

/* The `sided` from which rows agree that the answer is off to one side: half of the measured rows
 * lie between the quartiles, which then do not hold the answer. */
#define ORR_BAND_SIDED 0.75

/* From the band of a time to the band of its rate, or back. */
void orr_band_invert(OrrBand *band);

/* A measured row that speaks for an answer. */
typedef struct {
  const OrrResidual *residual;
  const OrrResidualAnswer *answer;
  double weight; /* fraction of all weights */
} OrrBandSource;

/* The residuals of one kind of workload, ready for questions. */
typedef struct OrrBands OrrBands;

/* Reads the residuals of @kind ("training"). NULL with @error where the file is bad. A library
 * without the file gives bands that are all `none`. */
OrrBands *orr_bands_new(OrrLibrary *library, const char *kind, GError **error);
/* Of @residuals, which must outlive it. */
OrrBands *orr_bands_of(const OrrResiduals *residuals);
void orr_bands_free(OrrBands *bands);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrBands, orr_bands_free)

/* Why the bands cannot be trusted: another revision of the model computed the residuals. NULL: this
 * program computed them. */
const char *orr_bands_stale(const OrrBands *bands);

typedef struct {
  const OrrLikenessRow *likeness;
  const char *metric; /* "iteration_time_s", "ttft_p99_s": band_metrics.h lists them */
  double level;       /* above 0 and below 1 */
  /* Rows that do not speak: all of this set (NULL: none), or one row of it (0: the whole set). */
  const char *without_set; /* interned */
  gint64 without_row;
  /* The offset of a text of OrrLikenessRow, such as device: rows that share the question's do not
   * speak; 0: none. */
  size_t without_trait;
} OrrBandQuestion;

/* Whether @residual must not speak for @question. */
gboolean orr_band_is_left_out(const OrrBandQuestion *question, const OrrResidual *residual);

/* The band of one answer. @sources, if not NULL, gets OrrBandSource, heaviest first. */
OrrBand orr_bands_ask(const OrrBands *bands, const OrrBandQuestion *question, GArray *sources);
/* The bands of one answer at each of @n levels; the question's level is not read. */
void orr_bands_ask_levels(const OrrBands *bands, const OrrBandQuestion *question,
                          const double *levels, guint n, OrrBand *ret_bands);

/* The band of the ratio of two answers that one program computed: errors that both share cancel. */
typedef struct {
  OrrBandQuality quality;
  double low, high; /* bounds of the measured ratio over the computed one */
  double level;
  guint n_pairs; /* measured pairs that differ in the same way */
  /* The weight of measured pairs that would leave the order of the two answers as computed: 0.93.
   * NAN: none. */
  double sure;
  const char *reason;
} OrrRatioBand;

/* Of @question's answer over @other's; @ratio: as computed. */
OrrRatioBand orr_bands_ask_ratio(const OrrBands *bands, const OrrBandQuestion *question,
                                 const OrrLikenessRow *other, double ratio);

/* Adds the scenario's caveats except devices' (caveats.h) to the outcome's warnings, and the
 * outcome's rows `likeness`, `band` (for each metric that it has) and `band_source`. A fault of the
 * file of residuals is a warning of the outcome, since answers do not depend on it. */
void orr_bands_add(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                   double level);
/* The same, where @own (NULL: none) narrows bands (own_rows.h): rows measured on the machine. */
void orr_bands_add_own(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                       double level, const OrrResiduals *own);

/* The band row of @metric in @outcome; NULL: it has none. */
const OrrBandRow *orr_bands_row(const OrrOutcome *outcome, const char *metric);
