/*
 * report_chart.c - the pictures of a report that have axes: points, lines, columns and fields, as
 * inline SVG.
 */
#include <math.h>
#include <string.h>

#include "results/report_private.h"

enum { HEIGHT = 320, LEFT = 80, RIGHT = 16, TOP = 10, BOTTOM = 44, MOST_TICKS = 7 };
#define PLOT_WIDTH (ORR_REPORT_WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT (HEIGHT - TOP - BOTTOM)

/* An axis; of a logarithmic one, low and high are decimal logarithms. */
typedef struct {
  double low, high;
  gboolean is_log;
  const char *name;
} Axis;

typedef struct {
  Axis x, y;
} Chart;

static double axis_share(const Axis *axis, double value) {
  return ((axis->is_log ? log10(value) : value) - axis->low) / (axis->high - axis->low);
}

static double x_of(const Chart *chart, double x) {
  return LEFT + axis_share(&chart->x, x) * PLOT_WIDTH;
}
static double y_of(const Chart *chart, double y) {
  return TOP + (1 - axis_share(&chart->y, y)) * PLOT_HEIGHT;
}

/* --- Axes --- */

/* 1, 2 or 5 times a power of ten, so that there are at most MOST_TICKS of it in @span. */
static double tick_step(double span) {
  const double power = pow(10, floor(log10(span / MOST_TICKS)));
  for (guint i = 0; i < 3; i++)
    if (span / (power * (double[]){1, 2, 5}[i]) <= MOST_TICKS)
      return power * (double[]){1, 2, 5}[i];
  return 10 * power;
}

/* Makes room for what @axis is to show, to the next tick where it is linear. */
static void axis_fit(Axis *axis, double low, double high) {
  if (axis->is_log) {
    axis->low = log10(low) - 0.1;
    axis->high = log10(high) + 0.1;
    return;
  }
  if (!(high > low)) high = low + (low != 0 ? fabs(low) : 1);
  const double step = tick_step(high - low);
  axis->low = step * floor(low / step);
  axis->high = step * ceil(high / step);
}

static void append_tick(GString *html, const Chart *chart, double value, gboolean is_x) {
  g_autofree char *text = orr_report_short(fabs(value) < 1e-12 ? 0 : value);
  if (is_x)
    g_string_append_printf(
        html,
        "<path d=\"M%.1f %d v%d\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
        x_of(chart, value), TOP, PLOT_HEIGHT, x_of(chart, value), HEIGHT - BOTTOM + 14, text);
  else
    g_string_append_printf(
        html, "<path d=\"M%d %.1f h%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
        LEFT, y_of(chart, value), PLOT_WIDTH, LEFT - 6, y_of(chart, value) + 3, text);
}

static void append_ticks(GString *html, const Chart *chart, gboolean is_x) {
  const Axis *axis = is_x ? &chart->x : &chart->y;
  const double step = axis->is_log ? 1 : tick_step(axis->high - axis->low);
  const double from = step * ceil(axis->low / step - 1e-9);
  /* counted, since adding a step to a value of many digits may leave it as it is */
  for (guint i = 0; i < 100 && from + i * step <= axis->high + 1e-9 * step; i++)
    append_tick(html, chart, axis->is_log ? pow(10, from + i * step) : from + i * step, is_x);
}

static void begin(GString *html, const Chart *chart, const char *what) {
  g_string_append_printf(
      html, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n<g class=\"axes\">\n",
      ORR_REPORT_WIDTH, HEIGHT, what);
  append_ticks(html, chart, TRUE);
  append_ticks(html, chart, FALSE);
  g_string_append_printf(html, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                         LEFT + PLOT_WIDTH / 2, HEIGHT - 8);
  orr_report_append_text(html, chart->x.name);
  g_string_append_printf(
      html, "</text><text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">",
      TOP + PLOT_HEIGHT / 2);
  orr_report_append_text(html, chart->y.name);
  g_string_append(html, "</text></g>\n");
}

static void end(GString *html) { g_string_append(html, "</svg>\n"); }

static void widen(double *low, double *high, double value) {
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

/* Both axes fitted to columns @x and @y; FALSE where there is no row. */
static gboolean fit(Chart *chart, const OrrAnswer *answer, const char *x, const char *y) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (guint r = 0; r < answer->rows->len; r++) {
    widen(&low[0], &high[0], orr_report_number(answer, r, x));
    widen(&low[1], &high[1], orr_report_number(answer, r, y));
  }
  if (answer->rows->len == 0) return FALSE;
  axis_fit(&chart->x, low[0], high[0]);
  axis_fit(&chart->y, low[1], high[1]);
  return TRUE;
}

/* --- Points --- */

static void append_point(GString *html, double x, double y, double radius, const char *fill,
                         const char *title) {
  g_string_append_printf(html, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"><title>", x,
                         y, radius, fill);
  orr_report_append_text(html, title);
  g_string_append(html, "</title></circle>\n");
}

void orr_report_append_front(GString *html, const OrrAnswer *front) {
  Chart chart = {.x.name = orr_report_cell(front, 0, "x_name"),
                 .y.name = orr_report_cell(front, 0, "y_name")};
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  if (!fit(&chart, front, "x", "y")) return;
  begin(html, &chart, "the front");
  for (guint r = front->rows->len; r-- > 0;) { /* the front comes first: drawn last, it is on top */
    const char *label = orr_report_cell(front, r, "label");
    g_autofree char *title = g_strdup_printf("run %s%s%s", orr_report_cell(front, r, "run"),
                                             label ? ": " : "", label ? label : "");
    const gboolean is_front = label != NULL;
    append_point(html, x_of(&chart, orr_report_number(front, r, "x")),
                 y_of(&chart, orr_report_number(front, r, "y")), is_front ? 4 : 1.5,
                 orr_report_colour(is_front ? 0 : 1), title);
  }
  end(html);
  for (guint r = 0; r < front->rows->len; r++)
    orr_report_place(names, orr_report_cell(front, r, "series"));
  orr_report_append_legend(html, names);
}

/* The line where the simulation says @factor times what was measured. */
static void append_ratio(GString *html, const Chart *chart, double factor, const char *dashes) {
  const double low = fmax(chart->x.low, chart->y.low - log10(factor)),
               high = fmin(chart->x.high, chart->y.high - log10(factor));
  g_string_append_printf(html,
                         "<path class=\"line\" stroke=\"#222\" stroke-dasharray=\"%s\" d=\"M%.1f "
                         "%.1f L%.1f %.1f\"/>\n",
                         dashes, x_of(chart, pow(10, low)), y_of(chart, factor * pow(10, low)),
                         x_of(chart, pow(10, high)), y_of(chart, factor * pow(10, high)));
}

static gboolean is_positive(const OrrAnswer *answer, const char *x, const char *y) {
  for (guint r = 0; r < answer->rows->len; r++)
    if (!(orr_report_number(answer, r, x) > 0) || !(orr_report_number(answer, r, y) > 0))
      return FALSE;
  return TRUE;
}

/* Over the decades; the dashed lines are 20 % off. */
void orr_report_append_measured(GString *html, const OrrAnswer *measured) {
  Chart chart = {.x = {.is_log = TRUE, .name = "measured"},
                 .y = {.is_log = TRUE, .name = "simulated"}};
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  if (!is_positive(measured, "measured", "simulated") ||
      !fit(&chart, measured, "measured", "simulated"))
    return;
  begin(html, &chart, "measured against simulated");
  append_ratio(html, &chart, 1, "none");
  append_ratio(html, &chart, 1.2, "4 4");
  append_ratio(html, &chart, 1 / 1.2, "4 4");
  for (guint r = 0; r < measured->rows->len; r++) {
    const char *label = orr_report_cell(measured, r, "label");
    g_autofree char *title = g_strdup_printf("%s: %+.1f %%", label ? label : "",
                                             orr_report_number(measured, r, "error_percent"));
    const guint series = orr_report_place(names, orr_report_cell(measured, r, "series"));
    append_point(html, x_of(&chart, orr_report_number(measured, r, "measured")),
                 y_of(&chart, orr_report_number(measured, r, "simulated")), 3.5,
                 orr_report_colour(series), title);
  }
  end(html);
  orr_report_append_legend(html, names);
}

/* --- Lines and columns --- */

static void append_line(GString *html, const Chart *chart, const OrrAnswer *answer, const char *x,
                        const char *y, guint series) {
  g_string_append_printf(html, "<path class=\"line\" stroke=\"%s\" d=\"",
                         orr_report_colour(series));
  for (guint r = 0; r < answer->rows->len; r++)
    g_string_append_printf(html, "%s%.1f %.1f ", r == 0 ? "M" : "L",
                           x_of(chart, orr_report_number(answer, r, x)),
                           y_of(chart, orr_report_number(answer, r, y)));
  g_string_append(html, "\"/>\n");
}

static double most_of(const OrrAnswer *answer, const char *const *columns) {
  double most = 0;
  for (; *columns; columns++)
    for (guint r = 0; r < answer->rows->len; r++)
      most = fmax(most, orr_report_number(answer, r, *columns));
  return most;
}

static void append_lines(GString *html, const OrrAnswer *answer, const char *const *columns,
                         const char *name) {
  Chart chart = {.x.name = "seconds", .y.name = name};
  const char *const time[] = {"from_s", NULL};
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  axis_fit(&chart.x, 0, most_of(answer, time));
  axis_fit(&chart.y, 0, most_of(answer, columns));
  begin(html, &chart, name);
  for (guint i = 0; columns[i]; i++) append_line(html, &chart, answer, "from_s", columns[i], i);
  end(html);
  for (guint i = 0; columns[i]; i++) g_ptr_array_add(names, (char *)columns[i]);
  orr_report_append_legend(html, names);
}

void orr_report_append_load(GString *html, const OrrAnswer *serving_timeline) {
  static const char *const requests[] = {"running", "waiting", NULL}, *const cache[] = {
                                                                          "kv_percent", NULL};
  append_lines(html, serving_timeline, requests, "requests on a replica");
  append_lines(html, serving_timeline, cache, "percent of the cache");
}

void orr_report_append_batches(GString *html, const OrrAnswer *batch_sizes) {
  Chart chart = {.x.name = "requests that run in a step", .y.name = "percent of the steps' time"};
  const char *const share[] = {"percent", NULL}, *const largest[] = {"to_running", NULL};
  axis_fit(&chart.x, 0, most_of(batch_sizes, largest) + 1);
  axis_fit(&chart.y, 0, most_of(batch_sizes, share));
  begin(html, &chart, "batch sizes");
  for (guint r = 0; r < batch_sizes->rows->len; r++) {
    const double from = x_of(&chart, orr_report_number(batch_sizes, r, "from_running")),
                 to = x_of(&chart, orr_report_number(batch_sizes, r, "to_running") + 1),
                 top = y_of(&chart, orr_report_number(batch_sizes, r, "percent"));
    orr_report_append_rect(html, from + 1, top, to - from - 2, HEIGHT - BOTTOM - top,
                           orr_report_colour(0));
    g_autofree char *title = g_strdup_printf(
        "%s to %s requests: %s %% of the time", orr_report_cell(batch_sizes, r, "from_running"),
        orr_report_cell(batch_sizes, r, "to_running"), orr_report_cell(batch_sizes, r, "percent"));
    g_string_append(html, "><title>");
    orr_report_append_text(html, title);
    g_string_append(html, "</title></rect>\n");
  }
  end(html);
}

/* --- Fields --- */

enum { FIELD_HEIGHT = 30, NAME_WIDTH = 120 };

/* From pale to green, as @share goes from 0 to 1. */
static char *shade(double share) {
  static const double pale[3] = {244, 241, 228}, deep[3] = {47, 158, 143};
  return g_strdup_printf("#%02x%02x%02x", (guint)(pale[0] + share * (deep[0] - pale[0])),
                         (guint)(pale[1] + share * (deep[1] - pale[1])),
                         (guint)(pale[2] + share * (deep[2] - pale[2])));
}

static void append_name(GString *html, double x, double y, const char *anchor, const char *name) {
  g_string_append_printf(html, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  orr_report_append_text(html, name);
  g_string_append(html, "</text>\n");
}

static void append_field(GString *html, const OrrAnswer *map, guint row, double width,
                         double share) {
  const double x = NAME_WIDTH + (orr_report_number(map, row, "x") - 1) * width,
               y = (orr_report_number(map, row, "y") - 1) * FIELD_HEIGHT;
  const char *value = orr_report_cell(map, row, "value");
  g_autofree char *fill = value ? shade(share) : g_strdup("#ffffff");
  g_autofree char *shown = value ? orr_report_short(orr_report_number(map, row, "value")) : NULL;
  orr_report_append_rect(html, x, y, width - 2, FIELD_HEIGHT - 2, fill);
  g_string_append(html, "/>\n");
  append_name(html, x + width / 2, y + 18, "middle", shown ? shown : "none");
}

static void append_field_names(GString *html, const OrrAnswer *map, guint row, double width,
                               double bottom) {
  if (orr_report_number(map, row, "y") == 1)
    append_name(html, NAME_WIDTH + (orr_report_number(map, row, "x") - 0.5) * width, bottom + 12,
                "middle", orr_report_cell(map, row, "x_value"));
  if (orr_report_number(map, row, "x") == 1)
    append_name(html, NAME_WIDTH - 8, (orr_report_number(map, row, "y") - 1) * FIELD_HEIGHT + 18,
                "end", orr_report_cell(map, row, "y_value"));
}

void orr_report_append_heat_map(GString *html, const OrrAnswer *map) {
  double low = INFINITY, high = -INFINITY, columns = 1, lines = 1;
  for (guint r = 0; r < map->rows->len; r++) {
    if (orr_report_cell(map, r, "value")) widen(&low, &high, orr_report_number(map, r, "value"));
    columns = fmax(columns, orr_report_number(map, r, "x"));
    lines = fmax(lines, orr_report_number(map, r, "y"));
  }
  const double width = (ORR_REPORT_WIDTH - NAME_WIDTH) / columns, bottom = lines * FIELD_HEIGHT;
  g_string_append_printf(html,
                         "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"heat map\">\n",
                         ORR_REPORT_WIDTH, bottom + 32);
  for (guint r = 0; r < map->rows->len; r++) {
    append_field(html, map, r, width,
                 high > low ? (orr_report_number(map, r, "value") - low) / (high - low) : 1);
    append_field_names(html, map, r, width, bottom);
  }
  g_autofree char *about =
      g_strdup_printf("%s; across: %s, down: %s", orr_report_cell(map, 0, "value_name"),
                      orr_report_cell(map, 0, "x_name"), orr_report_cell(map, 0, "y_name"));
  append_name(html, ORR_REPORT_WIDTH / 2.0, bottom + 28, "middle", about);
  end(html);
}
