/*
 * calibrate_compare.h - compares measured kernels with the predictions of a profile, family by
 * family.
 */
#ifndef ORR_CALIBRATE_COMPARE_H
#define ORR_CALIBRATE_COMPARE_H

#include "calibration/crossval/crossval.h"
#include "sim/run/machine.h"

G_BEGIN_DECLS

typedef struct {
  char *kernels;    /* "gemm bf16 forward", "collective all-reduce fp16" ... */
  guint n_rows;     /* the newest row of each shape, without those with wrong results */
  OrrErrors errors; /* predicted / measured - 1; n: the rows that the profile predicts */
  double from_rows; /* fraction of the predictions that are measured or interpolated */
} OrrCalibrateDifference;

/* An array of OrrCalibrateDifference, sorted by name. Families that no profile predicts (launches,
 * copies, interference) have errors.n 0. @rows: OrrMeasureRow, oldest first. ORR_FAULT_DOCUMENT: a
 * row whose shape cannot be parsed. */
GPtrArray *orr_calibrate_compare(const GArray *rows, const OrrMachine *machine, GError **error);

G_END_DECLS

#endif
