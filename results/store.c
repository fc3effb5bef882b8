/*
 * store.c - the results database: opening it, and the transaction of a run.
 *
 * Invariants:
 *  1. SQLite never opens a file that is not a results database or is of a newer version
 *     (store_file.c).
 *  2. All writes of a run lie between BEGIN IMMEDIATE and COMMIT of one connection. A process that
 *     dies in between leaves no trace of the run: no reader uses an uncommitted tail of the
 *     write-ahead log.
 *  3. One transaction creates the schema and its two numbers, so that two processes can create the
 *     same file at once.
 *  4. A database can come from a stranger, so its schema is not trusted: its triggers do not run,
 *     its views cannot replace the store's tables, and its defaults, checks and indexes can only
 *     call functions without side effects (https://www.sqlite.org/security.html).
 *  5. A closed database is one file: the last writer applies the log and leaves WAL mode, so that
 *     the database can be read from a read-only folder.
 */
#include "results/store_private.h"

/* The tables of every database; field tables create the others (store_rows.c). */
static const char schema_sql[] =
    "CREATE TABLE IF NOT EXISTS run (\n"
    "  id INTEGER PRIMARY KEY, scenario TEXT NOT NULL, kind TEXT NOT NULL, file TEXT, hash TEXT "
    "NOT NULL,\n"
    "  resolved TEXT NOT NULL, tool_version TEXT NOT NULL, engine TEXT NOT NULL, fidelity TEXT NOT "
    "NULL,\n"
    "  started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), wall_time_s REAL, "
    "origin TEXT) "
    "STRICT;\n"
    "CREATE TABLE IF NOT EXISTS param (\n"
    "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, path TEXT NOT NULL, value "
    "TEXT,\n"
    "  number REAL, PRIMARY KEY (run_id, path)) STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE IF NOT EXISTS metric_def (\n"
    "  table_name TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, sentence TEXT NOT NULL,\n"
    "  PRIMARY KEY (table_name, name)) STRICT;\n"
    "INSERT OR REPLACE INTO metric_def VALUES\n"
    "  ('run', 'id', '', 'The run''s number: run_id in every other table.'),\n"
    "  ('run', 'scenario', '', 'The scenario''s name.'),\n"
    "  ('run', 'kind', '', 'The kind of workload.'),\n"
    "  ('run', 'file', '', 'The file that the scenario was read from.'),\n"
    "  ('run', 'hash', '', 'SHA-256 of the resolved scenario: equal hashes, equal rows.'),\n"
    "  ('run', 'resolved', '', 'The scenario with every name resolved and every default filled in, "
    "as YAML.'),\n"
    "  ('run', 'tool_version', '', 'The version of Orrery that ran it.'),\n"
    "  ('run', 'engine', '', 'The engine and its settings.'),\n"
    "  ('run', 'fidelity', '', 'folded: equivalent ranks were replayed once; full: every rank "
    "was.'),\n"
    "  ('run', 'started_at', '', 'When the run was begun (UTC, ISO 8601).'),\n"
    "  ('run', 'wall_time_s', 's', 'How long the run took on the machine that ran it.'),\n"
    "  ('run', 'origin', '', '" ORR_STORE_ORIGIN_SENTENCE "'),\n"
    "  ('param', 'path', '', 'The dotted path of a member of the resolved scenario.'),\n"
    "  ('param', 'value', '', 'Its value as YAML would hold it.'),\n"
    "  ('param', 'number', '', 'Its value as a number in its base unit (bytes, seconds, ...); NULL "
    "for words.');\n"
    "PRAGMA application_id = " G_STRINGIFY(
        ORR_STORE_APPLICATION_ID) ";\n"
                                  "PRAGMA user_version = " G_STRINGIFY(ORR_STORE_VERSION) ";\n";

/* --- Errors and statements --- */

static OrrFaultCode fault_of(int code) {
  switch (code & 0xff) { /* the primary code of an extended one */
  case SQLITE_ERROR:
  case SQLITE_CONSTRAINT:
  case SQLITE_MISMATCH:
  case SQLITE_MISUSE:
  case SQLITE_RANGE:
    return ORR_FAULT_INTERNAL;
  default:
    return ORR_FAULT_RESOURCE;
  }
}

gboolean orr_store_fail(const OrrStore *store, const char *doing, GError **error) {
  int code = sqlite3_errcode(store->db);
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
    return orr_store_fail_locked(store, error);
  gboolean is_file = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY;
  g_autofree char *reason = is_file ? orr_store_file_reason(store->path, TRUE) : NULL;
  return orr_fault_set(error, fault_of(code), "%s: %s: %s", store->path, doing,
                       reason ? reason : sqlite3_errmsg(store->db));
}

gboolean orr_store_exec(const OrrStore *store, const char *sql, GError **error) {
  return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
         orr_store_fail(store, "cannot be used", error);
}

sqlite3_stmt *orr_store_prepare(const OrrStore *store, const char *sql, GError **error) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
    orr_store_fail(store, "cannot prepare", error);
  return stmt;
}

gboolean orr_store_step(const OrrStore *store, sqlite3_stmt *stmt, const char *doing,
                        GError **error) {
  int code = sqlite3_step(stmt);
  gboolean fine = code == SQLITE_DONE || code == SQLITE_ROW || orr_store_fail(store, doing, error);
  sqlite3_reset(stmt);
  return fine;
}

gboolean orr_store_next_row(const OrrStore *store, sqlite3_stmt *stmt, GError **error) {
  const int code = sqlite3_step(stmt);
  if (code == SQLITE_ROW) return TRUE;
  if (code != SQLITE_DONE) orr_store_fail(store, "cannot be read", error);
  sqlite3_reset(stmt);
  return FALSE;
}

gboolean orr_store_ask_number(const OrrStore *store, const char *sql, gint64 *ret_number,
                              GError **error) {
  g_autoptr(sqlite3_stmt) stmt = orr_store_prepare(store, sql, error);
  if (!stmt) return FALSE;
  if (sqlite3_step(stmt) != SQLITE_ROW) return orr_store_fail(store, "cannot be read", error);
  *ret_number = sqlite3_column_int64(stmt, 0);
  return TRUE;
}

/* --- Opening --- */

/* Opens a connection to @path, made absolute so that no name is special to SQLite (":memory:",
 * "file:..."). */
static gboolean connect_file(OrrStore *store, int flags, GError **error) {
  g_autofree char *absolute = g_canonicalize_filename(store->path, NULL);
  gboolean for_writing = (flags & SQLITE_OPEN_READWRITE) != 0;
  g_autofree char *reason =
      orr_store_file_reason(store->path, for_writing); /* SQLite reports less, and later */
  if (reason)
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: cannot be %s: %s", store->path,
                         for_writing ? "written" : "read", reason);
  if (sqlite3_open_v2(absolute, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    return orr_store_fail(store, "cannot be opened", error);
  orr_foreign_distrust(store->db);
  orr_store_wait(store);
  return orr_store_effects(store, error);
}

/* A view with the name of a table would answer in its place, with any content and for any time. */
static gboolean check_own_tables(const OrrStore *store, GError **error) {
  gint64 n_views = 0;
  if (!orr_store_ask_number(store,
                            "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"
                            " AND lower(name) IN ('run', 'param', 'metric_def')",
                            &n_views, error))
    return FALSE;
  if (n_views == 0) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_RESOURCE,
      "%s: was not made by Orrery: 'run', 'param' or 'metric_def' is a view in it, not a table",
      store->path);
}

/* An earlier check can have seen the file empty while another process was creating the database,
 * so this checks again. */
static gboolean check_numbers(const OrrStore *store, GError **error) {
  gint64 application = 0, version = 0;
  if (!orr_store_ask_number(store, "PRAGMA application_id", &application, error) ||
      !orr_store_ask_number(store, "PRAGMA user_version", &version, error))
    return FALSE;
  if (application == ORR_STORE_APPLICATION_ID && version >= 1 && version <= ORR_STORE_VERSION)
    return check_own_tables(store, error);
  return orr_fault_set(error, ORR_FAULT_RESOURCE,
                       "%s: is not a results database that this Orrery knows", store->path);
}

static gboolean make_schema(const OrrStore *store, GError **error) {
  if (!orr_store_exec(store, "BEGIN IMMEDIATE", error)) return FALSE;
  gint64 n_tables = 0;
  if (orr_store_ask_number(store, "SELECT count(*) FROM sqlite_schema", &n_tables, error) &&
      (n_tables > 0 || orr_store_exec(store, schema_sql, error)) && check_numbers(store, error) &&
      orr_store_exec(store, "COMMIT", error))
    return TRUE;
  sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

static void insert_free(gpointer stmt) { sqlite3_finalize(stmt); }

static OrrStore *store_new(const char *path) {
  OrrStore *store = g_new0(OrrStore, 1);
  store->path = g_strdup(path);
  store->inserts = g_hash_table_new_full(NULL, NULL, NULL, insert_free);
  return store;
}

/* An empty results database: its creator was killed before its first commit, which SQLite rolled
 * back. */
static gboolean is_unmade(const OrrStore *store) {
  gint64 n_tables = -1;
  return orr_store_ask_number(store, "SELECT count(*) FROM sqlite_schema", &n_tables, NULL) &&
         n_tables == 0;
}

OrrStore *orr_store_open(const char *path, GError **error) {
  gboolean is_fresh = FALSE;
  if (!orr_store_file_check(path, &is_fresh, error)) return NULL;
  g_autoptr(OrrStore) store = store_new(path);
  if (!connect_file(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error)) return NULL;
  is_fresh = is_fresh || is_unmade(store);
  if (is_fresh ? !make_schema(store, error)
               : !check_numbers(store, error) || !orr_store_migrate(store, error))
    return NULL;
  /* Where WAL mode is not available (another process reads the file, or the file system has no
   * shared memory), SQLite keeps using its journal: slower, but as safe. NORMAL: a power failure
   * can lose the last runs, but not the file. */
  orr_store_wait_briefly(store);
  sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
  orr_store_wait(store);
  if (!orr_store_exec(
          store,
          "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384",
          error))
    return NULL;
  store->is_writer = TRUE;
  store->has_new_tables = orr_foreign_kind(store->db, "runs") == NULL; /* of an older Orrery */
  return g_steal_pointer(&store);
}

/* A process killed in its first commit leaves a journal, which a reader must not roll back; a
 * writer does. TRUE where there was a journal: the file can be empty now. */
static gboolean recover(const char *path) {
  g_autofree char *journal = g_strconcat(path, "-journal", NULL);
  if (!g_file_test(journal, G_FILE_TEST_EXISTS)) return FALSE;
  g_autoptr(OrrStore) store = store_new(path);
  if (connect_file(store, SQLITE_OPEN_READWRITE, NULL)) is_unmade(store);
  return TRUE;
}

gboolean orr_store_is_blank(const char *path) {
  gboolean is_fresh = FALSE;
  if (!orr_store_file_check(path, &is_fresh, NULL)) return FALSE;
  return is_fresh || (recover(path) && orr_store_file_check(path, &is_fresh, NULL) && is_fresh);
}

OrrStore *orr_store_open_read(const char *path, GError **error) {
  gboolean is_fresh = FALSE;
  if (!orr_store_file_check(path, &is_fresh, error)) return NULL;
  if (!is_fresh && recover(path) && !orr_store_file_check(path, &is_fresh, error)) return NULL;
  if (is_fresh) {
    gboolean exists = g_file_test(path, G_FILE_TEST_EXISTS);
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: %s", path,
                          exists ? "is empty: no run was ever stored in it"
                                 : "there is no such results database");
  }
  g_autoptr(OrrStore) store = store_new(path);
  if (!connect_file(store, SQLITE_OPEN_READONLY, error) || !check_numbers(store, error))
    return NULL;
  return g_steal_pointer(&store);
}

void orr_store_disconnect(OrrStore *store) {
  orr_store_forget_inserts(store);
  g_clear_pointer(&store->param, sqlite3_finalize);
  g_clear_pointer(&store->run_insert, sqlite3_finalize);
  g_clear_pointer(&store->run_update, sqlite3_finalize);
  if (store->is_writer) {
    sqlite3_busy_timeout(
        store->db, 0); /* invariant 5; where others have it open, the last of them does this */
    sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
  }
  g_clear_pointer(&store->db, sqlite3_close);
}

void orr_store_free(OrrStore *store) {
  if (!store) return;
  orr_store_abandon_run(store);
  orr_store_abandon_batch(store);
  orr_store_disconnect(store);
  g_hash_table_unref(store->inserts);
  ORR_FREE(store->path, store);
}

/* --- A run --- */

gboolean orr_store_next_run(const OrrStore *store, gint64 *ret_id, GError **error) {
  const gboolean has_sweeps = orr_store_has_column(store, "sweep", "n_points");
  return orr_store_ask_number(store,
                              has_sweeps
                                  ? "SELECT max(ifnull((SELECT max(id) FROM run), 0),"
                                    " ifnull((SELECT max(run_id + n_points) FROM sweep), 0)) + 1"
                                  : "SELECT ifnull(max(id), 0) + 1 FROM run",
                              ret_id, error);
}

static gboolean insert_run(OrrStore *store, const OrrRunFacts *facts, gint64 id, GError **error) {
  if (!store->run_insert)
    store->run_insert = orr_store_prepare(store,
                                          "INSERT INTO run (scenario, kind, file, hash, resolved, "
                                          "tool_version, engine, fidelity, wall_time_s, id)"
                                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                                          error);
  sqlite3_stmt *stmt = store->run_insert;
  if (!stmt) return FALSE;
  const char *const texts[] = {facts->scenario, facts->kind,     facts->file,
                               facts->hash,     facts->resolved, facts->tool_version,
                               facts->engine,   facts->fidelity};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    sqlite3_bind_text(stmt, (int)i + 1, texts[i], -1, SQLITE_STATIC);
  sqlite3_bind_double(stmt, G_N_ELEMENTS(texts) + 1, facts->wall_time_s);
  sqlite3_bind_int64(stmt, G_N_ELEMENTS(texts) + 2, id);
  return orr_store_step(store, stmt, "cannot add a run", error);
}

static void roll_back_run(OrrStore *store) {
  sqlite3_exec(store->db, store->in_batch ? "ROLLBACK TO run; RELEASE run" : "ROLLBACK", NULL, NULL,
               NULL);
}

gboolean orr_store_begin_run(OrrStore *store, const OrrRunFacts *facts, gint64 *ret_run_id,
                             GError **error) {
  if (store->run_id || !store->is_writer)
    return orr_fault_set(error, ORR_FAULT_INTERNAL, "%s: %s", store->path,
                         store->run_id ? "a run is already being written"
                                       : "was opened for reading");
  /* EXCLUSIVE: in journal mode a conflict with readers then shows here, before any work, and not
   * at the end (in WAL mode this equals IMMEDIATE) */
  if (store->in_batch ? !orr_store_exec(store, "SAVEPOINT run", error)
                      : !orr_store_begin(store, "BEGIN EXCLUSIVE", error))
    return FALSE;
  gint64 id = facts->id;
  if ((id == 0 && !orr_store_next_run(store, &id, error)) || !insert_run(store, facts, id, error)) {
    roll_back_run(store);
    return FALSE;
  }
  store->run_id = id;
  if (ret_run_id) *ret_run_id = store->run_id;
  return TRUE;
}

gboolean orr_store_check_run(const OrrStore *store, GError **error) {
  if (store->run_id) return TRUE;
  return orr_fault_set(error, ORR_FAULT_INTERNAL, "%s: no run is being written", store->path);
}

/* The number in @text, in the base unit of the unit that follows it: 300 of "5 min". */
static gboolean number_of(const char *text, double *ret_number) {
  if (!text || g_ascii_isalpha(*text)) return FALSE; /* a word, without nine attempts */
  for (OrrUnit unit = ORR_UNIT_NONE; unit < ORR_N_UNITS; unit++)
    if (orr_quantity_parse(text, unit, ret_number, NULL)) return TRUE;
  return FALSE;
}

gboolean orr_store_add_param(OrrStore *store, const char *path, const char *text, GError **error) {
  if (!orr_store_check_run(store, error)) return FALSE;
  if (!store->param && !(store->param = orr_store_prepare(
                             store, "INSERT INTO param VALUES (?1, ?2, ?3, ?4)", error)))
    return FALSE;
  double number;
  sqlite3_bind_int64(store->param, 1, store->run_id);
  sqlite3_bind_text(store->param, 2, path, -1, SQLITE_STATIC);
  sqlite3_bind_text(store->param, 3, text, -1, SQLITE_STATIC);
  if (number_of(text, &number))
    sqlite3_bind_double(store->param, 4, number);
  else
    sqlite3_bind_null(store->param, 4);
  if (orr_store_step(store, store->param, "param", error)) return TRUE;
  g_prefix_error(error, "%s: ", path);
  return FALSE;
}

gboolean orr_store_end_run(OrrStore *store, double wall_time_s, GError **error) {
  if (!orr_store_check_run(store, error)) return FALSE;
  if (!store->run_update)
    store->run_update =
        orr_store_prepare(store, "UPDATE run SET wall_time_s = ?1 WHERE id = ?2", error);
  if (store->run_update) {
    sqlite3_bind_double(store->run_update, 1, wall_time_s);
    sqlite3_bind_int64(store->run_update, 2, store->run_id);
    if (orr_store_step(store, store->run_update, "cannot end a run", error) &&
        orr_store_views_make(store, error) &&
        orr_store_exec(store, store->in_batch ? "RELEASE run" : "COMMIT", error)) {
      store->run_id = 0;
      return TRUE;
    }
  }
  orr_store_abandon_run(store);
  return FALSE;
}

void orr_store_abandon_run(OrrStore *store) {
  if (!store->run_id) return;
  store->run_id = 0;
  orr_store_forget_inserts(store); /* the rollback can remove their tables */
  roll_back_run(store);
}

gboolean orr_store_begin_batch(OrrStore *store, GError **error) {
  if (!orr_store_begin(store, "BEGIN IMMEDIATE", error)) return FALSE;
  store->in_batch = TRUE;
  return TRUE;
}

gboolean orr_store_end_batch(OrrStore *store, GError **error) {
  if (!store->in_batch) return TRUE;
  if (!orr_store_exec(store, "COMMIT", error)) {
    orr_store_abandon_batch(store);
    return FALSE;
  }
  store->in_batch = FALSE;
  return TRUE;
}

void orr_store_abandon_batch(OrrStore *store) {
  if (!store->in_batch) return;
  store->in_batch = FALSE;
  store->run_id = 0;
  orr_store_forget_inserts(store);
  sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

gboolean orr_store_has_column(const OrrStore *store, const char *table, const char *column) {
  return sqlite3_table_column_metadata(store->db, "main", table, column, NULL, NULL, NULL, NULL,
                                       NULL) == SQLITE_OK;
}

void orr_store_forget_inserts(OrrStore *store) {
  g_hash_table_remove_all(store->inserts);
  store->last_table = NULL;
  store->last_insert = NULL;
}
