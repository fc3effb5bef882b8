/*
 * plot.h - pictures of views, drawn by gnuplot: the only code that draws. `orrery plot` writes one
 * to a file; the report embeds them (report_picture.c).
 *
 * A plot is a view and a gnuplot script of the same name, results/plots/NAME.gp, compiled in. The
 * view's answer becomes the data file: the first column names the series; the rows of a series form
 * a block (gnuplot's `index`) under a line with the series' name (columnheader(1)); the other
 * columns follow, counted from 1; texts are in quotes, and NULL is "?".
 *
 *   view            data file                   script
 *   fit|8|232.6     "fit"                       plot for [i = 0:blocks - 1] data index i
 *   fit|16|455.1    8 232.6                          using 1:2 title columnheader(1)
 *                   16 455.1
 *
 * Texts reach gnuplot as data or in single quotes, so that it never executes one (gnuplot.h).
 *
 * The lines before the script set terminal, output and title, the variables `data` and `blocks`,
 * and the functions short(value) ("232.6k") and dot(series) (a point type; without colour, one
 * letter per series). To add a plot: a view whose first column is `series`, results/plots/NAME.gp
 * (its first line is a comment that says what it shows), and its line in meson.build.
 */
#pragma once

#include "results/store.h"

typedef struct {
  const char *name;     /* of the view too */
  const char *sentence; /* the script's first line */
  const char *script;   /* the whole file */
} OrrPlot;

const OrrPlot *orr_plot_entries(guint *ret_n); /* alphabetical; static */
const OrrPlot *orr_plot_find(const char *name);

/* Draws @answer, which is @plot's view, with gnuplot's @terminal ("svg", ...; "dumb": characters).
 * *@ret_picture has the bytes, newly allocated. Where gnuplot fails or is not installed,
 * @output.dat and @output.gp are written, and the message says how to draw @output by hand; else no
 * file is. */
gboolean orr_plot_draw(const OrrPlot *plot, const OrrAnswer *answer, const char *output,
                       const char *terminal, GString **ret_picture, GError **error);

/* For tests. The answer as gnuplot's blocks; *@ret_blocks is their number. Newly allocated. */
char *orr_plot_data(const OrrAnswer *answer, guint *ret_blocks);

/* For tests. The whole script that draws @data_path into @output. Newly allocated. */
char *orr_plot_script(const OrrPlot *plot, const char *title, const char *data_path, guint blocks,
                      const char *output, const char *terminal);
