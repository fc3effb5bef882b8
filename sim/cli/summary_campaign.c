/*
 * summary_campaign.c - writes the result of a campaign in a few lines.
 */
#include "sim/cli/summary_campaign.h"

#include <math.h>

#include "sim/base/quantity.h"
#include "sim/cli/show.h"
#include "sim/run/answer/campaign_rows.h"

enum { MOST_CAUSES = 4 };

G_GNUC_PRINTF(3, 4)
static void add(GString *out, const char *label, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_string_append_printf(out, "  %-13s ", label);
  g_string_append_vprintf(out, format, arguments);
  g_string_append_c(out, '\n');
  va_end(arguments);
}

static void add_goodput(GString *out, const OrrCampaignResult *r) {
  if (isnan(r->goodput_low))
    add(out, "goodput", "%.2f %% of the time trains tokens that are kept", 100 * r->goodput);
  else
    add(out, "goodput",
        "%.2f %% of the time trains tokens that are kept (mean of %d seeds: %.2f to %.2f at 95 %%; "
        "seeds p5 %.2f, p95 %.2f)",
        100 * r->goodput, (int)r->seeds, 100 * r->goodput_low, 100 * r->goodput_high,
        100 * r->goodput_p5, 100 * r->goodput_p95);
}

static void add_failures(GString *out, const OrrCampaignResult *r) {
  g_autofree char *mttf =
      isnan(r->mttf_s) ? g_strdup("none") : orr_quantity_format(r->mttf_s, ORR_UNIT_SECONDS);
  add(out, "failures", "%.1f, mean time to failure %s; %.1f restarts", r->failures, mttf,
      r->restarts);
  if (r->stopped > 0)
    add(out, "stopped", "%.1f %% of the seeds ended before their time", 100 * r->stopped);
}

static void add_energy(GString *out, const OrrCampaignResult *r) {
  if (isnan(r->gpu_power_mean_w)) return;
  g_autofree char *gpus = orr_quantity_format(r->gpu_power_mean_w, ORR_UNIT_WATTS),
                  *machine = orr_quantity_format(r->machine.all_w, ORR_UNIT_WATTS),
                  *left_out = orr_cluster_power_left_out(&r->machine);
  const gboolean is_known = !isnan(r->machine.all_w);
  add(out, "energy", "%.3g J per token kept; GPUs draw %s%s%s%s", r->energy_j_per_token, gpus,
      is_known ? ", the machine " : "", is_known ? machine : "", is_known ? left_out : "");
}

/* The causes that lose most time, over all phases; rows of a cause stand together. */
static void add_causes(GString *out, const GArray *losses) {
  g_autoptr(GArray) sums = g_array_new(FALSE, FALSE, sizeof(OrrCampaignLossRow));
  for (guint i = 0; i < losses->len; i++) {
    const OrrCampaignLossRow *row = &g_array_index(losses, OrrCampaignLossRow, i);
    OrrCampaignLossRow *last =
        sums->len > 0 ? &g_array_index(sums, OrrCampaignLossRow, sums->len - 1) : NULL;
    if (last && g_str_equal(last->cause, row->cause))
      last->fraction += row->fraction;
    else
      g_array_append_val(sums, *row);
  }
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint place = 0; place < MIN(sums->len, MOST_CAUSES); place++) {
    OrrCampaignLossRow *most = &g_array_index(sums, OrrCampaignLossRow, 0);
    for (guint i = 1; i < sums->len; i++)
      if (g_array_index(sums, OrrCampaignLossRow, i).fraction > most->fraction)
        most = &g_array_index(sums, OrrCampaignLossRow, i);
    g_string_append_printf(text, "%s%s %.2f %%", place > 0 ? ", " : "", most->cause,
                           100 * most->fraction);
    most->fraction = -1;
  }
  if (text->len > 0) add(out, "causes", "%s", text->str);
}

void orr_summary_campaign(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrCampaignResult *r = &outcome->result.campaign;
  g_autofree char *gpus = orr_show_count(r->n_gpus);
  g_autofree char *step = orr_quantity_format(r->step_s, ORR_UNIT_SECONDS);
  g_autofree char *duration = orr_quantity_format(r->duration_s, ORR_UNIT_SECONDS);
  g_autofree char *effective = orr_quantity_format(r->effective_s, ORR_UNIT_SECONDS);
  g_autofree char *lost = orr_campaign_rows_kind.explain(outcome);
  add(out, "machine", "%s GPUs (%s) of %s, %d spare nodes", gpus, scenario->cluster.device.name,
      scenario->cluster.name, (int)scenario->campaign.spares);
  add(out, "campaign", "%s, policy %s; a healthy step takes %s", duration,
      scenario->campaign.policy.entry->name, step);
  add_goodput(out, r);
  add(out, "tokens", "%.4g trillion in %s of effective time, %.4g billion per day",
      r->tokens / 1e12, effective, r->tokens_per_day / 1e9);
  add_failures(out, r);
  add_energy(out, r);
  if (*lost) add(out, "lost to", "%s", lost);
  add_causes(out, outcome->campaign_losses);
  add(out, "nodes out",
      "%.0f or fewer half of the time, %.0f for 99 %%; most at once %.0f (P99 %.0f)", r->out_p50,
      r->out_p99, r->out_most_p50, r->out_most_p99);
}
