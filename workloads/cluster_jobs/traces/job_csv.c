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
 * (of training), after (ids of jobs that must have ended: 3|5), phases (from a fraction of the work
 * on, times as fast as at first: 0.25:1.5|0.75:2, gang_phases.h). Further columns are ignored.
 */
#include <string.h>

#include "sim/base/csv.h"
#include "workloads/cluster_jobs/job_trace.h"

typedef struct {
  int id, submit, work, gpus, user, queue, model, limit, restart, checkpoint, cost, detection;
  int priority, cpus, memory, min_gpus, max_gpus, segment, steps, after, phases;
} Columns;

/* The place of cell @column: commas inside quotes do not count. */
static OrrPlace cell_place(const OrrCsvLine *line, int column) {
  OrrPlace place = line->place;
  gboolean quoted = FALSE;
  const char *at = line->text;
  for (; *at && column > 0; at++) {
    if (*at == '"') quoted = !quoted;
    if (*at == ',' && !quoted) column--;
  }
  place.column = (int)(at - line->text) + 1;
  return place;
}

/* A number of its own, or @ret_value unchanged where the column or the cell is empty. */
static gboolean optional(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                         double *ret_value) {
  if (column < 0 || !*line->cells[column]) return TRUE;
  OrrCsvLine there = *line;
  there.place = cell_place(line, column);
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
  there.place = cell_place(line, column);
  return orr_csv_number(csv, &there, column, diags, ret_value);
}

/* Does not quote the header: a stranger's document can name any file. */
static gboolean find_columns(const OrrCsv *csv, Columns *columns, OrrDiags *diags) {
  const OrrCsvLine *header = csv->lines->pdata[csv->header_line];
  *columns = (Columns){.id = orr_csv_column(csv, "job_id"),
                       .submit = orr_csv_column(csv, "submit_s"),
                       .work = orr_csv_column(csv, "duration_s"),
                       .gpus = orr_csv_column(csv, "gpus"),
                       .user = orr_csv_column(csv, "user"),
                       .queue = orr_csv_column(csv, "queue"),
                       .model = orr_csv_column(csv, "model"),
                       .limit = orr_csv_column(csv, "limit_s"),
                       .restart = orr_csv_column(csv, "restart_s"),
                       .checkpoint = orr_csv_column(csv, "checkpoint_s"),
                       .cost = orr_csv_column(csv, "checkpoint_cost_s"),
                       .detection = orr_csv_column(csv, "detection_s"),
                       .priority = orr_csv_column(csv, "priority"),
                       .cpus = orr_csv_column(csv, "cpus"),
                       .memory = orr_csv_column(csv, "memory_gb"),
                       .min_gpus = orr_csv_column(csv, "min_gpus"),
                       .max_gpus = orr_csv_column(csv, "max_gpus"),
                       .segment = orr_csv_column(csv, "segment"),
                       .steps = orr_csv_column(csv, "steps"),
                       .after = orr_csv_column(csv, "after"),
                       .phases = orr_csv_column(csv, "phases")};
  if (columns->work < 0) columns->work = orr_csv_column(csv, "work_s");
  if (columns->submit < 0)
    orr_diags_error(diags, header->place, "there is no column submit_s (the header has %u)",
                    g_strv_length(csv->header));
  if (columns->work < 0)
    orr_diags_error(diags, header->place, "there is no column duration_s (the header has %u)",
                    g_strv_length(csv->header));
  return columns->submit >= 0 && columns->work >= 0;
}

static gboolean read_phases(OrrJobTrace *trace, const OrrCsvLine *line, int column, OrrDiags *diags,
                            OrrJobLine *job) {
  if (column < 0 || !*line->cells[column]) return TRUE;
  OrrGangPhases *phases = orr_gang_phases_read(line->cells[column]);
  job->phases = phases;
  if (phases)
    g_ptr_array_add(trace->phases, phases);
  else
    orr_diags_error(diags, cell_place(line, column),
                    "phases is not FROM:SPEED|..., fractions of the work in rising order between 0 "
                    "and 1, each with a speed from 0.001 to 1000 relative to the first");
  return phases != NULL;
}

static void add_line(OrrJobTrace *trace, const OrrCsv *csv, const OrrCsvLine *line,
                     const Columns *columns, OrrDiags *diags) {
  const char *const *cells = (const char *const *)line->cells;
  OrrJobLine job = {ORR_JOB_LINE_NONE,
                    .id = columns->id < 0 ? NULL : cells[columns->id],
                    .user = columns->user < 0 ? NULL : cells[columns->user],
                    .queue = columns->queue < 0 ? NULL : cells[columns->queue],
                    .model = columns->model < 0 ? NULL : cells[columns->model],
                    .after = columns->after < 0 ? NULL : cells[columns->after]};
  if (number(csv, line, columns->submit, -1, diags, &job.submit_s) &&
      number(csv, line, columns->work, -1, diags, &job.work_s) &&
      number(csv, line, columns->gpus, columns->gpus < 0 ? 1 : -1, diags, &job.gpus) &&
      number(csv, line, columns->limit, 0, diags, &job.limit_s) &&
      optional(csv, line, columns->restart, diags, &job.restart_s) &&
      optional(csv, line, columns->checkpoint, diags, &job.checkpoint_s) &&
      optional(csv, line, columns->cost, diags, &job.checkpoint_cost_s) &&
      optional(csv, line, columns->detection, diags, &job.detection_s) &&
      optional(csv, line, columns->priority, diags, &job.priority) &&
      optional(csv, line, columns->cpus, diags, &job.cpus) &&
      optional(csv, line, columns->memory, diags, &job.memory_gb) &&
      optional(csv, line, columns->min_gpus, diags, &job.min_gpus) &&
      optional(csv, line, columns->max_gpus, diags, &job.max_gpus) &&
      optional(csv, line, columns->segment, diags, &job.segment) &&
      optional(csv, line, columns->steps, diags, &job.steps) &&
      read_phases(trace, line, columns->phases, diags, &job))
    orr_job_trace_add(trace, &job, line->place, diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  Columns columns;
  if (!csv) return FALSE;
  if (!find_columns(csv, &columns, diags)) return TRUE;
  if (columns.gpus < 0) orr_job_trace_assume(trace, "no column gpus: each job takes 1");
  if (columns.limit < 0)
    orr_job_trace_assume(trace, "no column limit_s: schedulers know each job's run time");
  for (guint i = 0; i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (line->cells) add_line(trace, csv, line, &columns, diags);
  }
  return TRUE;
}

const OrrJobReader orr_job_reader_csv = {
    .entry = {"csv", "CSV with submit_s, duration_s, gpus and further columns.", NULL},
    .ending = ".csv",
    .read = read_jobs,
};
