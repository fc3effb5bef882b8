/*
 * summary_collectives.c - writes the rows of a run of collectives as the table that nccl-tests
 * prints, so that both can be compared by eye or with diff.
 */
#include "sim/cli/summary_collectives.h"

#include <math.h>

#include "sim/base/quantity.h"
#include "sim/cli/show.h"
#include "sim/base/uncertain.h"
#include "sim/cli/summary_band.h"

/* The name that nccl-tests uses for a number format. */
static const char *type_name(const char *dtype) {
  static const char *const names[][2] = {
      {"fp32", "float"}, {"fp16", "half"}, {"bf16", "bfloat16"}, {"fp8", "f8e4m3"}};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (g_str_equal(dtype, names[i][0])) return names[i][1];
  return dtype;
}

/* A time of @row in microseconds, in six places as in nccl-tests, and in no more than its band
 * supports. */
static char *time_text(const OrrNcclTestRow *row, double time_s) {
  const double us = time_s * 1e6;
  if (isnan(us)) return g_strdup("-");
  return orr_summary_band_digits(us, row->low_s * 1e6, row->high_s * 1e6,
                                 us >= 10000  ? 0
                                 : us >= 1000 ? 1
                                              : 2);
}

/* A bandwidth of @row in GB/s: its bounds are those of the time, inverted. */
static char *rate_text(const OrrNcclTestRow *row, double bytes_per_s) {
  const double rate = bytes_per_s / 1e9;
  return orr_summary_band_digits(rate, rate * row->time_s / row->high_s,
                                 rate * row->time_s / row->low_s, 2);
}

static void add_size(GString *out, const OrrNcclTestRow *row) {
  g_autofree char *time = time_text(row, row->time_s);
  g_autofree char *low = time_text(row, row->low_s), *high = time_text(row, row->high_s);
  g_autofree char *algbw = rate_text(row, row->algbw_bytes_per_s);
  g_autofree char *busbw = rate_text(row, row->busbw_bytes_per_s);
  g_string_append_printf(
      out, "%12" G_GINT64_FORMAT "  %12" G_GINT64_FORMAT "  %8s  %6s  %6" G_GINT64_FORMAT,
      row->size_bytes, row->count, type_name(row->type), row->redop, row->root);
  g_autofree char *note =
      orr_uncertain_note_after(row->time_s, row->low_s, row->high_s, row->expected_s);
  g_string_append_printf(out, "  %7s  %6s  %6s  %7s  %7s  %s %s, %s%s\n", time, algbw, busbw, low,
                         high, row->algorithm, row->protocol, row->how, note);
}

void orr_summary_collectives(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrCollectivesResult *result = &outcome->result.collectives;
  g_autofree char *gpus = orr_show_gpus(result->n_gpus);
  g_string_append_printf(
      out, "  %-12s  %s (%s) of %s, %" G_GINT64_FORMAT " group%s of %" G_GINT64_FORMAT "\n",
      "machine", gpus, scenario->cluster.device.name, scenario->cluster.name, result->n_groups,
      result->n_groups == 1 ? "" : "s", result->n_ranks);
  g_string_append_printf(
      out, "#%11s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %7s  %7s  chosen, how known\n", "size",
      "count", "type", "redop", "root", "time", "algbw", "busbw", "low", "high");
  g_string_append_printf(out, "#%11s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %7s  %7s\n", "(B)",
                         "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(us)");
  for (guint i = 0; i < outcome->nccl_tests->len; i++)
    add_size(out, &g_array_index(outcome->nccl_tests, OrrNcclTestRow, i));
  g_autofree char *band = orr_summary_band_text(outcome, "time_s", ORR_UNIT_SECONDS, TRUE);
  if (band) g_string_append_printf(out, "# Band of the last size: %s\n", band);
  if (!isnan(result->gpu_power_mean_w)) {
    g_autofree char *watts = orr_quantity_format(result->gpu_power_mean_w, ORR_UNIT_WATTS);
    g_string_append_printf(out, "# Energy of the last size: %.4g J per call, GPUs draw %s\n",
                           result->energy_j_per_call, watts);
  }
  g_string_append_printf(out, "# Avg bus bandwidth    : %g\n",
                         result->mean_busbw_bytes_per_s / 1e9);
}
