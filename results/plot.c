#include "results/plot.h"

#include <string.h>

/* Made from results/plots/ by embed.sh. */
extern const OrrPlot orr_plots_data[];
extern const guint orr_plots_data_n;

const OrrPlot *orr_plots(guint *ret_n) {
  *ret_n = orr_plots_data_n;
  return orr_plots_data;
}

const OrrPlot *orr_plot_find(const char *name) {
  for (guint i = 0; i < orr_plots_data_n; i++)
    if (strcmp(orr_plots_data[i].name, name) == 0) return &orr_plots_data[i];
  return NULL;
}

/* Colours that can be told apart in print and by the colour-blind (after Okabe and Ito 2008). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                      "#b3a400", "#7f7f7f", "#5e3c99", "#8c510a", "#01665e", "#f2a7c3"};

/* Within gnuplot's double quotes. */
static void append_quoted(GString *out, const char *text) {
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\') g_string_append_c(out, '\\');
    g_string_append_c(out, g_ascii_iscntrl(*c) ? ' ' : *c);
  }
  g_string_append_c(out, '"');
}

char *orr_plot_data(const OrrAnswer *answer, guint *ret_blocks) {
  GString *data = g_string_new(NULL);
  const char *series = NULL;
  *ret_blocks = 0;
  for (guint r = 0; r < answer->rows->len; r++) {
    char **cells = answer->rows->pdata[r];
    if (!series || g_strcmp0(series, cells[0]) != 0) {
      series = cells[0] ? cells[0] : "";
      if ((*ret_blocks)++ > 0) g_string_append(data, "\n\n");
      append_quoted(data, series);
      g_string_append_c(data, '\n');
    }
    for (guint i = 1; i < answer->n_columns; i++) {
      if (i > 1) g_string_append_c(data, ' ');
      if (cells[i] && !answer->is_number[i])
        append_quoted(data, cells[i]);
      else
        g_string_append(data, cells[i] ? cells[i] : "?");
    }
    g_string_append_c(data, '\n');
  }
  return g_string_free(data, FALSE);
}

static void append_text_variable(GString *script, const char *name, const char *value) {
  g_string_append_printf(script, "%s = ", name);
  append_quoted(script, value);
  g_string_append_c(script, '\n');
}

char *orr_plot_script(const OrrPlot *plot, const char *title, const char *data_path, guint blocks, const char *output,
                      const char *terminal, const OrrBinding *bindings, guint n_bindings) {
  GString *script = g_string_new(NULL);
  if (strcmp(terminal, "dumb") == 0)
    g_string_append(script, "set terminal dumb size 100, 30 noenhanced\n");
  else
    g_string_append_printf(script, "set terminal %s size %s noenhanced\nset output ", terminal,
                           strcmp(terminal, "pdfcairo") == 0 ? "10in, 6in" : "1000, 600");
  if (strcmp(terminal, "dumb") != 0) {
    append_quoted(script, output);
    g_string_append_c(script, '\n');
  }
  g_string_append(script, "set title ");
  append_quoted(script, title);
  g_string_append_c(script, '\n');
  append_text_variable(script, "data", data_path);
  for (guint i = 0; i < G_N_ELEMENTS(colours); i++)
    g_string_append_printf(script, "set linetype %u linecolor rgb \"%s\"\n", i + 1, colours[i]);
  g_string_append_printf(script, "set linetype cycle %u\nblocks = %u\nset datafile missing \"?\"\n",
                         (guint)G_N_ELEMENTS(colours), blocks);
  g_string_append(script, "short(value) = abs(value) < 1000 ? sprintf(\"%.4g\", value) : gprintf(\"%.1s%c\", value)\n");
  g_string_append_printf(script, "dot(series) = %s\n", strcmp(terminal, "dumb") == 0 ? "series + 1" : "7");
  for (guint i = 0; i < n_bindings; i++) {
    g_autofree char *name = g_strconcat("axis_", bindings[i].name, NULL);
    append_text_variable(script, name, bindings[i].value);
  }
  g_string_append(script, plot->script);
  return g_string_free(script, FALSE);
}
