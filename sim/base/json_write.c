/*
 * json_write.c - commas, names, escapes and digits.
 */
#include "sim/base/json_write.h"

static gboolean is_first(const GString *out) {
  return out->len == 0 || strchr("{[ \n", out->str[out->len - 1]);
}

static void quote(GString *out, const char *text) {
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_printf(out, "\\%c", *c);
    else if (*c == '\n')
      g_string_append(out, "\\n");
    else if ((guchar)*c < 0x20)
      g_string_append_printf(out, "\\u%04x", (guchar)*c);
    else
      g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

static void begin(GString *out, const char *name) {
  if (!is_first(out)) g_string_append(out, ", ");
  if (!name) return;
  quote(out, name);
  g_string_append(out, ": ");
}

void orr_json_write_text(GString *out, const char *name, const char *text) {
  begin(out, name);
  if (text)
    quote(out, text);
  else
    g_string_append(out, "null");
}

void orr_json_write_number(GString *out, const char *name, double value) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  begin(out, name);
  if (!isfinite(value)) {
    g_string_append(out, "null");
    return;
  }
  g_ascii_formatd(digits, sizeof digits, "%.15g", value);
  if (g_ascii_strtod(digits, NULL) != value) g_ascii_formatd(digits, sizeof digits, "%.17g", value);
  g_string_append(out, digits);
}

void orr_json_write_numbers(GString *out, const OrrJsonNumber *numbers, guint n) {
  for (guint i = 0; i < n; i++) orr_json_write_number(out, numbers[i].name, numbers[i].value);
}

void orr_json_write_int(GString *out, const char *name, gint64 value) {
  begin(out, name);
  g_string_append_printf(out, "%ld", value);
}

void orr_json_write_bool(GString *out, const char *name, gboolean value) {
  begin(out, name);
  g_string_append(out, value ? "true" : "false");
}

void orr_json_write_array(GString *out, const char *name) {
  begin(out, name);
  g_string_append_c(out, '[');
}

void orr_json_write_texts(GString *out, const char *name, char *const *texts, guint n) {
  orr_json_write_array(out, name);
  for (guint i = 0; i < n; i++) orr_json_write_text(out, NULL, texts[i]);
  g_string_append_c(out, ']');
}

void orr_json_write_object(GString *out, const char *name) {
  begin(out, name);
  g_string_append_c(out, '{');
}

void orr_json_write_element(GString *out, const char *line) {
  g_string_append_printf(out, "%s%s{", is_first(out) ? "" : ",", line);
}

static void append_member(GString *out, const char *name, const OrrField *field, const void *row) {
  const char *member = (const char *)row + field->offset;
  g_autofree char *text = NULL;
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    orr_json_write_bool(out, name, *(const gboolean *)member);
    break;
  case ORR_FIELD_INT:
    orr_json_write_int(out, name, *(const gint64 *)member);
    break;
  case ORR_FIELD_REAL:
    orr_json_write_number(out, name, *(const double *)member);
    break;
  default:
    text =
        *(char *const *)member || field->kind != ORR_FIELD_TEXT ? orr_field_text(field, row) : NULL;
    orr_json_write_text(out, name, text);
  }
}

void orr_json_write_members(GString *out, const OrrFieldTable *table, const void *row) {
  for (size_t i = 0; i < table->n_fields; i++) {
    g_autofree char *name = g_strdelimit(g_strdup(table->fields[i].name), "-", '_');
    append_member(out, name, &table->fields[i], row);
  }
}

void orr_json_write_rows(GString *out, const char *name, const OrrFieldTable *table,
                         const GArray *rows, const char *line) {
  orr_json_write_array(out, name);
  for (guint i = 0; i < rows->len; i++) {
    orr_json_write_element(out, line);
    orr_json_write_members(out, table, rows->data + (gsize)i * table->size);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}
