/*
 * slurm.c - runs sbatch and squeue, and parses what they print.
 */
#include "sim/sweep/slurm.h"

#include "sim/base/arrays.h"

gboolean orr_slurm_check(GError **error) {
  static const char *const programs[] = {"sbatch", "squeue"};
  for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
    g_autofree char *path = g_find_program_in_path(programs[i]);
    if (path) continue;
    return orr_fault_set(
        error, ORR_FAULT_RESOURCE,
        "Slurm is not installed: no %s in PATH; --executor local runs the sweep on this machine",
        programs[i]);
  }
  return TRUE;
}

/* The output of @argv. On failure its stderr becomes @error, or goes to @ret_complaint unless that
 * is NULL. */
static char *run_program(char **argv, char **ret_complaint, GError **error) {
  g_autoptr(GError) reason = NULL;
  g_autofree char *out = NULL, *complaint = NULL;
  int status = 0;
  if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &complaint, &status,
                    &reason))
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s", reason->message);
  if (g_spawn_check_wait_status(status, NULL)) return g_steal_pointer(&out);
  g_strstrip(complaint);
  if (!ret_complaint)
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: %s", argv[0],
                          *complaint ? complaint : "failed");
  *ret_complaint = g_steal_pointer(&complaint);
  return NULL;
}

char *orr_slurm_submit(char *const *options, const char *script, GError **error) {
  g_autoptr(GPtrArray) argv = g_ptr_array_new();
  g_ptr_array_add(argv, (char *)"sbatch");
  g_ptr_array_add(argv, (char *)"--parsable");
  for (; *options; options++) g_ptr_array_add(argv, *options);
  g_ptr_array_add(argv, (char *)script);
  g_ptr_array_add(argv, NULL);
  g_autofree char *out = run_program((char **)argv->pdata, NULL, error);
  if (!out) return NULL;
  g_strdelimit(out, ";\n", '\0'); /* "12;cluster" */
  if (*out) return g_steal_pointer(&out);
  return orr_fault_null(error, ORR_FAULT_RESOURCE, "sbatch printed no job number");
}

/* https://slurm.schedmd.com/squeue.html, "JOB STATE CODES" (22.05). */
static OrrSlurmState state_of(const char *word) {
  static const char *const queued[] = {"PENDING",     "CONFIGURING",   "REQUEUED",
                                       "REQUEUE_FED", "REQUEUE_HOLD",  "SPECIAL_EXIT",
                                       "SUSPENDED",   "RESV_DEL_HOLD", NULL};
  static const char *const running[] = {"RUNNING",   "COMPLETING", "RESIZING", "SIGNALING",
                                        "STAGE_OUT", "STOPPED",    NULL};
  if (g_strv_contains(queued, word)) return ORR_SLURM_QUEUED;
  if (g_strv_contains(running, word)) return ORR_SLURM_RUNNING;
  if (strcmp(word, "COMPLETED") == 0) return ORR_SLURM_DONE;
  return strcmp(word, "CANCELLED") == 0 ? ORR_SLURM_CANCELLED : ORR_SLURM_FAILED;
}

static void clear_task(gpointer task) { g_free(((OrrSlurmTask *)task)->word); }

GArray *orr_slurm_tasks(const char *job, GError **error) {
  char *argv[] = {
      (char *)"squeue",         (char *)"--noheader", (char *)"--array", (char *)"--states=all",
      (char *)"--format=%K %T", (char *)"--jobs",     (char *)job,       NULL};
  g_autofree char *complaint = NULL, *out = run_program(argv, &complaint, error);
  GArray *tasks = g_array_new(FALSE, FALSE, sizeof(OrrSlurmTask));
  g_array_set_clear_func(tasks, clear_task);
  if (!out) {
    if (complaint && strstr(complaint, "Invalid job id")) return tasks; /* it ended long ago */
    if (complaint) g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "squeue: %s", complaint);
    g_array_unref(tasks);
    return NULL;
  }
  g_auto(GStrv) lines = g_strsplit(out, "\n", -1);
  for (char **line = lines; *line; line++) {
    char *end = *line;
    gint64 index = g_ascii_strtoll(*line, &end, 10);
    if (end == *line && g_str_has_prefix(*line, "N/A ")) {
      index = -1;
      end = *line + 3;
    }
    if (end == *line || *end != ' ') continue;
    g_strstrip(end);
    ORR_APPEND(tasks, OrrSlurmTask, {index, state_of(end), g_strdup(end)});
  }
  return tasks;
}

char *orr_slurm_array(const gboolean *is_in, guint n) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < n; i++) {
    if (!is_in[i]) continue;
    const guint first = i;
    while (i + 1 < n && is_in[i + 1]) i++;
    g_string_append_printf(text, i > first ? "%s%u-%u" : "%s%u", text->len ? "," : "", first, i);
  }
  return g_string_free(text, FALSE);
}
