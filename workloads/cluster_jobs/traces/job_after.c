/*
 * job_after.c - what jobs of a trace wait for, by id: checked once the trace is read.
 *
 *   job_id,submit_s,duration_s,gpus,after
 *   1,0,1000,8,2          waits for a job of a later line: fine
 *   2,5,10,8,3|4          error: no job 4;  error: 2 waits for 3, and 3 for 2
 *   3,6,10,8,2
 *
 * A job that is left out never ends, so those that wait for it are left out with it.
 */
#include "workloads/cluster_jobs/core/gang_state.h"
#include "workloads/cluster_jobs/traces/job_trace.h"

/* A job that waits, and the cell that says so; the jobs are in the order of the file. */
typedef struct {
  guint job;
  OrrPlace place;
} Waiting;

void orr_job_after_note(OrrJobTrace *trace, const OrrJobLine *line) {
  if (!line->after || !*line->after) return;
  if (!trace->after) trace->after = g_array_new(FALSE, FALSE, sizeof(Waiting));
  ORR_APPEND(trace->after, Waiting, {trace->jobs->len, line->after_place});
}

void orr_job_after_leave_out(OrrJobTrace *trace, const char *id) {
  g_hash_table_add(trace->left_out, g_string_chunk_insert_const(trace->texts, id ? id : ""));
}

static OrrGangJob *job_of(const OrrJobTrace *trace, const Waiting *waiting) {
  return &g_array_index(trace->jobs, OrrGangJob, waiting->job);
}

/* Each id that @waiting names belongs to one job. */
static void check_ids(const OrrJobTrace *trace, GHashTable *known, GHashTable *twice,
                      const Waiting *waiting, OrrDiags *diags) {
  g_auto(GStrv) ids = orr_gang_after_ids(job_of(trace, waiting));
  for (guint k = 0; ids[k]; k++) {
    const gboolean is_left_out = g_hash_table_contains(trace->left_out, ids[k]);
    const gboolean is_known = g_hash_table_contains(known, ids[k]);
    if (!is_known && !is_left_out)
      orr_diags_error(diags, waiting->place,
                      "after: no job of the trace has the job_id '%.40s' (want ID or ID|ID)",
                      ids[k]);
    else if (g_hash_table_contains(twice, ids[k]) || (is_known && is_left_out))
      orr_diags_error(diags, waiting->place, "after: several jobs have the job_id '%.40s'", ids[k]);
  }
}

/* The first job that @job waits for and that can never end; NULL: none. */
static OrrGangJob *never_ending(GHashTable *known, const OrrGangJob *job) {
  g_auto(GStrv) ids = orr_gang_after_ids(job);
  for (guint k = 0; ids[k]; k++) {
    OrrGangJob *on = g_hash_table_lookup(known, ids[k]);
    if (on && on->n_after > 0) return on;
  }
  return NULL;
}

/* "1 after 2 after 1", from @job, which can never end, on; @ret_job: a job of the circle. */
static char *circle_text(GHashTable *known, OrrGangJob *job, const OrrGangJob **ret_job) {
  enum { MOST = 10 };
  GString *text = g_string_new(NULL);
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  while (g_hash_table_add(seen, job)) job = never_ending(known, job);
  const OrrGangJob *at = *ret_job = job;
  guint n = 0;
  do {
    if (n < MOST) g_string_append_printf(text, "%.40s after ", at->id);
    at = never_ending(known, at);
  } while (++n, at != job);
  if (n > MOST) g_string_append(text, "... ");
  g_string_append_printf(text, "%.40s", at->id);
  return g_string_free(text, FALSE);
}

/* Lets every job end as soon as those that it waits for have: a circle is left. */
static void check_circles(const OrrJobTrace *trace, GHashTable *known, OrrDiags *diags) {
  g_autoptr(GPtrArray) ended = g_ptr_array_new();
  GHashTable *dependents = orr_gang_after_open(trace->jobs);
  ORR_EACH(OrrGangJob, job, trace->jobs)
    if (orr_gang_after_submitted(job)) g_ptr_array_add(ended, job);
  for (guint i = 0; i < ended->len; i++) orr_gang_after_ended(dependents, ended->pdata[i], ended);
  if (dependents) g_hash_table_unref(dependents);
  if (ended->len == trace->jobs->len) return;
  const OrrGangJob *in = NULL;
  g_autofree char *text = NULL;
  ORR_EACH(OrrGangJob, job, trace->jobs)
    if (!text && job->n_after > 0) text = circle_text(known, job, &in);
  ORR_EACH(const Waiting, waiting, trace->after)
    if (job_of(trace, waiting) == in)
      orr_diags_error(diags, waiting->place, "after: jobs wait for each other: %s", text);
}

void orr_job_after_check(OrrJobTrace *trace, OrrDiags *diags) {
  const guint before = orr_diags_n_errors(diags);
  if (!trace->after || before > 0) return;
  g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GHashTable) twice = g_hash_table_new(g_str_hash, g_str_equal);
  ORR_EACH(OrrGangJob, job, trace->jobs)
    if (!g_hash_table_replace(known, (char *)job->id, job))
      g_hash_table_add(twice, (char *)job->id);
  ORR_EACH(const Waiting, waiting, trace->after) check_ids(trace, known, twice, waiting, diags);
  if (orr_diags_n_errors(diags) == before) check_circles(trace, known, diags);
}

static void list_free(gpointer list) { g_ptr_array_unref(list); }

/* Jobs by each id that they wait for. */
static GHashTable *by_awaited(const OrrJobTrace *trace) {
  GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, list_free);
  ORR_EACH(OrrGangJob, job, trace->jobs) {
    g_auto(GStrv) ids = orr_gang_after_ids(job);
    for (guint k = 0; ids[k]; k++) {
      GPtrArray *list = g_hash_table_lookup(all, ids[k]);
      if (!list) g_hash_table_insert(all, g_strdup(ids[k]), list = g_ptr_array_new());
      g_ptr_array_add(list, job);
    }
  }
  return all;
}

static void leave_out(const GArray *jobs, const GPtrArray *waiting, gboolean *is_out,
                      GPtrArray *ids) {
  ORR_EACH_POINTER(const OrrGangJob, job, waiting) {
    const guint at = (guint)(job - (const OrrGangJob *)(const void *)jobs->data);
    if (!is_out[at]) g_ptr_array_add(ids, (char *)job->id);
    is_out[at] = TRUE;
  }
}

guint orr_job_after_drop(OrrJobTrace *trace) {
  GArray *jobs = trace->jobs;
  if (!trace->after || g_hash_table_size(trace->left_out) == 0) return 0;
  g_autoptr(GHashTable) awaited = by_awaited(trace);
  g_autofree gboolean *is_out = g_new0(gboolean, jobs->len + 1);
  guint n_ids = 0, kept = 0;
  g_autofree gpointer *first = g_hash_table_get_keys_as_array(trace->left_out, &n_ids);
  g_autoptr(GPtrArray) ids = g_ptr_array_new();
  for (guint i = 0; i < n_ids; i++) g_ptr_array_add(ids, first[i]);
  for (guint i = 0; i < ids->len; i++)
    leave_out(jobs, g_hash_table_lookup(awaited, ids->pdata[i]), is_out, ids);
  for (guint i = 0; i < jobs->len; i++)
    if (!is_out[i]) g_array_index(jobs, OrrGangJob, kept++) = g_array_index(jobs, OrrGangJob, i);
  const guint n_out = jobs->len - kept;
  g_array_set_size(jobs, kept);
  return n_out;
}
