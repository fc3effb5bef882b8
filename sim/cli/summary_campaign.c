/*
 * summary_campaign.c - writes the result of a campaign in a few lines.
 */
#include "sim/cli/summary.h"

#include "sim/bands/band.h"
#include "sim/run/answer/campaign_rows.h"

enum { MOST_CAUSES = 4, FEW_SEEDS = 5 };

static void add_goodput(OrrPage *page, const OrrCampaignResult *r) {
  orr_page_line(page, "goodput", "%.2f %% of the time trains tokens that are kept",
                100 * r->goodput);
  const gboolean is_cut = r->goodput_low <= 0 || (r->goodput_high >= 1 && r->goodput_low < 1);
  if (isnan(r->goodput_low)) return;
  if (r->seeds < FEW_SEEDS && is_cut) /* the interval reaches beyond 0 or 100 % */
    orr_page_more(page, " (mean of %d seeds: too few seeds for an interval; p5 %.2f, p95 %.2f)",
                  (int)r->seeds, 100 * r->goodput_p5, 100 * r->goodput_p95);
  else
    orr_page_more(page, " (mean of %d seeds: %.2f to %.2f at 95 %%; seeds p5 %.2f, p95 %.2f)",
                  (int)r->seeds, 100 * r->goodput_low, 100 * r->goodput_high, 100 * r->goodput_p5,
                  100 * r->goodput_p95);
}

static void add_failures(OrrPage *page, const OrrCampaignResult *r) {
  orr_page_line(page, "failures", "%.1f, mean time to failure %s; %.1f restarts", r->failures,
                isnan(r->mttf_s) ? "none" : orr_page_seconds(page, r->mttf_s), r->restarts);
  if (r->stopped > 0)
    orr_page_line(page, "stopped", "%.1f %% of the seeds ended before their time",
                  100 * r->stopped);
}

/* The causes that lose most time, over all phases; rows of a cause stand together. */
static void add_causes(OrrPage *page, const GArray *losses) {
  g_autoptr(GArray) sums = g_array_new(FALSE, FALSE, sizeof(OrrCampaignLossRow));
  ORR_EACH(const OrrCampaignLossRow, row, losses) {
    OrrCampaignLossRow *last =
        sums->len > 0 ? &g_array_index(sums, OrrCampaignLossRow, sums->len - 1) : NULL;
    if (last && g_str_equal(last->cause, row->cause))
      last->fraction += row->fraction;
    else
      g_array_append_val(sums, *row);
  }
  for (guint place = 0; place < MIN(sums->len, MOST_CAUSES); place++) {
    OrrCampaignLossRow *most = &g_array_index(sums, OrrCampaignLossRow, 0);
    for (guint i = 1; i < sums->len; i++)
      if (g_array_index(sums, OrrCampaignLossRow, i).fraction > most->fraction)
        most = &g_array_index(sums, OrrCampaignLossRow, i);
    if (place == 0) orr_page_line(page, "causes", "%s", "");
    orr_page_item(page, "%s %.2f %%", most->cause, 100 * most->fraction);
    most->fraction = -1;
  }
}

static void add_token_band(OrrPage *page, const OrrBandRow *row) {
  if (!row || isnan(row->low)) return;
  orr_page_more(page, "; %.3g to %.3g trillion (%.3g %% band; weak: %s)", row->low / 1e12,
                row->high / 1e12, 100 * row->level, row->reason);
}

void orr_summary_campaign(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrCampaignResult *r = &outcome->result.campaign;
  const char *lost = orr_page_keep(page, orr_campaign_rows_kind.explain(outcome));
  orr_page_line(page, "machine", "%s GPUs (%s) of %s, %d spare node%s",
                orr_page_count(page, (double)r->n_gpus), scenario->cluster.device.name,
                scenario->cluster.name, (int)scenario->campaign.spares,
                scenario->campaign.spares == 1 ? "" : "s");
  orr_page_line(page, "campaign", "%s, policy %s; a healthy step takes %s",
                orr_page_seconds(page, r->duration_s), scenario->campaign.policy.entry->name,
                orr_page_seconds(page, r->step_s));
  add_goodput(page, r);
  orr_page_line(page, "tokens", "%.4g trillion in %s of effective time, %.4g billion per day",
                r->tokens / 1e12, orr_page_seconds(page, r->effective_s), r->tokens_per_day / 1e9);
  add_token_band(page, orr_bands_row(outcome, "tokens"));
  add_failures(page, r);
  orr_summary_energy(page, outcome,
                     orr_page_text(page, "%.3g J per token kept", r->energy_j_per_token),
                     "energy_j_per_token", r->gpu_power_mean_w, &r->machine);
  if (*lost) orr_page_line(page, "lost to", "%s", lost);
  add_causes(page, outcome->campaign_losses);
  orr_page_line(page, "nodes out",
                "%.0f or fewer half of the time, %.0f for 99 %%; most at once %.0f (P99 %.0f)",
                r->out_p50, r->out_p99, r->out_most_p50, r->out_most_p99);
}
