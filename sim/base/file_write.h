/*
 * file_write.h - writes the files that a user names. Every output of a command that is not a
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
 * full disk.
 */
#pragma once

#include "sim/base/ground.h"

/* FALSE with ORR_FAULT_RESOURCE where nothing can be written to @path, with ORR_FAULT_USAGE for an
 * empty name. Opens and creates nothing:
 * a pipe's reader notices nothing. */
gboolean orr_file_write_check(const char *path, GError **error);

/* The same for a folder, which the command makes where it does not exist, with those above it. */
gboolean orr_file_write_check_folder(const char *path, GError **error);

/* Writes @length bytes (-1: a text) to @path. An existing file keeps its permissions. FALSE with
 * ORR_FAULT_RESOURCE, "PATH: cannot be written: REASON"; a regular file is then as it was. */
gboolean orr_file_write(const char *path, const char *bytes, gssize length, GError **error);
