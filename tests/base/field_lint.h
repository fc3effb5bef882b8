/*
 * field_lint.h - checks the rules that every field table must keep; the tests of each folder call
 * it for their tables.
 */
#pragma once

#include "sim/base/field_private.h"

static const size_t member_sizes[] = {
    [ORR_FIELD_BOOL] = sizeof(gboolean),
    [ORR_FIELD_INT] = sizeof(gint64),
    [ORR_FIELD_REAL] = sizeof(double),
    [ORR_FIELD_TEXT] = sizeof(char *),
    [ORR_FIELD_WORD] = sizeof(int),
    [ORR_FIELD_CHOICE] = sizeof(OrrChoice),
    [ORR_FIELD_SECTION] = 0,
    [ORR_FIELD_TEXTS] = sizeof(char **),
    [ORR_FIELD_REALS] = sizeof(GArray *),
    [ORR_FIELD_SECTIONS] = sizeof(GPtrArray *),
    [ORR_FIELD_TREE] = sizeof(OrrNode *),
};

/* Lower case letters, digits, dots and single dashes. Dots are for versions in names:
 * "llama-3.1". */
static gboolean is_key(const char *name) {
  gsize length = name ? strlen(name) : 0;
  return length && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length &&
         *name != '-' && name[length - 1] != '-' && !strstr(name, "--");
}

static void check_sentence(GString *out, const char *where, const char *sentence) {
  if (!sentence || !*sentence)
    g_string_append_printf(out, "%s: has no sentence\n", where);
  else if (!g_str_has_suffix(sentence, "."))
    g_string_append_printf(out, "%s: its sentence does not end in a period: \"%s\"\n", where,
                           sentence);
}

/* Checks the members that the kind needs. FALSE where reading a default would crash. */
static gboolean check_needs(GString *out, const char *where, const OrrFieldTable *table,
                            const OrrField *field) {
  const char *lacks = NULL;
  gboolean is_section = field->kind == ORR_FIELD_SECTION || field->kind == ORR_FIELD_SECTIONS;
  if (field->kind == ORR_FIELD_WORD && !(field->words && field->words[0]))
    lacks = "words";
  else if (field->kind == ORR_FIELD_CHOICE && !field->registry)
    lacks = "a registry";
  else if (is_section && !field->table)
    lacks = "a table";
  if (lacks) g_string_append_printf(out, "%s: lacks %s\n", where, lacks);
  size_t size = member_sizes[field->kind];
  if (field->kind == ORR_FIELD_SECTION && field->table) size = field->table->size;
  gboolean fits = field->offset + size <= table->size;
  if (!fits) g_string_append_printf(out, "%s: lies outside of the struct\n", where);
  return !lacks && fits;
}

static void check_fallback(GString *out, const char *where, const OrrFieldTable *table,
                           const OrrField *field) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_field_fallback_node(field, (OrrPlace){.file = where}, diags);
  gboolean is_name = node && node->kind == ORR_NODE_SCALAR && field->document &&
                     !(field->registry && orr_registry_find(field->registry, node->text));
  if (node && !is_name) { /* a name needs a library: the tests of documents check it */
    g_autofree void *data = g_malloc0(table->size);
    orr_field_read_member(field, node, NULL, diags, data);
    orr_field_clear(table, data);
  }
  if (orr_diags_n_errors(diags) == 0) return;
  g_autofree char *text = orr_diags_text(diags);
  g_string_append_printf(out, "%s: its default '%s' does not read: %s\n", where, field->fallback,
                         g_strchomp(text));
}

static void check_field(GString *out, const OrrFieldTable *table, size_t i) {
  const OrrField *field = &table->fields[i];
  g_autofree char *where = g_strdup_printf("%s.%s", table->name, field->name ? field->name : "?");
  if (!is_key(field->name) || strchr(field->name, '.')) { /* a dot would break paths */
    g_string_append_printf(out, "%s: its name is not in kebab-case\n", where);
    return;
  }
  if (orr_field_find(table, field->name) != field)
    g_string_append_printf(out, "%s: two fields have this name\n", where);
  check_sentence(out, where, field->sentence);
  if (check_needs(out, where, table, field) && field->fallback)
    check_fallback(out, where, table, field);
}

static void check_table(GString *out, const OrrFieldTable *table) {
  check_sentence(out, table->name, table->sentence);
  for (size_t i = 0; i < table->n_fields; i++) check_field(out, table, i);
}

static void check_entry(GString *out, const OrrRegistry *registry, guint i) {
  const OrrEntry *entry = registry->entries[i];
  g_autofree char *where = g_strdup_printf("%s: %s", registry->family, entry->name);
  if (!is_key(entry->name))
    g_string_append_printf(out, "%s: its name is not in kebab-case\n", where);
  check_sentence(out, where, entry->sentence);
  if (i > 0 && strcmp(registry->entries[i - 1]->name, entry->name) >= 0)
    g_string_append_printf(out, "%s: is out of alphabetical order\n", where);
  if (entry->params && orr_field_find(entry->params, "kind"))
    g_string_append_printf(out, "%s: a parameter cannot be called 'kind'\n", where);
  if (entry->params) check_table(out, entry->params);
}

/* Checks the table and everything that it leads to: every field has a sentence that ends in a
 * period, a kebab-case name, the members that its kind needs, and a default that can be read;
 * entries of a registry have name and sentence, and are in alphabetical order. One finding per
 * line, newly allocated; NULL without findings. */
static char *orr_field_lint(const OrrFieldTable *table) {
  g_auto(OrrFieldDefinitions) definitions = {0};
  g_autoptr(GString) out = g_string_new(NULL);
  const OrrFieldDefinition *definition;
  orr_field_definitions_init(&definitions, table, NULL, NULL);
  for (guint i = 0; (definition = orr_field_definitions_get(&definitions, i)); i++) {
    if (definition->table) check_table(out, definition->table);
    for (guint j = 0; definition->registry && definition->registry->entries[j]; j++)
      check_entry(out, definition->registry, j);
  }
  return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}
