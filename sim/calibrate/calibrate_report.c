/*
 * calibrate_report.c - writes the report section by section. A section is CSV under a heading, so
 * that programs can read it too; a session is a list of `column: value`.
 */
#include "sim/calibrate/calibrate.h"

#include "results/store.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown"
#endif

void orr_calibrate_report_clear(OrrCalibrateReport *report) {
  g_clear_pointer(&report->text, g_free);
}

/* --- Privacy --- */

static char *replace(char *text, const char *pattern) {
  g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_CASELESS, 0, NULL);
  char *changed = regex ? g_regex_replace_literal(regex, text, -1, 0, "*", 0, NULL) : NULL;
  if (!changed) return text;
  g_free(text);
  return changed;
}

char *orr_calibrate_report_scrub(const char *text, const char *const *words) {
  char *clean =
      replace(g_utf8_make_valid(text, -1), "(?<![\\w.])~?(/[^\\s:;,'\")]+)+/?"); /* paths */
  for (; *words; words++) {
    if (strlen(*words) < 2) continue;
    g_autofree char *word = g_regex_escape_string(*words, -1);
    g_autofree char *pattern = g_strdup_printf("(?<!\\w)%s(?!\\w)", word);
    clean = replace(clean, pattern);
  }
  return clean;
}

static char *scrub(const char *text) {
  const char *const words[] = {g_get_host_name(), g_get_user_name(), NULL};
  return orr_calibrate_report_scrub(text, words);
}

/* --- Sections --- */

static void add_csv(GString *text, const OrrAnswer *answer) {
  if (answer->rows->len == 0) {
    g_string_append(text, "none\n");
    return;
  }
  g_autofree char *csv = orr_answer_csv(answer), *clean = scrub(csv);
  g_string_append(text, clean);
}

/* Writes each row as lines of its own, without its empty columns. */
static void add_lists(GString *text, const OrrAnswer *answer) {
  for (guint i = 0; i < answer->rows->len; i++) {
    if (i) g_string_append_c(text, '\n');
    for (guint c = 0; c < answer->n_columns; c++) {
      const char *cell = ((char **)answer->rows->pdata[i])[c];
      g_autofree char *clean = scrub(cell ? cell : "");
      if (*clean) g_string_append_printf(text, "%s: %s\n", answer->columns[c], clean);
    }
  }
}

/* The result of @sql for @device; empty when the database has no table @name. */
static OrrAnswer *query(OrrStore *store, const char *name, const char *sql, const char *device,
                        GError **error) {
  const OrrBinding binding = {"device", device};
  g_autofree char *has = g_strdup_printf("SELECT name FROM sqlite_master WHERE name = '%s'", name);
  g_autoptr(OrrAnswer) found = orr_store_query(store, has, 0, error);
  if (!found || found->rows->len == 0) return g_steal_pointer(&found);
  return orr_store_ask(store, sql, 0, &binding, 1, error);
}

static const char sessions_sql[] =
    "SELECT date, device, driver, runtime, blas, dnn, ccl, architecture, sms, n_gpus, n_ranks, "
    "round(memory_bytes / 1e9, 1) AS memory_gb, round(l2_bytes / 1e6, 1) AS l2_mb, "
    "round(sm_clock_limit_hz / 1e6) AS sm_clock_limit_mhz, round(memory_clock_limit_hz / 1e6) AS "
    "memory_clock_limit_mhz, power_limit_watts, persistence, ecc, budget_s, round(spent_s, 1) AS "
    "spent_s, new_rows, known_rows, refused, wrong_rows, is_complete, failure, watts_before, "
    "watts_after, round(sm_clock_hz_before / 1e6) AS sm_clock_mhz_before, round(sm_clock_hz_after "
    "/ 1e6) AS sm_clock_mhz_after, round(memory_clock_hz_before / 1e6) AS memory_clock_mhz_before, "
    "round(memory_clock_hz_after / 1e6) AS memory_clock_mhz_after, celsius_before, celsius_after, "
    "slowed_before, slowed_after, processes_before, processes_after FROM kernel_session WHERE "
    "device = :device ORDER BY rowid";

static const char families_sql[] =
    "SELECT family, count(*) AS rows, sum(verified = 'no') AS wrong, sum(verified = 'unchecked') "
    "AS unchecked, round(100 * avg(spread), 2) AS mean_spread_percent, round(100 * max(spread), 1) "
    "AS max_spread_percent, sum(method = 'unheld') AS unheld, round(min(sm_clock_hz) / 1e6) AS "
    "min_sm_clock_mhz, round(max(sm_clock_hz) / 1e6) AS max_sm_clock_mhz, round(max(watts)) AS "
    "max_watts FROM kernel_sample WHERE device = :device GROUP BY family ORDER BY family";

static const char refusals_sql[] = "SELECT family, reason, count(DISTINCT shape) AS shapes, "
                                   "min(shape) AS example, max(ends_job) AS "
                                   "ended_session FROM kernel_refusal WHERE device = :device GROUP "
                                   "BY family, reason ORDER BY family, reason";

static void add_number(GString *text, double value, const char *format) {
  char number[G_ASCII_DTOSTR_BUF_SIZE] = "";
  if (isfinite(value)) g_ascii_formatd(number, sizeof number, format, value);
  g_string_append_printf(text, ",%s", number);
}

static void add_differences(GString *text, const GPtrArray *differences) {
  g_string_append(
      text, "kernels,rows,asked,mean_error_percent,bias_percent,p90_percent,from_rows_percent\n");
  ORR_EACH_POINTER(const OrrCalibrateDifference, difference, differences) {
    const OrrErrors *errors = &difference->errors;
    g_string_append_printf(text, "%s,%u,%u", difference->kernels, difference->n_rows,
                           (guint)errors->n);
    add_number(text, errors->n ? 100 * errors->mape : NAN, "%.1f");
    add_number(text, errors->n ? 100 * errors->bias : NAN, "%.1f");
    add_number(text, errors->n ? 100 * errors->p90 : NAN, "%.1f");
    add_number(text, errors->n ? 100 * difference->from_rows : NAN, "%.0f");
    g_string_append_c(text, '\n');
  }
}

static void add_row(GString *text, const OrrMeasureRow *row) {
  static const char *const verified[] = {"yes", "no", "unchecked"};
  g_string_append_printf(text, "%s,%s", row->family, row->shape);
  add_number(text, row->median_us, "%.6g");
  add_number(text, row->best_us, "%.6g");
  add_number(text, row->spread, "%.3g");
  g_string_append_printf(text, ",%d,%d,%s,%s", (int)row->repeats, (int)row->calls,
                         row->method ? row->method : "", row->setting ? row->setting : "");
  add_number(text, row->watts, "%.1f");
  add_number(text, row->sm_clock_hz / 1e6, "%.0f");
  add_number(text, row->memory_clock_hz / 1e6, "%.0f");
  add_number(text, row->sustained_us, "%.6g");
  add_number(text, row->sustained_sm_clock_hz / 1e6, "%.0f");
  g_string_append_printf(text, ",%d,%d,%d", (int)row->throttle, (int)row->sustained_throttle,
                         (int)row->sustained_gpus);
  g_string_append_printf(text, ",%s", verified[row->verified]);
  add_number(text, row->max_error, "%.3g");
  g_string_append_printf(text, ",%d,%s\n", (int)row->harness, row->date);
}

static void add_rows(GString *text, const GArray *rows) {
  g_string_append(
      text, "family,shape,median_us,best_us,spread,repeats,calls,method,setting,watts,sm_clock_mhz,"
            "memory_clock_mhz,sustained_us,sustained_sm_clock_mhz,throttle,"
            "sustained_throttle,sustained_gpus,verified,max_error,harness,date\n");
  ORR_EACH(OrrMeasureRow, row, rows) add_row(text, row);
}

/* --- The report --- */

typedef struct {
  OrrAnswer *sessions, *families, *refusals;
} Answers;

static void answers_clear(Answers *answers) {
  orr_answer_free(answers->sessions);
  orr_answer_free(answers->families);
  orr_answer_free(answers->refusals);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answers, answers_clear)

static gboolean query_all(const char *db, const char *device, Answers *ret_answers,
                          GError **error) {
  g_autoptr(OrrStore) store = orr_store_open_read(db, error);
  return store &&
         (ret_answers->sessions = query(store, "kernel_session", sessions_sql, device, error)) &&
         (ret_answers->families = query(store, "kernel_sample", families_sql, device, error)) &&
         (ret_answers->refusals = query(store, "kernel_refusal", refusals_sql, device, error));
}

static gboolean add_residuals(GString *text, const GArray *rows, const char *profile,
                              const OrrMachine *machine, GError **error) {
  if (!machine) {
    g_string_append(text, "\n## Residuals\n\nthere is no profile of this device\n");
    return TRUE;
  }
  g_autoptr(GPtrArray) differences = orr_calibrate_compare(rows, machine, error);
  if (!differences) return FALSE;
  g_string_append_printf(text, "\n## Residuals: predictions of profile %s / measured times - 1\n\n",
                         profile);
  add_differences(text, differences);
  return TRUE;
}

gboolean orr_calibrate_report(const char *db, const char *device, const char *profile,
                              const OrrMachine *machine, OrrCalibrateReport *ret_report,
                              GError **error) {
  g_auto(Answers) answers = {NULL, NULL, NULL};
  g_autoptr(GArray) rows = orr_calibrate_rows_of(db, device, error);
  if (!rows || !query_all(db, g_array_index(rows, OrrMeasureRow, 0).device, &answers, error))
    return FALSE;
  g_autoptr(GString) text = g_string_new("# orrery calibration report, version 1\n\n");
  g_string_append(text, "written by: orrery " ORR_VERSION
                        "\ncontains no host or user name, serial number or path\n");
  g_string_append(text, "\n## Sessions\n\n");
  add_lists(text, answers.sessions);
  g_string_append(text, "\n## Measured\n\n");
  add_csv(text, answers.families);
  if (!add_residuals(text, rows, profile, machine, error)) return FALSE;
  g_string_append(text, "\n## Refused\n\n");
  add_csv(text, answers.refusals);
  g_string_append(text, "\n## Rows\n\n");
  add_rows(text, rows);
  *ret_report = (OrrCalibrateReport){.n_rows = rows->len,
                                     .n_sessions = answers.sessions->rows->len,
                                     .n_refusals = answers.refusals->rows->len};
  ret_report->text = g_string_free(g_steal_pointer(&text), FALSE);
  return TRUE;
}

char *orr_calibrate_report_device(OrrLibrary *library, const char *db, const char *device,
                                  GError **error) {
  g_autoptr(GArray) rows = orr_calibrate_rows_of(db, device, error);
  if (!rows) return NULL;
  g_autofree char *name = orr_measure_row_device_name(g_array_index(rows, OrrMeasureRow, 0).device);
  g_autofree char *path = orr_library_path(library, "device", name);
  return path ? g_steal_pointer(&name) : g_strdup("");
}
