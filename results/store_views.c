/*
 * store_views.c - views that lie in the database itself, for any client of SQLite: SELECT * FROM
 * runs.
 *
 * They are made, and made again, in the transaction that creates a table, so that a view supplies
 * what is missing (views.c) only as long as it is missing. A database can come from a stranger: a
 * table that has the name of a view is left alone, and Orrery itself never reads these views.
 */
#include "results/store_private.h"

static const OrrView stored[] = {
    {"runs", "Which runs are in this database, with what result?",
     "-- reads: training_result(n_gpus, tp, pp, dp, cp, iteration_time_s, tokens_per_s, mfu, "
     "memory_peak_bytes, fits); serving_result(requests_per_s, goodput_rps, output_tokens_per_s, "
     "ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s)\n"
     "SELECT run.id AS run_id, run.started_at, run.scenario, run.kind, run.file,\n"
     "  t.n_gpus, t.tp, t.pp, t.dp, t.cp, t.iteration_time_s, t.tokens_per_s, t.mfu,\n"
     "  t.memory_peak_bytes, t.fits, s.requests_per_s, s.goodput_rps, s.output_tokens_per_s,\n"
     "  s.ttft_mean_s, s.ttft_p99_s, s.tpot_mean_s, s.tpot_p99_s, run.wall_time_s\n"
     "FROM run\n"
     "LEFT JOIN training_result t ON t.run_id = run.id\n"
     "LEFT JOIN serving_result s ON s.run_id = run.id"},
    {"points", "Which points have the sweeps, with what result?",
     "-- reads: sweep_point(sweep, point, status, eligible, reason, objective_1, objective_2, "
     "memory_bytes); "
     "training_result(iteration_time_s, tokens_per_s, mfu, fits); "
     "serving_result(requests_per_s, goodput_rps, output_tokens_per_s, ttft_p99_s, tpot_p99_s)\n"
     "SELECT p.sweep, p.point, p.run_id, p.status, p.eligible,\n"
     "  (SELECT group_concat(path || '=' || value, ', ') FROM param WHERE run_id = p.run_id)\n"
     "    AS settings,\n"
     "  p.objective_1, p.objective_2, t.iteration_time_s, t.tokens_per_s, t.mfu,\n"
     "  p.memory_bytes, t.fits, s.requests_per_s, s.goodput_rps, s.output_tokens_per_s,\n"
     "  s.ttft_p99_s, s.tpot_p99_s, p.reason\n"
     "FROM sweep_point p\n"
     "LEFT JOIN training_result t ON t.run_id = p.run_id\n"
     "LEFT JOIN serving_result s ON s.run_id = p.run_id"},
    {"steps", "Which steps have the training runs?",
     "-- reads: step(step, begin_s, end_s, repeated)\n"
     "SELECT run.scenario, s.*, s.end_s - s.begin_s AS seconds\n"
     "FROM step s JOIN run ON run.id = s.run_id"},
    {"requests", "Which requests have the serving runs?",
     "-- reads: serving_request(request)\n"
     "SELECT run.scenario, r.* FROM serving_request r JOIN run ON run.id = r.run_id"},
    {"breakdown", "Where does the time of each training run go?",
     "-- reads: time_kind(lane, category, seconds, fraction); lane(lane, multiplicity)\n"
     "SELECT k.run_id, run.scenario, k.category,\n"
     "  sum(k.seconds * l.multiplicity) / ranks.n AS mean_s,\n"
     "  100 * sum(k.fraction * l.multiplicity) / ranks.n AS percent\n"
     "FROM time_kind k\n"
     "JOIN lane l ON l.run_id = k.run_id AND l.lane = k.lane\n"
     "JOIN (SELECT run_id, sum(multiplicity) AS n FROM lane GROUP BY run_id) ranks\n"
     "  ON ranks.run_id = k.run_id\n"
     "JOIN run ON run.id = k.run_id\n"
     "GROUP BY k.run_id, k.category"},
};

static gboolean make_view(const OrrStore *store, const OrrView *view, GError **error) {
  const char *kind = orr_foreign_kind(store->db, view->name);
  if (g_strcmp0(kind, "table") == 0 || g_strcmp0(kind, "virtual table") == 0) return TRUE;
  g_autofree char *select = orr_views_statement(store, view);
  g_autofree char *sql =
      g_strdup_printf("DROP VIEW IF EXISTS \"%s\";\nCREATE VIEW \"%s\" AS\n-- %s\n%s", view->name,
                      view->name, view->question, select);
  return orr_store_exec(store, sql, error);
}

gboolean orr_store_views_make(OrrStore *store, GError **error) {
  if (!store->has_new_tables) return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(stored); i++)
    if (!make_view(store, &stored[i], error)) return FALSE;
  store->has_new_tables = FALSE;
  return TRUE;
}

const OrrView *orr_store_views(guint *ret_n) {
  *ret_n = G_N_ELEMENTS(stored);
  return stored;
}
