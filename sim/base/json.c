/*
 * json.c - a reader of RFC 8259. Characters beyond ASCII pass through unchanged.
 */
#include "sim/base/json.h"

OrrJson orr_json_begin(const char *text, gsize length, const char *file, OrrDiags *diags) {
  return (OrrJson){.at = text,
                   .end = text + length,
                   .line_begin = text,
                   .place = {g_intern_string(file), 1, 1},
                   .diags = diags};
}

static void skip_blanks(OrrJson *json) {
  for (; json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at; json->at++)
    if (*json->at == '\n') {
      json->place.line++;
      json->line_begin = json->at + 1;
    }
}

OrrPlace orr_json_place(OrrJson *json) {
  skip_blanks(json);
  json->place.column = (int)MIN(json->at - json->line_begin + 1, G_MAXINT32);
  return json->place;
}

static gboolean fail(OrrJson *json, const char *wanted) {
  if (!json->is_bad) {
    const OrrPlace place = orr_json_place(json);
    if (json->at >= json->end)
      orr_diags_error(json->diags, place, "the text ends where %s was expected", wanted);
    else
      orr_diags_error(json->diags, place, "found '%.*s' where %s was expected", 1, json->at,
                      wanted);
  }
  json->is_bad = TRUE;
  return FALSE;
}

char orr_json_peek(OrrJson *json) {
  skip_blanks(json);
  return json->at < json->end && !json->is_bad ? *json->at : 0;
}

gboolean orr_json_open(OrrJson *json) {
  const char open = orr_json_peek(json);
  if (open != '{' && open != '[') return fail(json, "'{' or '['");
  if (json->depth >= ORR_JSON_MAX_DEPTH) return fail(json, "less depth");
  json->closes[json->depth] = open == '{' ? '}' : ']';
  json->is_first[json->depth++] = TRUE;
  json->at++;
  return TRUE;
}

gboolean orr_json_more(OrrJson *json) {
  if (json->is_bad || json->depth == 0) return FALSE;
  const int top = json->depth - 1;
  const char next = orr_json_peek(json);
  if (next && next == json->closes[top]) {
    json->at++;
    json->depth--;
    return FALSE;
  }
  if (!json->is_first[top]) {
    if (next != ',') return fail(json, json->closes[top] == '}' ? "',' or '}'" : "',' or ']'");
    json->at++;
  }
  json->is_first[top] = FALSE;
  return orr_json_peek(json) ? TRUE : fail(json, "a value");
}

/* Appends the code point of a \u escape; a surrogate pair is one code point. */
static void append_escape(OrrJson *json, GString *out) {
  const char c = json->at < json->end ? *json->at++ : 0;
  static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
  const char *known = c ? strchr(from, c) : NULL;
  if (known) {
    g_string_append_c(out, to[known - from]);
    return;
  }
  if (c != 'u') {
    if (c) g_string_append_c(out, c);
    return;
  }
  gunichar code = 0;
  for (int i = 0; i < 4 && json->at < json->end && g_ascii_isxdigit(*json->at); i++)
    code = code * 16 + (gunichar)g_ascii_xdigit_value(*json->at++);
  g_string_append_unichar(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : MAX(code, 1));
}

char *orr_json_text(OrrJson *json) {
  if (orr_json_peek(json) != '"') {
    fail(json, "a text in quotes");
    return NULL;
  }
  g_autoptr(GString) out = g_string_new(NULL);
  json->at++;
  while (json->at < json->end && *json->at != '"') {
    const char *run = json->at;
    while (json->at < json->end && *json->at != '"' && *json->at != '\\' && *json->at != '\n')
      json->at++;
    g_string_append_len(out, run, json->at - run);
    if (json->at >= json->end || *json->at == '\n') break;
    if (*json->at != '\\') continue;
    json->at++;
    append_escape(json, out);
  }
  if (json->at >= json->end || *json->at != '"') {
    fail(json, "'\"'");
    return NULL;
  }
  json->at++;
  return g_string_free(g_steal_pointer(&out), FALSE);
}

char *orr_json_key(OrrJson *json) {
  g_autofree char *key = orr_json_text(json);
  if (key && orr_json_peek(json) != ':') fail(json, "':'");
  if (!key || json->is_bad) return g_strdup("");
  if (json->names_keys) g_strlcpy(json->key, key, sizeof json->key);
  json->at++;
  return g_steal_pointer(&key);
}

/* How many bytes of a message may quote the text: a whole token that looks like a number,
 * including Python's NaN and Infinity. Of any other text a single character, since the file may be
 * private. */
static int quotable(const OrrJson *json) {
  static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
  const gsize left = (gsize)(json->end - json->at);
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (left >= strlen(words[i]) && strncmp(json->at, words[i], strlen(words[i])) == 0)
      return (int)strlen(words[i]);
  gsize n = 0;
  while (n < MIN(left, 24) && json->at[n] && strchr("+-.0123456789eE", json->at[n])) n++;
  return (int)MAX(n, 1);
}

/* Names the key and the value: a config with NaN or 1e400 has hundreds of numbers. */
static gboolean fail_number(OrrJson *json, const char *wanted) {
  const char *key = json->key;
  if (json->at >= json->end) return fail(json, wanted);
  if (!json->is_bad)
    orr_diags_error(json->diags, orr_json_place(json), "%s%s%sfound '%.*s' where %s was expected",
                    *key ? "'" : "", key, *key ? "': " : "", quotable(json), json->at, wanted);
  json->is_bad = TRUE;
  return FALSE;
}

gboolean orr_json_number(OrrJson *json, double *ret_value) {
  const gboolean quoted = orr_json_peek(json) == '"';
  char digits[64];
  gsize n = 0;
  const char *at = json->at + (quoted ? 1 : 0);
  while (at < json->end && n + 1 < sizeof digits && *at && strchr("+-.0123456789eE", *at))
    digits[n++] = *at++;
  digits[n] = 0;
  char *end;
  const double value = g_ascii_strtod(digits, &end);
  if (n == 0 || *end || (quoted && (at >= json->end || *at != '"')))
    return fail_number(json, "a number");
  if (!isfinite(value)) return fail_number(json, "a number of at most 1.8e308");
  json->at = at + (quoted ? 1 : 0);
  *ret_value = value;
  return TRUE;
}

void orr_json_skip(OrrJson *json) {
  const char next = orr_json_peek(json);
  if (next == '{' || next == '[') {
    if (!orr_json_open(json)) return;
    while (orr_json_more(json)) {
      if (next == '{') g_free(orr_json_key(json));
      orr_json_skip(json);
    }
    return;
  }
  if (next == '"') return g_free(orr_json_text(json));
  static const char *const words[] = {"true", "false", "null"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    const gsize length = strlen(words[i]);
    if ((gsize)(json->end - json->at) >= length && strncmp(json->at, words[i], length) == 0) {
      json->at += length;
      return;
    }
  }
  double number;
  if (next)
    orr_json_number(json, &number);
  else
    fail(json, "a value");
}
