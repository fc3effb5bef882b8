/*
 * summary_bands.c - prints coverage and widths of error bands, and what ratios decide.
 */
#include "sim/cli/verb_validate.h"

#include "sim/base/json_write.h"
#include "sim/cli/page.h"

enum { NAME_WIDTH = 27, MOST_OUTSIDE = 20 };

static const char *const left_out[] = {"the rows of its own set left out",
                                       "its own row left out",
                                       "nothing left out",
                                       "all rows of its model left out",
                                       "all rows of its stack left out",
                                       "all rows of its device left out",
                                       "all rows of its cluster left out"};

/* --- Cells --- */

static const char *percent(OrrPage *page, double fraction) {
  return isnan(fraction) ? "-" : orr_page_text(page, "%.0f %%", 100 * fraction);
}

static const char *width_of(OrrPage *page, double width) {
  return isnan(width) ? "-" : orr_page_text(page, "%.2f", width);
}

/* --- Coverage --- */

static guint n_groups(void) {
  guint n = 0;
  while (orr_coverage_groups[n].name) n++;
  return n;
}

/* Of each of @sets; NULL: of each group of sets. Of OrrCoverage. */
static GArray *coverages_of(const OrrValidateBands *bands, const GPtrArray *sets) {
  GArray *all = g_array_new(FALSE, FALSE, sizeof(OrrCoverage));
  for (guint i = 0; sets && i < sets->len; i++) {
    const OrrCoverage coverage = orr_coverage_of_set(bands, sets->pdata[i]);
    g_array_append_val(all, coverage);
  }
  for (const OrrCoverageGroup *group = orr_coverage_groups; !sets && group->name; group++)
    ORR_APPEND(all, OrrCoverage, orr_coverage_of_group(bands, group));
  return all;
}

/* Takes @coverages. */
static void add_lines(OrrPage *page, GArray *coverages) {
  ORR_EACH(const OrrCoverage, one, coverages) {
    const OrrCoverageLevel *level = &one->levels[0];
    if (one->n_answers > 0)
      orr_page_add(page, "  %-*s %6u  %5u %5u %5u  %6s  %6s  %6s  %6s  %6s  %6s  %6s\n", NAME_WIDTH,
                   one->name, one->n_answers, one->n_good, one->n_weak, one->n_none,
                   percent(page, level->coverage), percent(page, one->levels[1].coverage),
                   width_of(page, level->width), percent(page, level->constant_coverage),
                   width_of(page, level->constant_width), width_of(page, level->equal_width),
                   width_of(page, level->ratio));
  }
  g_array_unref(coverages);
}

static void add_all_lines(OrrPage *page, const OrrValidateBands *bands, const GPtrArray *sets) {
  orr_page_add(page,
               "error bands of %u measured answers, each asked with %s; width: mean of log(high / "
               "low) at 80 %%\n",
               bands->checks->len, left_out[bands->leave]);
  orr_page_add(page, "  %-*s %6s  %17s  %14s  %6s  %24s\n", NAME_WIDTH, "", "", "band", "inside",
               "", "constant band");
  orr_page_add(page, "  %-*s %6s  %5s %5s %5s  %6s  %6s  %6s  %6s  %6s  %6s  %6s\n", NAME_WIDTH,
               "set", "answers", "good", "weak", "none", "80 %", "50 %", "width", "inside", "width",
               "equal", "ratio");
  add_lines(page, coverages_of(bands, sets));
  orr_page_add(page, "  sums\n");
  add_lines(page, coverages_of(bands, NULL));
}

/* --- Pairs --- */

typedef enum { BY_SET, BY_AXIS, BY_GROUP } By;

/* Of OrrPairsSummary. */
static GArray *pairs_by(const GArray *pairs, const GPtrArray *sets, By by) {
  GArray *all = g_array_new(FALSE, FALSE, sizeof(OrrPairsSummary));
  const guint n = by == BY_SET ? sets->len : by == BY_AXIS ? ORR_AXES : n_groups();
  for (guint i = 0; i < n; i++)
    ORR_APPEND(all, OrrPairsSummary,
               orr_validate_pairs_summary(pairs, by == BY_SET ? sets->pdata[i] : NULL,
                                          by == BY_AXIS ? (OrrPairAxis)i : ORR_AXES,
                                          by == BY_GROUP ? &orr_coverage_groups[i] : NULL));
  return all;
}

static void add_pair_lines(OrrPage *page, const GArray *pairs, const GPtrArray *sets, By by) {
  g_autoptr(GArray) all = pairs_by(pairs, sets, by);
  ORR_EACH(const OrrPairsSummary, one, all)
    if (one->n_pairs > 0)
      orr_page_add(page, "  %-*s %6u  %6u  %6s  %6s  %6s  %6s  %6s  %6s\n", NAME_WIDTH, one->name,
                   one->n_pairs, one->n_banded, percent(page, one->named),
                   percent(page, one->coverage), percent(page, one->decided),
                   percent(page, one->right), width_of(page, one->width),
                   width_of(page, one->apart));
}

static void add_all_pair_lines(OrrPage *page, const GArray *pairs, const GPtrArray *sets) {
  orr_page_add(page,
               "ratios of %u pairs of rows of one set that differ in one axis; decided: the 80 %% "
               "band excludes 1\n",
               pairs->len);
  orr_page_add(page, "  %-*s %6s  %6s  %6s  %6s  %6s  %6s  %6s  %6s\n", NAME_WIDTH, "set", "pairs",
               "band", "named", "inside", "decided", "right", "width", "apart");
  add_pair_lines(page, pairs, sets, BY_SET);
  orr_page_add(page, "  axes\n");
  add_pair_lines(page, pairs, sets, BY_AXIS);
  orr_page_add(page, "  sums\n");
  add_pair_lines(page, pairs, sets, BY_GROUP);
}

/* --- Choices --- */

static const char *broken_of(OrrPage *page, guint n, guint n_broken) {
  return n == 0 ? "-" : orr_page_text(page, "%u (%.0f %%)", n_broken, 100.0 * n_broken / n);
}

static void add_choices(OrrPage *page, const OrrValidateBands *bands) {
  g_autoptr(GArray) choices = orr_validate_choices_new(bands);
  const OrrChoicesRegret regret = orr_validate_choices_regret(bands);
  guint n = 0;
  ORR_EACH(const OrrChoices, one, choices) n += one->n_point;
  if (n == 0) return;
  orr_page_add(page, "choices among measured rows, by the point and by the upper end of the 80 %% "
                     "band; broken: measured to miss the bound; kept: of the point's output\n");
  orr_page_add(page, "  %-*s %6s  %12s  %9s  %12s  %6s\n", NAME_WIDTH, "bound", "point", "broken",
               "upper end", "broken", "kept");
  ORR_EACH(const OrrChoices, one, choices)
    if (one->n_point > 0)
      orr_page_add(page, "  %-*s %6u  %12s  %9u  %12s  %6s\n", NAME_WIDTH, one->name, one->n_point,
                   broken_of(page, one->n_point, one->broken_point), one->n_upper,
                   broken_of(page, one->n_upper, one->broken_upper), percent(page, one->kept));
  orr_page_add(page,
               "  without a bound, %u questions: the point's choice gives %.1f %% less than "
               "the best measured row, the best lower end's %.1f %%\n",
               regret.n, 100 * regret.point, 100 * regret.lower);
}

/* --- Rows of a file --- */

/* The band of @check at the default level, in the result's unit. */
static OrrBandsBounds values_of(const OrrBandsCheck *check) {
  const OrrBandsBounds band = check->bands[0];
  const double simulated = check->answer->simulated;
  return check->metric->is_rate
             ? (OrrBandsBounds){simulated * exp(-band.high), simulated * exp(-band.low)}
             : (OrrBandsBounds){simulated * exp(band.low), simulated * exp(band.high)};
}

static gboolean is_outside(const OrrBandsCheck *check) {
  return check->log_error < check->bands[0].low || check->log_error > check->bands[0].high;
}

static void add_outside(OrrPage *page, const OrrValidateBands *bands) {
  guint n = 0;
  ORR_EACH(const OrrBandsCheck, check, bands->checks) {
    if (!is_outside(check) || ++n > MOST_OUTSIDE) continue;
    const OrrBandsBounds band = values_of(check);
    orr_page_add(page, "  outside, line %ld, %s: %s measured %.4g, band %.4g to %.4g (%s)\n",
                 check->residual->row, check->residual->label, check->answer->metric,
                 check->answer->measured, band.low, band.high,
                 orr_band_quality_words[check->quality]);
  }
  if (n > MOST_OUTSIDE)
    orr_page_add(page, "  and %u more outside; --json lists all\n", n - MOST_OUTSIDE);
}

void orr_summary_bands_text(const OrrValidateBands *bands, const GArray *pairs) {
  g_autoptr(GPtrArray) sets = orr_coverage_sets(bands);
  g_autoptr(OrrPage) page = orr_page_new();
  add_all_lines(page, bands, sets);
  if (bands->leave == ORR_VALIDATE_BANDS_NOTHING) add_outside(page, bands);
  if (pairs->len > 0) add_all_pair_lines(page, pairs, sets);
  add_choices(page, bands);
  orr_page_print(page);
}

/* --- JSON --- */

static void add_coverage(GString *out, const OrrCoverage *coverage) {
  static const char *const suffixes[ORR_VALIDATE_BANDS_LEVELS] = {"_80", "_50"};
  orr_json_write_element(out, "\n  ");
  orr_json_write_text(out, "name", coverage->name);
  ORR_JSON_NUMBERS(out, {"answers", (double)coverage->n_answers},
                   {"good", (double)coverage->n_good}, {"weak", (double)coverage->n_weak},
                   {"none", (double)coverage->n_none});
  for (guint i = 0; i < ORR_VALIDATE_BANDS_LEVELS; i++) {
    const OrrCoverageLevel *level = &coverage->levels[i];
    const struct {
      const char *name;
      double value;
    } members[] = {{"coverage", level->coverage},
                   {"width", level->width},
                   {"constant_coverage", level->constant_coverage},
                   {"constant_width", level->constant_width},
                   {"equal_width", level->equal_width},
                   {"ratio", level->ratio}};
    for (guint k = 0; k < G_N_ELEMENTS(members); k++) {
      g_autofree char *name = g_strconcat(members[k].name, suffixes[i], NULL);
      orr_json_write_number(out, name, members[k].value);
    }
  }
  g_string_append_c(out, '}');
}

static void add_pairs(GString *out, const OrrPairsSummary *one) {
  orr_json_write_element(out, "\n  ");
  orr_json_write_text(out, "name", one->name);
  ORR_JSON_NUMBERS(out, {"pairs", (double)one->n_pairs}, {"banded", (double)one->n_banded},
                   {"named", one->named}, {"coverage_80", one->coverage}, {"decided", one->decided},
                   {"right", one->right}, {"width_80", one->width}, {"apart_80", one->apart});
  g_string_append_c(out, '}');
}

static void add_row(GString *out, const OrrBandsCheck *check) {
  const OrrBandsBounds band = values_of(check);
  orr_json_write_element(out, "\n  ");
  orr_json_write_text(out, "set", check->residual->set);
  orr_json_write_int(out, "row", check->residual->row);
  orr_json_write_text(out, "label", check->residual->label);
  orr_json_write_text(out, "metric", check->answer->metric);
  orr_json_write_text(out, "quality", orr_band_quality_words[check->quality]);
  ORR_JSON_NUMBERS(out, {"measured", check->answer->measured},
                   {"simulated", check->answer->simulated}, {"low_80", band.low},
                   {"high_80", band.high});
  g_string_append_c(out, '}');
}

static void add_all_coverages(GString *out, const char *name, GArray *coverages) {
  orr_json_write_array(out, name);
  ORR_EACH(OrrCoverage, coverage, coverages) add_coverage(out, coverage);
  g_string_append_c(out, ']');
  g_array_unref(coverages);
}

static void add_all_pairs(GString *out, const char *name, GArray *summaries) {
  orr_json_write_array(out, name);
  ORR_EACH(OrrPairsSummary, summary, summaries) add_pairs(out, summary);
  g_string_append_c(out, ']');
  g_array_unref(summaries);
}

static void add_all_choices(GString *out, const OrrValidateBands *bands) {
  g_autoptr(GArray) choices = orr_validate_choices_new(bands);
  const OrrChoicesRegret regret = orr_validate_choices_regret(bands);
  orr_json_write_array(out, "bounds");
  ORR_EACH(const OrrChoices, one, choices) {
    orr_json_write_element(out, "\n  ");
    orr_json_write_text(out, "name", one->name);
    ORR_JSON_NUMBERS(out, {"point", one->n_point}, {"broken_point", one->broken_point},
                     {"upper", one->n_upper}, {"broken_upper", one->broken_upper},
                     {"kept", one->kept});
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  ORR_JSON_NUMBERS(out, {"questions", regret.n}, {"regret_point", regret.point},
                   {"regret_lower", regret.lower});
}

void orr_summary_bands_json(const OrrValidateBands *bands, const GArray *pairs) {
  g_autoptr(GString) out = g_string_new("{");
  g_autoptr(GPtrArray) sets = orr_coverage_sets(bands);
  orr_json_write_text(out, "left_out", orr_validate_bands_leave_words[bands->leave]);
  orr_json_write_text(out, "stale", orr_validate_bands_stale(bands));
  g_string_append(out, ",\n ");
  add_all_coverages(out, "sets", coverages_of(bands, sets));
  g_string_append(out, ",\n ");
  add_all_coverages(out, "sums", coverages_of(bands, NULL));
  g_string_append(out, ",\n ");
  orr_json_write_array(out, "rows");
  ORR_EACH(OrrBandsCheck, check, bands->checks) add_row(out, check);
  g_string_append(out, "],\n ");
  orr_json_write_object(out, "pairs");
  add_all_pairs(out, "sets", pairs_by(pairs, sets, BY_SET));
  g_string_append(out, ",\n ");
  add_all_pairs(out, "axes", pairs_by(pairs, sets, BY_AXIS));
  g_string_append(out, ",\n ");
  add_all_pairs(out, "sums", pairs_by(pairs, sets, BY_GROUP));
  g_string_append(out, "},\n ");
  orr_json_write_object(out, "choices");
  add_all_choices(out, bands);
  printf("%s}}\n", out->str);
}
