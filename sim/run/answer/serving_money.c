/*
 * serving_money.c - what a serving run costs: its GPUs for the time that they were held, and what
 * the machine draws for it; per token, and per task (money.c has the vocabulary).
 */
#include "sim/run/answer/answer_private.h"

/* A price for the time that replicas, encoders and pools of tasks hold their GPUs: others are free
 * for other use. Groups may have devices of their own. @ret_gpus: their mean number. */
static double hardware_per_s(const OrrReplayed *replayed, const OrrServingWork *work,
                             double *ret_gpus) {
  const double encoders =
      (double)(work->params.encoders.replicas + orr_tasks_gpus(&work->params.tasks, G_MAXUINT));
  double per_s = orr_money_hardware(replayed->prices, replayed->fabric,
                                    replayed->cluster->device.name, encoders);
  *ret_gpus = encoders;
  for (gint64 i = 0; i < work->params.replicas && work->end_s > 0; i++) {
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    const double each = work->replicas[i].held_s / work->end_s, held = each * (double)group->gpus;
    const double feeds = each * (double)group->params.parallel.feed.gpus;
    per_s +=
        orr_money_hardware(replayed->prices, replayed->fabric, group->cluster.device.name,
                           held - feeds) +
        orr_money_hardware(replayed->prices, replayed->fabric,
                           orr_serving_feed_device(&group->params, &group->cluster)->name, feeds);
    *ret_gpus += held;
  }
  return per_s;
}

/* Cores of hosts that are busy, mean over the run. */
static double host_cores(const OrrServingWork *work) {
  double busy_s = 0;
  for (gint64 i = 0; i < work->params.replicas; i++) busy_s += work->replicas[i].host_busy_s;
  ORR_EACH(const OrrServingTaskPoolRow, row, work->task_pools) busy_s += row->cpu_seconds;
  return work->end_s > 0 ? busy_s / work->end_s : 0;
}

void orr_serving_money(const OrrReplayed *replayed, const OrrServingWork *work,
                       OrrOutcome *outcome) {
  OrrServingResult *result = &outcome->result.serving;
  double gpus = 0;
  const double hardware = hardware_per_s(replayed, work, &gpus);
  const OrrMachineLoad load = {gpus, result->gpu_power_mean_w, host_cores(work)};
  result->machine = orr_cluster_power_machine(replayed->fabric, replayed->cluster, &load);
  orr_machine_rows_add(replayed->cluster, &result->machine, outcome);
  const OrrPrices prices = orr_serving_region_rows_prices(work, replayed->prices);
  const OrrMoneyQuestion question = {.prices = &prices,
                                     .gpus = gpus,
                                     .hardware_per_s = hardware,
                                     .watts = result->machine.all_w,
                                     .tokens_per_s = result->total_tokens_per_s};
  result->money = orr_money_of(&question);
  const double per_s = orr_money_per_s(&result->money, &question);
  orr_serving_task_rows(work, gpus, per_s, outcome);
  result->cost_per_million_input_tokens =
      result->input_tokens_per_s > 0 ? per_s / result->input_tokens_per_s * 1e6 : NAN;
  result->cost_per_million_output_tokens =
      result->output_tokens_per_s > 0 ? per_s / result->output_tokens_per_s * 1e6 : NAN;
}
