/*
 * cli.h - the command line: one table of commands, one file a verb, and the only code that prints.
 *
 * Data goes to stdout, diagnostics and progress to stderr. Exit status 0: fine; 1: the simulation
 * could not finish, or a file could not be had; 2: the user's document or command line (fault.h).
 *
 * To add a verb: write sim/cli/verb_NAME.c with one `const OrrCommand`, add it to the array in
 * cli.c and to meson.build. Options are GOption tables whose values are statics of the verb's file:
 * a process parses one command line. Options that take text use G_OPTION_ARG_FILENAME, which takes
 * bytes as they are, whatever the locale.
 */
#ifndef ORR_CLI_H
#define ORR_CLI_H

#include "sim/base/library.h"

G_BEGIN_DECLS

typedef struct {
  const char *verb;
  const char *sentence;        /* what it does, for `orrery help` */
  const char *usage;           /* what follows the verb: "FILE [--json]" */
  const char *more;            /* paragraphs for `orrery help VERB`; may be NULL */
  const GOptionEntry *options; /* ends with a NULL name; may be NULL */
  /* @args: what is not an option, NULL-terminated. The exit status, or anything with @error set:
   * then the status is the error's. */
  int (*run)(OrrLibrary *library, char **args, GError **error);
} OrrCommand;

extern const OrrCommand orr_verb_calibrate, orr_verb_capacity, orr_verb_check, orr_verb_compare,
    orr_verb_cost, orr_verb_db, orr_verb_describe, orr_verb_import, orr_verb_list, orr_verb_plot,
    orr_verb_query, orr_verb_report, orr_verb_run, orr_verb_schema, orr_verb_sweep,
    orr_verb_validate;

/* Runs the command line; the exit status. */
int orr_cli_main(int argc, char **argv);

/* ORR_FAULT_USAGE unless there are @min to @max arguments. */
gboolean orr_cli_check_args(char **args, guint min, guint max, const char *what, GError **error);

/* ORR_FAULT_USAGE: "unknown WHAT 'WORD': did you mean 'X'? (known: ...)". Returns 2. */
int orr_cli_unknown(const char *what, const char *word, const char *const *known, GError **error);

const char *orr_cli_version(void);

G_END_DECLS

#endif
