/*
 * difference.h - two accounts, measured and simulated, as the rows of `orrery compare --trace`.
 */
#ifndef ORR_DIFFERENCE_H
#define ORR_DIFFERENCE_H

#include "sim/explain/account.h"
#include "sim/run/answer/outcome.h"

G_BEGIN_DECLS

/* A time line and the account of its step. */
typedef struct {
  const OrrTimeline *timeline;
  const OrrAccount *account;
} OrrDifferenceSide;

/* Appends a row per kind to @kinds (OrrExplainKindRow), and one per family to @families
 * (OrrExplainDifferenceRow), largest difference first. @simulated may be NULL: its columns are NAN
 * and 0. Purposes of communication are distinguished only where both sides know them. @is_coarse:
 * the simulated side cannot tell gemm from other kernels, so all but attention count as gemm. */
void orr_difference_add(const OrrDifferenceSide *measured, const OrrDifferenceSide *simulated,
                        gboolean is_coarse, GArray *kinds, GArray *families);

G_END_DECLS

#endif
