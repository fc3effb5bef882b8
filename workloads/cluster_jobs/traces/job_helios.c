/*
 * job_helios.c - the CSVs of Helios (SenseTime, Hu et al., SC 2021: cluster_log.csv) and Acme
 * (Shanghai AI Laboratory, Hu et al., NSDI 2024: trace_seren.csv, trace_kalos.csv).
 *
 *   job_id,user,vc,gpu_num,...,state,submit_time,start_time,end_time,duration,queue
 *   79c1,u1,vc8hr,8,...,COMPLETED,2020-04-01 00:00:10,...,3600,120
 *
 * submit_time is a date, duration the run time in seconds; `queue` is the time waited there, and
 * not read: vc, or type, is the queue. A file is known by submit_time and gpu_num in its header.
 */
#include "sim/base/csv.h"
#include "workloads/cluster_jobs/traces/job_trace.h"

typedef struct {
  int id, user, queue, model, gpus, submit, duration;
} Columns;

static gboolean takes(const char *head) {
  return strstr(head, "submit_time") && strstr(head, "gpu_num") && strchr(head, ',');
}

static int column(const OrrCsv *csv, const char *name, const char *other) {
  const int first = orr_csv_column(csv, name);
  return first >= 0 || !other ? first : orr_csv_column(csv, other);
}

static gboolean find_columns(const OrrCsv *csv, Columns *columns, OrrDiags *diags) {
  const OrrCsvLine *header = csv->lines->pdata[csv->header_line];
  *columns = (Columns){.id = column(csv, "job_id", NULL),
                       .user = column(csv, "user", NULL),
                       .queue = column(csv, "vc", "type"),
                       .model = column(csv, "jobname", NULL),
                       .gpus = column(csv, "gpu_num", NULL),
                       .submit = column(csv, "submit_time", NULL),
                       .duration = column(csv, "duration", NULL)};
  const gboolean is_whole = columns->gpus >= 0 && columns->submit >= 0 && columns->duration >= 0;
  if (!is_whole)
    orr_diags_error(diags, header->place, "want columns gpu_num, submit_time and duration");
  return is_whole;
}

static const char *cell(const OrrCsvLine *line, int column_of) {
  return column_of < 0 ? NULL : line->cells[column_of];
}

/* A job that was cancelled before it started has no duration: it counts as one without GPUs. */
static void add_line(OrrJobTrace *trace, const OrrCsv *csv, const OrrCsvLine *line,
                     const Columns *columns, OrrDiags *diags) {
  OrrJobLine job = {ORR_JOB_LINE_NONE, .id = cell(line, columns->id),
                    .user = cell(line, columns->user), .queue = cell(line, columns->queue),
                    .model = cell(line, columns->model)};
  const char *duration = cell(line, columns->duration);
  if (!orr_job_trace_date(trace, cell(line, columns->submit), line->place, diags, &job.submit_s) ||
      !orr_csv_number(csv, line, columns->gpus, diags, &job.gpus))
    return;
  if (!*duration)
    job.gpus = 0;
  else if (!orr_csv_number(csv, line, columns->duration, diags, &job.work_s))
    return;
  orr_job_trace_add(trace, &job, line->place, diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  Columns columns;
  if (!csv) return FALSE;
  if (!find_columns(csv, &columns, diags)) return TRUE;
  orr_job_trace_assume(trace, "no time limits: schedulers know each job's run time");
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells) add_line(trace, csv, line, &columns, diags);
  return TRUE;
}

const OrrJobReader orr_job_reader_helios = {
    .entry = {"helios", "CSV of Helios or Acme: submit_time is a date, gpu_num the GPUs.", NULL},
    .ending = ".csv",
    .takes = takes,
    .read = read_jobs,
};
