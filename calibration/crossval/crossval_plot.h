/*
 * crossval_plot.h - modelled against measured, drawn by gnuplot
 * (calibration/plots/measured-modelled.gp).
 */
#ifndef ORR_CROSSVAL_PLOT_H
#define ORR_CROSSVAL_PLOT_H

#include "calibration/crossval/crossval.h"

G_BEGIN_DECLS

/* One block a table (separated by two empty lines, as gnuplot's `index` wants): a title, then
 * measured and modelled microseconds and the error in percent; of a long table every k-th point,
 * so that about @max_points are left. */
char *orr_crossval_plot_data(const GPtrArray *tables, guint max_points);

/* Writes OUTPUT.dat and draws @output (.svg, .png, .pdf) with @script. ORR_FAULT_RESOURCE where
 * gnuplot is not installed or fails: the message says what to install and how to draw it then;
 * the data stays. ORR_FAULT_USAGE: another suffix. */
gboolean orr_crossval_plot(const GPtrArray *tables, const char *title, const char *script,
                           const char *output, GError **error);

G_END_DECLS

#endif
