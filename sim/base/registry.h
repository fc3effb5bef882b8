/*
 * registry.h - families of choices: fabrics, collective algorithms, pipeline schedules, workloads
 * ...
 *
 * Each choice is one file with one exported `const` struct whose first member is an OrrEntry. A
 * family is one explicit, alphabetical array. A document picks an entry by name, bare (`fabric:
 * fat-tree`) or with its parameters (`fabric: {kind: fat-tree, levels: 3}`), which the entry's own
 * field table reads.
 */
#ifndef ORR_REGISTRY_H
#define ORR_REGISTRY_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct OrrFieldTable OrrFieldTable;

typedef struct {
  const char *name;            /* kebab-case, as the field writes it */
  const char *sentence;        /* what it is, one sentence */
  const OrrFieldTable *params; /* NULL where it has none */
} OrrEntry;

typedef struct {
  const char *family;             /* "pipeline": how messages call it */
  const OrrEntry *const *entries; /* alphabetical, NULL-terminated */
} OrrRegistry;

/* What a document chose. @params is a struct of entry->params->size bytes, or NULL; owned, freed
 * with the struct that holds the choice (orr_field_clear). Cast @entry to the family's own
 * struct. */
typedef struct {
  const OrrEntry *entry;
  void *params;
} OrrChoice;

/* NULL when unknown */
const OrrEntry *orr_registry_find(const OrrRegistry *registry, const char *name);
/* NULL-terminated; free the array, not the names */
const char **orr_registry_names(const OrrRegistry *registry);

G_END_DECLS

#endif
