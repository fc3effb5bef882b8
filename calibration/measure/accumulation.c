/*
 * accumulation.c - states which products accumulate fast, and the word for it in a row.
 */
#include "calibration/measure/accumulation.h"

#include "calibration/measure/family.h"

gboolean orr_accumulation_is_fast(gboolean is_forward) { return is_forward; }

const char *orr_accumulation_word(const OrrShape *shape) {
  const char *family = shape->family->entry.name;
  const gboolean is_gemm = strcmp(family, "gemm") == 0;
  if (!is_gemm && strcmp(family, "moe-ffn") != 0) return NULL;
  const char *dtype = orr_shape_word(shape, "dtype");
  if (strcmp(dtype, "fp8") != 0 && strcmp(dtype, "mxfp8") != 0) return NULL;
  const gboolean is_forward = !is_gemm || strcmp(orr_shape_word(shape, "layout"), "forward") == 0;
  return orr_accumulation_is_fast(is_forward) ? "fast-accumulation" : "full-accumulation";
}
