/*
 * run_jobs.c - simulates the jobs of a scenario together, stores one run per job, and prints a
 * table or JSON.
 */

#include "sim/bands/band.h"
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/cli/summary.h"
#include "sim/run/scenario_stack.h"

static const OrrJobOutcome *job_at(const GPtrArray *jobs, guint i) { return jobs->pdata[i]; }

static void print_json(const OrrScenario *scenario, const GPtrArray *jobs) {
  g_autoptr(GString) out = g_string_new("[");
  for (guint i = 0; i < jobs->len; i++) {
    const OrrJobOutcome *job = job_at(jobs, i);
    const OrrJobSpec *spec = scenario->jobs->pdata[i];
    orr_json_write_element(out, "\n ");
    orr_json_write_text(out, "stack", orr_scenario_stack_name(&spec->workload));
    orr_json_write_members(out, &orr_job_table, &job->row);
    orr_json_write_members(out, job->outcome->kind->result, &job->outcome->result);
    orr_summary_band_json(out, job->outcome);
    orr_summary_faults_json(out, job->outcome);
    orr_json_write_texts(out, "warnings", (char *const *)job->outcome->warnings->pdata,
                         job->outcome->warnings->len);
    g_string_append_c(out, '}');
  }
  printf("%s\n]\n", out->str);
}

static void print_table(const OrrScenario *scenario, const GPtrArray *jobs) {
  g_autofree char *devices = g_strconcat(scenario->cluster.device.noun, "s", NULL);
  printf("%s\n\n  %-16s %-12s %6s %10s %12s %12s %9s\n", scenario->name, "job", "kind", devices,
         "start", "alone", "together", "slowdown");
  for (guint i = 0; i < jobs->len; i++) {
    const OrrJobRow *row = &job_at(jobs, i)->row;
    printf("  %-16s %-12s %6ld %8.4g s %10.5g s %10.5g s ", row->job,
           job_at(jobs, i)->outcome->kind->kind->entry.name, row->n_gpus, row->start_s,
           row->alone_s, row->together_s);
    if (isnan(row->slowdown))
      printf("%9s\n", "stopped");
    else
      printf("%8.3fx\n", row->slowdown);
  }
}

/* Prints the band of each job's headline: its first band row (band_metrics.c), a time. */
static void print_bands(const GPtrArray *jobs) {
  printf("\n");
  for (guint i = 0; i < jobs->len; i++) {
    const OrrOutcome *outcome = job_at(jobs, i)->outcome;
    if (outcome->bands->len == 0) continue;
    const OrrBandRow *row = &g_array_index(outcome->bands, OrrBandRow, 0);
    g_autofree char *value =
        orr_summary_band_value(outcome, row->metric, row->value, ORR_UNIT_SECONDS);
    g_autofree char *band = orr_summary_band_text(outcome, row->metric, ORR_UNIT_SECONDS, FALSE);
    printf("  %-16s %-16s %s (%s)\n", job_at(jobs, i)->row.job, row->metric, value, band);
  }
}

/* Adds to each job what is said of the scenario. */
static void print_warnings(const GPtrArray *jobs, const GPtrArray *said) {
  for (guint i = 0; i < jobs->len; i++) {
    GPtrArray *warnings = job_at(jobs, i)->outcome->warnings;
    for (guint k = 0; k < warnings->len; k++)
      fprintf(stderr, "warning: job %s: %s\n", job_at(jobs, i)->row.job,
              (const char *)warnings->pdata[k]);
    for (guint k = 0; k < said->len; k++) g_ptr_array_add(warnings, g_strdup(said->pdata[k]));
  }
}

/* Prints what faults cost each job. */
static void print_faults(const GPtrArray *jobs) {
  g_autoptr(OrrPage) page = orr_page_new();
  for (guint i = 0; i < jobs->len; i++)
    orr_summary_faults(page, job_at(jobs, i)->outcome, job_at(jobs, i)->row.job);
  g_autofree char *text = orr_page_end(g_steal_pointer(&page));
  if (*text) printf("\n%s", text);
}

/* Prints the jobs that ended early; returns whether there are any. */
static gboolean report_lost(const GPtrArray *jobs) {
  gboolean lost = FALSE;
  for (guint i = 0; i < jobs->len; i++) {
    if (!job_at(jobs, i)->lost) continue;
    orr_show_problem("job %s: %s", job_at(jobs, i)->row.job, job_at(jobs, i)->lost);
    lost = TRUE;
  }
  return lost;
}

static void drop_many_spans(const GPtrArray *jobs, guint many) {
  for (guint i = 0; many && i < jobs->len; i++) {
    OrrOutcome *outcome = job_at(jobs, i)->outcome;
    if (outcome->spans->len <= many) continue;
    g_ptr_array_add(outcome->warnings,
                    g_strdup("the time line is not stored; --spans all stores it"));
    g_array_set_size(outcome->spans, 0);
  }
}

static void add_bands(OrrLibrary *library, const GPtrArray *jobs, const OrrRunJobs *how) {
  for (guint i = 0; i < jobs->len; i++) {
    orr_bands_add(library, &job_at(jobs, i)->scenario, job_at(jobs, i)->outcome, how->level);
    orr_outcome_label(job_at(jobs, i)->outcome, how->label);
  }
}

static gboolean keep(const GPtrArray *jobs, const OrrRunJobs *how, gint64 *ret_run_id,
                     GError **error) {
  return !how->store || orr_simulate_jobs_store(jobs, how->file, how->store, ret_run_id, error);
}

int orr_run_jobs(OrrLibrary *library, const OrrScenario *scenario, const OrrRunJobs *how,
                 GError **error) {
  OrrProgress *progress = orr_progress_new("simulating", TRUE);
  g_autoptr(GPtrArray) jobs = orr_simulate_jobs(library, scenario, how->keep_spans, error);
  gint64 run_id = 0;
  orr_progress_free(progress);
  if (!jobs) return 1;
  drop_many_spans(jobs, how->many_spans);
  add_bands(library, jobs, how);
  orr_terminal_outlive_reader();
  print_warnings(jobs, how->said);
  gboolean is_kept = !how->as_json || keep(jobs, how, &run_id, error); /* JSON has the runs' ids */
  const int lost = report_lost(jobs);
  if (how->as_json) {
    print_json(scenario, jobs);
  } else {
    print_table(scenario, jobs);
    print_bands(jobs);
    print_faults(jobs);
  }
  fflush(stdout);
  if (!how->as_json) is_kept = keep(jobs, how, &run_id, error);
  if (!is_kept) return 1;
  if (how->store && !how->as_json)
    printf("\n  stored        runs %ld to %ld in %s\n  next          orrery query %s jobs\n",
           run_id, run_id + jobs->len - 1, orr_store_path(how->store), orr_store_path(how->store));
  return MAX(lost, orr_patience_end_store(how->database, how->store));
}
