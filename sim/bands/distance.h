/*
 * distance.h - how unlike two answers are, for what decides errors.
 *
 *   d(a, b) = sum over texts of w [a != b] + sum over sizes of w |log2 a - log2 b|
 *           + sum over fractions of w |a - b| + w |release a - release b| in years
 *           + w (extras that one of both uses)
 *
 * Where the weights come from: tests/bands/fit.py searches for the least interval score (Gneiting,
 * Raftery 2007) of bands whose own validation set, or own row, is left out. Its search was run with
 * 40 rows to the bandwidth and rounded to one digit. Three are assumed: scale_up's, so that a
 * machine without NVLink is far from one with it; an extra's; and the distances between related
 * quantities. A number that only one of both has counts as three octaves.
 */
#ifndef ORR_DISTANCE_H
#define ORR_DISTANCE_H

#include "sim/bands/band_metrics.h"
#include "results/rows/rows.h"

G_BEGIN_DECLS

enum { ORR_DISTANCE_TERMS = 40 };

/* A likeness made ready: sizes as logarithms, absent fractions as 0. */
typedef struct {
  double numbers[ORR_DISTANCE_TERMS];
  const char *texts[ORR_DISTANCE_TERMS];
  guint32 extras; /* orr_extras_bits */
} OrrDistancePoint;

OrrDistancePoint orr_distance_point(const OrrLikenessRow *row);

double orr_distance(const OrrDistancePoint *a, const OrrDistancePoint *b);

/* The same, but INFINITY as soon as it is beyond @limit: most rows are far from a question. */
double orr_distance_within(const OrrDistancePoint *a, const OrrDistancePoint *b, double limit);

/* What is added where a measurement of @measured speaks for @asked; INFINITY: it does not. */
double orr_distance_of_quantities(OrrQuantity asked, OrrQuantity measured);

/* How differently two pairs differ: the distance between a - b and c - d, where a text differs if
 * one pair changes it and the other does not. */
double orr_distance_of_changes(const OrrDistancePoint *a, const OrrDistancePoint *b,
                               const OrrDistancePoint *c, const OrrDistancePoint *d);

G_END_DECLS

#endif
