/*
 * documents.h - each kind of document with the code that reads it: what check, list, describe and
 * schema walk.
 */
#ifndef ORR_DOCUMENTS_H
#define ORR_DOCUMENTS_H

#include "sim/base/field.h"
#include "sim/base/library.h"

G_BEGIN_DECLS

typedef struct {
  const char *kind; /* as in orr_document_kinds */
  const OrrFieldTable *table;
  /* After the fields are read: what single fields cannot check. NULL where there is nothing. */
  void (*settle)(void *data, OrrPlace place, OrrDiags *diags);
  /* One line of facts; newly allocated. */
  char *(*fact)(const void *data);
  /* What `orrery describe` prints above the resolved document; newly allocated, NULL: the fact. */
  char *(*describe)(const void *data, GError **error);
} OrrDocumentCode;

const OrrDocumentCode *orr_documents_find(const char *kind); /* NULL when unknown */

/* A struct of code->table, checked; free with orr_documents_free. NULL: see @diags. */
gpointer orr_documents_read(const OrrDocumentCode *code, OrrLibrary *library, const OrrNode *tree,
                            OrrDiags *diags);
void orr_documents_free(const OrrDocumentCode *code, gpointer data);

/* All that is wrong with the file at @path, of whatever kind it says it is. */
void orr_documents_check(OrrLibrary *library, const char *path, OrrDiags *diags);

G_END_DECLS

#endif
