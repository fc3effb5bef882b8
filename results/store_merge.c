/*
 * store_merge.c - copies the runs of another database into this one: shards of a sweep, or a
 * colleague's runs.
 *
 * Runs are copied in the order of their numbers and get the next free numbers. Columns that hold a
 * run's number (metric_def.unit is 'run') are mapped; 0, no run, stays 0.
 *
 *   a sweep      of the same document: its points join the points here, at the same position (run =
 *                sweep + 1 + point), so that shards of one sweep form the whole. Where this
 *                database has the sweep more than once, the one with the same number, else the same
 *                version, else the newest. Otherwise it is a new sweep, whose numbers are reserved
 *                before the numbers of any other run.
 *   a point      skipped where this database has it: a duplicate where its rows are equal, else
 *                `differing`
 *   other runs   skipped where a run with the same scenario, hash and version has equal rows
 *                (except wall times). A run with the same hash and different rows (with spans, say)
 *                is added and counts as `differing`. Two equal runs in one file stay two.
 *
 * Memory holds one number per run, and the hashes of the runs here that are not points.
 */
#include <sys/stat.h>

#include "results/store_private.h"

typedef struct {
  OrrStore *store, *source;
  OrrTransfer transfer;
  /* identity of each run before this merge, except points -> GArray of their numbers */
  GHashTable *known;
  gint64 next;                                     /* the next run's number */
  sqlite3_stmt *sweep_of, *n_points, *known_sweep; /* NULL where there are no sweeps */
  sqlite3_stmt *run_here, *insert;
  OrrMergeFacts facts;
} Merge;

static void merge_clear(Merge *merge) {
  orr_transfer_clear(&merge->transfer);
  g_clear_pointer(&merge->known, g_hash_table_unref);
  sqlite3_finalize(merge->sweep_of);
  sqlite3_finalize(merge->n_points);
  sqlite3_finalize(merge->known_sweep);
  sqlite3_finalize(merge->run_here);
  sqlite3_finalize(merge->insert);
  orr_store_free(merge->source);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Merge, merge_clear)

static const char *text_at(sqlite3_stmt *stmt, int column) {
  return (const char *)sqlite3_column_text(stmt, column);
}

/* The number that @stmt returns for the run @id; 0 without a row. */
static gint64 number_for(sqlite3_stmt *stmt, gint64 id) {
  if (!stmt) return 0;
  sqlite3_bind_int64(stmt, 1, id);
  const gint64 number = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
  sqlite3_reset(stmt);
  return number;
}

/* --- Runs here --- */

/* The columns read of each run: its number, its identity, and the rest. */
enum {
  AT_ID,
  AT_SCENARIO,
  AT_KIND,
  AT_HASH,
  AT_VERSION,
  AT_ENGINE,
  AT_FIDELITY,
  N_IDENTITY,
  AT_ORIGIN = 11,
  N_AT
};
#define IDENTITY "id, scenario, kind, hash, tool_version, engine, fidelity"
#define THE_REST "started_at, wall_time_s, origin"

/* The identity of a run: a text that is equal for runs that can have equal rows. */
static char *identity(sqlite3_stmt *run) {
  GString *text = g_string_new(NULL);
  for (int i = AT_SCENARIO; i < N_IDENTITY; i++) {
    g_string_append(text, text_at(run, i) ? text_at(run, i) : "");
    g_string_append_c(text, '\n');
  }
  return g_string_free(text, FALSE);
}

static void free_numbers(gpointer numbers) { g_array_unref(numbers); }

static gboolean learn_runs(Merge *merge, GError **error) {
  g_autoptr(GError) reason = NULL;
  const gboolean has_points = orr_store_has_column(merge->store, "sweep_point", "sweep");
  g_autoptr(sqlite3_stmt) runs = orr_store_prepare(
      merge->store,
      has_points ? "SELECT " IDENTITY
                   " FROM run WHERE id NOT IN (SELECT run_id FROM sweep_point) ORDER BY id"
                 : "SELECT " IDENTITY " FROM run ORDER BY id",
      error);
  merge->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_numbers);
  if (!runs) return FALSE;
  while (orr_store_next_row(merge->store, runs, &reason)) {
    g_autofree char *what = identity(runs);
    GArray *numbers = g_hash_table_lookup(merge->known, what);
    const gint64 id = sqlite3_column_int64(runs, AT_ID);
    if (!numbers) {
      numbers = g_array_new(FALSE, FALSE, sizeof(gint64));
      g_hash_table_insert(merge->known, g_steal_pointer(&what), numbers);
    }
    g_array_append_val(numbers, id);
  }
  if (!reason) return TRUE;
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

/* --- A run there --- */

/* Copies the row of table `run` under the number @here. Only runs outside sweeps record their
 * origin. */
static gboolean add_run(Merge *merge, sqlite3_stmt *run, gint64 here, gboolean has_origin,
                        GError **error) {
  const gint64 there = sqlite3_column_int64(run, AT_ID);
  sqlite3_bind_int64(merge->insert, 1, here);
  for (int i = AT_SCENARIO; i < N_AT; i++)
    sqlite3_bind_value(merge->insert, i + 1, sqlite3_column_value(run, i));
  if (has_origin && sqlite3_column_type(run, AT_ORIGIN) == SQLITE_NULL) {
    g_autofree char *name = g_path_get_basename(merge->source->path);
    g_autofree char *origin = g_strdup_printf("%s, run %ld", name, there);
    sqlite3_bind_text(merge->insert, AT_ORIGIN + 1, origin, -1, SQLITE_TRANSIENT);
  }
  orr_transfer_note(&merge->transfer, there, here, TRUE);
  return orr_store_step(merge->store, merge->insert, "cannot add a run", error);
}

static gboolean take_point(Merge *merge, sqlite3_stmt *run, gint64 sweep, GError **error) {
  const gint64 there = sqlite3_column_int64(run, AT_ID);
  const gint64 here = orr_transfer_number(&merge->transfer, sweep) + there - sweep;
  sqlite3_bind_int64(merge->run_here, 1, here);
  const gboolean is_here = sqlite3_step(merge->run_here) == SQLITE_ROW;
  const gboolean is_same = is_here &&
                           g_strcmp0(text_at(merge->run_here, 0), text_at(run, AT_HASH)) == 0 &&
                           orr_transfer_is_same(&merge->transfer, there, here);
  sqlite3_reset(merge->run_here);
  if (is_here) {
    orr_transfer_note(&merge->transfer, there, here, FALSE);
    *(is_same ? &merge->facts.duplicates : &merge->facts.differing) += 1;
    return TRUE;
  }
  merge->facts.points++;
  return add_run(merge, run, here, FALSE, error);
}

static gint64 find_sweep(const Merge *merge, sqlite3_stmt *run) {
  sqlite3_bind_value(merge->known_sweep, 2, sqlite3_column_value(run, AT_HASH));
  sqlite3_bind_value(merge->known_sweep, 3, sqlite3_column_value(run, AT_VERSION));
  return number_for(merge->known_sweep, sqlite3_column_int64(run, AT_ID));
}

static gboolean take_sweep(Merge *merge, sqlite3_stmt *run, GError **error) {
  const gint64 there = sqlite3_column_int64(run, AT_ID), known = find_sweep(merge, run),
               here = merge->next;
  if (known) {
    orr_transfer_note(&merge->transfer, there, known, FALSE);
    return TRUE;
  }
  merge->next += 1 + number_for(merge->n_points, there);
  merge->facts.runs++;
  return add_run(merge, run, here, FALSE, error);
}

/* The run here that equals the run there; 0: none. *@ret_is_known: a run here has the same hash. */
static gint64 find_equal(const Merge *merge, sqlite3_stmt *run, gboolean *ret_is_known) {
  g_autofree char *what = identity(run);
  const GArray *numbers = g_hash_table_lookup(merge->known, what);
  *ret_is_known = numbers != NULL;
  ORR_EACH_VALUE(const gint64, here, numbers)
    if (orr_transfer_is_same(&merge->transfer, sqlite3_column_int64(run, AT_ID), here)) return here;
  return 0;
}

static gboolean take_run(Merge *merge, sqlite3_stmt *run, GError **error) {
  const gint64 there = sqlite3_column_int64(run, AT_ID);
  const gint64 sweep = number_for(merge->sweep_of, there);
  if (sweep) return take_point(merge, run, sweep, error);
  if (merge->known_sweep && g_strcmp0(text_at(run, AT_KIND), "sweep") == 0)
    return take_sweep(merge, run, error);
  gboolean is_known = FALSE;
  const gint64 here = find_equal(merge, run, &is_known);
  if (here) {
    orr_transfer_note(&merge->transfer, there, here, FALSE);
    merge->facts.duplicates++;
    return TRUE;
  }
  merge->facts.differing += is_known;
  merge->facts.runs++;
  return add_run(merge, run, merge->next++, TRUE, error);
}

/* --- Entry point --- */

/* Called when all tables of the other database, sweeps included, exist here. */
static gboolean prepare(Merge *merge, GError **error) {
  static const char insert[] = "INSERT INTO run (" IDENTITY ", file, resolved, " THE_REST ")"
                               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
  static const char known[] =
      "SELECT run.id FROM run JOIN sweep ON sweep.run_id = run.id WHERE run.hash = ?2"
      " ORDER BY run.id = ?1 DESC, run.tool_version = ?3 DESC, run.id DESC LIMIT 1";
  const OrrStore *source = merge->source;
  const gboolean has_sweeps = orr_store_has_column(source, "sweep", "n_points");
  const gboolean has_points = orr_store_has_column(source, "sweep_point", "sweep");
  return (merge->insert = orr_store_prepare(merge->store, insert, error)) &&
         (merge->run_here =
              orr_store_prepare(merge->store, "SELECT hash FROM run WHERE id = ?1", error)) &&
         (!has_sweeps || ((merge->known_sweep = orr_store_prepare(merge->store, known, error)) &&
                          (merge->n_points = orr_store_prepare(
                               source, "SELECT n_points FROM sweep WHERE run_id = ?1", error)))) &&
         (!has_points || (merge->sweep_of = orr_store_prepare(
                              source, "SELECT sweep FROM sweep_point WHERE run_id = ?1", error))) &&
         orr_store_next_run(merge->store, &merge->next, error);
}

static gboolean take_runs(Merge *merge, GError **error) {
  g_autoptr(GError) reason = NULL;
  const gboolean has_origin = orr_store_has_column(merge->source, "run", "origin");
  g_autofree char *sql = g_strdup_printf(
      "SELECT " IDENTITY ", file, %s, " THE_REST " FROM %s ORDER BY id", orr_store_resolved,
      has_origin ? "run" : "(SELECT *, NULL AS origin FROM run)");
  g_autoptr(sqlite3_stmt) runs = orr_store_prepare(merge->source, sql, error);
  if (!runs) return FALSE;
  while (orr_store_next_row(merge->source, runs, &reason) && take_run(merge, runs, &reason))
    continue;
  if (!reason) return TRUE;
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

static gboolean check_other(const OrrStore *store, const char *path, GError **error) {
  struct stat here, there;
  if (stat(store->path, &here) != 0 || stat(path, &there) != 0)
    return TRUE; /* opening will report the reason */
  if (here.st_dev != there.st_dev || here.st_ino != there.st_ino) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "%s: is the database itself", path);
}

gboolean orr_store_merge(OrrStore *store, const char *path, OrrMergeFacts *ret_facts,
                         GError **error) {
  if (!store->in_batch)
    return orr_fault_set(error, ORR_FAULT_INTERNAL, "%s: merging wants a batch", store->path);
  if (!check_other(store, path, error)) return FALSE;
  g_auto(Merge) merge = {.store = store, .source = orr_store_open_read(path, error)};
  if (!merge.source) return FALSE;
  if (orr_store_has_column(merge.source, "run",
                           "id")) /* else its creator was killed before the first commit */
    if (!orr_store_exec(merge.source, "BEGIN", error) || !learn_runs(&merge, error) ||
        !orr_transfer_init(&merge.transfer, store, merge.source, error) ||
        !prepare(&merge, error) || !take_runs(&merge, error) ||
        !orr_transfer_rows(&merge.transfer, error))
      return FALSE;
  orr_store_forget_inserts(store); /* tables can have gained columns */
  store->has_new_tables = TRUE;
  if (!orr_store_views_make(store, error) || !orr_store_points_views(store, error)) return FALSE;
  if (ret_facts) *ret_facts = merge.facts;
  return TRUE;
}
