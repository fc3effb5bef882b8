/*
 * job_philly.c - cluster_job_log of Microsoft's Philly (Jeon et al., USENIX ATC 2019): a JSON array
 * of jobs with their attempts.
 *
 *   [{"status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_10258",
 *     "submitted_time": "2017-10-09 07:02:20", "user": "ce2f4f",
 *     "attempts": [{"start_time": "2017-10-09 07:02:37", "end_time": "2017-10-09 08:12:01",
 *                   "detail": [{"ip": "m62", "gpus": ["gpu0", "gpu1"]}]}]}]
 *
 * The work of a job is the time of all its attempts, its gang the GPUs of the largest. A job that
 * never started, or whose end is not known, uses no GPU and is left out.
 */
#include "sim/base/file.h"
#include "sim/base/json.h"
#include "workloads/cluster_jobs/traces/job_trace.h"

typedef struct {
  OrrJobTrace *trace;
  OrrJson json;
  OrrDiags *diags;
} Reading;

static gboolean takes(const char *head) {
  return strstr(head, "\"submitted_time\"") || strstr(head, "\"attempts\"");
}

/* "None" and null stand for a time that is not known: FALSE without a finding. */
static gboolean read_date(Reading *reading, double *ret_s) {
  const OrrPlace place = orr_json_place(&reading->json);
  if (orr_json_peek(&reading->json) == 'n') {
    orr_json_skip(&reading->json);
    return FALSE;
  }
  g_autofree char *text = orr_json_text(&reading->json);
  if (!text || !*text || strcmp(text, "None") == 0) return FALSE;
  /* "2017-10-09 07:02:20 PDT": one zone for all */
  if (strlen(text) > 19) text[19] = '\0';
  return orr_job_trace_date(reading->trace, text, place, reading->diags, ret_s);
}

static double count_gpus(Reading *reading) { /* of one machine: {"ip": ..., "gpus": [...]} */
  double n = 0;
  orr_json_open(&reading->json);
  while (orr_json_more(&reading->json)) {
    g_autofree char *key = orr_json_key(&reading->json);
    if (strcmp(key, "gpus") != 0) {
      orr_json_skip(&reading->json);
      continue;
    }
    orr_json_open(&reading->json);
    for (; orr_json_more(&reading->json); n++) orr_json_skip(&reading->json);
  }
  return n;
}

static void read_attempt(Reading *reading, OrrJobLine *job) {
  double begin_s = 0, end_s = 0, gpus = 0;
  gboolean has_begin = FALSE, has_end = FALSE;
  orr_json_open(&reading->json);
  while (orr_json_more(&reading->json)) {
    g_autofree char *key = orr_json_key(&reading->json);
    if (strcmp(key, "start_time") == 0) {
      has_begin = read_date(reading, &begin_s);
    } else if (strcmp(key, "end_time") == 0) {
      has_end = read_date(reading, &end_s);
    } else if (strcmp(key, "detail") == 0) {
      orr_json_open(&reading->json);
      while (orr_json_more(&reading->json)) gpus += count_gpus(reading);
    } else {
      orr_json_skip(&reading->json);
    }
  }
  if (!has_begin || !has_end || end_s < begin_s) return;
  job->work_s += end_s - begin_s;
  job->gpus = MAX(job->gpus, gpus);
}

static void read_job(Reading *reading) {
  g_autofree char *id = NULL, *user = NULL, *queue = NULL;
  const OrrPlace place = orr_json_place(&reading->json);
  OrrJobLine job = {ORR_JOB_LINE_NONE};
  gboolean is_dated = FALSE;
  orr_json_open(&reading->json);
  while (orr_json_more(&reading->json)) {
    g_autofree char *key = orr_json_key(&reading->json);
    char **text = strcmp(key, "jobid") == 0  ? &id
                  : strcmp(key, "user") == 0 ? &user
                  : strcmp(key, "vc") == 0   ? &queue
                                             : NULL;
    if (text && orr_json_peek(&reading->json) == '"') {
      g_free(*text);
      *text = orr_json_text(&reading->json);
    } else if (strcmp(key, "submitted_time") == 0) {
      is_dated = read_date(reading, &job.submit_s);
    } else if (strcmp(key, "attempts") == 0) {
      orr_json_open(&reading->json);
      while (orr_json_more(&reading->json)) read_attempt(reading, &job);
    } else {
      orr_json_skip(&reading->json);
    }
  }
  if (reading->json.is_bad) return;
  job.id = id;
  job.user = user;
  job.queue = queue;
  if (!is_dated) job.gpus = job.submit_s = 0;
  orr_job_trace_add(reading->trace, &job, place, reading->diags);
}

static gboolean read_jobs(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  Reading reading = {trace, orr_json_begin(text, length, g_intern_string(path), diags), diags};
  orr_job_trace_assume(trace, "no time limits: schedulers know each job's run time");
  orr_job_trace_assume(trace, "attempts: the work of a job is the time of all of them");
  orr_json_open(&reading.json);
  while (orr_json_more(&reading.json)) read_job(&reading);
  return TRUE;
}

const OrrJobReader orr_job_reader_philly = {
    .entry = {"philly", "cluster_job_log of Microsoft's Philly, JSON.", NULL},
    .ending = ".json",
    .takes = takes,
    .read = read_jobs,
};
