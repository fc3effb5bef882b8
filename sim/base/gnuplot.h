/*
 * gnuplot.h - runs gnuplot, where it is installed.
 */
#ifndef ORR_GNUPLOT_H
#define ORR_GNUPLOT_H

#include <glib.h>

G_BEGIN_DECLS

/* gnuplot's terminal for a file of that name: .svg, .png, .pdf. NULL with ORR_FAULT_USAGE for another. */
const char *orr_gnuplot_terminal(const char *output, GError **error);

/* Runs gnuplot with @args (NULL-terminated, without the program's name); *@ret_text (may be NULL) is what it wrote to
 * stdout, newly allocated. ORR_FAULT_RESOURCE where it is not installed or fails: the message says what to install,
 * that
 * @kept (the data) stays, and the command to draw it by hand. */
gboolean orr_gnuplot_run(const char *const *args, const char *kept, char **ret_text, GError **error);

G_END_DECLS

#endif
