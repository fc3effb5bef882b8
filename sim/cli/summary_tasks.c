/*
 * summary_tasks.c - the lines of a serving run's tasks: how long they take, what they use, how busy
 * their pools are.
 */
#include "sim/base/json_write.h"
#include "sim/cli/summary.h"

static void add_ends(OrrPage *page, const OrrServingTaskResult *r) {
  const struct {
    gint64 n;
    const char *how;
  } all[] = {{r->timeouts, "over the time-out"},
             {r->over_turns, "over max-turns"},
             {r->over_tokens, "over max-tokens"},
             {r->over_context, "too long for the context"},
             {r->rejected, "rejected or failed"}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    if (all[i].n > 0) orr_page_item(page, "%d %s", (int)all[i].n, all[i].how);
}

static void add_result(OrrPage *page, const OrrServingTaskResult *r) {
  orr_page_line(page, "tasks", "%d of %d done, %s per hour, %.3g in flight", (int)r->done,
                (int)r->tasks, orr_page_count(page, r->tasks_per_hour), r->in_flight_mean);
  add_ends(page, r);
  if (r->done > 0)
    orr_page_line(page, "task time", "mean %s, p50 %s, p90 %s, p99 %s",
                  orr_page_seconds(page, r->e2e.mean), orr_page_seconds(page, r->e2e.p50),
                  orr_page_seconds(page, r->e2e.p90), orr_page_seconds(page, r->e2e.p99));
  if (r->done > 0 && r->first.mean > 0)
    orr_page_line(page, "first answer", "mean %s, p50 %s, p90 %s, p99 %s",
                  orr_page_seconds(page, r->first.mean), orr_page_seconds(page, r->first.p50),
                  orr_page_seconds(page, r->first.p90), orr_page_seconds(page, r->first.p99));
  orr_page_line(page, "a task", "%.4g generations, %s prompt tokens (%s cached), %s output tokens",
                r->turns_mean, orr_page_count(page, r->input_tokens_mean),
                orr_page_percent(page, r->cached_tokens_mean / fmax(r->input_tokens_mean, 1)),
                orr_page_count(page, r->output_tokens_mean));
  if (r->cpu_seconds_mean > 0)
    orr_page_item(page, "%s of CPU cores", orr_page_seconds(page, r->cpu_seconds_mean));
  if (r->done > 0) orr_page_item(page, "%s of GPUs", orr_page_seconds(page, r->gpu_seconds_mean));
  if (!isnan(r->cost_per_task)) orr_page_item(page, "cost %.3g", r->cost_per_task);
}

static void add_pool(OrrPage *page, const OrrServingTaskPoolRow *row, gboolean is_first) {
  orr_page_line(page, is_first ? "pools" : "", "%s: %s of %s", row->pool,
                orr_page_things(page, row->jobs, "job"),
                orr_page_seconds(page, row->service_mean_s));
  if (row->servers > 0)
    orr_page_item(page, "%s busy %s, waits %s",
                  orr_page_things(page, row->servers, row->gpus > 0 ? "GPU" : "worker"),
                  orr_page_percent(page, row->busy), orr_page_seconds(page, row->wait_mean_s));
  else
    orr_page_item(page, "%.3g busy", row->busy_mean);
  if (row->loads > 0) orr_page_item(page, "loaded %d times", (int)row->loads);
  if (row->cut > 0) orr_page_item(page, "%d timed out", (int)row->cut);
}

void orr_summary_tasks(OrrPage *page, const OrrOutcome *outcome) {
  if (outcome->serving_task_results->len == 0) return;
  add_result(page, &g_array_index(outcome->serving_task_results, OrrServingTaskResult, 0));
  for (guint i = 0; i < outcome->serving_task_pools->len; i++)
    add_pool(page, &g_array_index(outcome->serving_task_pools, OrrServingTaskPoolRow, i), i == 0);
}

void orr_summary_tasks_json(GString *out, const OrrOutcome *outcome) {
  if (outcome->serving_task_results->len == 0) return;
  orr_json_write_rows(out, "task_result", &orr_serving_task_result_table,
                      outcome->serving_task_results, "\n  ");
  orr_json_write_rows(out, "task_pool", &orr_serving_task_pool_table, outcome->serving_task_pools,
                      "\n  ");
}
