/*
 * job_csv.c - jobs as a CSV with a header line; lines that begin with '#' are comments.
 *
 *   job_id,submit_s,duration_s,gpus,user,queue,model,limit_s,restart_s,checkpoint_s,priority
 *   1,0,3600,8,ann,research,gpt2,7200,30,600,10
 *
 * submit_s and duration_s are required; `work_s` is another name for duration_s. Without gpus a job
 * takes one; without job_id its line counts; an empty limit_s means no limit, an empty restart_s,
 * checkpoint_s, checkpoint_cost_s or detection_s the policy's. For some policies: cpus, memory_gb
 * (of the gang), min_gpus, max_gpus (elastic gangs), segment (nodes that must share a block), steps
 * (of training), after (ids of jobs that must have ended, of any line: 3|5, job_after.c), phases
 * (from a fraction of the work on, times as fast as at first: 0.25:1.5|0.75:2, gang_job.h). A
 * column whose name resembles an absent one's is an error; others are left out, and the answer
 * names them.
 */
#include "sim/base/csv.h"
#include "workloads/cluster_jobs/traces/job_trace.h"

enum {
  ID,
  SUBMIT,
  WORK,
  GPUS,
  USER,
  QUEUE,
  MODEL,
  LIMIT,
  RESTART,
  CHECKPOINT,
  COST,
  DETECTION,
  PRIORITY,
  CPUS,
  MEMORY,
  MIN_GPUS,
  MAX_GPUS,
  SEGMENT,
  STEPS,
  AFTER,
  PHASES,
  N_COLUMNS
};
static const char *const known[] = {[ID] = "job_id",
                                    [SUBMIT] = "submit_s",
                                    [WORK] = "duration_s|work_s",
                                    [GPUS] = "gpus",
                                    [USER] = "user",
                                    [QUEUE] = "queue",
                                    [MODEL] = "model",
                                    [LIMIT] = "limit_s",
                                    [RESTART] = "restart_s",
                                    [CHECKPOINT] = "checkpoint_s",
                                    [COST] = "checkpoint_cost_s",
                                    [DETECTION] = "detection_s",
                                    [PRIORITY] = "priority",
                                    [CPUS] = "cpus",
                                    [MEMORY] = "memory_gb",
                                    [MIN_GPUS] = "min_gpus",
                                    [MAX_GPUS] = "max_gpus",
                                    [SEGMENT] = "segment",
                                    [STEPS] = "steps",
                                    [AFTER] = "after",
                                    [PHASES] = "phases",
                                    [N_COLUMNS] = NULL};

/* A number of its own, or @ret_value unchanged where the column or the cell is empty. */
static gboolean optional(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                         double *ret_value) {
  if (column < 0 || !*line->cells[column]) return TRUE;
  OrrCsvLine there = *line;
  there.place = orr_csv_place(line, column);
  if (!orr_csv_number(csv, &there, column, diags, ret_value)) return FALSE;
  if (*ret_value >= 0) return TRUE;
  orr_diags_error(diags, there.place, "%s is %g: want 0 or more", csv->header[column], *ret_value);
  return FALSE;
}

static gboolean number(const OrrCsv *csv, const OrrCsvLine *line, int column, double fallback,
                       OrrDiags *diags, double *ret_value) {
  *ret_value = fallback;
  if (column < 0 || (fallback >= 0 && !*line->cells[column])) return TRUE;
  OrrCsvLine there = *line;
  there.place = orr_csv_place(line, column);
  return orr_csv_number(csv, &there, column, diags, ret_value);
}

/* Dates that logs have and that resemble a column. */
static const char *const dates[] = {"start_s", NULL};

/* FALSE with findings where the trace lacks what it needs. */
static gboolean find_columns(OrrJobTrace *trace, const OrrCsv *csv, int *at, OrrDiags *diags) {
  for (int i = 0; i < N_COLUMNS; i++)
    at[i] = i == SUBMIT || i == WORK ? orr_csv_require(csv, known, known[i], diags)
                                     : orr_csv_find(csv, known[i]);
  if (at[SUBMIT] < 0 || at[WORK] < 0) return FALSE;
  g_autofree char *left_out = orr_csv_check(csv, known, dates, diags);
  if (left_out) orr_job_trace_assume(trace, left_out);
  return TRUE;
}

static gboolean read_phases(OrrJobTrace *trace, const OrrCsvLine *line, int column, OrrDiags *diags,
                            OrrJobLine *job) {
  if (column < 0 || !*line->cells[column]) return TRUE;
  OrrGangPhases *phases = orr_gang_phases_read(line->cells[column]);
  job->phases = phases;
  if (phases)
    g_ptr_array_add(trace->phases, phases);
  else
    orr_diags_error(diags, orr_csv_place(line, column),
                    "phases is not FROM:SPEED|..., fractions of the work in rising order between 0 "
                    "and 1, each with a speed from 0.001 to 1000 relative to the first");
  return phases != NULL;
}

static const char *cell(const char *const *cells, int column) {
  return column < 0 ? NULL : cells[column];
}

static void add_line(OrrJobTrace *trace, const OrrCsv *csv, const OrrCsvLine *line, const int *at,
                     OrrDiags *diags) {
  const char *const *cells = (const char *const *)line->cells;
  OrrJobLine job = {ORR_JOB_LINE_NONE,
                    .id = cell(cells, at[ID]),
                    .user = cell(cells, at[USER]),
                    .queue = cell(cells, at[QUEUE]),
                    .model = cell(cells, at[MODEL]),
                    .after = cell(cells, at[AFTER])};
  if (job.after) job.after_place = orr_csv_place(line, at[AFTER]);
  if (number(csv, line, at[SUBMIT], -1, diags, &job.submit_s) &&
      number(csv, line, at[WORK], -1, diags, &job.work_s) &&
      number(csv, line, at[GPUS], at[GPUS] < 0 ? 1 : -1, diags, &job.gpus) &&
      number(csv, line, at[LIMIT], 0, diags, &job.limit_s) &&
      optional(csv, line, at[RESTART], diags, &job.restart_s) &&
      optional(csv, line, at[CHECKPOINT], diags, &job.checkpoint_s) &&
      optional(csv, line, at[COST], diags, &job.checkpoint_cost_s) &&
      optional(csv, line, at[DETECTION], diags, &job.detection_s) &&
      optional(csv, line, at[PRIORITY], diags, &job.priority) &&
      optional(csv, line, at[CPUS], diags, &job.cpus) &&
      optional(csv, line, at[MEMORY], diags, &job.memory_gb) &&
      optional(csv, line, at[MIN_GPUS], diags, &job.min_gpus) &&
      optional(csv, line, at[MAX_GPUS], diags, &job.max_gpus) &&
      optional(csv, line, at[SEGMENT], diags, &job.segment) &&
      optional(csv, line, at[STEPS], diags, &job.steps) &&
      read_phases(trace, line, at[PHASES], diags, &job))
    orr_job_trace_add(trace, &job, line->place, diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  int at[N_COLUMNS];
  if (!csv) return FALSE;
  if (!find_columns(trace, csv, at, diags)) return TRUE;
  if (at[GPUS] < 0) orr_job_trace_assume(trace, "no column gpus: each job takes 1");
  if (at[LIMIT] < 0)
    orr_job_trace_assume(trace, "no column limit_s: schedulers know each job's run time");
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells) add_line(trace, csv, line, at, diags);
  return TRUE;
}

const OrrJobReader orr_job_reader_csv = {
    .entry = {"csv", "CSV with submit_s, duration_s, gpus and further columns.", NULL},
    .ending = ".csv",
    .read = read_jobs,
};
