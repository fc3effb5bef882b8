#include "sim/sweep/sweep_slurm.h"

#include <string.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/sweep/sweep_batch.h"
#include "sim/sweep/sweep_store.h"

#define MOST_BARREN 3
#define NOTE_US G_USEC_PER_SEC
#define AWAIT_S                                                                                    \
  120 /* as long as Slurm may take to put a task's processes away (KillWait is 30 s) */

/* --- Submitting --- */

static void add_option(GPtrArray *options, const char *name, const char *value) {
  if (value) g_ptr_array_add(options, g_strconcat("--", name, "=", value, NULL));
}

/* What both jobs have; NULL with @error. */
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
  if (slurm->extra && *slurm->extra && !g_shell_parse_argv(slurm->extra, NULL, &extra, &reason)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: sweep.slurm.extra: %s", batch->file,
                reason->message);
    return NULL;
  }
  for (char **word = extra; word && *word; word++) g_ptr_array_add(options, g_strdup(*word));
  return g_steal_pointer(&options);
}

/* Half a minute before the end of its time a task is told to end what runs and keep it. */
static char *submit_array(const OrrSweepBatch *batch, const OrrSlurm *slurm, GError **error) {
  g_autoptr(GPtrArray) options = common_options(batch, slurm, error);
  if (!options) return NULL;
  g_autofree char *array = orr_slurm_array(batch->is_asked, (guint)batch->tasks);
  g_autofree char *cpus = g_strdup_printf("%" G_GINT64_FORMAT, batch->cpus);
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

/* What is left, task by task, as two jobs. Saved before the tasks are, which read it, and after. */
static gboolean submit(OrrSweepBatch *batch, const OrrSlurm *slurm, const OrrSweepReport *report,
                       GError **error) {
  g_free(batch->is_asked);
  batch->is_asked = g_new0(gboolean, (gsize)batch->tasks + 1);
  for (gint64 i = 0; i < batch->tasks; i++) batch->is_asked[i] = report->left[i] > 0;
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
        "job %s, the tasks, is submitted, the job that merges is not: --collect merges them: ",
        batch->job);
  return orr_sweep_batch_save(batch, batch->merge_job ? error : NULL) && batch->merge_job;
}

static OrrSweepPlan *read_plan(OrrLibrary *library, const char *file, char **settings,
                               GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrSweepPlan *plan = orr_sweep_plan_new(library, file, settings, diags, error);
  if (!plan && error && !*error) orr_diags_check(diags, error);
  return plan;
}

static OrrSweepReport *look(OrrLibrary *library, const OrrSweepBatch *batch, gboolean resume,
                            gboolean yes, GError **error) {
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

static OrrSweepBatch *begin(const OrrSweepOrder *order, const OrrSweepPlan *plan) {
  OrrSweepBatch *batch = orr_sweep_batch_new(order->db);
  batch->file = g_strdup(order->file);
  batch->settings = g_strdupv(order->settings);
  batch->hash = g_strdup(plan->hash);
  batch->tasks = plan->section.slurm.tasks;
  batch->cpus = plan->section.slurm.cpus;
  batch->timeout_s = order->timeout_s;
  batch->whole_steps = order->whole_steps;
  return batch;
}

/* A sweep that was submitted before and is not whole would lose its shards. One that died before
 * sbatch took it has none: it is begun again under its number, *@ret_run. */
static gboolean check_free(const char *db, const char *hash, gint64 *ret_run, GError **error) {
  *ret_run = 0;
  if (!orr_sweep_batch_exists(db)) return TRUE;
  g_autoptr(OrrSweepBatch) old = orr_sweep_batch_load(db, error);
  if (!old) return FALSE;
  if (old->is_whole) return TRUE;
  if (!old->job && old->submission == 1) {
    if (g_str_equal(old->hash, hash)) *ret_run = old->run;
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
              "the sweep of %s that was submitted for %s is not whole: --status says how far it "
              "is, --collect merges it "
              "and submits again what is missing; to give it up, remove %s",
              old->file, db, old->folder);
  return FALSE;
}

static gboolean write_scripts(const OrrSweepBatch *batch, const OrrLibrary *library,
                              GError **error) {
  return orr_sweep_batch_write_script(batch, library, "batch", "--task \"$SLURM_ARRAY_TASK_ID\"",
                                      error) &&
         orr_sweep_batch_write_script(batch, library, "merge", "--collect", error);
}

/* Slurm took no job: the sweep that was begun for it goes, and what stood in the folder comes
 * back. */
static void undo(const OrrSweepBatch *batch, const OrrSweepReport *report, gboolean is_begun,
                 const char *kept) {
  orr_sweep_batch_restore(batch, kept);
  g_autoptr(OrrStore) store = is_begun ? orr_store_open(batch->db, NULL) : NULL;
  if (store) orr_store_remove_run(store, report->sweep, NULL);
}

static gboolean submit_left(OrrLibrary *library, OrrSweepBatch *batch, const OrrSweepPlan *plan,
                            const OrrSweepReport *report, GError **error) {
  batch->run = report->sweep;
  batch->n_points = (gint64)report->n_points;
  for (int status = 0; status < ORR_N_POINT_STATUSES; status++)
    batch->before[status] = (gint64)report->by_status[status];
  orr_sweep_batch_clear_shards(batch);
  orr_sweep_batch_clear_notes(batch);
  if (report->n_left == 0) {
    batch->is_whole = TRUE;
    return orr_sweep_batch_save(batch, error);
  }
  return write_scripts(batch, library, error) && submit(batch, &plan->section.slurm, report, error);
}

static gboolean submit_first(OrrLibrary *library, const OrrSweepOrder *order,
                             const OrrSweepPlan *plan, GError **error) {
  g_autoptr(OrrSweepBatch) batch = begin(order, plan);
  if (!check_free(order->db, plan->hash, &batch->run, error)) return FALSE;
  g_autofree char *kept = orr_sweep_batch_keep(batch);
  g_autoptr(OrrSweepReport) report = look(library, batch, order->resume, order->yes, error);
  if (!report) return FALSE;
  const gboolean fine = submit_left(library, batch, plan, report, error);
  if (!fine && !batch->job) undo(batch, report, !order->resume && report->n_before == 0, kept);
  return fine;
}

gboolean orr_sweep_slurm_submit(OrrLibrary *library, const OrrSweepOrder *order, GError **error) {
  if (!orr_slurm_check(error)) return FALSE;
  g_autoptr(OrrSweepPlan) plan = read_plan(library, order->file, order->settings, error);
  const int lock = plan ? orr_sweep_batch_lock(order->db, error) : -1;
  if (lock < 0) return FALSE;
  const gboolean fine = submit_first(library, order, plan, error);
  close(lock);
  return fine;
}

/* --- A task --- */

typedef struct {
  const OrrSweepBatch *batch;
  gint64 task, noted_us;
} Noting;

static void note(const OrrSweepReport *report, void *user) {
  Noting *noting = user;
  const gint64 now_us = g_get_monotonic_time();
  if (now_us - noting->noted_us < NOTE_US) return;
  noting->noted_us = now_us;
  orr_sweep_batch_note(noting->batch, noting->task, report);
}

gboolean orr_sweep_slurm_task(OrrLibrary *library, const char *db, gint64 task,
                              const volatile gint *interrupted, GError **error) {
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_load(db, error);
  if (!batch) return FALSE;
  if (task >= batch->tasks) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--task %" G_GINT64_FORMAT ": the tasks are 0 to %" G_GINT64_FORMAT, task,
                batch->tasks - 1);
    return FALSE;
  }
  g_autofree char *shard = orr_sweep_batch_task_path(batch, task, "db"),
                  *known = orr_sweep_batch_path(batch, "known");
  Noting noting = {batch, task, 0};
  orr_sweep_batch_note_begin(batch, task);
  const OrrSweepOrder order = {.file = batch->file,
                               .settings = batch->settings,
                               .db = shard,
                               .jobs = (guint)batch->cpus,
                               .timeout_s = batch->timeout_s,
                               .yes = TRUE,
                               .whole_steps = batch->whole_steps,
                               .shard = (guint)task,
                               .n_shards = (guint)batch->tasks,
                               .run = batch->run,
                               .hash = batch->hash,
                               .known = known,
                               .interrupted = interrupted,
                               .progress = note,
                               .user = &noting};
  g_autoptr(OrrSweepReport) report = orr_sweep(library, &order, error);
  if (report) orr_sweep_batch_note(batch, task, report);
  return report != NULL;
}

/* --- Collecting --- */

static const OrrSlurmTask *find_task(const GArray *tasks, gint64 index) {
  const OrrSlurmTask *found = NULL;
  for (guint i = 0; tasks && i < tasks->len; i++) {
    const OrrSlurmTask *one = &g_array_index(tasks, OrrSlurmTask, i);
    if (one->task == index) return one;
    if (one->task < 0) found = one;
  }
  return found;
}

/* How the tasks of the last submission are, with Slurm's words for it. Of one that Slurm does
 * not name any more nothing is left to know but whether it began: one that was cancelled while
 * it waited vanishes at once, one that ended after MinJobAge. NULL with @error. */
static OrrSlurmState *ask_states(const OrrSweepBatch *batch, char ***ret_words, GError **error) {
  g_autoptr(GArray) tasks = NULL;
  if (batch->job && !(tasks = orr_slurm_tasks(batch->job, error))) return NULL;
  OrrSlurmState *states = g_new0(OrrSlurmState, (gsize)batch->tasks + 1);
  char **words = g_new0(char *, (gsize)batch->tasks + 1);
  for (gint64 i = 0; i < batch->tasks; i++) {
    const OrrSlurmTask *found = batch->is_asked[i] ? find_task(tasks, i) : NULL;
    const gboolean is_lost =
        !found && batch->is_asked[i] && batch->job && !orr_sweep_batch_has_begun(batch, i);
    states[i] = found ? found->state : is_lost ? ORR_SLURM_CANCELLED : ORR_SLURM_DONE;
    words[i] = g_strdup(found ? found->word : "CANCELLED");
  }
  *ret_words = words;
  return states;
}

static gboolean is_active(OrrSlurmState state) {
  return state == ORR_SLURM_QUEUED || state == ORR_SLURM_RUNNING;
}

/* TRUE in the job that waits for the tasks, not where a person asks. */
static gboolean is_unattended(const OrrSweepBatch *batch) {
  return batch->merge_job && g_strcmp0(g_getenv("SLURM_JOB_ID"), batch->merge_job) == 0;
}

static gboolean is_any_active(const OrrSweepBatch *batch, const OrrSlurmState *states) {
  for (gint64 i = 0; i < batch->tasks; i++)
    if (is_active(states[i])) return TRUE;
  return FALSE;
}

/* The same once all tasks have ended, in the job that waited for them: Slurm begins it while the
 * last of them is still COMPLETING, its processes being put away. */
static OrrSlurmState *await_states(const OrrSweepBatch *batch, char ***ret_words, GError **error) {
  OrrSlurmState *states = ask_states(batch, ret_words, error);
  for (int s = 0; s < AWAIT_S && states && is_unattended(batch) && is_any_active(batch, states);
       s++) {
    g_usleep(G_USEC_PER_SEC);
    g_free(states);
    g_clear_pointer(ret_words, g_strfreev);
    states = ask_states(batch, ret_words, error);
  }
  return states;
}

/* Shards of tasks that work are left alone, and those of tasks that wait may be short. */
static gboolean merge(const OrrSweepBatch *batch, const OrrSlurmState *states, GError **error) {
  g_autoptr(OrrStore) store = orr_store_open(batch->db, error);
  if (!store) return FALSE;
  for (gint64 task = 0; task < batch->tasks; task++) {
    g_autofree char *shard = orr_sweep_batch_task_path(batch, task, "db");
    if (states[task] == ORR_SLURM_RUNNING || orr_store_is_blank(shard)) continue;
    if (!orr_store_begin_batch(store, error) || !orr_store_merge(store, shard, NULL, error) ||
        !orr_store_end_batch(store, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean check_progress(OrrSweepBatch *batch, const OrrSweepReport *report, GError **error) {
  const gboolean is_barren = (gint64)report->n_done <= batch->n_done;
  batch->n_barren = is_barren && is_unattended(batch) ? batch->n_barren + 1 : 0;
  if (batch->n_barren < MOST_BARREN) return TRUE;
  g_autofree char *words = NULL;
  for (gint64 i = 0; i < batch->tasks && !words; i++)
    if (report->left[i] > 0) words = orr_sweep_batch_last_words(batch, i);
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE,
              "%" G_GUINT64_FORMAT
              " points are left, and the last %d submissions brought none: '%s' (%s/task-*.out); "
              "--collect submits again",
              report->n_left, MOST_BARREN, words ? words : "no task said anything", batch->folder);
  return FALSE;
}

/* Submits what is left, unless somebody still works at it or it was cancelled. */
static gboolean go_on(OrrLibrary *library, OrrSweepBatch *batch, OrrSweepReport *report,
                      const OrrSlurmState *states, GError **error) {
  if (report->is_whole) {
    batch->is_whole = TRUE;
    orr_sweep_batch_clear_shards(batch);
    return orr_sweep_batch_save(batch, error);
  }
  guint64 n = 0;
  if (is_any_active(batch, states)) return TRUE;
  for (gint64 i = 0; i < batch->tasks; i++) {
    if (states[i] == ORR_SLURM_CANCELLED && is_unattended(batch)) report->left[i] = 0;
    n += report->left[i];
  }
  if (n == 0) return TRUE;
  g_autoptr(OrrSweepPlan) plan = read_plan(library, batch->file, batch->settings, error);
  if (!plan) return FALSE;
  if (check_progress(batch, report, error))
    return submit(batch, &plan->section.slurm, report, error);
  orr_sweep_batch_save(batch, NULL);
  return FALSE;
}

static OrrSweepReport *collect(OrrLibrary *library, OrrSweepBatch *batch, GError **error) {
  g_auto(GStrv) words = NULL;
  g_autofree OrrSlurmState *states = NULL;
  if (!batch->is_whole) {
    if (!(states = await_states(batch, &words, error)) || !merge(batch, states, error)) return NULL;
  }
  g_autoptr(OrrSweepReport) report = look(library, batch, TRUE, TRUE, error);
  if (!report || (states && !go_on(library, batch, report, states, error))) return NULL;
  return g_steal_pointer(&report);
}

OrrSweepReport *orr_sweep_slurm_collect(OrrLibrary *library, const char *db, GError **error) {
  if (!orr_slurm_check(error)) return NULL;
  g_autoptr(OrrSweepBatch) seen =
      orr_sweep_batch_load(db, error); /* before the lock, which makes a folder */
  const int lock = seen ? orr_sweep_batch_lock(db, error) : -1;
  if (lock < 0) return NULL;
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_load(db, error);
  OrrSweepReport *report = batch ? collect(library, batch, error) : NULL;
  close(lock);
  return report;
}

/* --- How far --- */

static void clear_exclusion(gpointer exclusion) {
  g_free(((OrrSweepExclusion *)exclusion)->reason);
}

static GArray *reasons_new(void) {
  GArray *reasons = g_array_new(FALSE, FALSE, sizeof(OrrSweepExclusion));
  g_array_set_clear_func(reasons, clear_exclusion);
  return reasons;
}

void orr_slurm_status_free(OrrSlurmStatus *status) {
  if (!status) return;
  g_free(status->file);
  g_free(status->db);
  g_free(status->folder);
  g_free(status->job);
  g_free(status->merge_job);
  g_array_unref(status->refused);
  g_array_unref(status->failures);
  g_free(status);
}

static OrrSlurmStatus *status_new(const OrrSweepBatch *batch) {
  OrrSlurmStatus *status = g_new0(OrrSlurmStatus, 1);
  status->sweep = batch->run;
  status->file = g_strdup(batch->file);
  status->db = g_strdup(batch->db);
  status->folder = g_strdup(batch->folder);
  status->job = g_strdup(batch->job);
  status->merge_job = g_strdup(batch->merge_job);
  status->submission = batch->submission;
  status->n_points = (guint64)batch->n_points;
  status->is_whole = batch->is_whole;
  status->refused = reasons_new();
  status->failures = reasons_new();
  return status;
}

static void count_task(const OrrSweepBatch *batch, gint64 task, OrrSlurmState state,
                       const char *word, OrrSlurmStatus *status) {
  status->n_tasks++;
  status->by_state[state]++;
  if (state != ORR_SLURM_FAILED && state != ORR_SLURM_CANCELLED) return;
  g_autofree char *words = orr_sweep_batch_last_words(batch, task);
  g_autofree char *reason = words ? g_strdup_printf("%s: %s", word, words) : g_strdup(word);
  orr_sweep_batch_count(status->failures, reason, 1);
}

OrrSlurmStatus *orr_sweep_slurm_status(const char *db, GError **error) {
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_load(db, error);
  if (!batch || !orr_slurm_check(error)) return NULL;
  g_auto(GStrv) words = NULL;
  g_autofree OrrSlurmState *states = ask_states(batch, &words, error);
  if (!states) return NULL;
  OrrSlurmStatus *status = status_new(batch);
  orr_sweep_batch_add_notes(batch, status);
  for (gint64 task = 0; task < batch->tasks; task++)
    if (batch->is_asked[task]) count_task(batch, task, states[task], words[task], status);
  return status;
}
