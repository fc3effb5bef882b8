/*
 * report_picture.c - a plot inside the report: gnuplot draws it, and the page holds it as the data
 * of an <img>.
 *
 * An image runs no script and cannot end the page's own elements, whatever a series is called, and
 * the ids that gnuplot writes into every SVG do not clash.
 */
#include "results/report_private.h"
#include "sim/base/gnuplot.h"

/* An SVG is sharp at any size, but takes about 200 bytes per shape; a PNG takes 100 kB at most. */
enum { MOST_SVG_ROWS = 2000 };

/* The picture as a data: URI, newly allocated. */
static char *draw(const OrrPlot *plot, const OrrAnswer *answer, GError **error) {
  const gboolean is_svg = answer->rows->len <= MOST_SVG_ROWS;
  g_autoptr(GString) picture = NULL;
  if (!orr_plot_draw(plot, answer, plot->name, is_svg ? "svg" : "pngcairo", &picture, error))
    return NULL;
  g_autofree char *encoded = g_base64_encode((const guchar *)picture->str, picture->len);
  return g_strdup_printf("data:image/%s;base64,%s", is_svg ? "svg+xml" : "png", encoded);
}

static void append_missing(GString *html, const OrrPlot *plot) {
  g_string_append_printf(html,
                         "<p class=\"note\">No picture: gnuplot is not installed (Debian: apt-get "
                         "install gnuplot-nox). Its numbers: <code>orrery query DB %s --run "
                         "RUN</code></p>\n",
                         plot->name);
}

/* A picture that leaves lanes out says so, and how to draw them all. */
static void append_lane_note(GString *html, const OrrAnswer *timeline) {
  guint n_shown = 0, n_lanes = (guint)orr_report_number(timeline, 0, "n_lanes");
  for (guint r = 0; r < timeline->rows->len; r++)
    n_shown = MAX(n_shown, (guint)orr_report_number(timeline, r, "row") + 1);
  if (n_lanes <= n_shown) return;
  g_string_append_printf(
      html,
      "<p class=\"note\">The first %u of %u lanes. All of them: <code>orrery plot "
      "DB timeline --run RUN --param lanes=%u -o timeline.svg</code></p>\n",
      n_shown, n_lanes, n_lanes);
}

gboolean orr_report_append_picture(GString *html, const OrrPlot *plot, const OrrAnswer *answer,
                                   GError **error) {
  append_lane_note(html, answer);
  if (!orr_gnuplot_is_installed()) {
    append_missing(html, plot);
    return TRUE;
  }
  g_autofree char *picture = draw(plot, answer, error);
  if (!picture) return FALSE;
  g_string_append_printf(html, "<img id=\"%s\" alt=\"%s\" src=\"%s\">\n", plot->name, plot->name,
                         picture);
  return TRUE;
}
