/*
 * field_private.h - what the field_*.c files share. Nobody else includes it.
 */
#ifndef ORR_FIELD_PRIVATE_H
#define ORR_FIELD_PRIVATE_H

#include "sim/base/field.h"

G_BEGIN_DECLS

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

/* What to add to "unknown thing 'x'": ": did you mean 'y'? (allowed: y, z)". Newly allocated. */
char *orr_field_hint(const char *word, const char *const *words);

/* The fallback as a tree whose every node is at @place, so that a complaint about a default
 * points at the map that leaves it to the default. NULL where the field has none or it is no
 * YAML (told to @diags). */
OrrNode *orr_field_fallback_node(const OrrField *field, OrrPlace place, OrrDiags *diags);

/* The entry that a CHOICE falls back to, or NULL. */
const OrrEntry *orr_field_fallback_entry(const OrrField *field);

/* TRUE when the member is what absence of an optional field leaves. */
gboolean orr_field_is_zero(const OrrField *field, const void *data);

/* Reads one tree into the member; the heart of orr_field_read. */
void orr_field_read_member(const OrrField *field, const OrrNode *node, OrrLibrary *library,
                           OrrDiags *diags, void *data);

/* --- Documentation: the tables and registries that a table leads to, each once, in order of
 * first mention. --- */

typedef struct {
  char *name; /* unique within the set; a heading, an anchor and a key of $defs */
  const OrrFieldTable *table;
  const OrrRegistry *registry; /* either the one or the other */
  const char *document;        /* the library kind, where a name may stand for it */
} OrrFieldPart;

typedef struct {
  GPtrArray *parts; /* OrrFieldPart*; part 0 is the root */
} OrrFieldParts;

/* Part 0 is @table or @registry (the other is NULL), of the document kind @document or, where
 * that is NULL, of none. */
void orr_field_parts_init(OrrFieldParts *parts, const OrrFieldTable *table,
                          const OrrRegistry *registry, const char *document);
void orr_field_parts_clear(OrrFieldParts *parts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrFieldParts, orr_field_parts_clear)

const OrrFieldPart *orr_field_parts_get(const OrrFieldParts *parts, guint i);

/* The part that the SECTION, SECTIONS or CHOICE @field leads to. */
const OrrFieldPart *orr_field_parts_of(const OrrFieldParts *parts, const OrrField *field);

G_END_DECLS

#endif
