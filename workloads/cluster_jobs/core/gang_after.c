/*
 * gang_after.c - jobs that wait for other jobs to end, whatever became of those (Slurm's
 * --dependency=afterany). Such a job joins the queue when the last of them ends, with the place in
 * the order that its submission gives it; its wait counts from its submission.
 *
 * traces/job_after.c refuses ids that no job has and jobs that wait for each other: here an unknown
 * id is ignored, and jobs of a circle never join.
 */

#include "workloads/cluster_jobs/core/gang_state.h"

static void list_free(gpointer list) { g_ptr_array_unref(list); }

/* Jobs of a trace by their id. */
static GHashTable *by_id(GArray *jobs) {
  GHashTable *known = g_hash_table_new(g_str_hash, g_str_equal);
  ORR_EACH(OrrGangJob, job, jobs)
    if (job->id) g_hash_table_insert(known, (char *)job->id, job);
  return known;
}

char **orr_gang_after_ids(const OrrGangJob *job) {
  char **ids = g_strsplit(job->after ? job->after : "", "|", -1);
  guint kept = 0;
  for (guint k = 0; ids[k]; k++) {
    char *id = ids[k];
    if (*g_strstrip(id))
      ids[kept++] = id;
    else
      g_free(id);
  }
  ids[kept] = NULL;
  return ids;
}

static void add_dependent(GHashTable *dependents, const OrrGangJob *on, OrrGangJob *job) {
  GPtrArray *list = g_hash_table_lookup(dependents, on);
  if (!list) {
    list = g_ptr_array_new();
    g_hash_table_insert(dependents, (gpointer)on, list);
  }
  g_ptr_array_add(list, job);
  job->n_after = MAX(job->n_after, 1) + 1; /* one for its own submission */
}

GHashTable *orr_gang_after_open(GArray *jobs) {
  GHashTable *dependents = NULL;
  g_autoptr(GHashTable) known = NULL;
  ORR_EACH(OrrGangJob, job, jobs) {
    if (!job->after || !*job->after) continue;
    if (!known) known = by_id(jobs);
    if (!dependents) dependents = g_hash_table_new_full(NULL, NULL, NULL, list_free);
    g_auto(GStrv) ids = orr_gang_after_ids(job);
    for (guint k = 0; ids[k]; k++) {
      const OrrGangJob *on = g_hash_table_lookup(known, ids[k]);
      if (on) add_dependent(dependents, on, job);
    }
  }
  return dependents;
}

void orr_gang_after_ended(GHashTable *dependents, const OrrGangJob *job, GPtrArray *ready) {
  const GPtrArray *list = dependents ? g_hash_table_lookup(dependents, job) : NULL;
  ORR_EACH_POINTER(OrrGangJob, dependent, list)
    if (--dependent->n_after == 0) g_ptr_array_add(ready, dependent);
}

gboolean orr_gang_after_submitted(OrrGangJob *job) {
  return job->n_after == 0 || --job->n_after == 0;
}
