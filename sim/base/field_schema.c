/*
 * field_schema.c - the JSON Schema (draft 2020-12) of a table, for editors that check YAML while it is written.
 *
 * Each section and each choice is one definition under $defs. A choice is oneOf over its entries: the bare name, or a
 * map whose `kind` is that name. Where a document's name may stand, or `base:` may supply the rest, required keys are
 * not asked for.
 */
#include <string.h>

#include "sim/base/field_private.h"
#include "sim/base/library.h"

/* JSON is written into one GString; `comma` puts the comma before all but the first of a list. */
static void comma(GString *out) {
  if (out->len && !strchr("{[,:", out->str[out->len - 1]))
    g_string_append_c(out, ',');
}

static void add_string(GString *out, const char *text) {
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_printf(out, "\\%c", *c);
    else if ((guchar)*c < 0x20)
      g_string_append_printf(out, "\\u%04x", (guint)(guchar)*c);
    else
      g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

static void add_key(GString *out, const char *key) {
  comma(out);
  add_string(out, key);
  g_string_append_c(out, ':');
}

static void add_member(GString *out, const char *key, const char *text) {
  add_key(out, key);
  add_string(out, text);
}

static void add_raw(GString *out, const char *key, const char *json) {
  add_key(out, key);
  g_string_append(out, json);
}

static void add_range(GString *out, const OrrField *field) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (field->min < field->max) {
    add_raw(out, "minimum", g_ascii_dtostr(text, sizeof text, field->min));
    add_raw(out, "maximum", g_ascii_dtostr(text, sizeof text, field->max));
  } else if (field->flags & ORR_FIELD_POSITIVE) {
    add_raw(out, "exclusiveMinimum", "0");
  } else if (field->flags & ORR_FIELD_UNSIGNED) {
    add_raw(out, "minimum", "0");
  }
}

#define NUMBER_PATTERN "^[-+]?[0-9_]*[.]?[0-9_]+([eE][-+]?[0-9]+)?"

static void add_real(GString *out, const OrrField *field) {
  if (field->unit == ORR_UNIT_NONE) {
    add_member(out, "type", "number");
    add_range(out, field);
  } else if (field->unit == ORR_UNIT_FRACTION) {
    add_raw(out, "type", "[\"number\",\"string\"]");
    add_member(out, "pattern", NUMBER_PATTERN " *%?$");
  } else {
    add_member(out, "type", "string");
    add_member(out, "pattern", NUMBER_PATTERN " *[A-Za-z]+(/s)?$");
  }
}

static void add_words(GString *out, const char *const *words) {
  add_key(out, "enum");
  g_string_append_c(out, '[');
  for (guint i = 0; words[i]; i++) {
    comma(out);
    add_string(out, words[i]);
  }
  g_string_append_c(out, ']');
}

static void add_ref(GString *out, const OrrFieldPart *part) {
  g_autofree char *path = g_strconcat("#/$defs/", part->name, NULL);
  add_member(out, "$ref", path);
}

static void add_entry_map(GString *out, const OrrFieldParts *parts, const OrrEntry *entry, gboolean wants_kind);

/* A reference to a section or choice; with what else may stand for it. */
static void add_part(GString *out, const OrrFieldParts *parts, const OrrField *field) {
  const OrrFieldPart *part = orr_field_parts_of(parts, field);
  gboolean is_choice = field->kind == ORR_FIELD_CHOICE;
  const OrrEntry *fallback = is_choice && field->fallback ? orr_field_fallback_entry(field) : NULL;
  if (!field->document && !fallback) {
    add_ref(out, part);
    return;
  }
  g_string_append(out, "\"anyOf\":[{");
  add_ref(out, part);
  g_string_append_c(out, '}');
  if (field->document)
    g_string_append(out, ",{\"type\":\"string\"},{\"type\":\"object\",\"required\":[\"base\"]}");
  if (fallback) {
    g_string_append_c(out, ',');
    add_entry_map(out, parts, fallback, FALSE);
  }
  g_string_append_c(out, ']');
}

static void add_list(GString *out, const OrrFieldParts *parts, const OrrField *field) {
  add_member(out, "type", "array");
  add_key(out, "items");
  g_string_append_c(out, '{');
  if (field->kind == ORR_FIELD_REALS)
    add_real(out, field);
  else if (field->kind == ORR_FIELD_SECTIONS)
    add_part(out, parts, field);
  else
    add_raw(out, "type", "[\"string\",\"number\",\"boolean\"]");
  g_string_append_c(out, '}');
}

static void add_type(GString *out, const OrrFieldParts *parts, const OrrField *field) {
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    return add_member(out, "type", "boolean");
  case ORR_FIELD_INT:
    add_member(out, "type", "integer");
    return add_range(out, field);
  case ORR_FIELD_REAL:
    return add_real(out, field);
  case ORR_FIELD_TEXT:
    return add_raw(out, "type", "[\"string\",\"number\",\"boolean\"]");
  case ORR_FIELD_WORD:
    return add_words(out, field->words);
  case ORR_FIELD_CHOICE:
  case ORR_FIELD_SECTION:
    return add_part(out, parts, field);
  case ORR_FIELD_TREE:
    return;
  default:
    return add_list(out, parts, field);
  }
}

static void add_field(GString *out, const OrrFieldParts *parts, const OrrField *field) {
  gboolean has_unit = (field->kind == ORR_FIELD_REAL || field->kind == ORR_FIELD_REALS) && field->unit != ORR_UNIT_NONE;
  g_autofree char *description =
      has_unit ? g_strdup_printf("%s Units: %s.", field->sentence, orr_unit_allowed(field->unit)) : NULL;
  add_key(out, field->name);
  g_string_append_c(out, '{');
  add_member(out, "description", description ? description : field->sentence ? field->sentence : "");
  if (field->fallback)
    add_member(out, "default", field->fallback);
  comma(out);
  gsize length = out->len;
  add_type(out, parts, field);
  if (out->len == length)
    g_string_truncate(out, length - 1); /* a TREE has no type: take the comma back */
  g_string_append_c(out, '}');
}

static void add_properties(GString *out, const OrrFieldParts *parts, const OrrFieldTable *table) {
  for (size_t i = 0; table && i < table->n_fields; i++)
    add_field(out, parts, &table->fields[i]);
}

/* "required":[...], with @first before the fields' names where it is given. */
static void add_required(GString *out, const OrrFieldTable *table, const char *first) {
  add_key(out, "required");
  g_string_append_c(out, '[');
  if (first)
    add_string(out, first);
  for (size_t i = 0; table && i < table->n_fields; i++) {
    if (table->fields[i].fallback || (table->fields[i].flags & ORR_FIELD_OPTIONAL))
      continue;
    comma(out);
    add_string(out, table->fields[i].name);
  }
  g_string_append_c(out, ']');
}

static void add_entry_map(GString *out, const OrrFieldParts *parts, const OrrEntry *entry, gboolean wants_kind) {
  g_string_append(out, "{\"type\":\"object\"");
  add_member(out, "description", entry->sentence ? entry->sentence : "");
  g_string_append(out, ",\"properties\":{");
  if (wants_kind) {
    g_string_append(out, "\"kind\":{");
    add_member(out, "const", entry->name);
    g_string_append_c(out, '}');
  }
  add_properties(out, parts, entry->params);
  g_string_append_c(out, '}');
  add_required(out, entry->params, wants_kind ? "kind" : NULL);
  g_string_append(out, ",\"additionalProperties\":false}");
}

static gboolean has_required(const OrrFieldTable *table) {
  for (size_t i = 0; table && i < table->n_fields; i++)
    if (!table->fields[i].fallback && !(table->fields[i].flags & ORR_FIELD_OPTIONAL))
      return TRUE;
  return FALSE;
}

static void add_registry(GString *out, const OrrFieldParts *parts, const OrrFieldPart *part) {
  g_string_append(out, "\"oneOf\":[");
  for (guint i = 0; part->registry->entries[i]; i++) {
    const OrrEntry *entry = part->registry->entries[i];
    comma(out);
    if (!has_required(entry->params)) {
      g_string_append_c(out, '{');
      add_member(out, "const", entry->name);
      add_member(out, "description", entry->sentence ? entry->sentence : "");
      g_string_append(out, "},");
    }
    add_entry_map(out, parts, entry, TRUE);
  }
  g_string_append_c(out, ']');
}

static void add_table(GString *out, const OrrFieldParts *parts, const OrrFieldPart *part) {
  gboolean is_document = part->document || orr_document_kind_find(part->table->name);
  g_string_append(out, "\"type\":\"object\"");
  if (part->table->sentence)
    add_member(out, "description", part->table->sentence);
  g_string_append(out, ",\"properties\":{");
  if (is_document) {
    g_autofree char *schema = g_strconcat(part->document ? part->document : part->table->name, "/1", NULL);
    g_string_append(out, "\"schema\":{");
    add_member(out, "const", schema);
    g_string_append(out, "},\"base\":{\"type\":\"string\"}");
  }
  add_properties(out, parts, part->table);
  g_string_append_c(out, '}');
  if (is_document)
    g_string_append(out, ",\"anyOf\":[{\"required\":[\"base\"]},{");
  add_required(out, part->table, NULL);
  if (is_document)
    g_string_append(out, "}]");
  g_string_append(out, ",\"additionalProperties\":false");
}

static void add_definition(GString *out, const OrrFieldParts *parts, const OrrFieldPart *part) {
  if (part->registry)
    add_registry(out, parts, part);
  else
    add_table(out, parts, part);
}

char *orr_fields_json_schema(const OrrFieldTable *table) {
  g_auto(OrrFieldParts) parts = {0};
  g_autoptr(GString) out = g_string_new("{");
  const OrrFieldPart *part;
  orr_field_parts_init(&parts, table);
  add_member(out, "$schema", "https://json-schema.org/draft/2020-12/schema");
  add_member(out, "title", table->name);
  add_ref(out, orr_field_parts_get(&parts, 0));
  add_key(out, "$defs");
  g_string_append_c(out, '{');
  for (guint i = 0; (part = orr_field_parts_get(&parts, i)); i++) {
    add_key(out, part->name);
    g_string_append_c(out, '{');
    add_definition(out, &parts, part);
    g_string_append_c(out, '}');
  }
  g_string_append(out, "}}\n");
  return g_string_free(g_steal_pointer(&out), FALSE);
}
