/*
 * validate_group.h - the output of `orrery validate GROUP`: one line per set, and one for all sets.
 *
 * Rates (tokens/s, TFLOP/s, MFU) are converted to times, so that an error above 0 always means that
 * the simulation is slower than the measurement. Errors of memory are listed separately. Of the
 * rows, only the worst of all sets are printed.
 */
#ifndef ORR_VALIDATE_GROUP_H
#define ORR_VALIDATE_GROUP_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

/* @validations: an array of OrrValidation *, without sets of costs. */
void orr_validate_group_print(const char *group, GPtrArray *validations);

/* The relative error of a row, in time or in memory: measured / simulated - 1 when the metric is a
 * rate, else simulated / measured - 1. */
double orr_validate_group_error(const OrrValidationRow *row);

/* @reason without the details that differ from row to row: its place (file:line:column), its
 * numbers (each becomes N), and lists of allowed values. Newly allocated. */
char *orr_validate_group_reason(const char *reason);

G_END_DECLS

#endif
