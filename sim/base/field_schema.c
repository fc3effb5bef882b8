/*
 * field_schema.c - the JSON Schema (draft 2020-12) of a document, for editors that check YAML
 * during typing.
 *
 * $defs holds each section and each choice in two forms: NAME for a complete map, and NAME.overlay
 * for a map over a `base:`, which requires no key because the base can supply it. A document with
 * `base:` leads to overlays at all depths, except below lists: a list replaces the base's list, so
 * its items are complete.
 *
 *     if it has `base`:  $ref cluster.overlay  --> fabric.overlay  --> fabric.fat-tree.overlay
 *     else:              $ref cluster          --> fabric          --> fabric.fat-tree
 *
 * $defs begins with `quantity` and `percentage`, numbers with a unit, and, where numbers may have
 * bounds (uncertain.h), with `bounds`, `uncertain-quantity` and `uncertain-percentage`.
 *
 * Content common to NAME and NAME.overlay is written once. In an overlay, a field that leads to no
 * other definition refers to the same property of NAME; an overlay equal to NAME is a reference to
 * NAME. NAME.names lists the entries of a choice with their sentences.
 *
 * A choice is a name or a map. `kind` selects the definition of a map (if-then, so that an editor
 * reports the errors of that kind only). A map without `kind` has the default's kind; over a base
 * it can have any.
 */
#include "sim/base/field_private.h"
#include "sim/base/library.h"

/* An overlay of a `base:` has no required keys. */
typedef enum { ALONE, OVERLAY } Standing;
static const char *const suffixes[] = {[ALONE] = "", [OVERLAY] = ".overlay"};

/* JSON goes into one GString; `comma` writes the comma before every item of a list but the
 * first. */
static void comma(GString *out) {
  if (out->len && !strchr("{[,:", out->str[out->len - 1])) g_string_append_c(out, ',');
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

/* Numbers with a unit, which the definitions of every schema begin with. */
static const char unit_definitions[] =
    "\"quantity\":{\"type\":\"string\",\"pattern\":\"" NUMBER_PATTERN " *[A-Za-z]+(/[sB])?$\"},"
    "\"percentage\":{\"type\":[\"number\",\"string\"],\"pattern\":\"" NUMBER_PATTERN " *%?$\"}";

/* Where numbers may have bounds (uncertain.h), these follow. */
#define BOUND "{\"type\":[\"number\",\"string\"]}"
#define OR_BOUNDS(name)                                                                            \
  "\"uncertain-" name "\":{\"if\":{\"type\":\"object\"},\"then\":{\"$ref\":\"#/$defs/bounds\"},"   \
  "\"else\":{\"$ref\":\"#/$defs/" name "\"}}"
static const char bounds_definitions[] =
    ",\"bounds\":{\"properties\":{\"value\":" BOUND ",\"low\":" BOUND ",\"high\":" BOUND
    "},\"required\":[\"value\",\"low\",\"high\"],\"additionalProperties\":false}," OR_BOUNDS(
        "quantity") "," OR_BOUNDS("percentage");

static gboolean takes_bounds(const OrrFieldDefinitions *definitions) {
  const char *document = orr_field_definitions_get(definitions, 0)->document;
  const OrrDocumentKind *kind = document ? orr_document_kind_find(document) : NULL;
  return kind && kind->takes_bounds;
}

/* A number without a unit. `bounds` and the range do not meet: the one is for maps, the other for
 * numbers. */
static void add_number(GString *out, const OrrField *field, const char *type, gboolean bounds) {
  g_autofree char *types = g_strdup_printf(bounds ? "[\"%s\",\"object\"]" : "\"%s\"", type);
  add_raw(out, "type", types);
  add_range(out, field);
  if (bounds) add_member(out, "$ref", "#/$defs/bounds");
}

static void add_real(GString *out, const OrrField *field, gboolean bounds) {
  if (field->unit == ORR_UNIT_FRACTION)
    add_member(out, "$ref", bounds ? "#/$defs/uncertain-percentage" : "#/$defs/percentage");
  else if (field->unit != ORR_UNIT_NONE)
    add_member(out, "$ref", bounds ? "#/$defs/uncertain-quantity" : "#/$defs/quantity");
  else
    add_number(out, field, "number", bounds);
}

/* Whether a YAML reader takes an unquoted word of @words for the truth value @names[0]; YAML 1.1
 * accepts all @names. */
static gboolean has_truth(const char *const *words, const char *const names[3]) {
  for (guint i = 0; i < 3; i++)
    if (g_strv_contains(words, names[i])) return TRUE;
  return FALSE;
}

static void add_words(GString *out, const OrrField *field) {
  static const char *const truths[][3] = {{"true", "yes", "on"}, {"false", "no", "off"}};
  add_key(out, "enum");
  g_string_append_c(out, '[');
  for (guint i = 0; field->words[i]; i++) {
    comma(out);
    add_string(out, field->words[i]);
  }
  for (guint i = 0; field->aliases && field->aliases[i]; i += 2) {
    comma(out);
    add_string(out, field->aliases[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS(truths); i++)
    if (has_truth(field->words, truths[i])) g_string_append_printf(out, ",%s", truths[i][0]);
  g_string_append_c(out, ']');
}

/* "$ref" to a definition, or to the definition of one entry of a choice. */
static void add_ref(GString *out, const OrrFieldDefinition *definition, const OrrEntry *entry,
                    Standing standing) {
  g_autofree char *path = g_strconcat("#/$defs/", definition->name, entry ? "." : "",
                                      entry ? entry->name : "", suffixes[standing], NULL);
  add_member(out, "$ref", path);
}

static void add_ref_under(GString *out, const char *key, const OrrFieldDefinition *definition,
                          const OrrEntry *entry, Standing standing) {
  add_key(out, key);
  g_string_append_c(out, '{');
  add_ref(out, definition, entry, standing);
  g_string_append_c(out, '}');
}

/* A map of a section or choice, or an alternative to it: in a document, `base:` makes it an
 * overlay. */
static void add_map_ref(GString *out, const OrrFieldDefinition *definition,
                        const OrrEntry *fallback, gboolean is_document, Standing standing) {
  if (standing == OVERLAY || (!is_document && !fallback)) {
    add_ref(out, definition, NULL, standing);
  } else if (is_document) {
    add_raw(out, "if", "{\"type\":\"object\",\"required\":[\"base\"]}");
    add_ref_under(out, "then", definition, NULL, OVERLAY);
    add_key(out, "else");
    g_string_append_c(out, '{');
    add_map_ref(out, definition, fallback, FALSE, standing);
    g_string_append_c(out, '}');
  } else {
    add_raw(out, "if", "{\"type\":\"object\",\"not\":{\"required\":[\"kind\"]}}");
    add_ref_under(out, "then", definition, fallback, standing);
    add_ref_under(out, "else", definition, NULL, standing);
  }
}

static void add_type(GString *out, const OrrFieldDefinitions *definitions, const OrrField *field,
                     Standing standing);

/* A section that a number can replace. */
static void add_number_or_map(GString *out, const OrrFieldDefinitions *definitions,
                              const OrrFieldDefinition *definition, Standing standing) {
  add_raw(out, "if", "{\"type\":\"object\"}");
  add_ref_under(out, "then", definition, NULL, standing);
  add_key(out, "else");
  g_string_append_c(out, '{');
  add_type(out, definitions, orr_field_find(definition->table, definition->table->number),
           standing);
  g_string_append_c(out, '}');
}

/* In a document any name can replace a section; the names that can replace a choice are in its
 * definition. */
static void add_definition(GString *out, const OrrFieldDefinitions *definitions,
                           const OrrField *field, Standing standing) {
  const OrrFieldDefinition *definition = orr_field_definitions_find(definitions, field);
  const gboolean is_choice = field->kind == ORR_FIELD_CHOICE;
  const OrrEntry *fallback = is_choice && field->fallback ? orr_field_fallback_entry(field) : NULL;
  if (!is_choice && definition->table->number)
    return add_number_or_map(out, definitions, definition, standing);
  if (!field->document) return add_map_ref(out, definition, fallback, FALSE, standing);
  add_raw(out, "type", "[\"string\",\"object\"]");
  add_raw(out, "if", "{\"type\":\"object\"}");
  add_key(out, "then");
  g_string_append_c(out, '{');
  add_map_ref(out, definition, fallback, TRUE, standing);
  g_string_append_c(out, '}');
}

static void add_list(GString *out, const OrrFieldDefinitions *definitions, const OrrField *field) {
  add_member(out, "type", "array");
  add_key(out, "items");
  g_string_append_c(out, '{');
  if (field->kind == ORR_FIELD_REALS)
    add_real(out, field, FALSE);
  else if (field->kind == ORR_FIELD_SECTIONS)
    add_definition(out, definitions, field, ALONE);
  else
    add_raw(out, "type", "[\"string\",\"number\",\"boolean\"]");
  g_string_append_c(out, '}');
}

static void add_type(GString *out, const OrrFieldDefinitions *definitions, const OrrField *field,
                     Standing standing) {
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    return add_member(out, "type", "boolean");
  case ORR_FIELD_INT:
    return add_number(out, field, "integer", takes_bounds(definitions));
  case ORR_FIELD_REAL:
    return add_real(out, field, takes_bounds(definitions));
  case ORR_FIELD_TEXT:
    return add_raw(out, "type",
                   field->document ? "[\"string\",\"object\"]"
                                   : "[\"string\",\"number\",\"boolean\"]");
  case ORR_FIELD_WORD:
    return add_words(out, field);
  case ORR_FIELD_CHOICE:
  case ORR_FIELD_SECTION:
    return add_definition(out, definitions, field, standing);
  case ORR_FIELD_TREE:
    return;
  default:
    return add_list(out, definitions, field);
  }
}

/* Editors insert the default, so a number is written as a number; defaults of sections and lists
 * are only in the reference. */
static void add_default(GString *out, const OrrField *field) {
  const gboolean is_real = field->kind == ORR_FIELD_REAL && field->unit == ORR_UNIT_NONE;
  if (!field->fallback || *field->fallback == '{' || *field->fallback == '[') return;
  if (field->kind == ORR_FIELD_BOOL || field->kind == ORR_FIELD_INT || is_real)
    add_raw(out, "default", field->fallback);
  else
    add_member(out, "default", field->fallback);
}

static void add_field(GString *out, const OrrFieldDefinitions *definitions, const OrrField *field,
                      Standing standing) {
  gboolean has_unit = (field->kind == ORR_FIELD_REAL || field->kind == ORR_FIELD_REALS) &&
                      field->unit != ORR_UNIT_NONE;
  g_autofree char *description =
      has_unit ? g_strdup_printf("%s Units: %s.", field->sentence, orr_unit_allowed(field->unit))
               : NULL;
  add_key(out, field->name);
  g_string_append_c(out, '{');
  add_member(out, "description",
             description       ? description
             : field->sentence ? field->sentence
                               : "");
  add_default(out, field);
  comma(out);
  gsize length = out->len;
  add_type(out, definitions, field, standing);
  if (out->len == length)
    g_string_truncate(out, length - 1); /* a TREE has no type: take the comma back */
  g_string_append_c(out, '}');
}

static gboolean is_required(const OrrField *field) {
  return !field->fallback && !(field->flags & ORR_FIELD_OPTIONAL);
}

static gboolean has_required(const OrrFieldTable *table) {
  for (size_t i = 0; table && i < table->n_fields; i++)
    if (is_required(&table->fields[i])) return TRUE;
  return FALSE;
}

/* Fields whose definition is the same in an overlay: all but sections and choices. Lists replace
 * the base's list, so their items are complete in both forms. */
static gboolean is_same_above_base(const OrrField *field) {
  return field->kind != ORR_FIELD_SECTION && field->kind != ORR_FIELD_CHOICE;
}

static gboolean all_same_above_base(const OrrFieldTable *table) {
  for (size_t i = 0; table && i < table->n_fields; i++)
    if (is_required(&table->fields[i]) || !is_same_above_base(&table->fields[i])) return FALSE;
  return TRUE;
}

/* @alone: the name of the complete definition. */
static void add_properties(GString *out, const OrrFieldDefinitions *definitions,
                           const OrrFieldTable *table, const char *alone, Standing standing) {
  for (size_t i = 0; table && i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    if (standing == ALONE || !is_same_above_base(field)) {
      add_field(out, definitions, field, standing);
      continue;
    }
    g_autofree char *path = g_strconcat("#/$defs/", alone, "/properties/", field->name, NULL);
    add_key(out, field->name);
    g_string_append_c(out, '{');
    add_member(out, "$ref", path);
    g_string_append_c(out, '}');
  }
}

static void add_required(GString *out, const OrrFieldTable *table, Standing standing) {
  if (standing == OVERLAY || !has_required(table)) return;
  add_key(out, "required");
  g_string_append_c(out, '[');
  for (size_t i = 0; i < table->n_fields; i++) {
    if (!is_required(&table->fields[i])) continue;
    comma(out);
    add_string(out, table->fields[i].name);
  }
  g_string_append_c(out, ']');
}

/* The keys of a document in addition to its table's. */
static void add_document_keys(GString *out, const char *document) {
  g_autofree char *schema = g_strconcat(document, "/1", NULL);
  g_string_append(out, "\"schema\":{");
  add_member(out, "const", schema);
  g_string_append(out, "},\"base\":{\"type\":\"string\"}");
}

static void add_map_properties(GString *out, const OrrFieldDefinitions *definitions,
                               const OrrFieldDefinition *definition, const OrrFieldTable *table,
                               const OrrEntry *kind, const char *alone, Standing standing) {
  g_string_append(out, ",\"properties\":{");
  if (definition->document) add_document_keys(out, definition->document);
  if (kind) {
    add_key(out, "kind");
    g_string_append_c(out, '{');
    add_member(out, "const", kind->name);
    g_string_append_c(out, '}');
  }
  add_properties(out, definitions, table, alone, standing);
  g_string_append_c(out, '}');
}

/* The definition of a section, or of the map of one entry (@kind) of a choice. */
static void add_map(GString *out, const OrrFieldDefinitions *definitions,
                    const OrrFieldDefinition *definition, const OrrFieldTable *table,
                    const OrrEntry *kind, Standing standing) {
  const char *sentence = kind ? kind->sentence : table->sentence;
  g_autofree char *alone =
      g_strconcat(definition->name, kind ? "." : "", kind ? kind->name : "", NULL);
  g_autofree char *name = g_strconcat(alone, suffixes[standing], NULL);
  add_key(out, name);
  if (standing == OVERLAY && all_same_above_base(table)) {
    g_string_append_c(out, '{');
    add_ref(out, definition, kind, ALONE);
    g_string_append_c(out, '}');
    return;
  }
  g_string_append(out, "{\"type\":\"object\"");
  if (sentence) add_member(out, "description", sentence);
  add_map_properties(out, definitions, definition, table, kind, alone, standing);
  add_required(out, table, standing);
  g_string_append(out, ",\"additionalProperties\":false}");
}

/* "oneOf" over the entries' names and sentences; @bare: only entries without required
 * parameters. */
static void add_names(GString *out, const OrrRegistry *registry, gboolean bare) {
  add_key(out, "oneOf");
  g_string_append_c(out, '[');
  for (guint i = 0; registry->entries[i]; i++) {
    if (bare && has_required(registry->entries[i]->params)) continue;
    comma(out);
    g_string_append_c(out, '{');
    add_member(out, "const", registry->entries[i]->name);
    add_member(out, "description",
               registry->entries[i]->sentence ? registry->entries[i]->sentence : "");
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}

static gboolean all_bare(const OrrRegistry *registry) {
  for (guint i = 0; registry->entries[i]; i++)
    if (has_required(registry->entries[i]->params)) return FALSE;
  return TRUE;
}

static void add_names_ref(GString *out, const OrrFieldDefinition *definition) {
  g_autofree char *path = g_strconcat("#/$defs/", definition->name, ".names", NULL);
  add_member(out, "$ref", path);
}

/* A map with `kind`: if `kind` is this entry, then its definition applies. */
static void add_kinds(GString *out, const OrrFieldDefinition *definition, Standing standing) {
  add_raw(out, "required", "[\"kind\"]");
  g_string_append(out, ",\"properties\":{\"kind\":{");
  add_names_ref(out, definition);
  g_string_append(out, "}},\"allOf\":[");
  for (guint i = 0; definition->registry->entries[i]; i++) {
    comma(out);
    g_string_append(out, "{\"if\":{\"properties\":{\"kind\":{");
    add_member(out, "const", definition->registry->entries[i]->name);
    g_string_append(out, "}},\"required\":[\"kind\"]}");
    add_ref_under(out, "then", definition, definition->registry->entries[i], standing);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}

/* A map over a base can leave `kind` to the base, and then has any kind. */
static void add_overlay_kinds(GString *out, const OrrFieldDefinition *definition) {
  g_string_append(out, "\"if\":{\"required\":[\"kind\"]},\"then\":{");
  add_kinds(out, definition, OVERLAY);
  g_string_append(out, "},\"else\":{\"anyOf\":[");
  for (guint i = 0; definition->registry->entries[i]; i++) {
    comma(out);
    g_string_append_c(out, '{');
    add_ref(out, definition, definition->registry->entries[i], OVERLAY);
    g_string_append_c(out, '}');
  }
  g_string_append(out, "]}");
}

static gboolean has_bare_name(const OrrRegistry *registry) {
  for (guint i = 0; registry->entries[i]; i++)
    if (!has_required(registry->entries[i]->params)) return TRUE;
  return FALSE;
}

static void add_names_definition(GString *out, const OrrFieldDefinition *definition) {
  g_autofree char *name = g_strconcat(definition->name, ".names", NULL);
  add_key(out, name);
  g_string_append_c(out, '{');
  add_names(out, definition->registry, FALSE);
  g_string_append_c(out, '}');
}

static void add_registry(GString *out, const OrrFieldDefinitions *definitions,
                         const OrrFieldDefinition *definition, Standing standing) {
  g_autofree char *name = g_strconcat(definition->name, suffixes[standing], NULL);
  if (standing == ALONE) add_names_definition(out, definition);
  add_key(out, name);
  g_string_append(out, "{\"if\":{\"type\":\"object\"},\"then\":{");
  if (standing == OVERLAY)
    add_overlay_kinds(out, definition);
  else
    add_kinds(out, definition, standing);
  g_string_append_c(out, '}');
  if (definition->document) {
    g_string_append(out, ",\"else\":{\"type\":\"string\"}"); /* a name of the library too */
  } else if (has_bare_name(definition->registry)) {
    g_string_append(out, ",\"else\":{");
    if (all_bare(definition->registry))
      add_names_ref(out, definition);
    else
      add_names(out, definition->registry, TRUE);
    g_string_append_c(out, '}');
  } else {
    add_raw(out, "else", "false");
  }
  g_string_append_c(out, '}');
  for (guint i = 0; definition->registry->entries[i]; i++)
    add_map(out, definitions, definition, definition->registry->entries[i]->params,
            definition->registry->entries[i], standing);
}

static gboolean has_documents(const OrrFieldDefinitions *definitions) {
  const OrrFieldDefinition *definition;
  for (guint i = 0; (definition = orr_field_definitions_get(definitions, i)); i++)
    if (definition->document) return TRUE;
  return FALSE;
}

static void add_definitions(GString *out, const OrrFieldDefinitions *definitions,
                            Standing standing) {
  const OrrFieldDefinition *definition;
  for (guint i = 0; (definition = orr_field_definitions_get(definitions, i)); i++) {
    if (definition->registry)
      add_registry(out, definitions, definition, standing);
    else
      add_map(out, definitions, definition, definition->table, NULL, standing);
  }
}

/* A document names its schema at its root; other roots (rows, sections) are plain maps. */
static void add_root(GString *out, const OrrFieldDefinition *root) {
  if (root->document) {
    g_autofree char *schema = g_strconcat(root->document, "/1", NULL);
    g_string_append(out,
                    ",\"type\":\"object\",\"required\":[\"schema\"],\"properties\":{\"schema\":{");
    add_member(out, "const", schema);
    g_string_append(out, "}}");
  }
  add_map_ref(out, root, NULL, root->document != NULL, ALONE);
}

static char *json_schema(const OrrFieldDefinitions *definitions) {
  g_autoptr(GString) out = g_string_new("{");
  const OrrFieldDefinition *root = orr_field_definitions_get(definitions, 0);
  add_member(out, "$schema", "https://json-schema.org/draft/2020-12/schema");
  add_member(out, "title", root->name);
  add_root(out, root);
  add_key(out, "$defs");
  g_string_append_c(out, '{');
  g_string_append(out, unit_definitions);
  if (takes_bounds(definitions)) g_string_append(out, bounds_definitions);
  add_definitions(out, definitions, ALONE);
  if (has_documents(definitions)) add_definitions(out, definitions, OVERLAY);
  g_string_append(out, "}}\n");
  return g_string_free(g_steal_pointer(&out), FALSE);
}

char *orr_field_json_schema(const OrrFieldTable *table, const char *document) {
  g_auto(OrrFieldDefinitions) definitions = {0};
  orr_field_definitions_init(&definitions, table, NULL, document);
  return json_schema(&definitions);
}

char *orr_field_registry_json_schema(const OrrRegistry *registry, const char *document) {
  g_auto(OrrFieldDefinitions) definitions = {0};
  orr_field_definitions_init(&definitions, NULL, registry, document);
  return json_schema(&definitions);
}
