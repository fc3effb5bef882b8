/*
 * summary_collectives.c - writes the rows of a run of collectives as the table that nccl-tests
 * prints, so that both can be compared by eye or with diff.
 */
#include "sim/cli/summary.h"

#include "sim/base/uncertain.h"

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
static const char *time_text(OrrPage *page, const OrrNcclTestRow *row, double time_s) {
  const double us = time_s * 1e6;
  if (isnan(us)) return "-";
  return orr_page_keep(page, orr_summary_band_digits(us, row->low_s * 1e6, row->high_s * 1e6,
                                                     us >= 10000  ? 0
                                                     : us >= 1000 ? 1
                                                                  : 2));
}

/* A bandwidth of @row in GB/s: its bounds are the time's, inverted. */
static const char *rate_text(OrrPage *page, const OrrNcclTestRow *row, double bytes_per_s) {
  const double rate = bytes_per_s / 1e9;
  return orr_page_keep(page, orr_summary_band_digits(rate, rate * row->time_s / row->high_s,
                                                     rate * row->time_s / row->low_s, 2));
}

static void add_size(OrrPage *page, const OrrNcclTestRow *row) {
  g_autofree char *note =
      orr_uncertain_note_after(row->time_s, row->low_s, row->high_s, row->expected_s);
  orr_page_add(page, "%12ld  %12ld  %8s  %6s  %6ld", row->size_bytes, row->count,
               type_name(row->type), row->redop, row->root);
  orr_page_add(page, "  %7s  %6s  %6s  %7s  %7s  %s %s, %s%s\n", time_text(page, row, row->time_s),
               rate_text(page, row, row->algbw_bytes_per_s),
               rate_text(page, row, row->busbw_bytes_per_s), time_text(page, row, row->low_s),
               time_text(page, row, row->high_s), row->algorithm, row->protocol, row->how, note);
}

void orr_summary_collectives(OrrPage *page, const OrrScenario *scenario,
                             const OrrOutcome *outcome) {
  const OrrCollectivesResult *r = &outcome->result.collectives;
  g_autofree char *band = orr_summary_band_text(outcome, "time_s", ORR_UNIT_SECONDS, TRUE);
  orr_page_line(page, "machine", "%s (%s) of %s, %ld group%s of %ld",
                orr_page_things(page, r->n_gpus, "GPU"), scenario->cluster.device.name,
                scenario->cluster.name, r->n_groups, r->n_groups == 1 ? "" : "s", r->n_ranks);
  orr_page_add(page, "#%11s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %7s  %7s  chosen, how known\n",
               "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "low", "high");
  orr_page_add(page, "#%11s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %7s  %7s\n", "(B)", "(elements)",
               "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(us)");
  ORR_EACH(OrrNcclTestRow, row, outcome->nccl_tests) add_size(page, row);
  if (band) orr_page_add(page, "# Band of the last size: %s\n", band);
  if (!isnan(r->gpu_power_mean_w))
    orr_page_add(page, "# Energy of the last size: %.4g J per call, GPUs draw %s\n",
                 r->energy_j_per_call, orr_page_watts(page, r->gpu_power_mean_w));
  orr_page_add(page, "# Avg bus bandwidth    : %g\n", r->mean_busbw_bytes_per_s / 1e9);
}
