/*
 * paths.h - keeps an output of a command from overwriting one of its inputs or another output.
 *
 * Two paths are compared as files, not as names: by device and inode where the file exists (through
 * symbolic and hard links), else by the folder's device and inode and the name in it. The journals
 * of an SQLite database (-wal, -shm, -journal) count as the database. A folder stands for its
 * tables (*.csv). Devices and pipes never conflict.
 *
 * Every reader of a user's file calls orr_paths_note_read, so that the check also covers the
 * documents, tables and traces that a scenario names. A verb calls orr_paths_check before it
 * writes.
 */
#pragma once

#include "sim/base/ground.h"

typedef enum { ORR_PATH_READ, ORR_PATH_WRITTEN } OrrPathUse;

typedef struct {
  const char *what; /* in the user's words: "--trace", "the database" */
  const char *path; /* NULL: not given */
  OrrPathUse use;
  gboolean is_database;
  gboolean is_folder; /* the command makes it where it does not exist */
} OrrPath;

/* Notes @path as an input of this process. */
void orr_paths_note_read(const char *path);

/* The path that @path leads to when the links at its end are followed; the last need not lead
 * anywhere. Newly allocated. */
char *orr_paths_target(const char *path);

/* FALSE with ORR_FAULT_USAGE where a path to be written is also another of @paths, or a noted
 * input; with ORR_FAULT_RESOURCE where an output other than a database cannot be written
 * (sim/base/file_write.h). */
gboolean orr_paths_check(const OrrPath *paths, guint n, GError **error);
