/*
 * cli.h - the command line: a table of commands, one file per verb. Only sim/cli prints.
 *
 * Data goes to stdout, diagnostics and progress to stderr. Exit status 0: success; 1: the
 * simulation could not finish, or a file could not be read or written; 2: an error in the user's
 * document or command line (fault.h).
 *
 * To add a verb: write sim/cli/verb_NAME.c with one `const OrrCommand`; add it to the declarations
 * below, to the array in cli.c and to meson.build. Most new questions are a part of a verb. Options
 * are a table (options.c, below); values that only one verb has are static variables of its file: a
 * process parses only one command line.
 */
#pragma once

#include "results/store.h"
#include "sim/base/field.h"
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
int orr_cli_run(char **argv, GError **error);

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

/* show.c: printing for the verbs: errors, diagnostics, JSON, wrapped paragraphs, numbers. */

/* Prints "orrery: MESSAGE" to stderr. */
void orr_show_error(const GError *error);

/* The same for a problem that is not a GError. */
void orr_show_problem(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Prints the first hundred diagnostics to stderr, and how many more there are. */
void orr_show_diags(const OrrDiags *diags);

/* The same; appends all warnings to @warnings (of char *, owned), "FILE:LINE:COLUMN: MESSAGE": an
 * answer has them, too. */
void orr_show_diags_kept(const OrrDiags *diags, GPtrArray *warnings);

/* Ends a command: prints @error and returns the exit status. Guarantees that stderr holds a reason
 * (an error, a document's errors or a problem) whenever the status is not 0. @what: the verb. */
int orr_show_end(const char *what, int status, const GError *error);

/* Writes @text, the answer of a command, to the file @output, or to stdout where that is NULL or
 * cannot be written: FALSE then, with ORR_FAULT_RESOURCE. */
gboolean orr_show_document(const char *text, const char *output, GError **error);

/* Prints "NAME  SENTENCE" to stdout; a NULL sentence is left out. */
void orr_show_entry(const char *name, gsize width, const char *sentence);

/* The remark of an answer whose scenario names no release of its software, so that @stack was
 * taken: "release assumed: vllm-0.21". Newly allocated. */
char *orr_show_assumed(const char *stack);

/* Remarks of an answer about itself (of char *): a line each, after @label. */
void orr_show_warnings(const char *label, const GPtrArray *warnings);

/* A fraction in percent: "44.9 %"; with a sign: "+2.3 %". Newly allocated. */
char *orr_show_percent(double fraction);
char *orr_show_signed_percent(double fraction);

/* 12345678 as "12,345,678". Newly allocated. */
char *orr_show_count(gint64 count);

/* Prints @text to stdout, wrapped at 100 columns and indented by @indent; the first line continues
 * at @column of a line that is already begun. A newline in @text ends a paragraph. */
void orr_show_wrapped(const char *text, guint indent, guint column);

/* options.c: the options that several verbs share, and short forms of GOption's entries.
 *
 * A process parses only one command line, so the shared options have one place for their values,
 * orr_options. A verb takes the ones that its table lists:
 *
 *   static const GOptionEntry options[] = {
 *       ORR_OPTION_SET("cluster.nodes=64"),
 *       ORR_OPTION_DB("the run"),
 *       ORR_OPTION_TEXT("trace", trace, "FILE", "Write the time line for Perfetto"),
 *       {NULL},
 *   }; */

/* What the command line says; NULL, 0 or FALSE: nothing. */
typedef struct {
  char **settings;              /* --set */
  char *database, *output;      /* --db and -o */
  gint n_jobs;                  /* -j */
  gboolean has_library;         /* --library */
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

/* terminal.c: makes printed text harmless: stdout and stderr pass through one filter.
 *
 * Documents and databases can come from anyone, and a terminal obeys control characters in their
 * texts: ESC sequences recolour, move the cursor, set the title, and on some terminals type keys.
 * The filter sits below printf, so that no verb can forget it. It passes printable UTF-8, tabs,
 * line ends, and CR before LF. Other characters that a terminal obeys, or that reorder text, are
 * printed as \u001B, which is also how JSON escapes them:
 *
 *   C0 and DEL (U+0000 to U+001F, U+007F), C1 (U+0080 to U+009F, also as lone bytes), and the marks
 *   that change the direction of text (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069)
 *
 * Pipes and files get the same text, so that it is also safe in a pager or `cat`. */

/* Starts filtering stdout and stderr. Call once, before printing anything. */
void orr_terminal_begin(void);

/* A verb that prints its answer and then stores it calls this before it prints: a reader that
 * leaves early (`| head -1`) then ends the output, not the verb. */
void orr_terminal_outlive_reader(void);

/* The end of a command: 0, or the errno of the first write to stdout that failed. Where that is the
 * reader that left, ends the process by SIGPIPE, as without orr_terminal_outlive_reader. */
int orr_terminal_end(void);

/* Redraws the progress line on stderr; NULL clears it. These are the only control sequences that
 * the program prints. */
void orr_terminal_line(const char *text);

/* patience.c: a database that another process has locked: how long a command waits for it, what
 * the command prints meanwhile, and where it stores its result when the wait ends. */

/* Makes every store print a notice after 2 s and wait for one minute, or for the time in
 * ORRERY_LOCK_WAIT ("10 min"). FALSE with ORR_FAULT_USAGE where that is not a time. */
gboolean orr_patience_set(GError **error);

/* Ends a command whose result had to go into another database, @aside: prints the command that
 * merges it into @database and returns exit status 1. @aside NULL: the result is in @database;
 * returns 0. */
int orr_patience_end(const char *database, const char *aside);

/* The same for a store that was opened for @database; @store may be NULL. */
int orr_patience_end_store(const char *database, const OrrStore *store);

/* progress.c: a progress line on stderr: printed only on a terminal, and only when the work takes
 * longer than one second. */

typedef struct OrrProgress OrrProgress;

/* @what: the line's first word, "simulating". With @ticking a thread updates the elapsed seconds
 * while the caller cannot. */
OrrProgress *orr_progress_new(const char *what, gboolean ticking);
void orr_progress_update(OrrProgress *progress, guint done, guint total);
void orr_progress_free(OrrProgress *progress); /* erases the line */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProgress, orr_progress_free)
