/*
 * plot.c - writes the data file and the script of a plot, and runs gnuplot on them.
 */
#include "results/plot.h"

#include "sim/base/gnuplot.h"

/* Made from results/plots/ by embed.sh. */
extern const OrrPlot orr_plots_data[];
extern const guint orr_plots_data_n;

const OrrPlot *orr_plot_entries(guint *ret_n) {
  *ret_n = orr_plots_data_n;
  return orr_plots_data;
}

const OrrPlot *orr_plot_find(const char *name) {
  for (guint i = 0; i < orr_plots_data_n; i++)
    if (strcmp(orr_plots_data[i].name, name) == 0) return &orr_plots_data[i];
  return NULL;
}

/* Colours that remain distinct in print and to colour-blind readers (after Okabe and Ito 2008). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#b3a400", "#7f7f7f",
                                      "#5e3c99", "#8c510a", "#01665e", "#f2a7c3"};

char *orr_plot_data(const OrrAnswer *answer, guint *ret_blocks) {
  GString *data = g_string_new(NULL);
  const char *series = NULL;
  *ret_blocks = 0;
  ORR_EACH_POINTER(char *, cells, answer->rows) {
    if (!series || g_strcmp0(series, cells[0]) != 0) {
      series = cells[0] ? cells[0] : "";
      if ((*ret_blocks)++ > 0) g_string_append(data, "\n\n");
      orr_gnuplot_append_datum(data, series);
      g_string_append_c(data, '\n');
    }
    for (guint i = 1; i < answer->n_columns; i++) {
      if (i > 1) g_string_append_c(data, ' ');
      if (cells[i] && !answer->is_number[i])
        orr_gnuplot_append_datum(data, cells[i]);
      else
        g_string_append(data, cells[i] ? cells[i] : "?");
    }
    g_string_append_c(data, '\n');
  }
  return g_string_free(data, FALSE);
}

static void append_line(GString *script, const char *command, const char *text) {
  g_string_append(script, command);
  orr_gnuplot_append_quoted(script, text);
  g_string_append_c(script, '\n');
}

static void append_terminal(GString *script, const char *terminal, const char *output) {
  if (strcmp(terminal, "dumb") == 0) {
    g_string_append(script, "set terminal dumb size 100, 30 noenhanced\n");
    return;
  }
  g_autofree char *path = orr_gnuplot_path(output);
  g_string_append_printf(script, "set terminal %s size %s noenhanced\n", terminal,
                         strcmp(terminal, "pdfcairo") == 0 ? "10in, 6in" : "1000, 600");
  append_line(script, "set output ", path);
}

char *orr_plot_script(const OrrPlot *plot, const char *title, const char *data_path, guint blocks,
                      const char *output, const char *terminal) {
  GString *script = g_string_new(NULL);
  g_autofree char *path = orr_gnuplot_path(data_path);
  append_terminal(script, terminal, output);
  append_line(script, "set title ", title);
  append_line(script, "data = ", path);
  for (guint i = 0; i < G_N_ELEMENTS(colours); i++)
    g_string_append_printf(script, "set linetype %u linecolor rgb \"%s\"\n", i + 1, colours[i]);
  g_string_append_printf(script, "set linetype cycle %u\nblocks = %u\nset datafile missing \"?\"\n",
                         (guint)G_N_ELEMENTS(colours), blocks);
  g_string_append(
      script,
      "short(value) = abs(value) < 1000 ? sprintf(\"%.4g\", value) : gprintf(\"%.1s%c\", value)\n"
      "axis(most) = most < 1000 ? \"%g\" : \"%.1s%c\"\n");
  g_string_append_printf(script, "dot(series) = %s\n",
                         strcmp(terminal, "dumb") == 0 ? "series + 1" : "7");
  g_string_append(script, plot->script);
  return g_string_free(script, FALSE);
}

/* The view's question without what follows its question mark. */
static char *title_of(const OrrPlot *plot) {
  const char *question = orr_view_find(plot->name)->question;
  return g_strndup(question, strcspn(question, "?") + (strchr(question, '?') != NULL));
}

gboolean orr_plot_draw(const OrrPlot *plot, const OrrAnswer *answer, const char *output,
                       const char *terminal, GString **ret_picture, GError **error) {
  static const char *const args[] = {ORR_GNUPLOT_SCRIPT, NULL};
  guint blocks = 0;
  g_autofree char *data = orr_plot_data(answer, &blocks), *title = title_of(plot);
  g_autofree char *script =
      orr_plot_script(plot, title, ORR_GNUPLOT_DATA, blocks, ORR_GNUPLOT_PICTURE, terminal);
  if (orr_gnuplot_run(args, data, script, ret_picture, error)) return TRUE;
  g_autofree char *data_path = g_strconcat(output, ".dat", NULL),
                  *script_path = g_strconcat(output, ".gp", NULL);
  g_autofree char *left = orr_plot_script(plot, title, data_path, blocks, output, terminal),
                  *script_name = orr_gnuplot_path(script_path);
  const char *const by_hand[] = {script_name, NULL};
  orr_gnuplot_leave(by_hand, output, data, left, error);
  return FALSE;
}
