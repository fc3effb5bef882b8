/*
 * documents.h - each kind of document and the code that reads it: the table behind the verbs check,
 * list, describe and schema.
 */
#ifndef ORR_DOCUMENTS_H
#define ORR_DOCUMENTS_H

#include "sim/base/field.h"
#include "sim/base/library.h"

G_BEGIN_DECLS

typedef struct {
  const char *kind; /* as in orr_document_kinds */
  const OrrFieldTable *table;
  /* Checks that involve several fields; runs after the fields are read. May be NULL. */
  void (*settle)(void *data, OrrPlace place, OrrDiags *diags);
  /* One line of facts; newly allocated. */
  char *(*fact)(const void *data);
  /* The text that `orrery describe` prints above the resolved document; newly allocated. NULL:
   * describe prints the fact. */
  char *(*describe)(const void *data, GError **error);
} OrrDocumentCode;

const OrrDocumentCode *orr_documents_find(const char *kind); /* NULL when unknown */

/* Reads @tree into a struct of code->table and checks it; free with orr_documents_free. NULL on
 * errors, which are in @diags. */
gpointer orr_documents_read(const OrrDocumentCode *code, OrrLibrary *library, const OrrNode *tree,
                            OrrDiags *diags);
void orr_documents_free(const OrrDocumentCode *code, gpointer data);

/* Adds every error in the file at @path to @diags; the file's `schema:` line names its kind. */
void orr_documents_check(OrrLibrary *library, const char *path, OrrDiags *diags);

G_END_DECLS

#endif
