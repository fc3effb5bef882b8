/*
 * job_gavel.c - the .trace files of Gavel and Shockwave (Narayanan et al., OSDI 2020; Zheng et al.,
 * NSDI 2023): one job per line, fields between tabs.
 *
 *   1 job type   2 command   3 working directory   4 argument of steps   5 needs data
 *   6 steps      7 GPUs      ...                   last: submission in seconds
 *
 * They state steps, not run times: `workload.throughputs` says how long these take.
 */
#include "workloads/cluster_jobs/traces/job_trace.h"

enum { TYPE = 0, STEPS = 5, GPUS = 6, FEWEST = 10 };

static gboolean read_number(const char *text, const char *what, OrrPlace place, OrrDiags *diags,
                            double *ret_value) {
  char *end;
  *ret_value = g_ascii_strtod(text, &end);
  if (end != text && !*end && isfinite(*ret_value)) return TRUE;
  orr_diags_error(diags, place, "%s is '%.40s': want a number", what, text);
  return FALSE;
}

static void add_line(OrrJobTrace *trace, char *const *fields, OrrPlace place, OrrDiags *diags) {
  const guint n = g_strv_length((char **)fields);
  OrrJobLine job = {ORR_JOB_LINE_NONE, .model = fields[TYPE]};
  if (n < FEWEST)
    return orr_diags_error(diags, place, "%u fields between tabs: want at least %d", n, FEWEST);
  if (read_number(fields[STEPS], "the number of steps", place, diags, &job.steps) &&
      read_number(fields[GPUS], "the number of GPUs", place, diags, &job.gpus) &&
      read_number(fields[n - 1], "the submission", place, diags, &job.submit_s))
    orr_job_trace_add(trace, &job, place, diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autofree char *text = orr_job_trace_text(path, error);
  if (!text) return FALSE;
  OrrPlace place = {.file = g_intern_string(path), .column = 1};
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    place.line++;
    if (!*g_strchomp(line)) continue;
    g_auto(GStrv) fields = g_strsplit(line, "\t", -1);
    add_line(trace, fields, place, diags);
  }
  return TRUE;
}

const OrrJobReader orr_job_reader_gavel = {
    .entry = {"gavel", "Gavel's .trace: job types, steps and gangs.", NULL},
    .ending = ".trace",
    .read = read_jobs,
};
