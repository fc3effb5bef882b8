/*
 * serving_task_rows.c - the tasks of a serving run as rows.
 *
 *   rates        from the first arrival to the end of the run, over tasks that are done
 *   in flight    the sum of the tasks' times over that time (Little 1961)
 *   cost         of GPUs and energy over that time, which tasks that are not done share in
 *
 * Pools on CPUs do not slow each other down. Where they take more cores than the hosts have, or
 * indexes read more than the hosts' memory gives, the run warns.
 */
#include "sim/run/answer/answer_private.h"

typedef struct {
  GArray *e2e, *first; /* of double, of tasks that are done */
  double n, all_s, first_s, turns, input, cached, output;
} Sums;

static void count(OrrServingTaskResult *result, const OrrServingTaskRow *row, Sums *sums) {
  const struct {
    const char *outcome;
    gint64 *n;
  } all[] = {{"done", &result->done},
             {"timeout", &result->timeouts},
             {"turns", &result->over_turns},
             {"tokens", &result->over_tokens},
             {"context", &result->over_context},
             {"rejected", &result->rejected}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    *all[i].n += g_str_equal(row->outcome, all[i].outcome);
  if (g_str_equal(row->outcome, "done")) {
    g_array_append_val(sums->e2e, row->e2e_s);
    if (!isnan(row->first_s)) g_array_append_val(sums->first, row->first_s);
  }
  sums->n++;
  sums->all_s += row->e2e_s;
  sums->first_s = fmin(sums->first_s, row->arrival_s);
  sums->turns += (double)row->turns;
  sums->input += (double)row->input_tokens;
  sums->cached += (double)row->cached_tokens;
  sums->output += (double)row->output_tokens;
}

static double cpu_seconds(const OrrServingWork *work) {
  double sum_s = 0;
  ORR_EACH(const OrrServingTaskPoolRow, row, work->task_pools) sum_s += row->cpu_seconds;
  return sum_s;
}

static void add_result(const OrrServingWork *work, double gpus, double per_s, OrrOutcome *outcome) {
  Sums sums = {.e2e = g_array_new(FALSE, FALSE, sizeof(double)),
               .first = g_array_new(FALSE, FALSE, sizeof(double)),
               .first_s = G_MAXDOUBLE};
  OrrServingTaskResult result = {.tasks = work->tasks->len};
  ORR_EACH(OrrServingTaskRow, row, work->tasks) count(&result, row, &sums);
  const double for_s = fmax(work->end_s - sums.first_s, 1e-12), done = (double)result.done;
  result.e2e = orr_latencies_of(sums.e2e);
  result.first = orr_latencies_of(sums.first);
  result.tasks_per_hour = done / for_s * 3600;
  result.in_flight_mean = sums.all_s / for_s;
  result.turns_mean = sums.turns / sums.n;
  result.input_tokens_mean = sums.input / sums.n;
  result.cached_tokens_mean = sums.cached / sums.n;
  result.output_tokens_mean = sums.output / sums.n;
  result.cpu_seconds_mean = cpu_seconds(work) / sums.n;
  result.cpu_cores_mean = cpu_seconds(work) / for_s;
  result.gpu_seconds_mean = done > 0 ? gpus * for_s / done : NAN;
  result.cost_per_task = done > 0 ? per_s * for_s / done : NAN;
  g_array_unref(sums.e2e);
  g_array_unref(sums.first);
  outcome->result.serving.task_p50_s = result.e2e.p50;
  outcome->result.serving.task_p99_s = result.e2e.p99;
  outcome->result.serving.tasks_within = done / sums.n;
  g_array_append_val(outcome->serving_task_results, result);
}

enum { STEPS_PER_ROW = 10 }; /* rows of steps for each of metrics.request-rows, at most */

/* Evenly spaced tasks, with all their steps. */
static void add_samples(const OrrServingWork *work, OrrOutcome *outcome) {
  const gint64 most = work->params.metrics.request_rows;
  if (most == 0) return;
  const gint64 n = work->tasks->len, n_steps = work->task_steps->len;
  const gint64 stride = MAX((n + most - 1) / most, 1);
  const gint64 step_stride =
      MAX(stride, (n_steps + STEPS_PER_ROW * most - 1) / (STEPS_PER_ROW * most));
  for (gint64 i = 0; i < n; i += stride)
    g_array_append_val(outcome->serving_tasks,
                       g_array_index(work->tasks, OrrServingTaskRow, (guint)i));
  ORR_EACH(const OrrServingTaskStepRow, row, work->task_steps)
    if (row->task % step_stride == 0) g_array_append_val(outcome->serving_task_steps, *row);
}

/* Whether tasks take a fifth longer from quarter to quarter of the arrivals, after the first one,
 * and 1 s longer in all, and the run goes on after the last arrival for more than a twentieth of
 * the time of all arrivals: a pool, or the engines, cannot follow. */
double orr_serving_task_rows_growth(const OrrServingWork *work) {
  const OrrArrival *load = (const OrrArrival *)work->params.load.entry;
  const guint n = work->tasks->len;
  if (load->after || n < 40) return 0;
  const OrrServingTaskRow *rows = (const OrrServingTaskRow *)(const void *)work->tasks->data;
  const double first_s = rows[0].arrival_s, last_s = rows[n - 1].arrival_s;
  double mean_s[4] = {0};
  guint left = 0;
  for (guint i = 0; i < n; i++) {
    mean_s[MIN(4 * i / n, 3)] += rows[i].e2e_s / (n / 4.0);
    left += rows[i].arrival_s + rows[i].e2e_s > last_s;
  }
  const gboolean grows =
      mean_s[3] > 1.2 * mean_s[2] && mean_s[2] > 1.2 * mean_s[1] && mean_s[3] - mean_s[1] > 1;
  return grows && work->end_s - last_s > 0.05 * (last_s - first_s) && last_s > first_s
             ? left / (last_s - first_s)
             : 0;
}

void orr_serving_task_rows_warn(const OrrServingWork *work, OrrOutcome *outcome) {
  const guint n = work->tasks->len;
  const OrrServingTaskRow *last = &g_array_index(work->tasks, OrrServingTaskRow, n - 1);
  const double over_s =
      last->arrival_s - g_array_index(work->tasks, OrrServingTaskRow, 0).arrival_s;
  g_ptr_array_add(
      outcome->warnings,
      g_strdup_printf("not in steady state: %.3g tasks/s arrive, and those in flight grow by "
                      "%.3g/s; the times of tasks grow with the length of the run",
                      n / over_s, orr_serving_task_rows_growth(work)));
}

/* Means over the run, which the hosts must have at least. */
static void warn_hosts(const OrrServingWork *work, OrrOutcome *outcome) {
  const OrrCluster *cluster = work->world->cluster;
  const double nodes = (double)orr_cluster_n_nodes(cluster);
  const double has_cores = nodes * (double)cluster->node.host.cores,
               has_bytes_per_s = nodes * cluster->node.host.memory_bytes_per_s;
  double bytes = 0;
  ORR_EACH(const OrrServingTaskPoolRow, pool, work->task_pools)
    if (pool->gpus == 0 && !isnan(pool->bytes_per_job))
      bytes += pool->bytes_per_job * (double)pool->jobs;
  const double cores = cpu_seconds(work) / work->end_s, bytes_per_s = bytes / work->end_s;
  if (has_cores > 0 && cores > has_cores)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("pools of tasks keep %.0f CPU cores busy on average, and the "
                                    "cluster's hosts have %.0f: real tasks take longer",
                                    cores, has_cores));
  if (has_bytes_per_s > 0 && bytes_per_s > has_bytes_per_s)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("indexes on CPUs read %.3g GB/s on average, and the memory of "
                                    "the cluster's hosts gives %.3g: real searches take longer",
                                    bytes_per_s / 1e9, has_bytes_per_s / 1e9));
}

void orr_serving_task_rows(const OrrServingWork *work, double gpus, double per_s,
                           OrrOutcome *outcome) {
  OrrServingResult *result = &outcome->result.serving;
  result->task_p50_s = result->task_p99_s = result->tasks_within = NAN;
  if (work->tasks->len == 0) return;
  add_result(work, gpus, per_s, outcome);
  add_samples(work, outcome);
  g_array_append_vals(outcome->serving_task_pools, work->task_pools->data, work->task_pools->len);
  if (work->end_s > 0) warn_hosts(work, outcome);
}
