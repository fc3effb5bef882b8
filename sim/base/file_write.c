/*
 * file_write.c - finds out what a path names, and replaces it or writes into it.
 */
#include "sim/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/paths.h"

static void close_file(int *file) {
  if (*file >= 0) close(*file);
}

static gboolean fail(const char *path, const char *reason, GError **error) {
  return orr_fault_set(error, *path ? ORR_FAULT_RESOURCE : ORR_FAULT_USAGE,
                       "%s: cannot be written: %s", *path ? path : "''", reason);
}

/* The number of an open file of this process that @path names ("/dev/stdout", "/dev/fd/3"), or
 * -1. */
static int open_number(const char *path) {
  g_autofree char *at = orr_paths_target(path);
  g_autofree char *above = g_path_get_dirname(at), *name = g_path_get_basename(at);
  g_autofree char *folder = realpath(above, NULL);
  g_autofree char *own = g_strdup_printf("/proc/%d/fd", (int)getpid());
  return g_strcmp0(folder, own) == 0 && g_ascii_isdigit(*name) ? atoi(name) : -1;
}

/* --- The check --- */

static gboolean check_folder(const char *path, const char *folder, GError **error) {
  struct stat facts;
  g_autofree char *reason = NULL;
  if (stat(folder, &facts) != 0 && errno == ENOENT)
    reason = g_strdup_printf("there is no folder %s", folder);
  else if (access(folder, W_OK | X_OK) != 0)
    reason = g_strdup_printf("the folder %s: %s", folder, g_strerror(errno));
  else if (!S_ISDIR(facts.st_mode))
    reason = g_strdup_printf("%s is not a folder", folder);
  return !reason || fail(path, reason, error);
}

gboolean orr_file_write_check(const char *path, GError **error) {
  struct stat facts;
  if (!*path) return fail(path, "a file needs a name", error);
  const gboolean exists = stat(path, &facts) == 0;
  if (!exists && errno == ELOOP) return fail(path, g_strerror(ELOOP), error);
  if (exists && S_ISDIR(facts.st_mode)) return fail(path, "it is a folder", error);
  if (exists && S_ISSOCK(facts.st_mode)) return fail(path, "it is a socket", error);
  if (exists && access(path, W_OK) != 0) return fail(path, g_strerror(errno), error);
  if ((exists && !S_ISREG(facts.st_mode)) || open_number(path) >= 0) return TRUE;
  g_autofree char *target = orr_paths_target(path);
  g_autofree char *folder = g_path_get_dirname(target);
  return check_folder(path, folder, error);
}

gboolean orr_file_write_check_folder(const char *path, GError **error) {
  g_autofree char *at = g_canonicalize_filename(path, NULL);
  while (!g_file_test(at, G_FILE_TEST_EXISTS) && strcmp(at, "/") != 0) {
    char *above = g_path_get_dirname(at);
    g_free(at);
    at = above;
  }
  return check_folder(path, at, error);
}

/* --- The write --- */

static gboolean write_all(int file, const char *bytes, gsize length) {
  while (length > 0) {
    const gssize n = write(file, bytes, length);
    if (n < 0 && errno == EAGAIN)
      poll(&(struct pollfd){.fd = file, .events = POLLOUT}, 1, -1);
    else if (n < 0 && errno != EINTR)
      return FALSE;
    if (n > 0) bytes += n, length -= (gsize)n;
  }
  return TRUE;
}

/* A reader that goes away is an error, not the end of this process. */
static gboolean write_unsignalled(int file, const char *bytes, gsize length) {
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  sigaction(SIGPIPE, &ignore, &before);
  const gboolean is_written = write_all(file, bytes, length);
  const int reason = errno;
  sigaction(SIGPIPE, &before, NULL);
  errno = reason;
  return is_written;
}

/* Into a device, a pipe or an open file. With O_NONBLOCK a pipe without a reader is an error
 * (ENXIO), as one without a writer is for orr_file_read. */
static gboolean write_into(const char *path, const char *bytes, gsize length, GError **error) {
  const int number = open_number(path);
  __attribute__((cleanup(close_file))) int file =
      number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 3)
                  : open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0 && errno == ENXIO) return fail(path, "it is a pipe, and nobody reads it", error);
  if (file < 0) return fail(path, g_strerror(errno), error);
  if (number >= 0) fflush(NULL); /* what was printed before comes first */
  return write_unsignalled(file, bytes, length) || fail(path, g_strerror(errno), error);
}

gboolean orr_file_write(const char *path, const char *bytes, gssize length, GError **error) {
  struct stat facts;
  const gsize n_bytes = length < 0 ? strlen(bytes) : (gsize)length;
  if (!orr_file_write_check(path, error)) return FALSE;
  const gboolean exists = stat(path, &facts) == 0;
  if ((exists && !S_ISREG(facts.st_mode)) || open_number(path) >= 0)
    return write_into(path, bytes, n_bytes, error);
  g_autoptr(GError) reason = NULL;
  g_autofree char *target = orr_paths_target(path);
  if (g_file_set_contents_full(target, bytes, (gssize)n_bytes, G_FILE_SET_CONTENTS_CONSISTENT,
                               exists ? (int)(facts.st_mode & 07777) : 0666, &reason))
    return TRUE;
  return fail(path, reason->message, error);
}
