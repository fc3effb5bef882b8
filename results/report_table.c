/*
 * report_table.c - a view's answer as an HTML table, and the large figures at the top of the page.
 *
 * Every number carries the database's own value in data-value. A column of percentages also draws
 * each as a bar behind the figure, as long as its share of the column's largest; another colour
 * where it is negative.
 */
#include "sim/base/uncertain.h"
#include "results/report_private.h"

void orr_report_append_text(GString *html, const char *text) {
  g_autofree char *escaped = g_markup_escape_text(text ? text : "", -1);
  g_string_append(html, escaped);
}

const char *orr_report_cell(const OrrAnswer *answer, guint row, const char *column) {
  for (guint i = 0; i < answer->n_columns; i++)
    if (strcmp(answer->columns[i], column) == 0) return ((char **)answer->rows->pdata[row])[i];
  return NULL;
}

double orr_report_number(const OrrAnswer *answer, guint row, const char *column) {
  const char *cell = orr_report_cell(answer, row, column);
  return cell ? g_ascii_strtod(cell, NULL) : 0;
}

/* --- Tables --- */

/* What a column means: the sentence in the head of the view's file. */
static char *column_sentence(const OrrView *view, const char *column) {
  g_autofree char *begin = g_strconcat("\n-- ", column, ": ", NULL);
  const char *found = strstr(view->sql, begin);
  if (!found) return NULL;
  found += strlen(begin);
  return g_strndup(found, strcspn(found, "\n"));
}

static void append_head(GString *html, const OrrView *view, const OrrAnswer *answer) {
  g_string_append(html, "<thead><tr>");
  for (guint i = 0; i < answer->n_columns; i++) {
    g_autofree char *sentence = column_sentence(view, answer->columns[i]);
    g_string_append_printf(html, "<th%s title=\"", answer->is_number[i] ? " class=\"n\"" : "");
    orr_report_append_text(html, sentence);
    g_string_append(html, "\">");
    orr_report_append_text(html, answer->columns[i]);
    g_string_append(html, "</th>");
  }
  g_string_append(html, "</tr></thead>\n");
}

/* The largest size in column @i where its figures are percentages of several rows; else 0. */
static double bar_scale(const OrrAnswer *answer, guint i) {
  const char *name = answer->columns[i];
  double most = 0;
  if (!answer->is_number[i] || answer->rows->len < 2 ||
      !(strcmp(name, "percent") == 0 || g_str_has_suffix(name, "_percent")))
    return 0;
  for (guint r = 0; r < answer->rows->len; r++)
    most = fmax(most, fabs(orr_report_number(answer, r, name)));
  return most;
}

static void append_bar(GString *html, double value, double scale) {
  if (!(scale > 0)) return;
  g_string_append_printf(html, " style=\"--bar-length:%.0f%%;--fill:var(--%s)\"",
                         100 * fabs(value) / scale, value < 0 ? "bar-negative" : "bar");
}

/* A number is shown with six significant digits; data-value has all of them. */
static void append_number(GString *html, const char *cell, double scale) {
  char shown[G_ASCII_DTOSTR_BUF_SIZE];
  const gboolean is_whole = !strpbrk(cell, ".e");
  const double value = g_ascii_strtod(cell, NULL);
  if (!is_whole) g_ascii_formatd(shown, sizeof shown, "%.6g", value);
  g_string_append_printf(html, "<td class=\"%s\" data-value=\"%s\"", scale > 0 ? "n b" : "n", cell);
  append_bar(html, value, scale);
  g_string_append_printf(html, ">%s</td>", is_whole ? cell : shown);
}

static void append_cell(GString *html, const char *cell, gboolean is_number, double scale) {
  if (is_number && cell) {
    append_number(html, cell, scale);
  } else if (is_number) {
    g_string_append(html, "<td class=\"n\" data-value=\"\"></td>");
  } else {
    g_string_append(html, cell && strlen(cell) > 40 ? "<td class=\"t\">" : "<td>");
    orr_report_append_text(html, cell);
    g_string_append(html, "</td>");
  }
}

void orr_report_append_table(GString *html, const OrrView *view, const OrrAnswer *answer) {
  g_autofree double *scales = g_new(double, answer->n_columns);
  for (guint i = 0; i < answer->n_columns; i++) scales[i] = bar_scale(answer, i);
  g_string_append_printf(html, "<table id=\"%s\">\n", view->name);
  append_head(html, view, answer);
  g_string_append(html, "<tbody>\n");
  ORR_EACH_POINTER(char *, cells, answer->rows) {
    g_string_append(html, "<tr>");
    for (guint i = 0; i < answer->n_columns; i++)
      append_cell(html, cells[i], answer->is_number[i], scales[i]);
    g_string_append(html, "</tr>\n");
  }
  g_string_append(html, "</tbody></table>\n");
}

/* --- Tiles --- */

/* A number as people read it: 232.6k, 28.43, 0.0043. Newly allocated. */
static char *short_number(double value) {
  static const char *const scales[] = {"", "k", "M", "G", "T", "P"};
  guint scale = 0;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  for (; fabs(value) >= 1e4 && scale + 1 < G_N_ELEMENTS(scales); scale++) value /= 1000;
  g_ascii_formatd(text, sizeof text, "%.4g", value);
  return g_strconcat(text, scales[scale], NULL);
}

/* The bounds of the error band below a tile's name, in the tile's unit; nothing without a band. */
static void append_tile_band(GString *html, const OrrAnswer *summary, guint row, double scale) {
  if (!orr_report_cell(summary, row, "low") || !orr_report_cell(summary, row, "high")) return;
  g_autofree char *low = short_number(orr_report_number(summary, row, "low") / scale);
  g_autofree char *high = short_number(orr_report_number(summary, row, "high") / scale);
  const gboolean is_weak = g_strcmp0(orr_report_cell(summary, row, "quality"), "weak") == 0;
  g_autofree char *note = orr_uncertain_note_after(
      orr_report_number(summary, row, "value"), orr_report_number(summary, row, "low"),
      orr_report_number(summary, row, "high"), orr_report_number(summary, row, "expected"));
  g_string_append_printf(html, "<br>%s to %s%s%s", low, high, note, is_weak ? ", weak" : "");
}

static void append_tile(GString *html, const OrrAnswer *summary, guint row) {
  const char *unit = orr_report_cell(summary, row, "unit");
  const double value = orr_report_number(summary, row, "value");
  const gboolean is_bytes = g_strcmp0(unit, "B") == 0;
  const double scale = is_bytes ? 1073741824 : 1;
  g_autofree char *shown = short_number(value / scale);
  g_string_append(html, "<div title=\"");
  orr_report_append_text(html, orr_report_cell(summary, row, "meaning"));
  g_string_append_printf(html, "\"><b>%s</b> ", shown);
  orr_report_append_text(html, is_bytes ? "GiB" : unit);
  g_string_append(html, "<br>");
  orr_report_append_text(html, orr_report_cell(summary, row, "metric"));
  append_tile_band(html, summary, row, scale);
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
                                        "goodput",
                                        "tokens_per_day",
                                        "mttf_s",
                                        "utilization",
                                        "useful",
                                        "wait_mean_s",
                                        "jct_mean_s",
                                        "makespan_s",
                                        "step_time_s",
                                        "rollout_s",
                                        "update_s",
                                        "weight_sync_s",
                                        "latency_s",
                                        "outputs_per_s",
                                        "step_s",
                                        "samples_per_s",
                                        "time_s",
                                        "busbw_bytes_per_s",
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
