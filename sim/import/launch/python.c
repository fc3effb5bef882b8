/*
 * python.c - logical lines, arguments and calls, brackets and quotes respected.
 */
#include "sim/import/launch/python.h"

/* Behind the literal text that begins at @c with a quote; the end where it is not closed. */
static const char *after_quotes(const char *c) {
  const char quote = *c;
  if (c[1] == quote && c[2] == quote) {
    const char three[] = {quote, quote, quote, '\0'};
    const char *end = strstr(c + 3, three);
    return end ? end + 3 : c + strlen(c);
  }
  for (c++; *c && *c != quote && *c != '\n'; c++)
    if (*c == '\\' && c[1]) c++;
  return *c == quote ? c + 1 : c;
}

char *orr_python_line(const char **c, int *line) {
  GString *text = g_string_new(NULL);
  guint depth = 0;
  for (; **c && (**c != '\n' || depth > 0);) {
    const char *at = *c;
    if (*at == '#') {
      *c += strcspn(at, "\n");
      continue;
    }
    const char *next = strchr("\"'", *at) ? after_quotes(at) : at + 1;
    depth += strchr("([{", *at) != NULL;
    if (strchr(")]}", *at) && depth > 0) depth--;
    for (const char *k = at; k < next; k++) *line += *k == '\n';
    if (*at == '\n')
      g_string_append_c(text, ' ');
    else
      g_string_append_len(text, at, next - at);
    *c = next;
  }
  if (**c == '\n') (*c)++, (*line)++;
  return g_string_free(text, FALSE);
}

const char *orr_python_find(const char *text, char letter) {
  guint depth = 0;
  for (const char *c = text; *c;) {
    if (depth == 0 && *c == letter &&
        (letter != '=' || (c[1] != '=' && (c == text || !strchr("=!<>", c[-1])))))
      return c;
    depth += strchr("([{", *c) != NULL;
    if (strchr(")]}", *c) && depth > 0) depth--;
    c = strchr("\"'", *c) ? after_quotes(c) : c + 1;
  }
  return NULL;
}

char **orr_python_parts(const char *text) {
  g_autoptr(GStrvBuilder) parts = g_strv_builder_new();
  while (*text) {
    const char *comma = orr_python_find(text, ',');
    g_autofree char *part = comma ? g_strndup(text, (gsize)(comma - text)) : g_strdup(text);
    if (*g_strstrip(part)) g_strv_builder_add(parts, part);
    text = comma ? comma + 1 : text + strlen(text);
  }
  return g_strv_builder_end(parts);
}

char *orr_python_call(const char *text, char **ret_arguments) {
  const gsize length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_."
                                    "0123456789");
  const char *open = text + length, *close = strrchr(text, ')');
  if (length == 0 || *open != '(' || !close || g_ascii_isdigit(*text)) return NULL;
  *ret_arguments = g_strndup(open + 1, (gsize)(close - open) - 1);
  return g_strndup(text, (gsize)(open - text));
}
