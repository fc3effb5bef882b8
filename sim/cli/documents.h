/*
 * documents.h - each kind of document and the code that reads it: the table behind the verbs check,
 * list, describe and schema.
 */
#pragma once

#include "sim/base/field.h"
#include "sim/base/library.h"
#include "sim/base/node.h"
#include "sim/base/registry.h"
#include "sim/cli/cli.h"
#include "sim/import/launch/launch.h"
#include "topologies/cluster.h"

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

/* Adds every error in the file at @path, changed by @settings ("PATH=VALUE", ..., NULL; NULL:
 * none), to @diags; the file's `schema:` line names its kind. */
void orr_documents_check(OrrLibrary *library, const char *path, char **settings, OrrDiags *diags);

/* cluster_load.c: `orrery describe cluster NAME --collective OP`: the load that a collective puts
 * on the links of a cluster. */

/* Options of `orrery describe cluster`. */
typedef struct {
  char *collective; /* "all-to-all"; NULL: describe the cluster itself */
  char *algorithm;  /* NULL: the fastest one */
  char *size;       /* buffer; NULL: 1 GiB */
  int seed;         /* of the hash that routing ecmp uses */
  char **settings;  /* "routing=ecmp", ..., NULL */
  char *prices;     /* name or file; NULL: no prices */
} OrrClusterQuery;

/* Whether any of these options is set. */
gboolean orr_cluster_query_is_set(const OrrClusterQuery *query);

/* The load when all GPUs of the cluster take part, as text; newly allocated. NULL with @error. */
char *orr_cluster_query_answer(const OrrClusterQuery *query, const OrrCluster *cluster,
                               GError **error);

/* catalog.c: everything that has a name: documents of the library, entries of the registries,
 * views, plots. `orrery list KIND` prints one catalog, `orrery describe KIND NAME` one entry. */

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

/* from_launch.c: launch lines and configs on the command line, for `import launch` and `run
 * --from-launch`. */

/* The values of the options of ORR_FROM_LAUNCH_ENTRIES. */
extern OrrLaunchOptions orr_from_launch_asked;

#define ORR_FROM_LAUNCH_ENTRIES                                                                    \
  ORR_OPTION_TEXT("cluster", orr_from_launch_asked.cluster, "NAME",                                \
                  "The machine of a launch line: a cluster of the library"),                       \
      ORR_OPTION_INT64("gpus", orr_from_launch_asked.gpus,                                         \
                       "GPUs in all, where the launch line does not say"),                         \
      ORR_OPTION_INT64("nodes", orr_from_launch_asked.nodes,                                       \
                       "Nodes, where the launch line does not say"),                               \
      ORR_OPTION_TEXT("model", orr_from_launch_asked.model, "NAME",                                \
                      "The model, where the launch line does not name one of the library"),        \
      ORR_OPTION_TEXT("stack", orr_from_launch_asked.stack, "NAME",                                \
                      "The software and its version (default: the version that the launch line "   \
                      "names, or the newest)"),                                                    \
      ORR_OPTION_FLAG("skip-unknown", orr_from_launch_asked.skip_unknown,                          \
                      "A key that the program is not known to have is a warning, not an error"),   \
      ORR_OPTION_FLAG("strict", orr_from_launch_asked.strict,                                      \
                      "Ask for values that the input leaves open instead of assuming them"),       \
      ORR_OPTION_INT64("choose", orr_from_launch_asked.choice,                                     \
                       "Which of several launch lines or benchmarks")

/* Whether @setting sets a variable of a script (NAME=VALUE) rather than a key of a scenario, whose
 * names have small letters. */
gboolean orr_from_launch_is_variable(const char *setting);

/* The scenario of @files ("-": stdin; none: stdin) as YAML text that passes `check`, newly
 * allocated. Prints warnings to stderr, and appends them to @warnings (of char *, owned); with
 * @account, prints what became of every key. NULL with ORR_FAULT_USAGE, _DOCUMENT or
 * _RESOURCE. */
char *orr_from_launch_text(OrrLibrary *library, char **files, gboolean account, GPtrArray *warnings,
                           GError **error);
