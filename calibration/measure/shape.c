/*
 * shape.c - writes shapes as text and parses them.
 */
#include "calibration/measure/shape.h"

#include "calibration/measure/family.h"

char *orr_shape_text(const OrrShape *shape) {
  GString *text = g_string_new(NULL);
  for (guint c = 0; shape->family->columns[c].name; c++) {
    const OrrShapeColumn *column = &shape->family->columns[c];
    g_string_append_printf(text, "%s%s=", c ? " " : "", column->name);
    if (column->words)
      g_string_append(text, column->words[shape->at[c]]);
    else
      g_string_append_printf(text, "%ld", shape->at[c]);
  }
  return g_string_free(text, FALSE);
}

static int column_index(const OrrMeasureFamily *family, const char *name, gsize length) {
  for (guint c = 0; family->columns[c].name; c++)
    if (strlen(family->columns[c].name) == length &&
        strncmp(family->columns[c].name, name, length) == 0)
      return (int)c;
  return -1;
}

static gboolean parse_value(const OrrShapeColumn *column, const char *text, gint64 *ret_value) {
  for (gint64 w = 0; column->words && column->words[w]; w++)
    if (strcmp(column->words[w], text) == 0) {
      *ret_value = w;
      return TRUE;
    }
  return !column->words && g_ascii_string_to_signed(text, 10, 0, G_MAXINT64, ret_value, NULL);
}

static gboolean refuse(const OrrMeasureFamily *family, const char *text, const char *why,
                       const char *part, GError **error) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "'%s' is not a shape of %s: %s '%s'", text,
                       family->entry.name, why, part);
}

gboolean orr_shape_parse(const OrrMeasureFamily *family, const char *text, OrrShape *ret_shape,
                         GError **error) {
  OrrShape shape = {.family = family};
  gboolean is_there[ORR_SHAPE_COLUMNS] = {FALSE};
  g_auto(GStrv) parts = g_strsplit(text, " ", -1);
  for (char **part = parts; *part; part++) {
    const char *equals = strchr(*part, '=');
    int c = equals ? column_index(family, *part, (gsize)(equals - *part)) : -1;
    if (c < 0 || is_there[c]) return refuse(family, text, "it cannot have", *part, error);
    if (!parse_value(&family->columns[c], equals + 1, &shape.at[c]))
      return refuse(family, text, "bad value in", *part, error);
    is_there[c] = TRUE;
  }
  for (guint c = 0; family->columns[c].name; c++)
    if (!is_there[c]) return refuse(family, text, "it has no", family->columns[c].name, error);
  *ret_shape = shape;
  return TRUE;
}

gint64 orr_shape_at(const OrrShape *shape, const char *column) {
  int c = column_index(shape->family, column, strlen(column));
  g_assert(c >= 0);
  return shape->at[c];
}

const char *orr_shape_word(const OrrShape *shape, const char *column) {
  int c = column_index(shape->family, column, strlen(column));
  g_assert(c >= 0 && shape->family->columns[c].words);
  return shape->family->columns[c].words[shape->at[c]];
}
