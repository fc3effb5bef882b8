/*
 * report.c - writes a run's views as one HTML page.
 *
 * A table lists the sections: a view, its heading, and whether it shows as a table or as its plot.
 * A view without rows is skipped, so one list serves training, serving, collectives, sweeps and
 * validations.
 */
#include "results/report_private.h"

typedef enum { SHOW_TABLE, SHOW_TILES, SHOW_PICTURE } Show; /* tiles: a table below them too */

typedef struct {
  const char *view, *heading;
  const char
      *kind; /* of the run; views of sweeps and validations would show other runs'. NULL: any */
  Show show;
  OrrBinding bindings[2]; /* the view's parameters */
  guint n_bindings;
} Section;

/* In the order of the page. */
static const Section sections[] = {
    {.view = "summary", .heading = "Result", .show = SHOW_TILES},
    {.view = "nccl-tests", .heading = "Result"},
    {.view = "bands", .heading = "How far the result may be off"},
    {.view = "best", .heading = "Best configurations", .kind = "sweep"},
    {.view = "validation", .heading = "Against measurements", .kind = "validation"},
    {.view = "measured-simulated",
     .heading = "Measured and simulated",
     .kind = "validation",
     .show = SHOW_PICTURE},
    {.view = "latencies", .heading = "Latencies"},
    {.view = "inputs", .heading = "Uncertain inputs"},
    {.view = "serving-classes", .heading = "Classes of requests"},
    {.view = "serving-regions", .heading = "Regions"},
    {.view = "warnings", .heading = "Warnings"},
    {.view = "front", .heading = "Pareto front", .kind = "sweep", .show = SHOW_PICTURE},
    {.view = "sensitivity", .heading = "Effect of each axis", .kind = "sweep"},
    {.view = "heat-map", .heading = "Two axes", .kind = "sweep", .show = SHOW_PICTURE},
    {.view = "time-breakdown",
     .heading = "Where the time of the best points goes",
     .kind = "sweep",
     .show = SHOW_PICTURE},
    {.view = "failures", .heading = "Points without an answer", .kind = "sweep"},
    {.view = "campaign-progress",
     .heading = "Tokens and lost time",
     .kind = "campaign",
     .show = SHOW_PICTURE},
    {.view = "post-training", .heading = "Step by step"},
    {.view = "cluster-waits", .heading = "How long jobs wait"},
    {.view = "jobs", .heading = "Jobs on the same machine"},
    {.view = "campaign", .heading = "Lost time by cause and phase", .kind = "campaign"},
    {.view = "cluster-time",
     .heading = "GPUs held and asked for",
     .kind = "cluster",
     .show = SHOW_PICTURE},
    {.view = "cluster-hours", .heading = "Where the GPU-hours went", .kind = "cluster"},
    {.view = "breakdown", .heading = "Where the time goes"},
    {.view = "post-training-waits", .heading = "Who waits for whom"},
    {.view = "rollout-load", .heading = "Rollouts over time", .show = SHOW_PICTURE},
    {.view = "staleness", .heading = "Staleness"},
    {.view = "timeline",
     .heading = "Time line",
     .show = SHOW_PICTURE,
     .bindings = {{"lanes", "16"}, {"parts", "600"}},
     .n_bindings = 2},
    {.view = "critical-path", .heading = "Critical path"},
    {.view = "serving-timeline", .heading = "Load and cache over time", .show = SHOW_PICTURE},
    {.view = "batch-sizes", .heading = "Batch sizes"},
    {.view = "serving", .heading = "Replicas"},
    {.view = "slowest-requests", .heading = "Slowest requests"},
    {.view = "power", .heading = "Power over time", .show = SHOW_PICTURE},
    {.view = "memory", .heading = "Memory"},
    {.view = "post-training-memory", .heading = "Memory by phase"},
    {.view = "activations", .heading = "Activations of the stage that holds most"},
    {.view = "collectives", .heading = "Communication"},
    {.view = "hot-links", .heading = "Busiest links"},
    {.view = "storage", .heading = "Checkpoints and data"},
    {.view = "faults", .heading = "Faults"},
    {.view = "bill", .heading = "What the machine consists of"},
    {.view = "provenance", .heading = "How costs are known"},
    {.view = "operators", .heading = "Kernels"},
    {.view = "slowest-ranks", .heading = "Slowest ranks"},
    {.view = "validation-rows", .heading = "Row by row", .kind = "validation"},
};

static gboolean append_section(GString *html, OrrStore *store, gint64 run_id, const char *kind,
                               const Section *section, GError **error) {
  if (section->kind && g_strcmp0(kind, section->kind) != 0) return TRUE;
  const OrrView *view = orr_view_find(section->view);
  g_autoptr(OrrAnswer) answer =
      orr_store_ask(store, section->view, run_id, section->bindings, section->n_bindings, error);
  if (!answer) return FALSE;
  if (answer->rows->len == 0) return TRUE;
  g_string_append(html, "<h2>");
  orr_report_append_text(html, section->heading);
  g_string_append(html, "</h2>\n<p class=\"note\">");
  orr_report_append_text(html, view->question);
  g_string_append(html, "</p>\n");
  if (section->show == SHOW_PICTURE)
    return orr_report_append_picture(html, orr_plot_find(view->name), answer, error);
  if (section->show == SHOW_TILES) orr_report_append_tiles(html, answer);
  orr_report_append_table(html, view, answer);
  return TRUE;
}

static void append_top(GString *html, const OrrAnswer *run) {
  const char *question = orr_report_cell(run, 0, "question");
  const gboolean is_sweep = g_strcmp0(orr_report_cell(run, 0, "kind"), "sweep") == 0;
  orr_report_append_head(html, orr_report_cell(run, 0, "scenario"), is_sweep);
  g_string_append(html, "<h1>");
  orr_report_append_text(html, orr_report_cell(run, 0, "scenario"));
  g_string_append(html, "</h1>\n");
  if (question) {
    g_string_append(html, "<p>");
    orr_report_append_text(html, question);
    g_string_append(html, "</p>\n");
  }
  g_string_append(html, "<p class=\"note\">");
  orr_report_append_text(html, orr_report_cell(run, 0, "facts"));
  g_string_append(html, "</p>\n");
}

static void append_bottom(GString *html, const OrrAnswer *run, gboolean with_explorer) {
  g_string_append(html, "<h2>Provenance</h2>\n<table id=\"run\"><tbody>\n");
  for (guint i = 0; i < run->n_columns; i++) {
    const char *cell = ((char **)run->rows->pdata[0])[i];
    if (!cell || strcmp(run->columns[i], "resolved") == 0 || strcmp(run->columns[i], "facts") == 0)
      continue;
    g_string_append_printf(html, "<tr><td>%s</td><td>", run->columns[i]);
    orr_report_append_text(html, cell);
    g_string_append(html, "</td></tr>\n");
  }
  g_string_append(html, "</tbody></table>\n<h2>The scenario, every name resolved and every default "
                        "filled in</h2>\n<pre>");
  orr_report_append_text(html, orr_report_cell(run, 0, "resolved"));
  g_string_append(html, "</pre>\n");
  orr_report_append_scripts(html, with_explorer);
  g_string_append(html, "</body></html>\n");
}

/* The first cell of an answer; 0 where there is none. */
static gint64 ask_number(OrrStore *store, const char *sql, GError **error) {
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
  const char *cell = answer && answer->rows->len > 0 ? ((char **)answer->rows->pdata[0])[0] : NULL;
  return cell ? g_ascii_strtoll(cell, NULL, 10) : 0;
}

/* Of a sweep the newest run is one of its points: who asks for the newest means the sweep. 0:
 * leave it. */
static gint64 newest_sweep(OrrStore *store, GError **error) {
  if (!ask_number(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'sweep_point'", error))
    return 0;
  return ask_number(store, "SELECT sweep FROM sweep_point WHERE run_id = :run", error);
}

char *orr_report_html(OrrStore *store, gint64 run_id, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (run_id == 0) run_id = newest_sweep(store, &reason);
  if (reason) {
    g_propagate_error(error, g_steal_pointer(&reason));
    return NULL;
  }
  g_autoptr(OrrAnswer) run =
      orr_store_query(store,
                      "SELECT r.scenario, (SELECT value FROM param WHERE run_id = r.id AND path = "
                      "'question') AS question,"
                      " 'Run ' || r.id || ', ' || r.kind || ', ' || r.started_at || ', Orrery ' || "
                      "r.tool_version AS facts,"
                      " r.id, r.kind, r.file, r.started_at, r.tool_version, r.engine, r.fidelity, "
                      "r.wall_time_s, r.hash, r.resolved"
                      " FROM run r WHERE r.id = :run",
                      run_id, error);
  if (!run) return NULL;
  if (run->rows->len == 0)
    return orr_fault_null(error, ORR_FAULT_RESOURCE,
                          "there is no run to report: the database has none");
  g_autoptr(GString) html = g_string_new(NULL);
  const char *kind = orr_report_cell(run, 0, "kind");
  gboolean with_explorer = FALSE;
  run_id = g_ascii_strtoll(orr_report_cell(run, 0, "id"), NULL, 10);
  append_top(html, run);
  for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
    if (!append_section(html, store, run_id, kind, &sections[i], error)) return NULL;
    if (strcmp(sections[i].view, "best") == 0 && g_strcmp0(kind, "sweep") == 0 &&
        !orr_report_append_explorer(html, store, run_id, &with_explorer, error))
      return NULL;
  }
  append_bottom(html, run, with_explorer);
  return g_string_free(g_steal_pointer(&html), FALSE);
}
