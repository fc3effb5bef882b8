/*
 * fit_stack.c - which constants the rows determine, and their least squares.
 */
#include "sim/fit/fit_stack.h"

#include "sim/base/quantity.h"
#include "sim/base/yaml.h"
#include "sim/run/scenario.h"

enum { MOST_ROUNDS = 80 };

static const double SHORTEST = 1. / 64; /* of the first steps of derivatives */

static const double FELT = 0.01;    /* the least effect of a typical change */
static const double APART = 1. / 3; /* the least part of it that no other constant has */

static const OrrFitConstant of_serving[] = {
    {.path = "engine.host.step", .unit = "s", .most = 0.1, .typical = 1e-3},
    {.path = "engine.host.sequence", .unit = "s", .most = 5e-3, .typical = 30e-6},
    {.path = "engine.front-end.prompt-token", .unit = "s", .most = 1e-3, .typical = 3e-6},
    {.path = "engine.front-end.request", .unit = "s", .most = 1, .typical = 3e-3},
    {.path = "engine.recv-interval",
     .unit = "",
     .least = 1,
     .most = 1000,
     .typical = 10,
     .is_whole = TRUE,
     .engine = "sglang"},
    {.path = "engine.expert-kernels.efficiency",
     .unit = "",
     .least = 0.2,
     .most = 2,
     .typical = 0.2,
     .is_of_experts = TRUE,
     .rows = 3},
    {.path = "engine.cache-fraction",
     .unit = "",
     .least = 0.2,
     .most = 1,
     .typical = 0.2,
     .is_of_cache = TRUE,
     .rows = 3},
};
static const OrrFitConstant of_training[] = {
    {.path = "host-operators", .unit = "", .least = 0.1, .most = 100, .typical = 2},
};

/* The fitted constants and their rows. */
typedef struct {
  OrrFitReplays replays;
  const double *measured; /* [row][column] */
  guint n_rows;
  gint left_out; /* a row that does not count; -1: none */
  gboolean chosen[ORR_FIT_MOST];
} Problem;

/* A point: values of the constants, and log(simulated / measured) of every measured value. */
typedef struct {
  double x[ORR_FIT_MOST];
  double *simulated; /* [row][column] */
  double sum;        /* of squares over the rows that count */
} Point;

/* --- Points --- */

static double residual(const Problem *problem, const double *simulated, gsize i) {
  const double measured = problem->measured[i];
  return isnan(measured) || isnan(simulated[i]) || simulated[i] <= 0 ? NAN
                                                                     : log(simulated[i] / measured);
}

static gboolean counts(const Problem *problem, gsize i) {
  return (gint)(i / ORR_FIT_N_COLUMNS) != problem->left_out &&
         i % ORR_FIT_N_COLUMNS >= ORR_FIT_FIRST_MEASURED;
}

static double sum_of(const Problem *problem, const double *simulated) {
  double sum = 0;
  for (gsize i = 0; i < (gsize)problem->n_rows * ORR_FIT_N_COLUMNS; i++) {
    const double y = counts(problem, i) ? residual(problem, simulated, i) : NAN;
    if (!isnan(y)) sum += y * y;
  }
  return sum;
}

/* Replays all rows at each of @n points. */
static gboolean replay_points(const Problem *problem, Point *points, guint n, GError **error) {
  const guint n_rows = problem->n_rows;
  g_autofree OrrFitTask *tasks = g_new0(OrrFitTask, (gsize)n * n_rows);
  g_autofree double *values = g_new(double, (gsize)n *n_rows *ORR_FIT_N_COLUMNS);
  for (guint p = 0; p < n; p++)
    for (guint row = 0; row < n_rows; row++) {
      OrrFitTask *task = &tasks[p * n_rows + row];
      task->row = row;
      memcpy(task->values, points[p].x, sizeof task->values);
    }
  if (!orr_fit_replay(&problem->replays, tasks, n * n_rows, values, error)) return FALSE;
  const gsize size = (gsize)n_rows * ORR_FIT_N_COLUMNS;
  for (guint p = 0; p < n; p++) {
    g_free(points[p].simulated);
    points[p].simulated = g_memdup2(values + p * size, size * sizeof(double));
    points[p].sum = sum_of(problem, points[p].simulated);
  }
  return TRUE;
}

/* --- Derivatives --- */

/* Turns a step around that would leave the bounds. */
static double step_inside(const OrrFitConstant *constant, double x, double step) {
  return x + step > constant->most ? -step : step;
}

/* The change of every residual for a change of each constant by @steps[k]: [constant][value].
 * @which NULL: all constants. */
static double *derivatives(const Problem *problem, const Point *at, const double *steps,
                           const gboolean *which, GError **error) {
  const guint n_all = problem->replays.n_constants;
  const gsize size = (gsize)problem->n_rows * ORR_FIT_N_COLUMNS;
  g_autofree Point *moved = g_new0(Point, n_all);
  double *changes = NULL;
  guint of[ORR_FIT_MOST], n = 0;
  for (guint k = 0; k < n_all; k++) {
    if (which && !which[k]) continue;
    memcpy(moved[n].x, at->x, sizeof at->x);
    moved[n].x[k] += steps[k];
    of[n++] = k;
  }
  if (replay_points(problem, moved, n, error)) {
    changes = g_new0(double, n_all *size);
    for (guint m = 0; m < n; m++)
      for (gsize i = 0; i < size; i++) {
        const double y = residual(problem, moved[m].simulated, i);
        const double y0 = residual(problem, at->simulated, i);
        changes[of[m] * size + i] = isfinite(y) && isfinite(y0) ? y - y0 : 0;
      }
  }
  for (guint m = 0; m < n; m++) g_free(moved[m].simulated);
  return changes;
}

static double dot(const Problem *problem, const double *a, const double *b) {
  double sum = 0;
  for (gsize i = 0; i < (gsize)problem->n_rows * ORR_FIT_N_COLUMNS; i++)
    if (counts(problem, i)) sum += a[i] * b[i];
  return sum;
}

/* --- Which constants --- */

static guint n_values(const Problem *problem) {
  guint n = 0;
  for (gsize i = 0; i < (gsize)problem->n_rows * ORR_FIT_N_COLUMNS; i++)
    n += counts(problem, i) && !isnan(problem->measured[i]);
  return n;
}

static gint strongest(const double *effects, const gboolean *is_done, guint n) {
  gint best = -1;
  for (guint k = 0; k < n; k++)
    if (!is_done[k] && (best < 0 || effects[k] > effects[best])) best = (gint)k;
  return best;
}

/* Takes what @others have in common with @column out of it. */
static void project(const Problem *problem, double *column, GPtrArray *others) {
  ORR_EACH_POINTER(const double, other, others) {
    const double along = dot(problem, column, other) / dot(problem, other, other);
    for (gsize k = 0; k < (gsize)problem->n_rows * ORR_FIT_N_COLUMNS; k++)
      column[k] -= along * other[k];
  }
}

/* Chooses constants, the strongest first; the others get their reason. */
static void choose(Problem *problem, double *changes, OrrFitConstant *constants) {
  const guint n = problem->replays.n_constants, most = n_values(problem);
  const gsize size = (gsize)problem->n_rows * ORR_FIT_N_COLUMNS;
  g_autoptr(GPtrArray) chosen = g_ptr_array_new();
  gboolean is_done[ORR_FIT_MOST] = {FALSE};
  double effects[ORR_FIT_MOST];
  for (guint k = 0; k < n; k++)
    effects[k] = sqrt(dot(problem, changes + k * size, changes + k * size) / MAX(most, 1));
  for (gint k; (k = strongest(effects, is_done, n)) >= 0; is_done[k] = TRUE) {
    double *column = changes + (gsize)k * size;
    const double whole = sqrt(dot(problem, column, column));
    if (problem->n_rows < constants[k].rows) {
      constants[k].why = g_strdup_printf("it takes %u rows or more", constants[k].rows);
      continue;
    }
    if (effects[k] < FELT) {
      constants[k].why =
          g_strdup("the rows do not feel it: a typical change moves no value by 1 %");
      continue;
    }
    project(problem, column, chosen);
    if (chosen->len >= most)
      constants[k].why = g_strdup("there are not more measured values than constants");
    else if (sqrt(dot(problem, column, column)) < APART * whole)
      constants[k].why = g_strdup("the rows cannot tell it from the other constants");
    else
      problem->chosen[k] = constants[k].is_fitted = TRUE;
    if (problem->chosen[k]) g_ptr_array_add(chosen, column);
  }
}

/* --- Least squares --- */

/* Solves the small symmetric system by elimination with pivots; FALSE: singular. */
static gboolean solve(double a[ORR_FIT_MOST][ORR_FIT_MOST + 1], guint n) {
  for (guint c = 0; c < n; c++) {
    guint pivot = c;
    for (guint r = c + 1; r < n; r++)
      if (fabs(a[r][c]) > fabs(a[pivot][c])) pivot = r;
    if (fabs(a[pivot][c]) < 1e-300) return FALSE;
    for (guint k = 0; k <= n; k++) {
      const double keep = a[c][k];
      a[c][k] = a[pivot][k];
      a[pivot][k] = keep;
    }
    for (guint r = 0; r < n; r++)
      for (guint k = n + 1; r != c && k-- > c;) a[r][k] -= a[r][c] / a[c][c] * a[c][k];
  }
  for (guint c = 0; c < n; c++) a[c][n] /= a[c][c];
  return TRUE;
}

/* The step of Levenberg and Marquardt from @at, in units of @steps. */
static gboolean propose(const Problem *problem, const Point *at, const double *changes,
                        const double *steps, double damping, Point *ret_next) {
  const gsize size = (gsize)problem->n_rows * ORR_FIT_N_COLUMNS;
  double system[ORR_FIT_MOST][ORR_FIT_MOST + 1] = {{0}};
  guint which[ORR_FIT_MOST], n = 0;
  g_autofree double *y = g_new0(double, size);
  for (gsize i = 0; i < size; i++) {
    const double value = residual(problem, at->simulated, i);
    y[i] = isnan(value) ? 0 : value;
  }
  for (guint k = 0; k < problem->replays.n_constants; k++)
    if (problem->chosen[k]) which[n++] = k;
  for (guint r = 0; r < n; r++) {
    const double *row = changes + which[r] * size;
    for (guint c = 0; c < n; c++) system[r][c] = dot(problem, row, changes + which[c] * size);
    system[r][r] *= 1 + damping;
    system[r][n] = -dot(problem, row, y);
  }
  memcpy(ret_next->x, at->x, sizeof at->x);
  if (!solve(system, n)) return FALSE;
  for (guint r = 0; r < n; r++) {
    const OrrFitConstant *constant = &problem->replays.constants[which[r]];
    const double value = at->x[which[r]] + system[r][n] * steps[which[r]];
    ret_next->x[which[r]] = CLAMP(value, constant->least, constant->most);
  }
  return TRUE;
}

/* Moves @at to the minimum. Batches make the values jump, so derivatives begin as differences over
 * long steps; where those lead no further, shorter ones may. */
static gboolean minimise(const Problem *problem, Point *at, guint rounds, GError **error) {
  double damping = 1e-3, part = 1, begun = at->sum;
  for (guint round = 0; round < rounds; round++) {
    double steps[ORR_FIT_MOST];
    for (guint k = 0; k < problem->replays.n_constants; k++)
      steps[k] =
          step_inside(&problem->replays.constants[k], at->x[k],
                      part * fmax(0.1 * at->x[k], 0.3 * problem->replays.constants[k].typical));
    g_autofree double *changes = derivatives(problem, at, steps, problem->chosen, error);
    if (!changes) return FALSE;
    Point next = {.simulated = NULL};
    const gboolean is_proposed = propose(problem, at, changes, steps, damping, &next);
    if (is_proposed && !replay_points(problem, &next, 1, error)) return FALSE;
    const gboolean is_better = is_proposed && next.sum < at->sum;
    const gboolean is_slow = is_better && next.sum > at->sum * (1 - 1e-3);
    damping = is_better ? damping / 5 : damping * 8 + 1e-2;
    if (is_better) {
      g_free(at->simulated);
      *at = next;
    } else {
      g_free(next.simulated);
    }
    if (at->sum < 1e-10) break;
    if (!is_slow && damping <= 1e4) continue;
    damping = 1e-3;
    part /= 4;
    if (part >= SHORTEST) continue;
    if (at->sum > begun * (1 - 1e-3)) break;
    begun = at->sum;
    part = 1;
  }
  return TRUE;
}

/* --- The scenario's own constants --- */

static double constant_of(const OrrNode *workload, const OrrFitConstant *constant) {
  g_auto(GStrv) keys = g_strsplit(constant->path, ".", -1);
  const OrrNode *node = workload;
  for (char **key = keys; node && *key; key++) node = orr_node_get(node, *key);
  double value = 0;
  if (!node || node->kind != ORR_NODE_SCALAR) return 0;
  orr_quantity_parse(node->text, *constant->unit ? ORR_UNIT_SECONDS : ORR_UNIT_NONE, &value, NULL);
  return value;
}

static gboolean runs_scheduler(const OrrNode *workload, const char *name) {
  const OrrNode *scheduler = orr_node_get(orr_node_get(workload, "engine"), "scheduler");
  if (!scheduler) return FALSE;
  const char *kind =
      scheduler->kind == ORR_NODE_SCALAR ? scheduler->text : orr_node_get_text(scheduler, "kind");
  return g_strcmp0(kind, name) == 0;
}

static gboolean has_constant(const OrrScenario *scenario, const OrrNode *workload,
                             const OrrFitConstant *constant) {
  const double blocks =
      constant_of(workload, &(OrrFitConstant){.path = "engine.kv-blocks", .unit = ""});
  return (!constant->engine || runs_scheduler(workload, constant->engine)) &&
         (!constant->is_of_experts || scenario->model.moe.experts > 0) &&
         (!constant->is_of_cache ||
          (blocks == 0 && orr_model_kv_bytes_per_token(&scenario->model, 1) > 0));
}

/* The constants to fit, with the values that the stack gives. */
static gboolean read_constants(OrrLibrary *library, const OrrNode *tree, OrrFit *fit,
                               GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  if (!scenario) return orr_diags_check(diags, error);
  g_autofree char *text = orr_scenario_resolved(scenario);
  g_autoptr(OrrNode) resolved = orr_yaml_parse(text, strlen(text), "resolved", diags);
  const OrrNode *workload = resolved ? orr_node_get(resolved, "workload") : NULL;
  const char *kind = scenario->workload.entry ? scenario->workload.entry->name : "jobs";
  const gboolean is_training = strcmp(kind, "training") == 0;
  if (!workload || (!is_training && strcmp(kind, "serving") != 0))
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "fit takes a scenario of training or serving, not of %s", kind);
  const OrrFitConstant *known = is_training ? of_training : of_serving;
  const guint n_known = is_training ? G_N_ELEMENTS(of_training) : G_N_ELEMENTS(of_serving);
  for (guint k = 0; k < n_known; k++)
    if (has_constant(scenario, workload, &known[k])) fit->constants[fit->n_constants++] = known[k];
  for (guint k = 0; k < fit->n_constants; k++)
    fit->constants[k].before = fit->constants[k].after = constant_of(workload, &fit->constants[k]);
  const OrrFitConstant exposed = {.path = "engine.host.exposed", .unit = ""};
  const OrrNode *host = orr_node_get(orr_node_get(workload, "engine"), "host");
  fit->is_exposed = host && g_strcmp0(orr_node_get_text(host, "async"), "true") == 0;
  for (guint k = 0; fit->is_exposed && k < ORR_FIT_N_HOST; k++)
    fit->constants[k].before *= constant_of(workload, &exposed);
  const char *stack = orr_node_get_text(workload, "stack");
  fit->stack = g_strdup(stack ? stack : "none");
  return TRUE;
}

/* --- What came of it --- */

static double error_of(const Problem *problem, const double *simulated, int column) {
  double sum = 0;
  guint n = 0;
  for (guint row = 0; row < problem->n_rows; row++) {
    const double y = residual(problem, simulated, (gsize)row * ORR_FIT_N_COLUMNS + column);
    if (isnan(y)) continue;
    sum += y * y;
    n++;
  }
  return n ? sqrt(sum / n) : NAN;
}

/* Predicts each row from the others: [row][column], newly allocated. */
static double *leave_out(Problem *problem, const Point *fitted, GError **error) {
  const gsize size = ORR_FIT_N_COLUMNS;
  double *predicted = g_new(double, problem->n_rows *size);
  for (guint row = 0; row < problem->n_rows; row++) {
    Point point = {.sum = 0};
    problem->left_out = (gint)row;
    memcpy(point.x, fitted->x, sizeof point.x);
    point.simulated = g_memdup2(fitted->simulated, problem->n_rows * size * sizeof(double));
    point.sum = sum_of(problem, point.simulated);
    const gboolean ok = minimise(problem, &point, 3, error);
    memcpy(predicted + row * size, point.simulated + row * size, size * sizeof(double));
    g_free(point.simulated);
    if (!ok) {
      g_free(predicted);
      return NULL;
    }
  }
  problem->left_out = -1;
  return predicted;
}

static void G_GNUC_PRINTF(2, 3) remark(OrrFit *fit, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_ptr_array_add(fit->remarks, g_strdup_vprintf(format, values));
  va_end(values);
}

/* Tokens or steps that are measured faster than without any host time. */
static gboolean check_floor(const Problem *problem, OrrFit *fit, const Point *fitted,
                            GError **error) {
  static const int columns[] = {ORR_FIT_TPOT, ORR_FIT_ITERATION};
  Point floor = {.simulated = NULL};
  memcpy(floor.x, fitted->x, sizeof floor.x);
  for (guint k = 0; k < fit->n_constants; k++)
    if (!fit->constants[k].is_of_experts && !fit->constants[k].is_of_cache)
      floor.x[k] = fit->constants[k].least;
  if (!replay_points(problem, &floor, 1, error)) return FALSE;
  for (guint c = 0; c < G_N_ELEMENTS(columns); c++) {
    double worst = 0;
    guint n = 0;
    for (guint row = 0; row < problem->n_rows; row++) {
      const double y =
          residual(problem, floor.simulated, (gsize)row * ORR_FIT_N_COLUMNS + columns[c]);
      n += y > log(1.03);
      worst = fmax(worst, isnan(y) ? 0 : y);
    }
    if (n)
      remark(fit,
             "%s: %u of %u rows are measured faster than the simulated GPUs alone (by up to %.0f "
             "%%): no host explains that; compare formats, clocks, kernels and the layout",
             orr_fit_columns[columns[c]], n, problem->n_rows, 100 * (exp(worst) - 1));
  }
  g_free(floor.simulated);
  return TRUE;
}

static void check_rest(const Problem *problem, OrrFit *fit, const Point *fitted) {
  static const int columns[] = {ORR_FIT_TPOT, ORR_FIT_ITERATION};
  for (guint c = 0; c < G_N_ELEMENTS(columns); c++) {
    const double rest = error_of(problem, fitted->simulated, columns[c]);
    if (rest > 0.1)
      remark(fit, "%s: %.0f %% is left after the fit: it is not host time that is missing",
             orr_fit_columns[columns[c]], 100 * rest);
  }
}

/* --- The fit --- */

/* The mean of a column; NaN: no row has it. */
static double mean_of(const Problem *problem, const GPtrArray *rows, int column) {
  double sum = 0;
  guint n = 0;
  for (guint row = 0; row < problem->n_rows; row++) {
    const double cell = ((const OrrFitRow *)rows->pdata[row])->cells[column];
    if (isnan(cell) || isinf(cell)) continue;
    sum += cell;
    n++;
  }
  return n ? sum / n : NAN;
}

/* A typical change moves what it acts on by a twentieth: where the first token takes 1 s, nobody
 * notices a request that takes 3 ms longer. */
static void scale_typical(const Problem *problem, OrrFit *fit) {
  const GPtrArray *rows = problem->replays.rows;
  const double ttft = 0.05 * mean_of(problem, rows, ORR_FIT_TTFT);
  const double tpot = 0.05 * mean_of(problem, rows, ORR_FIT_TPOT);
  const double sequences = mean_of(problem, rows, ORR_FIT_CONCURRENCY);
  const double tokens = mean_of(problem, rows, ORR_FIT_INPUT_TOKENS);
  const double scales[] = {tpot, tpot / (isnan(sequences) ? 8 : sequences),
                           ttft / (isnan(tokens) ? 1000 : tokens), ttft};
  for (guint k = 0; fit->n_constants > 1 && k < MIN(fit->n_constants, G_N_ELEMENTS(scales)); k++)
    if (!isnan(scales[k])) fit->constants[k].typical = fmax(fit->constants[k].typical, scales[k]);
}

static gboolean fit_rows(Problem *problem, OrrFit *fit, Point *point, GError **error) {
  double typical[ORR_FIT_MOST];
  scale_typical(problem, fit);
  for (guint k = 0; k < fit->n_constants; k++) {
    typical[k] = fit->constants[k].typical;
    point->x[k] = NAN; /* as the stack has it */
  }
  if (!replay_points(problem, point, 1, error)) return FALSE;
  const gsize bytes = (gsize)problem->n_rows * ORR_FIT_N_COLUMNS * sizeof(double);
  fit->simulated_before = g_memdup2(point->simulated, bytes);
  for (guint k = 0; k < fit->n_constants; k++) point->x[k] = fit->constants[k].before;
  if (!replay_points(problem, point, 1, error)) return FALSE;
  problem->replays.is_lenient = TRUE;
  for (guint k = 0; k < fit->n_constants; k++)
    typical[k] = step_inside(&fit->constants[k], point->x[k], typical[k]);
  g_autofree double *changes = derivatives(problem, point, typical, NULL, error);
  if (!changes) return FALSE;
  choose(problem, changes, fit->constants);
  if (!minimise(problem, point, MOST_ROUNDS, error)) return FALSE;
  for (guint k = 0; k < fit->n_constants; k++)
    fit->constants[k].after = fit->constants[k].is_whole ? rint(point->x[k]) : point->x[k];
  fit->simulated_after = g_memdup2(point->simulated, bytes);
  return check_floor(problem, fit, point, error);
}

static gboolean judge(Problem *problem, OrrFit *fit, const Point *point, GError **error) {
  g_autofree double *others = NULL;
  if (problem->n_rows > 1 && !(others = leave_out(problem, point, error))) return FALSE;
  for (int column = ORR_FIT_FIRST_MEASURED; column < ORR_FIT_N_COLUMNS; column++)
    fit->errors[column] = (OrrFitError){error_of(problem, fit->simulated_before, column),
                                        error_of(problem, fit->simulated_after, column),
                                        others ? error_of(problem, others, column) : NAN};
  check_rest(problem, fit, point);
  return TRUE;
}

OrrFit *orr_fit_stack(OrrLibrary *library, const OrrNode *tree, const GPtrArray *rows,
                      const OrrFitHow *how, GError **error) {
  g_autoptr(OrrFit) fit = g_new0(OrrFit, 1);
  g_autofree double *measured = g_new(double, (gsize)rows->len *ORR_FIT_N_COLUMNS);
  g_autoptr(GHashTable) known = orr_fit_known_new();
  Point point = {.simulated = NULL};
  fit->remarks = g_ptr_array_new_with_free_func(g_free);
  fit->n_rows = rows->len;
  if (!read_constants(library, tree, fit, error)) return NULL;
  for (guint row = 0; row < rows->len; row++)
    memcpy(measured + (gsize)row * ORR_FIT_N_COLUMNS, ((OrrFitRow *)rows->pdata[row])->cells,
           ORR_FIT_N_COLUMNS * sizeof(double));
  Problem problem = {.replays = {library, tree, rows, fit->constants, fit->n_constants, how->jobs,
                                 fit->is_exposed, FALSE, known},
                     .measured = measured,
                     .n_rows = rows->len,
                     .left_out = -1};
  const gboolean ok = fit_rows(&problem, fit, &point, error) && judge(&problem, fit, &point, error);
  g_free(point.simulated);
  return ok ? g_steal_pointer(&fit) : NULL;
}

void orr_fit_stack_free(OrrFit *fit) {
  if (!fit) return;
  for (guint k = 0; k < ORR_FIT_MOST; k++) g_free(fit->constants[k].why);
  g_ptr_array_unref(fit->remarks);
  ORR_FREE(fit->stack, fit->simulated_before, fit->simulated_after, fit);
}
