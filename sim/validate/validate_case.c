/*
 * validate_case.c - applies the cells of a row to a copy of the set's scenario, column by column,
 * and collects the measured values.
 */
#include "sim/validate/validate_private.h"

#include "sim/base/expression.h"

void orr_validate_case_free(OrrValidateCase *one) {
  if (!one) return;
  orr_node_free(one->tree);
  orr_node_free(one->over);
  for (int i = 0; i < ORR_VALIDATE_N_TEXTS; i++) g_free(one->texts[i]);
  g_array_unref(one->metrics);
  g_array_unref(one->measured);
  ORR_FREE(one->refused, one->part, one);
}

/* Keeps the first reason: later ones are often its consequences. */
static void refuse(OrrValidateCase *one, const char *column, const char *cell, const char *why) {
  if (!one->refused) one->refused = g_strdup_printf("column %s, '%s': %s", column, cell, why);
}

static void add_text(OrrValidateCase *one, int which, const char *cell) {
  char *both = one->texts[which] ? g_strconcat(one->texts[which], " ", cell, NULL) : g_strdup(cell);
  g_free(one->texts[which]);
  one->texts[which] = both;
}

static gboolean read_number(const char *text, double scale, double *ret_value) {
  g_autoptr(GError) error = NULL;
  if (!orr_quantity_parse(text, ORR_UNIT_NONE, ret_value, &error)) return FALSE;
  *ret_value *= scale;
  return TRUE;
}

/* A number in the result's unit, or a quantity that names one: "47GB". */
static gboolean read_measured(const OrrField *field, const char *text, double scale,
                              double *ret_value) {
  return read_number(text, scale, ret_value) ||
         orr_quantity_parse(text, field->unit, ret_value, NULL);
}

static void add_measured(OrrValidateCase *one, const char *column, const OrrField *field,
                         const char *text, double scale) {
  double value;
  if (!read_measured(field, text, scale, &value))
    refuse(one, column, text, "not a number");
  else if (!(value > 0))
    refuse(one, column, text, "a measurement must be above 0, since the error is relative to it");
  else if (field->unit == ORR_UNIT_FRACTION && value > 1)
    refuse(one, column, text, "a fraction is at most 1: write 0.23 or '23 %'");
  else {
    g_array_append_val(one->metrics, field);
    g_array_append_val(one->measured, value);
  }
}

/* "64.0" becomes "64": tools write whole numbers with a point when a column has empty cells. Newly
 * allocated. */
static char *without_point(const char *text) {
  const char *point = strchr(text, '.');
  const gboolean is_whole = point && point > text && point[1] &&
                            strspn(point + 1, "0") == strlen(point + 1) &&
                            strspn(text, "0123456789") == (gsize)(point - text);
  return is_whole ? g_strndup(text, (gsize)(point - text)) : g_strdup(text);
}

static void set_gpus(OrrValidateCase *one, const char *column, const char *text) {
  g_autofree char *whole = without_point(text);
  if (!g_ascii_string_to_signed(whole, 10, 1, G_MAXINT32, &one->n_gpus, NULL))
    refuse(one, column, text, "not a number of GPUs");
}

static void set_in(OrrValidateCase *one, OrrNode *tree, const char *column, const char *path,
                   const char *text) {
  g_autoptr(GError) error = NULL;
  if (!orr_field_set(&orr_scenario_table, tree, path, text, &error))
    refuse(one, column, text, error->message);
}

static void set_path(OrrValidateCase *one, const char *column, const char *path, const char *text,
                     double scale) {
  g_autofree char *scaled = without_point(text);
  double value;
  if (scale != 1) {
    if (!read_number(text, scale, &value))
      return refuse(one, column, text, "not a number, so it cannot be scaled");
    g_free(scaled);
    scaled = orr_quantity_exact(value, ORR_UNIT_NONE);
  }
  set_in(one, one->tree, column, path, scaled);
}

/* @text with each <column> replaced by the row's cell; newly allocated. NULL if a cell is empty;
 * the row is then refused. */
static char *with_cells(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                        const char *text) {
  g_autoptr(GString) whole = g_string_new(NULL);
  for (const char *open; (open = orr_validate_set_reference(text)); text = strchr(open, '>') + 1) {
    g_autofree char *column = g_strndup(open + 1, (gsize)(strchr(open, '>') - open - 1));
    g_autofree char *cell = without_point(line->cells[orr_csv_column(set->csv, column)]);
    if (!*cell) {
      if (!one->refused) one->refused = g_strdup_printf("the row has no value for %s", column);
      return NULL;
    }
    g_string_append_len(whole, text, open - text);
    g_string_append(whole, cell);
  }
  g_string_append(whole, text);
  return g_string_free(g_steal_pointer(&whole), FALSE);
}

/* The value of an expression of numbers alone, as text. NULL: the row is refused. */
static char *evaluate(OrrValidateCase *one, const char *column, const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrExpression) expression = orr_expression_parse(text, (OrrPlace){0}, NULL, 0, diags);
  if (expression && orr_expression_type(expression) == ORR_VALUE_NUMBER)
    return orr_quantity_exact(orr_expression_number(expression, NULL), ORR_UNIT_NONE);
  orr_diags_check(diags, &error);
  refuse(one, column, text, error ? error->message : "not a number");
  return NULL;
}

/* @text with the row's cells, and worked out if it begins with "= ". NULL: the row is refused. */
static char *worked_out(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                        const char *column, const char *text) {
  g_autofree char *whole = with_cells(set, one, line, text);
  if (!whole || !g_str_has_prefix(whole, "= ")) return g_steal_pointer(&whole);
  return evaluate(one, column, whole + 2);
}

static const char refuse_if[] = "refuse if ";

/* Refuses the row for @why where the condition holds; a row that lacks one of its cells is not
 * touched. */
static void refuse_where(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                         const char *condition, const char *why) {
  g_autofree char *before = g_strdup(one->refused), *text = with_cells(set, one, line, condition);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrExpression) expression =
      text ? orr_expression_parse(text, (OrrPlace){0}, NULL, 0, diags) : NULL;
  if (!text) {
    g_free(one->refused);
    one->refused = g_steal_pointer(&before);
  } else if (!expression || orr_expression_type(expression) != ORR_VALUE_TRUTH)
    refuse(one, condition, text, "not a condition, such as <a> == 8 * <b>");
  else if (orr_expression_holds(expression, NULL) && !one->refused)
    one->refused = g_strdup(why);
}

/* Applies the settings that a cell stands for: {workload.recompute: full, ...}, {refuse: why} for
 * a row that cannot be simulated, {refuse if CONDITION: why}, {part: NAME}, {gpus: N}. Settings
 * `over` are kept in @ret_over, until the row's own are all there. */
static void set_paths(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                      const char *column, const OrrNode *settings, const OrrNode **ret_over) {
  ORR_EACH_PAIR(path, value, settings) {
    if (strcmp(path->text, "refuse") == 0 && value->kind == ORR_NODE_SCALAR) {
      if (!one->refused) one->refused = g_strdup(value->text);
    } else if (g_str_has_prefix(path->text, refuse_if) && value->kind == ORR_NODE_SCALAR) {
      refuse_where(set, one, line, path->text + strlen(refuse_if), value->text);
    } else if (strcmp(path->text, "part") == 0 && value->kind == ORR_NODE_SCALAR) {
      g_free(one->part);
      one->part = g_strdup(value->text);
    } else if (strcmp(path->text, "over") == 0 && value->kind == ORR_NODE_MAP) {
      *ret_over = value;
    } else if (value->kind == ORR_NODE_SCALAR) {
      g_autofree char *text = worked_out(set, one, line, column, value->text);
      if (text && strcmp(path->text, "gpus") == 0)
        set_gpus(one, column, text);
      else if (text)
        set_path(one, column, path->text, text, 1);
    } else
      refuse(one, column, path->text, "takes a single value");
  }
}

/* Whether the column itself says what a number in it means: it sets a path, or is a measurement. */
static gboolean takes_numbers(const OrrValidateColumn *column) {
  ORR_EACH(const OrrValidateTarget, target, column->targets)
    if (target->kind >= ORR_VALIDATE_MEASURED) return TRUE;
  return FALSE;
}

static gboolean is_measured(const OrrValidateColumn *column) {
  ORR_EACH(const OrrValidateTarget, target, column->targets)
    if (target->kind == ORR_VALIDATE_MEASURED) return TRUE;
  return FALSE;
}

/* The entry of @lines, a map, for @cell: the line that is the cell, else the one that ends in "*"
 * and has most of the cell's beginning; NULL: none. */
static const OrrNode *find_line(const OrrNode *lines, const char *cell) {
  const OrrNode *best = orr_node_get(lines, cell);
  gsize most = 0;
  if (best) return best;
  ORR_EACH_PAIR(key, value, lines) {
    const gsize length = strlen(key->text);
    if (length == 0 || key->text[length - 1] != '*' || strncmp(key->text, cell, length - 1) != 0)
      continue;
    if (best && length <= most) continue;
    most = length;
    best = value;
  }
  return best;
}

static void refuse_unknown(OrrValidateCase *one, const char *name, const char *cell,
                           const OrrNode *values) {
  g_autoptr(GString) why = g_string_new("not one of its values (known: ");
  for (guint i = 0; i < orr_node_length(values); i++)
    g_string_append_printf(why, "%s%s", i ? ", " : "",
                           ((const OrrNode *)values->keys->pdata[i])->text);
  refuse(one, name, cell, g_string_append_c(why, ')')->str);
}

/* What `values` say about @cell, NULL: it stands for itself. FALSE: they do not know it, and the
 * row is refused. */
static gboolean find_value(OrrValidateCase *one, const OrrValidateColumn *column, const char *name,
                           const char *cell, const OrrNode **ret_value) {
  double number;
  *ret_value = column->values ? find_line(column->values, cell) : NULL;
  if (*ret_value || !column->values || is_measured(column)) return TRUE;
  if (takes_numbers(column) && read_number(cell, 1, &number)) return TRUE;
  refuse_unknown(one, name, cell, column->values);
  return FALSE;
}

static void apply_target(const OrrValidateSet *set, OrrValidateCase *one,
                         const OrrValidateColumn *column, const OrrValidateTarget *target,
                         const char *name, const char *text) {
  if (target->kind == ORR_VALIDATE_MEASURED)
    add_measured(one, name, orr_validate_set_metric(set, target->name), text, column->scale);
  else if (target->kind == ORR_VALIDATE_GPUS)
    set_gpus(one, name, text);
  else if (target->kind == ORR_VALIDATE_PATH)
    set_path(one, name, target->name, text, column->scale);
}

/* Applies one cell. */
static void apply(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                  guint i_column, const OrrNode **ret_over) {
  const OrrValidateColumn *column = &g_array_index(set->columns, OrrValidateColumn, i_column);
  const char *name = set->csv->header[i_column], *cell = line->cells[i_column];
  const OrrNode *value;
  const gboolean known = find_value(one, column, name, cell, &value);
  const gboolean is_settings = value && value->kind == ORR_NODE_MAP;
  g_autofree char *text = value && value->kind == ORR_NODE_SCALAR
                              ? with_cells(set, one, line, value->text)
                              : g_strdup(cell);
  if (!text || !*text) return; /* `values` maps the cell to an empty one */
  ORR_EACH(const OrrValidateTarget, target, column->targets) {
    if (target->kind < ORR_VALIDATE_N_TEXTS)
      add_text(one, target->kind, cell);
    else if (known && (!is_settings || target->kind == ORR_VALIDATE_GPUS))
      apply_target(set, one, column, target, name, is_settings ? cell : text);
  }
  if (is_settings) set_paths(set, one, line, name, value, ret_over);
}

/* Applies settings by several columns: `together: {isl osl: {128 2048: {workload.requests:
 * 3000}}}`. A row without a line is refused, as an unknown cell of a column is. */
static void apply_together(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                           const OrrNode **ret_over) {
  const OrrNode *together = set->meaning ? orr_node_get(set->meaning, "together") : NULL;
  ORR_EACH_PAIR(key, value, together) {
    g_auto(GStrv) columns = g_strsplit(key->text, " ", -1);
    g_autoptr(GString) cells = g_string_new(NULL);
    for (char **name = columns; *name; name++) {
      g_autofree char *cell = without_point(line->cells[orr_csv_column(set->csv, *name)]);
      g_string_append_printf(cells, "%s%s", name > columns ? " " : "", cell);
    }
    const OrrNode *settings = find_line(value, cells->str);
    if (settings)
      set_paths(set, one, line, key->text, settings, ret_over);
    else
      refuse_unknown(one, key->text, cells->str, value);
  }
}

/* The scenario over whose results the row's are ratios: its own, with @settings as well. Both are
 * simulated in one process, which has one SimGrid: this one takes the engine without it. */
static void add_over(const OrrValidateSet *set, OrrValidateCase *one, const OrrCsvLine *line,
                     const OrrNode *settings) {
  one->over = orr_node_copy(one->tree);
  set_in(one, one->over, "over", "engine", "fair");
  ORR_EACH_PAIR(path, value, settings) {
    if (value->kind != ORR_NODE_SCALAR) {
      refuse(one, "over", path->text, "takes a single value");
      continue;
    }
    g_autofree char *text = worked_out(set, one, line, "over", value->text);
    if (text) set_in(one, one->over, "over", path->text, text);
  }
  ORR_EACH_VALUE(const OrrField *const, field, one->metrics)
    if (field->kind != ORR_FIELD_REAL)
      refuse(one, "over", field->name, "a whole number has no ratio here");
}

OrrValidateCase *orr_validate_case_new(const OrrValidateSet *set, const OrrCsvLine *line) {
  OrrValidateCase *one = g_new0(OrrValidateCase, 1);
  one->line = line->place.line;
  one->tree = orr_node_copy(set->tree);
  one->metrics = g_array_new(FALSE, FALSE, sizeof(const OrrField *));
  one->measured = g_array_new(FALSE, FALSE, sizeof(double));
  const OrrNode *over = NULL;
  for (guint i = 0; i < set->columns->len; i++)
    if (*line->cells[i]) apply(set, one, line, i, &over);
  apply_together(set, one, line, &over);
  if (over) add_over(set, one, line, over);
  if (!one->texts[ORR_VALIDATE_LABEL])
    one->texts[ORR_VALIDATE_LABEL] = g_strdup_printf("line %ld", one->line);
  if (!one->refused && one->metrics->len == 0) one->refused = g_strdup("nothing was measured");
  return one;
}
