/*
 * validate_group.h - what `orrery validate GROUP` prints: a line a set, and all of them together.
 *
 * Rates (tokens/s, TFLOP/s, MFU) are told as the times that they stand for, so that above 0 always
 * means that the simulation is slower; memory is told apart from times. A set's rows are not
 * printed, only the worst of all.
 */
#ifndef ORR_VALIDATE_GROUP_H
#define ORR_VALIDATE_GROUP_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

/* @validations: of OrrValidation *, none of costs. */
void orr_validate_group_print(const char *group, GPtrArray *validations);

/* The error of a row as one of time (or of memory): measured / simulated - 1 where the metric is
 * a rate. */
double orr_validate_group_error(const OrrValidationRow *row);

/* A reason without what differs from row to row: where it is (file:line:column) and its numbers. */
char *orr_validate_group_reason(const char *reason);

G_END_DECLS

#endif
