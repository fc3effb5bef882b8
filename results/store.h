/*
 * store.h - the results database. Only results/ includes SQLite.
 *
 * One SQLite file, STRICT tables, WAL while it is written; application_id 0x4f525259 ("ORRY"),
 * user_version the schema version. Each kind of row is described by a field table: the store makes
 * its SQL table (columns: run_id INTEGER NOT NULL REFERENCES run(id), then the fields with '_' for
 * '-') the first time a row of it is added, and its metric_def rows (table_name, name, unit,
 * sentence). A run is written in one transaction: it is there whole or not at all.
 *
 * NULL is: a REAL that is not finite; of OPTIONAL fields a text that is NULL and a number outside
 * its own limits (a micro-batch of -1 in a field that is UNSIGNED). WORD is stored as its word,
 * BOOL as 0 or 1; only scalar fields can be columns. `param` keeps a value's text and, where it is
 * a number or a quantity, the number in its base unit.
 *
 * Errors: ORR_FAULT_RESOURCE for what cannot be opened or written, is not a database of ours
 * (foreign application_id or no SQLite file at all: it is never touched), is truncated or is of a
 * newer schema version. One of an older version is brought forward when it is opened for writing
 * (store_migrate.c), and is read as it is.
 */
#ifndef ORR_STORE_H
#define ORR_STORE_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct OrrStore OrrStore;

OrrStore *orr_store_open(const char *path, GError **error);      /* made where absent */
OrrStore *orr_store_open_read(const char *path, GError **error); /* read-only; must exist */
/* not there, or who made it was killed before its first commit */
gboolean orr_store_is_blank(const char *path);
void orr_store_free(OrrStore *store); /* an unfinished run is rolled back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrStore, orr_store_free)

/* How long an operation waits while another process has the database. ORR_FAULT_LOCKED after
 * @most_s. */
typedef struct {
  double notice_s; /* when @say is called, once a connection */
  double most_s;
  void (*say)(const char *path, double waited_s); /* may be NULL */
} OrrStorePatience;

/* of this process; NULL: 2 s, and nothing is said */
void orr_store_set_patience(const OrrStorePatience *patience);

/* From now on a run or a batch that cannot begin for the lock begins in a new database beside
 * this one instead, PATH.kept-N, which orr_store_merge takes: a result that cost hours is not
 * thrown away. The store stays there. */
void orr_store_keep_aside(OrrStore *store);
gboolean orr_store_is_aside(const OrrStore *store);
/* the file that is written; owned by the store */
const char *orr_store_path(const OrrStore *store);

typedef struct {
  const char *scenario; /* its name */
  const char *kind;     /* workload kind: "training" */
  const char *file;     /* where it was read from */
  const char *hash;     /* SHA-256 of @resolved */
  const char *resolved; /* the resolved scenario, YAML */
  const char *tool_version;
  const char *engine;   /* orr_engine_settings */
  const char *fidelity; /* "folded" or "full" */
  double wall_time_s;
  gint64 id; /* the run's number; 0: the next that is free and not reserved */
} OrrRunFacts;

/* Begins the transaction of one run. */
gboolean orr_store_begin_run(OrrStore *store, const OrrRunFacts *facts, gint64 *ret_run_id,
                             GError **error);
gboolean orr_store_add_param(OrrStore *store, const char *path, const char *text, GError **error);
gboolean orr_store_add_row(OrrStore *store, const OrrFieldTable *table, const void *row,
                           GError **error);
gboolean orr_store_end_run(OrrStore *store, double wall_time_s, GError **error); /* commits */
void orr_store_abandon_run(OrrStore *store);

/* Many runs in one transaction: what is between begin and end is there whole or not at all, but
 * a run that is abandoned is left out. Numbers of a table `sweep` (run_id, n_points) are
 * reserved: run_id to run_id + n_points. */
gboolean orr_store_begin_batch(OrrStore *store, GError **error);
gboolean orr_store_end_batch(OrrStore *store, GError **error);
void orr_store_abandon_batch(OrrStore *store);

/* Merging, within a batch, so that several databases are there whole or not at all: the runs of
 * the one at @path, which stays as it is. How numbers are mapped and what counts as the same:
 * store_merge.c. */
typedef struct {
  gint64 runs, points; /* added: runs (a sweep is one), points of sweeps */
  gint64 duplicates;   /* runs and points that were here, with the same rows: left out */
  gint64 differing;    /* runs whose hash was here, with other rows: added. Points: left out */
} OrrMergeFacts;
gboolean orr_store_merge(OrrStore *store, const char *path, OrrMergeFacts *ret_facts,
                         GError **error);

/* A table of answers: text cells (NULL: SQL NULL), column names. */
typedef struct {
  char **columns;      /* strv */
  gboolean *is_number; /* per column: every cell is a number */
  GPtrArray *rows;     /* of char ** with n_columns cells, each owned, may be NULL */
  guint n_columns;
} OrrAnswer;

void orr_answer_free(OrrAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrAnswer, orr_answer_free)

/* @sql_or_view: a shipped view's name, or one SQL statement (read-only; only
 * SELECT/WITH/VALUES/EXPLAIN/PRAGMA reads). @run_id: what views show; 0 is the newest run of the
 * kinds that the statement is about (views.c, "-- about:"). ORR_FAULT_USAGE passes SQLite's own
 * message with the statement. */
OrrAnswer *orr_store_query(OrrStore *store, const char *sql_or_view, gint64 run_id, GError **error);

/* A value for a named parameter of a question: {"other", "3"} for :other. A text that is a
 * number is bound as one. */
typedef struct {
  const char *name, *value;
} OrrBinding;

/* The same with values for what else it takes. A view's parameter that is given none is NULL,
 * and the view says what that means ("-- takes: other (...)"); one of a statement of the user's
 * is refused, as is a value nobody takes. */
OrrAnswer *orr_store_ask(OrrStore *store, const char *sql_or_view, gint64 run_id,
                         const OrrBinding *bindings, guint n_bindings, GError **error);

/* Care. Tables with their row counts, by name; unused space given back (the store was opened for
 * writing); every table as FOLDER/TABLE.csv, the folder made where there is none. */
OrrAnswer *orr_store_tables(OrrStore *store, GError **error);
gboolean orr_store_vacuum(OrrStore *store, GError **error);
/* with every row that refers to it */
gboolean orr_store_remove_run(OrrStore *store, gint64 run_id, GError **error);
gboolean orr_store_export(OrrStore *store, const char *folder, GError **error);

/* Shipped views: results/views/NAME.sql, one question each: a first comment line is the
 * question, then what it reads ("-- reads: table(column, ...); ..."), a comment line per column
 * ("-- column: sentence"), then one SELECT that may use :run. What a view reads and a database
 * does not have counts as empty: a view never fails for want of a table. */
typedef struct {
  const char *name;
  const char *question;
  const char *sql; /* the whole file */
} OrrView;

const OrrView *orr_views(guint *ret_n); /* alphabetical; static (compiled in by meson) */
const OrrView *orr_view_find(const char *name);

/* Output of an answer; newly allocated text. */
char *orr_answer_table(const OrrAnswer *answer); /* aligned columns for people */
char *orr_answer_csv(const OrrAnswer *answer);   /* RFC 4180's quoting, lines end in LF */
/* a table of GitHub's Markdown; numbers to the right */
char *orr_answer_markdown(const OrrAnswer *answer);
char *orr_answer_json(const OrrAnswer *answer); /* array of objects */

G_END_DECLS

#endif
