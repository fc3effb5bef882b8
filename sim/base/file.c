/*
 * file.c - opens without blocking, checks the type of the file, and reads or maps it.
 */
#include "sim/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/paths.h"

static void close_file(int *file) {
  if (*file >= 0) close(*file);
}

static gboolean fail(GError **error, const char *reason) {
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "cannot be read: %s", reason);
}

static gboolean fail_size(GError **error, gsize max_bytes) {
  return orr_fault_set(error, ORR_FAULT_RESOURCE,
                       "is larger than %" G_GSIZE_FORMAT " MiB, the most that is read",
                       max_bytes >> 20);
}

/* With O_NONBLOCK, opening a pipe returns at once; regular files are not affected. -1 with
 * @error. */
static int open_file(const char *path, gsize max_bytes, struct stat *ret_facts, GError **error) {
  __attribute__((cleanup(close_file))) int file =
      open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  gboolean ok = TRUE;
  if (file < 0 || fstat(file, ret_facts) != 0)
    ok = fail(error, g_strerror(errno));
  else if (S_ISDIR(ret_facts->st_mode))
    ok = fail(error, "it is a folder");
  else if (!S_ISREG(ret_facts->st_mode) && !S_ISFIFO(ret_facts->st_mode))
    ok = fail(error, "it is a device, not a file");
  else if (S_ISREG(ret_facts->st_mode) && ret_facts->st_size > (goffset)max_bytes)
    ok = fail_size(error, max_bytes);
  if (ok) orr_paths_note_read(path);
  return ok ? g_steal_fd(&file) : -1;
}

enum { BLOCK = 65536 }; /* what a text that turned out longer grows by */

/* Reads at most one byte more than @max_bytes, since pipes and files in /proc report no size. */
static gboolean read_bytes(int file, gsize max_bytes, GString *text, GError **error) {
  while (text->len <= max_bytes) {
    const gsize before = text->len, room = text->allocated_len - before - 1;
    g_string_set_size(text, before + MIN(room > 0 ? room : BLOCK, max_bytes + 1 - before));
    const gssize n = read(file, text->str + before, text->len - before);
    g_string_set_size(text, before + (gsize)MAX(n, 0));
    if (n == 0) return TRUE;
    if (n < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = file, .events = POLLIN}, 1, -1);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return fail(error, g_strerror(errno));
  }
  return fail_size(error, max_bytes);
}

static GString *read_open(int file, const struct stat *facts, gsize max_bytes, GError **error) {
  g_autoptr(GString) text =
      g_string_sized_new(S_ISREG(facts->st_mode) ? (gsize)facts->st_size + 1 : 0);
  if (!read_bytes(file, max_bytes, text, error)) return NULL;
  if (text->len > 0 || !S_ISFIFO(facts->st_mode)) return g_steal_pointer(&text);
  fail(error, "it is a pipe, and nobody writes to it");
  return NULL;
}

char *orr_file_read(const char *path, gsize max_bytes, gsize *ret_length, GError **error) {
  struct stat facts;
  __attribute__((cleanup(close_file))) int file = open_file(path, max_bytes, &facts, error);
  g_autoptr(GString) text = file < 0 ? NULL : read_open(file, &facts, max_bytes, error);
  if (!text) return NULL;
  if (ret_length) *ret_length = text->len;
  return g_string_free(g_steal_pointer(&text), FALSE);
}

GBytes *orr_file_map(const char *path, gsize max_bytes, GError **error) {
  struct stat facts;
  __attribute__((cleanup(close_file))) int file = open_file(path, max_bytes, &facts, error);
  if (file < 0) return NULL;
  g_autoptr(GMappedFile) map = S_ISREG(facts.st_mode) && facts.st_size > 0
                                   ? g_mapped_file_new_from_fd(file, FALSE, NULL)
                                   : NULL;
  if (map) return g_mapped_file_get_bytes(map);
  g_autoptr(GString) text = read_open(file, &facts, max_bytes, error);
  return text ? g_string_free_to_bytes(g_steal_pointer(&text)) : NULL;
}
