/*
 * calibrate_compare.h - freshly measured kernels against what a profile says of them, kernel family
 * by kernel family.
 */
#ifndef ORR_CALIBRATE_COMPARE_H
#define ORR_CALIBRATE_COMPARE_H

#include "calibration/crossval/crossval.h"
#include "sim/run/machine.h"

G_BEGIN_DECLS

typedef struct {
  /* "gemm bf16 forward", "attention-decode bf16", "collective all-reduce fp16" ... */
  char *kernels;
  guint n_rows; /* measured: the newest of each shape, but for wrong results */
  /* the profile's answer over the measured time, less one; n: rows that it has an answer to */
  OrrErrors errors;
  double share_rows; /* of the answers: measured or interpolated, not modelled */
} OrrCalibrateDifference;

/* Of OrrCalibrateDifference, by name; kernels that no profile tells (launches, copies,
 * interference) have no answer. @rows: OrrMeasureRow, oldest first. ORR_FAULT_DOCUMENT: a row of
 * a shape that is no shape. */
GPtrArray *orr_calibrate_compare(const GArray *rows, const OrrMachine *machine, GError **error);

G_END_DECLS

#endif
