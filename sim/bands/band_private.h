/*
 * band_private.h - what band.c and ratio.c share. Private to sim/bands.
 */
#ifndef ORR_BAND_PRIVATE_H
#define ORR_BAND_PRIVATE_H

#include "sim/bands/band.h"
#include "sim/bands/distance.h"

G_BEGIN_DECLS

struct OrrBands {
  const OrrResiduals *residuals;
  OrrResiduals *own;        /* NULL: borrowed */
  OrrDistancePoint *points; /* of each row */
  char *stale;
};

/* Weights fall as exp(-1.5 (distance / bandwidth)^2) from 1 for the nearest. The bandwidth is the
 * distance of row ORR_BAND_NEAREST, so that the search widens where little is near, plus
 * ORR_BAND_LEAST, so that rows at distance 0 do not take all the weight. */
#define ORR_BAND_NEAREST 25
#define ORR_BAND_LEAST 0.3

/* The row ORR_BAND_FEWEST decides the quality. */
#define ORR_BAND_FEWEST 12

static inline const OrrResidual *orr_band_residual(const OrrBands *bands, guint row) {
  return &g_array_index(bands->residuals->rows, OrrResidual, row);
}

/* Whether @residual must not speak for @question. */
gboolean orr_band_is_left_out(const OrrBandQuestion *question, const OrrResidual *residual);

/* The answer of a row that is nearest to @quantity, and what its quantity adds to the distance;
 * FALSE: none speaks for it. */
gboolean orr_band_nearest_answer(const OrrResidual *residual, OrrQuantity quantity,
                                 guint *ret_answer, double *ret_added);

/* log(measured / simulated) of a time, or of the time that a rate stands for. */
double orr_band_log_error(const OrrResidual *residual, guint answer);

/* The weight of a row at @distance where the nearest is at @nearest. */
double orr_band_weight(double distance, double nearest, double bandwidth);

G_END_DECLS

#endif
