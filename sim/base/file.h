/*
 * file.h - reads whole files, bounded: every reader of documents, tables, configs, logs and traces
 * opens its file here.
 *
 * A file that a user names may be anything: a device that never ends (/dev/zero), a pipe that
 * nobody writes to, a folder. Rules held here, for all readers at once:
 *
 *  1. No more than the limit is ever read into memory, whatever size the file claims to have.
 *  2. Opening never blocks. A pipe (`orrery check /dev/stdin`, `<(command)`) is read to its end, or to the limit; a
 *     pipe without a writer is an error. Reading waits only for a writer that has the pipe open.
 *  3. Folders, devices and sockets are refused.
 *  4. What is read is remembered (sim/base/paths.h), so that no output of the command replaces it.
 *
 * Messages do not name the file: the caller puts the path before them (g_prefix_error, or the place
 * of a diagnostic).
 */
#ifndef ORR_FILE_H
#define ORR_FILE_H

#include <glib.h>

G_BEGIN_DECLS

/* Documents and configs: the largest shipped document has 0.7 MB. */
#define ORR_FILE_MAX_DOCUMENT ((gsize)16 << 20)
/* Tables, logs and traces: ShareGPT, the largest public trace that the readers know, has 0.7 GB. */
#define ORR_FILE_MAX_DATA ((gsize)1 << 30)

/* The file's bytes with a NUL behind them, newly allocated; their number in @ret_length (NULL:
 * not wanted). NULL with ORR_FAULT_RESOURCE. */
char *orr_file_read(const char *path, gsize max_bytes, gsize *ret_length, GError **error);

/* The same, without a copy in memory where the file can be mapped; no NUL behind it. */
GBytes *orr_file_map(const char *path, gsize max_bytes, GError **error);

G_END_DECLS

#endif
