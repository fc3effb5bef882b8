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
 * (sim/base/file.h). */
gboolean orr_paths_check(const OrrPath *paths, guint n, GError **error);

/* relative.c: paths of the command line inside documents that lie elsewhere.
 *
 * A relative path in a document counts from the folder of that document; one on the command line
 * counts from the working directory. A verb that puts such a path into a document (`plan -o`,
 * `import launch -o`, `--set`) rewrites the paths in between:
 *
 *   --cluster ./machines/mine.yaml -o jobs/x.yaml        cluster: {base: ../machines/mine.yaml}
 *
 * What names a file: a scalar that ends in .yaml (library.h), and has a '/' or is a file; and a
 * relative path with a '/', or with the ending of a table or trace, to a file that exists. */

/* The YAML text @text with its paths as a document at @document says them; the rest is unchanged,
 * comments too. @document NULL, or a text that cannot be parsed: a copy. Newly allocated. */
char *orr_relative_text(const char *text, const char *document);

/* The same for a value of --set, but names of documents stay: they count from the working
 * directory wherever they are set (sim/base/library.c). */
char *orr_relative_value(const char *text, const char *document);
