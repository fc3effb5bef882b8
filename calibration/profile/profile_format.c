/*
 * profile_format.c - number formats by the words of collectors: PyTorch's, aiconfigurator's, ours.
 */
#include "calibration/profile/profile.h"

gboolean orr_profile_format(const char *word, OrrDtype *ret_dtype) {
  static const struct {
    const char *word;
    OrrDtype dtype;
  } words[] = {{"bfloat16", ORR_BF16}, {"float16", ORR_FP16}, {"half", ORR_FP16},
               {"float", ORR_FP32},    {"float32", ORR_FP32}, {"fp8_block", ORR_FP8},
               {"nvfp4", ORR_FP4},     {"mxfp4", ORR_FP4}};
  for (int d = 0; d < ORR_N_DTYPES; d++)
    if (strcmp(word, orr_dtype_names[d]) == 0) {
      *ret_dtype = (OrrDtype)d;
      return TRUE;
    }
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (strcmp(word, words[i].word) == 0) {
      *ret_dtype = words[i].dtype;
      return TRUE;
    }
  return FALSE;
}
