/*
 * campaign_costs.c - watts by the time that the job computes and waits, and their price.
 */
#include "sim/run/answer/campaign_rows.h"

#include "sim/run/answer/answer_private.h"

/* The fraction of the campaign's time in which GPUs compute. */
static double busy_of(const OrrOutcome *outcome) {
  const OrrCampaignResult *r = &outcome->result.campaign;
  double busy_s = r->effective_s;
  ORR_EACH(const OrrCampaignLossRow, row, outcome->campaign_losses)
    if (g_str_equal(row->phase, orr_campaign_phase_words[ORR_PHASE_RECOMPUTE]))
      busy_s += row->seconds;
  return r->duration_s > 0 ? busy_s / r->duration_s : NAN;
}

static double boards_w(const OrrCluster *cluster, double gpus, double spares, double busy,
                       double healthy_w) {
  const OrrDevicePower *power = &cluster->device.power;
  const double static_w = orr_device_power_static_w(power);
  const double idle_w = power->idle_w > 0 ? power->idle_w : static_w;
  return busy * healthy_w + (1 - busy) * gpus * static_w + spares * idle_w;
}

void orr_campaign_costs(const OrrCluster *cluster, const OrrPrices *prices, gint64 spares,
                        const OrrCampaignFleetDraw *draw, OrrOutcome *outcome) {
  OrrCampaignResult *r = &outcome->result.campaign;
  const double gpus = (double)r->n_gpus, each = (double)cluster->node.gpus;
  const double spare_gpus = (double)spares * each, busy = busy_of(outcome);
  r->gpu_power_mean_w = boards_w(cluster, gpus, spare_gpus, busy, draw->gpus_w);
  const double waiting = (1 - busy) * gpus / each + (double)spares;
  r->machine =
      orr_cluster_power_interrupted(cluster, &draw->machine, busy, waiting, r->gpu_power_mean_w);
  orr_machine_rows_add(cluster, &r->machine, outcome);
  r->energy_j_per_token = r->gpu_power_mean_w / r->tokens_per_s;
  const double held = gpus + spare_gpus;
  const OrrMoneyQuestion question = {.prices = prices,
                                     .gpus = held,
                                     .hardware_per_s = draw->hardware_per_gpu_hour * held / 3600,
                                     .watts = r->machine.all_w,
                                     .tokens_per_s = r->tokens_per_s};
  r->money = orr_money_of(&question);
  r->cost = orr_money_per_s(&r->money, &question) * r->duration_s;
  r->cost_lost = r->cost * (1 - r->effective_s / r->duration_s);
}
