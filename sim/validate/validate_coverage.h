/*
 * validate_coverage.h - how well bands keep their promise, over groups of measured answers.
 *
 * Of the answers of a group that have a band (quality good or weak):
 *
 *   coverage         the fraction whose measurement lies inside; should be near the level
 *   width            the mean of log(high / low); 0.10: about 5 % to either side
 *
 * and of their constant bands (validate_bands.h) likewise. The two differ in coverage, so widths
 * are compared at equal coverage: each constant band is scaled about its median by one factor s for
 * the whole group, the least with which the constant bands cover as many answers as the bands do:
 *
 *   low' = m + s (low - m)    high' = m + s (high - m)
 *
 * s is chosen with hindsight, and for each group anew, which no band can be: the smaller the group,
 * the stricter the comparison.
 *
 *   equal_width      the mean width of the scaled constant bands
 *   ratio            width / equal_width; below 1 likeness makes bands narrower
 */
#ifndef ORR_VALIDATE_COVERAGE_H
#define ORR_VALIDATE_COVERAGE_H

#include "sim/validate/validate_bands.h"

G_BEGIN_DECLS

/* NAN where nothing can be counted. */
typedef struct {
  double coverage, width;
  double constant_coverage, constant_width;
  double equal_width, ratio; /* over answers that have both bands */
} OrrCoverageLevel;

typedef struct {
  const char *name;
  guint n_answers, n_good, n_weak, n_none;
  OrrCoverageLevel levels[ORR_VALIDATE_BANDS_LEVELS];
} OrrCoverage;

/* A sum over sets. */
typedef struct {
  const char *name, *sentence;
  gboolean (*has)(const OrrBandsCheck *check);
} OrrCoverageGroup;

/* Groups that README reports; ends with a NULL name. */
extern const OrrCoverageGroup orr_coverage_groups[];

/* The coverage of @group's checks. */
OrrCoverage orr_coverage_of_group(const OrrValidateBands *bands, const OrrCoverageGroup *group);

/* The coverage of the checks of one set. */
OrrCoverage orr_coverage_of_set(const OrrValidateBands *bands, const char *set);

/* The sets that have checks, in order; of const char *, interned. */
GPtrArray *orr_coverage_sets(const OrrValidateBands *bands);

G_END_DECLS

#endif
