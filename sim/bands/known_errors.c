/*
 * known_errors.c - reads, writes and asks the table of errors of results that have no band.
 */
#include "sim/bands/known_errors.h"

#include "sim/base/csv.h"
#include "sim/bands/residuals.h"

static const char header[] = "table,metric,part,set,rows,error";
enum { TABLE, METRIC, PART, SET, ROWS, ERROR, N_COLUMNS };

static void clear_error(gpointer data) {
  OrrKnownError *one = data;
  ORR_FREE(one->table, one->metric, one->part, one->set);
}

GArray *orr_known_errors_new(void) {
  GArray *errors = g_array_new(FALSE, FALSE, sizeof(OrrKnownError));
  g_array_set_clear_func(errors, clear_error);
  return errors;
}

/* --- The file --- */

static gint compare(gconstpointer a, gconstpointer b) {
  const OrrKnownError *x = a, *y = b;
  const int table = strcmp(x->table, y->table), metric = strcmp(x->metric, y->metric),
            set = strcmp(x->set, y->set);
  return table ? table : metric ? metric : set ? set : strcmp(x->part, y->part);
}

char *orr_known_errors_text(GArray *errors) {
  GString *out =
      g_string_new("# Mean errors of results without a band, by validation set and part; "
                   "`make residuals` writes this file.\n");
  g_array_sort(errors, compare);
  g_string_append_printf(out, "%s\n", header);
  ORR_EACH(const OrrKnownError, one, errors)
    g_string_append_printf(out, "%s,%s,%s,%s,%ld,%.3f\n", one->table, one->metric, one->part,
                           one->set, one->rows, one->error);
  return g_string_free(out, FALSE);
}

static void read_line(const OrrCsv *csv, const OrrCsvLine *line, OrrDiags *diags, GArray *errors) {
  double rows = 0, error = 0;
  if (!line->cells || !orr_csv_number(csv, line, ROWS, diags, &rows) ||
      !orr_csv_number(csv, line, ERROR, diags, &error))
    return;
  char **cells = line->cells;
  ORR_APPEND(errors, OrrKnownError,
             {.table = g_strdup(cells[TABLE]),
              .metric = g_strdup(cells[METRIC]),
              .part = g_strdup(cells[PART]),
              .set = g_strdup(cells[SET]),
              .rows = (gint64)rows,
              .error = error});
}

GArray *orr_known_errors_read(OrrLibrary *library, GError **error) {
  g_autoptr(GArray) errors = orr_known_errors_new();
  g_autofree char *path = orr_residuals_path(library, "errors");
  if (!path) return g_steal_pointer(&errors);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return NULL;
  g_autofree char *found = g_strjoinv(",", csv->header);
  if (strcmp(found, header) != 0)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: the header is not %s", path, header);
  for (guint i = 0; i < csv->lines->len; i++) read_line(csv, csv->lines->pdata[i], diags, errors);
  return orr_diags_check(diags, error) ? g_steal_pointer(&errors) : NULL;
}

double orr_known_errors_mean(const GArray *errors, const char *table, const char *metric,
                             const char *part, gint64 *ret_rows) {
  double sum = 0;
  *ret_rows = 0;
  ORR_EACH(const OrrKnownError, one, errors) {
    if (strcmp(one->table, table) != 0 || strcmp(one->metric, metric) != 0 ||
        strcmp(one->part, part) != 0)
      continue;
    sum += one->error * (double)one->rows;
    *ret_rows += one->rows;
  }
  return *ret_rows > 0 ? sum / (double)*ret_rows : NAN;
}

/* --- Words --- */

static gboolean is_asked(const OrrKnownError *one, const char *table, const char *metric,
                         const char *const *parts) {
  return strcmp(one->table, table) == 0 && (!metric || strcmp(one->metric, metric) == 0) &&
         one->error > ORR_KNOWN_ERRORS_MOST &&
         (!*one->part || !parts || g_strv_contains(parts, one->part));
}

char **orr_known_errors_words(OrrLibrary *library, const char *table, const char *metric,
                              const char *const *parts) {
  g_autoptr(GStrvBuilder) words = g_strv_builder_new();
  g_autoptr(GError) reason = NULL;
  g_autoptr(GArray) errors = orr_known_errors_read(library, &reason);
  if (!errors) g_strv_builder_add(words, reason->message);
  ORR_EACH(const OrrKnownError, one, errors) {
    if (!is_asked(one, table, metric, parts)) continue;
    g_autofree char *part = *one->part ? g_strdup_printf(" (%s)", one->part) : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "%s%s is off by %.0f %% on average where it was measured (%ld row%s of validation set %s)",
        one->metric, part, 100 * one->error, one->rows, one->rows == 1 ? "" : "s", one->set);
    g_strv_builder_add(words, text);
  }
  return g_strv_builder_end(words);
}

char **orr_known_errors_tiers(const OrrScenario *scenario) {
  const GPtrArray *specs = scenario->campaign.checkpoints;
  g_autoptr(GStrvBuilder) tiers = g_strv_builder_new();
  for (guint i = 0; specs && i < specs->len; i++)
    g_strv_builder_add(
        tiers, orr_campaign_tier_words[((const OrrCampaignCheckpointSpec *)specs->pdata[i])->tier]);
  return g_strv_builder_end(tiers);
}
