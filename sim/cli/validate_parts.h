/*
 * validate_parts.h - the errors of a set grouped by part, when its `validation:` section assigns
 * rows to parts.
 */
#ifndef ORR_VALIDATE_PARTS_H
#define ORR_VALIDATE_PARTS_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

/* Prints one line per part and result, in the order of the rows. FALSE: the set has no parts, and
 * nothing was printed. */
gboolean orr_validate_parts_print(const OrrValidation *validation);

/* Appends `, "parts": [{"part": ..., "metric": ..., "n": ..., "mape": ..., "bias": ...,
 * "median": ...}, ...]`, or nothing for a set without parts. */
void orr_validate_parts_json(GString *out, const OrrValidation *validation);

G_END_DECLS

#endif
