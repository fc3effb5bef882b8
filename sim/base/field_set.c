/*
 * field_set.c - sets one member of an unread document by its dotted path: `--set a.b=c`, sweep
 * axes, the columns of a validation set.
 *
 * The walk follows the path through the tables and the tree at once: the tables list the keys
 * allowed, the tree holds the entry or document chosen so far. The walk works on a copy, so that a
 * wrong path changes nothing.
 */
#include "sim/base/field_private.h"
#include "sim/base/yaml.h"

/* The position of the walk: a map or list of the tree, and the table or registry that describes
 * it. */
typedef struct {
  OrrNode *node;
  const char *name; /* for messages */
  /* of the map; or of each item where @node is the list of a SECTIONS field */
  const OrrFieldTable *table;
  const char *document; /* `base` is a key here */
  gboolean is_choice;   /* `kind` is a key here */
  gboolean is_open;     /* no table describes the rest of the path: it is accepted */
} Spot;

static gboolean G_GNUC_PRINTF(3, 4)
    fail(GError **error, const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *why = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return orr_fault_set(error, ORR_FAULT_USAGE, "path '%s': %s", path, why);
}

/* The map below @key, created where missing; a scalar there becomes {@name_key: scalar} where
 * @name_key is given. */
static OrrNode *ensure_map(OrrNode *map, const char *key, const char *name_key, OrrPlace place) {
  OrrNode *child = orr_node_get(map, key);
  if (child && child->kind == ORR_NODE_MAP) return child;
  OrrNode *made = orr_node_new_map(child ? child->place : place);
  if (child && name_key && child->kind == ORR_NODE_SCALAR && (*child->text || child->quoted))
    orr_node_set(made, name_key, orr_node_copy(child));
  orr_node_set(map, key, made);
  return made;
}

static const char *name_key(const OrrField *field, const OrrNode *child) {
  if (field->kind == ORR_FIELD_CHOICE && child && child->kind == ORR_NODE_SCALAR &&
      (!field->document || orr_registry_find(field->registry, child->text)))
    return "kind";
  if (field->table && field->table->number) return field->table->number;
  return field->document ? "base" : NULL;
}

/* An absent section equals its default, so the path changes a copy of the default. An absent choice
 * stays open: a later path can name its kind. */
static void start_from_fallback(OrrNode *map, const OrrField *field, OrrPlace place) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  if (field->kind != ORR_FIELD_SECTION || orr_node_get(map, field->name)) return;
  OrrNode *fallback = orr_field_fallback_node(field, place, diags);
  if (fallback) orr_node_set(map, field->name, fallback);
}

static void enter_map(Spot *spot, const OrrField *field, OrrPlace place) {
  start_from_fallback(spot->node, field, place);
  const char *key = name_key(field, orr_node_get(spot->node, field->name));
  OrrNode *map = ensure_map(spot->node, field->name, key, place);
  *spot =
      (Spot){.node = map, .name = field->name, .table = field->table, .document = field->document};
  if (field->kind != ORR_FIELD_CHOICE) return;
  const char *kind = orr_node_get_text(map, "kind");
  const OrrEntry *entry = kind ? orr_registry_find(field->registry, kind) : NULL;
  spot->table = entry ? entry->params : NULL;
  spot->is_choice = TRUE;
  spot->is_open = entry == NULL;
}

/* An existing item of a list: "faults.0". */
static gboolean enter_item(Spot *spot, const char *segment, const char *path, GError **error) {
  guint64 index = 0;
  guint n = orr_node_length(spot->node);
  if (!n || !g_ascii_string_to_unsigned(segment, 10, 0, n - 1, &index, NULL))
    return fail(error, path, "'%s' is not an item of the list '%s', which has %u (counted from 0)",
                segment, spot->name, n);
  spot->node = spot->node->items->pdata[index];
  return TRUE;
}

static gboolean fail_unknown(const Spot *spot, const char *segment, const char *path,
                             GError **error) {
  g_autofree const char **names = orr_field_names(spot->table, spot->is_choice ? "kind" : NULL);
  g_autofree char *hint = orr_field_key_hint(spot->table, segment, names);
  return fail(error, path, "unknown key '%s' in %s%s", segment, spot->name, hint);
}

static gboolean enter_field(Spot *spot, const char *segment, const char *path, OrrPlace place,
                            GError **error) {
  const OrrField *field = spot->table ? orr_field_find(spot->table, segment) : NULL;
  if (!field) return fail_unknown(spot, segment, path, error);
  if (field->kind == ORR_FIELD_SECTION || field->kind == ORR_FIELD_CHOICE) {
    enter_map(spot, field, place);
    return TRUE;
  }
  OrrNode *child = orr_node_get(spot->node, segment);
  gboolean is_list = child && child->kind == ORR_NODE_LIST;
  if (field->kind == ORR_FIELD_TREE) {
    child = is_list ? child : ensure_map(spot->node, segment, NULL, place);
    *spot = (Spot){.node = child, .name = field->name, .is_open = TRUE};
    return TRUE;
  }
  if (field->kind != ORR_FIELD_SECTIONS)
    return fail(error, path, "'%s' is a single value and has no keys below it", segment);
  if (!is_list)
    return fail(error, path, "the list '%s' is not in the document: it has no items to change",
                segment);
  *spot = (Spot){
      .node = child, .name = field->name, .table = field->table, .document = field->document};
  return TRUE;
}

static gboolean step(Spot *spot, const char *segment, const char *path, OrrPlace place,
                     GError **error) {
  if (spot->node->kind == ORR_NODE_LIST) return enter_item(spot, segment, path, error);
  if (!spot->is_open) return enter_field(spot, segment, path, place, error);
  if (spot->node->kind != ORR_NODE_MAP)
    return fail(error, path, "there is a single value above '%s'", segment);
  OrrNode *child = orr_node_get(spot->node, segment);
  if (!child || child->kind != ORR_NODE_LIST) child = ensure_map(spot->node, segment, NULL, place);
  *spot = (Spot){.node = child, .name = segment, .is_open = TRUE};
  return TRUE;
}

/* Parameters belong to one kind, so a new kind starts without parameters. */
static void set_kind(OrrNode *map, OrrNode *value) {
  const char *old = orr_node_get_text(map, "kind");
  if (old && value->kind == ORR_NODE_SCALAR && strcmp(old, value->text) != 0)
    while (orr_node_length(map) > 0)
      orr_node_remove(map, ((const OrrNode *)map->keys->pdata[0])->text);
  orr_node_set(map, "kind", value);
}

/* The meaning of "null" and "~" in YAML: the key is as if the document did not have it. */
static gboolean is_null(const OrrNode *value) {
  return value->kind == ORR_NODE_SCALAR && !value->quoted &&
         (strcmp(value->text, "null") == 0 || strcmp(value->text, "~") == 0);
}

/* Takes ownership of @value. */
static gboolean put(Spot *spot, const char *segment, OrrNode *value, const char *path,
                    GError **error) {
  g_autoptr(OrrNode) owned = value;
  if (spot->node->kind == ORR_NODE_LIST) {
    OrrNode *list = spot->node;
    if (!enter_item(spot, segment, path, error)) return FALSE;
    if (is_null(owned))
      return fail(error, path, "an item of a list cannot be unset: give the whole list");
    guint index = (guint)strtoul(segment, NULL, 10);
    orr_node_free(list->items->pdata[index]);
    list->items->pdata[index] = g_steal_pointer(&owned);
    return TRUE;
  }
  if (spot->node->kind != ORR_NODE_MAP)
    return fail(error, path, "there is a single value above '%s'", segment);
  if (spot->is_choice && strcmp(segment, "kind") == 0 && !is_null(owned)) {
    set_kind(spot->node, g_steal_pointer(&owned));
    return TRUE;
  }
  const gboolean known = spot->is_open || (spot->is_choice && strcmp(segment, "kind") == 0) ||
                         (spot->table && orr_field_find(spot->table, segment)) ||
                         (spot->document && strcmp(segment, "base") == 0);
  if (!known) return fail_unknown(spot, segment, path, error);
  if (is_null(owned)) {
    orr_node_remove(spot->node, segment);
    return TRUE;
  }
  orr_node_set(spot->node, segment, g_steal_pointer(&owned));
  return TRUE;
}

static OrrNode *parse_value(const char *path, const char *text, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *file = g_strconcat("set ", path, NULL);
  OrrNode *value = orr_yaml_parse(text, strlen(text), file, diags);
  if (value && orr_diags_n_errors(diags) == 0) return value;
  orr_node_free(value);
  g_autofree char *why = orr_diags_text(diags);
  fail(error, path, "'%s' is not a value: %s", text, g_strchomp(why));
  return NULL;
}

gboolean orr_field_put(const OrrFieldTable *table, OrrNode *root, const char *path, OrrNode *value,
                       GError **error) {
  g_autoptr(OrrNode) owned = value;
  g_auto(GStrv) segments = g_strsplit(path, ".", -1);
  guint n = g_strv_length(segments);
  if (n == 0 || g_strv_contains((const char *const *)segments, ""))
    return fail(error, path, "a name between the dots is missing");
  g_autoptr(OrrNode) copy = orr_node_copy(root);
  OrrPlace place = value->place;
  Spot spot = {.node = copy, .name = table->name, .table = table, .document = table->name};
  for (guint i = 0; i + 1 < n; i++)
    if (!step(&spot, segments[i], path, place, error)) return FALSE;
  if (!put(&spot, segments[n - 1], g_steal_pointer(&owned), path, error)) return FALSE;
  OrrNode old = *root;
  *root = *copy;
  *copy = old; /* the copy is freed with the old contents in it */
  return TRUE;
}

gboolean orr_field_set(const OrrFieldTable *table, OrrNode *root, const char *path,
                       const char *text, GError **error) {
  OrrNode *value = parse_value(path, text, error);
  return value && orr_field_put(table, root, path, value, error);
}
