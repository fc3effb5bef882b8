/*
 * field_definitions.c - collects the tables and registries that a table leads to.
 *
 * Documentation and JSON Schema define each of them once and refer to it by name. Otherwise a
 * choice whose parameters contain the same choice (a hierarchical collective made of collectives)
 * would never end.
 */
#include "sim/base/field_private.h"

static void part_free(gpointer data) {
  OrrFieldDefinition *definition = data;
  ORR_FREE(definition->name, definition);
}

const OrrFieldDefinition *orr_field_definitions_get(const OrrFieldDefinitions *definitions,
                                                    guint i) {
  return i < definitions->definitions->len ? definitions->definitions->pdata[i] : NULL;
}

static OrrFieldDefinition *find_definition(const OrrFieldDefinitions *definitions,
                                           const OrrFieldTable *table,
                                           const OrrRegistry *registry) {
  ORR_EACH_POINTER(OrrFieldDefinition, definition, definitions->definitions)
    if (definition->table == table && definition->registry == registry) return definition;
  return NULL;
}

static gboolean has_name(const OrrFieldDefinitions *definitions, const char *name) {
  for (guint i = 0; i < definitions->definitions->len; i++)
    if (strcmp(((OrrFieldDefinition *)definitions->definitions->pdata[i])->name, name) == 0)
      return TRUE;
  return FALSE;
}

static char *unique_name(const OrrFieldDefinitions *definitions, const char *wanted) {
  char *name = g_strdup(wanted);
  for (int i = 2; has_name(definitions, name); i++) {
    g_free(name);
    name = g_strdup_printf("%s-%d", wanted, i);
  }
  return name;
}

static void add_definition(OrrFieldDefinitions *definitions, const OrrFieldTable *table,
                           const OrrRegistry *registry, const char *document) {
  OrrFieldDefinition *definition = find_definition(definitions, table, registry);
  if (definition) {
    definition->document = definition->document ? definition->document : document;
    return;
  }
  definition = g_new0(OrrFieldDefinition, 1);
  definition->name = unique_name(definitions, table ? table->name : registry->family);
  definition->table = table;
  definition->registry = registry;
  definition->document = document;
  g_ptr_array_add(definitions->definitions, definition);
}

static void add_fields(OrrFieldDefinitions *definitions, const OrrFieldTable *table) {
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    if ((field->kind == ORR_FIELD_SECTION || field->kind == ORR_FIELD_SECTIONS) && field->table)
      add_definition(definitions, field->table, NULL, field->document);
    else if (field->kind == ORR_FIELD_CHOICE && field->registry)
      add_definition(definitions, NULL, field->registry, field->document);
  }
}

void orr_field_definitions_init(OrrFieldDefinitions *definitions, const OrrFieldTable *table,
                                const OrrRegistry *registry, const char *document) {
  definitions->definitions = g_ptr_array_new_with_free_func(part_free);
  add_definition(definitions, table, registry, document);
  ORR_EACH_POINTER(const OrrFieldDefinition, definition, definitions->definitions) {
    if (definition->table) add_fields(definitions, definition->table);
    for (guint j = 0; definition->registry && definition->registry->entries[j]; j++)
      if (definition->registry->entries[j]->params)
        add_fields(definitions, definition->registry->entries[j]->params);
  }
}

void orr_field_definitions_clear(OrrFieldDefinitions *definitions) {
  g_clear_pointer(&definitions->definitions, g_ptr_array_unref);
}

const OrrFieldDefinition *orr_field_definitions_find(const OrrFieldDefinitions *definitions,
                                                     const OrrField *field) {
  gboolean is_choice = field->kind == ORR_FIELD_CHOICE;
  return find_definition(definitions, is_choice ? NULL : field->table,
                         is_choice ? field->registry : NULL);
}
