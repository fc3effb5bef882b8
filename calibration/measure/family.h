/*
 * family.h - families of microkernels: what can be measured, and on which shapes.
 *
 * Each family is one file family_NAME.c with one `const OrrMeasureFamily`: its columns, its plan (a
 * grid of shapes), the work of a shape (for the trend between points, and to refuse shapes that
 * would take too long), and the CSV files to which its rows are exported. The device layer launches
 * the kernels (device_layer.h).
 *
 * To add one: write family_NAME.c and its line in meson.build, add a function that prepares it to
 * cuda/ (cuda_private.h) and a line to the table in cuda_layer.c, then run
 * docs/reference/generate.sh.
 */
#pragma once

#include "calibration/measure/device_layer.h"
#include "calibration/measure/measure_row.h"
#include "calibration/measure/shape.h"
#include "sim/base/registry.h"

/* One CSV file of an export. */
typedef struct {
  const char *file, *header;
  /* Appends one line; FALSE, with nothing appended, if this file does not take the shape. */
  gboolean (*line)(const OrrShape *shape, const OrrMeasureRow *row, GString *text);
} OrrMeasureTable;

struct OrrMeasureFamily {
  OrrEntry entry;
  /* Mandatory: plan, work. Other functions may be NULL. */
  const OrrShapeColumn *columns; /* terminated by a NULL name */
  guint min_gpus;                /* minimum number of GPUs */
  /* what is skipped with fewer GPUs, for messages; NULL if min_gpus is 1 */
  const char *skipped_name;
  void (*plan)(const OrrMeasureFamily *family, const OrrBenchFacts *facts,
               GArray *shapes); /* appends OrrShape */
  OrrShapeWork (*work)(const OrrShape *shape, const OrrBenchFacts *facts);
  /* terminated by a NULL file; a row goes to the first file that takes it; NULL: the general
   * file */
  const OrrMeasureTable *tables;
  gboolean by_release; /* rows of two releases of its library are two rows, and both are exported */
};

extern const OrrRegistry orr_measure_registry;

const OrrMeasureFamily *orr_family_find(const char *name); /* NULL when unknown */
guint orr_family_n_columns(const OrrMeasureFamily *family);

/* Appends the shape with these values, in the order of the columns. */
void orr_family_add(const OrrMeasureFamily *family, GArray *shapes, const gint64 *values);

/* The time by the roofline of the datasheet-like @facts, in seconds, plus 2 us for the launch:
 * the trend between measured points, never an answer. */
double orr_family_roofline(const OrrShape *shape, const OrrBenchFacts *facts);
