/*
 * yaml.c - YAML text to and from trees, through libyaml's events.
 *
 * Invariants
 *  1. The size of a document bounds the cost of reading it: bytes, nodes and levels are limited,
 *     nothing in it can refer to other text (no aliases, no merge keys), and lookups in large maps
 *     are hashed while reading.
 *  2. The C stack holds one frame per level, so ORR_YAML_MAX_DEPTH bounds it.
 *  3. After an error that leaves the events readable (a tag, a duplicate key) reading continues, so
 *     that the user sees all errors at once. After any other (a syntax error, a limit) there is no
 *     tree.
 *  4. Scalars are UTF-8 without NUL.
 */
#include "sim/base/yaml.h"

#include <yaml.h>

#define MAX_NODES (1u << 20) /* some 150 bytes each in memory, against as few as 2 in the text */

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_event_t, yaml_event_delete)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_parser_t, yaml_parser_delete)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_emitter_t, yaml_emitter_delete)

typedef struct {
  yaml_parser_t *parser;
  const char *text;
  gsize length;
  const char *file; /* interned */
  OrrDiags *diags;
  guint n_nodes;
} Reader;

static OrrNode *read_node(Reader *reader, const yaml_event_t *event, guint depth);

static OrrPlace whole_file(const char *file) { return (OrrPlace){.file = file}; }

static OrrPlace place_of(const Reader *reader, yaml_mark_t mark) {
  return (OrrPlace){
      .file = reader->file, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
}

/* For errors found before libyaml counts lines. @offset is in bytes. */
static OrrPlace place_at_offset(const char *file, const char *text, gsize offset) {
  OrrPlace place = {.file = file, .line = 1, .column = 1};
  for (gsize i = 0; i < offset; i++) {
    if (text[i] == '\n') {
      place.line++;
      place.column = 1;
    } else if ((text[i] & 0xC0) != 0x80) {
      place.column++;
    }
  }
  return place;
}

/* libyaml's marks count characters. */
static gboolean is_tab_at(const Reader *reader, yaml_mark_t mark) {
  const char *at = reader->text, *end = reader->text + reader->length;
  for (size_t i = 0; i < mark.index && at < end; i++) at = g_utf8_next_char(at);
  return at < end && *at == '\t';
}

static void report_parser(const Reader *reader) {
  const yaml_parser_t *parser = reader->parser;
  const char *problem = parser->problem ? parser->problem : "out of memory";
  if (parser->error == YAML_READER_ERROR) {
    OrrPlace place =
        place_at_offset(reader->file, reader->text, MIN(parser->problem_offset, reader->length));
    orr_diags_error(reader->diags, place, "is not valid YAML: %s (0x%02X)", problem,
                    (guint)parser->problem_value);
    return;
  }
  OrrPlace place = place_of(reader, parser->problem_mark);
  if (is_tab_at(reader, parser->problem_mark))
    orr_diags_error(reader->diags, place, "is not valid YAML: tab used for indentation");
  else if (parser->context && parser->context_mark.line != parser->problem_mark.line)
    orr_diags_error(reader->diags, place, "is not valid YAML: %s %s that began on line %d", problem,
                    parser->context, (int)parser->context_mark.line + 1);
  else if (parser->context)
    orr_diags_error(reader->diags, place, "is not valid YAML: %s %s", problem, parser->context);
  else
    orr_diags_error(reader->diags, place, "is not valid YAML: %s", problem);
}

static gboolean next_event(Reader *reader, yaml_event_t *event) {
  if (yaml_parser_parse(reader->parser, event)) return TRUE;
  report_parser(reader);
  return FALSE;
}

static void refuse_marks(const Reader *reader, OrrPlace place, const yaml_char_t *anchor,
                         const yaml_char_t *tag) {
  if (anchor)
    orr_diags_error(reader->diags, place,
                    "anchor '&%s': anchors and aliases are not supported, write the value out",
                    anchor);
  if (tag) orr_diags_error(reader->diags, place, "tag '%s': tags are not supported", tag);
}

static OrrNode *read_scalar(const Reader *reader, const yaml_event_t *event) {
  OrrPlace place = place_of(reader, event->start_mark);
  const char *text = (const char *)event->data.scalar.value;
  refuse_marks(reader, place, event->data.scalar.anchor, event->data.scalar.tag);
  if (strlen(text) != event->data.scalar.length)
    orr_diags_error(reader->diags, place, "a NUL character in a text");
  OrrNode *node = orr_node_new_scalar(place, text);
  node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  return node;
}

static OrrNode *read_list(Reader *reader, const yaml_event_t *start, guint depth) {
  OrrPlace place = place_of(reader, start->start_mark);
  refuse_marks(reader, place, start->data.sequence_start.anchor, start->data.sequence_start.tag);
  g_autoptr(OrrNode) list = orr_node_new_list(place);
  while (TRUE) {
    g_auto(yaml_event_t) event = {0};
    if (!next_event(reader, &event)) return NULL;
    if (event.type == YAML_SEQUENCE_END_EVENT) return g_steal_pointer(&list);
    OrrNode *item = read_node(reader, &event, depth + 1);
    if (!item) return NULL;
    orr_node_append(list, item);
  }
}

enum { SMALL_MAP = 12 }; /* keys up to which comparing texts is faster than a hash table */

static const OrrNode *find_key(const OrrNode *map, const char *text, GHashTable *seen) {
  if (seen) return g_hash_table_lookup(seen, text);
  for (guint i = 0; i < map->keys->len; i++)
    if (g_str_equal(((const OrrNode *)map->keys->pdata[i])->text, text)) return map->keys->pdata[i];
  return NULL;
}

/* Appends the key. @seen maps the text of each key (owned by the key) to the key; NULL: the map is
 * small. */
static void note_key(OrrNode *map, OrrNode *key, GHashTable **seen) {
  g_ptr_array_add(map->keys, key);
  if (*seen) g_hash_table_insert(*seen, key->text, key);
  if (*seen || map->keys->len < SMALL_MAP) return;
  *seen = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; i < map->keys->len; i++)
    g_hash_table_insert(*seen, ((OrrNode *)map->keys->pdata[i])->text, map->keys->pdata[i]);
}

/* Adds the pair, or reports a duplicate key. Takes ownership of both. */
static void add_pair(const Reader *reader, OrrNode *map, GHashTable **seen, OrrNode *taken_key,
                     OrrNode *taken_value) {
  g_autoptr(OrrNode) key = taken_key;
  g_autoptr(OrrNode) value = taken_value;
  if (key->kind != ORR_NODE_SCALAR)
    return orr_diags_error(reader->diags, key->place, "a %s as a key: keys are words",
                           key->kind == ORR_NODE_LIST ? "list" : "map");
  if (!key->quoted && g_str_equal(key->text, "<<"))
    return orr_diags_error(reader->diags, key->place,
                           "merge keys ('<<') are not supported, write the entries out");
  const OrrNode *first = find_key(map, key->text, *seen);
  if (first)
    return orr_diags_error(reader->diags, key->place, "duplicate key '%s': first on line %d",
                           key->text, first->place.line);
  note_key(map, g_steal_pointer(&key), seen);
  g_ptr_array_add(map->items, g_steal_pointer(&value));
}

static OrrNode *read_map(Reader *reader, const yaml_event_t *start, guint depth) {
  OrrPlace place = place_of(reader, start->start_mark);
  refuse_marks(reader, place, start->data.mapping_start.anchor, start->data.mapping_start.tag);
  g_autoptr(OrrNode) map = orr_node_new_map(place);
  g_autoptr(GHashTable) seen = NULL;
  while (TRUE) {
    g_auto(yaml_event_t) key_event = {0};
    g_auto(yaml_event_t) value_event = {0};
    if (!next_event(reader, &key_event)) return NULL;
    if (key_event.type == YAML_MAPPING_END_EVENT) return g_steal_pointer(&map);
    g_autoptr(OrrNode) key = read_node(reader, &key_event, depth + 1);
    if (!key || !next_event(reader, &value_event)) return NULL;
    OrrNode *value = read_node(reader, &value_event, depth + 1);
    if (!value) return NULL;
    add_pair(reader, map, &seen, g_steal_pointer(&key), value);
  }
}

/* The value that begins with @event; NULL where reading cannot continue. */
static OrrNode *read_node(Reader *reader, const yaml_event_t *event, guint depth) {
  OrrPlace place = place_of(reader, event->start_mark);
  if (depth > ORR_YAML_MAX_DEPTH) {
    orr_diags_error(reader->diags, place, "nested more than %d levels deep", ORR_YAML_MAX_DEPTH);
    return NULL;
  }
  if (++reader->n_nodes > MAX_NODES) {
    orr_diags_error(reader->diags, place, "more than %u values in one document", MAX_NODES);
    return NULL;
  }
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    return read_scalar(reader, event);
  case YAML_SEQUENCE_START_EVENT:
    return read_list(reader, event, depth);
  case YAML_MAPPING_START_EVENT:
    return read_map(reader, event, depth);
  case YAML_ALIAS_EVENT:
    orr_diags_error(reader->diags, place,
                    "alias '*%s': anchors and aliases are not supported, write the value out",
                    event->data.alias.anchor);
    return orr_node_new_scalar(place, "");
  default:
    orr_diags_error(reader->diags, place, "is not valid YAML: an unexpected event");
    return NULL;
  }
}

static gboolean is_nothing(const OrrNode *root) {
  return root->kind == ORR_NODE_SCALAR && !root->quoted && root->text[0] == '\0';
}

static OrrNode *read_document(Reader *reader) {
  g_auto(yaml_event_t) stream = {0};
  g_auto(yaml_event_t) start = {0};
  g_auto(yaml_event_t) value = {0};
  g_auto(yaml_event_t) end = {0};
  g_auto(yaml_event_t) after = {0};
  if (!next_event(reader, &stream) || !next_event(reader, &start)) return NULL;
  if (start.type == YAML_STREAM_END_EVENT) {
    orr_diags_error(reader->diags, whole_file(reader->file), "holds no document");
    return NULL;
  }
  if (!next_event(reader, &value)) return NULL;
  g_autoptr(OrrNode) root = read_node(reader, &value, 1);
  if (!root || !next_event(reader, &end) || !next_event(reader, &after)) return NULL;
  if (after.type != YAML_STREAM_END_EVENT) {
    orr_diags_error(reader->diags, place_of(reader, after.start_mark),
                    "a second document: a file holds one");
  } else if (is_nothing(root)) {
    orr_diags_error(reader->diags, whole_file(reader->file), "holds no document");
    return NULL;
  }
  return g_steal_pointer(&root);
}

/* libyaml compares each %TAG line with all earlier ones, in quadratic time; tags are refused
 * anyway. */
static gboolean has_tag_directive(const char *text, gsize length, gsize *ret_offset) {
  const char *end = text + length;
  for (const char *line = text; line && line < end;) {
    if ((gsize)(end - line) >= 4 && memcmp(line, "%TAG", 4) == 0) {
      *ret_offset = (gsize)(line - text);
      return TRUE;
    }
    line = memchr(line, '\n', (gsize)(end - line));
    line = line ? line + 1 : NULL;
  }
  return FALSE;
}

/* Checks the bytes before they are parsed. */
static gboolean check_bytes(const char *text, gsize length, const char *file, OrrDiags *diags) {
  const char *bad = NULL;
  gsize offset = 0;
  if (length == 0) {
    orr_diags_error(diags, whole_file(file), "is empty");
  } else if (length > ORR_YAML_MAX_BYTES) {
    orr_diags_error(diags, whole_file(file), "is larger than %u MiB, the most that is read",
                    (guint)(ORR_YAML_MAX_BYTES >> 20));
  } else if (!g_utf8_validate_len(text, length, &bad)) {
    orr_diags_error(diags, place_at_offset(file, text, (gsize)(bad - text)),
                    "is not text: byte 0x%02X is %s", (guint)(guchar)*bad,
                    *bad ? "not UTF-8" : "binary");
  } else if (has_tag_directive(text, length, &offset)) {
    orr_diags_error(diags, place_at_offset(file, text, offset), "'%%TAG': tags are not supported");
  } else {
    return TRUE;
  }
  return FALSE;
}

OrrNode *orr_yaml_parse(const char *text, gsize length, const char *file, OrrDiags *diags) {
  g_auto(yaml_parser_t) parser = {0};
  if (length > 3 && memcmp(text, "\357\273\277", 3) ==
                        0) { /* libyaml would count a byte order mark as indentation */
    text += 3;
    length -= 3;
  }
  Reader reader = {.parser = &parser, .text = text, .length = length, .diags = diags};
  reader.file = g_intern_string(file);
  if (!check_bytes(text, length, reader.file, diags)) return NULL;
  if (!yaml_parser_initialize(&parser)) {
    orr_diags_error(diags, whole_file(reader.file), "cannot be read: out of memory");
    return NULL;
  }
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
  return read_document(&reader);
}

OrrNode *orr_yaml_read_file(const char *path, OrrDiags *diags) {
  g_autoptr(GError) reason = NULL;
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_YAML_MAX_BYTES, &length, &reason);
  if (text) return orr_yaml_parse(text, length, path, diags);
  orr_diags_error(diags, whole_file(g_intern_string(path)), "%s", reason->message);
  return NULL;
}

/* Writing. libyaml takes an event from us, and fails only for want of memory or on text that is
 * not UTF-8. */

static int write_text(void *text, unsigned char *bytes, size_t n_bytes) {
  g_string_append_len(text, (const char *)bytes, (gssize)n_bytes);
  return 1;
}

/* Digits and ':' (or '-') alone: YAML 1.1 reads 1:30 as 90, counting by sixties, and 2026-11-22
 * as a date. */
static gboolean is_split_number(const char *text, char split) {
  gboolean is_split = FALSE;
  for (const char *c = text; *c; c++) {
    if (!g_ascii_isdigit(*c) && *c != split) return FALSE;
    is_split |= *c == split && c > text;
  }
  return is_split;
}

/* Whether a YAML 1.1 reader (PyYAML) takes this text for a truth value, a number or a date. */
static gboolean is_other_in_yaml_1_1(const char *text) {
  static const char *const words[] = {"yes", "no", "on", "off"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (g_ascii_strcasecmp(text, words[i]) == 0) return TRUE;
  return is_split_number(text, ':') || is_split_number(text, '-');
}

static gboolean emit_scalar(yaml_emitter_t *emitter, const OrrNode *node) {
  yaml_event_t event;
  g_autofree char *text = g_utf8_make_valid(node->text, -1);
  /* An empty plain scalar reads as nothing at all where it is the whole document. */
  gboolean quote =
      node->quoted || text[0] == '\0' || g_str_equal(text, "<<") || is_other_in_yaml_1_1(text);
  yaml_scalar_style_t style = quote ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
  return yaml_scalar_event_initialize(&event, NULL, NULL, (yaml_char_t *)text, (int)strlen(text), 1,
                                      1, style) &&
         yaml_emitter_emit(emitter, &event);
}

static gboolean emit_node(yaml_emitter_t *emitter, const OrrNode *node) {
  yaml_event_t event;
  if (node->kind == ORR_NODE_SCALAR) return emit_scalar(emitter, node);
  gboolean is_map = node->kind == ORR_NODE_MAP;
  int made =
      is_map
          ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE)
          : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE);
  gboolean fine = made && yaml_emitter_emit(emitter, &event);
  for (guint i = 0; fine && i < node->items->len; i++)
    fine = (!is_map || emit_scalar(emitter, g_ptr_array_index(node->keys, i))) &&
           emit_node(emitter, g_ptr_array_index(node->items, i));
  if (!fine) return FALSE;
  made = is_map ? yaml_mapping_end_event_initialize(&event)
                : yaml_sequence_end_event_initialize(&event);
  return made && yaml_emitter_emit(emitter, &event);
}

char *orr_yaml_text(const OrrNode *node) {
  g_auto(yaml_emitter_t) emitter = {0};
  g_autoptr(GString) text = g_string_new(NULL);
  yaml_event_t event;
  if (!yaml_emitter_initialize(&emitter)) g_return_val_if_reached(NULL);
  yaml_emitter_set_output(&emitter, write_text, text);
  yaml_emitter_set_width(&emitter, -1);
  yaml_emitter_set_unicode(&emitter, 1);
  gboolean fine = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
                  yaml_emitter_emit(&emitter, &event) &&
                  yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
                  yaml_emitter_emit(&emitter, &event) && emit_node(&emitter, node) &&
                  yaml_document_end_event_initialize(&event, 1) &&
                  yaml_emitter_emit(&emitter, &event) && yaml_stream_end_event_initialize(&event) &&
                  yaml_emitter_emit(&emitter, &event);
  g_return_val_if_fail(fine, NULL);
  return g_string_free(g_steal_pointer(&text), FALSE);
}
