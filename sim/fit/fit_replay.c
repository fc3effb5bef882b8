/*
 * fit_replay.c - sets a row's load and the constants in a copy of the scenario's tree, and replays
 * it briefly in a child process.
 */
#include "sim/fit/fit_replay.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/run/children.h"
#include "sim/run/simulate.h"

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

/* What the row asked of the system. */
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
    if (!set_number(tree, path, task->values[i], replays->constants[i].unit, error)) return FALSE;
  }
  if (replays->is_exposed && !isnan(task->values[0]))
    return set(tree, "workload.engine.host.exposed", "100 %", error);
  return TRUE;
}

/* Some steps are too short to be shortened: then the whole is replayed. */
static OrrOutcome *simulate(const OrrRunWorld *world, const OrrScenario *scenario, GError **error) {
  for (guint shorten = scenario->engine == ORR_REPLAY_SIMGRID ? 0 : 1;; shorten++) {
    gboolean too_short = FALSE;
    const OrrSimulation options = {.brief = TRUE, .shorten = shorten, .too_short = &too_short};
    OrrOutcome *outcome = orr_simulate_in(world, scenario, &options, error);
    if (!too_short) return outcome;
  }
}

static OrrOutcome *replay_once(const Work *work, guint index, gboolean *ret_is_training,
                               GError **error) {
  const OrrFitReplays *replays = work->replays;
  const OrrFitTask *task = &work->tasks[index];
  const OrrFitRow *row = replays->rows->pdata[task->row];
  g_autoptr(OrrNode) tree = orr_node_copy(replays->tree);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  if (!set_row(tree, row, error) || !set_constants(replays, task, tree, error)) return NULL;
  g_autoptr(OrrScenario) scenario = orr_scenario_read(replays->library, tree, diags);
  if (!scenario) {
    orr_diags_check(diags, error);
    return NULL;
  }
  g_autoptr(OrrRunWorld) world = orr_run_world_new(replays->library, scenario, error);
  *ret_is_training = strcmp(scenario->workload.entry->name, "training") == 0;
  return world ? simulate(world, scenario, error) : NULL;
}

/* Eight doubles and a reason, as bytes. */
typedef struct {
  gboolean ok;
  double values[ORR_FIT_N_COLUMNS];
  char reason[400];
} Answer;

static GBytes *replay(guint index, void *user) {
  Answer answer = {0};
  g_autoptr(GError) error = NULL;
  gboolean is_training = FALSE;
  g_autoptr(OrrOutcome) outcome = replay_once(user, index, &is_training, &error);
  for (int i = 0; i < ORR_FIT_N_COLUMNS; i++) answer.values[i] = NAN;
  answer.ok = outcome != NULL;
  g_strlcpy(answer.reason, error ? error->message : "", sizeof answer.reason);
  if (outcome && is_training) {
    answer.values[ORR_FIT_ITERATION] = outcome->result.training.iteration_time_s;
  } else if (outcome) {
    answer.values[ORR_FIT_TTFT] = outcome->result.serving.ttft.mean;
    answer.values[ORR_FIT_TPOT] = outcome->result.serving.tpot.mean;
    answer.values[ORR_FIT_E2E] = outcome->result.serving.e2e.mean;
  }
  return g_bytes_new(&answer, sizeof answer);
}

static gboolean unpack(const OrrChildAnswer *child, const OrrFitRow *row, double *ret_values,
                       GError **error) {
  gsize size = 0;
  const Answer *answer = child->bytes ? g_bytes_get_data(child->bytes, &size) : NULL;
  if (answer && size == sizeof *answer && answer->ok) {
    memcpy(ret_values, answer->values, sizeof answer->values);
    return TRUE;
  }
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s:%d: the replay of this row failed: %s",
                       row->place.file, row->place.line,
                       answer && size == sizeof *answer ? answer->reason : child->failure);
}

gboolean orr_fit_replay(const OrrFitReplays *replays, const OrrFitTask *tasks, guint n,
                        double *ret_values, GError **error) {
  Work work = {replays, tasks};
  const OrrChildren children = {.n = n, .jobs = replays->jobs, .work = replay, .user = &work};
  g_autoptr(GPtrArray) answers = orr_children_run(&children);
  for (guint i = 0; i < n; i++)
    if (!unpack(answers->pdata[i], replays->rows->pdata[tasks[i].row],
                &ret_values[(gsize)i * ORR_FIT_N_COLUMNS], error))
      return FALSE;
  return TRUE;
}
