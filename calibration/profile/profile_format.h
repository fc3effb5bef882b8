/*
 * profile_format.h - the number formats as tables of measurements name them.
 */
#ifndef ORR_PROFILE_FORMAT_H
#define ORR_PROFILE_FORMAT_H

#include "sim/base/dtype.h"

G_BEGIN_DECLS

/* The format that a collector calls @word ("bfloat16", "half", "fp8_block" ..., or one of
 * orr_dtype_names). FALSE: unknown. */
gboolean orr_profile_format(const char *word, OrrDtype *ret_dtype);

G_END_DECLS

#endif
