/*
 * crossval_plot.h - modelled against measured, drawn by gnuplot
 * (calibration/plots/measured-modelled.gp).
 */
#pragma once

#include "calibration/crossval/crossval.h"

/* One block per table, separated by two empty lines for gnuplot's `index`: a title, then
 * measured and modelled microseconds and the error in percent. Of a long table only every k-th
 * point, so that about @max_points remain. */
char *orr_crossval_plot_data(const GPtrArray *tables, guint max_points);

/* Writes OUTPUT.dat and draws @output (.svg, .png, .pdf) with @script. FALSE with
 * ORR_FAULT_RESOURCE where gnuplot is missing or fails: the message says what to install and how
 * to draw the data then, which stay; with ORR_FAULT_USAGE for another suffix. */
gboolean orr_crossval_plot(const GPtrArray *tables, const char *title, const char *script,
                           const char *output, GError **error);
