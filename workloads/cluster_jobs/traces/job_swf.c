/*
 * job_swf.c - the Standard Workload Format of the Parallel Workloads Archive (Feitelson, Tsafrir,
 * Krakov, JPDC 2014; version 2.2): 18 numbers per line, -1 where unknown, ';' begins a comment.
 *
 *    1 job   2 submit   4 run time   5 processors used   8 processors asked   9 time asked
 *   12 user 15 queue
 *
 * A processor counts as a GPU. Submissions are as stated: the job that one came after (17) is not
 * waited for. Jobs without a run time or processors (cancelled before they
 * started) are left out.
 */
#include "workloads/cluster_jobs/traces/job_trace.h"

enum { N_FIELDS = 18 };

/* The fields of @line; FALSE with a finding. */
static gboolean split(char *line, double *fields, OrrPlace place, OrrDiags *diags) {
  int n = 0;
  for (char *at = line; *at && n < N_FIELDS; n++) {
    char *end;
    fields[n] = g_ascii_strtod(at, &end);
    if (end == at || !isfinite(fields[n]) || (*end && !g_ascii_isspace(*end))) {
      place.column = (int)(at - line) + 1;
      orr_diags_error(diags, place, "field %d is '%.40s': want a number", n + 1, at);
      return FALSE;
    }
    for (at = end; g_ascii_isspace(*at); at++) continue;
  }
  if (n < N_FIELDS) orr_diags_error(diags, place, "%d fields: want %d", n, N_FIELDS);
  return n == N_FIELDS;
}

static char *name_of(double number) { return number < 0 ? NULL : g_strdup_printf("%.0f", number); }

static void add_line(OrrJobTrace *trace, const double *fields, OrrPlace place, OrrDiags *diags) {
  if (fields[16] > 0) orr_job_trace_assume(trace, "preceding jobs (field 17): not waited for");
  g_autofree char *id = name_of(fields[0]), *user = name_of(fields[11]),
                  *queue = name_of(fields[14]);
  const double gpus = fields[4] > 0 ? fields[4] : fields[7];
  const OrrJobLine job = {ORR_JOB_LINE_NONE,
                          .id = id,
                          .user = user,
                          .queue = queue,
                          .submit_s = fields[1],
                          .work_s = fmax(fields[3], 0),
                          .limit_s = fmax(fields[8], 0),
                          .gpus = fields[3] < 0 || gpus < 0 ? 0 : gpus};
  orr_job_trace_add(trace, &job, place, diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autofree char *text = orr_job_trace_text(path, error);
  if (!text) return FALSE;
  orr_job_trace_assume(trace, "Standard Workload Format: a processor counts as a GPU");
  OrrPlace place = {.file = g_intern_string(path), .column = 1};
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    place.line++;
    double fields[N_FIELDS];
    char *start = g_strstrip(line);
    if (*start && *start != ';' && split(start, fields, place, diags))
      add_line(trace, fields, place, diags);
  }
  return TRUE;
}

const OrrJobReader orr_job_reader_swf = {
    .entry = {"swf", "Standard Workload Format of the Parallel Workloads Archive.", NULL},
    .ending = ".swf",
    .read = read_jobs,
};
