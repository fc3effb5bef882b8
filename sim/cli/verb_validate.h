/*
 * verb_validate.h - what the files of `orrery validate` share: the summaries of sets, of a group of
 * sets, of the parts of a set, and of error bands.
 */
#pragma once

#include "sim/validate/validate.h"
#include "sim/validate/validate_bands.h"

/* --- Sets (summary_validate.c) --- */

/* Prints one set: its rows or its costs, the statistics, and the worst rows. */
void orr_summary_validate_set(const OrrValidation *validation);

/* Prints the statistics and the worst rows of @all, which merges @n_sets sets. */
void orr_summary_validate_all(const OrrValidation *all, guint n_sets);

/* Prints the stacks that rows without one took, with how many comparisons rest on them. */
void orr_summary_validate_assumed(const OrrValidation *validation);

/* Prints all sets (of OrrValidation *) and the statistics of @all as one JSON object. */
void orr_summary_validate_json(const GPtrArray *validations, const OrrValidation *all);

/* --- Parts of a set, where its `validation:` section assigns rows to parts (validate_parts.c) ---
 */

/* Prints one line per part and result, in the order of the rows. FALSE: the set has no parts, and
 * nothing was printed. */
gboolean orr_validate_parts_print(const OrrValidation *validation);

/* Appends `, "parts": [{"part": ..., "metric": ..., "n": ..., "mape": ..., "bias": ...,
 * "median": ...}, ...]`, or nothing for a set without parts. */
void orr_validate_parts_json(GString *out, const OrrValidation *validation);

/* --- A group of sets: one line per set, and one for all sets (validate_group.c) ---
 *
 * Rates (tokens/s, TFLOP/s, MFU) are converted to times, so that an error above 0 always means that
 * the simulation is slower than the measurement. Errors of memory are listed separately. Of the
 * rows, only the worst of all sets are printed. */

/* @validations: an array of OrrValidation *, without sets of costs. */
void orr_validate_group_print(const char *group, GPtrArray *validations);

/* The relative error of a row, in time or in memory: measured / simulated - 1 when the metric is a
 * rate, else simulated / measured - 1. */
double orr_validate_group_error(const OrrValidationRow *row);

/* @reason without the details that differ from row to row: its place (file:line:column), its
 * numbers (each becomes N), and lists of allowed values. Newly allocated. */
char *orr_validate_group_reason(const char *reason);

/* --- Error bands: what they promise (verb_validate_bands.c), and as text (summary_bands.c) --- */

typedef struct {
  char *const *sets;         /* NULL: all */
  const OrrValidation *rows; /* these replayed rows instead; NULL: the shipped residuals */
  const char *leave;         /* "set", "row", "nothing"; NULL: set, or nothing for rows */
  guint n_pairs;             /* pairs of each set, at most */
  gboolean as_json;
} OrrVerbValidateBands;

/* FALSE with @error for an unknown word of --leave, or one that rows cannot have. */
gboolean orr_verb_validate_bands_check(const char *leave, gboolean has_rows, GError **error);

/* Prints coverage, widths and pairs. Returns the exit status; @error is set when it is 2. */
int orr_verb_validate_bands(OrrLibrary *library, const OrrVerbValidateBands *order, GError **error);

/* Two tables: coverage and width by set and in sums; pairs by set, by axis and in sums. @pairs: of
 * OrrBandsPair. */
void orr_summary_bands_text(const OrrValidateBands *bands, const GArray *pairs);

/* The same as one JSON object. */
void orr_summary_bands_json(const OrrValidateBands *bands, const GArray *pairs);
