/*
 * paths.h - no output of a command replaces one of its inputs, or another output.
 *
 * Two paths are compared as files, not as names: by device and inode where the file exists (through
 * symbolic and hard links), else by the folder's device and inode and the name in it. The journals
 * of an SQLite database (-wal, -shm,
 * -journal) belong to it. A folder stands for the tables in it (*.csv). Devices and pipes collide with nothing.
 *
 * Code that reads a file of the user's calls orr_paths_note_read, so that a verb's check covers the
 * documents, tables and traces that its scenario names too. A verb calls orr_paths_check before it
 * writes.
 */
#ifndef ORR_PATHS_H
#define ORR_PATHS_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { ORR_PATH_READ, ORR_PATH_WRITTEN } OrrPathUse;

typedef struct {
  const char *what; /* as the user knows it: "--trace", "the database" */
  const char *path; /* NULL: not given */
  OrrPathUse use;
  gboolean is_database;
} OrrPath;

/* Remembers @path as an input of this process. */
void orr_paths_note_read(const char *path);

/* ORR_FAULT_USAGE where a path that is written is also another of @paths, or was read. */
gboolean orr_paths_check(const OrrPath *paths, guint n, GError **error);

G_END_DECLS

#endif
