/*
 * summary_sweep.c - writes the report of a sweep: how many points ran, why others did not, the best
 * points, and the command that simulates the best one again.
 */
#include "sim/base/json_write.h"
#include "sim/base/uncertain.h"
#include "sim/cli/summary.h"

#include "sim/base/settings.h"
#include "sim/cli/cli.h"

#define N_REASONS 6
#define BAR 24

/* "tp 8, pp 16": each path shortened to its last word. */
static char *settings_text(const OrrSweepBest *one) {
  GString *text = g_string_new(NULL);
  for (char **setting = one->settings; setting && *setting; setting++)
    orr_settings_append(text, *setting);
  return g_string_free(text, FALSE);
}

/* --- Bands --- */

static gboolean has_band(const GArray *points, guint objective) {
  ORR_EACH(const OrrSweepBest, best, points) {
    const OrrSweepBands *bands = best->bands;
    if (bands && bands->of[objective].quality != ORR_BAND_NONE) return TRUE;
  }
  return FALSE;
}

static guint count_apart(const GArray *points, OrrSweepApart apart) {
  guint n = 0;
  ORR_EACH(const OrrSweepBest, best, points) {
    const OrrSweepBands *bands = best->bands;
    n += bands && bands->apart == apart;
  }
  return n;
}

static gboolean is_compared(const GArray *points) {
  return count_apart(points, ORR_APART_TOLD) + count_apart(points, ORR_APART_NOT_TOLD) > 0;
}

/* Three digits: bands support no more. */
static double rounded(double value) {
  const double unit = value != 0 ? pow(10, floor(log10(fabs(value))) - 2) : 1;
  return round(value / unit) * unit;
}

/* The unit of an objective that is one result, as the name ends: memory_peak_bytes. */
static gboolean is_bytes(const char *objective) { return g_str_has_suffix(objective, "_bytes"); }

/* As people read it: "69.04 GiB", "12,345,678", "174048". */
static char *number_text(const char *objective, double value) {
  if (is_bytes(objective)) return orr_quantity_format(value, ORR_UNIT_BYTES);
  if (fabs(value) >= 1e6 && fabs(value) < 1e15) return orr_show_count((gint64)round(value));
  return g_strdup_printf("%.6g", value);
}

/* "27.6 to 30.9, weak" */
static char *band_text(const char *objective, const OrrSweepBest *one, guint i) {
  const OrrBand *band = one->bands ? &one->bands->of[i] : NULL;
  if (!band || band->quality == ORR_BAND_NONE) return g_strdup("none");
  g_autofree char *low = number_text(objective, rounded(one->score[i] * band->low)),
                  *high = number_text(objective, rounded(one->score[i] * band->high)),
                  *note = orr_uncertain_note_after(1, band->low, band->high, band->middle);
  return g_strdup_printf("%s to %s%s%s", low, high, note,
                         band->quality == ORR_BAND_WEAK ? ", weak" : "");
}

/* The columns of an objective: a heading, and their widths. */
typedef struct {
  const char *heading;
  int width, band_width; /* band_width 0: no point has a band */
} Columns;

/* The objective, maximized or minimized. */
static const char *name_of(const char *objective) {
  const char *blank = strchr(objective, ' ');
  return blank ? blank + 1 : objective;
}

static Columns columns_of(const OrrSweepReport *report, const GArray *points, guint i) {
  const char *objective = report->objectives[i];
  Columns columns = {.heading = report->n_objectives > 1 ? name_of(objective) : "objective"};
  columns.width = MAX(12, (int)g_utf8_strlen(columns.heading, -1));
  if (!has_band(points, i)) return columns;
  columns.band_width = 26;
  ORR_EACH(OrrSweepBest, best, points) {
    g_autofree char *band = band_text(objective, best, i);
    columns.band_width = MAX(columns.band_width, (int)strlen(band));
  }
  return columns;
}

static char *apart_text(const OrrSweepBest *one) {
  if (!one->bands || one->bands->apart == ORR_APART_UNKNOWN) return g_strdup("");
  if (one->bands->apart == ORR_APART_NOT_TOLD) return g_strdup("statistically tied");
  return g_strdup_printf("worse: %.0f %% sure", floor(100 * one->bands->sure));
}

static void print_number(const OrrSweepReport *report, const Columns *columns,
                         const OrrSweepBest *one, guint i) {
  g_autofree char *number = number_text(report->objectives[i], one->score[i]);
  printf("  %*s", columns->width, number);
  if (columns->band_width == 0) return;
  g_autofree char *band = band_text(report->objectives[i], one, i);
  printf("  %-*s", columns->band_width, band);
}

static void print_head(const OrrSweepReport *report, const Columns *columns, gboolean compared) {
  printf("    %8s", report->sweep ? "run" : "point");
  for (guint i = 0; i < report->n_objectives; i++) {
    printf("  %*s", columns[i].width, columns[i].heading);
    if (columns[i].band_width > 0) printf("  %-*s", columns[i].band_width, "80 % band");
  }
  printf("%s  settings\n", compared ? "  against the best  " : "");
}

/* The basis of the marks and the bands. */
static void print_band_notes(const OrrSweepReport *report) {
  const GArray *best = report->best;
  if (best->len == 0) return;
  const OrrSweepBest *first = &g_array_index(best, OrrSweepBest, 0);
  if (!first->bands) return;
  if (is_compared(best))
    printf(
        "  tied          %u of the %u points after the best are statistically tied with it: 80 %% "
        "of measured ratios would lie within bounds that hold 1\n",
        count_apart(best, ORR_APART_NOT_TOLD), best->len - 1);
  for (guint i = 0; i < report->n_objectives; i++) {
    const OrrBand *band = &first->bands->of[i];
    if (band->quality == ORR_BAND_GOOD) continue;
    printf("  band          %s: %s, %s\n", report->objectives[i],
           orr_band_quality_words[band->quality], band->reason);
  }
  if (report->band_note) printf("  warning       error bands: %s\n", report->band_note);
}

/* --- Points --- */

static void print_points(const OrrSweepReport *report, const GArray *points, const char *title) {
  if (points->len == 0) return;
  printf("  %s\n", title);
  const gboolean compared = is_compared(points);
  Columns columns[ORR_SWEEP_MOST_OBJECTIVES];
  for (guint i = 0; i < report->n_objectives; i++) columns[i] = columns_of(report, points, i);
  print_head(report, columns, compared);
  ORR_EACH(const OrrSweepBest, one, points) {
    g_autofree char *settings = settings_text(one);
    printf("    %8ld", report->sweep + (report->sweep ? 1 : 0) + (gint64)one->point);
    for (guint i = 0; i < report->n_objectives; i++) print_number(report, &columns[i], one, i);
    g_autofree char *apart = apart_text(one);
    if (compared) printf("  %-18s", apart);
    printf("  %s\n", settings);
  }
}

static void print_reasons(const GArray *reasons, const char *what, const char *noun) {
  guint64 n = 0;
  ORR_EACH(const OrrSweepExclusion, exclusion, reasons) n += exclusion->n;
  if (n == 0) return;
  g_autofree char *count = orr_show_count((gint64)n);
  printf("  %-13s %s %s%s\n", what, count, noun, n == 1 ? "" : "s");
  for (guint i = 0; i < MIN(reasons->len, N_REASONS); i++) {
    const OrrSweepExclusion *one = &g_array_index(reasons, OrrSweepExclusion, i);
    g_autofree char *each = orr_show_count((gint64)one->n);
    printf("    %10s  %s\n", each, one->reason);
  }
  if (reasons->len > N_REASONS)
    printf("                and %u more reason%s\n", reasons->len - N_REASONS,
           reasons->len == N_REASONS + 1 ? "" : "s");
}

/* The sweep's --set that a run has, too, then the point's. */
static char *settings_again(char *const *of_sweep, const OrrSweepBest *best) {
  g_autoptr(GPtrArray) settings = g_ptr_array_new();
  for (char *const *own = of_sweep; own && *own; own++)
    if (!g_str_has_prefix(*own, "sweep.") && !g_str_has_prefix(*own, "sweep="))
      g_ptr_array_add(settings, *own);
  for (char **axis = best->again; *axis; axis++) g_ptr_array_add(settings, *axis);
  g_ptr_array_add(settings, NULL);
  return orr_summary_settings((char *const *)settings->pdata);
}

/* The command that simulates the best point again, and the one that queries it. */
static void print_next(const OrrSweepReport *report, const char *file, char *const *settings,
                       const char *db) {
  const OrrSweepBest *best =
      report->best->len > 0 ? &g_array_index(report->best, OrrSweepBest, 0) : NULL;
  if (best && best->again) {
    g_autofree char *again = settings_again(settings, best);
    printf("  again         orrery run %s%s\n", file, again);
  }
  if (db && best)
    printf("  next          orrery query %s %s --run %ld\n", db,
           report->view ? report->view : "points", report->sweep + 1 + (gint64)best->point);
}

/* The points that were simulated and cannot be the best, and why there is none where there is
 * none. */
static void print_failing(const OrrSweepReport *report) {
  const guint64 n = report->by_status[ORR_POINT_OK], failing = report->n_failing;
  const gboolean is_none = report->best->len == 0 && n > 0, is_all = is_none && failing == n;
  const char *objective = report->n_objectives > 1 ? "all objectives" : "the objective";
  g_autofree char *count = orr_show_count((gint64)failing);
  if (failing > 0)
    printf("  %s%s point%s fail%s where %s%s%s\n",
           is_none ? "best          none: " : "left out      ", count, failing == 1 ? "" : "s",
           failing == 1 ? "s" : "", report->wheres,
           is_none && !is_all ? "; no other has a value of " : "",
           is_none && !is_all ? objective : "");
  else if (is_none)
    printf("  best          none: no point has a value of %s\n", objective);
  if (report->n_valueless > 0 && !is_none) {
    g_autofree char *n_valueless = orr_show_count((gint64)report->n_valueless);
    printf("  left out      %s point%s: %s has no value (divided by 0, or without such a result)\n",
           n_valueless, report->n_valueless == 1 ? "" : "s", objective);
  }
}

void orr_summary_sweep_looks(const OrrSweepReport *report) {
  guint64 sum = 0;
  for (guint i = 0; i < ORR_N_LEAP_LOOKS; i++) sum += report->looks[i];
  printf("  steady state  skipped %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " times\n",
         report->looks[ORR_LEAP_TAKEN], sum);
  for (guint i = ORR_LEAP_TAKEN + 1; i < ORR_N_LEAP_LOOKS; i++)
    if (report->looks[i] > 0)
      printf("    not         %" G_GUINT64_FORMAT " times: %s\n", report->looks[i],
             orr_leap_words[i]);
}

void orr_summary_sweep_print(const OrrSweepReport *report, const char *file, char *const *settings,
                             const char *db) {
  g_autofree char *combinations = orr_show_count((gint64)report->n_combinations);
  g_autofree char *points = orr_show_count((gint64)report->n_points),
                  *done = orr_show_count((gint64)report->n_done);
  g_autofree char *ok = orr_show_count((gint64)report->by_status[ORR_POINT_OK]);
  const double fresh = (double)(report->n_done - report->n_before);
  printf("  space         %s combination%s, %s point%s\n", combinations,
         report->n_combinations == 1 ? "" : "s", points, report->n_points == 1 ? "" : "s");
  print_reasons(report->excluded, "excluded", "combination");
  printf("  done          %s of %s point%s, %s simulated to the end", done, points,
         report->n_points == 1 ? "" : "s", ok);
  if (report->n_before) printf(", %" G_GUINT64_FORMAT " of them before", report->n_before);
  printf("; %.1f s, %.0f points/s\n", report->seconds,
         report->seconds > 0 ? fresh / report->seconds : 0);
  print_reasons(report->refused, "not simulated", "point");
  for (guint i = 0; i < report->n_objectives; i++)
    printf("  objective     %s\n", report->objectives[i]);
  orr_show_warnings("  warning       ", report->caveats);
  print_failing(report);
  print_points(report, report->best, "best");
  if (report->n_objectives > 1) print_points(report, report->front, "Pareto front");
  print_band_notes(report);
  if (db) printf("  stored        run %ld in %s\n", report->sweep, db);
  print_next(report, file, settings, db);
}

/* Low and high are null where there is no band, told_apart and sure where no measured pair differs
 * as the point and the best one do. */
static void add_bands(GString *out, const OrrSweepReport *report, const OrrSweepBest *one) {
  if (!one->bands) return;
  orr_json_write_array(out, "bands");
  for (guint i = 0; i < report->n_objectives; i++) {
    const OrrBand *band = &one->bands->of[i];
    orr_json_write_element(out, i > 0 ? " " : "");
    ORR_JSON_NUMBERS(out, {"low", one->score[i] * band->low}, {"high", one->score[i] * band->high},
                     {"expected", one->score[i] * band->middle}, {"level", band->level},
                     {"rows", (double)band->n_rows});
    orr_json_write_text(out, "quality", orr_band_quality_words[band->quality]);
    orr_json_write_text(out, "reason", band->reason);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  const gboolean compared = one->bands->apart != ORR_APART_UNKNOWN;
  if (compared)
    orr_json_write_bool(out, "told_apart", one->bands->apart == ORR_APART_TOLD);
  else
    orr_json_write_text(out, "told_apart", NULL);
  orr_json_write_number(out, "sure", compared ? one->bands->sure : NAN);
}

static void add_settings(GString *out, char **settings) {
  orr_json_write_object(out, "settings");
  for (; settings && *settings; settings++) {
    const char *equals = strchr(*settings, '=');
    g_autofree char *path = g_strndup(*settings, (gsize)(equals - *settings));
    orr_json_write_text(out, path, equals + 1);
  }
  g_string_append_c(out, '}');
}

static void add_points(GString *out, const OrrSweepReport *report, const char *name,
                       const GArray *points) {
  orr_json_write_array(out, name);
  ORR_EACH(const OrrSweepBest, one, points) {
    orr_json_write_element(out, "\n  ");
    orr_json_write_int(out, "point", (gint64)one->point);
    if (report->sweep) orr_json_write_int(out, "run", report->sweep + 1 + (gint64)one->point);
    orr_json_write_array(out, "objectives");
    for (guint i = 0; i < report->n_objectives; i++)
      orr_json_write_number(out, NULL, one->score[i]);
    g_string_append_c(out, ']');
    add_bands(out, report, one);
    add_settings(out, one->settings);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}

void orr_summary_sweep_reasons_json(GString *out, const char *name, const GArray *reasons) {
  orr_json_write_array(out, name);
  ORR_EACH_AT(i, const OrrSweepExclusion, one, reasons) {
    orr_json_write_element(out, i > 0 ? " " : "");
    orr_json_write_text(out, "reason", one->reason);
    orr_json_write_int(out, "n", (gint64)one->n);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}

void orr_summary_sweep_statuses_json(GString *out, const guint64 *by_status) {
  for (int status = 0; status < ORR_N_POINT_STATUSES; status++) {
    g_autofree char *name = g_strconcat("n_", orr_point_words[status], NULL);
    orr_json_write_int(out, name, (gint64)by_status[status]);
  }
}

void orr_summary_sweep_json(const OrrSweepReport *report) {
  g_autoptr(GString) out = g_string_new("{");
  ORR_JSON_NUMBERS(out, {"n_combinations", (double)report->n_combinations},
                   {"n_points", (double)report->n_points}, {"n_done", (double)report->n_done},
                   {"n_before", (double)report->n_before});
  orr_summary_sweep_statuses_json(out, report->by_status);
  orr_json_write_int(out, "n_left_out", (gint64)report->n_failing);
  orr_json_write_int(out, "n_without_value", (gint64)report->n_valueless);
  if (report->sweep) orr_json_write_int(out, "run", report->sweep);
  orr_json_write_number(out, "seconds", report->seconds);
  orr_json_write_texts(out, "objectives", report->objectives, report->n_objectives);
  orr_summary_sweep_reasons_json(out, "excluded", report->excluded);
  orr_summary_sweep_reasons_json(out, "not_simulated", report->refused);
  add_points(out, report, "best", report->best);
  add_points(out, report, "front", report->front);
  orr_json_write_texts(out, "warnings", (char *const *)report->caveats->pdata,
                       report->caveats->len);
  printf("%s}\n", out->str);
}

char *orr_summary_sweep_line(const OrrSweepReport *report) {
  char bar[BAR + 1] = "";
  const double done = report->n_points > 0 ? (double)report->n_done / (double)report->n_points : 0;
  const double rate =
      report->seconds > 0 ? (double)(report->n_done - report->n_before) / report->seconds : 0;
  for (int i = 0; i < BAR; i++) bar[i] = i < done * BAR ? '#' : '.';
  g_autoptr(GString) line = g_string_new(NULL);
  g_string_append_printf(line, "[%s] %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT ", %.3g/s", bar,
                         report->n_done, report->n_points, rate);
  if (rate > 0) {
    g_autofree char *left =
        orr_quantity_format((double)(report->n_points - report->n_done) / rate, ORR_UNIT_SECONDS);
    g_string_append_printf(line, ", %s left", left);
  }
  if (report->best->len > 0)
    g_string_append_printf(line, ", best %.5g",
                           g_array_index(report->best, OrrSweepBest, 0).score[0]);
  return g_strdup(line->str);
}
