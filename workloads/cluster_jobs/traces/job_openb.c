/*
 * job_openb.c - pods of Alibaba's cluster-trace-gpu-v2023 ("openb", Weng et al., ATC 2023), and
 * Slurm accounts of MIT Supercloud (Samsi et al., HPEC 2021), which both have times as numbers of
 * seconds:
 *
 *   name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,
 *   scheduled_time
 *   openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0
 *
 *   id_job,...,time_submit,time_start,time_end,timelimit,...,gres_used
 *   1,...,1609459200,1609459260,1609462860,1440,...,gpu:volta:2
 *
 * timelimit is Slurm's: minutes; its two largest numbers mean that there is none.
 * A pod runs from scheduled_time to deletion_time. A part of a GPU (gpu_milli below 1000) counts as
 * a whole one, which the answer says.
 */
#include "sim/base/csv.h"
#include "workloads/cluster_jobs/traces/job_trace.h"

/* Dates of Unix begin here, 2001; openb's times begin with the trace. */
static const double from_s = 1e9;
static const double no_limit = 4294967294; /* Slurm's NO_VAL; INFINITE is one more */

typedef struct {
  int id, user, queue, gpus, milli, used, submit, begin, end, limit;
} Columns;

static gboolean takes(const char *head) {
  return (strstr(head, "creation_time") && strstr(head, "num_gpu") && strchr(head, ',')) ||
         (strstr(head, "time_submit") && strstr(head, "gres_used") && strchr(head, ','));
}

static int column(const OrrCsv *csv, const char *name, const char *other) {
  const int first = orr_csv_column(csv, name);
  return first >= 0 ? first : orr_csv_column(csv, other);
}

static gboolean find_columns(const OrrCsv *csv, Columns *columns, OrrDiags *diags) {
  const OrrCsvLine *header = csv->lines->pdata[csv->header_line];
  *columns = (Columns){.id = column(csv, "name", "id_job"),
                       .user = column(csv, "user", "id_user"),
                       .queue = column(csv, "qos", "partition"),
                       .gpus = orr_csv_column(csv, "num_gpu"),
                       .milli = orr_csv_column(csv, "gpu_milli"),
                       .used = orr_csv_column(csv, "gres_used"),
                       .submit = column(csv, "creation_time", "time_submit"),
                       .begin = column(csv, "scheduled_time", "time_start"),
                       .end = column(csv, "deletion_time", "time_end"),
                       .limit = orr_csv_column(csv, "timelimit")};
  const gboolean is_whole = (columns->gpus >= 0 || columns->used >= 0) && columns->submit >= 0 &&
                            columns->begin >= 0 && columns->end >= 0;
  if (!is_whole)
    orr_diags_error(diags, header->place,
                    "want columns num_gpu, creation_time, scheduled_time and deletion_time, or "
                    "gres_used, time_submit, time_start and time_end");
  return is_whole;
}

/* The GPUs of "gpu:volta:2", "gpu:2" or "gpu:2(IDX:0-1)"; 0: none. */
static double gpus_of(const char *text) {
  const char *gpu = strstr(text, "gpu:");
  if (!gpu) return 0;
  const char *end = gpu + strcspn(gpu, ",(");
  const char *digits = end;
  while (digits > gpu && g_ascii_isdigit(digits[-1])) digits--;
  return digits < end ? g_ascii_strtod(digits, NULL) : 1;
}

static const char *cell(const OrrCsvLine *line, int column_of) {
  return column_of < 0 ? NULL : line->cells[column_of];
}

/* A pod that never ran has no times, and among dates (Slurm's) 0: it counts as one without GPUs. */
static void add_line(OrrJobTrace *trace, const OrrCsv *csv, const OrrCsvLine *line,
                     const Columns *at, OrrDiags *diags) {
  OrrJobLine job = {ORR_JOB_LINE_NONE, .id = cell(line, at->id), .user = cell(line, at->user),
                    .queue = cell(line, at->queue)};
  double begin = 0, end = 0, milli = 0;
  if (!orr_csv_number(csv, line, at->submit, diags, &job.submit_s)) return;
  if (at->gpus < 0)
    job.gpus = gpus_of(line->cells[at->used]);
  else if (!orr_csv_number(csv, line, at->gpus, diags, &job.gpus))
    return;
  if (at->milli >= 0 && *line->cells[at->milli] &&
      orr_csv_number(csv, line, at->milli, diags, &milli) && milli > 0 && milli < 1000)
    orr_job_trace_assume(trace, "jobs on a part of a GPU take a whole one");
  if (!*line->cells[at->begin] || !*line->cells[at->end])
    job.gpus = 0;
  else if (!orr_csv_number(csv, line, at->begin, diags, &begin) ||
           !orr_csv_number(csv, line, at->end, diags, &end))
    return;
  double minutes = 0;
  if (at->limit >= 0 && *line->cells[at->limit] &&
      !orr_csv_number(csv, line, at->limit, diags, &minutes))
    return;
  job.limit_s = minutes > 0 && minutes < no_limit ? 60 * minutes : 0;
  const gboolean is_dated = job.submit_s >= from_s, has_run = !is_dated || (begin > 0 && end > 0);
  if (is_dated) job.submit_s -= from_s; /* the first job's becomes 0 */
  job.work_s = has_run ? MAX(end - begin, 0) : 0;
  if (job.work_s <= 0) job.gpus = 0;
  orr_job_trace_add(trace, &job, line->place, diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  Columns columns;
  if (!csv) return FALSE;
  if (!find_columns(csv, &columns, diags)) return TRUE;
  trace->is_dated = TRUE;
  if (columns.limit < 0)
    orr_job_trace_assume(trace, "no time limits: schedulers know each job's run time");
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells) add_line(trace, csv, line, &columns, diags);
  return TRUE;
}

const OrrJobReader orr_job_reader_openb = {
    .entry = {"openb", "CSV of Alibaba's openb or MIT Supercloud: times are seconds.", NULL},
    .ending = ".csv",
    .takes = takes,
    .read = read_jobs,
};
