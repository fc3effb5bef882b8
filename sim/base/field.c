/*
 * field.c - field tables: look-up, defaults, clearing, visiting. The other uses of a table are in
 * field_read.c, field_dump.c, field_set.c, field_assign.c, field_docs.c, field_schema.c and
 * tests/base/field_lint.h.
 *
 * Invariants:
 *  1. orr_field_clear accepts a struct of zero bytes, and one that a reader filled only in part.
 *  2. The functions that read the user's text also read defaults; nothing else sets a member.
 */
#include "sim/base/field_private.h"

#include "sim/base/yaml.h"

const OrrField *orr_field_find(const OrrFieldTable *table, const char *name) {
  for (size_t i = 0; i < table->n_fields; i++)
    if (strcmp(table->fields[i].name, name) == 0) return &table->fields[i];
  return NULL;
}

const char **orr_field_names(const OrrFieldTable *table, const char *first) {
  size_t n_fields = table ? table->n_fields : 0, n = 0;
  const char **names = g_new0(const char *, n_fields + 2);
  if (first) names[n++] = first;
  for (size_t i = 0; i < n_fields; i++) names[n++] = table->fields[i].name;
  return names;
}

char *orr_field_key_hint(const OrrFieldTable *table, const char *key, const char *const *names) {
  for (const OrrMovedKey *moved = table ? table->moved : NULL; moved && moved->name; moved++)
    if (strcmp(moved->name, key) == 0)
      return g_strdup_printf(": it has moved, write %s", moved->instead);
  return orr_field_hint(key, names);
}

char *orr_field_hint(const char *word, const char *const *words) {
  const char *nearest = orr_diag_nearest_word(word, words);
  g_autofree char *allowed = g_strjoinv(", ", (char **)words);
  if (!*allowed) return g_strdup(" (none is allowed)");
  if (nearest) return g_strdup_printf(": did you mean '%s'? (allowed: %s)", nearest, allowed);
  return g_strdup_printf(" (allowed: %s)", allowed);
}

static void move_tree(OrrNode *node, OrrPlace place) {
  node->place = place;
  for (guint i = 0; node->keys && i < node->keys->len; i++) move_tree(node->keys->pdata[i], place);
  for (guint i = 0; node->items && i < node->items->len; i++)
    move_tree(node->items->pdata[i], place);
}

static gboolean is_scalar_kind(OrrFieldKind kind) { return kind <= ORR_FIELD_WORD; }

OrrNode *orr_field_fallback_node(const OrrField *field, OrrPlace place, OrrDiags *diags) {
  const char *text = field->fallback;
  if (!text) return NULL;
  if (strcmp(text, "{}") == 0 && !is_scalar_kind(field->kind))
    return orr_node_new_map(place); /* the two common defaults skip the parser: sweeps fill many */
  if (strcmp(text, "[]") == 0 && !is_scalar_kind(field->kind)) return orr_node_new_list(place);
  if (is_scalar_kind(field->kind) || (*text != '{' && *text != '[')) {
    OrrNode *node = orr_node_new_scalar(place, text);
    node->quoted = !*text;
    return node;
  }
  OrrNode *node = orr_yaml_parse(text, strlen(text), "default", diags);
  if (node) move_tree(node, place);
  return node;
}

const OrrEntry *orr_field_fallback_entry(const OrrField *field) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_field_fallback_node(field, (OrrPlace){0}, diags);
  if (!node) return NULL;
  const char *name = node->kind == ORR_NODE_SCALAR ? node->text : orr_node_get_text(node, "kind");
  return name ? orr_registry_find(field->registry, name) : NULL;
}

void orr_field_defaults(const OrrFieldTable *table, void *out) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  memset(out, 0, table->size);
  for (size_t i = 0; i < table->n_fields; i++) {
    g_autoptr(OrrNode) node = orr_field_fallback_node(&table->fields[i], (OrrPlace){0}, diags);
    if (node) orr_field_read_member(&table->fields[i], node, NULL, diags, out);
  }
}

static void clear_choice(OrrChoice *choice) {
  if (choice->params && choice->entry && choice->entry->params)
    orr_field_clear(choice->entry->params, choice->params);
  g_clear_pointer(&choice->params, g_free);
  choice->entry = NULL;
}

static void clear_sections(const OrrFieldTable *table, GPtrArray *sections) {
  for (guint i = 0; i < sections->len; i++) {
    orr_field_clear(table, sections->pdata[i]);
    g_free(sections->pdata[i]);
  }
  g_ptr_array_set_free_func(sections, NULL);
  g_ptr_array_free(sections, TRUE);
}

static void clear_member(const OrrField *field, void *member) {
  switch (field->kind) {
  case ORR_FIELD_TEXT:
    g_free(*(char **)member);
    break;
  case ORR_FIELD_TEXTS:
    g_strfreev(*(char ***)member);
    break;
  case ORR_FIELD_REALS:
    if (*(GArray **)member) g_array_free(*(GArray **)member, TRUE);
    break;
  case ORR_FIELD_TREE:
    orr_node_free(*(OrrNode **)member);
    break;
  case ORR_FIELD_CHOICE:
    clear_choice(member);
    break;
  case ORR_FIELD_SECTION:
    orr_field_clear(field->table, member);
    break;
  case ORR_FIELD_SECTIONS:
    if (*(GPtrArray **)member) clear_sections(field->table, *(GPtrArray **)member);
    break;
  default:
    break;
  }
}

void orr_field_clear(const OrrFieldTable *table, void *data) {
  for (size_t i = 0; i < table->n_fields; i++)
    clear_member(&table->fields[i], orr_field_member(&table->fields[i], data));
  memset(data, 0, table->size);
}

/* --- Visiting --- */

/* The fields that orr_field_each looks for. */
typedef struct {
  const OrrFieldTable *section;
  OrrFieldEach visit;
  void *user;
} Each;

static void each(const Each *wanted, const OrrFieldTable *table, const void *data) {
  if (table == wanted->section) {
    wanted->visit(data, wanted->user);
    return;
  }
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    const void *member = orr_field_member_const(field, data);
    const OrrChoice *choice = field->kind == ORR_FIELD_CHOICE ? member : NULL;
    const GPtrArray *list = field->kind == ORR_FIELD_SECTIONS ? *(GPtrArray *const *)member : NULL;
    if (field->kind == ORR_FIELD_SECTION) each(wanted, field->table, member);
    if (choice && choice->entry && choice->entry->params && choice->params)
      each(wanted, choice->entry->params, choice->params);
    for (guint k = 0; list && k < list->len; k++) each(wanted, field->table, list->pdata[k]);
  }
}

void orr_field_each(const OrrFieldTable *table, const void *data, const OrrFieldTable *section,
                    OrrFieldEach visit, void *user) {
  const Each wanted = {section, visit, user};
  each(&wanted, table, data);
}

static gboolean is_table_zero(const OrrFieldTable *table, const void *data) {
  for (size_t i = 0; i < table->n_fields; i++)
    if (!orr_field_is_zero(&table->fields[i], data)) return FALSE;
  return TRUE;
}

gboolean orr_field_is_zero(const OrrField *field, const void *data) {
  const void *member = orr_field_member_const(field, data);
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    return *(const gboolean *)member == FALSE;
  case ORR_FIELD_INT:
    return *(const gint64 *)member == 0;
  case ORR_FIELD_REAL:
    return *(const double *)member == 0;
  case ORR_FIELD_WORD:
    return *(const int *)member == 0;
  case ORR_FIELD_CHOICE:
    return ((const OrrChoice *)member)->entry == NULL;
  case ORR_FIELD_SECTION:
    return is_table_zero(field->table, member);
  default: /* TEXT, TEXTS, REALS, SECTIONS, TREE: one pointer */
    return *(void *const *)member == NULL;
  }
}
