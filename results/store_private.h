/*
 * store_private.h - what the store_*.c files share. No other file includes it, so that SQLite stays
 * within results/.
 */
#pragma once

#include <sqlite3.h>

#include "results/store.h"
#include "sim/base/ground.h"

#define ORR_STORE_APPLICATION_ID 0x4f525259 /* "ORRY" */
#define ORR_STORE_VERSION 2
#define ORR_STORE_ORIGIN_SENTENCE                                                                  \
  "The file and the number that the run was merged from; NULL: it was stored here."

struct OrrStore {
  sqlite3 *db;
  char *path; /* as the caller wrote it, for messages */
  gboolean is_writer;
  gboolean keeps_aside, is_aside;
  gint64 locked_us; /* when the current wait for a lock began */
  gboolean has_said;
  gint64 run_id; /* the run being written; 0: none */
  gboolean in_batch;
  gboolean has_new_tables; /* created or widened since the views were made (store_views.c) */
  sqlite3_stmt *param;     /* INSERT INTO param; NULL before its first use */
  sqlite3_stmt *run_insert, *run_update;
  GHashTable *inserts;    /* OrrFieldTable * -> sqlite3_stmt *, owned */
  gboolean is_authorized; /* SQLite consulted the authorizer for the statement being prepared */
  /* the table of the last row, and its statement: rows come in runs of one table */
  const OrrFieldTable *last_table;
  sqlite3_stmt *last_insert;
};

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sqlite3_stmt, sqlite3_finalize)

/* Make @store wait for locks as long as the patience of this process allows; or at most 2 s,
 * silently (store_lock.c). */
void orr_store_wait(OrrStore *store);
void orr_store_wait_briefly(OrrStore *store);

/* FALSE with ORR_FAULT_LOCKED: the lock outlasted the patience. */
gboolean orr_store_fail_locked(const OrrStore *store, GError **error);

/* Closes the connection and its prepared statements. */
void orr_store_disconnect(OrrStore *store);

/* Begins a transaction with @sql. Where a lock outlasts the patience and the store may, the
 * transaction begins in a new database next to this one. */
gboolean orr_store_begin(OrrStore *store, const char *sql, GError **error);

/* FALSE with the connection's last error, prefixed by the file and by @doing. */
gboolean orr_store_fail(const OrrStore *store, const char *doing, GError **error);

/* Runs @sql: one or more statements without rows. */
gboolean orr_store_exec(const OrrStore *store, const char *sql, GError **error);

/* The one number that @sql returns. */
gboolean orr_store_ask_number(const OrrStore *store, const char *sql, gint64 *ret_number,
                              GError **error);

/* The next run's number that is neither taken nor reserved by a sweep. */
gboolean orr_store_next_run(const OrrStore *store, gint64 *ret_id, GError **error);

/* Makes the SQL functions of the view `sensitivity` (store_effects.c). */
gboolean orr_store_effects(const OrrStore *store, GError **error);

/* Migrates a database of an older version, which is open for writing. */
gboolean orr_store_migrate(const OrrStore *store, GError **error);

/* TRUE for a column that holds runs' numbers in version 1, whose metric_def does not mark them. */
gboolean orr_store_was_reference(const char *table, const char *column);

/* SQL that turns a run's `resolved` of any version into this version's. */
extern const char orr_store_resolved[];

/* One statement; NULL with @error set. */
sqlite3_stmt *orr_store_prepare(const OrrStore *store, const char *sql, GError **error);

/* Steps @stmt to its end and resets it. */
gboolean orr_store_step(const OrrStore *store, sqlite3_stmt *stmt, const char *doing,
                        GError **error);

/* Steps @stmt to its next row; FALSE at the end, with @error set where it could not be read, and
 * it is reset. */
gboolean orr_store_next_row(const OrrStore *store, sqlite3_stmt *stmt, GError **error);

/* TRUE for letters, digits, '_' and '-': what the tables of ours are called, and a file can be. */
gboolean orr_store_is_table_name(const char *name);

/* TRUE if the table exists and has a column of that name (@column NULL: if the table exists). A
 * view does not count. */
gboolean orr_store_has_column(const OrrStore *store, const char *table, const char *column);

/* TRUE between begin and end of a run. */
gboolean orr_store_check_run(const OrrStore *store, GError **error);

/* Makes the views that lie in the database, where its tables have changed. */
gboolean orr_store_views_make(OrrStore *store, GError **error);

/* orr_store_points_view for every sweep of the database. */
gboolean orr_store_points_views(OrrStore *store, GError **error);

/* Forgets the cached statements. */
void orr_store_forget_inserts(OrrStore *store);

/* The file at @path, looked at without SQLite so that one that is not ours is never touched:
 * FALSE with @error for what must be refused; *@ret_fresh is TRUE where there is no file, or an
 * empty one. */
gboolean orr_store_file_check(const char *path, gboolean *ret_fresh, GError **error);

/* Why a database at @path could not be opened or made, in words; newly allocated, NULL where
 * nothing is to be seen. */
char *orr_store_file_reason(const char *path, gboolean for_writing);

/* What a view says it reads ("-- reads: span(lane, end_s)"), as its text with stand-ins laid
 * under it for those tables and columns that this database does not have: no such facts were
 * recorded, so no rows. Newly allocated. */
char *orr_views_statement(const OrrStore *store, const OrrView *view);

/* Made from results/views/ by embed.sh. */
extern const OrrView orr_views_data[];
extern const guint orr_views_data_n;

/* store_transfer.c: copies the rows of runs from one results database to another, for all tables.
 * store_merge.c decides which run becomes which.
 *
 * Rows pass from connection to connection one at a time, so memory does not grow with their
 * number, and one transaction can merge any number of databases (SQLite attaches ten at most). */

typedef struct {
  char *name;
  gboolean is_run; /* holds a run's number: mapped, not compared */
  gboolean is_compared;
} OrrTransferColumn;

typedef struct {
  char *name;
  GArray *columns;            /* of OrrTransferColumn, without run_id */
  sqlite3_stmt *all;          /* run_id first, then the columns */
  sqlite3_stmt *there, *here; /* the columns of one run */
} OrrTransferTable;

/* run_id and the columns of @table, in quotes. Free it. */
char *orr_transfer_columns(const OrrTransferTable *table);

/* A run there and its number here. */
typedef struct {
  gint64 there, here;
  gboolean is_taken; /* its rows come; else it is here already */
} OrrTransferRun;

typedef struct {
  const OrrStore *store, *source;
  GPtrArray *tables; /* of those there that have rows of runs, by name */
  GHashTable *runs;  /* &there -> OrrTransferRun *, owned */
} OrrTransfer;

/* Makes here what tables and columns are there, with their meanings (metric_def). A batch has
 * begun; both connections outlive @ret_transfer, which is to be cleared where this fails too. */
gboolean orr_transfer_init(OrrTransfer *ret_transfer, const OrrStore *store, const OrrStore *source,
                           GError **error);
void orr_transfer_clear(OrrTransfer *transfer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrTransfer, orr_transfer_clear)

void orr_transfer_note(OrrTransfer *transfer, gint64 there, gint64 here, gboolean is_taken);

/* The number here of a run there; @there where none was noted. */
gint64 orr_transfer_number(const OrrTransfer *transfer, gint64 there);

/* TRUE where the run @here has the rows of the run @there in every table, in their order, apart
 * from runs' numbers and wall times. */
gboolean orr_transfer_is_same(const OrrTransfer *transfer, gint64 there, gint64 here);

/* store_copy.c. Copies the rows of every run that is taken; columns that hold runs' numbers are
 * mapped. */
gboolean orr_transfer_rows(const OrrTransfer *transfer, GError **error);

/* answer_real.c: real numbers as text, for answers of many cells.
 *
 * Both functions write the very bytes that printf would, tens of times faster where the number lies
 * between 1e-11 and 1e16; elsewhere, and in the rare cases that need it, they call printf. */

/* Enough for both. */
#define ORR_ANSWER_REAL_SIZE 48

/* The shortest text that reads back as @value, which is finite: %.15g, else %.16g, else %.17g, with
 * a point or an exponent to mark it as a real number ("10.0"). Returns its length. */
gsize orr_answer_real(double value, char text[ORR_ANSWER_REAL_SIZE]);

/* @number, which orr_answer_real wrote, as %.6g writes it. Returns its length. */
gsize orr_answer_real_short(const char *number, char text[ORR_ANSWER_REAL_SIZE]);

/* foreign.c: opens SQLite databases from strangers safely: results databases, and exports of
 * Nsight Systems.
 *
 * Reading such a file executes its schema: views (endless where recursive), generated columns,
 * virtual tables; writing executes triggers. orr_foreign_distrust follows the list in
 * https://www.sqlite.org/security.html. */

/* Disables triggers, functions with side effects in the schema, and writes to SQLite's own
 * tables. */
void orr_foreign_distrust(sqlite3 *db);

/* Makes statements on @db end with SQLITE_INTERRUPT after @until_us (of g_get_monotonic_time), and
 * with SQLITE_TOOBIG at a text above 16 MiB. @until_us must live as long as @db. */
void orr_foreign_limit(sqlite3 *db, const gint64 *until_us);

/* What the name refers to: "table", "view", "virtual table", or NULL where it does not exist. */
const char *orr_foreign_kind(sqlite3 *db, const char *name);
