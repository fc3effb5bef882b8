/*
 * plot.h - pictures of views: what gnuplot is given.
 *
 * A plot is a view and a gnuplot script of the same name, results/plots/NAME.gp, compiled in. Its
 * data is the view's answer: the first column is the series; rows of one series are a block
 * (gnuplot's `index`) under a line with the series' name (columnheader(1)); the other columns
 * follow from column 1 on, texts in quotes, NULL as "?".
 *
 * Texts reach gnuplot as data or in single quotes, so that it never runs a part of one (gnuplot.h).
 *
 * A script reads the variables data and blocks; the functions short(value) ("232.6k") and
 * dot(series) (its point type: letters differ where there is no colour); terminal, output and title
 * are set before it. To add one: a view whose first column is `series`, results/plots/NAME.gp (a
 * first comment line says what it shows), and its line in meson.build.
 */
#ifndef ORR_PLOT_H
#define ORR_PLOT_H

#include "results/store.h"

G_BEGIN_DECLS

typedef struct {
  const char *name;     /* of the view too */
  const char *sentence; /* the script's first line */
  const char *script;   /* the whole file */
} OrrPlot;

const OrrPlot *orr_plot_entries(guint *ret_n); /* alphabetical; static */
const OrrPlot *orr_plot_find(const char *name);

/* The answer as gnuplot's blocks; newly allocated. *@ret_blocks is how many there are. */
char *orr_plot_data(const OrrAnswer *answer, guint *ret_blocks);

/* The whole script, which draws @data_path into @output with gnuplot's @terminal ("svg", ...;
 * "dumb": text to stdout, @output is not used). Newly allocated. */
char *orr_plot_script(const OrrPlot *plot, const char *title, const char *data_path, guint blocks,
                      const char *output, const char *terminal);

G_END_DECLS

#endif
