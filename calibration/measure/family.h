/*
 * family.h - families of microkernels: what can be measured, on which shapes.
 *
 * Each family is one file family_NAME.c with one `const OrrMeasureFamily`: its columns, its plan (a
 * grid of shapes), how much work a shape is (for the trend between points and to refuse what would
 * take too long), and the CSV files that its rows are exported to. How a kernel is launched is the
 * device layer's business (device_layer.h).
 *
 * To add one: write family_NAME.c, add it to the array in family.c and to meson.build, give cuda/ a
 * function that prepares it (cuda_private.h) and the table in cuda_layer.c a line, then
 * docs/reference/generate.sh.
 */
#ifndef ORR_FAMILY_H
#define ORR_FAMILY_H

#include "calibration/measure/device_layer.h"
#include "calibration/measure/measure_row.h"
#include "calibration/measure/shape.h"
#include "sim/base/registry.h"

G_BEGIN_DECLS

/* One CSV file of an export. */
typedef struct {
  const char *file, *header;
  /* Appends one line; FALSE, with nothing appended, where the shape does not belong into this
   * file. */
  gboolean (*line)(const OrrShape *shape, const OrrMeasureRow *row, GString *text);
} OrrMeasureTable;

struct OrrMeasureFamily {
  OrrEntry entry;
  const OrrShapeColumn *columns; /* ends with a NULL name */
  guint min_gpus;                /* GPUs it needs */
  const char *untold;            /* what fewer cannot tell; NULL where min_gpus is 1 */
  void (*plan)(const OrrMeasureFamily *family, const OrrBenchFacts *facts,
               GArray *shapes); /* appends OrrShape */
  OrrShapeWork (*work)(const OrrShape *shape, const OrrBenchFacts *facts);
  /* ends with a NULL file; the first that takes a row has it; NULL: the general one */
  const OrrMeasureTable *tables;
};

extern const OrrRegistry orr_measure_registry;

const OrrMeasureFamily *orr_family_find(const char *name); /* NULL when unknown */
guint orr_family_n_columns(const OrrMeasureFamily *family);

/* Appends the shape with these values, in the order of the columns. */
void orr_family_add(const OrrMeasureFamily *family, GArray *shapes, const gint64 *values);

/* Seconds that the roofline of the datasheet-like @facts gives, with 2 us for the launch: the
 * trend between measured points, never an answer. */
double orr_family_roofline(const OrrShape *shape, const OrrBenchFacts *facts);

G_END_DECLS

#endif
