/*
 * job_sacct.c - what Slurm's accounting prints:
 *
 *   sacct -a -X -P -S 2026-01-01 -o JobID,User,Partition,Submit,ElapsedRaw,TimelimitRaw,AllocTRES
 *   JobID|User|Partition|Submit|ElapsedRaw|TimelimitRaw|AllocTRES
 *   17|ann|gpu|2026-01-01T00:10:00|3600|120|billing=64,cpu=64,gres/gpu=8,node=1
 *
 * Columns in any order; Elapsed and Timelimit (D-HH:MM:SS) in place of the raw ones (seconds,
 * minutes), or End - Start where neither is there; ReqTRES where AllocTRES is empty. Steps
 * (17.batch) are passed over. A job without gres/gpu or gres/gpu:TYPE uses none. A file is known by
 * "JobID" and '|' in its first line.
 *
 * A job that never started is left out: it took no time, and its Start is not a date, its State
 * is PENDING, or its AllocTRES is empty. Array tasks that wait are one line, 17_[2-5]. Where the
 * file cannot say it, a job of 0 s counts, with a note. So does a job that still runs, with its
 * time so far; it is left out where the elapsed time is End - Start.
 *
 * The components of a heterogeneous job (17+0, 17+1) start together: they are one gang, with all
 * their GPUs and the longest of their times.
 */
#include "workloads/cluster_jobs/traces/job_trace.h"

typedef enum {
  ID,
  USER,
  QUEUE,
  NAME,
  SUBMIT,
  ELAPSED_RAW,
  ELAPSED,
  START,
  END,
  LIMIT_RAW,
  LIMIT,
  TRES,
  ASKED,
  STATE,
  N_COLUMNS
} Column;
static const char *const names[N_COLUMNS] = {
    "JobID", "User", "Partition",    "JobName",   "Submit",    "ElapsedRaw", "Elapsed",
    "Start", "End",  "TimelimitRaw", "Timelimit", "AllocTRES", "ReqTRES",    "State"};

static gboolean takes(const char *head) {
  const char *end = strchr(head, '\n');
  const char *id = strstr(head, "JobID"), *bar = strchr(head, '|');
  return end && id && bar && id < end && bar < end;
}

/* "1-02:03:04", "02:03:04", "03:04" in seconds; -1: not a time. */
static double span_of(const char *text) {
  double days = 0, sum = 0;
  const char *dash = strchr(text, '-');
  if (dash) {
    char *end;
    days = g_ascii_strtod(text, &end);
    if (end != dash) return -1;
    text = dash + 1;
  }
  g_auto(GStrv) parts = g_strsplit(text, ":", 4);
  const guint n = g_strv_length(parts);
  if (n < 2 || n > 3) return -1;
  for (guint i = 0; i < n; i++) {
    char *end;
    const double part = g_ascii_strtod(parts[i], &end);
    if (end == parts[i] || *end || part < 0) return -1;
    sum = 60 * sum + part;
  }
  return 86400 * days + sum;
}

/* "gres/gpu=8" of a list, else the sum of "gres/gpu:h100=4,gres/gpu:a100=4"; 0: none. */
static double gpus_of(const char *tres) {
  g_auto(GStrv) parts = g_strsplit(tres, ",", -1);
  double of_types = 0;
  for (guint i = 0; parts[i]; i++) {
    const char *equals = strchr(parts[i], '=');
    if (g_str_has_prefix(parts[i], "gres/gpu=")) return g_ascii_strtod(equals + 1, NULL);
    if (g_str_has_prefix(parts[i], "gres/gpu:") && equals)
      of_types += g_ascii_strtod(equals + 1, NULL);
  }
  return of_types;
}

typedef struct {
  int at[N_COLUMNS];
  char **cells;
  guint n;
  GHashTable *gangs; /* a heterogeneous job to its place in the trace, from 1 */
  guint n_never_started;
} Line;

static const char *cell(const Line *line, Column column) {
  const int at = line->at[column];
  return at >= 0 && (guint)at < line->n ? line->cells[at] : "";
}

/* @raw in units of @unit_s, else @dated; -1: neither is there, or it cannot be read. */
static double time_of(const Line *line, Column raw, double unit_s, Column dated) {
  const char *text = cell(line, raw);
  if (*text) {
    char *end;
    const double value = g_ascii_strtod(text, &end);
    return end != text && !*end ? value * unit_s : -1;
  }
  text = cell(line, dated);
  return *text ? span_of(text) : -1;
}

static gboolean is_date(const Line *line, Column column) {
  return g_ascii_isdigit(*cell(line, column));
}

/* Whether the job ran from a start to an end: dates, not "Unknown" or "None". */
static gboolean has_ended(const Line *line) { return is_date(line, START) && is_date(line, END); }

/* The job's elapsed seconds; FALSE with a finding. */
static gboolean elapsed_of(OrrJobTrace *trace, const Line *line, OrrPlace place, OrrDiags *diags,
                           double *ret_s) {
  const gboolean is_stated = line->at[ELAPSED_RAW] >= 0 || line->at[ELAPSED] >= 0;
  double start_s, end_s;
  if (!is_stated) {
    if (!orr_job_trace_date(trace, cell(line, START), place, diags, &start_s) ||
        !orr_job_trace_date(trace, cell(line, END), place, diags, &end_s))
      return FALSE;
    *ret_s = end_s - start_s;
    if (*ret_s < 0) orr_diags_error(diags, place, "the job ends before it starts");
    return *ret_s >= 0;
  }
  *ret_s = time_of(line, ELAPSED_RAW, 1, ELAPSED);
  if (*ret_s < 0)
    orr_diags_error(diags, place, "the elapsed time is '%.40s': want seconds, or D-HH:MM:SS",
                    *cell(line, ELAPSED_RAW) ? cell(line, ELAPSED_RAW) : cell(line, ELAPSED));
  return *ret_s >= 0;
}

/* Of a job that took @elapsed_s. */
static gboolean never_started(const Line *line, double elapsed_s) {
  return elapsed_s == 0 && ((line->at[START] >= 0 && !is_date(line, START)) ||
                            g_str_has_prefix(cell(line, STATE), "PENDING") ||
                            (line->at[TRES] >= 0 && !*cell(line, TRES)));
}

/* Values that the file leaves open. */
static void note(OrrJobTrace *trace, const Line *line, double elapsed_s) {
  if (elapsed_s == 0 && line->at[START] < 0 && line->at[STATE] < 0 && line->at[TRES] < 0)
    orr_job_trace_assume(
        trace, "jobs of 0 s, which may never have started, and count (Start would say it)");
  if (g_str_has_prefix(cell(line, STATE), "RUNNING") || (line->at[END] >= 0 && !is_date(line, END)))
    orr_job_trace_assume(trace, "jobs that still run, with their time so far as their work");
}

/* Adds @job, or its GPUs to its gang. */
static void add_job(OrrJobTrace *trace, const Line *line, const OrrJobLine *job, OrrPlace place,
                    OrrDiags *diags) {
  const char *plus = strchr(job->id, '+');
  const guint before = trace->jobs->len;
  g_autofree char *number =
      plus ? g_strdup_printf("%.*s %s", (int)(plus - job->id), job->id, cell(line, SUBMIT)) : NULL;
  const guint known = number ? GPOINTER_TO_UINT(g_hash_table_lookup(line->gangs, number)) : 0;
  orr_job_trace_add(trace, job, place, diags);
  if (!number || trace->jobs->len == before) return;
  if (known == 0) {
    g_hash_table_insert(line->gangs, g_steal_pointer(&number), GUINT_TO_POINTER(before + 1));
    return;
  }
  OrrGangJob *gang = &g_array_index(trace->jobs, OrrGangJob, known - 1);
  const OrrGangJob *part = &g_array_index(trace->jobs, OrrGangJob, before);
  gang->gpus += part->gpus;
  gang->work_us = MAX(gang->work_us, part->work_us);
  gang->limit_us = MAX(gang->limit_us, part->limit_us);
  g_array_set_size(trace->jobs, before);
  orr_job_trace_assume(trace, "heterogeneous jobs (17+0, 17+1), each as one gang of all its GPUs");
}

static void add_line(OrrJobTrace *trace, Line *line, OrrPlace place, OrrDiags *diags) {
  const char *id = cell(line, ID);
  const char *tres = *cell(line, TRES) ? cell(line, TRES) : cell(line, ASKED);
  OrrJobLine job = {ORR_JOB_LINE_NONE, .id = id, .user = cell(line, USER),
                    .queue = cell(line, QUEUE), .model = cell(line, NAME)};
  const gboolean is_by_dates = line->at[ELAPSED_RAW] < 0 && line->at[ELAPSED] < 0;
  if (strchr(id, '.')) return;
  if (is_by_dates && !has_ended(line)) {
    if (is_date(line, START))
      orr_job_trace_assume(trace, "jobs without an end, which are left out");
    else
      line->n_never_started++;
    return;
  }
  if (!orr_job_trace_date(trace, cell(line, SUBMIT), place, diags, &job.submit_s)) return;
  const double limit_s = time_of(line, LIMIT_RAW, 60, LIMIT);
  if (!elapsed_of(trace, line, place, diags, &job.work_s)) return;
  if (never_started(line, job.work_s)) {
    line->n_never_started++;
    return;
  }
  note(trace, line, job.work_s);
  job.limit_s = MAX(limit_s, 0); /* UNLIMITED, Partition_Limit: none that is known */
  job.gpus = gpus_of(tres);
  add_job(trace, line, &job, place, diags);
}

static gboolean read_header(Line *line, char **header, OrrPlace place, OrrDiags *diags) {
  for (guint c = 0; c < N_COLUMNS; c++) {
    line->at[c] = -1;
    for (guint i = 0; header[i]; i++)
      if (strcmp(header[i], names[c]) == 0) line->at[c] = (int)i;
  }
  const gboolean has_time = line->at[ELAPSED_RAW] >= 0 || line->at[ELAPSED] >= 0 ||
                            (line->at[START] >= 0 && line->at[END] >= 0);
  const gboolean has_gpus = line->at[TRES] >= 0 || line->at[ASKED] >= 0;
  if (line->at[ID] >= 0 && line->at[SUBMIT] >= 0 && has_time && has_gpus) return TRUE;
  orr_diags_error(
      diags, place,
      "want the columns JobID, Submit, ElapsedRaw (or Elapsed, or Start and End) and AllocTRES (or "
      "ReqTRES) of sacct -P");
  return FALSE;
}

static void read_lines(OrrJobTrace *trace, char *text, const char *path, OrrDiags *diags) {
  OrrPlace place = {.file = g_intern_string(path), .column = 1};
  g_autoptr(GHashTable) gangs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  Line line = {.gangs = gangs};
  for (char *at = text, *next; at; at = next) {
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    place.line++;
    if (!*g_strchomp(at)) continue;
    g_auto(GStrv) cells = g_strsplit(at, "|", -1);
    if (place.line == 1) {
      if (!read_header(&line, cells, place, diags)) return;
      continue;
    }
    line.cells = cells;
    line.n = g_strv_length(cells);
    add_line(trace, &line, place, diags);
  }
  if (line.n_never_started == 0) return;
  g_autofree char *left_out =
      g_strdup_printf("jobs that never started, which are left out: %u", line.n_never_started);
  orr_job_trace_assume(trace, left_out);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  g_autofree char *text = orr_job_trace_text(path, error);
  if (!text) return FALSE;
  orr_job_trace_assume(trace, "elapsed times of jobs that failed or were cancelled as their work");
  read_lines(trace, text, path, diags);
  return TRUE;
}

const OrrJobReader orr_job_reader_sacct = {
    .entry = {"sacct", "Slurm's accounting, printed by sacct -P.", NULL},
    .ending = ".sacct",
    .takes = takes,
    .read = read_jobs,
};
