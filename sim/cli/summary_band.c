/*
 * summary_band.c - writes bands for people and as JSON.
 */
#include "sim/base/json_write.h"
#include "sim/base/uncertain.h"
#include "sim/cli/summary.h"

#include "sim/bands/band.h"
#include "sim/cli/cli.h"
#include "sim/run/answer/run_kind.h"

/* --- Digits --- */

/* The last decade that the band supports, in units of @scale, but two digits of the value; 0: any.
 */
static double step_of(const OrrBandRow *row, double scale) {
  if (!row || !(row->high > row->low)) return 0;
  const double half = (row->high - row->low) / 2;
  const double most = row->value > 0 ? fmin(half, row->value) : half;
  return pow(10, floor(log10(most / scale)) - 1) * scale;
}

static double rounded(double value, double step) {
  return step > 0 ? round(value / step) * step : value;
}

double orr_summary_band_rounded(const OrrOutcome *outcome, const char *metric, double value) {
  return rounded(value, step_of(orr_bands_row(outcome, metric), 1));
}

char *orr_summary_band_digits(double value, double low, double high, int decimals) {
  const OrrBandRow bounds = {.low = low, .high = high};
  const double step = step_of(&bounds, 1);
  const int supported = step > 0 ? (int)-floor(log10(step) + 1e-9) : decimals;
  return g_strdup_printf("%.*f", CLAMP(supported, 0, decimals), rounded(value, step));
}

char *orr_summary_band_number(const OrrOutcome *outcome, const char *metric, double value,
                              int decimals) {
  const OrrBandRow *row = orr_bands_row(outcome, metric);
  return orr_summary_band_digits(value, row ? row->low : NAN, row ? row->high : NAN, decimals);
}

/* How numbers next to one another are written: in one unit, with as many decimals. */
typedef struct {
  char *symbol; /* " ms"; "" for a pure number */
  double scale; /* of the unit */
  double step;
  int decimals;
} Style;

/* The scale of the unit in which @value is shown, and its symbol. */
static double scale_of(double value, OrrUnit unit, char **ret_symbol) {
  g_autofree char *text = orr_quantity_format(value, unit);
  char *end = NULL;
  g_ascii_strtod(text, &end);
  *ret_symbol = g_strdup(end);
  g_autofree char *one = g_strconcat("1", end, NULL);
  double scale = 1;
  return orr_quantity_parse(one, unit, &scale, NULL) ? scale : 1;
}

/* @row has a band. */
static Style style_of(const OrrBandRow *row, OrrUnit unit) {
  Style style = {.scale = 1};
  style.scale = scale_of(row->value, unit, &style.symbol);
  style.step = step_of(row, style.scale);
  style.decimals = (int)CLAMP(-floor(log10(style.step / style.scale) + 1e-9), 0, 6);
  return style;
}

static char *styled(const Style *style, double value) {
  const double shown = rounded(value, style->step) / style->scale;
  if (style->decimals == 0 && fabs(shown) < 1e15) return orr_show_count((gint64)round(shown));
  return g_strdup_printf("%.*f", style->decimals, shown);
}

char *orr_summary_band_value(const OrrOutcome *outcome, const char *metric, double value,
                             OrrUnit unit) {
  const OrrBandRow *row = orr_bands_row(outcome, metric);
  if (!(step_of(row, 1) > 0) || !(value > 0)) return orr_quantity_format(value, unit);
  const Style style = style_of(row, unit);
  g_autofree char *symbol = style.symbol, *digits = styled(&style, value);
  return g_strconcat(digits, symbol, NULL);
}

/* --- Words --- */

static const char *measured_word(const OrrOutcome *outcome) {
  const char *table = outcome->kind->result->name;
  return g_str_has_prefix(table, "training")      ? "steps"
         : g_str_has_prefix(table, "collectives") ? "calls"
                                                  : "runs";
}

/* "28.0 to 33.3", with the unit where @with_unit. */
static char *range_text(const OrrBandRow *row, OrrUnit unit, gboolean with_unit) {
  const Style style = style_of(row, unit);
  g_autofree char *symbol = style.symbol, *low = styled(&style, row->low),
                  *high = styled(&style, row->high);
  return g_strconcat(low, " to ", high, with_unit ? symbol : "", NULL);
}

char *orr_summary_band_range(double value, double low, double high, OrrUnit unit) {
  const OrrBandRow row = {.value = value, .low = low, .high = high};
  return range_text(&row, unit, TRUE);
}

/* ", 80 % band from 106 measured steps like this one" or "; weak: ...". */
static char *why_text(const OrrOutcome *outcome, const OrrBandRow *row) {
  if (g_str_equal(row->quality, orr_band_quality_words[ORR_BAND_WEAK]))
    return g_strdup_printf("; weak: %s", row->reason);
  return g_strdup_printf(", %.3g %% band from %ld measured %s like this one", 100 * row->level,
                         row->rows, measured_word(outcome));
}

static gboolean is_none(const OrrBandRow *row) {
  return g_str_equal(row->quality, orr_band_quality_words[ORR_BAND_NONE]);
}

/* The sentence for measured runs that are @percent above the answer, or below it. */
static char *bias_words(OrrUnit unit, gboolean is_more, double percent) {
  static const struct {
    OrrUnit unit;
    const char *verb, *more, *less;
  } words[] = {{ORR_UNIT_SECONDS, "take", "longer", "less time"},
               {ORR_UNIT_BYTES, "need", "more", "less"},
               {ORR_UNIT_WATTS, "draw", "more", "less"},
               {ORR_UNIT_NONE, "show", "more", "less"}};
  guint i = 0;
  while (i + 1 < G_N_ELEMENTS(words) && words[i].unit != unit) i++;
  return g_strdup_printf(", measured runs %s %.0f %% %s", words[i].verb, percent,
                         is_more ? words[i].more : words[i].less);
}

/* Where measured runs lie, if the answer is outside its band, or if the rows of a good band agree
 * on which side of it they are; else "". */
static char *note_after(const OrrBandRow *row, OrrUnit unit) {
  const double percent = 100 * fabs(row->expected / row->value - 1);
  const gboolean is_known = g_str_equal(row->quality, orr_band_quality_words[ORR_BAND_GOOD]) &&
                            row->sided >= ORR_BAND_SIDED && percent >= 0.5;
  if (row->value >= row->low && row->value <= row->high && is_known)
    return bias_words(unit, row->expected > row->value, percent);
  return orr_uncertain_note_after(row->value, row->low, row->high, row->expected);
}

static char *band_text(const OrrOutcome *outcome, const OrrBandRow *row, OrrUnit unit,
                       gboolean with_unit) {
  if (is_none(row)) return g_strdup_printf("no band: %s", row->reason);
  g_autofree char *range = range_text(row, unit, with_unit), *why = why_text(outcome, row),
                  *note = note_after(row, unit);
  return g_strconcat(range, note, why, NULL);
}

char *orr_summary_band_text(const OrrOutcome *outcome, const char *metric, OrrUnit unit,
                            gboolean with_unit) {
  const OrrBandRow *row = orr_bands_row(outcome, metric);
  return row ? band_text(outcome, row, unit, with_unit) : NULL;
}

void orr_summary_band_more(OrrPage *page, const OrrOutcome *outcome, const char *metric,
                           OrrUnit unit) {
  char *text = orr_summary_band_text(outcome, metric, unit, TRUE);
  if (text) orr_page_more(page, " (%s)", orr_page_keep(page, text));
}

/* --- Serving: one line for each mean --- */

/* Why no result has a band, where all have the same reason; else NULL. */
static const char *no_band_at_all(const OrrOutcome *outcome) {
  const OrrBandRow *rows = (const OrrBandRow *)(const void *)outcome->bands->data;
  for (guint i = 0; i < outcome->bands->len; i++)
    if (!is_none(&rows[i]) || !g_str_equal(rows[i].reason, rows[0].reason)) return NULL;
  return outcome->bands->len > 0 ? rows[0].reason : NULL;
}

void orr_summary_band_serving(OrrPage *page, const OrrOutcome *outcome) {
  static const struct {
    const char *metric, *name, *of;
    OrrUnit unit;
  } lines[] = {{"ttft_mean_s", "ttft mean", "", ORR_UNIT_SECONDS},
               {"tpot_mean_s", "tpot mean", "", ORR_UNIT_SECONDS},
               {"e2e_mean_s", "e2e mean", "", ORR_UNIT_SECONDS},
               {"output_tokens_per_s", "output", " tokens/s", ORR_UNIT_NONE},
               {"energy_j_per_output_token", "energy", " J per token", ORR_UNIT_NONE},
               {"gpu_power_mean_w", "power", "", ORR_UNIT_WATTS}};
  const char *label = "bands", *why_none = no_band_at_all(outcome);
  if (why_none) orr_page_line(page, label, "none: %s", why_none);
  for (guint i = 0; !why_none && i < G_N_ELEMENTS(lines); i++) {
    const OrrBandRow *row = orr_bands_row(outcome, lines[i].metric);
    if (!row) continue;
    orr_page_line(page, label, "%-9s  ", lines[i].name);
    if (!is_none(row))
      orr_page_more(page, "%s%s", orr_page_keep(page, range_text(row, lines[i].unit, TRUE)),
                    lines[i].of);
    orr_page_more(page, "%s%s", orr_page_keep(page, note_after(row, lines[i].unit)),
                  is_none(row) ? orr_page_text(page, "no band: %s", row->reason)
                               : orr_page_keep(page, why_text(outcome, row)));
    label = "";
  }
}

/* --- JSON --- */

static void add_bound(GString *out, const OrrBandRow *row, const char *which, double value) {
  g_autofree char *name = g_strdup_printf("%s_%s", row->metric, which);
  orr_json_write_number(out, name, value);
}

static void add_bounds(GString *out, const OrrBandRow *row) {
  add_bound(out, row, "low", row->low);
  add_bound(out, row, "high", row->high);
  add_bound(out, row, "expected", row->expected);
}

/* The first band row belongs to the kind's headline (band_metrics.c). */
static void add_headline(GString *out, const OrrBandRow *row) {
  ORR_JSON_NUMBERS(out, {"band_level", row->level}, {"band_rows", (double)row->rows});
  orr_json_write_text(out, "band_quality", row->quality);
}

void orr_summary_band_json(GString *out, const OrrOutcome *outcome) {
  if (outcome->bands->len == 0) return;
  ORR_EACH(OrrBandRow, row, outcome->bands) add_bounds(out, row);
  add_headline(out, &g_array_index(outcome->bands, OrrBandRow, 0));
  orr_json_write_rows(out, "bands", &orr_band_table, outcome->bands, "\n  ");
}
