/*
 * paths.c - compares files by device and inode, and keeps the list of inputs.
 */
#include "sim/base/paths.h"

#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/file.h"

enum { MOST_LINKS = 40 }; /* as Linux follows (path_resolution(7)) */

static GHashTable *files_read; /* identity -> path, as it was asked for */

/* --- The identity of a file --- */

/* The target of the link @path; NULL where it is not a link, and for a link of /proc, which leads
 * to an open file, not to a name. The kernel resolves "..": a text that is shortened first leads
 * elsewhere where a folder is a link. */
static char *link_target(const char *path) {
  g_autofree char *text = g_file_read_link(path, NULL);
  g_autofree char *folder = g_path_get_dirname(path);
  g_autofree char *real = text ? realpath(folder, NULL) : NULL;
  if (real && g_str_has_prefix(real, "/proc/")) return NULL;
  if (!text || g_path_is_absolute(text)) return g_steal_pointer(&text);
  return g_build_filename(folder, text, NULL);
}

char *orr_paths_target(const char *path) {
  char *at = g_strdup(path);
  for (guint i = 0; i < MOST_LINKS; i++) {
    char *target = link_target(at);
    if (!target) break;
    g_free(at);
    at = target;
  }
  return at;
}

/* The identity of a file that does not exist yet: its folder and its name there. */
static char *identity_of_new(const char *path) {
  g_autofree char *at = orr_paths_target(path);
  struct stat facts;
  g_autofree char *folder = g_path_get_dirname(at), *name = g_path_get_basename(at);
  if (stat(folder, &facts) != 0) return g_strdup(at);
  return g_strdup_printf("%ju:%ju/%s", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino, name);
}

/* A text that is equal for paths to the same file; NULL for devices and pipes. */
static char *identity(const char *path) {
  struct stat facts;
  if (stat(path, &facts) != 0) return identity_of_new(path);
  return S_ISREG(facts.st_mode)
             ? g_strdup_printf("%ju:%ju", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino)
             : NULL;
}

void orr_paths_note_read(const char *path) {
  char *key = identity(path);
  if (!files_read) files_read = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  if (key) g_hash_table_replace(files_read, key, g_strdup(path));
}

/* --- The check --- */

static gboolean refuse(const OrrPath *written, const char *what, const char *path, GError **error) {
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "%s %s would overwrite %s (%s): give another file; nothing was written",
                       written->what, written->path, path, what);
}

/* Whether @file is @path, a journal of @path, or inside the folder @path. */
static gboolean check_one(const OrrPath *path, const char *file, GHashTable *seen, GError **error) {
  g_autofree char *key = identity(file);
  if (!key) return TRUE;
  const OrrPath *other = g_hash_table_lookup(seen, key);
  const gboolean writes = path->use == ORR_PATH_WRITTEN,
                 is_other_written = other && other->use == ORR_PATH_WRITTEN;
  const char *read = files_read ? g_hash_table_lookup(files_read, key) : NULL;
  if (other && other != path && (writes || is_other_written))
    return writes ? refuse(path, other->what, other->path, error)
                  : refuse(other, path->what, path->path, error);
  if (writes && read) return refuse(path, "an input of this command", read, error);
  g_hash_table_insert(seen, g_steal_pointer(&key), (gpointer)path);
  return TRUE;
}

static gboolean check_database(const OrrPath *path, GHashTable *seen, GError **error) {
  static const char *const tails[] = {"-wal", "-shm", "-journal"};
  for (guint i = 0; i < G_N_ELEMENTS(tails); i++) {
    g_autofree char *file = g_strconcat(path->path, tails[i], NULL);
    if (!check_one(path, file, seen, error)) return FALSE;
  }
  return check_one(path, path->path, seen, error);
}

static gboolean check_folder(const OrrPath *path, GDir *folder, GHashTable *seen, GError **error) {
  for (const char *name; (name = g_dir_read_name(folder));) {
    g_autofree char *file = g_build_filename(path->path, name, NULL);
    if (g_str_has_suffix(name, ".csv") && !check_one(path, file, seen, error)) return FALSE;
  }
  return TRUE;
}

/* Whether an output can be written, as far as that shows before the work. */
static gboolean check_place(const OrrPath *path, GError **error) {
  if ((path->is_folder ? orr_file_write_check_folder : orr_file_write_check)(path->path, error))
    return TRUE;
  g_prefix_error(error, "%s ", path->what);
  return FALSE;
}

static gboolean check_path(const OrrPath *path, GHashTable *seen, GError **error) {
  g_autoptr(GDir) folder = g_dir_open(path->path, 0, NULL);
  if (folder              ? !check_folder(path, folder, seen, error)
      : path->is_database ? !check_database(path, seen, error)
                          : !check_one(path, path->path, seen, error))
    return FALSE;
  return path->use == ORR_PATH_READ || path->is_database || check_place(path, error);
}

gboolean orr_paths_check(const OrrPath *paths, guint n, GError **error) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < n; i++)
    if (paths[i].path && !check_path(&paths[i], seen, error)) return FALSE;
  return TRUE;
}
