/*
 * shape.h - the shape of one microkernel: a family and a value for each of its columns.
 *
 * A column is a whole number (m, n, k, bytes ...) or a word (dtype, layout ...). The text form,
 * which the results database keeps, is "dtype=bf16 layout=forward batch=1 m=4096 n=4096 k=4096":
 * every column, in the family's order, so that equal shapes have equal texts.
 */
#pragma once

#include "sim/base/ground.h"

enum { ORR_SHAPE_COLUMNS = 10 };

typedef struct OrrMeasureFamily OrrMeasureFamily;

typedef struct {
  const char *name;
  const char *const *words; /* NULL: the column is a whole number, 0 or more */
  /* a number over which rows are not interpolated: each value has its own table; always so for
   * words */
  gboolean is_slice;
} OrrShapeColumn;

typedef struct {
  const OrrMeasureFamily *family;
  gint64 at[ORR_SHAPE_COLUMNS]; /* a number, or the index of a word */
} OrrShape;

char *orr_shape_text(const OrrShape *shape); /* newly allocated */

/* FALSE with ORR_FAULT_DOCUMENT for a column that is missing, unknown, duplicate or has an
 * invalid value. */
gboolean orr_shape_parse(const OrrMeasureFamily *family, const char *text, OrrShape *ret_shape,
                         GError **error);

/* The value of the column of that name: a number or the index of a word; the word. The column
 * must exist. */
gint64 orr_shape_at(const OrrShape *shape, const char *column);
const char *orr_shape_word(const OrrShape *shape, const char *column);
