/*
 * json_write.h - appends JSON (RFC 8259) to a text, member by member.
 *
 *   GString *out = g_string_new("{");
 *   orr_json_write_text(out, "file", path);         {"file": "a.yaml"
 *   orr_json_write_array(out, "points");            , "points": [
 *   orr_json_write_element(out, "\n  ");            newline, two blanks, {
 *   orr_json_write_number(out, "rate", 2);          "rate": 2
 *   g_string_append(out, "}]}");
 *
 * A comma is written where one is needed: the last character says so, since no value ends in '{',
 * '[', a blank or a newline. A caller that wants a member on a line of its own appends ",\n ".
 * @name: of the member, NULL for an element of an array. To read JSON: json.h.
 */
#pragma once

#include "sim/base/field.h"

void orr_json_write_text(GString *out, const char *name, const char *text); /* NULL: null */
/* Reads back as the same double; NaN and infinity are null. */
void orr_json_write_number(GString *out, const char *name, double value);
/* Several at once: ORR_JSON_NUMBERS(out, {"low", band.low}, {"high", band.high}). Counts are
 * numbers, too: below 1e15 they are printed as integers. */
typedef struct {
  const char *name;
  double value;
} OrrJsonNumber;
void orr_json_write_numbers(GString *out, const OrrJsonNumber *numbers, guint n);
#define ORR_JSON_NUMBERS(out_, ...)                                                                \
  orr_json_write_numbers(out_, (const OrrJsonNumber[]){__VA_ARGS__},                               \
                         G_N_ELEMENTS(((const OrrJsonNumber[]){__VA_ARGS__})))
void orr_json_write_int(GString *out, const char *name, gint64 value);
void orr_json_write_bool(GString *out, const char *name, gboolean value);
void orr_json_write_texts(GString *out, const char *name, char *const *texts, guint n);

/* Opens an array or an object, which the caller closes. */
void orr_json_write_array(GString *out, const char *name);
void orr_json_write_object(GString *out, const char *name);
/* Opens an object in an array. @line: what stands before its brace, "\n  " or " "; "" before the
 * first one of an array on one line. */
void orr_json_write_element(GString *out, const char *line);

/* The scalar members of a row, without braces; in names '-' becomes '_'. */
void orr_json_write_members(GString *out, const OrrFieldTable *table, const void *row);
/* An array of all rows, each on a line of its own that begins with @line, "\n  ". */
void orr_json_write_rows(GString *out, const char *name, const OrrFieldTable *table,
                         const GArray *rows, const char *line);
