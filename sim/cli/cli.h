/*
 * cli.h - the command line: a table of commands, one file per verb. Only sim/cli prints.
 *
 * Data goes to stdout, diagnostics and progress to stderr. Exit status 0: success; 1: the
 * simulation could not finish, or a file could not be read or written; 2: an error in the user's
 * document or command line (fault.h).
 *
 * To add a verb: write sim/cli/verb_NAME.c with one `const OrrCommand`; add it to the declarations
 * below, to the array in cli.c and to meson.build. Most new questions are a part of a verb. Options
 * are a table of options.h; values that only one verb has are static variables of its file: a
 * process parses only one command line.
 */
#pragma once

#include "sim/base/library.h"

typedef struct OrrCommand OrrCommand;
struct OrrCommand {
  const char *verb;
  const char *group;           /* its heading in `orrery help`; NULL: a part */
  const char *sentence;        /* what it does, for `orrery help` */
  const char *usage;           /* what follows the verb: "FILE [--json]" */
  const char *more;            /* paragraphs for `orrery help VERB`, one a line; may be NULL */
  const GOptionEntry *options; /* ends with a NULL name; may be NULL */
  /* Runs the verb. @args: the arguments that are not options, NULL-terminated. Returns the exit
   * status; when @error is set, the error's own status counts instead. */
  int (*run)(OrrLibrary *library, char **args, GError **error);
  /* A verb of several parts, each a command with options of its own: "format", and its parts,
   * NULL-terminated; NULL: no parts. A part's `verb` is the first argument ("plan gpus") or an
   * option ("compare --trace"). Without a @run of its own the verb needs a part. */
  const char *part;
  const OrrCommand *const *parts;
  const char *also_option; /* a part: a second option that chooses it; may be NULL */
  gboolean has_late_parts; /* with a @run: a part's word may follow options, too */
};

extern const OrrCommand orr_verb_calibrate, orr_verb_check, orr_verb_compare, orr_verb_db,
    orr_verb_describe, orr_verb_import, orr_verb_list, orr_verb_new, orr_verb_plan, orr_verb_plot,
    orr_verb_query, orr_verb_report, orr_verb_run, orr_verb_sweep, orr_verb_validate;

/* The parts of calibrate, compare, db and describe. */
extern const OrrCommand orr_verb_calibrate_cost, orr_verb_calibrate_stack, orr_verb_compare_trace,
    orr_verb_db_log, orr_verb_describe_schema;

/* The formats of `orrery import` (verb_import.h). */
extern const OrrCommand orr_verb_import_bench, orr_verb_import_exchange, orr_verb_import_flows,
    orr_verb_import_huggingface, orr_verb_import_launch, orr_verb_import_measured,
    orr_verb_import_nccl_tests, orr_verb_import_nsys, orr_verb_import_topology,
    orr_verb_import_trace;

/* The questions of `orrery plan` (verb_plan.h). */
extern const OrrCommand orr_verb_plan_campaign, orr_verb_plan_gpus, orr_verb_plan_nccl,
    orr_verb_plan_rate, orr_verb_plan_scaling, orr_verb_plan_serving, orr_verb_plan_training;

/* Runs the command line and returns the exit status. */
int orr_cli_main(int argc, char **argv);

/* Fails with ORR_FAULT_USAGE unless there are @min to @max arguments. @what: the sentence to
 * print, e.g. "check takes files". */
gboolean orr_cli_check_args(char **args, guint min, guint max, const char *what, GError **error);

/* Sets ORR_FAULT_USAGE: "unknown WHAT 'WORD': did you mean 'X'? (known: ...)". Returns 2. */
int orr_cli_unknown(const char *what, const char *word, const char *const *known, GError **error);

const char *orr_cli_version(void);

/* --- Made of the table of commands (manual.c, manual_completion.c) --- */

/* The manual page orrery(1): every verb with its options, in roff (man(7)). Newly allocated. */
char *orr_manual_page(const OrrCommand *const *commands, gsize n_commands);

/* The completion script of a shell, "bash", "fish" or "zsh": completes verbs, options and files,
 * and the names of documents, views and plots where a verb takes one. Newly allocated; NULL with
 * ORR_FAULT_USAGE: another shell. */
char *orr_manual_completion(const char *shell, const OrrCommand *const *commands, gsize n_commands,
                            GError **error);
