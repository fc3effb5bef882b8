/*
 * field_private.h - what the field_*.c files share; no other file includes it.
 */
#pragma once

#include "sim/base/field.h"

static inline void *orr_field_member(const OrrField *field, void *data) {
  return (char *)data + field->offset;
}

static inline const void *orr_field_member_const(const OrrField *field, const void *data) {
  return (const char *)data + field->offset;
}

/* The field of that name, or NULL. */
const OrrField *orr_field_find(const OrrFieldTable *table, const char *name);

/* NULL-terminated names of the fields of @table (which may be NULL), after @first (which may be
 * NULL). Free the array, not the names. */
const char **orr_field_names(const OrrFieldTable *table, const char *first);

/* The end of an "unknown key 'x'" message: ": did you mean 'y'? (allowed: y, z)". Newly
 * allocated. */
char *orr_field_hint(const char *word, const char *const *words);

/* ": write prices.gpu-hour instead" for a key that moved, else the hint for @names. Newly
 * allocated. @table may be NULL. */
char *orr_field_key_hint(const OrrFieldTable *table, const char *key, const char *const *names);

/* The fallback as a tree. Every node is at @place, the map that lacks the key, so that an error in
 * a default points there. NULL where the field has no fallback, or one that is not YAML (reported
 * to @diags). */
OrrNode *orr_field_fallback_node(const OrrField *field, OrrPlace place, OrrDiags *diags);

/* The entry that a CHOICE falls back to, or NULL. */
const OrrEntry *orr_field_fallback_entry(const OrrField *field);

/* TRUE where the member is zero, the value of an absent optional field. */
gboolean orr_field_is_zero(const OrrField *field, const void *data);

/* Reads one tree into the member; the core of orr_field_read. */
void orr_field_read_member(const OrrField *field, const OrrNode *node, OrrLibrary *library,
                           OrrDiags *diags, void *data);

/* --- Documentation: the tables and registries that a table leads to, each once, in order of first
 * mention. Markdown prints a section for each, JSON Schema a definition. --- */

typedef struct {
  char *name; /* unique within the set; a heading, an anchor and a key of $defs */
  const OrrFieldTable *table;
  const OrrRegistry *registry; /* exactly one of the two is set */
  const char *document;        /* the library kind whose names can replace it, or NULL */
} OrrFieldDefinition;

typedef struct {
  GPtrArray *definitions; /* OrrFieldDefinition*; definition 0 is the root */
} OrrFieldDefinitions;

/* Definition 0 is @table or @registry (the other is NULL). @document: its document kind, or
 * NULL. */
void orr_field_definitions_init(OrrFieldDefinitions *definitions, const OrrFieldTable *table,
                                const OrrRegistry *registry, const char *document);
void orr_field_definitions_clear(OrrFieldDefinitions *definitions);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrFieldDefinitions, orr_field_definitions_clear)

const OrrFieldDefinition *orr_field_definitions_get(const OrrFieldDefinitions *definitions,
                                                    guint i);

/* The definition that the SECTION, SECTIONS or CHOICE @field leads to. */
const OrrFieldDefinition *orr_field_definitions_find(const OrrFieldDefinitions *definitions,
                                                     const OrrField *field);
