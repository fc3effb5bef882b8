/*
 * yaml_plain.c - reads the plain part of YAML in one pass, several times as fast as libyaml.
 *
 * A profile of kernels has a megabyte of lines like the last one below, and reading it was most of
 * a short run. Plain is what our documents consist of, and what can be read without a look back:
 *
 *   # ASCII, one line per scalar and flow value, keys of letters, digits, '_', '.' and '-'
 *   name: h100-sxm              # begins with a letter, a digit, '.', '/', '_' or a minus sign
 *   source: "in double quotes, without backslashes"
 *   rows:
 *     - dtype: bf16             # lists are indented below their key
 *       sizes: [1, 2, 4]
 *     - {n: 32, k: 32, us: "2.6 2.51"}
 *   note: >-                    # folded text, all lines with one indentation
 *     of two
 *     lines
 *
 * Invariants
 *  1. What is accepted has the tree that libyaml gives, with the same places
 *     (tests/base/test_yaml.c compares them for all shipped documents, and for broken ones).
 *  2. Anything else is left to libyaml, errors too: NULL.
 */
#include <string.h>

#include "sim/base/yaml_private.h"

enum { MOST_KEYS = 64, MOST_DEPTH = 24 };

typedef struct {
  const char *at;   /* what is read next; the text ends with a NUL */
  const char *line; /* its line */
  int n_lines;      /* lines before it */
  const char *file;
  guint n_nodes;
} Scan;

static OrrNode *read_block(Scan *scan, int indent, guint depth);
static OrrNode *read_flow(Scan *scan, guint depth);

static OrrPlace place_here(const Scan *scan) {
  return (OrrPlace){
      .file = scan->file, .line = scan->n_lines + 1, .column = (int)(scan->at - scan->line) + 1};
}

static void skip_spaces(Scan *scan) {
  while (*scan->at == ' ') scan->at++;
}

/* Ends the line, where nothing but a comment is left of it. */
static gboolean end_line(Scan *scan) {
  const gboolean is_apart = *scan->at == ' ' || scan->at == scan->line;
  skip_spaces(scan);
  if (*scan->at == '#' && is_apart) scan->at += strcspn(scan->at, "\n");
  if (!*scan->at) return TRUE;
  if (*scan->at != '\n') return FALSE;
  scan->line = ++scan->at;
  scan->n_lines++;
  return TRUE;
}

/* Moves to the next line that holds more than a comment, at whose begin @scan is; its indentation,
 * or -1 at the end. */
static int next_indent(Scan *scan) {
  while (*scan->at) {
    const size_t indent = strspn(scan->at, " ");
    const char *first = scan->at + indent;
    if (*first && *first != '\n' && *first != '#') return (int)indent;
    if (!end_line(scan)) return -1;
  }
  return -1;
}

static gboolean is_word(char c) { return g_ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

/* The length of the key at @text, which a ':' ends; 0: there is none. */
static size_t key_length(const char *text) {
  size_t n = 0;
  if (!g_ascii_isalpha(*text) && *text != '_') return 0;
  while (n < 256 && is_word(text[n])) n++;
  return text[n] == ':' && (text[n + 1] == ' ' || text[n + 1] == '\n') ? n : 0;
}

static OrrNode *take_scalar(Scan *scan, const char *text, size_t length, gboolean quoted) {
  g_autofree char *copy = g_strndup(text, length);
  OrrNode *node = orr_node_new_scalar(place_here(scan), copy);
  node->quoted = quoted;
  scan->n_nodes++;
  return node;
}

/* --- Values on one line --- */

static OrrNode *read_quoted(Scan *scan) {
  const char *text = scan->at + 1;
  const size_t length = strcspn(text, "\"\\\n");
  if (text[length] != '"') return NULL;
  OrrNode *node = take_scalar(scan, text, length, TRUE);
  scan->at = text + length + 1;
  return node;
}

/* Up to a mark of flow values in one, else up to " #"; NULL: only YAML's rules tell. */
static OrrNode *read_plain(Scan *scan, gboolean in_flow) {
  const char *text = scan->at;
  const char next = *text == '-' ? text[1] : *text;
  if (!g_ascii_isalnum(next) && next != '.' && next != '_' && (next != '/' || *text == '-'))
    return NULL;
  size_t length = 0;
  for (; text[length] && text[length] != '\n'; length++) {
    const char c = text[length];
    if (in_flow && strchr(",[]{}", c)) break;
    if (in_flow && (c == ':' || c == '#')) return NULL;
    if (c == '#' && text[length - 1] == ' ') break;
    if (c == ':' && (text[length + 1] == ' ' || text[length + 1] == '\n' || !text[length + 1]))
      return NULL;
  }
  size_t end = length;
  while (text[end - 1] == ' ') end--;
  OrrNode *node = take_scalar(scan, text, end, FALSE);
  scan->at = text + end;
  return node;
}

static OrrNode *read_value(Scan *scan, gboolean in_flow, guint depth) {
  if (*scan->at == '"') return read_quoted(scan);
  if (*scan->at == '{' || *scan->at == '[') return read_flow(scan, depth);
  return read_plain(scan, in_flow);
}

static gboolean has_key(const OrrNode *map, const char *text) {
  for (guint i = 0; i < map->keys->len; i++)
    if (strcmp(((const OrrNode *)map->keys->pdata[i])->text, text) == 0) return TRUE;
  return FALSE;
}

/* The key, its ':' and the spaces behind it. */
static gboolean add_key(Scan *scan, OrrNode *map) {
  const size_t length = key_length(scan->at);
  if (length == 0 || map->keys->len == MOST_KEYS) return FALSE;
  g_autoptr(OrrNode) key = take_scalar(scan, scan->at, length, FALSE);
  if (has_key(map, key->text)) return FALSE;
  scan->at += length + 1;
  skip_spaces(scan);
  g_ptr_array_add(map->keys, g_steal_pointer(&key));
  return TRUE;
}

/* {a: 1, b: 2} or [1, 2]; empty ones are left to libyaml. */
static OrrNode *read_flow(Scan *scan, guint depth) {
  const gboolean is_map = *scan->at == '{';
  const OrrPlace place = place_here(scan);
  g_autoptr(OrrNode) node = is_map ? orr_node_new_map(place) : orr_node_new_list(place);
  scan->n_nodes++;
  if (depth > MOST_DEPTH) return NULL;
  do {
    scan->at++;
    skip_spaces(scan);
    if (is_map && !add_key(scan, node)) return NULL;
    OrrNode *item = read_value(scan, TRUE, depth + 1);
    if (!item) return NULL;
    g_ptr_array_add(node->items, item);
    skip_spaces(scan);
  } while (*scan->at == ',');
  if (*scan->at != (is_map ? '}' : ']')) return NULL;
  scan->at++;
  return g_steal_pointer(&node);
}

/* --- Blocks --- */

/* Moves behind empty lines. FALSE: what follows could belong to a text deeper than @indent. */
static gboolean end_text(Scan *scan, int indent) {
  while (*scan->at == '\n') end_line(scan);
  const size_t next = strspn(scan->at, " ");
  return (int)next <= indent && scan->at[next] != '\n' && (scan->at[next] || next == 0);
}

/* > or >-, and lines deeper than @indent, which a blank joins. Lines of other indentations, empty
 * ones and blanks at an end are left to libyaml. */
static OrrNode *read_folded(Scan *scan, int indent) {
  g_autoptr(OrrNode) node = take_scalar(scan, "", 0, TRUE);
  const gboolean strips = scan->at[1] == '-';
  g_autoptr(GString) text = g_string_new(NULL);
  scan->at += strips ? 2 : 1;
  if (*scan->at != '\n' || !end_line(scan)) return NULL;
  const size_t deep = strspn(scan->at, " ");
  if ((int)deep <= indent) return NULL;
  while (strspn(scan->at, " ") == deep && scan->at[deep] != '\n') {
    const char *line = scan->at + deep;
    const size_t length = strcspn(line, "\n");
    if (!line[length] || line[length - 1] == ' ') return NULL;
    g_string_append_printf(text, "%s%.*s", text->len ? " " : "", (int)length, line);
    scan->at = line + length;
    end_line(scan);
  }
  if (text->len == 0 || !end_text(scan, indent)) return NULL;
  g_free(node->text);
  node->text = g_strconcat(text->str, strips ? "" : "\n", NULL);
  return g_steal_pointer(&node);
}

/* The value behind a key or a dash of a block with @indent: the rest of the line, or a block below.
 * A line that is indented further would continue it: the block, which expects none, gives up. */
static OrrNode *read_item(Scan *scan, int indent, guint depth) {
  if (*scan->at == '\n' || *scan->at == '#' || !*scan->at) {
    if (!end_line(scan)) return NULL;
    const int below = next_indent(scan);
    return below > indent ? read_block(scan, below, depth) : NULL;
  }
  if (*scan->at == '>') return read_folded(scan, indent);
  g_autoptr(OrrNode) value = read_value(scan, FALSE, depth);
  if (!value || !end_line(scan)) return NULL;
  return g_steal_pointer(&value);
}

/* The first key is at @scan, the others on lines with @indent. */
static OrrNode *read_map(Scan *scan, int indent, guint depth) {
  g_autoptr(OrrNode) map = orr_node_new_map(place_here(scan));
  int next;
  scan->n_nodes++;
  do {
    scan->at = scan->line + indent;
    OrrNode *value = add_key(scan, map) ? read_item(scan, indent, depth + 1) : NULL;
    if (!value) return NULL;
    g_ptr_array_add(map->items, value);
  } while ((next = next_indent(scan)) == indent);
  return next < indent ? g_steal_pointer(&map) : NULL;
}

static OrrNode *read_list(Scan *scan, int indent, guint depth) {
  g_autoptr(OrrNode) list = orr_node_new_list(place_here(scan));
  int next;
  scan->n_nodes++;
  do {
    scan->at = scan->line + indent;
    if (scan->at[0] != '-' || scan->at[1] != ' ') return NULL;
    scan->at++;
    skip_spaces(scan);
    if (*scan->at == '\n' || *scan->at == '#') return NULL;
    OrrNode *item = key_length(scan->at) > 0
                        ? read_map(scan, (int)(scan->at - scan->line), depth + 1)
                        : read_item(scan, indent, depth + 1);
    if (!item) return NULL;
    g_ptr_array_add(list->items, item);
  } while ((next = next_indent(scan)) == indent);
  return next < indent ? g_steal_pointer(&list) : NULL;
}

static OrrNode *read_block(Scan *scan, int indent, guint depth) {
  if (depth > MOST_DEPTH) return NULL;
  scan->at = scan->line + indent;
  return *scan->at == '-' ? read_list(scan, indent, depth) : read_map(scan, indent, depth);
}

static gboolean is_ascii(const char *text, gsize length) {
  for (gsize i = 0; i < length; i++)
    if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n') return FALSE;
  return TRUE;
}

OrrNode *orr_yaml_plain(const char *text, gsize length, const char *file, guint most_nodes) {
  if (!is_ascii(text, length)) return NULL;
  g_autofree char *ended = g_strndup(text, length);
  Scan scan = {.at = ended, .line = ended, .file = file};
  if (next_indent(&scan) != 0) return NULL;
  g_autoptr(OrrNode) root = read_map(&scan, 0, 1);
  return root && !*scan.at && scan.n_nodes < most_nodes ? g_steal_pointer(&root) : NULL;
}
