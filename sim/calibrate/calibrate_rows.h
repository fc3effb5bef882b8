/*
 * calibrate_rows.h - measured rows: read from the database, and exported as CSV files.
 */
#ifndef ORR_CALIBRATE_ROWS_H
#define ORR_CALIBRATE_ROWS_H

#include "calibration/measure/measure_export.h"

G_BEGIN_DECLS

/* An empty GArray of OrrMeasureRow that clears its rows. */
GArray *orr_calibrate_rows_new(void);

/* A deep copy of @row. */
void orr_calibrate_rows_copy(const OrrMeasureRow *row, OrrMeasureRow *ret_copy);

/* All rows of the database, oldest first; empty for a database without measured rows. */
GArray *orr_calibrate_rows_read(const char *db, GError **error);

/* The rows of @device, which is the name that its driver reports or its name in
 * topologies/devices/. Returns all rows when @device is NULL, or when all rows come from one device
 * that the library does not have: the user then decides what device it is.
 * ORR_FAULT_RESOURCE when there are no rows. */
GArray *orr_calibrate_rows_of(const char *db, const char *device, GError **error);

/* Writes the rows that count (orr_measure_row_counts) as CSV files into @folder, which is created
 * if needed, and returns the files (OrrExportFile). */
GPtrArray *orr_calibrate_rows_write(const GArray *rows, const char *folder, GError **error);

/* Writes the CSV files of measure_export.h into @folder, which is created if needed, and returns
 * them (OrrExportFile). @device: as above; NULL when the database has rows of one device only. */
GPtrArray *orr_calibrate_rows_export(const char *db, const char *device, const char *folder,
                                     GError **error);

G_END_DECLS

#endif
