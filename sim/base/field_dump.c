/*
 * field_dump.c - writes a struct as a tree with every default filled in, as paths with texts, or as
 * one text.
 *
 * Invariant: reading the dump gives an equal struct. An optional member that is zero is omitted,
 * since an absent key reads as zero.
 */
#include "sim/base/field_private.h"

static OrrNode *dump_table(const OrrFieldTable *table, const void *data);

static OrrNode *scalar(const char *text) {
  OrrNode *node = orr_node_new_scalar((OrrPlace){0}, text);
  node->quoted = !*text;
  return node;
}

static const char *word_of(const OrrField *field, int index) {
  for (int i = 0; field->words[i]; i++)
    if (i == index) return field->words[i];
  return NULL;
}

char *orr_field_text(const OrrField *field, const void *data) {
  const void *member = orr_field_member_const(field, data);
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    return g_strdup(*(const gboolean *)member ? "true" : "false");
  case ORR_FIELD_INT:
    return g_strdup_printf("%ld", *(const gint64 *)member);
  case ORR_FIELD_REAL:
    return orr_quantity_exact(*(const double *)member, field->unit);
  case ORR_FIELD_TEXT:
    return g_strdup(*(char *const *)member);
  case ORR_FIELD_WORD:
    return g_strdup(word_of(field, *(const int *)member));
  case ORR_FIELD_CHOICE:
    return ((const OrrChoice *)member)->entry ? g_strdup(((const OrrChoice *)member)->entry->name)
                                              : NULL;
  default:
    return NULL;
  }
}

static OrrNode *dump_choice(const OrrChoice *choice) {
  if (!choice->entry) return NULL;
  OrrNode *map = orr_node_new_map((OrrPlace){0});
  orr_node_set(map, "kind", scalar(choice->entry->name));
  if (!choice->entry->params || !choice->params) return map;
  g_autoptr(OrrNode) params = dump_table(choice->entry->params, choice->params);
  ORR_EACH_PAIR(key, value, params) {
    orr_node_set(map, key->text, orr_node_copy(value));
  }
  return map;
}

static OrrNode *dump_texts(char *const *texts) {
  OrrNode *list = texts ? orr_node_new_list((OrrPlace){0}) : NULL;
  for (guint i = 0; texts && texts[i]; i++) orr_node_append(list, scalar(texts[i]));
  return list;
}

static OrrNode *dump_reals(const GArray *reals, OrrUnit unit) {
  OrrNode *list = reals ? orr_node_new_list((OrrPlace){0}) : NULL;
  for (guint i = 0; reals && i < reals->len; i++) {
    g_autofree char *text = orr_quantity_exact(g_array_index(reals, double, i), unit);
    orr_node_append(list, scalar(text));
  }
  return list;
}

static OrrNode *dump_sections(const OrrFieldTable *table, const GPtrArray *sections) {
  OrrNode *list = sections ? orr_node_new_list((OrrPlace){0}) : NULL;
  for (guint i = 0; sections && i < sections->len; i++)
    orr_node_append(list, dump_table(table, sections->pdata[i]));
  return list;
}

static OrrNode *dump_tree(const OrrNode *tree) { return tree ? orr_node_copy(tree) : NULL; }

/* NULL for an absent member. */
static OrrNode *dump_member(const OrrField *field, const void *data) {
  const void *member = orr_field_member_const(field, data);
  switch (field->kind) {
  case ORR_FIELD_CHOICE:
    return dump_choice(member);
  case ORR_FIELD_SECTION:
    return dump_table(field->table, member);
  case ORR_FIELD_TEXTS:
    return dump_texts(*(char **const *)member);
  case ORR_FIELD_REALS:
    return dump_reals(*(GArray *const *)member, field->unit);
  case ORR_FIELD_SECTIONS:
    return dump_sections(field->table, *(GPtrArray *const *)member);
  case ORR_FIELD_TREE:
    return dump_tree(*(OrrNode *const *)member);
  default: {
    g_autofree char *text = orr_field_text(field, data);
    return text ? scalar(text) : NULL;
  }
  }
}

static OrrNode *dump_table(const OrrFieldTable *table, const void *data) {
  OrrNode *map = orr_node_new_map((OrrPlace){0});
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    if ((field->flags & ORR_FIELD_OPTIONAL) && !field->fallback && orr_field_is_zero(field, data))
      continue;
    OrrNode *node = dump_member(field, data);
    if (node) orr_node_set(map, field->name, node);
  }
  return map;
}

OrrNode *orr_field_dump(const OrrFieldTable *table, const void *data) {
  return dump_table(table, data);
}

/* --- paths and texts --- */

static gboolean is_list_of_scalars(const OrrNode *node) {
  ORR_EACH_ITEM(item, node)
    if (item->kind != ORR_NODE_SCALAR) return FALSE;
  return node->kind == ORR_NODE_LIST;
}

/* "[1, 2, 'a, b']": flow text, which orr_field_set accepts. */
static char *list_text(const OrrNode *list) {
  g_autoptr(GString) text = g_string_new("[");
  for (guint i = 0; i < orr_node_length(list); i++) {
    const char *item = ((const OrrNode *)list->items->pdata[i])->text;
    gboolean plain = *item && !strpbrk(item, ",[]{}:#'\"&*!|>%@`\\\n") && *item != '-' &&
                     *item != '?' && *item != ' ' && item[strlen(item) - 1] != ' ';
    g_auto(GStrv) pieces = g_strsplit(item, "'", -1);
    g_autofree char *doubled = g_strjoinv("''", pieces);
    g_string_append_printf(text, plain ? "%s%s" : "%s'%s'", i ? ", " : "", doubled);
  }
  g_string_append_c(text, ']');
  return g_string_free(g_steal_pointer(&text), FALSE);
}

static void flatten(const OrrNode *node, GString *path, OrrFieldVisit visit, void *user) {
  gsize length = path->len;
  if (node->kind == ORR_NODE_SCALAR) {
    visit(path->str, node->text, user);
  } else if (is_list_of_scalars(node)) {
    g_autofree char *text = list_text(node);
    visit(path->str, text, user);
  } else {
    for (guint i = 0; i < orr_node_length(node); i++) {
      const char *dot = length ? "." : "";
      if (node->kind == ORR_NODE_MAP)
        g_string_append_printf(path, "%s%s", dot, ((const OrrNode *)node->keys->pdata[i])->text);
      else
        g_string_append_printf(path, "%s%u", dot, i);
      flatten(node->items->pdata[i], path, visit, user);
      g_string_truncate(path, length);
    }
  }
}

void orr_field_flatten(const OrrFieldTable *table, const void *data, OrrFieldVisit visit,
                       void *user) {
  g_autoptr(OrrNode) tree = dump_table(table, data);
  g_autoptr(GString) path = g_string_new(NULL);
  flatten(tree, path, visit, user);
}
