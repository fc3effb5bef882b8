/*
 * field_parts.c - the tables and registries that a table leads to.
 *
 * Documentation and JSON Schema tell each of them once and refer to it by name: a choice whose
 * entry's parameters hold the same choice again (a hierarchical collective made of collectives)
 * would never end otherwise.
 */
#include <string.h>

#include "sim/base/field_private.h"

static void part_free(gpointer data) {
  OrrFieldPart *part = data;
  g_free(part->name);
  g_free(part);
}

const OrrFieldPart *orr_field_parts_get(const OrrFieldParts *parts, guint i) {
  return i < parts->parts->len ? parts->parts->pdata[i] : NULL;
}

static OrrFieldPart *find_part(const OrrFieldParts *parts, const OrrFieldTable *table,
                               const OrrRegistry *registry) {
  for (guint i = 0; i < parts->parts->len; i++) {
    OrrFieldPart *part = parts->parts->pdata[i];
    if (part->table == table && part->registry == registry) return part;
  }
  return NULL;
}

static gboolean has_name(const OrrFieldParts *parts, const char *name) {
  for (guint i = 0; i < parts->parts->len; i++)
    if (strcmp(((OrrFieldPart *)parts->parts->pdata[i])->name, name) == 0) return TRUE;
  return FALSE;
}

static char *unique_name(const OrrFieldParts *parts, const char *wanted) {
  char *name = g_strdup(wanted);
  for (int i = 2; has_name(parts, name); i++) {
    g_free(name);
    name = g_strdup_printf("%s-%d", wanted, i);
  }
  return name;
}

static void add_part(OrrFieldParts *parts, const OrrFieldTable *table, const OrrRegistry *registry,
                     const char *document) {
  OrrFieldPart *part = find_part(parts, table, registry);
  if (part) {
    part->document = part->document ? part->document : document;
    return;
  }
  part = g_new0(OrrFieldPart, 1);
  part->name = unique_name(parts, table ? table->name : registry->family);
  part->table = table;
  part->registry = registry;
  part->document = document;
  g_ptr_array_add(parts->parts, part);
}

static void add_fields(OrrFieldParts *parts, const OrrFieldTable *table) {
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    if ((field->kind == ORR_FIELD_SECTION || field->kind == ORR_FIELD_SECTIONS) && field->table)
      add_part(parts, field->table, NULL, field->document);
    else if (field->kind == ORR_FIELD_CHOICE && field->registry)
      add_part(parts, NULL, field->registry, field->document);
  }
}

void orr_field_parts_init(OrrFieldParts *parts, const OrrFieldTable *table,
                          const OrrRegistry *registry, const char *document) {
  parts->parts = g_ptr_array_new_with_free_func(part_free);
  add_part(parts, table, registry, document);
  for (guint i = 0; i < parts->parts->len; i++) {
    const OrrFieldPart *part = parts->parts->pdata[i];
    if (part->table) add_fields(parts, part->table);
    for (guint j = 0; part->registry && part->registry->entries[j]; j++)
      if (part->registry->entries[j]->params) add_fields(parts, part->registry->entries[j]->params);
  }
}

void orr_field_parts_clear(OrrFieldParts *parts) {
  g_clear_pointer(&parts->parts, g_ptr_array_unref);
}

const OrrFieldPart *orr_field_parts_of(const OrrFieldParts *parts, const OrrField *field) {
  gboolean is_choice = field->kind == ORR_FIELD_CHOICE;
  return find_part(parts, is_choice ? NULL : field->table, is_choice ? field->registry : NULL);
}
