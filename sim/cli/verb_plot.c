/*
 * verb_plot.c - orrery plot DB NAME: draws a view of a results database with gnuplot.
 */
#include "results/plot.h"
#include "sim/base/file.h"
#include "sim/base/paths.h"
#include "sim/base/gnuplot.h"
#include "sim/cli/cli.h"
#include "sim/cli/page.h"

static gint64 run_id;
static char *terminal;
static char **params;

/* `--term` alone means ascii. */
static gboolean set_terminal(const char *name, const char *value, gpointer user, GError **error) {
  g_free(terminal);
  terminal = g_strdup(value ? value : "ascii");
  return TRUE;
}

static const GOptionEntry options[] = {
    ORR_OPTION_OUTPUT("Draw into FILE: .svg, .png or .pdf (default: NAME.svg)"),
    {"term", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_CALLBACK, set_terminal,
     "Draw with characters, on the terminal", "ascii"},
    ORR_OPTION_INT64("run", run_id, "Draw run N instead of the newest run"),
    ORR_OPTION_TEXTS("param", params, "NAME=VALUE", "Set a parameter of the view; may be repeated"),
    {NULL},
};

static const OrrPlot *find_plot(const char *name, GError **error) {
  const OrrPlot *plot = orr_plot_find(name);
  if (plot) return plot;
  guint n = 0;
  const OrrPlot *plots = orr_plot_entries(&n);
  g_autofree const char **names = g_new0(const char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = plots[i].name;
  orr_cli_unknown("plot", name, names, error);
  return NULL;
}

static gboolean check_terminal(GError **error) {
  if (!terminal) return TRUE;
  if (strcmp(terminal, "ascii") != 0)
    return orr_fault_set(
        error, ORR_FAULT_USAGE,
        "--term %s: only ascii is allowed; the suffix of -o FILE selects other formats", terminal);
  if (orr_options.output)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--term ascii draws on the terminal, so -o is not allowed");
  return TRUE;
}

static OrrAnswer *ask(const char *database, const OrrPlot *plot, const GArray *bindings,
                      GError **error) {
  g_autoptr(OrrStore) store = orr_store_open_read(database, error);
  if (!store) return NULL;
  g_autoptr(OrrAnswer) answer = orr_store_ask(
      store, plot->name, run_id, (const OrrBinding *)bindings->data, bindings->len, error);
  if (answer && answer->rows->len == 0) {
    g_autofree char *why = orr_question_empty(orr_view_find(plot->name), bindings);
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: nothing to draw: the view %s", database,
                          why);
  }
  return g_steal_pointer(&answer);
}

/* The data and the script stay where gnuplot fails. */
static gboolean check_paths(const char *database, const char *picture, GError **error) {
  g_autofree char *data = g_strconcat(picture, ".dat", NULL),
                  *script = g_strconcat(picture, ".gp", NULL);
  const OrrPath paths[] = {{"the database", database, ORR_PATH_READ, TRUE},
                           {"-o", picture, ORR_PATH_WRITTEN, FALSE},
                           {"the plot's data", data, ORR_PATH_WRITTEN, FALSE},
                           {"the plot's script", script, ORR_PATH_WRITTEN, FALSE}};
  return terminal || orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 2, 2, "plot takes a database and a name from 'orrery list plots'",
                          error) ||
      !check_terminal(error))
    return 2;
  const OrrPlot *plot = find_plot(args[1], error);
  g_autoptr(GArray) bindings = plot ? orr_question_bindings(params, error) : NULL;
  g_autofree char *picture = orr_options.output
                                 ? g_strdup(orr_options.output)
                                 : g_strconcat(args[1], terminal ? ".txt" : ".svg", NULL);
  const char *term = !bindings ? NULL : terminal ? "dumb" : orr_gnuplot_terminal(picture, error);
  if (!term || !check_paths(args[0], picture, error)) return 2;
  g_autoptr(OrrAnswer) answer = ask(args[0], plot, bindings, error);
  g_autoptr(GString) drawn = NULL;
  if (!answer || !orr_plot_draw(plot, answer, picture, term, &drawn, error)) return 1;
  if (!terminal && !orr_file_write(picture, drawn->str, (gssize)drawn->len, error)) return 1;
  /* gnuplot's dumb terminal begins with a form feed */
  printf(terminal ? "%s" : "%s\n", terminal ? drawn->str + strspn(drawn->str, "\f") : picture);
  return 0;
}

const OrrCommand orr_verb_plot = {
    .verb = "plot",
    .group = "Look",
    .sentence = "Draw a view of the results database with gnuplot.",
    .usage = "DB NAME [-o FILE] [--term] [--run N] [--param NAME=VALUE]...",
    .more = "'orrery list plots' lists the plots; 'orrery query DB NAME' prints the numbers of "
            "one. When gnuplot is not installed, the data and the script stay next to the place of "
            "the plot.",
    .options = options,
    .run = run,
};
