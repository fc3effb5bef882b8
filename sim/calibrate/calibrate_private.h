/*
 * calibrate_private.h - what calibrate.c and calibrate_rows.c share.
 */
#ifndef ORR_CALIBRATE_PRIVATE_H
#define ORR_CALIBRATE_PRIVATE_H

#include "calibration/measure/measure_row.h"

G_BEGIN_DECLS

GArray *orr_calibrate_rows_new(void); /* of OrrMeasureRow; clears its rows */
void orr_calibrate_copy_row(const OrrMeasureRow *row, OrrMeasureRow *ret_copy);

G_END_DECLS

#endif
