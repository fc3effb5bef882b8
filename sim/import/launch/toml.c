/*
 * toml.c - tables, keys and values of TOML.
 */
#include "sim/import/launch/toml.h"

static OrrNode *read_value(OrrToml *toml, guint depth);

static void skip_blanks(OrrToml *toml) {
  while (orr_toml_peek(toml, 0) == ' ' || orr_toml_peek(toml, 0) == '\t') orr_toml_next(toml);
}

/* Blanks, comments and ends of lines. */
static void skip_lines(OrrToml *toml) {
  while (toml->at < toml->end && strchr(" \t\r\n#", *toml->at) && *toml->at) {
    if (*toml->at == '#')
      while (toml->at < toml->end && *toml->at != '\n') orr_toml_next(toml);
    else
      orr_toml_next(toml);
  }
}

/* Behind a value or a header there is nothing but a comment. */
static gboolean end_line(OrrToml *toml) {
  skip_blanks(toml);
  if (orr_toml_peek(toml, 0) == '#')
    while (toml->at < toml->end && *toml->at != '\n') orr_toml_next(toml);
  if (orr_toml_peek(toml, 0) == '\r') orr_toml_next(toml);
  if (toml->at >= toml->end || *toml->at == '\n') return TRUE;
  return orr_toml_fail(toml, "the end of the line was expected");
}

static gboolean count_node(OrrToml *toml) {
  return ++toml->n_nodes <= ORR_TOML_MAX_NODES ||
         orr_toml_fail(toml, "more than %d keys and values", ORR_TOML_MAX_NODES);
}

/* --- Keys --- */

static gboolean is_bare(char c) { return g_ascii_isalnum(c) || c == '_' || c == '-'; }

/* One part of a dotted key; newly allocated, NULL with an error. */
static char *read_part(OrrToml *toml) {
  const char c = orr_toml_peek(toml, 0);
  const char *begin = toml->at;
  if (c == '"' || c == '\'') return orr_toml_quoted(toml);
  while (is_bare(orr_toml_peek(toml, 0))) orr_toml_next(toml);
  if (toml->at > begin) return g_strndup(begin, (gsize)(toml->at - begin));
  orr_toml_fail(toml, "a key was expected");
  return NULL;
}

/* The parts of a key up to what is not a dot; NULL with an error. */
static GPtrArray *read_key(OrrToml *toml) {
  g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
  do {
    if (parts->len > 0) orr_toml_next(toml);
    skip_blanks(toml);
    char *part = read_part(toml);
    if (!part || !count_node(toml)) {
      g_free(part);
      return NULL;
    }
    g_ptr_array_add(parts, part);
    skip_blanks(toml);
  } while (orr_toml_peek(toml, 0) == '.');
  if (parts->len <= ORR_TOML_MAX_DEPTH) return g_steal_pointer(&parts);
  orr_toml_fail(toml, "a key of more than %d parts", ORR_TOML_MAX_DEPTH);
  return NULL;
}

/* The table @key of @table, made where it is absent. Of a list of tables, the last. */
static OrrNode *enter(OrrToml *toml, OrrNode *table, const char *key) {
  OrrNode *below = orr_node_get(table, key);
  if (!below) {
    below = orr_node_new_map(orr_toml_place(toml));
    orr_node_set(table, key, below);
  }
  const gboolean is_closed = g_hash_table_contains(toml->opened, below);
  if (below->kind == ORR_NODE_LIST && !is_closed && orr_node_length(below) > 0)
    below = below->items->pdata[below->items->len - 1];
  if (below->kind == ORR_NODE_MAP &&
      (!g_hash_table_contains(toml->opened, below) ||
       g_hash_table_lookup(toml->opened, below) != GINT_TO_POINTER(2)))
    return below;
  orr_toml_fail(toml, "'%s' has a value already: it is not a table", key);
  return NULL;
}

/* --- Values --- */

/* Values that nothing may be added to. */
static OrrNode *close_node(OrrToml *toml, OrrNode *node) {
  g_hash_table_insert(toml->opened, node, GINT_TO_POINTER(2));
  return node;
}

static gboolean assign(OrrToml *toml, OrrNode *table, guint depth) {
  g_autoptr(GPtrArray) parts = read_key(toml);
  if (!parts) return FALSE;
  for (guint i = 0; i + 1 < parts->len && table; i++) table = enter(toml, table, parts->pdata[i]);
  if (!table) return FALSE;
  const char *last = parts->pdata[parts->len - 1];
  if (orr_toml_peek(toml, 0) != '=')
    return orr_toml_fail(toml, "'=' after '%s' was expected", last);
  if (orr_node_get(table, last)) return orr_toml_fail(toml, "'%s' comes twice", last);
  orr_toml_next(toml);
  skip_blanks(toml);
  OrrNode *value = read_value(toml, depth + 1);
  if (value) orr_node_set(table, last, value);
  return value != NULL;
}

static OrrNode *read_array(OrrToml *toml, guint depth) {
  g_autoptr(OrrNode) list = orr_node_new_list(orr_toml_place(toml));
  orr_toml_next(toml);
  for (skip_lines(toml); orr_toml_peek(toml, 0) != ']'; skip_lines(toml)) {
    OrrNode *item = read_value(toml, depth + 1);
    if (!item) return NULL;
    orr_node_append(list, item);
    skip_lines(toml);
    if (orr_toml_peek(toml, 0) == ']') break;
    if (orr_toml_peek(toml, 0) != ',') {
      orr_toml_fail(toml, "',' or ']' was expected");
      return NULL;
    }
    orr_toml_next(toml);
  }
  orr_toml_next(toml);
  return close_node(toml, g_steal_pointer(&list));
}

static OrrNode *read_inline(OrrToml *toml, guint depth) {
  g_autoptr(OrrNode) map = orr_node_new_map(orr_toml_place(toml));
  orr_toml_next(toml);
  for (skip_lines(toml); orr_toml_peek(toml, 0) != '}'; skip_lines(toml)) {
    if (!assign(toml, map, depth)) return NULL;
    skip_lines(toml);
    if (orr_toml_peek(toml, 0) == '}') break;
    if (orr_toml_peek(toml, 0) != ',') {
      orr_toml_fail(toml, "',' or '}' was expected");
      return NULL;
    }
    orr_toml_next(toml);
  }
  orr_toml_next(toml);
  return close_node(toml, g_steal_pointer(&map));
}

/* "0x1F", "0o17", "0b11" in decimal; NULL: not such a number. */
static char *with_base(const char *word) {
  static const struct {
    const char *prefix;
    guint base;
  } bases[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}};
  for (guint i = 0; i < G_N_ELEMENTS(bases); i++) {
    char *end = NULL;
    if (!g_str_has_prefix(word, bases[i].prefix) || !g_ascii_isxdigit(word[2])) continue;
    const guint64 number = g_ascii_strtoull(word + 2, &end, bases[i].base);
    if (!*end) return g_strdup_printf("%" G_GUINT64_FORMAT, number);
  }
  return NULL;
}

/* Underscores stand between digits. */
static gboolean drop_underscores(char *word) {
  char *to = word;
  for (const char *from = word; *from; from++) {
    const gboolean between = from > word && g_ascii_isxdigit(from[-1]) && g_ascii_isxdigit(from[1]);
    if (*from == '_' && !between) return FALSE;
    if (*from != '_') *to++ = *from;
  }
  *to = '\0';
  return TRUE;
}

static gboolean is_number(const char *word) {
  char *end = NULL;
  const char *digits = word + (*word == '+' || *word == '-');
  if (strcmp(digits, "inf") == 0 || strcmp(digits, "nan") == 0) return TRUE;
  if (!g_ascii_isdigit(*digits)) return FALSE;
  g_ascii_strtod(word, &end);
  return *end == '\0' && strcspn(word, "xXpP") == strlen(word);
}

/* "1979-05-27T07:32:00Z", "1979-05-27", "07:32:00" */
static gboolean is_time(const char *word) {
  return g_regex_match_simple("^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9:.]+([Zz]|[+-][0-9:]+)?)?|"
                              "[0-9]{2}:[0-9]{2}(:[0-9.]+)?)$",
                              word, G_REGEX_DEFAULT, 0);
}

static char *plain_value(const char *text) {
  g_autofree char *word = g_strdup(text);
  if (is_time(word) || strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
    return g_strdup(word);
  if (!drop_underscores(word)) return NULL;
  char *based = with_base(word);
  return based ? based : is_number(word) ? g_strdup(word) : NULL;
}

static OrrNode *read_plain(OrrToml *toml) {
  const OrrPlace place = orr_toml_place(toml);
  const char *begin = toml->at;
  while (toml->at < toml->end && *toml->at && !strchr(" \t\r\n,]}#", *toml->at))
    orr_toml_next(toml);
  if (toml->at - begin == 10 && orr_toml_peek(toml, 0) == ' ' &&
      g_ascii_isdigit(orr_toml_peek(toml, 1)) && begin[4] == '-')
    for (orr_toml_next(toml); toml->at < toml->end && !strchr(" \t\r\n,]}#", *toml->at);)
      orr_toml_next(toml);
  g_autofree char *word = g_strndup(begin, (gsize)(toml->at - begin));
  g_autofree char *value = plain_value(word);
  if (value) return orr_node_new_scalar(place, value);
  toml->at = begin;
  orr_toml_fail(toml, "'%.40s' is not a value: write texts in quotes", word);
  return NULL;
}

static OrrNode *read_value(OrrToml *toml, guint depth) {
  const char c = orr_toml_peek(toml, 0);
  if (!count_node(toml)) return NULL;
  if (depth > ORR_TOML_MAX_DEPTH) {
    orr_toml_fail(toml, "more than %d levels deep", ORR_TOML_MAX_DEPTH);
    return NULL;
  }
  if (c == '[') return read_array(toml, depth);
  if (c == '{') return read_inline(toml, depth);
  if (c != '"' && c != '\'') return read_plain(toml);
  const OrrPlace place = orr_toml_place(toml);
  g_autofree char *text = orr_toml_quoted(toml);
  if (!text) return NULL;
  OrrNode *node = orr_node_new_scalar(place, text);
  node->quoted = TRUE;
  return node;
}

/* --- Tables --- */

/* A new table at the end of the list @key. */
static OrrNode *append_table(OrrToml *toml, OrrNode *table, const char *key) {
  OrrNode *list = orr_node_get(table, key);
  if (!list) {
    list = orr_node_new_list(orr_toml_place(toml));
    orr_node_set(table, key, list);
  }
  if (list->kind != ORR_NODE_LIST || g_hash_table_contains(toml->opened, list)) {
    orr_toml_fail(toml, "'%s' has a value already: it is not a list of tables", key);
    return NULL;
  }
  orr_node_append(list, orr_node_new_map(orr_toml_place(toml)));
  return list->items->pdata[list->items->len - 1];
}

/* [a.b] once, [[a.b]] as often as there are tables in the list. */
static OrrNode *open_table(OrrToml *toml, OrrNode *root, const GPtrArray *parts, gboolean is_list) {
  OrrNode *table = root;
  for (guint i = 0; i + 1 < parts->len && table; i++) table = enter(toml, table, parts->pdata[i]);
  if (!table) return NULL;
  const char *last = parts->pdata[parts->len - 1];
  if (is_list) return append_table(toml, table, last);
  table = enter(toml, table, last);
  if (table && !g_hash_table_insert(toml->opened, table, GINT_TO_POINTER(1))) {
    orr_toml_fail(toml, "the table '%s' comes twice", last);
    return NULL;
  }
  return table;
}

static OrrNode *read_header(OrrToml *toml, OrrNode *root) {
  const gboolean is_list = orr_toml_peek(toml, 1) == '[';
  for (int i = 0; i <= is_list; i++) orr_toml_next(toml);
  g_autoptr(GPtrArray) parts = read_key(toml);
  if (!parts) return NULL;
  for (int i = 0; i <= is_list; i++) {
    if (orr_toml_peek(toml, 0) != ']') {
      orr_toml_fail(toml, "'%s' was expected", is_list ? "]]" : "]");
      return NULL;
    }
    orr_toml_next(toml);
  }
  OrrNode *table = open_table(toml, root, parts, is_list);
  return table && end_line(toml) ? table : NULL;
}

OrrNode *orr_toml_parse(const char *text, gsize length, const char *file, OrrDiags *diags) {
  g_autoptr(GHashTable) opened = g_hash_table_new(NULL, NULL);
  OrrToml toml = {.at = text,
                  .end = text + length,
                  .line_begin = text,
                  .line = 1,
                  .file = g_intern_string(file),
                  .diags = diags,
                  .opened = opened};
  if (!g_utf8_validate(text, (gssize)length, NULL)) {
    orr_diags_error(diags, (OrrPlace){.file = toml.file}, "not a text in UTF-8");
    return NULL;
  }
  g_autoptr(OrrNode) root = orr_node_new_map(orr_toml_place(&toml));
  OrrNode *table = root;
  for (skip_lines(&toml); toml.at < toml.end && !toml.is_bad; skip_lines(&toml)) {
    if (*toml.at == '[')
      table = read_header(&toml, root);
    else if (assign(&toml, table, 1))
      end_line(&toml);
  }
  return toml.is_bad ? NULL : g_steal_pointer(&root);
}
