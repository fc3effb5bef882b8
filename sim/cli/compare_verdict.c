/*
 * compare_verdict.c - reads what two runs are like and what they answered, asks for the bands of
 * the ratios, and writes them in words.
 *
 * Both runs must have been undisturbed: no pair of measured rows differs as a job that shared the
 * machine or met faults differs from one that did not.
 */
#include "sim/cli/verb_compare.h"

#include "sim/bands/band.h"
#include "sim/bands/band_metrics.h"
#include "sim/base/json_write.h"
#include "sim/sweep/sweep_likeness.h"

/* The results that a verdict is given on, and the kind of run that has each. */
static const struct {
  const char *metric, *kind;
} headlines[] = {{"iteration_time_s", "training"},   {"memory_peak_bytes", "training"},
                 {"ttft_mean_s", "serving"},         {"tpot_mean_s", "serving"},
                 {"output_tokens_per_s", "serving"}, {"time_s", "collectives"},
                 {"tokens_per_s", "post-training"}};

/* --- Life --- */

static void clear_verdict(gpointer data) {
  OrrVerdict *verdict = data;
  ORR_FREE(verdict->metric, verdict->quality, verdict->text);
}

static OrrVerdicts *verdicts_new(void) {
  OrrVerdicts *all = g_new0(OrrVerdicts, 1);
  all->verdicts = g_array_new(FALSE, FALSE, sizeof(OrrVerdict));
  g_array_set_clear_func(all->verdicts, clear_verdict);
  all->differ = g_strdup("");
  return all;
}

void orr_compare_verdict_free(OrrVerdicts *all) {
  if (!all) return;
  g_array_unref(all->verdicts);
  ORR_FREE(all->differ, all->note, all);
}

/* --- What differs --- */

/* Members of a likeness that people set, in the field's words. */
static const struct {
  const char *column, *word;
} settings[] = {{"device", "device"},
                {"model", "model"},
                {"stack", "stack"},
                {"release", "release"},
                {"format", "format"},
                {"form", "form"},
                {"gpus", "GPUs"},
                {"tp", "TP"},
                {"pp", "PP"},
                {"dp", "DP"},
                {"cp", "CP"},
                {"ep", "EP"},
                {"batch", "batch"},
                {"micro", "micro-batch"},
                {"load", "load"},
                {"input", "prompt or sequence"},
                {"output", "output"},
                {"size", "size"},
                {"method", "method"},
                {"recompute", "recompute"},
                {"sharding", "sharding"},
                {"extras", "extras"}};

static gboolean is_equal(const OrrField *field, const OrrLikenessRow *a, const OrrLikenessRow *b) {
  const void *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
  if (field->kind == ORR_FIELD_TEXT) return *(char *const *)x == *(char *const *)y;
  const double p = *(const double *)x, q = *(const double *)y;
  return fabs(p - q) <= 1e-9 * fabs(p) || (isnan(p) && isnan(q)); /* means of lengths are rounded */
}

static char *differ_text(const OrrLikenessRow *a, const OrrLikenessRow *b) {
  GString *text = g_string_new(NULL);
  for (guint s = 0; s < G_N_ELEMENTS(settings); s++)
    for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
      const OrrField *field = &orr_likeness_table.fields[i];
      const gboolean is_asked = g_str_equal(field->name, settings[s].column);
      /* the sequences that run at once are a result of serving, not a setting */
      const gboolean is_result =
          g_str_equal(field->name, "batch") && g_str_equal(a->kind, "serving");
      if (is_asked && !is_result && !is_equal(field, a, b))
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", settings[s].word);
    }
  return g_string_free(text, FALSE);
}

/* --- Asking --- */

/* Rows of @question about @run; 0 also with @error. */
static guint n_rows(OrrStore *store, gint64 run, const char *question, GError **error) {
  g_autoptr(OrrAnswer) answer = orr_store_ask(store, question, run, NULL, 0, error);
  return answer ? answer->rows->len : 0;
}

static double number_of(OrrStore *store, gint64 run, const char *question,
                        const OrrBinding *binding, GError **error) {
  g_autoptr(OrrAnswer) answer =
      orr_store_ask(store, question, run, binding, binding ? 1 : 0, error);
  const char *text = answer && answer->rows->len > 0 ? ((char **)answer->rows->pdata[0])[0] : NULL;
  char *end = NULL;
  const double number = text ? g_ascii_strtod(text, &end) : NAN;
  return text && end != text ? number : NAN;
}

/* Whether @run has rows in @table, which the database may lack. */
static gboolean has_rows(OrrStore *store, gint64 run, const char *table, GError **error) {
  g_autofree char *stored =
      g_strdup_printf("SELECT 1 FROM sqlite_schema WHERE name = '%s' AND :run > 0", table);
  g_autofree char *rows = g_strdup_printf("SELECT 1 FROM %s WHERE run_id = :run", table);
  return n_rows(store, run, stored, error) > 0 && n_rows(store, run, rows, error) > 0;
}

/* The value of @metric in @run, of @kind; NAN: it has none. Points of sweeps have no bands of their
 * own. */
static double value_of(OrrStore *store, gint64 run, const char *kind, const char *metric,
                       GError **error) {
  g_autofree char *table = g_strdup_printf("%s_result", kind);
  g_autofree char *result = g_strdup_printf("SELECT %s FROM %s WHERE run_id = :run", metric, table);
  if (has_rows(store, run, "band", error))
    return number_of(store, run, "SELECT value FROM band WHERE run_id = :run AND metric = :metric",
                     &(OrrBinding){"metric", metric}, error);
  return has_rows(store, run, table, error) ? number_of(store, run, result, NULL, error) : NAN;
}

/* How many times better a run is whose result is @ratio of the other's; below 1: worse. */
static double better_by(gboolean is_rate, double ratio) { return is_rate ? ratio : 1 / ratio; }

static char *sure_text(const OrrVerdict *verdict) {
  return isnan(verdict->sure) ? g_strdup("")
                              : g_strdup_printf(": %.0f %% sure", 100 * verdict->sure);
}

/* "80 % band from 61 measured pairs", "weak: ...". */
static char *band_text(const OrrRatioBand *band) {
  if (band->quality == ORR_BAND_WEAK) return g_strdup_printf("weak: %s", band->reason);
  return g_strdup_printf("%.3g %% band from %u measured pairs", 100 * band->level, band->n_pairs);
}

static char *verdict_text(const OrrVerdict *verdict, const OrrRatioBand *band,
                          const OrrBandMetric *metric, gint64 run) {
  const gboolean is_memory = metric->quantity == ORR_QUANTITY_MEMORY;
  if (verdict->ratio == 1) return g_strdup("the same in both runs");
  if (isnan(verdict->low)) return g_strdup_printf("no band: %s", band->reason);
  const double one = better_by(metric->is_rate, verdict->low),
               two = better_by(metric->is_rate, verdict->high);
  const double better = better_by(metric->is_rate, verdict->ratio);
  const double low = fmin(one, two), high = fmax(one, two);
  g_autofree char *sure = sure_text(verdict), *how = band_text(band);
  if (!verdict->is_decided)
    return g_strdup_printf("statistically tied: %.2f to %.2f times as %s (%s)", low, high,
                           is_memory ? "small" : "fast", how);
  const gboolean is_better = better > 1;
  return g_strdup_printf(
      "run %ld is %.2f times %s (%.2f to %.2f, %s)%s", run, is_better ? better : 1 / better,
      is_memory ? (is_better ? "smaller" : "larger") : (is_better ? "faster" : "slower"),
      is_better ? low : 1 / high, is_better ? high : 1 / low, how, sure);
}

static void add_verdict(const OrrBands *bands, const OrrLikenessRow *likeness, OrrVerdict verdict,
                        gint64 run, GArray *verdicts) {
  const OrrBandMetric *metric = orr_band_metrics_find(likeness[1].kind, verdict.metric);
  const OrrBandQuestion question = {
      .likeness = &likeness[1], .metric = verdict.metric, .level = ORR_BAND_LEVEL};
  verdict.ratio = verdict.this / verdict.other;
  const OrrRatioBand band = orr_bands_ask_ratio(bands, &question, &likeness[0], verdict.ratio);
  verdict.low = verdict.ratio * band.low;
  verdict.high = verdict.ratio * band.high;
  verdict.level = band.level;
  verdict.n_pairs = band.n_pairs;
  verdict.sure = band.sure;
  /* bounds beyond 1 on the other side say only that pairs like these err by more than the runs
   * differ */
  verdict.is_decided = verdict.ratio > 1 ? verdict.low > 1 : verdict.high < 1;
  verdict.metric = g_strdup(verdict.metric);
  verdict.quality = g_strdup(orr_band_quality_words[band.quality]);
  verdict.text = verdict_text(&verdict, &band, metric, run);
  g_array_append_val(verdicts, verdict);
}

/* Tokens of a step. */
static double step_tokens(OrrStore *store, gint64 run) {
  return value_of(store, run, "training", "iteration_time_s", NULL) *
         value_of(store, run, "training", "tokens_per_s", NULL);
}

/* A step of fewer tokens takes less time and is not faster for that: such steps are compared by
 * their tokens per second, and @all's note says so. */
static const char *step_metric(OrrStore *store, const gint64 *runs, OrrVerdicts *all) {
  const double other = step_tokens(store, runs[0]), this = step_tokens(store, runs[1]);
  if (isnan(other) || isnan(this) || fabs(this / other - 1) < 1e-6) return "iteration_time_s";
  g_autofree char *before = g_steal_pointer(&all->note);
  all->note =
      g_strdup_printf("a step has %.4g tokens in run %ld, %.4g in run %ld: tokens per second are "
                      "compared, not the time of a step%s%s",
                      other, runs[0], this, runs[1], before ? "\n" : "", before ? before : "");
  return "tokens_per_s";
}

static gboolean add_verdicts(const OrrBands *bands, OrrStore *store, const gint64 *runs,
                             const OrrLikenessRow *likeness, OrrVerdicts *all, GError **error) {
  for (guint i = 0; i < G_N_ELEMENTS(headlines); i++) {
    g_autoptr(GError) failed = NULL;
    const char *kind = headlines[i].kind, *metric = headlines[i].metric;
    if (!g_str_equal(kind, likeness[1].kind)) continue;
    if (g_str_equal(metric, "iteration_time_s")) metric = step_metric(store, runs, all);
    const double other = value_of(store, runs[0], kind, metric, &failed),
                 this = failed ? NAN : value_of(store, runs[1], kind, metric, &failed);
    if (failed) {
      g_propagate_error(error, g_steal_pointer(&failed));
      return FALSE;
    }
    if (other > 0 && this > 0 && orr_band_metrics_find(kind, metric))
      add_verdict(bands, likeness,
                  (OrrVerdict){.metric = (char *)metric, .other = other, .this = this}, runs[1],
                  all->verdicts);
  }
  if (all->verdicts->len == 0 && !all->note)
    all->note = g_strdup("no verdict: the runs have no result in common that error bands know");
  return TRUE;
}

OrrVerdicts *orr_compare_verdict_new(OrrLibrary *library, OrrStore *store, gint64 other,
                                     gint64 this, GError **error) {
  const gint64 runs[] = {other, this};
  OrrLikenessRow likeness[2];
  g_autoptr(OrrVerdicts) all = verdicts_new();
  for (guint i = 0; i < 2; i++) {
    g_autoptr(GError) failed = NULL;
    g_autofree OrrLikenessRow *row = orr_sweep_likeness_read(store, runs[i], &failed);
    if (!row && !failed) {
      all->note = g_strdup_printf(
          "run %ld cannot be compared with measured runs: an earlier version stored it, its sweep "
          "did not show the point, or its kind has no measurements",
          runs[i]);
      return g_steal_pointer(&all);
    }
    /* shared its machine or met faults; a database without such runs has no table job */
    const gboolean is_disturbed = row && has_rows(store, runs[i], "job", &failed);
    if (failed) {
      g_propagate_error(error, g_steal_pointer(&failed));
      return NULL;
    }
    likeness[i] = *row;
    if (is_disturbed)
      all->note = g_strdup_printf("run %ld shared its machine or met faults, as "
                                  "no measured run did",
                                  runs[i]);
    if (all->note) return g_steal_pointer(&all);
  }
  g_autoptr(OrrBands) bands = orr_bands_new(library, likeness[1].kind, error);
  if (!bands) return NULL;
  g_free(all->differ);
  all->differ = differ_text(&likeness[0], &likeness[1]);
  all->note = g_strdup(orr_bands_stale(bands));
  if (!add_verdicts(bands, store, runs, likeness, all, error)) return NULL;
  return g_steal_pointer(&all);
}

/* --- Writing --- */

static const OrrVerdict *verdict_at(const OrrVerdicts *all, guint i) {
  return &g_array_index(all->verdicts, OrrVerdict, i);
}

char *orr_compare_verdict_lines(const OrrVerdicts *all) {
  GString *out = g_string_new(NULL);
  if (*all->differ) g_string_append_printf(out, "they differ in %s\n", all->differ);
  if (all->note) g_string_append_printf(out, "%s\n", all->note);
  for (guint i = 0; i < all->verdicts->len; i++)
    g_string_append_printf(out, "%-19s  %s\n", verdict_at(all, i)->metric,
                           verdict_at(all, i)->text);
  return g_string_free(out, FALSE);
}

char *orr_compare_verdict_markdown(const OrrVerdicts *all) {
  GString *out = g_string_new(NULL);
  if (*all->differ) g_string_append_printf(out, "They differ in %s.\n\n", all->differ);
  if (all->note) g_string_append_printf(out, "%s\n\n", all->note);
  if (all->verdicts->len > 0) g_string_append(out, "| metric | verdict |\n|---|---|\n");
  for (guint i = 0; i < all->verdicts->len; i++)
    g_string_append_printf(out, "| %s | %s |\n", verdict_at(all, i)->metric,
                           verdict_at(all, i)->text);
  return g_string_free(out, FALSE);
}

static void add_json(GString *out, const OrrVerdict *verdict) {
  orr_json_write_element(out, "\n ");
  orr_json_write_text(out, "metric", verdict->metric);
  ORR_JSON_NUMBERS(out, {"other", verdict->other}, {"this", verdict->this},
                   {"ratio", verdict->ratio}, {"low", verdict->low}, {"high", verdict->high},
                   {"level", verdict->level}, {"pairs", (double)verdict->n_pairs},
                   {"sure", verdict->sure});
  orr_json_write_bool(out, "told_apart", verdict->is_decided);
  orr_json_write_text(out, "quality", verdict->quality);
  orr_json_write_text(out, "text", verdict->text);
  g_string_append_c(out, '}');
}

char *orr_compare_verdict_json(const OrrVerdicts *all) {
  GString *out = g_string_new(NULL);
  orr_json_write_text(out, "differ", all->differ);
  g_string_append(out, ",\n");
  orr_json_write_text(out, "note", all->note);
  g_string_append(out, ",\n");
  orr_json_write_array(out, "verdicts");
  for (guint i = 0; i < all->verdicts->len; i++) add_json(out, verdict_at(all, i));
  g_string_append(out, all->verdicts->len > 0 ? "\n]" : "]");
  return g_string_free(out, FALSE);
}
