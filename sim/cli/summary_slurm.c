/*
 * summary_slurm.c - writes the state of the jobs, tasks and points of a sweep on Slurm.
 */
#include "sim/cli/summary_slurm.h"

#include <stdio.h>

#include "sim/cli/show.h"

static const char *const state_words[] = {"queued", "running", "done", "cancelled", "failed"};
G_STATIC_ASSERT(G_N_ELEMENTS(state_words) == ORR_N_SLURM_STATES);

static void print_reasons(const GArray *reasons) {
  for (guint i = 0; i < reasons->len; i++) {
    const OrrSweepExclusion *one = &g_array_index(reasons, OrrSweepExclusion, i);
    g_autofree char *n = orr_show_count((gint64)one->n);
    printf("    %10s  %s\n", n, one->reason);
  }
}

void orr_summary_slurm_print(const OrrSlurmStatus *status, const char *db) {
  g_autofree char *n_points = orr_show_count((gint64)status->n_points),
                  *n_done = orr_show_count((gint64)status->n_done);
  g_autoptr(GString) tasks = g_string_new(NULL);
  printf("%s\n", status->file);
  if (status->job)
    printf("  submitted     job %s, %u task%s; job %s merges%s", status->job, status->n_tasks,
           status->n_tasks == 1 ? "" : "s", status->merge_job ? status->merge_job : "(none)",
           status->submission > 1 ? "" : "\n");
  if (status->job && status->submission > 1)
    printf("; submission %" G_GINT64_FORMAT "\n", status->submission);
  for (int state = 0; state < ORR_N_SLURM_STATES; state++)
    g_string_append_printf(tasks, "%s%u %s", state > 0 ? ", " : "", status->by_state[state],
                           state_words[state]);
  printf("  tasks         %s\n", tasks->str);
  print_reasons(status->failures);
  printf("  points        %s of %s done\n", n_done, n_points);
  print_reasons(status->refused);
  if (status->is_whole)
    printf("  stored        run %" G_GINT64_FORMAT " in %s: all points are merged\n", status->sweep,
           db);
  else
    printf("  next          orrery sweep --status --db %s\n", db);
}

static void add_reasons(GString *out, const char *name, const GArray *reasons) {
  g_string_append_printf(out, ", \"%s\": [", name);
  for (guint i = 0; i < reasons->len; i++) {
    const OrrSweepExclusion *one = &g_array_index(reasons, OrrSweepExclusion, i);
    g_string_append(out, i > 0 ? ", {\"reason\": " : "{\"reason\": ");
    orr_show_json_text(out, one->reason);
    g_string_append_printf(out, ", \"n\": %" G_GUINT64_FORMAT "}", one->n);
  }
  g_string_append_c(out, ']');
}

void orr_summary_slurm_json(const OrrSlurmStatus *status) {
  g_autoptr(GString) out = g_string_new("{\"file\": ");
  orr_show_json_text(out, status->file);
  g_string_append(out, ", \"job\": ");
  orr_show_json_text(out, status->job);
  g_string_append(out, ", \"merge_job\": ");
  orr_show_json_text(out, status->merge_job);
  g_string_append_printf(
      out,
      ", \"run\": %" G_GINT64_FORMAT ", \"submission\": %" G_GINT64_FORMAT
      ", \"n_points\": %" G_GUINT64_FORMAT ", \"n_done\": %" G_GUINT64_FORMAT ", \"n_tasks\": %u",
      status->sweep, status->submission, status->n_points, status->n_done, status->n_tasks);
  for (int word = 0; word < ORR_N_POINT_STATUSES; word++)
    g_string_append_printf(out, ", \"n_%s\": %" G_GUINT64_FORMAT, orr_point_words[word],
                           status->by_status[word]);
  for (int state = 0; state < ORR_N_SLURM_STATES; state++)
    g_string_append_printf(out, ", \"tasks_%s\": %u", state_words[state], status->by_state[state]);
  add_reasons(out, "not_simulated", status->refused);
  add_reasons(out, "failures", status->failures);
  g_string_append_printf(out, ", \"whole\": %s", status->is_whole ? "true" : "false");
  printf("%s}\n", out->str);
}
