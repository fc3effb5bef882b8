/*
 * summary_validate.h - the comparison of simulations with measurements, as text for people and as
 * JSON for programs.
 */
#ifndef ORR_SUMMARY_VALIDATE_H
#define ORR_SUMMARY_VALIDATE_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

/* Prints one set: its rows or its costs, the statistics, and the worst rows. */
void orr_summary_validate_set(const OrrValidation *validation);

/* Prints the statistics and the worst rows of @all, which merges @n_sets sets. */
void orr_summary_validate_all(const OrrValidation *all, guint n_sets);

/* Prints the stacks that rows without one took, with how many comparisons rest on them. */
void orr_summary_validate_assumed(const OrrValidation *validation);

/* Prints all sets (of OrrValidation *) and the statistics of @all as one JSON object. */
void orr_summary_validate_json(const GPtrArray *validations, const OrrValidation *all);

G_END_DECLS

#endif
