/*
 * catalog.h - everything that has a name: documents of the library, entries of the registries,
 * views, plots. `orrery list KIND` prints one catalog, `orrery describe KIND NAME` one entry.
 */
#ifndef ORR_CATALOG_H
#define ORR_CATALOG_H

#include "sim/base/library.h"
#include "sim/base/registry.h"

G_BEGIN_DECLS

typedef struct {
  const char *plural;          /* "devices" */
  const char *singular;        /* "device" */
  const char *sentence;        /* what they are */
  const char *document;        /* kind of document, or NULL */
  const OrrRegistry *registry; /* or NULL */
} OrrCatalog;

extern const OrrCatalog orr_catalogs[]; /* alphabetical; ends with a NULL plural */

/* Finds a catalog by its plural or singular @word. NULL with ORR_FAULT_USAGE. */
const OrrCatalog *orr_catalog_find(const char *word, GError **error);

/* The names in @catalog: registry entries first, then documents, each sorted. A newly allocated
 * strv. */
char **orr_catalog_names(const OrrCatalog *catalog, OrrLibrary *library);

/* One line about @name; newly allocated. For a document that cannot be read, the line says so. */
char *orr_catalog_fact(const OrrCatalog *catalog, OrrLibrary *library, const char *name);

G_END_DECLS

#endif
