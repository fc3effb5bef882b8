/*
 * field_read.c - reads a tree into a struct, following its field table.
 *
 * Every error goes to the diagnostics with its place, and reading continues, so that the user sees
 * all errors at once. A member that could not be read stays zero, which orr_field_clear accepts.
 */
#include "sim/base/field_private.h"
#include "sim/base/library.h"
#include "sim/base/uncertain.h"

typedef struct {
  OrrLibrary *library; /* may be NULL */
  OrrDiags *diags;
  GString *path;        /* of the member that is being read; NULL: numbers take no bounds */
  GPtrArray *uncertain; /* may be NULL */
} Reader;

/* Appends a key to the path; returns the length to leave it with. */
static gsize enter(Reader *reader, const char *key) {
  if (!reader->path) return 0;
  const gsize length = reader->path->len;
  g_string_append_printf(reader->path, length > 0 ? ".%s" : "%s", key);
  return length;
}

static gsize enter_item(Reader *reader, guint index) {
  char key[16];
  g_snprintf(key, sizeof key, "%u", index);
  return enter(reader, key);
}

static void leave(Reader *reader, gsize length) {
  if (reader->path) g_string_truncate(reader->path, length);
}

/* Reports keys of a map that its table does not contain. */
enum { KEYS_OF_DOCUMENT = 1, KEYS_OF_CHOICE = 2 };

static void read_map(Reader *reader, const OrrFieldTable *table, const OrrNode *node,
                     int extra_keys, void *out);

static const char *node_words(const OrrNode *node, char **ret_owned) {
  if (node->kind == ORR_NODE_LIST) return "a list";
  if (orr_node_is_uncertain(node)) return "a number with bounds (value, low, high)";
  if (node->kind == ORR_NODE_MAP) return "a map";
  if (!*node->text && !node->quoted) return "nothing";
  return *ret_owned = g_strdup_printf(node->quoted ? "the text \"%.60s\"" : "'%.60s'", node->text);
}

static void report_found(Reader *reader, const char *name, const char *wanted,
                         const OrrNode *node) {
  g_autofree char *owned = NULL;
  orr_diags_error(reader->diags, node->place, "'%s' must be %s, found %s", name, wanted,
                  node_words(node, &owned));
}

static gboolean want_kind(Reader *reader, const char *name, const OrrNode *node, OrrNodeKind kind,
                          const char *wanted) {
  if (node->kind == kind) return TRUE;
  report_found(reader, name, wanted, node);
  return FALSE;
}

static void report_unknown(Reader *reader, const char *what, const OrrNode *node,
                           const char *const *words) {
  g_autofree char *hint = orr_field_hint(node->text, words);
  orr_diags_error(reader->diags, node->place, "unknown %s '%s'%s", what, node->text, hint);
}

/* --- scalars --- */

static void read_bool(Reader *reader, const OrrField *field, const OrrNode *node,
                      gboolean *member) {
  const char *text = node->kind == ORR_NODE_SCALAR && !node->quoted ? node->text : "";
  if (strcmp(text, "true") == 0)
    *member = TRUE;
  else if (strcmp(text, "false") == 0)
    *member = FALSE; /* a sweep assigns it over true */
  else
    report_found(reader, field->name, "true or false", node);
}

/* 8, -3, 1_000, 1e6; not 3.5, 3.0, 0x10, "8 GB". */
static gboolean parse_whole(const char *text, gint64 *ret_value) {
  if (!*text || strspn(text, "+-0123456789_eE.") != strlen(text) || *text == '_') return FALSE;
  g_auto(GStrv) parts = g_strsplit(text, "_", -1);
  g_autofree char *digits = g_strjoinv("", parts);
  char *end = NULL;
  if (g_ascii_string_to_signed(digits, 10, G_MININT64, G_MAXINT64, ret_value, NULL)) return TRUE;
  double value = g_ascii_strtod(digits, &end);
  if (*end || !strpbrk(digits, "eE") || value != floor(value) ||
      fabs(value) > 9007199254740992.0) /* 2^53 */
    return FALSE;
  *ret_value = (gint64)value;
  return TRUE;
}

/* TRUE where @value satisfies the field's flags and range. */
static gboolean check_range(Reader *reader, const OrrField *field, const OrrNode *node,
                            double value) {
  const char *unit = orr_unit_symbol(field->unit);
  const char *wanted = NULL;
  g_autofree char *owned = NULL;
  if (field->min < field->max && (value < field->min || value > field->max))
    wanted = owned = g_strdup_printf("between %.15g and %.15g%s%s", field->min, field->max,
                                     *unit ? " " : "", unit);
  else if ((field->flags & ORR_FIELD_POSITIVE) && !(value > 0))
    wanted = "greater than 0";
  else if ((field->flags & ORR_FIELD_UNSIGNED) && !(value >= 0))
    wanted = "0 or greater";
  if (wanted) report_found(reader, field->name, wanted, node);
  return wanted == NULL;
}

static void read_int(Reader *reader, const OrrField *field, const OrrNode *node, gint64 *member) {
  gint64 value = 0;
  if (node->kind != ORR_NODE_SCALAR || node->quoted || !parse_whole(node->text, &value))
    report_found(reader, field->name, "a whole number without a unit", node);
  else if (check_range(reader, field, node, (double)value))
    *member = value;
}

/* No machine reaches these limits, and products of a few values within them stay finite. */
static gboolean is_absurd(double value) {
  return value != 0 && (fabs(value) > 1e30 || fabs(value) < 1e-30);
}

static void read_real(Reader *reader, const OrrField *field, const OrrNode *node, double *member) {
  g_autoptr(GError) error = NULL;
  double value = 0;
  if (node->kind != ORR_NODE_SCALAR || (field->unit == ORR_UNIT_NONE && node->quoted))
    report_found(reader, field->name,
                 field->unit == ORR_UNIT_NONE ? "a number" : "a number with a unit", node);
  else if (!orr_quantity_parse(node->text, field->unit, &value, &error))
    orr_diags_error(reader->diags, node->place, "'%s': %s", field->name, error->message);
  else if (is_absurd(value))
    report_found(reader, field->name, "0, or between 1e-30 and 1e30 of its base unit", node);
  else if (check_range(reader, field, node, value))
    *member = value;
}

static void read_text(Reader *reader, const OrrField *field, const OrrNode *node, char **member) {
  if (want_kind(reader, field->name, node, ORR_NODE_SCALAR, "one text"))
    *member = g_strdup(node->text);
}

static void read_word(Reader *reader, const OrrField *field, const OrrNode *node, int *member) {
  if (!want_kind(reader, field->name, node, ORR_NODE_SCALAR, "one word")) return;
  const char *text = node->text;
  for (const char *const *pair = field->aliases; pair && *pair; pair += 2)
    if (strcmp(pair[0], text) == 0) text = pair[1];
  for (int i = 0; field->words[i]; i++) {
    if (strcmp(field->words[i], text) != 0) continue;
    *member = i;
    return;
  }
  report_unknown(reader, field->name, node, field->words);
}

/* --- numbers with bounds --- */

static gboolean check_bounds_keys(Reader *reader, const OrrField *field, const OrrNode *node) {
  const guint before = orr_diags_n_errors(reader->diags);
  ORR_EACH_KEY(key, node) {
    if (g_strv_contains(orr_node_uncertain_keys, key->text)) continue;
    g_autofree char *hint = orr_field_hint(key->text, orr_node_uncertain_keys);
    orr_diags_error(reader->diags, key->place, "unknown key '%s' in the bounds of '%s'%s",
                    key->text, field->name, hint);
  }
  for (const char *const *key = orr_node_uncertain_keys; *key; key++)
    if (!orr_node_get(node, *key))
      orr_diags_error(reader->diags, node->place,
                      "missing key '%s' in the bounds of '%s': write {value: V, low: L, high: H}",
                      *key, field->name);
  return orr_diags_n_errors(reader->diags) == before;
}

/* Reads one of the three; it must be valid by itself. */
static double read_bound(Reader *reader, const OrrField *field, const OrrNode *node,
                         const char *key) {
  g_autofree char *name = g_strconcat(field->name, ".", key, NULL);
  OrrField named = *field;
  gint64 whole = 0;
  double real = 0;
  named.name = name;
  if (field->kind == ORR_FIELD_INT)
    read_int(reader, &named, orr_node_get(node, key), &whole);
  else
    read_real(reader, &named, orr_node_get(node, key), &real);
  return field->kind == ORR_FIELD_INT ? (double)whole : real;
}

static void keep_uncertain(Reader *reader, const OrrUncertain *found) {
  if (!reader->uncertain) return;
  OrrUncertain *kept = g_memdup2(found, sizeof *found);
  kept->path = g_strdup(reader->path->str);
  kept->place.node = NULL; /* the tree does not live as long */
  g_ptr_array_add(reader->uncertain, kept);
}

/* The value goes to @member. */
static void read_bounds(Reader *reader, const OrrField *field, const OrrNode *node, void *member) {
  const guint before = orr_diags_n_errors(reader->diags);
  if (!check_bounds_keys(reader, field, node)) return;
  const OrrUncertain found = {.value = read_bound(reader, field, node, "value"),
                              .low = read_bound(reader, field, node, "low"),
                              .high = read_bound(reader, field, node, "high"),
                              .unit = field->unit,
                              .is_whole = field->kind == ORR_FIELD_INT,
                              .place = node->place};
  if (orr_diags_n_errors(reader->diags) > before) return;
  if (!(found.low <= found.value && found.value <= found.high))
    return orr_diags_error(
        reader->diags, node->place,
        "the bounds of '%s' must be low <= value <= high, found low %s, value %s, high %s",
        field->name, orr_node_get_text(node, "low"), orr_node_get_text(node, "value"),
        orr_node_get_text(node, "high"));
  if (found.is_whole)
    *(gint64 *)member = (gint64)found.value;
  else
    *(double *)member = found.value;
  keep_uncertain(reader, &found);
}

/* Where a number with bounds stands. */
static void read_uncertain(Reader *reader, const OrrField *field, const OrrNode *node,
                           void *member) {
  if (field->kind != ORR_FIELD_INT && field->kind != ORR_FIELD_REAL)
    orr_diags_error(reader->diags, node->place,
                    "'%s' takes no bounds (value, low, high): it is not a number", field->name);
  else if (!reader->path)
    orr_diags_error(reader->diags, node->place,
                    "'%s' takes no bounds (value, low, high) here: write a number", field->name);
  else
    read_bounds(reader, field, node, member);
}

/* --- lists --- */

static void read_texts(Reader *reader, const OrrField *field, const OrrNode *node, char ***member) {
  if (!want_kind(reader, field->name, node, ORR_NODE_LIST, "a list")) return;
  g_autoptr(GPtrArray) texts = g_ptr_array_new();
  ORR_EACH_ITEM(item, node) {
    if (want_kind(reader, field->name, item, ORR_NODE_SCALAR, "a list of texts"))
      g_ptr_array_add(texts, g_strdup(item->text));
  }
  g_ptr_array_add(texts, NULL);
  *member = (char **)g_ptr_array_free(g_steal_pointer(&texts), FALSE);
}

static void read_reals(Reader *reader, const OrrField *field, const OrrNode *node,
                       GArray **member) {
  if (!want_kind(reader, field->name, node, ORR_NODE_LIST, "a list")) return;
  *member = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH_ITEM(item, node) {
    double value = 0;
    read_real(reader, field, item, &value);
    g_array_append_val(*member, value);
  }
}

/* --- sections and choices --- */

/* A document section as one map; the library resolves a name or `base:`. @ret_owned must be freed.
 * NULL where the reason is in @diags. */
static const OrrNode *expand(Reader *reader, const OrrField *field, const OrrNode *node,
                             OrrNode **ret_owned) {
  gboolean named = node->kind == ORR_NODE_SCALAR || orr_node_get(node, "base");
  if (!field->document || !named) return node;
  if (!reader->library) {
    orr_diags_error(reader->diags, node->place,
                    "'%s' cannot be given by name here: no library is open", field->name);
    return NULL;
  }
  return *ret_owned = orr_library_expand(reader->library, field->document, node, reader->diags);
}

/* A whole number in place of a map that has a key for it, as such a map; or a map that was laid
 * over such a number, which is its `base` then. NULL: neither. */
static OrrNode *map_of_number(const OrrField *field, const OrrNode *node) {
  const OrrNode *base = node->kind == ORR_NODE_MAP ? orr_node_get(node, "base") : NULL;
  const OrrNode *number = base ? base : node;
  gint64 value = 0;
  if (!field->table->number || number->kind != ORR_NODE_SCALAR || number->quoted ||
      !parse_whole(number->text, &value))
    return NULL;
  OrrNode *map = base ? orr_node_copy(node) : orr_node_new_map(node->place);
  if (!orr_node_get(map, field->table->number))
    orr_node_set(map, field->table->number, orr_node_copy(number));
  if (base) orr_node_remove(map, "base");
  return map;
}

static void read_section(Reader *reader, const OrrField *field, const OrrNode *node, void *member) {
  g_autoptr(OrrNode) owned = map_of_number(field, node);
  const OrrNode *map = owned ? owned : expand(reader, field, node, &owned);
  if (map && want_kind(reader, field->name, map, ORR_NODE_MAP,
                       field->document        ? "a name or a map"
                       : field->table->number ? "a whole number or a map"
                                              : "a map"))
    read_map(reader, field->table, map, field->document ? KEYS_OF_DOCUMENT : 0, member);
}

static void read_sections(Reader *reader, const OrrField *field, const OrrNode *node,
                          GPtrArray **member) {
  if (!want_kind(reader, field->name, node, ORR_NODE_LIST, "a list of maps")) return;
  *member = g_ptr_array_new();
  for (guint i = 0; i < orr_node_length(node); i++) {
    void *section = g_malloc0(field->table->size);
    g_ptr_array_add(*member, section);
    const gsize length = enter_item(reader, i);
    read_section(reader, field, node->items->pdata[i], section);
    leave(reader, length);
  }
}

/* `base: ENTRY` in the map of a choice: merging the document's own `base:` put the entry's name
 * there. */
static const OrrNode *base_entry(const OrrField *field, const OrrNode *node) {
  const OrrNode *base = node->kind == ORR_NODE_MAP ? orr_node_get(node, "base") : NULL;
  return base && base->kind == ORR_NODE_SCALAR && orr_registry_find(field->registry, base->text)
             ? base
             : NULL;
}

/* Where a choice can also be a document: a scalar that is not an entry is looked up in the
 * library. */
static const OrrNode *expand_choice(Reader *reader, const OrrField *field, const OrrNode *node,
                                    OrrNode **ret_owned) {
  if (!field->document || node->kind == ORR_NODE_LIST || base_entry(field, node)) return node;
  if (node->kind == ORR_NODE_MAP) return expand(reader, field, node, ret_owned);
  if (orr_registry_find(field->registry, node->text) || !reader->library) return node;
  g_autofree char *path = orr_library_path(reader->library, field->document, node->text);
  return path ? expand(reader, field, node, ret_owned) : node;
}

/* The entry that @node names; NULL where the reason is in @diags. */
static const OrrEntry *pick_entry(Reader *reader, const OrrField *field, const OrrNode *node) {
  g_autofree const char **names = orr_registry_names(field->registry);
  const OrrNode *kind = node->kind == ORR_NODE_MAP ? orr_node_get(node, "kind") : node;
  if (!kind) kind = base_entry(field, node);
  if (!kind) {
    const OrrEntry *entry = orr_field_fallback_entry(field);
    g_autofree char *allowed = g_strjoinv(", ", (char **)names);
    if (!entry)
      orr_diags_error(reader->diags, node->place, "missing key 'kind' in %s (allowed: %s)",
                      field->name, allowed);
    return entry;
  }
  if (!want_kind(reader, kind == node ? field->name : "kind", kind, ORR_NODE_SCALAR,
                 "a name or a map with 'kind'"))
    return NULL;
  const OrrEntry *entry = orr_registry_find(field->registry, kind->text);
  if (!entry) report_unknown(reader, field->registry->family, kind, names);
  return entry;
}

static void report_unknown_keys(Reader *reader, const OrrFieldTable *table, const char *where,
                                const OrrNode *node, int extra_keys) {
  g_autofree const char **names =
      orr_field_names(table, extra_keys & KEYS_OF_CHOICE ? "kind" : NULL);
  ORR_EACH_KEY(key, node) {
    if (g_strv_contains((const char *const *)names, key->text)) continue;
    if ((extra_keys & KEYS_OF_DOCUMENT) &&
        (strcmp(key->text, "schema") == 0 || strcmp(key->text, "base") == 0))
      continue;
    g_autofree char *hint = orr_field_key_hint(table, key->text, names);
    orr_diags_error(reader->diags, key->place, "unknown key '%s' in %s%s", key->text, where, hint);
  }
}

static void read_choice(Reader *reader, const OrrField *field, const OrrNode *node,
                        OrrChoice *member) {
  g_autoptr(OrrNode) owned = NULL;
  const OrrNode *found = expand_choice(reader, field, node, &owned);
  const OrrEntry *entry = found ? pick_entry(reader, field, found) : NULL;
  if (!entry) return;
  g_autoptr(OrrNode) bare = orr_node_new_map(found->place);
  const OrrNode *map = found->kind == ORR_NODE_MAP ? found : bare;
  int extra_keys =
      KEYS_OF_CHOICE | (field->document || base_entry(field, map) ? KEYS_OF_DOCUMENT : 0);
  member->entry = entry;
  if (entry->params) {
    member->params = g_malloc0(entry->params->size);
    read_map(reader, entry->params, map, extra_keys, member->params);
  } else {
    report_unknown_keys(reader, NULL, entry->name, map, extra_keys);
  }
}

/* --- maps --- */

static void read_member(Reader *reader, const OrrField *field, const OrrNode *node, void *data) {
  void *member = orr_field_member(field, data);
  if (field->kind != ORR_FIELD_TREE && orr_node_is_uncertain(node))
    return read_uncertain(reader, field, node, member);
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    return read_bool(reader, field, node, member);
  case ORR_FIELD_INT:
    return read_int(reader, field, node, member);
  case ORR_FIELD_REAL:
    return read_real(reader, field, node, member);
  case ORR_FIELD_TEXT:
    return read_text(reader, field, node, member);
  case ORR_FIELD_WORD:
    return read_word(reader, field, node, member);
  case ORR_FIELD_CHOICE:
    return read_choice(reader, field, node, member);
  case ORR_FIELD_SECTION:
    return read_section(reader, field, node, member);
  case ORR_FIELD_TEXTS:
    return read_texts(reader, field, node, member);
  case ORR_FIELD_REALS:
    return read_reals(reader, field, node, member);
  case ORR_FIELD_SECTIONS:
    return read_sections(reader, field, node, member);
  case ORR_FIELD_TREE:
    *(OrrNode **)member = orr_node_copy(node);
    return;
  }
}

static void read_absent(Reader *reader, const OrrFieldTable *table, const OrrField *field,
                        OrrPlace place, void *data) {
  if (field->fallback) {
    g_autoptr(OrrNode) node = orr_field_fallback_node(field, place, reader->diags);
    if (node) read_member(reader, field, node, data);
  } else if (!(field->flags & ORR_FIELD_OPTIONAL)) {
    orr_diags_error(reader->diags, place, "missing key '%s' in %s: %s", field->name, table->name,
                    field->sentence);
  }
}

static void read_map(Reader *reader, const OrrFieldTable *table, const OrrNode *node,
                     int extra_keys, void *out) {
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    const OrrNode *child = orr_node_get(node, field->name);
    const gsize length = enter(reader, field->name);
    if (child)
      read_member(reader, field, child, out);
    else
      read_absent(reader, table, field, node->place, out);
    leave(reader, length);
  }
  report_unknown_keys(reader, table, table->name, node, extra_keys);
}

void orr_field_read_member(const OrrField *field, const OrrNode *node, OrrLibrary *library,
                           OrrDiags *diags, void *data) {
  Reader reader = {.library = library, .diags = diags};
  read_member(&reader, field, node, data);
}

static gboolean read_document(Reader *reader, const OrrFieldTable *table, const OrrNode *node,
                              void *out) {
  const guint before = orr_diags_n_errors(reader->diags);
  memset(out, 0, table->size);
  if (want_kind(reader, table->name, node, ORR_NODE_MAP, "a map"))
    read_map(reader, table, node, KEYS_OF_DOCUMENT, out);
  return orr_diags_n_errors(reader->diags) == before;
}

gboolean orr_field_read(const OrrFieldTable *table, const OrrNode *node, OrrLibrary *library,
                        OrrDiags *diags, void *out) {
  Reader reader = {.library = library, .diags = diags};
  return read_document(&reader, table, node, out);
}

gboolean orr_field_read_uncertain(const OrrFieldTable *table, const OrrNode *node,
                                  OrrLibrary *library, OrrDiags *diags, void *out,
                                  GPtrArray *uncertain) {
  g_autoptr(GString) path = g_string_new(NULL);
  Reader reader = {.library = library, .diags = diags, .path = path, .uncertain = uncertain};
  return read_document(&reader, table, node, out);
}
