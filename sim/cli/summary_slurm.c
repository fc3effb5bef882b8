/*
 * summary_slurm.c - writes the state of the jobs, tasks and points of a sweep on Slurm.
 */
#include "sim/cli/summary.h"

#include "sim/base/json_write.h"
#include "sim/cli/cli.h"

static const char *const state_words[] = {"queued", "running", "done", "cancelled", "failed"};
G_STATIC_ASSERT(G_N_ELEMENTS(state_words) == ORR_N_SLURM_STATES);

static void print_reasons(const GArray *reasons) {
  ORR_EACH(const OrrSweepExclusion, one, reasons) {
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
  if (status->job && status->submission > 1) printf("; submission %ld\n", status->submission);
  for (int state = 0; state < ORR_N_SLURM_STATES; state++)
    g_string_append_printf(tasks, "%s%u %s", state > 0 ? ", " : "", status->by_state[state],
                           state_words[state]);
  printf("  tasks         %s\n", tasks->str);
  print_reasons(status->failures);
  printf("  points        %s of %s done\n", n_done, n_points);
  print_reasons(status->refused);
  if (status->is_whole)
    printf("  stored        run %ld in %s: all points are merged\n", status->sweep, db);
  else
    printf("  next          orrery sweep --status --db %s\n", db);
}

void orr_summary_slurm_json(const OrrSlurmStatus *status) {
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_text(out, "file", status->file);
  orr_json_write_text(out, "job", status->job);
  orr_json_write_text(out, "merge_job", status->merge_job);
  ORR_JSON_NUMBERS(out, {"run", (double)status->sweep}, {"submission", (double)status->submission},
                   {"n_points", (double)status->n_points}, {"n_done", (double)status->n_done},
                   {"n_tasks", (double)status->n_tasks});
  orr_summary_sweep_statuses_json(out, status->by_status);
  for (int state = 0; state < ORR_N_SLURM_STATES; state++) {
    g_autofree char *name = g_strconcat("tasks_", state_words[state], NULL);
    orr_json_write_int(out, name, status->by_state[state]);
  }
  orr_summary_sweep_reasons_json(out, "not_simulated", status->refused);
  orr_summary_sweep_reasons_json(out, "failures", status->failures);
  orr_json_write_bool(out, "whole", status->is_whole);
  printf("%s}\n", out->str);
}
