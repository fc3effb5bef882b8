/*
 * store_file.c - checks that a file is a results database, before SQLite opens it.
 *
 * SQLite may write to a file merely by opening it (roll a journal back, make a -shm for a WAL
 * database, checkpoint at close), so a foreign file is recognised by its first bytes alone. Of the
 * database header (100 bytes, https://www.sqlite.org/fileformat2.html section 1.3) this reads the
 * magic string (offset 0), user_version (60, big endian), application_id (68), and the size in
 * pages (28, page size at 16, valid where 24 equals 92). The transaction that creates the schema
 * writes both numbers in rollback-journal mode, so they are on the first page of every results
 * database from its first commit on.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/store_private.h"

enum {
  HEADER_BYTES = 100,
  AT_PAGE_SIZE = 16,
  AT_CHANGES = 24,
  AT_PAGES = 28,
  AT_USER_VERSION = 60,
  AT_APPLICATION_ID = 68,
  AT_VALID_FOR = 92
};

static guint32 big_endian(const guint8 *bytes) {
  return (guint32)bytes[0] << 24 | (guint32)bytes[1] << 16 | (guint32)bytes[2] << 8 | bytes[3];
}

static gboolean refuse(const char *path, const char *why, GError **error) {
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: %s", path, why);
}

static gboolean header_check(const char *path, const guint8 *header, size_t n, GError **error) {
  if (n < HEADER_BYTES || memcmp(header, "SQLite format 3", 16) != 0)
    return refuse(path, "is not an SQLite database; the file was not changed", error);
  guint32 application = big_endian(header + AT_APPLICATION_ID),
          version = big_endian(header + AT_USER_VERSION);
  if (application != ORR_STORE_APPLICATION_ID)
    return refuse(path, "is an SQLite database of another program; the file was not changed",
                  error);
  if (version < 1)
    return refuse(path,
                  "has schema version 0, which no version of Orrery writes: it was changed or "
                  "damaged; the file was not changed now",
                  error);
  if (version > ORR_STORE_VERSION)
    return orr_fault_set(error, ORR_FAULT_RESOURCE,
                         "%s: has schema version %u, made by a newer Orrery; this one knows %d",
                         path, version, ORR_STORE_VERSION);
  return TRUE;
}

/* A database has the number of pages in its header, unless a journal or a log is still to be
 * applied. Not every writer maintains this number (section 1.3.7 there). */
static gboolean size_check(const char *path, const guint8 *header, gint64 size, GError **error) {
  static const char *const tails[] = {"-wal", "-journal"};
  const gint64 page = (gint64)header[AT_PAGE_SIZE] << 8 | header[AT_PAGE_SIZE + 1];
  const gint64 bytes = big_endian(header + AT_PAGES) * (page == 1 ? 65536 : page);
  if (big_endian(header + AT_CHANGES) != big_endian(header + AT_VALID_FOR) || size >= bytes)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(tails); i++) {
    g_autofree char *beside = g_strconcat(path, tails[i], NULL);
    if (access(beside, F_OK) == 0) return TRUE;
  }
  return orr_fault_set(error, ORR_FAULT_RESOURCE,
                       "%s: is truncated: %ld of %ld bytes exist; the file was not changed", path,
                       size, bytes);
}

gboolean orr_store_file_check(const char *path, gboolean *ret_fresh, GError **error) {
  struct stat facts;
  if (stat(path, &facts) != 0) {
    *ret_fresh = TRUE;
    return errno == ENOENT ? TRUE : refuse(path, g_strerror(errno), error);
  }
  if (S_ISDIR(facts.st_mode)) return refuse(path, "is a folder", error);
  if (!S_ISREG(facts.st_mode)) return refuse(path, "is not a regular file", error);
  *ret_fresh = facts.st_size == 0;
  if (*ret_fresh) return TRUE;
  guint8 header[HEADER_BYTES];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refuse(path, g_strerror(errno), error);
  ssize_t n = read(fd, header, sizeof header);
  close(fd);
  return header_check(path, header, n < 0 ? 0 : (size_t)n, error) &&
         size_check(path, header, facts.st_size, error);
}

char *orr_store_file_reason(const char *path, gboolean for_writing) {
  g_autofree char *folder = g_path_get_dirname(path);
  if (access(path, F_OK) == 0 && access(path, for_writing ? R_OK | W_OK : R_OK) != 0)
    return g_strdup(g_strerror(errno));
  if (access(folder, F_OK) != 0) return g_strdup_printf("there is no folder '%s'", folder);
  /* SQLite keeps its journal next to the database, so the folder must be writable too. */
  if (for_writing && access(folder, W_OK | X_OK) != 0)
    return g_strdup_printf("folder '%s': %s", folder, g_strerror(errno));
  return NULL;
}
