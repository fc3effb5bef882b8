/*
 * summary_bands.c - prints coverage and widths of error bands, and what ratios decide.
 */
#include "sim/cli/summary_bands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/show.h"

enum { NAME_WIDTH = 27, MOST_OUTSIDE = 20 };

static const char *const left_out[] = {"the rows of its own set left out", "its own row left out",
                                       "nothing left out"};

/* --- Cells --- */

static void print_percent(double fraction) {
  if (isnan(fraction))
    printf("  %6s", "-");
  else
    printf("  %4.0f %%", 100 * fraction);
}

static void print_width(double width) {
  if (isnan(width))
    printf("  %6s", "-");
  else
    printf("  %6.2f", width);
}

/* --- Coverage --- */

static void print_coverage(const OrrCoverage *coverage) {
  const OrrCoverageLevel *level = &coverage->levels[0];
  if (coverage->n_answers == 0) return;
  printf("  %-*s %6u  %5u %5u %5u", NAME_WIDTH, coverage->name, coverage->n_answers,
         coverage->n_good, coverage->n_weak, coverage->n_none);
  print_percent(level->coverage);
  print_percent(coverage->levels[1].coverage);
  print_width(level->width);
  print_percent(level->constant_coverage);
  print_width(level->constant_width);
  print_width(level->equal_width);
  print_width(level->ratio);
  printf("\n");
}

static void print_coverages(const OrrValidateBands *bands, const GPtrArray *sets) {
  printf(
      "error bands of %u measured answers, each asked with %s; width: mean of log(high / low) at "
      "80 %%\n",
      bands->checks->len, left_out[bands->leave]);
  printf("  %-*s %6s  %17s  %14s  %6s  %24s\n", NAME_WIDTH, "", "", "band", "inside", "",
         "constant band");
  printf("  %-*s %6s  %5s %5s %5s  %6s  %6s  %6s  %6s  %6s  %6s  %6s\n", NAME_WIDTH, "set",
         "answers", "good", "weak", "none", "80 %", "50 %", "width", "inside", "width", "equal",
         "ratio");
  for (guint i = 0; i < sets->len; i++) {
    const OrrCoverage coverage = orr_coverage_of_set(bands, sets->pdata[i]);
    print_coverage(&coverage);
  }
  printf("  sums\n");
  for (const OrrCoverageGroup *group = orr_coverage_groups; group->name; group++) {
    const OrrCoverage coverage = orr_coverage_of_group(bands, group);
    print_coverage(&coverage);
  }
}

/* --- Pairs --- */

static void print_pairs(const OrrPairsSummary *one) {
  if (one->n_pairs == 0) return;
  printf("  %-*s %6u  %6u", NAME_WIDTH, one->name, one->n_pairs, one->n_banded);
  print_percent(one->named);
  print_percent(one->coverage);
  print_percent(one->decided);
  print_percent(one->right);
  print_width(one->width);
  print_width(one->apart);
  printf("\n");
}

static void print_all_pairs(const GArray *pairs, const GPtrArray *sets) {
  printf("ratios of %u pairs of rows of one set that differ in one axis; decided: the 80 %% band "
         "excludes 1\n",
         pairs->len);
  printf("  %-*s %6s  %6s  %6s  %6s  %6s  %6s  %6s  %6s\n", NAME_WIDTH, "set", "pairs", "band",
         "named", "inside", "decided", "right", "width", "apart");
  for (guint i = 0; i < sets->len; i++) {
    const OrrPairsSummary one = orr_validate_pairs_summary(pairs, sets->pdata[i], ORR_AXES, NULL);
    print_pairs(&one);
  }
  printf("  axes\n");
  for (OrrPairAxis axis = 0; axis < ORR_AXES; axis++) {
    const OrrPairsSummary one = orr_validate_pairs_summary(pairs, NULL, axis, NULL);
    print_pairs(&one);
  }
  printf("  sums\n");
  for (const OrrCoverageGroup *group = orr_coverage_groups; group->name; group++) {
    const OrrPairsSummary one = orr_validate_pairs_summary(pairs, NULL, ORR_AXES, group);
    print_pairs(&one);
  }
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

static void print_outside(const OrrValidateBands *bands) {
  guint n = 0;
  for (guint i = 0; i < bands->checks->len; i++) {
    const OrrBandsCheck *check = &g_array_index(bands->checks, OrrBandsCheck, i);
    if (!is_outside(check) || ++n > MOST_OUTSIDE) continue;
    const OrrBandsBounds band = values_of(check);
    printf("  outside, line %" G_GINT64_FORMAT ", %s: %s measured %.4g, band %.4g to %.4g (%s)\n",
           check->residual->row, check->residual->label, check->answer->metric,
           check->answer->measured, band.low, band.high, orr_band_quality_words[check->quality]);
  }
  if (n > MOST_OUTSIDE) printf("  and %u more outside; --json lists all\n", n - MOST_OUTSIDE);
}

void orr_summary_bands_text(const OrrValidateBands *bands, const GArray *pairs) {
  g_autoptr(GPtrArray) sets = orr_coverage_sets(bands);
  print_coverages(bands, sets);
  if (bands->leave == ORR_VALIDATE_BANDS_NOTHING) print_outside(bands);
  if (pairs->len > 0) print_all_pairs(pairs, sets);
}

/* --- JSON --- */

static void add_number(GString *out, const char *name, const char *suffix, double value) {
  g_string_append_printf(out, ", \"%s%s\": ", name, suffix);
  orr_show_json_number(out, value);
}

static void add_coverage(GString *out, const OrrCoverage *coverage) {
  static const char *const suffixes[ORR_VALIDATE_BANDS_LEVELS] = {"_80", "_50"};
  g_string_append(out, "{\"name\": ");
  orr_show_json_text(out, coverage->name);
  g_string_append_printf(out, ", \"answers\": %u, \"good\": %u, \"weak\": %u, \"none\": %u",
                         coverage->n_answers, coverage->n_good, coverage->n_weak, coverage->n_none);
  for (guint i = 0; i < ORR_VALIDATE_BANDS_LEVELS; i++) {
    const OrrCoverageLevel *level = &coverage->levels[i];
    add_number(out, "coverage", suffixes[i], level->coverage);
    add_number(out, "width", suffixes[i], level->width);
    add_number(out, "constant_coverage", suffixes[i], level->constant_coverage);
    add_number(out, "constant_width", suffixes[i], level->constant_width);
    add_number(out, "equal_width", suffixes[i], level->equal_width);
    add_number(out, "ratio", suffixes[i], level->ratio);
  }
  g_string_append_c(out, '}');
}

static void add_pairs(GString *out, const OrrPairsSummary *one) {
  g_string_append(out, "{\"name\": ");
  orr_show_json_text(out, one->name);
  g_string_append_printf(out, ", \"pairs\": %u, \"banded\": %u", one->n_pairs, one->n_banded);
  add_number(out, "named", "", one->named);
  add_number(out, "coverage_80", "", one->coverage);
  add_number(out, "decided", "", one->decided);
  add_number(out, "right", "", one->right);
  add_number(out, "width_80", "", one->width);
  add_number(out, "apart_80", "", one->apart);
  g_string_append_c(out, '}');
}

static void add_row(GString *out, const OrrBandsCheck *check) {
  const OrrBandsBounds band = values_of(check);
  g_string_append(out, "{\"set\": ");
  orr_show_json_text(out, check->residual->set);
  g_string_append_printf(out, ", \"row\": %" G_GINT64_FORMAT ", \"label\": ", check->residual->row);
  orr_show_json_text(out, check->residual->label);
  g_string_append_printf(out, ", \"metric\": \"%s\", \"quality\": \"%s\"", check->answer->metric,
                         orr_band_quality_words[check->quality]);
  add_number(out, "measured", "", check->answer->measured);
  add_number(out, "simulated", "", check->answer->simulated);
  add_number(out, "low", "_80", band.low);
  add_number(out, "high", "_80", band.high);
  g_string_append_c(out, '}');
}

/* Begins the next element of an array; the first is on a line of its own too. */
static void begin_element(GString *out) {
  g_string_append(out, g_str_has_suffix(out->str, "[") ? "\n  " : ",\n  ");
}

static void add_coverages(GString *out, const OrrValidateBands *bands, const GPtrArray *sets) {
  g_string_append(out, ",\n \"sets\": [");
  for (guint i = 0; i < sets->len; i++) {
    const OrrCoverage coverage = orr_coverage_of_set(bands, sets->pdata[i]);
    begin_element(out);
    add_coverage(out, &coverage);
  }
  g_string_append(out, "],\n \"sums\": [");
  for (const OrrCoverageGroup *group = orr_coverage_groups; group->name; group++) {
    const OrrCoverage coverage = orr_coverage_of_group(bands, group);
    begin_element(out);
    add_coverage(out, &coverage);
  }
  g_string_append_c(out, ']');
}

static void add_rows(GString *out, const OrrValidateBands *bands) {
  g_string_append(out, ",\n \"rows\": [");
  for (guint i = 0; i < bands->checks->len; i++) {
    begin_element(out);
    add_row(out, &g_array_index(bands->checks, OrrBandsCheck, i));
  }
  g_string_append_c(out, ']');
}

static void add_all_pairs(GString *out, const GArray *pairs, const GPtrArray *sets) {
  g_string_append(out, ",\n \"pairs\": {\"sets\": [");
  for (guint i = 0; i < sets->len; i++) {
    const OrrPairsSummary one = orr_validate_pairs_summary(pairs, sets->pdata[i], ORR_AXES, NULL);
    begin_element(out);
    add_pairs(out, &one);
  }
  g_string_append(out, "],\n \"axes\": [");
  for (OrrPairAxis axis = 0; axis < ORR_AXES; axis++) {
    const OrrPairsSummary one = orr_validate_pairs_summary(pairs, NULL, axis, NULL);
    begin_element(out);
    add_pairs(out, &one);
  }
  g_string_append(out, "],\n \"sums\": [");
  for (const OrrCoverageGroup *group = orr_coverage_groups; group->name; group++) {
    const OrrPairsSummary one = orr_validate_pairs_summary(pairs, NULL, ORR_AXES, group);
    begin_element(out);
    add_pairs(out, &one);
  }
  g_string_append(out, "]}");
}

void orr_summary_bands_json(const OrrValidateBands *bands, const GArray *pairs) {
  g_autoptr(GString) out = g_string_new("{\"left_out\": ");
  g_autoptr(GPtrArray) sets = orr_coverage_sets(bands);
  orr_show_json_text(out, orr_validate_bands_leave_words[bands->leave]);
  g_string_append(out, ", \"stale\": ");
  orr_show_json_text(out, orr_validate_bands_stale(bands));
  add_coverages(out, bands, sets);
  add_rows(out, bands);
  add_all_pairs(out, pairs, sets);
  g_string_append(out, "}\n");
  fputs(out->str, stdout);
}
