/*
 * crossval_plot.c - see crossval_plot.h.
 */
#include "calibration/crossval_plot.h"

#include <string.h>

#include "sim/base/fault.h"

enum { MAX_POINTS = 1500 };

static void append_point(GString *data, const OrrCrossvalPoint *point) {
  char measured[G_ASCII_DTOSTR_BUF_SIZE], modelled[G_ASCII_DTOSTR_BUF_SIZE], error[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd(measured, sizeof measured, "%.5g", point->measured_s * 1e6);
  g_ascii_formatd(modelled, sizeof modelled, "%.5g", point->modelled_s * 1e6);
  g_ascii_formatd(error, sizeof error, "%.2f", 100 * (point->modelled_s / point->measured_s - 1));
  g_string_append_printf(data, "%s %s %s\n", measured, modelled, error);
}

char *orr_crossval_plot_data(const GPtrArray *tables, guint max_points) {
  GString *data = g_string_new(NULL);
  for (guint t = 0; t < tables->len; t++) {
    const OrrCrossvalTable *table = tables->pdata[t];
    OrrErrors errors = orr_crossval_errors(table, -1);
    guint every = MAX(1, (table->points->len + max_points - 1) / max_points);
    if (errors.n == 0) continue;
    g_string_append_printf(data, "%s\"%s, %u shapes: mean %.1f %%, 90th percentile %.1f %%\"\n",
                           data->len ? "\n\n" : "", table->label, errors.n, 100 * errors.mape, 100 * errors.p90);
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

static const char *terminal_of(const char *output) {
  static const char *const known[][2] = {{".svg", "svg"}, {".png", "pngcairo"}, {".pdf", "pdfcairo"}};
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (g_str_has_suffix(output, known[i][0])) return known[i][1];
  return NULL;
}

static gboolean run_gnuplot(char **argv, const char *data_path, GError **error) {
  g_autofree char *program = g_find_program_in_path(argv[0]);
  g_autofree char *by_hand = g_strjoinv(" ", argv), *said = NULL;
  g_autoptr(GError) reason = NULL;
  int status = 0;
  if (!program) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE,
                "gnuplot is not installed (Debian: apt-get install gnuplot-nox). The data is in %s; then: %s",
                data_path, by_hand);
    return FALSE;
  }
  if (g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, &said, &status, &reason) &&
      g_spawn_check_wait_status(status, &reason))
    return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: %s%s%s", by_hand, reason->message, said && *said ? ": " : "",
              said ? g_strstrip(said) : "");
  return FALSE;
}

gboolean orr_crossval_plot(const GPtrArray *tables, const char *title, const char *script, const char *output,
                           GError **error) {
  const char *terminal = terminal_of(output);
  if (!terminal) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s: want a file that ends in .svg, .png or .pdf", output);
    return FALSE;
  }
  g_autofree char *data = orr_crossval_plot_data(tables, MAX_POINTS), *data_path = g_strconcat(output, ".dat", NULL);
  g_autofree char *n_blocks = g_strdup_printf("%u", count_blocks(data));
  g_autoptr(GError) reason = NULL;
  if (!*data || !g_file_set_contents(data_path, data, -1, &reason)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", reason ? reason->message : "there are no rows to draw");
    return FALSE;
  }
  char *argv[] = {(char *)"gnuplot", (char *)"-c",  (char *)script, data_path, (char *)output,
                  (char *)terminal,  (char *)title, n_blocks,       NULL};
  return run_gnuplot(argv, data_path, error);
}
