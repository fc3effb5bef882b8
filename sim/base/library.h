/*
 * library.h - where documents live, and how a name becomes a tree.
 *
 * A library is a list of folders, searched in order: those of --library, of ORRERY_PATH
 * (colon-separated), then the one that Orrery shipped with (the source tree, or
 * PREFIX/share/orrery). In each, a document of kind KIND and name NAME is the file
 * SUBFOLDER/NAME.yaml, with SUBFOLDER as the kind's row says (devices: topologies/devices), or
 * PLURAL/NAME.yaml (devices/), so that a user's own library can be flat.
 *
 * Every document begins with `schema: KIND/1`. `base: NAME` lays the rest of the document on
 * another one of its kind; a cycle of bases is an error that shows the cycle.
 */
#ifndef ORR_LIBRARY_H
#define ORR_LIBRARY_H

#include "sim/base/node.h"

G_BEGIN_DECLS

typedef struct OrrLibrary OrrLibrary;

typedef struct {
  const char *kind;      /* "device" */
  const char *plural;    /* "devices": what `orrery list` takes */
  const char *subfolder; /* "topologies/devices" */
} OrrDocumentKind;

extern const OrrDocumentKind orr_document_kinds[]; /* ends with a NULL kind */
const OrrDocumentKind *orr_document_kind_find(const char *kind_or_plural); /* NULL when unknown */

/* @folders: NULL-terminated, searched first (from --library). ORRERY_PATH and the shipped
 * library follow. */
OrrLibrary *orr_library_new(const char *const *folders);
void orr_library_free(OrrLibrary *library);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLibrary, orr_library_free)

/* Where a document is asked for by name, a path that ends in .yaml and holds a '/' names a file
 * instead: relative to the folder of the document that asks (`model: ./glm45.yaml`), or to the
 * working directory where no document does. */

/* The document of that kind and name with its bases laid under it and `base` removed; NULL with
 * the reason in @diags, at @asked_at (the place that named it; the nearest known name is
 * offered). Caller owns the tree. */
OrrNode *orr_library_load(OrrLibrary *library, const char *kind, const char *name,
                          OrrPlace asked_at, OrrDiags *diags);

/* A section of a document that is a NAME, an inline map, or a map with `base: NAME`: as one map.
 * Caller owns it; NULL with the reason in @diags. */
OrrNode *orr_library_expand(OrrLibrary *library, const char *kind, const OrrNode *section,
                            OrrDiags *diags);

/* A document file given by path, its `schema:` checked to be @kind/1 and its bases laid under
 * it. NULL: see @diags. */
OrrNode *orr_library_read_file(OrrLibrary *library, const char *kind, const char *path,
                               OrrDiags *diags);

/* Names of all documents of @kind, sorted, without repeats; a strv that the caller frees. */
char **orr_library_names(OrrLibrary *library, const char *kind);

/* The file that holds a document, or NULL; newly allocated. */
char *orr_library_path(OrrLibrary *library, const char *kind, const char *name);

/* One sentence for each document read so far that a user's folder holds in place of a shipped
 * one: char*. */
const GPtrArray *orr_library_shadows(const OrrLibrary *library);

/* The folder of the shipped library; owned by the library. */
const char *orr_library_shipped(OrrLibrary *library);

/* All of its folders, in the order of the search, the shipped one last; a strv that the caller
 * frees. */
char **orr_library_folders(OrrLibrary *library);

/* The folders before it, absolute, as ORRERY_PATH holds them; newly allocated. */
char *orr_library_search_path(const OrrLibrary *library);

G_END_DECLS

#endif
