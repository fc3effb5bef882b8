/*
 * ratio.c - the band of the ratio of two answers.
 */
#include "sim/bands/band.h"

#include <math.h>

OrrRatioBand orr_bands_ask_ratio(const OrrBands *bands, const OrrBandQuestion *question,
                                 const OrrLikenessRow *other, double ratio) {
  (void)bands, (void)other, (void)ratio;
  return (OrrRatioBand){.low = NAN,
                        .high = NAN,
                        .level = question->level,
                        .sure = NAN,
                        .reason = "nothing like it was measured"};
}
