/*
 * store_query.c - queries the results database: a shipped view, or one SQL statement of the user.
 *
 * A query cannot write: the authorizer permits only reading (no ATTACH, no PRAGMA that sets a
 * value), and SQLite itself must report the statement as read-only. A query is one statement, so
 * that nothing hides behind a semicolon.
 */
#include "results/store_private.h"

/* PRAGMAs that only read; those in the second list only without a value. */
static const char *const telling_pragmas[] = {"table_info",      "table_xinfo", "table_list",
                                              "index_list",      "index_info",  "foreign_key_list",
                                              "integrity_check", "quick_check", NULL};
static const char *const reading_pragmas[] = {
    "application_id",  "user_version", "schema_version", "page_count",  "page_size",
    "compile_options", "encoding",     "database_list",  "synchronous", NULL};

static int authorize(void *user, int action, const char *first, const char *second,
                     const char *schema, const char *trigger) {
  *(gboolean *)user = TRUE;
  switch (action) {
  case SQLITE_SELECT:
  case SQLITE_READ:
  case SQLITE_RECURSIVE:
    return SQLITE_OK;
  case SQLITE_UPDATE: /* for the declaration of a table-valued PRAGMA; a real UPDATE of it fails */
    return strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
  case SQLITE_FUNCTION: /* @second is the function */
    return g_ascii_strcasecmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
  case SQLITE_PRAGMA: {
    g_autofree char *name = g_ascii_strdown(first, -1);
    return g_strv_contains(telling_pragmas, name) ||
                   (!second && g_strv_contains(reading_pragmas, name))
               ? SQLITE_OK
               : SQLITE_DENY;
  }
  default:
    return SQLITE_DENY;
  }
}

/* --- The statement --- */

static gboolean refuse(const char *sql, const char *why, GError **error) {
  return orr_fault_set(error, ORR_FAULT_USAGE, "%s, in: %s", why, sql);
}

static gboolean fail_query(const OrrStore *store, const char *sql, GError **error) {
  switch (sqlite3_errcode(store->db) & 0xff) {
  case SQLITE_AUTH:
    return refuse(sql, "a query may only read", error);
  case SQLITE_ERROR:
  case SQLITE_MISMATCH:
  case SQLITE_TOOBIG:
    return refuse(sql, sqlite3_errmsg(store->db), error);
  default:
    return orr_store_fail(store, "cannot be read", error);
  }
}

/* A text of comments and blanks prepares to no statement. */
static gboolean is_blank(const OrrStore *store, const char *sql) {
  g_autoptr(sqlite3_stmt) stmt = NULL;
  return sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL) == SQLITE_OK && !stmt;
}

static sqlite3_stmt *prepare_query(OrrStore *store, const char *sql, GError **error) {
  g_autoptr(sqlite3_stmt) stmt = NULL;
  const char *tail = NULL;
  store->is_authorized = FALSE;
  if (sqlite3_prepare_v2(store->db, sql, -1, &stmt, &tail) != SQLITE_OK) {
    fail_query(store, sql, error);
    return NULL;
  }
  const char *why = NULL;
  if (!stmt)
    why = "there is no statement";
  else if (!store->is_authorized) /* VACUUM bypasses the authorizer, VACUUM INTO is read-only */
    why = "a query may only read";
  else if (!is_blank(store, tail))
    why = "one statement at a time";
  else if (!sqlite3_stmt_readonly(stmt))
    why = "a query may only read";
  if (why) {
    refuse(sql, why, error);
    return NULL;
  }
  return g_steal_pointer(&stmt);
}

/* --- :run --- */

/* The kinds of run that a statement's head declares it is about ("-- about: validation,
 * cost-validation"), as ",validation,cost-validation,"; NULL where it declares none. */
static char *declared_kinds(const char *statement) {
  static const char about[] = "-- about: ";
  const char *line =
      g_str_has_prefix(statement, about) ? statement : strstr(statement, "\n-- about: ");
  if (!line) return NULL;
  line = strstr(line, about) + strlen(about);
  g_autoptr(GString) kinds = g_string_new(",");
  for (; *line && *line != '\n'; line++)
    if (!g_ascii_isspace(*line)) g_string_append_c(kinds, *line);
  g_string_append_c(kinds, ',');
  return g_strdup(kinds->str);
}

/* The run that :run stands for: @run_id, which must exist; for 0 the newest run of the kinds that
 * the statement is about. Most statements declare no kind and are about simulations, so that a
 * validation or calibration after a run does not hide the run. Without a run of these kinds, the
 * newest of any kind; 0 without runs. */
static gboolean resolve_run(const OrrStore *store, gint64 run_id, const char *statement,
                            gint64 *ret_run_id, GError **error) {
  g_autofree char *kinds = declared_kinds(statement);
  /* Each part stops at the first row that it looks for: a database can have 100,000 runs. */
  g_autoptr(sqlite3_stmt) stmt = orr_store_prepare(
      store,
      "SELECT coalesce((SELECT id FROM run WHERE CASE WHEN ?2 IS NULL"
      " THEN kind NOT IN ('calibration', 'cost-validation', 'plan', 'validation') ELSE "
      "instr(?2, ',' || kind || ',') END ORDER BY id DESC LIMIT 1),"
      " (SELECT max(id) FROM run)), EXISTS (SELECT 1 FROM run WHERE id = ?1),"
      " (SELECT max(id) FROM run)",
      error);
  if (!stmt) return FALSE;
  sqlite3_bind_int64(stmt, 1, run_id);
  if (kinds) sqlite3_bind_text(stmt, 2, kinds, -1, SQLITE_STATIC);
  if (sqlite3_step(stmt) != SQLITE_ROW) return orr_store_fail(store, "cannot be read", error);
  if (run_id != 0 && !sqlite3_column_int(stmt, 1))
    return orr_fault_set(error, ORR_FAULT_USAGE, "%s: there is no run %ld; the newest is %ld",
                         store->path, run_id, (gint64)sqlite3_column_int64(stmt, 2));
  *ret_run_id = run_id ? run_id : sqlite3_column_int64(stmt, 0);
  return TRUE;
}

/* The inputs of a query. */
typedef struct {
  const char *asked; /* as the user wrote it */
  const char *text;  /* the statement with its head, which can declare its kinds */
  gboolean is_view;
  gint64 run_id;
  const OrrBinding *bindings;
  guint n_bindings;
} Question;

static void bind_value(sqlite3_stmt *stmt, int at, const char *text) {
  char *end = NULL;
  const gint64 whole = g_ascii_strtoll(text, &end, 10);
  if (*text && !*end) {
    sqlite3_bind_int64(stmt, at, whole);
    return;
  }
  const double number = g_ascii_strtod(text, &end);
  if (*text && !*end && isfinite(number))
    sqlite3_bind_double(stmt, at, number);
  else
    sqlite3_bind_text(stmt, at, text, -1, SQLITE_TRANSIENT);
}

static gboolean bind_one(const OrrStore *store, sqlite3_stmt *stmt, int at,
                         const Question *question, GError **error) {
  const char *name =
      sqlite3_bind_parameter_name(stmt, at); /* with its ':', '@' or '$'; NULL for '?' */
  for (guint i = 0; name && i < question->n_bindings; i++) {
    if (strcmp(name + 1, question->bindings[i].name) != 0) continue;
    bind_value(stmt, at, question->bindings[i].value);
    return TRUE;
  }
  if (name && strcmp(name + 1, "run") == 0) {
    gint64 resolved = 0;
    if (!resolve_run(store, question->run_id, question->text, &resolved, error)) return FALSE;
    if (resolved)
      sqlite3_bind_int64(stmt, at, resolved); /* else it stays NULL, which equals no run_id */
    return TRUE;
  }
  if (name && question->is_view) return TRUE; /* NULL */
  g_autofree char *why = g_strdup_printf(
      "parameter %s has no value (:run has one; others by --param)", name ? name : "?");
  return refuse(question->asked, why, error);
}

static gboolean takes(sqlite3_stmt *stmt, const char *name) {
  for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
    const char *known = sqlite3_bind_parameter_name(stmt, i);
    if (known && strcmp(known + 1, name) == 0) return TRUE;
  }
  return FALSE;
}

static gboolean bind_all(const OrrStore *store, sqlite3_stmt *stmt, const Question *question,
                         GError **error) {
  for (guint i = 0; i < question->n_bindings; i++) {
    if (takes(stmt, question->bindings[i].name)) continue;
    const char *name = question->bindings[i].name;
    if (question->is_view)
      return orr_fault_set(error, ORR_FAULT_USAGE, "view '%s' has no parameter '%s'",
                           question->asked, name);
    g_autofree char *why = g_strdup_printf("the statement has no parameter '%s'", name);
    return refuse(question->asked, why, error);
  }
  for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++)
    if (!bind_one(store, stmt, i, question, error)) return FALSE;
  return TRUE;
}

/* --- The answer --- */

static void append_blob(sqlite3_stmt *stmt, int column, GString *out) {
  const guint8 *bytes = sqlite3_column_blob(stmt, column);
  const int n = sqlite3_column_bytes(stmt, column);
  for (int i = 0; i < n; i++) g_string_append_printf(out, "%02x", bytes[i]);
}

static void append_text(sqlite3_stmt *stmt, int column, GString *out) {
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  if (g_utf8_validate(text, -1, NULL)) {
    g_string_append(out, text);
    return;
  }
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_string_append(out, valid);
}

/* FALSE where the cell is NULL: a real number that is not finite too. */
static gboolean append_cell(sqlite3_stmt *stmt, int column, GString *out) {
  char real[ORR_ANSWER_REAL_SIZE];
  switch (sqlite3_column_type(stmt, column)) {
  case SQLITE_NULL:
    return FALSE;
  case SQLITE_FLOAT:
    if (!isfinite(sqlite3_column_double(stmt, column))) return FALSE;
    g_string_append_len(out, real,
                        (gssize)orr_answer_real(sqlite3_column_double(stmt, column), real));
    return TRUE;
  case SQLITE_BLOB:
    append_blob(stmt, column, out);
    return TRUE;
  case SQLITE_INTEGER:
    g_string_append(out, (const char *)sqlite3_column_text(stmt, column));
    return TRUE;
  default:
    append_text(stmt, column, out);
    return TRUE;
  }
}

static OrrAnswer *answer_new(sqlite3_stmt *stmt) {
  OrrAnswer *answer = g_new0(OrrAnswer, 1);
  answer->n_columns = (guint)sqlite3_column_count(stmt);
  answer->columns = g_new0(char *, answer->n_columns + 1);
  answer->is_number = g_new0(gboolean, answer->n_columns);
  answer->rows = g_ptr_array_new();
  for (guint i = 0; i < answer->n_columns; i++)
    answer->columns[i] = g_strdup(sqlite3_column_name(stmt, (int)i));
  return answer;
}

/* What the rows of an answer share while they are added. */
typedef struct {
  GString *text; /* all cells of the row, each with its 0 */
  gsize *starts; /* per column: where its text begins */
  gboolean *is_null, *is_text;
} Row;

static void add_row(OrrAnswer *answer, sqlite3_stmt *stmt, Row *row) {
  const guint n = answer->n_columns;
  g_string_truncate(row->text, 0);
  for (guint i = 0; i < n; i++) {
    const int type = sqlite3_column_type(stmt, (int)i);
    row->starts[i] = row->text->len;
    row->is_null[i] = !append_cell(stmt, (int)i, row->text);
    g_string_append_c(row->text, '\0');
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
      answer->is_number[i] = TRUE;
    else if (type != SQLITE_NULL)
      row->is_text[i] = TRUE;
  }
  char **cells = g_malloc(n * sizeof *cells + row->text->len);
  char *text = memcpy(cells + n, row->text->str, row->text->len);
  for (guint i = 0; i < n; i++) cells[i] = row->is_null[i] ? NULL : text + row->starts[i];
  g_ptr_array_add(answer->rows, cells);
}

static OrrAnswer *fetch(const OrrStore *store, sqlite3_stmt *stmt, const char *sql,
                        GError **error) {
  g_autoptr(OrrAnswer) answer = answer_new(stmt);
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree gsize *starts = g_new0(gsize, answer->n_columns);
  g_autofree gboolean *is_null = g_new0(gboolean, answer->n_columns),
                      *is_text = g_new0(gboolean, answer->n_columns);
  Row row = {text, starts, is_null, is_text};
  int code;
  while ((code = sqlite3_step(stmt)) == SQLITE_ROW) add_row(answer, stmt, &row);
  if (code != SQLITE_DONE) {
    fail_query(store, sql, error);
    return NULL;
  }
  for (guint i = 0; i < answer->n_columns; i++)
    answer->is_number[i] = answer->is_number[i] && !is_text[i];
  return g_steal_pointer(&answer);
}

static OrrAnswer *ask(OrrStore *store, const char *statement, const Question *question,
                      GError **error) {
  g_autoptr(sqlite3_stmt) stmt = prepare_query(store, statement, error);
  if (!stmt || !bind_all(store, stmt, question, error)) return NULL;
  return fetch(store, stmt, question->asked, error);
}

/* A single word that is not a view is a mistyped view, not a statement. */
static gboolean check_view_name(const char *word, GError **error) {
  for (const char *c = word; *c; c++)
    if (!g_ascii_isalnum(*c) && *c != '-' && *c != '_') return TRUE;
  guint n = 0;
  const OrrView *views = orr_views(&n);
  g_autofree const char **names = g_new0(const char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = views[i].name;
  const char *nearest = orr_diag_nearest_word(word, names);
  g_autofree char *all = g_strjoinv(", ", (char **)names);
  return orr_fault_set(
      error, ORR_FAULT_USAGE, "there is no view '%s'%s%s%s (views: %s; or give an SQL statement)",
      word, nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", all);
}

OrrAnswer *orr_store_ask(OrrStore *store, const char *sql_or_view, gint64 run_id,
                         const OrrBinding *bindings, guint n_bindings, GError **error) {
  const OrrView *view = orr_view_find(sql_or_view);
  if (!view && !check_view_name(sql_or_view, error)) return NULL;
  /* Reads the schema again: another process may have created a table, and the search for stand-ins
   * must not fail. */
  if (!orr_store_exec(store, "SELECT 1 FROM sqlite_schema", error)) return NULL;
  g_autofree char *statement = view ? orr_views_statement(store, view) : g_strdup(sql_or_view);
  const Question question = {view ? view->name : sql_or_view,
                             view ? view->sql : sql_or_view,
                             view != NULL,
                             run_id,
                             bindings,
                             n_bindings};
  sqlite3_set_authorizer(store->db, authorize, &store->is_authorized);
  OrrAnswer *answer = ask(store, statement, &question, error);
  sqlite3_set_authorizer(store->db, NULL, NULL);
  return answer;
}

OrrAnswer *orr_store_query(OrrStore *store, const char *sql_or_view, gint64 run_id,
                           GError **error) {
  return orr_store_ask(store, sql_or_view, run_id, NULL, 0, error);
}
