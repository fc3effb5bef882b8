/*
 * gnuplot.h - runs gnuplot, where it is installed.
 *
 * A gnuplot script can run shell commands: through backquotes inside double quotes, and through a
 * file name that begins with '|' or '<'. So text from a document, a database or the command line
 * enters a script only in single quotes, which expand nothing (orr_gnuplot_append_quoted), or as
 * data; and no file name begins with a character that gnuplot or its option parser interprets
 * (orr_gnuplot_path).
 */
#pragma once

#include "sim/base/ground.h"

/* The gnuplot terminal for the suffix of @output: .svg, .png or .pdf. NULL with ORR_FAULT_USAGE for
 * another suffix, and for a name with a control character, which a script cannot contain. */
const char *orr_gnuplot_terminal(const char *output, GError **error);

/* Appends @text as a string in single quotes, on one line: control characters become spaces. */
void orr_gnuplot_append_quoted(GString *script, const char *text);

/* Appends @text as a field of a data file, in double quotes. There gnuplot (5.4) expands only
 * backslashes and ends the field at a quote, even an escaped one; so both characters are written
 * as octal escapes. */
void orr_gnuplot_append_datum(GString *data, const char *text);

gboolean orr_gnuplot_is_installed(void);

/* The path @path, beginning with '/' or '.'. Newly allocated. */
char *orr_gnuplot_path(const char *path);

/* The names under which gnuplot opens the texts of this process, and its own output. */
#define ORR_GNUPLOT_DATA "/dev/fd/3"
#define ORR_GNUPLOT_SCRIPT "/dev/fd/4"
#define ORR_GNUPLOT_PICTURE "/dev/stdout"

/* Runs gnuplot with @args (NULL-terminated, without the program's name), ignoring the user's
 * ~/.gnuplot. It reads @data and @script (NULL: none) under the names above. *@ret_picture is its
 * stdout, newly allocated. No file is written, so that a command that is killed leaves none;
 * gnuplot ends with this process. FALSE with ORR_FAULT_RESOURCE where gnuplot is not installed (the
 * message says what to install) or fails. */
gboolean orr_gnuplot_run(const char *const *args, const char *data, const char *script,
                         GString **ret_picture, GError **error);

/* Adds to *@error, which orr_gnuplot_run set, where the texts that are left for the user lie:
 * writes @data to OUTPUT.dat and @script (NULL: none) to OUTPUT.gp. @args draw them. */
void orr_gnuplot_leave(const char *const *args, const char *output, const char *data,
                       const char *script, GError **error);
