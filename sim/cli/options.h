/*
 * options.h - the options that several verbs share, and short forms of GOption's entries.
 *
 * A process parses only one command line, so the shared options have one place for their values,
 * orr_options. A verb takes the ones that its table lists:
 *
 *   static const GOptionEntry options[] = {
 *       ORR_OPTION_SET("cluster.nodes=64"),
 *       ORR_OPTION_DB("the run"),
 *       ORR_OPTION_TEXT("trace", trace, "FILE", "Write the time line for Perfetto"),
 *       {NULL},
 *   };
 */
#pragma once

#include "results/store.h"
#include "sim/base/library.h"

/* What the command line says; NULL, 0 or FALSE: nothing. */
typedef struct {
  char **settings;              /* --set */
  char *database, *output;      /* --db and -o */
  gint n_jobs;                  /* -j */
  gboolean json, csv, markdown; /* --json, --csv, --markdown */
} OrrOptions;
extern OrrOptions orr_options;

/* @letter_: the short name or 0; @value_: what the help calls the value. A text takes any bytes in
 * any locale. */
#define ORR_OPTION(letter_, kind_, name_, at_, value_, sentence_)                                  \
  { name_, letter_, 0, G_OPTION_ARG_##kind_, &(at_), sentence_, value_ }
#define ORR_OPTION_TEXT(name_, at_, value_, sentence_)                                             \
  ORR_OPTION(0, FILENAME, name_, at_, value_, sentence_)
#define ORR_OPTION_TEXTS(name_, at_, value_, sentence_)                                            \
  ORR_OPTION(0, FILENAME_ARRAY, name_, at_, value_, sentence_)
#define ORR_OPTION_INT(name_, at_, sentence_) ORR_OPTION(0, INT, name_, at_, "N", sentence_)
#define ORR_OPTION_INT64(name_, at_, sentence_) ORR_OPTION(0, INT64, name_, at_, "N", sentence_)
#define ORR_OPTION_REAL(name_, at_, sentence_) ORR_OPTION(0, DOUBLE, name_, at_, "X", sentence_)
#define ORR_OPTION_FLAG(name_, at_, sentence_) ORR_OPTION(0, NONE, name_, at_, NULL, sentence_)

/* The options whose values orr_options holds. */
#define ORR_OPTION_SETS(value_, sentence_)                                                         \
  ORR_OPTION_TEXTS("set", orr_options.settings, value_, sentence_)
#define ORR_OPTION_SET(example_)                                                                   \
  ORR_OPTION_SETS("PATH=VALUE", "Change the scenario, e.g. " example_ "; may be repeated")
#define ORR_OPTION_DATABASE(sentence_)                                                             \
  ORR_OPTION_TEXT("db", orr_options.database, "FILE", sentence_)
#define ORR_OPTION_DB(what_)                                                                       \
  ORR_OPTION_DATABASE("Store " what_ " in FILE (default: orrery.db); 'none' stores nothing")
#define ORR_OPTION_OUTPUT(sentence_)                                                               \
  ORR_OPTION('o', FILENAME, "output", orr_options.output, "FILE", sentence_)
#define ORR_OPTION_JOBS(sentence_) ORR_OPTION('j', INT, "jobs", orr_options.n_jobs, "N", sentence_)
#define ORR_OPTION_JSON(what_) ORR_OPTION_FLAG("json", orr_options.json, "Print " what_)
#define ORR_OPTION_CSV(sentence_) ORR_OPTION_FLAG("csv", orr_options.csv, sentence_)
#define ORR_OPTION_MARKDOWN(what_) ORR_OPTION_FLAG("markdown", orr_options.markdown, "Print " what_)

/* The database that --db names, by default orrery.db; NULL: 'none', so that nothing is stored. */
const char *orr_options_database(void);

/* Opens the results database @path, or, while others lock it, one next to it; *@ret_store
 * stays NULL where @path is NULL. FALSE with an error where it cannot be opened. */
gboolean orr_options_open(const char *path, OrrStore **ret_store, GError **error);

/* FALSE with ORR_FAULT_USAGE unless -j is 0 (one per core) or more. */
gboolean orr_options_check_jobs(GError **error);

/* The unread scenario @file, changed by --set. NULL with @error, or with errors in @diags. */
OrrNode *orr_options_scenario(OrrLibrary *library, const char *file, OrrDiags *diags,
                              GError **error);

/* @answer as --csv, --json or --markdown want it, else as an aligned table. Newly allocated. */
char *orr_options_answer(const OrrAnswer *answer);

/* FALSE with ORR_FAULT_USAGE where more than one of --csv, --json and --markdown is given. */
gboolean orr_options_check_form(GError **error);
