/*
 * validate_parts.h - errors of a set part by part, where its `validation:` section says what part a
 * row is of.
 */
#ifndef ORR_VALIDATE_PARTS_H
#define ORR_VALIDATE_PARTS_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

/* A line for each part and result, in the order of the rows. FALSE: the set has no parts, and
 * nothing is printed. */
gboolean orr_validate_parts_print(const OrrValidation *validation);

/* `, "parts": [{"part": ..., "metric": ..., "n": ..., "mape": ..., "bias": ..., "median": ...},
 * ...]`, or nothing. */
void orr_validate_parts_json(GString *out, const OrrValidation *validation);

G_END_DECLS

#endif
