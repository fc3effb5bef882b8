/*
 * field_docs.c - the Markdown reference of a table: a table of its keys, followed by every section
 * and choice that it leads to.
 */
#include "sim/base/field_private.h"

/* Escapes text for a cell: a pipe would end the cell, a newline the row. */
static char *cell(const char *text) {
  g_autoptr(GString) out = g_string_new(NULL);
  for (const char *c = text ? text : ""; *c; c++) {
    if (*c == '|')
      g_string_append(out, "\\|");
    else
      g_string_append_c(out, *c == '\n' ? ' ' : *c);
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* The anchor that GitHub gives a heading: lower case, no punctuation but '-' and '_'. */
static char *link_to(const char *name) {
  g_autoptr(GString) anchor = g_string_new(NULL);
  for (const char *c = name; *c; c++)
    if (g_ascii_isalnum(*c) || strchr("-_ ", *c))
      g_string_append_c(anchor, *c == ' ' ? '-' : g_ascii_tolower(*c));
  return g_strdup_printf("[%s](#%s)", name, anchor->str);
}

static char *range_words(const OrrField *field) {
  const char *unit = orr_unit_symbol(field->unit);
  if (field->min < field->max)
    return g_strdup_printf(", %.15g to %.15g%s%s", field->min, field->max, *unit ? " " : "", unit);
  if (field->flags & ORR_FIELD_POSITIVE) return g_strdup(", above 0");
  return g_strdup(field->flags & ORR_FIELD_UNSIGNED ? ", 0 or more" : "");
}

static char *real_words(const OrrField *field) {
  if (field->unit == ORR_UNIT_NONE) return g_strdup("number");
  if (field->unit == ORR_UNIT_FRACTION) return g_strdup("fraction (0.9 or 90 %)");
  return g_strdup_printf("quantity (%s)", orr_unit_allowed(field->unit));
}

/* "`constant`, `uniform` (`fixed`: `constant`)" */
static char *word_list(const OrrField *field) {
  g_autofree char *words = g_strjoinv("`, `", (char **)field->words);
  GString *text = g_string_new(NULL);
  g_string_printf(text, "`%s`", words);
  for (const char *const *pair = field->aliases; pair && *pair; pair += 2)
    g_string_append_printf(text, " (`%s` is read as `%s`)", pair[0], pair[1]);
  return g_string_free(text, FALSE);
}

static char *type_words(const OrrFieldDefinitions *definitions, const OrrField *field) {
  g_autofree char *range = range_words(field);
  g_autofree char *real =
      field->kind == ORR_FIELD_REAL || field->kind == ORR_FIELD_REALS ? real_words(field) : NULL;
  const OrrFieldDefinition *definition = orr_field_definitions_find(definitions, field);
  g_autofree char *link = definition ? link_to(definition->name) : NULL;
  const OrrFieldTable *table = definition ? definition->table : NULL;
  g_autofree char *name = field->document ? g_strdup_printf("name of a %s, or ", field->document)
                          : table && table->number
                              ? g_strdup_printf("its `%s` alone, or ", table->number)
                              : g_strdup("");
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    return g_strdup("`true`, `false`");
  case ORR_FIELD_INT:
    return g_strdup_printf("whole number%s", range);
  case ORR_FIELD_REAL:
    return g_strdup_printf("%s%s", real, range);
  case ORR_FIELD_TEXT:
    return g_strdup("text");
  case ORR_FIELD_WORD:
    return word_list(field);
  case ORR_FIELD_CHOICE:
    return g_strdup_printf("%sone of %s", name, link);
  case ORR_FIELD_SECTION:
    return g_strdup_printf("%smap: %s", name, link);
  case ORR_FIELD_TEXTS:
    return g_strdup("list of texts");
  case ORR_FIELD_REALS:
    return g_strdup_printf("list, each a %s%s", real, range);
  case ORR_FIELD_SECTIONS:
    return g_strdup_printf("list, each a %smap: %s", name, link);
  default:
    return g_strdup("any tree");
  }
}

static void append_fields(GString *out, const OrrFieldDefinitions *definitions,
                          const OrrFieldTable *table) {
  g_string_append(out, "\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
  for (size_t i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    g_autofree char *words = type_words(definitions, field);
    g_autofree char *type = cell(words);
    g_autofree char *fallback = cell(field->fallback);
    g_autofree char *sentence = cell(field->sentence);
    g_string_append_printf(out, "| `%s` | %s | ", field->name, type);
    if (field->fallback)
      g_string_append_printf(out, "%s%s%s", *fallback ? "`" : "empty", fallback,
                             *fallback ? "`" : "");
    else
      g_string_append(out, field->flags & ORR_FIELD_OPTIONAL ? "optional" : "required");
    g_string_append_printf(out, " | %s |\n", sentence);
  }
}

static void append_registry(GString *out, const OrrFieldDefinitions *definitions,
                            const OrrFieldDefinition *definition) {
  const OrrEntry *const *entries = definition->registry->entries;
  g_string_append(out, "\nA name, or a map with `kind` and the parameters of that kind.\n");
  g_string_append(out, "\n| Kind | Meaning |\n|---|---|\n");
  for (guint i = 0; entries[i]; i++) {
    g_autofree char *sentence = cell(entries[i]->sentence);
    g_string_append_printf(out, "| `%s` | %s |\n", entries[i]->name, sentence);
  }
  for (guint i = 0; entries[i]; i++) {
    if (!entries[i]->params) continue;
    g_string_append_printf(out, "\n### %s: %s\n", definition->name, entries[i]->name);
    append_fields(out, definitions, entries[i]->params);
  }
}

static char *markdown(const OrrFieldDefinitions *definitions) {
  g_autoptr(GString) out = g_string_new(NULL);
  const OrrFieldDefinition *definition;
  for (guint i = 0; (definition = orr_field_definitions_get(definitions, i)); i++) {
    g_string_append_printf(out, "%s %s\n", i ? "\n##" : "#", definition->name);
    if (definition->registry) {
      append_registry(out, definitions, definition);
      continue;
    }
    if (definition->table->sentence)
      g_string_append_printf(out, "\n%s\n", definition->table->sentence);
    append_fields(out, definitions, definition->table);
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
}

char *orr_field_markdown(const OrrFieldTable *table) {
  g_auto(OrrFieldDefinitions) definitions = {0};
  orr_field_definitions_init(&definitions, table, NULL, NULL);
  return markdown(&definitions);
}

char *orr_field_registry_markdown(const OrrRegistry *registry) {
  g_auto(OrrFieldDefinitions) definitions = {0};
  orr_field_definitions_init(&definitions, NULL, registry, NULL);
  return markdown(&definitions);
}
