/*
 * gnuplot.h - runs gnuplot, where it is installed.
 *
 * A gnuplot script is a program, and gnuplot runs the shell where a script lets it: in backquotes
 * within double quotes, and for a file whose name begins with '|' or '<'. So text from a document,
 * a database or the command line enters a script in single quotes only, where nothing is expanded
 * (orr_gnuplot_append_quoted), or as data; and the name of a file never begins with a character
 * that gnuplot or its option parser interprets (orr_gnuplot_path).
 */
#ifndef ORR_GNUPLOT_H
#define ORR_GNUPLOT_H

#include <glib.h>

G_BEGIN_DECLS

/* gnuplot's terminal for a file of that name: .svg, .png, .pdf. NULL with ORR_FAULT_USAGE for
 * another, and for a name with a control character, which a script cannot hold. */
const char *orr_gnuplot_terminal(const char *output, GError **error);

/* Appends @text as a string of gnuplot's in single quotes, on one line: control characters
 * become spaces. */
void orr_gnuplot_append_quoted(GString *script, const char *text);

/* Appends @text as a field of a data file, in double quotes. Gnuplot expands nothing there but
 * backslashes, and ends the field at a quote even after one (5.4): both characters go as octal
 * escapes. */
void orr_gnuplot_append_datum(GString *data, const char *text);

gboolean orr_gnuplot_is_installed(void);

/* The same file by a name that begins with '/' or '.'. Newly allocated. */
char *orr_gnuplot_path(const char *path);

/* Runs gnuplot with @args (NULL-terminated, without the program's name), and without the user's
 * ~/.gnuplot; *@ret_text (may be NULL) is what it wrote to stdout, newly allocated.
 * ORR_FAULT_RESOURCE where it is not installed or fails: the message says what to install, that
 * @kept (the data) stays, and the command to draw it by hand, quoted for a shell. */
gboolean orr_gnuplot_run(const char *const *args, const char *kept, char **ret_text,
                         GError **error);

G_END_DECLS

#endif
