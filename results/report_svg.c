/*
 * report_svg.c - what the pictures of a report are made of, and those without axes: bars, tiles and
 * a Gantt chart.
 */
#include <math.h>

#include "results/report_private.h"

enum { WIDTH = ORR_REPORT_WIDTH, LABEL_WIDTH = 150, BAR_HEIGHT = 34, ROW_HEIGHT = 18 };

/* As the plots' (plot.c). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#b3a400", "#7f7f7f",
                                      "#5e3c99", "#8c510a", "#01665e", "#f2a7c3"};

const char *orr_report_colour(guint i) { return colours[i % G_N_ELEMENTS(colours)]; }

double orr_report_number(const OrrAnswer *answer, guint row, const char *column) {
  const char *cell = orr_report_cell(answer, row, column);
  return cell ? g_ascii_strtod(cell, NULL) : 0;
}

char *orr_report_short(double value) {
  static const char *const scales[] = {"", "k", "M", "G", "T", "P"};
  guint scale = 0;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  for (; fabs(value) >= 1e4 && scale + 1 < G_N_ELEMENTS(scales); scale++) value /= 1000;
  g_ascii_formatd(text, sizeof text, "%.4g", value);
  return g_strconcat(text, scales[scale], NULL);
}

void orr_report_append_rect(GString *html, double x, double y, double width, double height,
                            const char *fill) {
  char texts[4][G_ASCII_DTOSTR_BUF_SIZE];
  const double values[4] = {x, y, width, height};
  for (guint i = 0; i < 4; i++) g_ascii_formatd(texts[i], sizeof texts[i], "%.2f", values[i]);
  g_string_append_printf(html, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"",
                         texts[0], texts[1], texts[2], texts[3], fill);
}

void orr_report_append_legend(GString *html, const GPtrArray *names) {
  g_string_append(html, "<p class=\"legend\">");
  for (guint i = 0; i < names->len; i++) {
    g_string_append_printf(html, "<span><i style=\"background:%s\"></i>", orr_report_colour(i));
    orr_report_append_text(html, names->pdata[i]);
    g_string_append(html, "</span> ");
  }
  g_string_append(html, "</p>\n");
}

void orr_report_append_bar(GString *html, const OrrAnswer *breakdown) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  double at = 0, sum = 0;
  for (guint r = 0; r < breakdown->rows->len; r++) sum += orr_report_number(breakdown, r, "mean_s");
  if (sum <= 0) return;
  g_string_append_printf(html,
                         "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"kinds of time\">\n",
                         WIDTH, BAR_HEIGHT);
  for (guint r = 0; r < breakdown->rows->len; r++) {
    const double share = orr_report_number(breakdown, r, "mean_s") / sum;
    orr_report_append_rect(html, at * WIDTH, 0, share * WIDTH, BAR_HEIGHT, orr_report_colour(r));
    g_string_append(html, "><title>");
    orr_report_append_text(html, orr_report_cell(breakdown, r, "category"));
    g_string_append_printf(html, ", %.1f %%</title></rect>\n", 100 * share);
    at += share;
    if (share > 0) g_ptr_array_add(names, (char *)orr_report_cell(breakdown, r, "category"));
  }
  g_string_append(html, "</svg>\n");
  orr_report_append_legend(html, names);
}

guint orr_report_place(GPtrArray *names, const char *name) {
  guint at = 0;
  if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, &at)) return at;
  g_ptr_array_add(names, (char *)name);
  return names->len - 1;
}

static void append_lane_names(GString *html, const OrrAnswer *timeline, guint n_lanes) {
  g_autofree gboolean *named = g_new0(gboolean, n_lanes);
  for (guint r = 0; r < timeline->rows->len; r++) {
    const guint row = (guint)orr_report_number(timeline, r, "row");
    if (named[row]) continue;
    named[row] = TRUE;
    g_string_append_printf(html, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LABEL_WIDTH - 6,
                           row * ROW_HEIGHT + ROW_HEIGHT - 5);
    orr_report_append_text(html, orr_report_cell(timeline, r, "lane"));
    g_string_append(html, "</text>\n");
  }
}

/* Work fills the upper part of a lane's row, communication a strip below it. One path a series:
 * there are thousands. */
static void append_pieces(GString *html, const OrrAnswer *timeline, double end_s,
                          GPtrArray *names) {
  const double scale = (WIDTH - LABEL_WIDTH) / end_s;
  const char *last = NULL; /* rows of a series follow each other */
  for (guint r = 0; r < timeline->rows->len; r++) {
    const double begin_s = orr_report_number(timeline, r, "begin_s");
    const double width = fmax((orr_report_number(timeline, r, "end_s") - begin_s) * scale, 0.3);
    const gboolean is_work = orr_report_number(timeline, r, "is_work") != 0;
    const char *series = orr_report_cell(timeline, r, "series");
    if (g_strcmp0(series, last) != 0)
      g_string_append_printf(html, "%s<path fill=\"%s\" d=\"", last ? "\"/>\n" : "",
                             orr_report_colour(orr_report_place(names, series)));
    last = series;
    g_string_append_printf(html, "M%.1f %.0fh%.1fv%dh-%.1fz", LABEL_WIDTH + begin_s * scale,
                           orr_report_number(timeline, r, "row") * ROW_HEIGHT + (is_work ? 1 : 12),
                           width, is_work ? 11 : 5, width);
  }
  g_string_append(html, "\"/>\n");
}

/* A picture that leaves lanes out says so, and how to see them. */
static void append_lane_note(GString *html, guint n_shown, guint n_lanes) {
  if (n_lanes <= n_shown) return;
  g_string_append_printf(
      html,
      "<p class=\"note\">The first %u of %u lanes. All of them: <code>orrery plot DB timeline "
      "--run RUN --param lanes=%u -o timeline.svg</code></p>\n",
      n_shown, n_lanes, n_lanes);
}

void orr_report_append_timeline(GString *html, const OrrAnswer *timeline) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  double end_s = 0;
  guint n_lanes = 0;
  for (guint r = 0; r < timeline->rows->len; r++) {
    end_s = fmax(end_s, orr_report_number(timeline, r, "end_s"));
    n_lanes = MAX(n_lanes, (guint)orr_report_number(timeline, r, "row") + 1);
  }
  if (end_s <= 0) return;
  append_lane_note(html, n_lanes, (guint)orr_report_number(timeline, 0, "n_lanes"));
  g_string_append_printf(html, "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"timeline\">\n",
                         WIDTH, n_lanes * ROW_HEIGHT);
  append_lane_names(html, timeline, n_lanes);
  append_pieces(html, timeline, end_s, names);
  g_string_append(html, "</svg>\n");
  orr_report_append_legend(html, names);
}

/* --- Bars --- */

/* A length from 0 to the whole width: of one bar, whose text is @label. */
typedef struct {
  const char *label, *piece;
  double size;
} Piece;

static void append_piece(GString *html, const Piece *piece, double at, double y, double scale,
                         guint series) {
  g_autofree char *size = orr_report_short(piece->size);
  orr_report_append_rect(html, at * scale, y, piece->size * scale, ROW_HEIGHT - 2,
                         orr_report_colour(series));
  g_string_append(html, "><title>");
  orr_report_append_text(html, piece->label);
  g_string_append(html, ": ");
  orr_report_append_text(html, piece->piece);
  g_string_append_printf(html, " %s</title></rect>\n", size);
}

static void append_bar_name(GString *html, const char *name, double y) {
  g_string_append_printf(html, "<text x=\"0\" y=\"%.0f\">", y);
  orr_report_append_text(html, name);
  g_string_append(html, "</text>\n");
}

/* Bars of pieces, one below the other; rows of one @label follow each other, and its text is
 * above its bar. */
static void append_stacks(GString *html, const OrrAnswer *answer, const char *label,
                          const char *piece, const char *size) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GString) bars = g_string_new(NULL);
  double most = 0, at = 0;
  guint n_bars = 0;
  for (guint pass = 0; pass < 2; pass++) { /* the longest bar first, for the scale */
    const char *last = NULL;
    n_bars = 0;
    for (guint r = 0; r < answer->rows->len; r++) {
      const Piece one = {orr_report_cell(answer, r, label), orr_report_cell(answer, r, piece),
                         orr_report_number(answer, r, size)};
      const double y = 34.0 * (n_bars - (g_strcmp0(one.label, last) == 0)) + 13;
      if (g_strcmp0(one.label, last) != 0) {
        if (pass) append_bar_name(bars, one.label, y - 2);
        last = one.label;
        at = 0;
        n_bars++;
      }
      if (pass)
        append_piece(bars, &one, at, y + 2, WIDTH / most, orr_report_place(names, one.piece));
      most = fmax(most, at += one.size);
    }
    if (most <= 0) return;
  }
  g_string_append_printf(html,
                         "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"bars\">\n%s</svg>\n",
                         WIDTH, 34 * n_bars + 4, bars->str);
  orr_report_append_legend(html, names);
}

void orr_report_append_stacks(GString *html, const OrrAnswer *point_breakdown) {
  append_stacks(html, point_breakdown, "settings", "category", "seconds");
}

void orr_report_append_provenance(GString *html, const OrrAnswer *provenance) {
  append_stacks(html, provenance, "what", "how", "percent");
}

/* An axis' values below each other, what each does to the objective to the right or the left of
 * the middle. */
void orr_report_append_effects(GString *html, const OrrAnswer *sensitivity) {
  const double middle = LABEL_WIDTH * 2 + (WIDTH - LABEL_WIDTH * 2) / 2.0;
  double most = 0;
  for (guint r = 0; r < sensitivity->rows->len; r++)
    most = fmax(most, fabs(orr_report_number(sensitivity, r, "effect_percent")));
  if (most <= 0) return;
  g_string_append_printf(
      html, "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"effect of each value\">\n", WIDTH,
      sensitivity->rows->len * ROW_HEIGHT);
  for (guint r = 0; r < sensitivity->rows->len; r++) {
    const double effect = orr_report_number(sensitivity, r, "effect_percent");
    const double length = fabs(effect) / most * (WIDTH - middle - 60);
    g_string_append_printf(html, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">",
                           LABEL_WIDTH * 2 - 8, r * ROW_HEIGHT + 13);
    orr_report_append_text(html, orr_report_cell(sensitivity, r, "axis"));
    g_string_append(html, " ");
    orr_report_append_text(html, orr_report_cell(sensitivity, r, "setting"));
    g_string_append(html, "</text>\n");
    orr_report_append_rect(html, effect < 0 ? middle - length : middle, r * ROW_HEIGHT + 2, length,
                           ROW_HEIGHT - 4, orr_report_colour(effect < 0 ? 5 : 2));
    g_string_append_printf(html,
                           "/>\n<text x=\"%.0f\" y=\"%u\" text-anchor=\"%s\">%+.1f %%</text>\n",
                           middle + (effect < 0 ? -length - 4 : length + 4), r * ROW_HEIGHT + 13,
                           effect < 0 ? "end" : "start", effect);
  }
  g_string_append(html, "</svg>\n");
}

/* --- Tiles --- */

static void append_tile(GString *html, const OrrAnswer *summary, guint row) {
  const char *unit = orr_report_cell(summary, row, "unit");
  const double value = orr_report_number(summary, row, "value");
  const gboolean is_bytes = g_strcmp0(unit, "B") == 0;
  g_autofree char *shown = orr_report_short(is_bytes ? value / 1073741824 : value);
  g_string_append(html, "<div title=\"");
  orr_report_append_text(html, orr_report_cell(summary, row, "meaning"));
  g_string_append_printf(html, "\"><b>%s</b> ", shown);
  orr_report_append_text(html, is_bytes ? "GiB" : unit);
  g_string_append(html, "<br>");
  orr_report_append_text(html, orr_report_cell(summary, row, "metric"));
  g_string_append(html, "</div>\n");
}

void orr_report_append_tiles(GString *html, const OrrAnswer *summary) {
  static const char *const leading[] = {"iteration_time_s",
                                        "tokens_per_s",
                                        "mfu",
                                        "bubble_fraction",
                                        "exposed_comm_fraction",
                                        "memory_peak_bytes",
                                        "ttft_p99_s",
                                        "tpot_mean_s",
                                        "goodput_rps",
                                        "output_tokens_per_s",
                                        "kv_utilization",
                                        "gpu_busy",
                                        "best",
                                        "n_points",
                                        "answered",
                                        "eligible",
                                        NULL};
  g_string_append(html, "<div class=\"tiles\">\n");
  for (guint r = 0; r < summary->rows->len; r++)
    if (g_strv_contains(leading, orr_report_cell(summary, r, "metric")))
      append_tile(html, summary, r);
  g_string_append(html, "</div>\n");
}
