/*
 * band_private.h - what band.c, band_rows.c and ratio.c share. Private to sim/bands.
 */
#ifndef ORR_BAND_PRIVATE_H
#define ORR_BAND_PRIVATE_H

#include "sim/bands/band.h"
#include "sim/bands/band_metrics.h"
#include "sim/bands/distance.h"

G_BEGIN_DECLS

struct OrrBands {
  const OrrResiduals *residuals;
  OrrResiduals *own;        /* NULL: borrowed */
  OrrDistancePoint *points; /* of each row */
  /* Of each row, its answers' metrics, found once: a question looks at all of them. NULL: nothing
   * that has bands. */
  const OrrBandMetric *(*metrics)[ORR_RESIDUAL_ANSWERS];
  char *stale;
};

/* Weights fall as exp(-1.5 (distance / bandwidth)^2) from 1 for the nearest. The bandwidth is the
 * distance of row ORR_BAND_NEAREST, so that the search widens where little is near, plus
 * ORR_BAND_LEAST, so that rows at distance 0 do not take all the weight. */
#define ORR_BAND_NEAREST 25
#define ORR_BAND_LEAST 0.3

/* The row ORR_BAND_FEWEST decides the quality. */
#define ORR_BAND_FEWEST 12

/* A measured answer at some distance from a question. */
typedef struct {
  double distance;
  guint row, answer;
  double weight; /* above 0 to 1 */
} OrrBandNear;

static inline const OrrResidual *orr_band_residual(const OrrBands *bands, guint row) {
  return &g_array_index(bands->residuals->rows, OrrResidual, row);
}

/* The answer of @row that is nearest to @quantity, and what its quantity adds to the distance;
 * FALSE: none speaks for it. */
gboolean orr_band_nearest_answer(const OrrBands *bands, guint row, OrrQuantity quantity,
                                 guint *ret_answer, double *ret_added);

/* log(measured / simulated) of a time, or of the time that a rate stands for. */
double orr_band_log_error(const OrrBands *bands, guint row, guint answer);

/* The weight of a row at @distance where the nearest is at @nearest. */
double orr_band_weight(double distance, double nearest, double bandwidth);

/* Whether both rows are of one campaign: one set, software and device. */
gboolean orr_band_is_same_campaign(const OrrResidual *a, const OrrResidual *b);

/* All measured answers that speak for @quantity, heaviest first; of OrrBandNear, whose weights sum
 * to much more than 1. *@ret_n: campaigns of equal weight that the weights are worth. */
GArray *orr_band_far_rows(const OrrBands *bands, const OrrBandQuestion *question,
                          OrrQuantity quantity, double *ret_n);

/* How much wider bounds at @level are than the quantiles of such rows. */
double orr_band_far_widening(double n_campaigns, double level);

/* What the bands of all metrics of one quantity have in common, and what takes the time to find:
 * the nearest measured answers with their weights, and the band of a time. */
typedef struct {
  GArray *near;
  OrrBand band;
} OrrBandBase;

void orr_band_base_init(OrrBandBase *base, const OrrBands *bands, const OrrBandQuestion *question,
                        OrrQuantity quantity);
void orr_band_base_clear(OrrBandBase *base);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrBandBase, orr_band_base_clear)

/* orr_bands_ask for @metric, where @base is of its quantity. */
OrrBand orr_band_of_base(const OrrBands *bands, const OrrBandQuestion *question,
                         const OrrBandMetric *metric, const OrrBandBase *base, GArray *sources);

G_END_DECLS

#endif
