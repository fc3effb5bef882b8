/*
 * profile_format.h - the number formats as tables of measurements name them.
 */
#pragma once

#include "sim/base/dtype.h"

/* The format that a collector calls @word ("bfloat16", "half", "fp8_block" ..., or one of
 * orr_dtype_names). FALSE: unknown. */
gboolean orr_profile_format(const char *word, OrrDtype *ret_dtype);
