/*
 * library.h - where documents live, and how a name becomes a tree.
 *
 * A library is a list of folders, searched in this order: the folders given by --library, the
 * folders in ORRERY_PATH (colon-separated), the folder shipped with Orrery (the source tree;
 * ../share/orrery from the program, or PREFIX/share/orrery). In each folder the document NAME of
 * kind KIND is SUBFOLDER/NAME.yaml (for a device, topologies/devices/NAME.yaml), or
 * PLURAL/NAME.yaml (devices/NAME.yaml), so that a user's own library can be flat.
 *
 * A model is also found by its aliases (library_alias.h).
 *
 * Every document begins with `schema: KIND/1`. With `base: NAME`, its keys override the keys of
 * another document of the same kind; a cycle of bases is an error that shows the cycle. With `base:
 * shipped:NAME` only Orrery's own folder is searched, so that a document of one's own can carry the
 * name of the one that it changes: every scenario that names it then gets the change.
 */
#pragma once

#include "sim/base/node.h"

typedef struct OrrLibrary OrrLibrary;

/* Before a name: the document that Orrery ships, whatever a user's folder has of that name. */
#define ORR_LIBRARY_SHIPPED "shipped:"

typedef struct {
  const char *kind;      /* "device" */
  const char *plural;    /* "devices": what `orrery list` takes */
  const char *subfolder; /* "topologies/devices" */
  gboolean takes_bounds; /* its numbers may be {value, low, high} (uncertain.h) */
} OrrDocumentKind;

extern const OrrDocumentKind orr_document_kinds[]; /* ends with a NULL kind */
const OrrDocumentKind *orr_document_kind_find(const char *kind_or_plural); /* NULL when unknown */

/* @folders: NULL-terminated, searched first (from --library). ORRERY_PATH and the shipped
 * library follow. */
OrrLibrary *orr_library_new(const char *const *folders);
void orr_library_free(OrrLibrary *library);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLibrary, orr_library_free)

/* Wherever a name is expected, a text that ends in .yaml names a file instead.
 * It is relative to the folder of the document that holds it (`model: glm45.yaml`), or to the
 * working directory where it comes from the command line. */

/* The document of that kind and name, merged with its bases; `base` is removed. The caller owns
 * the tree. NULL with the reason in @diags, at @asked_at, the place that holds the name; the
 * message offers the nearest known name. */
OrrNode *orr_library_load(OrrLibrary *library, const char *kind, const char *name,
                          OrrPlace asked_at, OrrDiags *diags);

/* The same document without a copy: the library owns it, for as long as it lives. */
const OrrNode *orr_library_borrow(OrrLibrary *library, const char *kind, const char *name,
                                  OrrPlace asked_at, OrrDiags *diags);

/* Turns a section that is a NAME, an inline map, or a map with `base: NAME` into one map. The
 * caller owns it. NULL with the reason in @diags. */
OrrNode *orr_library_expand(OrrLibrary *library, const char *kind, const OrrNode *section,
                            OrrDiags *diags);

/* The document in the file @path, merged with its bases; its `schema:` must be @kind/1. NULL with
 * the reason in @diags. */
OrrNode *orr_library_read_file(OrrLibrary *library, const char *kind, const char *path,
                               OrrDiags *diags);

/* Names of all documents of @kind, sorted, without repeats; a strv that the caller frees. */
char **orr_library_names(OrrLibrary *library, const char *kind);

/* The file that holds a document, or NULL; @name can be a path. Newly allocated. */
char *orr_library_path(OrrLibrary *library, const char *kind, const char *name);

/* The name of the document that @name, which is not one itself, is an alias of, or NULL; it lives
 * as long as the library. @ret_words, which may be NULL: the words that come with the alias, "" for
 * none. */
const char *orr_library_alias(OrrLibrary *library, const char *kind, const char *name,
                              const char **ret_words);

/* An object that a caller made from documents and wants to find again: lives as long as the
 * library, which frees it with @free_value. @key must say what it was made of; NULL: nothing is
 * kept under it. */
gpointer orr_library_kept(OrrLibrary *library, const char *key);
void orr_library_keep(OrrLibrary *library, const char *key, gpointer value,
                      GDestroyNotify free_value);

/* One sentence (char*) for each document read so far in which a user's folder overrides a shipped
 * document. */
const GPtrArray *orr_library_shadows(const OrrLibrary *library);

/* Where the shipped library is not found: a sentence with the folders that were searched, newly
 * allocated; else NULL. */
char *orr_library_missing(OrrLibrary *library);

/* The folder of the shipped library; owned by the library. */
const char *orr_library_shipped(OrrLibrary *library);

/* All folders in search order, the shipped one last; a strv that the caller frees. */
char **orr_library_folders(OrrLibrary *library);

/* All folders but the shipped one, absolute, in the format of ORRERY_PATH; newly allocated. */
char *orr_library_search_path(const OrrLibrary *library);
