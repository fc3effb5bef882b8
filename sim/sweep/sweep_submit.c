/*
 * sweep_submit.c - submits the points that are left as two jobs: an array with the tasks that have
 * points, and a job that starts when all of them have ended.
 */
#include "sim/sweep/sweep_submit.h"

#include "sim/sweep/sweep_known.h"

static void add_option(GPtrArray *options, const char *name, const char *value) {
  if (value) g_ptr_array_add(options, g_strconcat("--", name, "=", value, NULL));
}

/* The options of both jobs; NULL with @error. */
static GPtrArray *common_options(const OrrSweepBatch *batch, const OrrSlurm *slurm,
                                 GError **error) {
  g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *folder = g_get_current_dir();
  g_auto(GStrv) extra = NULL;
  g_autoptr(GError) reason = NULL;
  add_option(options, "job-name", "orrery");
  add_option(options, "chdir", folder);
  add_option(options, "open-mode", "append");
  add_option(options, "partition", slurm->partition);
  add_option(options, "account", slurm->account);
  add_option(options, "time", slurm->time);
  add_option(options, "mem", slurm->memory);
  if (slurm->extra && *slurm->extra && !g_shell_parse_argv(slurm->extra, NULL, &extra, &reason))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: sweep.slurm.extra: %s", batch->file,
                          reason->message);
  for (char **word = extra; word && *word; word++) g_ptr_array_add(options, g_strdup(*word));
  return g_steal_pointer(&options);
}

/* Slurm sends SIGTERM to a task 30 s before its time limit; the task then finishes its running
 * points and stores them. */
static char *submit_array(const OrrSweepBatch *batch, const OrrSlurm *slurm, GError **error) {
  g_autoptr(GPtrArray) options = common_options(batch, slurm, error);
  if (!options) return NULL;
  g_autofree char *array = orr_slurm_array(batch->is_submitted, (guint)batch->tasks);
  g_autofree char *cpus = g_strdup_printf("%ld", batch->cpus);
  g_autofree char *out = orr_sweep_batch_path(batch, "task-%a.out"),
                  *script = orr_sweep_batch_path(batch, "batch");
  add_option(options, "array", array);
  add_option(options, "cpus-per-task", cpus);
  add_option(options, "output", out);
  add_option(options, "signal", "B:TERM@30");
  g_ptr_array_add(options, NULL);
  return orr_slurm_submit((char **)options->pdata, script, error);
}

static char *submit_merge(const OrrSweepBatch *batch, const OrrSlurm *slurm, GError **error) {
  g_autoptr(GPtrArray) options = common_options(batch, slurm, error);
  if (!options) return NULL;
  g_autofree char *after = g_strconcat("afterany:", batch->job, NULL);
  g_autofree char *out = orr_sweep_batch_path(batch, "merge.out"),
                  *script = orr_sweep_batch_path(batch, "merge");
  add_option(options, "dependency", after);
  add_option(options, "output", out);
  g_ptr_array_add(options, NULL);
  return orr_slurm_submit((char **)options->pdata, script, error);
}

static gboolean write_known(const OrrSweepBatch *batch, GError **error) {
  g_autofree char *path = orr_sweep_batch_path(batch, "known");
  g_autoptr(OrrStore) store = orr_store_open_read(batch->db, error);
  return store && orr_sweep_known_write(path, store, batch->run, (guint64)batch->n_points, error);
}

/* sweep.ini is saved before the tasks are submitted, since they read it, and again with their
 * job. */
gboolean orr_sweep_submit(OrrSweepBatch *batch, const OrrSlurm *slurm, const OrrSweepReport *report,
                          GError **error) {
  g_free(batch->is_submitted);
  batch->is_submitted = g_new0(gboolean, (gsize)batch->tasks + 1);
  for (gint64 i = 0; i < batch->tasks; i++) batch->is_submitted[i] = report->left[i] > 0;
  batch->n_done = (gint64)report->n_done;
  batch->submission++;
  g_clear_pointer(&batch->job, g_free);
  g_clear_pointer(&batch->merge_job, g_free);
  if (!write_known(batch, error) || !orr_sweep_batch_save(batch, error)) return FALSE;
  if (!(batch->job = submit_array(batch, slurm, error))) return FALSE;
  batch->merge_job = submit_merge(batch, slurm, error);
  if (!batch->merge_job)
    g_prefix_error(
        error,
        "job %s with the tasks is submitted, but not the job that merges them; use --collect: ",
        batch->job);
  return orr_sweep_batch_save(batch, batch->merge_job ? error : NULL) && batch->merge_job;
}

OrrSweepPlan *orr_sweep_submit_plan(OrrLibrary *library, const char *file, char **settings,
                                    GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrSweepPlan *plan = orr_sweep_plan_new(library, file, settings, diags, error);
  if (!plan && error && !*error) orr_diags_check(diags, error);
  return plan;
}

OrrSweepReport *orr_sweep_submit_look(OrrLibrary *library, const OrrSweepBatch *batch,
                                      gboolean resume, gboolean yes, GError **error) {
  const OrrSweepOrder order = {.file = batch->file,
                               .settings = batch->settings,
                               .db = batch->db,
                               .run = batch->run,
                               .hash = batch->hash,
                               .n_shards = (guint)batch->tasks,
                               .resume = resume,
                               .yes = yes,
                               .look = TRUE};
  return orr_sweep(library, &order, error);
}
