/*
 * shelf.h - all that has a name: documents of the library, entries of the registries, views.
 */
#ifndef ORR_SHELF_H
#define ORR_SHELF_H

#include "sim/base/library.h"
#include "sim/base/registry.h"

G_BEGIN_DECLS

typedef struct {
  const char *plural;          /* "devices" */
  const char *singular;        /* "device" */
  const char *sentence;        /* what they are */
  const char *document;        /* kind of document, or NULL */
  const OrrRegistry *registry; /* or NULL */
} OrrShelf;

extern const OrrShelf orr_shelves[]; /* alphabetical; ends with a NULL plural */

/* @word: plural or singular. NULL with ORR_FAULT_USAGE. */
const OrrShelf *orr_shelf_find(const char *word, GError **error);

/* What is on it: entries first, then documents, each sorted; a strv. */
char **orr_shelf_names(const OrrShelf *shelf, OrrLibrary *library);

/* One line about one of them; newly allocated. A document that cannot be read says so. */
char *orr_shelf_fact(const OrrShelf *shelf, OrrLibrary *library, const char *name);

G_END_DECLS

#endif
