/*
 * toml_text.c - TOML's texts in quotes: "basic", 'literal', and both in three quotes.
 */
#include "sim/import/launch/toml.h"

enum { LONG_LINE = 4096 }; /* bytes after which columns count bytes, so that places stay cheap */

OrrPlace orr_toml_place(const OrrToml *toml) {
  const gssize n = toml->at - toml->line_begin;
  const glong letters = n < LONG_LINE ? g_utf8_strlen(toml->line_begin, n) : (glong)n;
  return (OrrPlace){.file = toml->file, .line = toml->line, .column = (int)letters + 1};
}

gboolean orr_toml_fail(OrrToml *toml, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *problem = g_strdup_vprintf(format, values);
  va_end(values);
  if (!toml->is_bad) orr_diags_error(toml->diags, orr_toml_place(toml), "%s", problem);
  toml->is_bad = TRUE;
  return FALSE;
}

char orr_toml_peek(const OrrToml *toml, gsize offset) {
  return (gsize)(toml->end - toml->at) > offset ? toml->at[offset] : '\0';
}

void orr_toml_next(OrrToml *toml) {
  if (toml->at >= toml->end) return;
  if (*toml->at++ != '\n') return;
  toml->line++;
  toml->line_begin = toml->at;
}

static gboolean is_three(const OrrToml *toml, char quote) {
  return orr_toml_peek(toml, 0) == quote && orr_toml_peek(toml, 1) == quote &&
         orr_toml_peek(toml, 2) == quote;
}

static gboolean add_code_point(OrrToml *toml, GString *text, guint n_digits) {
  gunichar letter = 0;
  for (guint i = 0; i < n_digits; i++) {
    const int digit = g_ascii_xdigit_value(orr_toml_peek(toml, 0));
    if (digit < 0) return orr_toml_fail(toml, "%u hexadecimal digits were expected", n_digits);
    letter = letter * 16 + (gunichar)digit;
    orr_toml_next(toml);
  }
  if (letter == 0 || !g_unichar_validate(letter))
    return orr_toml_fail(toml, "no character has this number");
  g_string_append_unichar(text, letter);
  return TRUE;
}

/* A backslash at the end of a line: what follows up to the next word is left out. */
static gboolean skip_line_end(OrrToml *toml) {
  gsize n = 0;
  while (strchr(" \t\r", orr_toml_peek(toml, n)) && orr_toml_peek(toml, n)) n++;
  if (orr_toml_peek(toml, n) != '\n') return FALSE;
  while (orr_toml_peek(toml, 0) && strchr(" \t\r\n", orr_toml_peek(toml, 0))) orr_toml_next(toml);
  return TRUE;
}

static gboolean add_escape(OrrToml *toml, GString *text, gboolean is_multi) {
  static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
  orr_toml_next(toml);
  if (is_multi && skip_line_end(toml)) return TRUE;
  const char c = orr_toml_peek(toml, 0);
  const char *known = c ? strchr(from, c) : NULL;
  if (!known && c != 'u' && c != 'U')
    return orr_toml_fail(toml, "after a backslash one of b t n f r e u U \" \\ was expected");
  orr_toml_next(toml);
  if (!known) return add_code_point(toml, text, c == 'u' ? 4 : 8);
  g_string_append_c(text, to[known - from]);
  return TRUE;
}

/* The end of the text at three quotes; up to two more belong to the text. */
static gboolean ends_three(OrrToml *toml, GString *text, char quote) {
  if (!is_three(toml, quote)) return FALSE;
  for (guint i = 0; i < 2 && orr_toml_peek(toml, 3) == quote; i++) {
    g_string_append_c(text, quote);
    orr_toml_next(toml);
  }
  for (guint i = 0; i < 3; i++) orr_toml_next(toml);
  return TRUE;
}

static gboolean read_letters(OrrToml *toml, GString *text, char quote, gboolean is_multi) {
  while (TRUE) {
    const char c = orr_toml_peek(toml, 0);
    if (toml->at >= toml->end || (c == '\n' && !is_multi))
      return orr_toml_fail(toml, "the text in quotes does not end");
    if (is_multi ? ends_three(toml, text, quote) : c == quote) break;
    if (c == '\\' && quote == '"') {
      if (!add_escape(toml, text, is_multi)) return FALSE;
      continue;
    }
    g_string_append_c(text, c);
    orr_toml_next(toml);
  }
  if (!is_multi) orr_toml_next(toml);
  return TRUE;
}

char *orr_toml_quoted(OrrToml *toml) {
  const char quote = orr_toml_peek(toml, 0);
  const gboolean is_multi = is_three(toml, quote);
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < (is_multi ? 3u : 1u); i++) orr_toml_next(toml);
  if (is_multi && orr_toml_peek(toml, 0) == '\r' && orr_toml_peek(toml, 1) == '\n')
    orr_toml_next(toml);
  if (is_multi && orr_toml_peek(toml, 0) == '\n') orr_toml_next(toml);
  return read_letters(toml, text, quote, is_multi) ? g_strdup(text->str) : NULL;
}
