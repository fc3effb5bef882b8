/*
 * report_svg.c - the pictures of a report, as inline SVG: one bar of the kinds of time, and a Gantt chart.
 */
#include <math.h>

#include "results/report_private.h"

enum { WIDTH = 960, LABEL_WIDTH = 150, BAR_HEIGHT = 34, ROW_HEIGHT = 18 };

/* As the plots' (plot.c). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
                                      "#d55e00", "#b3a400", "#7f7f7f", "#5e3c99", "#222222"};

static const char *colour(guint i) { return colours[i % G_N_ELEMENTS(colours)]; }

static double number(const OrrAnswer *answer, guint row, const char *column) {
  const char *cell = orr_report_cell(answer, row, column);
  return cell ? g_ascii_strtod(cell, NULL) : 0;
}

static void append_rect(GString *html, double x, double y, double width, double height, const char *fill) {
  char texts[4][G_ASCII_DTOSTR_BUF_SIZE];
  const double values[4] = {x, y, width, height};
  for (guint i = 0; i < 4; i++) g_ascii_formatd(texts[i], sizeof texts[i], "%.2f", values[i]);
  g_string_append_printf(html, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"", texts[0], texts[1],
                         texts[2], texts[3], fill);
}

static void append_legend(GString *html, const GPtrArray *names) {
  g_string_append(html, "<p class=\"legend\">");
  for (guint i = 0; i < names->len; i++) {
    g_string_append_printf(html, "<span><i style=\"background:%s\"></i>", colour(i));
    orr_report_append_text(html, names->pdata[i]);
    g_string_append(html, "</span> ");
  }
  g_string_append(html, "</p>\n");
}

void orr_report_append_bar(GString *html, const OrrAnswer *breakdown) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  double at = 0, sum = 0;
  for (guint r = 0; r < breakdown->rows->len; r++) sum += number(breakdown, r, "mean_s");
  if (sum <= 0) return;
  g_string_append_printf(html, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"kinds of time\">\n", WIDTH,
                         BAR_HEIGHT);
  for (guint r = 0; r < breakdown->rows->len; r++) {
    const double share = number(breakdown, r, "mean_s") / sum;
    append_rect(html, at * WIDTH, 0, share * WIDTH, BAR_HEIGHT, colour(r));
    g_string_append(html, "><title>");
    orr_report_append_text(html, orr_report_cell(breakdown, r, "category"));
    g_string_append_printf(html, ", %.1f %%</title></rect>\n", 100 * share);
    at += share;
    g_ptr_array_add(names, (char *)orr_report_cell(breakdown, r, "category"));
  }
  g_string_append(html, "</svg>\n");
  append_legend(html, names);
}

static guint place_of(GPtrArray *names, const char *name) {
  guint at = 0;
  if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, &at)) return at;
  g_ptr_array_add(names, (char *)name);
  return names->len - 1;
}

static void append_lane_names(GString *html, const OrrAnswer *timeline, guint n_lanes) {
  g_autofree gboolean *named = g_new0(gboolean, n_lanes);
  for (guint r = 0; r < timeline->rows->len; r++) {
    const guint row = (guint)number(timeline, r, "row");
    if (named[row]) continue;
    named[row] = TRUE;
    g_string_append_printf(html, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LABEL_WIDTH - 6,
                           row * ROW_HEIGHT + ROW_HEIGHT - 5);
    orr_report_append_text(html, orr_report_cell(timeline, r, "lane"));
    g_string_append(html, "</text>\n");
  }
}

/* Work fills the upper part of a lane's row, communication a strip below it. */
static void append_pieces(GString *html, const OrrAnswer *timeline, double end_s, GPtrArray *names) {
  const double scale = (WIDTH - LABEL_WIDTH) / end_s;
  for (guint r = 0; r < timeline->rows->len; r++) {
    const double begin_s = number(timeline, r, "begin_s"), width = (number(timeline, r, "end_s") - begin_s) * scale;
    const gboolean is_work = number(timeline, r, "is_work") != 0;
    const guint series = place_of(names, orr_report_cell(timeline, r, "series"));
    append_rect(html, LABEL_WIDTH + begin_s * scale, number(timeline, r, "row") * ROW_HEIGHT + (is_work ? 1 : 12),
                fmax(width, 0.3), is_work ? 11 : 5, colour(series));
    g_string_append(html, "/>\n");
  }
}

void orr_report_append_timeline(GString *html, const OrrAnswer *timeline) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  double end_s = 0;
  guint n_lanes = 0;
  for (guint r = 0; r < timeline->rows->len; r++) {
    end_s = fmax(end_s, number(timeline, r, "end_s"));
    n_lanes = MAX(n_lanes, (guint)number(timeline, r, "row") + 1);
  }
  if (end_s <= 0) return;
  g_string_append_printf(html, "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"timeline\">\n", WIDTH,
                         n_lanes * ROW_HEIGHT);
  append_lane_names(html, timeline, n_lanes);
  append_pieces(html, timeline, end_s, names);
  g_string_append(html, "</svg>\n");
  append_legend(html, names);
}
