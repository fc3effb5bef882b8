/*
 * sweep_batch.c - reads and writes the files of the folder DB.slurm: sweep.ini (GKeyFile), the
 * scripts, and for each task its number of the submission, its progress and its output.
 */
#include "sim/sweep/sweep_submit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "sim/sweep/sweep_reasons.h"

#define GROUP "sweep"

static gboolean refuse(const GError *reason, GError **error) {
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s", reason->message);
}

/* --- Paths --- */

static char *folder_of(const char *db) {
  g_autofree char *absolute = g_canonicalize_filename(db, NULL);
  return g_strconcat(absolute, ".slurm", NULL);
}

char *orr_sweep_batch_path(const OrrSweepBatch *batch, const char *name) {
  return g_build_filename(batch->folder, name, NULL);
}

char *orr_sweep_batch_task_path(const OrrSweepBatch *batch, gint64 task, const char *tail) {
  g_autofree char *name = g_strdup_printf("task-%ld.%s", task, tail);
  return orr_sweep_batch_path(batch, name);
}

int orr_sweep_batch_lock(const char *db, GError **error) {
  g_autofree char *folder = folder_of(db), *path = g_build_filename(folder, "lock", NULL);
  const int fd = g_mkdir_with_parents(folder, 0777) == 0
                     ? g_open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666)
                     : -1;
  if (fd >= 0 && flock(fd, LOCK_EX) == 0) return fd;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: %s", folder, g_strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

/* --- sweep.ini --- */

typedef enum { TEXT, NUMBER, TRUTH } Kind;

static const struct {
  const char *key;
  Kind kind;
  gsize offset;
} members[] = {
    {"file", TEXT, offsetof(OrrSweepBatch, file)},
    {"db", TEXT, offsetof(OrrSweepBatch, db)},
    {"hash", TEXT, offsetof(OrrSweepBatch, hash)},
    {"job", TEXT, offsetof(OrrSweepBatch, job)},
    {"merge-job", TEXT, offsetof(OrrSweepBatch, merge_job)},
    {"run", NUMBER, offsetof(OrrSweepBatch, run)},
    {"points", NUMBER, offsetof(OrrSweepBatch, n_points)},
    {"tasks", NUMBER, offsetof(OrrSweepBatch, tasks)},
    {"cpus", NUMBER, offsetof(OrrSweepBatch, cpus)},
    {"submission", NUMBER, offsetof(OrrSweepBatch, submission)},
    {"done", NUMBER, offsetof(OrrSweepBatch, n_done)},
    {"barren", NUMBER, offsetof(OrrSweepBatch, n_barren)},
    {"whole-steps", TRUTH, offsetof(OrrSweepBatch, whole_steps)},
    {"whole", TRUTH, offsetof(OrrSweepBatch, is_whole)},
};

OrrSweepBatch *orr_sweep_batch_new(const char *db) {
  OrrSweepBatch *batch = g_new0(OrrSweepBatch, 1);
  batch->folder = folder_of(db);
  batch->db = g_canonicalize_filename(db, NULL);
  return batch;
}

void orr_sweep_batch_free(OrrSweepBatch *batch) {
  if (!batch) return;
  for (guint i = 0; i < G_N_ELEMENTS(members); i++)
    if (members[i].kind == TEXT) g_free(G_STRUCT_MEMBER(char *, batch, members[i].offset));
  g_strfreev(batch->settings);
  ORR_FREE(batch->folder, batch->is_submitted, batch);
}

gboolean orr_sweep_batch_save(const OrrSweepBatch *batch, GError **error) {
  g_autoptr(GKeyFile) file = g_key_file_new();
  g_autoptr(GError) reason = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
    const char *key = members[i].key;
    if (members[i].kind == TEXT && G_STRUCT_MEMBER(char *, batch, members[i].offset))
      g_key_file_set_string(file, GROUP, key, G_STRUCT_MEMBER(char *, batch, members[i].offset));
    if (members[i].kind == NUMBER)
      g_key_file_set_int64(file, GROUP, key, G_STRUCT_MEMBER(gint64, batch, members[i].offset));
    if (members[i].kind == TRUTH)
      g_key_file_set_boolean(file, GROUP, key, G_STRUCT_MEMBER(gboolean, batch, members[i].offset));
  }
  g_key_file_set_double(file, GROUP, "timeout", batch->timeout_s);
  if (batch->settings)
    g_key_file_set_string_list(file, GROUP, "settings", (const char *const *)batch->settings,
                               g_strv_length(batch->settings));
  for (int status = 0; status < ORR_N_POINT_STATUSES; status++)
    g_key_file_set_int64(file, "before", orr_point_words[status], batch->before[status]);
  g_autofree gint *submitted = g_new0(gint, (gsize)batch->tasks + 1);
  for (gint64 i = 0; batch->is_submitted && i < batch->tasks; i++)
    submitted[i] = batch->is_submitted[i];
  g_key_file_set_integer_list(file, GROUP, "asked", submitted, (gsize)batch->tasks);
  g_autofree char *path = orr_sweep_batch_path(batch, "sweep.ini");
  return g_key_file_save_to_file(file, path, &reason) || refuse(reason, error);
}

char *orr_sweep_batch_keep(const OrrSweepBatch *batch) {
  g_autofree char *path = orr_sweep_batch_path(batch, "sweep.ini");
  char *text = NULL;
  return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* Removes the scripts and the list of known points too: they belong to the submission. */
void orr_sweep_batch_restore(const OrrSweepBatch *batch, const char *kept) {
  static const char *const names[] = {"sweep.ini", "batch", "merge", "known"};
  g_autofree char *ini = orr_sweep_batch_path(batch, names[0]);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = orr_sweep_batch_path(batch, names[i]);
    g_unlink(path);
  }
  if (kept) g_file_set_contents(ini, kept, -1, NULL);
}

static void load_members(GKeyFile *file, OrrSweepBatch *batch) {
  for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
    const char *key = members[i].key;
    if (members[i].kind == TEXT) {
      g_free(G_STRUCT_MEMBER(char *, batch, members[i].offset));
      G_STRUCT_MEMBER(char *, batch, members[i].offset) =
          g_key_file_get_string(file, GROUP, key, NULL);
    } else if (members[i].kind == NUMBER)
      G_STRUCT_MEMBER(gint64, batch, members[i].offset) =
          g_key_file_get_int64(file, GROUP, key, NULL);
    else
      G_STRUCT_MEMBER(gboolean, batch, members[i].offset) =
          g_key_file_get_boolean(file, GROUP, key, NULL);
  }
  batch->timeout_s = g_key_file_get_double(file, GROUP, "timeout", NULL);
  batch->settings = g_key_file_get_string_list(file, GROUP, "settings", NULL, NULL);
  for (int status = 0; status < ORR_N_POINT_STATUSES; status++)
    batch->before[status] = g_key_file_get_int64(file, "before", orr_point_words[status], NULL);
  gsize n = 0;
  g_autofree gint *submitted = g_key_file_get_integer_list(file, GROUP, "asked", &n, NULL);
  batch->is_submitted = g_new0(gboolean, (gsize)MAX(batch->tasks, 0) + 1);
  for (gsize i = 0; i < n && i < (gsize)batch->tasks; i++) batch->is_submitted[i] = submitted[i];
}

gboolean orr_sweep_batch_exists(const char *db) {
  g_autofree char *folder = folder_of(db), *path = g_build_filename(folder, "sweep.ini", NULL);
  return g_file_test(path, G_FILE_TEST_EXISTS);
}

OrrSweepBatch *orr_sweep_batch_load(const char *db, GError **error) {
  g_autoptr(OrrSweepBatch) batch = orr_sweep_batch_new(db);
  g_autofree char *path = orr_sweep_batch_path(batch, "sweep.ini");
  g_autoptr(GKeyFile) file = g_key_file_new();
  if (!orr_sweep_batch_exists(db))
    return orr_fault_null(error, ORR_FAULT_RESOURCE,
                          "%s: no sweep was submitted for it (%s does not exist)", db, path);
  g_autoptr(GError) reason = NULL;
  if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &reason)) {
    refuse(reason, error);
    return NULL;
  }
  load_members(file, batch);
  if (batch->file && batch->db && batch->hash && batch->run > 0 && batch->tasks > 0 &&
      batch->n_points > 0)
    return g_steal_pointer(&batch);
  return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: not written by a submission", path);
}

/* --- Scripts --- */

gboolean orr_sweep_batch_write_script(const OrrSweepBatch *batch, const OrrLibrary *library,
                                      const char *name, const char *arguments, GError **error) {
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL),
                  *search = orr_library_search_path(library);
  const char *forced = g_getenv("ORRERY_BINARY"); /* set by tests, which are other programs */
  g_autofree char *quoted = g_shell_quote(forced ? forced : program ? program : "orrery");
  g_autofree char *quoted_search = g_shell_quote(search), *quoted_db = g_shell_quote(batch->db);
  g_autofree char *text =
      g_strdup_printf("#!/bin/sh\nexport ORRERY_PATH=%s\nexec %s sweep --db %s %s\n", quoted_search,
                      quoted, quoted_db, arguments);
  g_autofree char *path = orr_sweep_batch_path(batch, name);
  g_autoptr(GError) reason = NULL;
  return g_file_set_contents(path, text, -1, &reason) || refuse(reason, error);
}

/* --- task-K.begun: the number of the submission --- */

void orr_sweep_batch_note_begin(const OrrSweepBatch *batch, gint64 task) {
  g_autofree char *path = orr_sweep_batch_task_path(batch, task, "begun");
  g_autofree char *text = g_strdup_printf("%ld\n", batch->submission);
  g_file_set_contents(path, text, -1, NULL);
}

gboolean orr_sweep_batch_has_begun(const OrrSweepBatch *batch, gint64 task) {
  g_autofree char *path = orr_sweep_batch_task_path(batch, task, "begun"), *text = NULL;
  return g_file_get_contents(path, &text, NULL, NULL) &&
         g_ascii_strtoll(text, NULL, 10) == batch->submission;
}

/* --- task-K.progress: lines "12\tok", then "\t3\tREASON" --- */

void orr_sweep_batch_note(const OrrSweepBatch *batch, gint64 task, const OrrSweepReport *report) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *path = orr_sweep_batch_task_path(batch, task, "progress");
  for (int status = 0; status < ORR_N_POINT_STATUSES; status++)
    g_string_append_printf(text, "%" G_GUINT64_FORMAT "\t%s\n", report->by_status[status],
                           orr_point_words[status]);
  ORR_EACH(const OrrSweepExclusion, one, report->refused) {
    g_autofree char *line = g_strdelimit(g_strdup(one->reason), "\n\t", ' ');
    g_string_append_printf(text, "\t%" G_GUINT64_FORMAT "\t%s\n", one->n, line);
  }
  g_file_set_contents(path, text->str, (gssize)text->len,
                      NULL); /* on failure nothing is lost: the points are in the shard */
}

static void add_line(OrrSlurmStatus *status, const char *line) {
  g_auto(GStrv) parts = g_strsplit(line, "\t", 3);
  const guint n_parts = g_strv_length(parts);
  if (n_parts == 3)
    orr_sweep_reasons_add(status->refused, parts[2], g_ascii_strtoull(parts[1], NULL, 10));
  for (int word = 0; n_parts == 2 && word < ORR_N_POINT_STATUSES; word++)
    if (strcmp(parts[1], orr_point_words[word]) == 0)
      status->by_status[word] += g_ascii_strtoull(parts[0], NULL, 10);
}

void orr_sweep_batch_add_notes(const OrrSweepBatch *batch, OrrSlurmStatus *status) {
  for (gint64 task = 0; task < batch->tasks; task++) {
    g_autofree char *path = orr_sweep_batch_task_path(batch, task, "progress"), *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL)) continue;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) add_line(status, *line);
  }
  for (int word = 0; word < ORR_N_POINT_STATUSES; word++) {
    status->by_status[word] += (guint64)batch->before[word];
    status->n_done += status->by_status[word];
  }
}

char *orr_sweep_batch_last_line(const OrrSweepBatch *batch, gint64 task) {
  g_autofree char *path = orr_sweep_batch_task_path(batch, task, "out"), *text = NULL;
  if (!g_file_get_contents(path, &text, NULL, NULL)) return NULL;
  g_strchomp(text);
  const char *last = strrchr(text, '\n');
  last = last ? last + 1 : text;
  return *last ? g_utf8_make_valid(last, -1) : NULL;
}

static void clear_files(const OrrSweepBatch *batch, const char *const *tails) {
  for (gint64 task = 0; task < batch->tasks; task++)
    for (const char *const *tail = tails; *tail; tail++) {
      g_autofree char *path = orr_sweep_batch_task_path(batch, task, *tail);
      g_unlink(path);
    }
}

void orr_sweep_batch_clear_shards(const OrrSweepBatch *batch) {
  static const char *const tails[] = {"db", "db-wal", "db-shm", "db-journal", NULL};
  clear_files(batch, tails);
}

void orr_sweep_batch_clear_notes(const OrrSweepBatch *batch) {
  static const char *const tails[] = {"begun", "progress", "out", NULL};
  clear_files(batch, tails);
}
