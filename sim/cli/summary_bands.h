/*
 * summary_bands.h - prints how well error bands keep their promise (`orrery validate --bands`).
 */
#ifndef ORR_SUMMARY_BANDS_H
#define ORR_SUMMARY_BANDS_H

#include "sim/validate/validate_pairs.h"

G_BEGIN_DECLS

/* Two tables: coverage and width by set and in sums; pairs by set, by axis and in sums. @pairs: of
 * OrrBandsPair. */
void orr_summary_bands_text(const OrrValidateBands *bands, const GArray *pairs);

/* The same as one JSON object. */
void orr_summary_bands_json(const OrrValidateBands *bands, const GArray *pairs);

G_END_DECLS

#endif
