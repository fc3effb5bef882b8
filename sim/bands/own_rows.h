/*
 * own_rows.h - rows that the user measured on the machine of the question: they narrow its bands at
 * once, without a refit.
 *
 * What a band leaves open is mostly how this machine, software and model differ from measured ones;
 * rows of one campaign (a set's software and device) share it. So an own row shows where within its
 * band this machine lies. With z of a row: its log error, less the middle of its own band, over the
 * half width of that band, the z of the question is estimated by simple kriging (Matheron 1963,
 * Economic Geology 58):
 *
 *   cor(z_i, z_j) = 0.85 exp(-d(i, j) / 3)          d: band_private.h
 *   mean = r' R^-1 z,  variance = 1 - r' R^-1 r     r: with the question, R: among the rows
 *   times max(1, z' R^-1 z / n): n rows beyond their own bounds show that bands are too narrow here
 *
 * The band's middle moves by the mean and its width shrinks by the root of the variance. Both
 * constants come from pairs of rows of one campaign whose set does not speak
 * (tests/bands/test_own_rows.c holds coverage and width). Answers are not corrected.
 */
#pragma once

#include "sim/bands/band.h"

typedef struct OrrOwnRows OrrOwnRows;

/* Of @rows, which both @bands and the result borrow. Rows whose own band does not exist say
 * nothing. */
OrrOwnRows *orr_own_rows_new(const OrrBands *bands, const OrrResiduals *rows);
void orr_own_rows_free(OrrOwnRows *own); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrOwnRows, orr_own_rows_free)

/* Narrows @band, the answer to @question, by the own rows of its quantity. Returns how many spoke;
 * 0 leaves it unchanged. A band narrowed to two thirds or less is good: rows near it were measured
 * on its own machine. */
guint orr_own_rows_narrow(const OrrOwnRows *own, const OrrBandQuestion *question, OrrBand *band);

/* How wide @asked's band would be over what it is, with rows measured at the @n likenesses. */
double orr_own_rows_width(const OrrLikenessRow *asked, const OrrLikenessRow *rows, guint n);

/* A measurement that would help, and the band's width with it relative to the present one. */
typedef struct {
  const char *text; /* static: "2 runs at half and twice the load" */
  double width;
} OrrOwnAdvice;

/* Whether enough campaigns of @kind were measured to test what own rows are worth there
 * (tests/bands/test_own_rows.c); others have no advice. */
gboolean orr_own_rows_is_tested(const char *kind);

/* For an answer like @asked, what narrows its band most first. Of OrrOwnAdvice. */
GArray *orr_own_rows_advice(const OrrLikenessRow *asked);
