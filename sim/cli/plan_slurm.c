/*
 * plan_slurm.c - submits a plan to Slurm as the command that was typed.
 */
#include "sim/cli/verb_plan.h"

#include <errno.h>

#include <glib/gstdio.h>

#include "sim/sweep/slurm.h"

gboolean orr_plan_slurm_asked(const char *executor, const char *db, gboolean *ret_is,
                              GError **error) {
  static const char *const executors[] = {"local", "slurm", NULL};
  *ret_is = g_strcmp0(executor, "slurm") == 0;
  if (executor && !g_strv_contains(executors, executor)) {
    orr_cli_unknown("executor", executor, executors, error);
    return FALSE;
  }
  if (!*ret_is || db) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "--executor slurm needs a database, but --db none was given");
}

/* The command that was typed, with each word quoted, without --executor. NULL with @error. */
static char *own_command(GError **error) {
  g_autofree char *text = NULL;
  gsize length = 0;
  if (!g_file_get_contents("/proc/self/cmdline", &text, &length, error)) return NULL;
  GString *out = g_string_new(NULL);
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  for (gsize at = 0, i = 0; at < length; at += strlen(text + at) + 1, i++) {
    const char *word = i == 0 && program ? program : text + at;
    if (g_str_has_prefix(word, "--executor=")) continue;
    if (strcmp(word, "--executor") == 0) {
      at += strlen(text + at) + 1; /* and the word that follows */
      continue;
    }
    g_autofree char *quoted = g_shell_quote(word);
    g_string_append_printf(out, "%s%s", out->len ? " " : "", quoted);
  }
  return g_string_free(out, FALSE);
}

static char *write_script(const char *folder, GError **error) {
  g_autofree char *command = own_command(error);
  if (!command) return NULL;
  g_autofree char *script = g_strdup_printf("#!/bin/sh\nexec %s\n", command);
  g_autofree char *path = g_build_filename(folder, "plan", NULL);
  if (g_mkdir_with_parents(folder, 0777) != 0)
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: %s", folder, g_strerror(errno));
  return g_file_set_contents(path, script, -1, error) ? g_steal_pointer(&path) : NULL;
}

gboolean orr_plan_slurm_submit(const char *db, guint cores, GError **error) {
  g_autofree char *folder = g_strconcat(db, ".slurm", NULL);
  g_autofree char *here = g_get_current_dir();
  if (!orr_slurm_check(error)) return FALSE;
  g_autofree char *script = write_script(folder, error);
  if (!script) return FALSE;
  g_autofree char *chdir = g_strconcat("--chdir=", here, NULL);
  g_autofree char *output = g_strconcat("--output=", folder, "/plan.out", NULL);
  g_autofree char *cpus = g_strdup_printf("--cpus-per-task=%u", MAX(cores, 1));
  char *options[] = {(char *)"--job-name=orrery", chdir, output, cpus, NULL};
  g_autofree char *job = orr_slurm_submit(options, script, error);
  if (!job) return FALSE;
  printf("  submitted     job %s, %u core%s; its output: %s/plan.out\n", job, MAX(cores, 1),
         cores > 1 ? "s" : "", folder);
  printf("  next          the same command without --executor prints the answer from %s\n", db);
  return TRUE;
}
