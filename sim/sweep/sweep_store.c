/*
 * sweep_store.c - a sweep in the results database.
 *
 * The sweep is a run of kind "sweep", number S, with the whole document. Point p is the run S + 1 +
 * p, whatever process simulates it and when, so that the rows do not depend on the number of
 * workers. A point's run has its settings instead of a document, its axes as params, its result,
 * and the mean time by kind as one lane for all GPUs. This is what the views of runs read, in less
 * than 2 KB.
 */
#include "sim/sweep/sweep_store.h"

#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_combination.h"

typedef struct {
  gint64 n_points, n_combinations;
  char *sampler, *objective, *constraints;
} SweepRow;

const OrrFieldTable orr_sweep_table = ORR_FIELDS(
    "sweep", "One row per sweep.", SweepRow,
    ORR_FIELD_INT(
        SweepRow, "n-points", n_points, NULL,
        "Number of points; point p is the run run_id + 1 + p, and these numbers are reserved."),
    ORR_FIELD_INT(SweepRow, "n-combinations", n_combinations, NULL,
                  "Number of combinations of the axes' values."),
    ORR_FIELD_TEXT(SweepRow, "sampler", sampler, NULL, "The sampler that chose the points."),
    ORR_FIELD_TEXT(SweepRow, "objective", objective, NULL, "The objectives, separated by '; '."),
    ORR_FIELD_TEXT(SweepRow, "constraints", constraints, NULL,
                   "The constraints, separated by '; '."));

typedef struct {
  char *reason;
  gint64 combinations;
} ExcludedRow;

const OrrFieldTable orr_sweep_excluded_table = ORR_FIELDS(
    "sweep_excluded", "One row per reason for excluding combinations of a sweep.", ExcludedRow,
    ORR_FIELD_TEXT(ExcludedRow, "reason", reason, NULL,
                   "The constraint, or the message of the workload's check, with # for numbers."),
    ORR_FIELD_INT(ExcludedRow, "combinations", combinations, NULL,
                  "Number of combinations that it excluded."));

typedef struct {
  char *axes, *setting;
} CommandRow;

const OrrFieldTable orr_sweep_command_table = ORR_FIELDS(
    "sweep_command",
    "One row per setting that `orrery run` takes in place of some axes, or besides them, to "
    "simulate a point of the sweep by itself.",
    CommandRow,
    ORR_COLUMN_TEXT(CommandRow, "axes", axes,
                    "Values of the axes that the setting replaces, 'path=value' separated by '; '; "
                    "NULL: it is one more setting of every point."),
    ORR_FIELD_TEXT(CommandRow, "setting", setting, NULL, "Arguments for --set of `orrery run`."));

typedef struct {
  gint64 sweep, point, rung;
  int status;
  char *reason;
  gboolean eligible;
  double score[ORR_SWEEP_MOST_OBJECTIVES];
  double least_s, memory_bytes;
} PointRow;

const OrrFieldTable orr_sweep_point_table = ORR_FIELDS(
    "sweep_point", "One row per point of a sweep.", PointRow,
    ORR_FIELD_INT(PointRow, "sweep", sweep, NULL, "The run of the sweep.", .flags = ORR_FIELD_RUN),
    ORR_FIELD_INT(PointRow, "point", point, NULL, "The number of the point in the sweep, from 0."),
    ORR_FIELD_INT(PointRow, "rung", rung, NULL,
                  "0; in databases of 0.1.0 the rung of the sampler, whose last has the result."),
    ORR_FIELD_WORD(PointRow, "status", status, orr_point_words, NULL,
                   "ok; unfit: its memory does not fit, so it was not simulated; refused; failed; "
                   "crashed; timeout; pruned: its bound rules it out, so it was not simulated."),
    ORR_COLUMN_TEXT(PointRow, "reason", reason,
                    "Why the point is not ok; of an ok point the constraint that it violates."),
    ORR_FIELD_BOOL(PointRow, "eligible", eligible, NULL,
                   "Whether the point is ok and satisfies the constraints on results."),
    ORR_FIELD_REAL(PointRow, "objective-1", score[0], ORR_UNIT_NONE, NULL,
                   "The value of the first objective."),
    ORR_FIELD_REAL(PointRow, "objective-2", score[1], ORR_UNIT_NONE, NULL,
                   "The value of the second objective."),
    ORR_FIELD_REAL(PointRow, "objective-3", score[2], ORR_UNIT_NONE, NULL,
                   "The value of the third objective."),
    ORR_FIELD_REAL(PointRow, "objective-4", score[3], ORR_UNIT_NONE, NULL,
                   "The value of the fourth objective."),
    ORR_FIELD_REAL(PointRow, "least-s", least_s, ORR_UNIT_SECONDS, NULL,
                   "Of a pruned point: seconds that a step takes at least."),
    ORR_FIELD_REAL(
        PointRow, "memory-bytes", memory_bytes, ORR_UNIT_BYTES, NULL,
        "Memory that the fullest GPU needs, as known before a simulation: also of points "
        "that do not fit."));

/* --- The sweep --- */

static char *join_rules(const GPtrArray *rules) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < rules->len; i++)
    g_string_append_printf(text, "%s%s", i > 0 ? "; " : "",
                           ((const OrrSweepRule *)rules->pdata[i])->text);
  return g_string_free(text, FALSE);
}

static gboolean add_excluded(OrrStore *store, const GArray *excluded, GError **error) {
  ORR_EACH(const OrrSweepExclusion, one, excluded) {
    const ExcludedRow row = {one->reason, (gint64)one->n};
    if (!orr_store_add_row(store, &orr_sweep_excluded_table, &row, error)) return FALSE;
  }
  return TRUE;
}

static gboolean add_command(const char *axes, const char *setting, void *user, GError **error) {
  const CommandRow row = {(char *)axes, (char *)setting};
  return orr_store_add_row(user, &orr_sweep_command_table, &row, error);
}

static gboolean add_question(OrrStore *store, const char *question, GError **error) {
  return !question || orr_store_add_param(store, "question", question, error);
}

gboolean orr_sweep_store_begin(OrrStore *store, const OrrSweepPlan *plan, guint64 n_points,
                               const GArray *excluded, gint64 *sweep, GError **error) {
  const OrrRunFacts facts = {.id = *sweep,
                             .scenario = plan->base->name,
                             .kind = "sweep",
                             .file = plan->file,
                             .hash = plan->hash,
                             .resolved = plan->resolved,
                             .tool_version = ORR_VERSION,
                             .engine = "",
                             .fidelity = ""};
  g_autofree char *objective = join_rules(plan->objectives),
                  *constraints = join_rules(plan->wheres);
  const SweepRow row = {(gint64)n_points, (gint64)plan->n_combinations,
                        (char *)plan->section.sampler.entry->name, objective, constraints};
  if (!orr_store_begin_run(store, &facts, sweep, error)) return FALSE;
  if (!add_question(store, plan->base->question, error) ||
      !orr_store_add_row(store, &orr_sweep_table, &row, error) ||
      !add_excluded(store, excluded, error) ||
      !orr_sweep_combination_commands(plan, add_command, store, error)) {
    orr_store_abandon_run(store);
    return FALSE;
  }
  return orr_store_end_run(store, 0, error);
}

/* --- A point --- */

/* The settings of the point, as the document of its run. */
static char *settings_text(char *const *settings) {
  GString *text = g_string_new("# The scenario of the sweep with\n");
  for (; *settings; settings++) {
    const char *equals = strchr(*settings, '=');
    g_string_append_printf(text, "%.*s: %s\n", (int)(equals - *settings), *settings, equals + 1);
  }
  return g_string_free(text, FALSE);
}

static char *hash_point(const OrrSweepPlan *plan, const OrrSweepAnswer *answer) {
  g_autofree char *text =
      g_strdup_printf("%s 0 %" G_GUINT64_FORMAT, plan->hash, answer->combination);
  return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static gboolean add_params(OrrStore *store, char *const *settings, GError **error) {
  for (; *settings; settings++) {
    char *equals = strchr(*settings, '=');
    *equals = '\0';
    const gboolean is_added = orr_store_add_param(store, *settings, equals + 1, error);
    *equals = '=';
    if (!is_added) return FALSE;
  }
  return TRUE;
}

/* Adds the mean time of all GPUs by kind, as one lane. */
static gboolean add_times(OrrStore *store, const OrrSweepAnswer *answer, GError **error) {
  static char all[] = "all GPUs";
  double end_s = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) end_s += answer->seconds[kind];
  if (!(end_s > 0)) return TRUE;
  const OrrLaneRow lane = {.name = all,
                           .multiplicity = answer->result.training.n_gpus,
                           .wait_s = answer->seconds[ORR_TIME_BUBBLE],
                           .other_s = answer->seconds[ORR_TIME_HOST],
                           .comm_s = NAN,
                           .compute_s = NAN,
                           .end_s = end_s};
  if (!orr_store_add_row(store, &orr_lane_table, &lane, error)) return FALSE;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    const OrrTimeRow row = {0, (char *)orr_time_words[kind], answer->seconds[kind],
                            answer->seconds[kind] / end_s};
    if (row.seconds > 0 && !orr_store_add_row(store, &orr_time_kind_table, &row, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean add_rows(OrrStore *store, const OrrSweepPlan *plan, gint64 sweep,
                         const OrrSweepAnswer *answer, char *const *settings, GError **error) {
  const gboolean ok = answer->status == ORR_POINT_OK;
  PointRow row = {sweep,
                  (gint64)answer->point,
                  0,
                  answer->status,
                  *answer->reason ? (char *)answer->reason : NULL,
                  answer->eligible,
                  {NAN, NAN, NAN, NAN},
                  answer->status == ORR_POINT_PRUNED ? answer->least_s : NAN,
                  answer->memory_bytes > 0 ? answer->memory_bytes : NAN};
  for (guint i = 0; ok && i < plan->objectives->len; i++) row.score[i] = answer->score[i];
  if (!orr_store_add_row(store, &orr_sweep_point_table, &row, error) ||
      !add_params(store, settings, error))
    return FALSE;
  if (!ok) return TRUE;
  return orr_store_add_row(store, plan->kind->result, &answer->result, error) &&
         (plan->kind->result != &orr_training_result_table || add_times(store, answer, error));
}

static gboolean add_likeness(OrrStore *store, const OrrSweepAnswer *answer, GError **error) {
  g_autofree OrrLikenessRow *likeness = orr_sweep_likeness_unpack(&answer->likeness);
  return !likeness || orr_store_add_row(store, &orr_likeness_table, likeness, error);
}

gboolean orr_sweep_store_point(OrrStore *store, const OrrSweepPlan *plan, gint64 sweep,
                               const OrrSweepAnswer *answer, gboolean with_likeness,
                               GError **error) {
  g_auto(GStrv) settings = orr_sweep_combination_settings(plan, answer->combination);
  g_autofree char *text = settings_text(settings), *hash = hash_point(plan, answer);
  const OrrRunFacts facts = {
      .scenario = plan->base->name,
      .kind = plan->base->workload.entry->name,
      .file = plan->file,
      .hash = hash,
      .resolved = text,
      .tool_version = ORR_VERSION,
      .engine = answer->engine,
      .fidelity = answer->status == ORR_POINT_OK ? answer->folded ? "folded" : "full" : "",
      .wall_time_s = answer->wall_time_s,
      .id = sweep + 1 + (gint64)answer->point};
  if (!orr_store_begin_run(store, &facts, NULL, error)) return FALSE;
  if (!add_rows(store, plan, sweep, answer, settings, error) ||
      (with_likeness && !add_likeness(store, answer, error))) {
    orr_store_abandon_run(store);
    return FALSE;
  }
  return orr_store_end_run(store, answer->wall_time_s, error);
}

/* --- Resuming --- */

static gint64 number_at(const OrrAnswer *answer, guint row, guint column) {
  const char *text = ((char **)answer->rows->pdata[row])[column];
  return text ? g_ascii_strtoll(text, NULL, 10) : 0;
}

static gboolean has_sweeps(OrrStore *store) {
  g_autoptr(OrrAnswer) answer = orr_store_query(
      store, "SELECT count(*) FROM sqlite_schema WHERE name IN ('sweep', 'sweep_point')", 0, NULL);
  return answer && number_at(answer, 0, 0) > 0;
}

gboolean orr_sweep_store_find(OrrStore *store, const OrrSweepPlan *plan, gint64 run,
                              gint64 *ret_sweep, guint64 *ret_n_points, GError **error) {
  *ret_sweep = 0;
  if (!has_sweeps(store)) return TRUE;
  g_autofree char *sql =
      g_strdup_printf("SELECT run.id, sweep.n_points FROM run JOIN sweep ON sweep.run_id = run.id"
                      " WHERE run.hash = '%s' AND %ld IN (0, run.id)"
                      " ORDER BY run.id DESC LIMIT 1",
                      plan->hash, run);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
  if (!answer) return FALSE;
  if (answer->rows->len == 0) return TRUE;
  *ret_sweep = number_at(answer, 0, 0);
  *ret_n_points = (guint64)number_at(answer, 0, 1);
  return TRUE;
}

#define WINDOW 4096 /* points per query, so that memory does not grow with the sweep */

gboolean orr_sweep_store_visit(OrrStore *store, gint64 sweep, guint64 n_points, OrrSweepVisit visit,
                               void *user, GError **error) {
  g_autoptr(OrrAnswer) known = orr_store_query(
      store, "SELECT count(*) FROM sqlite_schema WHERE name = 'sweep_point'", 0, error);
  if (!known) return FALSE;
  for (guint64 from = 0; number_at(known, 0, 0) > 0 && from < n_points; from += WINDOW) {
    g_autofree char *sql =
        g_strdup_printf("SELECT point, status, eligible, objective_1, objective_2, "
                        "objective_3, objective_4, reason FROM sweep_point"
                        " WHERE run_id > %ld AND run_id <= %ld AND sweep = %ld ORDER BY run_id",
                        sweep + (gint64)from, sweep + (gint64)MIN(from + WINDOW, n_points), sweep);
    g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
    if (!answer) return FALSE;
    ORR_EACH_POINTER_AT(r, char *, row, answer->rows) {
      OrrSweepAnswer one = {.point = (guint64)number_at(answer, r, 0),
                            .eligible = (gint32)number_at(answer, r, 2)};
      while (orr_point_words[one.status] && strcmp(orr_point_words[one.status], row[1]) != 0)
        one.status++;
      for (guint i = 0; i < ORR_SWEEP_MOST_OBJECTIVES; i++)
        one.score[i] = row[3 + i] ? g_ascii_strtod(row[3 + i], NULL) : NAN;
      if (row[7]) g_strlcpy(one.reason, row[7], sizeof one.reason);
      visit(&one, user);
    }
  }
  return TRUE;
}
