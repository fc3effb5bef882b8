/*
 * crossval_plot.c - writes the points of cross-validation as blocks for gnuplot, and runs it.
 */
#include "calibration/crossval/crossval.h"

#include "sim/base/file.h"
#include "sim/base/gnuplot.h"

enum { MAX_POINTS = 1500 };

static void append_point(GString *data, const OrrCrossvalPoint *point) {
  char measured[G_ASCII_DTOSTR_BUF_SIZE], modelled[G_ASCII_DTOSTR_BUF_SIZE],
      error[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd(measured, sizeof measured, "%.5g", point->measured_s * 1e6);
  g_ascii_formatd(modelled, sizeof modelled, "%.5g", point->modelled_s * 1e6);
  g_ascii_formatd(error, sizeof error, "%.2f", 100 * (point->modelled_s / point->measured_s - 1));
  g_string_append_printf(data, "%s %s %s\n", measured, modelled, error);
}

char *orr_crossval_plot_data(const GPtrArray *tables, guint max_points) {
  GString *data = g_string_new(NULL);
  ORR_EACH_POINTER(const OrrCrossvalTable, table, tables) {
    OrrErrors errors = orr_crossval_errors(table, -1);
    guint every = MAX(1, (table->points->len + max_points - 1) / max_points);
    if (errors.n == 0) continue;
    g_autofree char *label =
        g_strdup_printf("%s, %u shapes: mean %.1f %%, 90th percentile %.1f %%", table->label,
                        errors.n, 100 * errors.mape, 100 * errors.p90);
    if (data->len) g_string_append(data, "\n\n");
    orr_gnuplot_append_datum(data, label);
    g_string_append_c(data, '\n');
    for (guint i = 0; i < table->points->len; i += every)
      append_point(data, &g_array_index(table->points, OrrCrossvalPoint, i));
  }
  return g_string_free(data, FALSE);
}

static guint count_blocks(const char *data) {
  guint n = *data ? 1 : 0;
  for (const char *gap = data; (gap = strstr(gap, "\n\n\n")); gap += 3) n++;
  return n;
}

gboolean orr_crossval_plot(const GPtrArray *tables, const char *title, const char *script,
                           const char *output, GError **error) {
  const char *terminal = orr_gnuplot_terminal(output, error);
  if (!terminal) return FALSE;
  g_autofree char *data = orr_crossval_plot_data(tables, MAX_POINTS),
                  *data_path = g_strconcat(output, ".dat", NULL);
  g_autofree char *n_blocks = g_strdup_printf("%u", count_blocks(data));
  if (!*data) return orr_fault_set(error, ORR_FAULT_RESOURCE, "there are no rows to draw");
  g_autofree char *data_name = orr_gnuplot_path(data_path), *output_name = orr_gnuplot_path(output);
  const char *const args[] = {"-c",     script, ORR_GNUPLOT_DATA, ORR_GNUPLOT_PICTURE,
                              terminal, title,  n_blocks,         NULL};
  const char *const by_hand[] = {"-c",     script, data_name, output_name,
                                 terminal, title,  n_blocks,  NULL};
  g_autoptr(GString) picture = NULL;
  if (orr_gnuplot_run(args, data, NULL, &picture, error))
    return orr_file_write(data_path, data, -1, error) &&
           orr_file_write(output, picture->str, (gssize)picture->len, error);
  orr_gnuplot_leave(by_hand, output, data, NULL, error);
  return FALSE;
}
