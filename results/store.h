/*
 * store.h - the results database. Only results/ includes SQLite.
 *
 * A database is one SQLite file with STRICT tables, in WAL mode while it is written; application_id
 * is 0x4f525259 ("ORRY"), user_version the schema version. A field table describes each kind of
 * row. When the first row of a kind is added, the store creates its SQL table (run_id INTEGER NOT
 * NULL REFERENCES run(id), then the fields with '_' for '-') and its rows of metric_def
 * (table_name, name, unit, sentence). A run is written in one transaction: it is stored completely
 * or not at all.
 *
 *   run 1 ---< param            path, text, number in the base unit
 *         ---< training_result  one row; columns as in its field table
 *         ---< span, lane, collective, ...
 *
 * NULL stands for a REAL that is not finite and, in OPTIONAL fields, for a text that is NULL and a
 * number outside its own limits (a micro-batch of -1 in an UNSIGNED field). WORD is stored as its
 * word, BOOL as 0 or 1. Only scalar fields can be columns.
 *
 * Errors: ORR_FAULT_RESOURCE where a file cannot be opened or written, is not a results database (a
 * foreign application_id, or not SQLite: it is never modified), is truncated, or has a newer schema
 * version. An older version is migrated when it is opened for writing (store_migrate.c), and read
 * unchanged.
 */
#pragma once

#include "sim/base/field.h"

typedef struct OrrStore OrrStore;

OrrStore *orr_store_open(const char *path, GError **error);      /* created where absent */
OrrStore *orr_store_open_read(const char *path, GError **error); /* read-only; must exist */
/* TRUE where the file is absent, or its creator was killed before its first commit. */
gboolean orr_store_is_blank(const char *path);
void orr_store_free(OrrStore *store); /* an unfinished run is rolled back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrStore, orr_store_free)

/* How long an operation waits while another process holds the database; after @most_s it fails with
 * ORR_FAULT_LOCKED. */
typedef struct {
  double notice_s; /* when @say is called, once per connection */
  double most_s;
  void (*say)(const char *path, double waited_s); /* may be NULL */
} OrrStorePatience;

/* Sets the patience of this process. NULL: 2 s, silently. */
void orr_store_set_patience(const OrrStorePatience *patience);

/* From now on, a run or batch that cannot begin because of a lock begins in a new database next to
 * this one, PATH.kept-N, and the store stays there. So a result of hours is not lost;
 * orr_store_merge adds it later. */
void orr_store_keep_aside(OrrStore *store);
gboolean orr_store_is_aside(const OrrStore *store);
/* The file being written; owned by the store. */
const char *orr_store_path(const OrrStore *store);

typedef struct {
  const char *scenario; /* its name */
  const char *kind;     /* workload kind: "training" */
  const char *file;     /* the scenario's file */
  const char *hash;     /* SHA-256 of @resolved */
  const char *resolved; /* the resolved scenario, YAML */
  const char *tool_version;
  const char *engine;   /* orr_engine_settings */
  const char *fidelity; /* "folded" or "full" */
  double wall_time_s;
  gint64 id; /* the run's number; 0: the next free number that is not reserved */
} OrrRunFacts;

/* Begins the transaction of one run. */
gboolean orr_store_begin_run(OrrStore *store, const OrrRunFacts *facts, gint64 *ret_run_id,
                             GError **error);
gboolean orr_store_add_param(OrrStore *store, const char *path, const char *text, GError **error);
/* @rows: @n_rows structs, one after the other. Faster than row by row. */
gboolean orr_store_add_rows(OrrStore *store, const OrrFieldTable *table, const void *rows,
                            guint n_rows, GError **error);
#define orr_store_add_row(store, table, row, error) orr_store_add_rows(store, table, row, 1, error)
gboolean orr_store_end_run(OrrStore *store, double wall_time_s, GError **error); /* commits */
void orr_store_abandon_run(OrrStore *store);

/* Many runs in one transaction: all runs between begin and end are stored or none, except
 * abandoned runs. A row of the table `sweep` (run_id, n_points) reserves the numbers run_id to
 * run_id + n_points. */
gboolean orr_store_begin_batch(OrrStore *store, GError **error);
gboolean orr_store_end_batch(OrrStore *store, GError **error);
void orr_store_abandon_batch(OrrStore *store);

/* Adds rows to a stored run, within a batch: orr_store_add_row until orr_store_end_again. */
gboolean orr_store_begin_again(OrrStore *store, gint64 run_id, GError **error);
gboolean orr_store_end_again(OrrStore *store, GError **error);
/* Removes the rows of @table of the runs @from to @to, except the runs in @kept (of
 * gint64; NULL: none). */
gboolean orr_store_remove_rows(OrrStore *store, const OrrFieldTable *table, gint64 from, gint64 to,
                               const GArray *kept, GError **error);

/* Adds the runs of the database at @path, which is not changed. Called within a batch, so that
 * several databases are merged completely or not at all. store_merge.c explains how numbers are
 * mapped and which runs count as equal. */
typedef struct {
  gint64 runs, points; /* added: runs (a sweep is one), points of sweeps */
  gint64 duplicates;   /* runs and points that exist here with the same rows: skipped */
  gint64 differing; /* runs whose hash exists here with other rows: added; such points: skipped */
} OrrMergeFacts;
gboolean orr_store_merge(OrrStore *store, const char *path, OrrMergeFacts *ret_facts,
                         GError **error);

/* The rows of a query: text cells (NULL for SQL NULL), and column names. */
typedef struct {
  char **columns;      /* strv */
  gboolean *is_number; /* per column: every cell is a number */
  GPtrArray *rows;     /* of char ** with n_columns cells; a cell may be NULL */
  guint n_columns;
} OrrAnswer;

/* An answer made by hand, without rows: @columns ends with NULL; @is_number has one for each. */
OrrAnswer *orr_answer_new(const char *const *columns, const gboolean *is_number);
/* Adds a row: copies of the texts of @cells, one per column; NULL: SQL's NULL. */
void orr_answer_add(OrrAnswer *answer, char *const *cells);
void orr_answer_free(OrrAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrAnswer, orr_answer_free)

/* @sql_or_view: the name of a shipped view, or one SQL statement that only reads
 * (SELECT/WITH/VALUES/EXPLAIN/PRAGMA). @run_id: the run to query; 0 is the newest run of the kinds
 * that the statement is about (views.c, "-- about:"). ORR_FAULT_USAGE passes on SQLite's message
 * with the statement. */
OrrAnswer *orr_store_query(OrrStore *store, const char *sql_or_view, gint64 run_id, GError **error);

/* A value for a named parameter of a query: {"other", "3"} for :other. A text that is a number is
 * bound as a number. */
typedef struct {
  const char *name, *value;
} OrrBinding;

/* The same with values for named parameters. A view's parameter without a value is NULL, whose
 * meaning the view states ("-- takes: other (...)"). In a user's statement a parameter without a
 * value is an error; so is a value without a parameter. */
OrrAnswer *orr_store_ask(OrrStore *store, const char *sql_or_view, gint64 run_id,
                         const OrrBinding *bindings, guint n_bindings, GError **error);

/* Maintenance: lists tables with their row counts, by name; returns unused space to the file
 * system (the store must be open for writing); removes a run; writes every table to
 * FOLDER/TABLE.csv, creating the folder. */
OrrAnswer *orr_store_tables(OrrStore *store, GError **error);
gboolean orr_store_vacuum(OrrStore *store, GError **error);
/* Removes the run with every row that refers to it. */
gboolean orr_store_remove_run(OrrStore *store, gint64 run_id, GError **error);
gboolean orr_store_export(OrrStore *store, const char *folder, GError **error);

/* Shipped views: results/views/NAME.sql, one question each: a first comment line is the question,
 * then the tables it reads ("-- reads: table(column, ...); ..."), a comment line per column ("--
 * column: sentence"), and one SELECT that can use :run. A missing table counts as empty, so a view
 * never fails for lack of a table. */
typedef struct {
  const char *name;
  const char *question;
  const char *sql; /* the whole file */
} OrrView;

/* Views in the database itself, over all runs, for any client of SQLite; @sql has no comment lines
 * on columns. Static. */
const OrrView *orr_store_views(guint *ret_n);

const OrrView *orr_views(guint *ret_n); /* alphabetical; static (compiled in by meson) */
const OrrView *orr_view_find(const char *name);
/* Which runs have rows for a view, as its head says ("training runs"); newly allocated. */
char *orr_view_rows_from(const OrrView *view);

/* The points of a sweep as a wide table (store_points.c). */
typedef enum { ORR_POINTS_FACT, ORR_POINTS_AXIS, ORR_POINTS_RESULT } OrrPointsKind;
typedef struct {
  OrrPointsKind kind;
  char *name;   /* of the wide table's column */
  char *table;  /* where it comes from: sweep_point, param or NAME_result */
  char *source; /* its column there; an axis: its path */
} OrrPointsColumn;

/* The columns of the sweep's points, of OrrPointsColumn *: facts, axes, results. None where the
 * database has no sweep of that number. */
GPtrArray *orr_store_points_columns(OrrStore *store, gint64 sweep, GError **error);
/* The SELECT of these columns, or of those where @wanted is TRUE; newly allocated. */
char *orr_store_points_select(const GPtrArray *columns, gint64 sweep, const gboolean *wanted);
/* Makes the view points_S in the database, for any client of SQLite: again where it exists. */
gboolean orr_store_points_view(OrrStore *store, gint64 sweep, GError **error);

/* Formats an answer; newly allocated text. */
char *orr_answer_table(const OrrAnswer *answer); /* aligned columns for people */
char *orr_answer_csv(const OrrAnswer *answer);   /* RFC 4180's quoting, lines end in LF */
/* a table in GitHub's Markdown, with numbers aligned right */
char *orr_answer_markdown(const OrrAnswer *answer);
char *orr_answer_json(const OrrAnswer *answer); /* array of objects */
