/*
 * report_explorer.c - the points of a sweep as the data of the page's explorer (results/explorer/).
 *
 *   {"sweep": 1, "file": "...", "points": 459, "objectives": ["tokens_per_s"],
 *    "commands": [["workload.pipeline.chunks=4", "workload.pipeline={...}"]],
 *    "bands": [["tokens_per_s", run, low, high, expected]],
 *    "columns": [
 *      {"name": "tp", "kind": "axis", "path": "...", "dictionary": [1, 2], "codes": [0, 1]},
 *      {"name": "mfu", "kind": "metric", "unit": "", "sentence": "...", "values": [0.41]}]}
 *
 * A column is an array, so that 100,000 points take about 6 bytes per value; values that repeat are
 * a dictionary and codes (-1: none). Results that all points share are left out. Of more than
 * 30,000 points the page holds an even sample, the best by each objective, and those with error
 * bands; then "of" says how many there are. Reals have seven significant digits. Texts come from
 * documents: every character that could end the script or the string is escaped.
 */
#include "results/report_private.h"
#include "results/store_private.h"

/* A column with at most this many values, and few per row, is a dictionary. */
enum { MOST_WORDS = 4096 };

/* Points of a page, about 300 bytes each: 10 MB, which a browser opens in a second. Of more: the
 * sample also has this number of the best points by each objective. */
enum { MOST_POINTS = 30000, N_BEST = 250 };

/* --- JSON --- */

/* In quotes; with "<", ">" and "&" escaped, so that no text ends the element with the data. */
static void append_string(GString *out, const char *text) {
  g_string_append_c(out, '"');
  for (const char *c = text ? text : ""; *c; c++) {
    if (strchr("\"\\<>&", *c) || (guchar)*c < 0x20 || *c == 0x7f)
      g_string_append_printf(out, "\\u%04x", (guchar)*c);
    else
      g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

static void append_pair(GString *out, const char *key, const char *text) {
  g_string_append_printf(out, "\"%s\":", key);
  append_string(out, text);
}

static void append_value(GString *out, const char *cell, gboolean is_number) {
  char shown[G_ASCII_DTOSTR_BUF_SIZE];
  if (!cell)
    g_string_append(out, "null");
  else if (!is_number)
    append_string(out, cell);
  else if (strpbrk(cell, ".e"))
    g_string_append(out, g_ascii_formatd(shown, sizeof shown, "%.7g", g_ascii_strtod(cell, NULL)));
  else
    g_string_append(out, cell);
}

/* --- Objectives --- */

/* "maximize tokens_per_s; minimize tdp" as {"maximize tokens_per_s", ...}. */
static char **find_objectives(OrrStore *store, gint64 sweep, GError **error) {
  g_autoptr(OrrAnswer) answer =
      orr_store_query(store, "SELECT objective FROM sweep WHERE run_id = :run", sweep, error);
  if (!answer) return NULL;
  const char *text = answer->rows->len > 0 ? ((char **)answer->rows->pdata[0])[0] : NULL;
  return g_strsplit(text ? text : "", "; ", -1);
}

/* What follows "maximize ". */
static const char *objective_text(const char *objective) {
  const char *space = strchr(objective, ' ');
  return space ? space + 1 : objective;
}

static gboolean is_result(const GPtrArray *columns, const char *name) {
  ORR_EACH_POINTER(const OrrPointsColumn, column, columns)
    if (column->kind == ORR_POINTS_RESULT && strcmp(column->name, name) == 0) return TRUE;
  return FALSE;
}

/* The column of objective @k, from 0: the result of that name, or objective_1, ... */
static char *objective_column(const GPtrArray *columns, char **objectives, guint k) {
  const char *text = objective_text(objectives[k]);
  return is_result(columns, text) ? g_strdup(text) : g_strdup_printf("objective_%u", k + 1);
}

/* The number of the objective that the column holds, from 0; -1: none. */
static int objective_of(const GPtrArray *columns, char **objectives, const char *name) {
  for (guint k = 0; objectives[k]; k++) {
    g_autofree char *own = objective_column(columns, objectives, k);
    if (strcmp(own, name) == 0) return (int)k;
  }
  return -1;
}

/* --- Which points --- */

static gboolean count_points(OrrStore *store, gint64 sweep, gint64 *ret_n, GError **error) {
  g_autoptr(OrrAnswer) answer = orr_store_query(
      store,
      "SELECT count(*) FROM sweep s JOIN sweep_point p ON p.run_id BETWEEN s.run_id + 1 AND "
      "s.run_id + s.n_points WHERE s.run_id = :run",
      sweep, error);
  if (!answer) return FALSE;
  *ret_n = g_ascii_strtoll(((char **)answer->rows->pdata[0])[0], NULL, 10);
  return TRUE;
}

/* Appends the points of @sweep with the best values of each objective. The number of the sweep is a
 * constant here: a reference to the outer query would run this once for each point. */
static void append_best(GString *sql, OrrStore *store, gint64 sweep, char **objectives) {
  for (guint k = 0; objectives[k]; k++) {
    g_autofree char *column = g_strdup_printf("objective_%u", k + 1);
    if (!orr_store_has_column(store, "sweep_point", column)) continue;
    const gboolean is_more = g_str_has_prefix(objectives[k], "maximize ");
    g_string_append_printf(
        sql,
        " OR p.run_id IN (SELECT b.run_id FROM sweep t JOIN sweep_point b ON b.run_id BETWEEN "
        "t.run_id + 1 AND t.run_id + t.n_points WHERE t.run_id = %ld AND b.eligible AND b.%s IS "
        "NOT NULL ORDER BY b.%s %s LIMIT %d)",
        sweep, column, column, is_more ? "DESC" : "ASC", N_BEST);
  }
}

/* The condition that chooses the points of the page, " AND (...)", or "" for all of @n. The sample
 * goes by the run's number times 2^32 over the golden ratio, modulo 2^32 (Knuth, TAOCP 3, 6.4):
 * even in any stretch, and in no step with an axis, as each 34th would be with an axis of two. */
static char *condition_of(OrrStore *store, gint64 sweep, gint64 n, char **objectives) {
  GString *sql = g_string_new(NULL);
  if (n <= MOST_POINTS) return g_string_free(sql, FALSE);
  const gint64 below = (gint64)(4294967296.0 * MOST_POINTS / (double)n);
  g_string_append_printf(sql, " AND ((p.run_id - %ld) * 2654435769 %% 4294967296 < %ld", sweep,
                         below);
  append_best(sql, store, sweep, objectives);
  if (orr_store_has_column(store, "sweep_band", "point_run"))
    g_string_append_printf(
        sql, " OR p.run_id IN (SELECT point_run FROM sweep_band b WHERE b.run_id = %ld)", sweep);
  g_string_append_c(sql, ')');
  return g_string_free(sql, FALSE);
}

/* --- Which columns --- */

/* TRUE for what is asked whether it differs between points: axes are on the page in any case. */
static gboolean is_asked(const OrrPointsColumn *column) { return column->kind != ORR_POINTS_AXIS; }

/* Which of the others differ between points: one row of 0 and 1. */
static OrrAnswer *find_varying(OrrStore *store, const GPtrArray *columns, gint64 sweep,
                               const char *condition, GError **error) {
  g_autofree gboolean *asked = g_new0(gboolean, columns->len);
  g_autoptr(GString) sql = g_string_new("SELECT ");
  const char *comma = "";
  ORR_EACH_POINTER_AT(i, const OrrPointsColumn, column, columns) {
    asked[i] = is_asked(column);
    if (!asked[i]) continue;
    char *term =
        sqlite3_mprintf("%smin(\"%w\") IS NOT max(\"%w\")", comma, column->name, column->name);
    g_string_append(sql, term);
    sqlite3_free(term);
    comma = ", ";
  }
  g_autofree char *select = orr_store_points_select(columns, sweep, asked);
  g_string_append_printf(sql, " FROM (%s%s)", select, condition);
  return orr_store_query(store, sql->str, sweep, error);
}

/* An objective that is also a result counts once; so does one that the sweep does not have. */
static gboolean is_wanted(const OrrPointsColumn *column, gboolean varies, int objective) {
  static const char *const always[] = {"point", "run", "status", "eligible", NULL};
  if (column->kind == ORR_POINTS_FACT && g_str_has_prefix(column->name, "objective_"))
    return objective >= 0;
  return varies || objective >= 0 || g_strv_contains(always, column->name);
}

static gboolean *choose_columns(OrrStore *store, const GPtrArray *columns, char **objectives,
                                gint64 sweep, const char *condition, GError **error) {
  g_autoptr(OrrAnswer) varying = find_varying(store, columns, sweep, condition, error);
  if (!varying) return NULL;
  gboolean *wanted = g_new0(gboolean, columns->len);
  guint at = 0;
  ORR_EACH_POINTER_AT(i, const OrrPointsColumn, column, columns) {
    const gboolean varies =
        !is_asked(column) || strcmp(((char **)varying->rows->pdata[0])[at++], "1") == 0;
    wanted[i] = is_wanted(column, varies, objective_of(columns, objectives, column->name));
  }
  return wanted;
}

/* --- A column --- */

static void append_facts_of(GString *out, const OrrPointsColumn *column, const OrrAnswer *defs) {
  ORR_EACH_POINTER(char *, def, defs->rows) {
    if (strcmp(def[0], column->table) != 0 || strcmp(def[1], column->source) != 0) continue;
    g_string_append_c(out, ',');
    append_pair(out, "unit", strcmp(def[2], "run") == 0 ? "" : def[2]);
    g_string_append_c(out, ',');
    append_pair(out, "sentence", def[3]);
    return;
  }
}

static const char *kind_word(const OrrPointsColumn *column) {
  const gboolean is_metric = column->kind == ORR_POINTS_RESULT ||
                             g_str_has_prefix(column->name, "objective_") ||
                             strcmp(column->name, "memory_bytes") == 0;
  return column->kind == ORR_POINTS_AXIS ? "axis" : is_metric ? "metric" : "fact";
}

/* The codes of the column's cells, and its distinct values in the order of their first; FALSE where
 * there are too many. */
static gboolean make_codes(const OrrAnswer *answer, guint at, GPtrArray *words, GArray *codes) {
  g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
  const guint most = MIN(MOST_WORDS, MAX(answer->rows->len / 4, 64));
  for (guint r = 0; r < answer->rows->len; r++) {
    char *cell = ((char **)answer->rows->pdata[r])[at];
    int code = cell ? GPOINTER_TO_INT(g_hash_table_lookup(known, cell)) - 1 : -1;
    if (cell && code < 0) {
      if (words->len == most && answer->is_number[at]) return FALSE;
      g_ptr_array_add(words, cell);
      code = (int)words->len - 1;
      g_hash_table_insert(known, cell, GINT_TO_POINTER(code + 1));
    }
    g_array_append_val(codes, code);
  }
  return TRUE;
}

static void append_cells(GString *out, const OrrAnswer *answer, guint at) {
  g_autoptr(GPtrArray) words = g_ptr_array_new();
  g_autoptr(GArray) codes = g_array_new(FALSE, FALSE, sizeof(int));
  if (!make_codes(answer, at, words, codes)) {
    g_string_append(out, ",\"values\":[");
    for (guint r = 0; r < answer->rows->len; r++) {
      if (r > 0) g_string_append_c(out, ',');
      append_value(out, ((char **)answer->rows->pdata[r])[at], TRUE);
    }
    g_string_append_c(out, ']');
    return;
  }
  g_string_append(out, ",\"dictionary\":[");
  for (guint i = 0; i < words->len; i++) {
    if (i > 0) g_string_append_c(out, ',');
    append_value(out, words->pdata[i], answer->is_number[at]);
  }
  g_string_append(out, "],\"codes\":[");
  for (guint r = 0; r < codes->len; r++)
    g_string_append_printf(out, "%s%d", r > 0 ? "," : "", g_array_index(codes, int, r));
  g_string_append_c(out, ']');
}

static void append_column(GString *out, const OrrPointsColumn *column, int objective,
                          char **objectives, const OrrAnswer *defs) {
  g_string_append_c(out, '{');
  append_pair(out, "name", column->name);
  g_string_append_c(out, ',');
  append_pair(out, "kind", kind_word(column));
  if (column->kind == ORR_POINTS_AXIS) {
    g_string_append_c(out, ',');
    append_pair(out, "path", column->source);
  }
  append_facts_of(out, column, defs);
  if (objective < 0) return;
  g_string_append_c(out, ',');
  append_pair(out, "label", objective_text(objectives[objective]));
  g_string_append_c(out, ',');
  append_pair(out, "better",
              g_str_has_prefix(objectives[objective], "maximize ") ? "more" : "less");
}

static void append_columns(GString *out, const GPtrArray *columns, char **objectives,
                           const gboolean *wanted, const OrrAnswer *answer, const OrrAnswer *defs) {
  guint at = 0;
  g_string_append(out, "\"columns\":[");
  ORR_EACH_POINTER_AT(i, const OrrPointsColumn, column, columns) {
    if (!wanted[i]) continue;
    if (at > 0) g_string_append(out, ",\n");
    append_column(out, column, objective_of(columns, objectives, column->name), objectives, defs);
    append_cells(out, answer, at++);
    g_string_append_c(out, '}');
  }
  g_string_append(out, "]}");
}

/* --- The rest --- */

/* Rows as arrays; their columns are texts, and numbers where @answer says so. */
static void append_rows(GString *out, const char *key, const OrrAnswer *answer) {
  g_string_append_printf(out, "\"%s\":[", key);
  for (guint r = 0; answer && r < answer->rows->len; r++) {
    g_string_append(out, r > 0 ? ",[" : "[");
    for (guint i = 0; i < answer->n_columns; i++) {
      if (i > 0) g_string_append_c(out, ',');
      append_value(out, ((char **)answer->rows->pdata[r])[i], answer->is_number[i]);
    }
    g_string_append_c(out, ']');
  }
  g_string_append(out, "],\n");
}

/* Error bands: the objective's column, run, low, high, and what a measurement would most likely
 * show. */
static gboolean append_bands(GString *out, OrrStore *store, gint64 sweep, const GPtrArray *columns,
                             char **objectives, GError **error) {
  static const char *const names[] = {"column", "run", "low", "high", "expected", NULL};
  static const gboolean is_number[] = {FALSE, TRUE, TRUE, TRUE, TRUE};
  g_autoptr(OrrAnswer) named = orr_answer_new(names, is_number);
  if (orr_store_has_column(store, "sweep_band", "high")) {
    g_autofree char *sql = g_strdup_printf(
        "SELECT objective, point_run, low, high, %s FROM sweep_band WHERE run_id = :run AND low < "
        "high",
        orr_store_has_column(store, "sweep_band", "expected") ? "expected" : "NULL");
    g_autoptr(OrrAnswer) bands = orr_store_query(store, sql, sweep, error);
    if (!bands) return FALSE;
    ORR_EACH_POINTER(char *, row, bands->rows) {
      const guint k = (guint)g_ascii_strtoull(row[0], NULL, 10);
      if (k == 0 || k > g_strv_length(objectives)) continue;
      g_autofree char *column = objective_column(columns, objectives, k - 1);
      orr_answer_add(named, (char *[]){column, row[1], row[2], row[3], row[4]});
    }
  }
  append_rows(out, "bands", named);
  return TRUE;
}

/* What `orrery run` takes in place of axes (table sweep_command). */
static gboolean append_commands(GString *out, OrrStore *store, gint64 sweep, GError **error) {
  g_autoptr(OrrAnswer) commands = NULL;
  if (orr_store_has_column(store, "sweep_command", "setting")) {
    commands = orr_store_query(
        store, "SELECT axes, setting FROM sweep_command WHERE run_id = :run ORDER BY rowid", sweep,
        error);
    if (!commands) return FALSE;
  }
  append_rows(out, "commands", commands);
  return TRUE;
}

/* @n_points of the page, of @n_all. */
static gboolean append_head(GString *out, OrrStore *store, gint64 sweep, const GPtrArray *columns,
                            char **objectives, guint n_points, gint64 n_all, GError **error) {
  g_autoptr(OrrAnswer) run =
      orr_store_query(store, "SELECT file FROM run WHERE id = :run", sweep, error);
  if (!run || run->rows->len == 0) return FALSE;
  g_string_append_printf(out, "{\"sweep\":%ld,\"points\":%u,", sweep, n_points);
  if (n_all > n_points) g_string_append_printf(out, "\"of\":%ld,", n_all);
  append_pair(out, "file", ((char **)run->rows->pdata[0])[0]);
  g_string_append(out, ",\"objectives\":[");
  for (guint k = 0; objectives[k]; k++) {
    g_autofree char *column = objective_column(columns, objectives, k);
    if (k > 0) g_string_append_c(out, ',');
    append_string(out, column);
  }
  g_string_append(out, "],\n");
  return append_commands(out, store, sweep, error) &&
         append_bands(out, store, sweep, columns, objectives, error);
}

static void append_heading(GString *html, guint n_points, gint64 n_all) {
  if (n_all <= n_points)
    g_string_append(html, "<h2>All points</h2>\n");
  else
    g_string_append_printf(
        html,
        "<h2>Points</h2>\n<p class=\"note\">%u of the %ld points: an even sample, the %d best by "
        "each objective, and those with error bands. The "
        "tables and pictures above count all points; <code>orrery query DB points</code> lists "
        "them.</p>\n",
        n_points, n_all, N_BEST);
}

static gboolean append_data(GString *html, OrrStore *store, gint64 sweep, const GPtrArray *columns,
                            gboolean *ret_is_there, GError **error) {
  gint64 n_all = 0;
  g_auto(GStrv) objectives = find_objectives(store, sweep, error);
  if (!objectives || !count_points(store, sweep, &n_all, error)) return FALSE;
  g_autofree char *condition = condition_of(store, sweep, n_all, objectives);
  g_autofree gboolean *wanted = choose_columns(store, columns, objectives, sweep, condition, error);
  if (!wanted) return FALSE;
  g_autofree char *select = orr_store_points_select(columns, sweep, wanted);
  g_autofree char *sql = g_strconcat(select, condition, " ORDER BY p.run_id", NULL);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, sweep, error);
  g_autoptr(OrrAnswer) defs =
      orr_store_query(store, "SELECT table_name, name, unit, sentence FROM metric_def", 0, error);
  if (!answer || !defs) return FALSE;
  *ret_is_there = answer->rows->len > 0;
  if (!*ret_is_there) return TRUE;
  append_heading(html, answer->rows->len, n_all);
  g_string_append(html, orr_report_part("explorer-body"));
  g_string_append(html, "<script type=\"application/json\" id=\"explorer-data\">\n");
  if (!append_head(html, store, sweep, columns, objectives, answer->rows->len, n_all, error))
    return FALSE;
  append_columns(html, columns, objectives, wanted, answer, defs);
  g_string_append(html, "\n</script>\n");
  return TRUE;
}

gboolean orr_report_append_explorer(GString *html, OrrStore *store, gint64 sweep,
                                    gboolean *ret_is_there, GError **error) {
  g_autoptr(GPtrArray) columns = orr_store_points_columns(store, sweep, error);
  *ret_is_there = FALSE;
  if (!columns) return FALSE;
  return columns->len == 0 || append_data(html, store, sweep, columns, ret_is_there, error);
}
