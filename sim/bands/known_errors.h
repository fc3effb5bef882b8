/*
 * known_errors.h - how far results that have no error band were off on measured rows.
 *
 * File: calibration/residuals/errors.csv, written by `make residuals` with the residuals: one
 * line for each result, part and validation set, with the mean of |simulated / measured - 1|.
 *
 *   table,metric,part,set,rows,error
 *   campaign_result,stall_s,host,campaigns-checkpoints,2,0.501
 *
 * Where a result's error is above ORR_KNOWN_ERRORS_MOST, every verb that prints an answer warns of
 * it (caveats.h).
 */
#pragma once

#include "sim/run/scenario.h"

/* The error above which an answer carries a warning. */
#define ORR_KNOWN_ERRORS_MOST 0.3

typedef struct {
  char *table, *metric; /* "campaign_result", "stall_s" */
  char *part, *set;     /* part: the tier of a campaign's checkpoint; "" for other kinds */
  gint64 rows;
  double error;
} OrrKnownError;

/* The file of the library, an array of OrrKnownError; empty where it has none. NULL with @error. */
GArray *orr_known_errors_read(OrrLibrary *library, GError **error);

/* The array as the text of the file, sorted; newly allocated. */
char *orr_known_errors_text(GArray *errors);
GArray *orr_known_errors_new(void);

/* The mean error of @metric of @part over all sets, and the number of its rows; NAN: no row. */
double orr_known_errors_mean(const GArray *errors, const char *table, const char *metric,
                             const char *part, gint64 *ret_rows);

/* A bound of |log error| at @level, if it has Laplace's distribution with @mean. */
static inline double orr_known_errors_bound(double mean, double level) {
  return mean * -log1p(-level);
}

/* "stall_s (storage) is off by 79 % on average, ..." for each result of @table with an error above
 * the limit whose part is "" or among @parts (strv; NULL: of any part): a strv, newly allocated.
 * @metric NULL: all results. */
char **orr_known_errors_words(OrrLibrary *library, const char *table, const char *metric,
                              const char *const *parts);

/* The tiers of the scenario's checkpoints, the parts of a campaign's stalls; a strv. */
char **orr_known_errors_tiers(const OrrScenario *scenario);
