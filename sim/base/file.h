/*
 * file.h - reads whole files up to a limit. Every reader of documents, tables, configs, logs and
 * traces opens its file here.
 *
 * A user can name anything: a device that never ends (/dev/zero), a pipe without a writer, a
 * folder. So these rules hold for all readers:
 *
 *  1. At most @max_bytes are read into memory, whatever size the file claims to have.
 *  2. Opening never blocks. A pipe (`orrery check /dev/stdin`, `<(command)`) is read to its end or
 *     to the limit; a pipe without a writer is an error. Reading waits only for a writer that holds
 *     the pipe open.
 *  3. Folders, devices and sockets are refused.
 *  4. The path is noted as an input (sim/base/paths.h), so that no output of the command overwrites
 *     it.
 *
 * Messages do not name the file; the caller adds the path (g_prefix_error, or the place of a
 * diagnostic).
 */
#pragma once

#include "sim/base/ground.h"

/* Documents and configs: the largest shipped document has 0.7 MB. */
#define ORR_FILE_MAX_DOCUMENT ((gsize)16 << 20)
/* Tables, logs and traces: ShareGPT, the largest public trace with a reader here, has 0.7 GB. */
#define ORR_FILE_MAX_DATA ((gsize)1 << 30)

/* The file's bytes followed by a NUL, newly allocated; @ret_length (may be NULL) does not count
 * the NUL. NULL with ORR_FAULT_RESOURCE. */
char *orr_file_read(const char *path, gsize max_bytes, gsize *ret_length, GError **error);

/* The same without the NUL, and without a copy where the file can be mapped into memory. */
GBytes *orr_file_map(const char *path, gsize max_bytes, GError **error);

/* file_write.c: writes the files that a user names. Every output of a command that is not a
 * database goes through orr_file_write.
 *
 *   a regular file, or none yet   the text goes into a temporary file next to it, which is then
 *                                 renamed: a reader and a killed command never see half of it
 *   a link                        is followed: its target is written, also one that does not exist
 *   a device, a pipe              is written into, never replaced (-o /dev/null as root)
 *   /dev/stdout, /dev/fd/N        the open file, at its position, is written into
 *   a folder, a socket            is refused
 *
 * The same conditions are checked twice: before the work (orr_file_write_check, which
 * orr_paths_check calls for all outputs of a verb) and by the write itself, which can also find a
 * full disk. */

/* FALSE with ORR_FAULT_RESOURCE where nothing can be written to @path, with ORR_FAULT_USAGE for an
 * empty name. Opens and creates nothing:
 * a pipe's reader notices nothing. */
gboolean orr_file_write_check(const char *path, GError **error);

/* The same for a folder, which the command makes where it does not exist, with those above it. */
gboolean orr_file_write_check_folder(const char *path, GError **error);

/* Writes @length bytes (-1: a text) to @path. An existing file keeps its permissions. FALSE with
 * ORR_FAULT_RESOURCE, "PATH: cannot be written: REASON"; a regular file is then as it was. */
gboolean orr_file_write(const char *path, const char *bytes, gssize length, GError **error);
