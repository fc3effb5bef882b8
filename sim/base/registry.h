/*
 * registry.h - families of choices: fabrics, collective algorithms, pipeline schedules, workloads,
 * ...
 *
 * Each choice is one file with one exported `const` struct whose first member is an OrrEntry. A
 * family is one alphabetical array of them, which registry.sh makes of the files that a meson.build
 * lists. A document picks an entry by its name alone
 * (`fabric: fat-tree`) or with parameters (`fabric: {kind: fat-tree, levels: 3}`), which the
 * entry's own field table reads.
 *
 *   fat_tree.c:  const OrrFabricKind orr_fabric_fat_tree = {.entry = {"fat-tree", ...}, ...};
 *   fabric.c:    {&orr_fabric_dragonfly.entry, &orr_fabric_fat_tree.entry, ..., NULL}
 *
 * `name` and `sentence` of an entry are mandatory, `params` is not; each family's header marks the
 * members of its own struct in the same way. orr_field_lint checks names, sentences and order.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct OrrFieldTable OrrFieldTable;

typedef struct {
  const char *name;            /* mandatory: kebab-case, the term that papers and tools use */
  const char *sentence;        /* mandatory: what it is, in one sentence */
  const OrrFieldTable *params; /* NULL without parameters */
} OrrEntry;

typedef struct {
  const char *family;             /* "pipeline": the name in messages */
  const OrrEntry *const *entries; /* alphabetical, NULL-terminated */
} OrrRegistry;

/* The choice of a document. Cast @entry to the family's own struct. @params is a struct of
 * entry->params->size bytes, or NULL; orr_field_clear frees it with the struct that holds the
 * choice. */
typedef struct {
  const OrrEntry *entry;
  void *params;
} OrrChoice;

/* NULL when unknown */
const OrrEntry *orr_registry_find(const OrrRegistry *registry, const char *name);
/* NULL-terminated; free the array, not the names */
const char **orr_registry_names(const OrrRegistry *registry);
