/*
 * validate_bands.h - asks measured answers for their own bands: the test of what bands promise.
 *
 * An answer that was measured may not speak for itself. What is left out decides which promise is
 * tested:
 *
 *   set       all rows of its validation set: a user whose runs are unlike all sets (the default)
 *   row       its own row alone: a user whose runs are like a set's
 *   nothing   for rows that the residuals do not hold
 *
 * In addition to its band each answer gets a constant one: the quantiles of all other residuals of
 * the same quantity, equally weighted, at the same level and with the same rows left out. A band
 * that is not narrower than that gains nothing from likeness.
 */
#ifndef ORR_VALIDATE_BANDS_H
#define ORR_VALIDATE_BANDS_H

#include "sim/bands/band.h"
#include "sim/bands/band_metrics.h"

G_BEGIN_DECLS

typedef enum {
  ORR_VALIDATE_BANDS_SET,
  ORR_VALIDATE_BANDS_ROW,
  ORR_VALIDATE_BANDS_NOTHING,
  ORR_VALIDATE_BANDS_MODEL, /* all rows of its model, and so on */
  ORR_VALIDATE_BANDS_STACK,
  ORR_VALIDATE_BANDS_DEVICE,
  ORR_VALIDATE_BANDS_CLUSTER
} OrrValidateBandsLeave;
extern const char *const orr_validate_bands_leave_words[]; /* "set", "row", ..., NULL */

/* The levels that are asked for. */
enum { ORR_VALIDATE_BANDS_LEVELS = 2 };
extern const double orr_validate_bands_levels[ORR_VALIDATE_BANDS_LEVELS]; /* 0.8, 0.5 */

/* Bounds of the error, as the logarithms of what a measurement is over the answer, in time (a
 * rate's are inverted). NAN: no bounds. */
typedef struct {
  double low, high;
} OrrBandsBounds;

/* A measured answer with its bands. */
typedef struct {
  const OrrResidual *residual;
  const OrrResidualAnswer *answer;
  const OrrBandMetric *metric;
  double log_error; /* log(measured / simulated) of a time; a rate's is inverted */
  OrrBandQuality quality;
  OrrBandsBounds bands[ORR_VALIDATE_BANDS_LEVELS];
  OrrBandsBounds constants[ORR_VALIDATE_BANDS_LEVELS];
  double median; /* of the residuals that make the constants */
} OrrBandsCheck;

/* The shipped residuals of one kind of workload. */
typedef struct {
  const char *kind;
  OrrResiduals *residuals;
  OrrBands *bands;
} OrrBandsKind;

typedef struct {
  OrrValidateBandsLeave leave;
  GArray *kinds;  /* of OrrBandsKind */
  GArray *checks; /* of OrrBandsCheck, by kind, set and row */
} OrrValidateBands;

/* Checks the residuals of @sets (NULL: all). NULL with @error where a file is bad or holds no row
 * of them. */
OrrValidateBands *orr_validate_bands_new(OrrLibrary *library, char *const *sets,
                                         OrrValidateBandsLeave leave, GError **error);

/* Checks @rows instead, which must outlive it, against the shipped residuals. */
OrrValidateBands *orr_validate_bands_of_rows(OrrLibrary *library, const OrrResiduals *rows,
                                             OrrValidateBandsLeave leave, GError **error);

void orr_validate_bands_free(OrrValidateBands *bands);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrValidateBands, orr_validate_bands_free)

/* The bands of @kind; NULL: none. */
const OrrBands *orr_validate_bands_of_kind(const OrrValidateBands *bands, const char *kind);

/* Why the bands cannot be trusted (orr_bands_stale); NULL: they can. */
const char *orr_validate_bands_stale(const OrrValidateBands *bands);

/* The question for @check's band at @level, with what @bands leaves out. */
OrrBandQuestion orr_validate_bands_question(const OrrValidateBands *bands,
                                            const OrrBandsCheck *check, double level);

G_END_DECLS

#endif
