/*
 * band_metrics.h - the results that can have a band: what each one is, so that a measurement of
 * another one may speak for it.
 */
#pragma once

#include "sim/base/ground.h"

/* The quantity that a result measures. Residuals of one quantity speak for another only where
 * distance.c says so. */
typedef enum {
  ORR_QUANTITY_STEP,    /* a step of training or post-training, its layers, a batch of pictures */
  ORR_QUANTITY_MEMORY,  /* peak memory */
  ORR_QUANTITY_FIRST,   /* time to the first token */
  ORR_QUANTITY_TOKEN,   /* time between tokens */
  ORR_QUANTITY_REQUEST, /* time to the last token */
  ORR_QUANTITY_SERVED,  /* output at full load */
  ORR_QUANTITY_CALL,    /* a collective */
  ORR_QUANTITY_POWER,   /* what a GPU draws */
  ORR_QUANTITY_ENERGY,  /* energy of a token */
  ORR_N_QUANTITIES
} OrrQuantity;

typedef struct {
  const char *kind, *metric;
  OrrQuantity quantity;
  gboolean is_rate; /* larger is faster */
  gboolean is_tail; /* a percentile above the median */
  /* Nobody measured it for this kind of work: only rows of other kinds speak for it. */
  gboolean is_borrowed;
} OrrBandMetric;

/* NULL: no band. */
const OrrBandMetric *orr_band_metrics_find(const char *kind, const char *metric);

/* Whether answers of @kind are compared with measurements at all. */
gboolean orr_band_metrics_has(const char *kind);

/* All metrics, ends with a NULL kind. */
extern const OrrBandMetric orr_band_metrics[];
