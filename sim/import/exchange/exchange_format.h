/*
 * exchange_format.h - files of other simulators become documents of this one: a cluster, or a
 * scenario.
 *
 *   files --read as YAML or JSON--> trees --format's read--> a document, and what it leaves out
 *
 * A format is one file with one `const OrrExchangeFormat`; exchange_format.c has the array. It maps
 * what its files state; what they do not state comes from the user's answers or is an error that
 * names the option; what a document cannot say is a note, never dropped in silence.
 */
#pragma once

#include "sim/base/library.h"

/* What the user said; NULL: nothing. */
typedef struct {
  const char *device, *cluster, *choose, *name;
} OrrExchangeAnswers;

typedef struct {
  OrrLibrary *library;
  const OrrExchangeAnswers *answers;
  GPtrArray *trees; /* of OrrNode *: one per file, in the order given */
  GString *text;    /* the document */
  GPtrArray *notes; /* of char *: what was left out or assumed */
  OrrDiags *diags;  /* what is wrong with the files */
} OrrExchange;

typedef struct {
  const char *name;     /* "calculon" */
  const char *sentence; /* what it is, and what it becomes */
  /* Whether @tree is one of its files: cheap, and never right for another format's. */
  gboolean (*recognise)(const OrrNode *tree);
  /* Writes the document. Errors go to @exchange->diags. */
  void (*read)(OrrExchange *exchange);
} OrrExchangeFormat;

/* The format of @text; NULL: none. */
const OrrExchangeFormat *orr_exchange_format_of(const char *text, gsize length);

/* The document of the @files (at least one; NULL-terminated), and in @ret_notes (of char *, owned)
 * what it leaves out. Newly allocated. NULL with ORR_FAULT_DOCUMENT or ORR_FAULT_RESOURCE. */
char *orr_exchange_read(OrrLibrary *library, char *const *files, const OrrExchangeAnswers *answers,
                        GPtrArray **ret_notes, GError **error);

/* --- For formats --- */

void orr_exchange_note(OrrExchange *exchange, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The tree with the key @key; NULL: none. */
const OrrNode *orr_exchange_tree_with(const OrrExchange *exchange, const char *key);
/* The number at @key of @map. Absent: @fallback, or, where that is NAN, an error. Out of [@least,
 * @most], or no number: an error, and @fallback. */
double orr_exchange_number(OrrExchange *exchange, const OrrNode *map, const char *key, double least,
                           double most, double fallback);
/* "true", "True", "yes" or "1"; absent or another: FALSE. */
gboolean orr_exchange_flag(const OrrNode *map, const char *key);
/* Notes the keys of @map that @known (ends with NULL) lacks, as one line that begins with @what. */
void orr_exchange_note_unknown(OrrExchange *exchange, const OrrNode *map, const char *const *known,
                               const char *what);
/* @name with '-' in place of characters that a YAML name cannot contain. Newly allocated. */
char *orr_exchange_name(const char *name);
