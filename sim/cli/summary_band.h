/*
 * summary_band.h - error bands as people read them: an answer with as many digits as its band
 * supports, and the band in words.
 *
 *   29.2 s (28.0 to 33.3, 80 % band from 106 measured steps like this one)
 *   0.92 s (0.70 to 1.90; weak: no measured run of this software on this device)
 *   17.64 s (no band: no measured run on this device)
 *
 *   7.20 s (7.26 to 8.09, measured runs show 6 % more, 80 % band from ...)
 *   7.20 s (7.02 to 7.81, measured runs take 4 % longer, 80 % band from ...): three in four
 *   rows of a good band lie on one side of the answer
 *
 * An answer is rounded so that half the width of its band keeps two digits.
 */
#ifndef ORR_SUMMARY_BAND_H
#define ORR_SUMMARY_BAND_H

#include "sim/cli/page.h"
#include "sim/run/answer/outcome.h"

G_BEGIN_DECLS

/* @value, which is the result @metric of @outcome or is known as well, rounded to the digits that
 * its band supports; unchanged without a band. */
double orr_summary_band_rounded(const OrrOutcome *outcome, const char *metric, double value);

/* @value with as many digits as bounds from @low to @high support, at most @decimals after the
 * point: 1741.4 from 1,600 to 1,900 is "1740". Without bounds (NAN) it has @decimals. Newly
 * allocated. */
char *orr_summary_band_digits(double value, double low, double high, int decimals);

/* The same for the result @metric of @outcome. Newly allocated. */
char *orr_summary_band_number(const OrrOutcome *outcome, const char *metric, double value,
                              int decimals);

/* The result @metric in @unit, rounded: "29.2 s". Newly allocated. */
char *orr_summary_band_value(const OrrOutcome *outcome, const char *metric, double value,
                             OrrUnit unit);

/* Its band in the same unit, which is named where @with_unit, without brackets: "28.0 to 33.3, 80 %
 * band from 106 measured steps like this one". Newly allocated; NULL: the outcome has no such
 * row. */
char *orr_summary_band_text(const OrrOutcome *outcome, const char *metric, OrrUnit unit,
                            gboolean with_unit);

/* Bounds of a spread about @value in the same style: "28.0 to 33.3 s". Newly allocated. */
char *orr_summary_band_range(double value, double low, double high, OrrUnit unit);

/* The lines of a serving run. */
void orr_summary_band_serving(OrrPage *page, const OrrOutcome *outcome);

/* Appends `, "iteration_time_s_low": ..., "iteration_time_s_expected": ..., ..., "band_level": ...,
 * "bands": [...]`. */
void orr_summary_band_json(GString *out, const OrrOutcome *outcome);

G_END_DECLS

#endif
