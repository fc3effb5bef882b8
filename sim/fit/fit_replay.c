/*
 * fit_replay.c - sets a row's load and the constants in a copy of the scenario's tree, and replays
 * it briefly (study.h).
 */
#include "sim/fit/fit_stack.h"

#include "sim/study/study.h"

typedef struct {
  const OrrFitReplays *replays;
  const OrrFitTask *tasks;
} Work;

static gboolean set(OrrNode *tree, const char *path, const char *text, GError **error) {
  return orr_field_set(&orr_scenario_table, tree, path, text, error);
}

static gboolean set_number(OrrNode *tree, const char *path, double value, const char *unit,
                           GError **error) {
  if (isnan(value)) return TRUE;
  g_autofree char *text = g_strdup_printf("%.17g%s%s", value, *unit ? " " : "", unit);
  return set(tree, path, text, error);
}

static gboolean set_load(OrrNode *tree, const OrrFitRow *row, GError **error) {
  double concurrency = row->cells[ORR_FIT_CONCURRENCY];
  const double rate = row->cells[ORR_FIT_RATE];
  if (isnan(concurrency) && isinf(rate)) concurrency = row->cells[ORR_FIT_REQUESTS];
  if (!isnan(concurrency) && !isinf(concurrency)) {
    const OrrNode *load = orr_node_get(orr_node_get(tree, "workload"), "load");
    const char *kind = load ? orr_node_get_text(load, "kind") : NULL;
    if (g_strcmp0(kind, "closed-loop") != 0 &&
        !set(tree, "workload.load", "{kind: closed-loop, concurrency: 1}", error))
      return FALSE;
    return set_number(tree, "workload.load.concurrency", rint(concurrency), "", error);
  }
  if (isnan(rate) || isinf(rate)) return TRUE;
  g_autofree char *load = g_strdup_printf("{kind: poisson, rate: %.17g}", rate);
  return set(tree, "workload.load", load, error);
}

/* The row's load on the system. */
static gboolean set_row(OrrNode *tree, const OrrFitRow *row, GError **error) {
  const double *cells = row->cells;
  return set_load(tree, row, error) &&
         set_number(tree, "workload.requests", rint(cells[ORR_FIT_REQUESTS]), "", error) &&
         set_number(tree, "workload.input.tokens", rint(cells[ORR_FIT_INPUT_TOKENS]), "", error) &&
         set_number(tree, "workload.output.tokens", rint(cells[ORR_FIT_OUTPUT_TOKENS]), "",
                    error) &&
         set_number(tree, "workload.batch.global", rint(cells[ORR_FIT_GLOBAL_BATCH]), "", error);
}

static gboolean set_constants(const OrrFitReplays *replays, const OrrFitTask *task, OrrNode *tree,
                              GError **error) {
  for (guint i = 0; i < replays->n_constants; i++) {
    g_autofree char *path = g_strdup_printf("workload.%s", replays->constants[i].path);
    const OrrFitConstant *constant = &replays->constants[i];
    const double value = constant->is_whole ? rint(task->values[i]) : task->values[i];
    if (!set_number(tree, path, value, constant->unit, error)) return FALSE;
  }
  if (replays->is_exposed && !isnan(task->values[0]))
    return set(tree, "workload.engine.host.exposed", "100 %", error);
  return TRUE;
}

static OrrNode *tree_of(guint index, void *user, GError **error) {
  const Work *work = user;
  const OrrFitTask *task = &work->tasks[index];
  g_autoptr(OrrNode) tree = orr_node_copy(work->replays->tree);
  return set_row(tree, work->replays->rows->pdata[task->row], error) &&
                 set_constants(work->replays, task, tree, error)
             ? g_steal_pointer(&tree)
             : NULL;
}

static void take(const OrrStudyAnswer *answer, double *ret_values) {
  for (int i = 0; i < ORR_FIT_N_COLUMNS; i++) ret_values[i] = NAN;
  if (strcmp(answer->kind->entry.name, "training") == 0) {
    ret_values[ORR_FIT_ITERATION] = answer->result.training.iteration_time_s;
  } else {
    ret_values[ORR_FIT_TTFT] = answer->result.serving.ttft.mean;
    ret_values[ORR_FIT_TPOT] = answer->result.serving.tpot.mean;
    ret_values[ORR_FIT_E2E] = answer->result.serving.e2e.mean;
  }
}

GHashTable *orr_fit_known_new(void) {
  return g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, g_free);
}

/* Where the values of @task are known, or will be; NULL: nowhere. */
static double *known_at(const OrrFitReplays *replays, const OrrFitTask *task) {
  g_autoptr(GBytes) key = g_bytes_new_static(task, sizeof *task);
  return g_hash_table_lookup(replays->known, key);
}

/* Copies the tasks that are not known to @ret_new, and returns how many these are. */
static guint find_new(const OrrFitReplays *replays, const OrrFitTask *tasks, guint n,
                      OrrFitTask *ret_new) {
  guint n_new = 0;
  for (guint i = 0; i < n; i++) {
    if (known_at(replays, &tasks[i])) continue;
    g_hash_table_insert(replays->known, g_bytes_new(&tasks[i], sizeof tasks[i]),
                        g_new(double, ORR_FIT_N_COLUMNS));
    memcpy(&ret_new[n_new++], &tasks[i], sizeof tasks[i]);
  }
  return n_new;
}

static gboolean replay(const OrrFitReplays *replays, const OrrFitTask *tasks, guint n,
                       GError **error) {
  Work work = {replays, tasks};
  const OrrStudy study = {.library = replays->library,
                          .n = n,
                          .jobs = replays->jobs,
                          .tree = tree_of,
                          .is_brief = TRUE,
                          .user = &work};
  OrrStudyAnswer *answers = orr_study_run(&study);
  gboolean is_fine = TRUE;
  for (guint i = 0; is_fine && i < n; i++) {
    const OrrFitRow *row = replays->rows->pdata[tasks[i].row];
    double *values = known_at(replays, &tasks[i]);
    if (!answers[i].error)
      take(&answers[i], values);
    else if (replays->is_lenient)
      for (int k = 0; k < ORR_FIT_N_COLUMNS; k++) values[k] = INFINITY;
    else
      is_fine = orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s:%d: the replay of this row failed: %s",
                              row->place.file, row->place.line, answers[i].error->message);
  }
  orr_study_free(answers, n);
  return is_fine;
}

gboolean orr_fit_replay(const OrrFitReplays *replays, const OrrFitTask *tasks, guint n,
                        double *ret_values, GError **error) {
  g_autofree OrrFitTask *fresh = g_new0(OrrFitTask, MAX(n, 1));
  const guint n_fresh = find_new(replays, tasks, n, fresh);
  if (n_fresh > 0 && !replay(replays, fresh, n_fresh, error)) return FALSE;
  for (guint i = 0; i < n; i++)
    memcpy(&ret_values[(gsize)i * ORR_FIT_N_COLUMNS], known_at(replays, &tasks[i]),
           ORR_FIT_N_COLUMNS * sizeof(double));
  return TRUE;
}
