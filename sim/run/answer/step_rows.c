/*
 * step_rows.c - a replayed step that all GPUs run alike, as rows: times and watts from the ledger.
 */
#include "sim/run/answer/answer_private.h"
#include "workloads/steps/batch_step.h"

static void fill_times(const OrrReplayed *replayed, OrrStepResult *r) {
  double mean_s[ORR_N_TIMES];
  orr_ledger_mean(replayed->ledger, mean_s);
  r->step_s = replayed->replay.end_s;
  r->gemm_s = mean_s[ORR_TIME_GEMM];
  r->attention_s = mean_s[ORR_TIME_ATTENTION];
  r->memory_s = mean_s[ORR_TIME_MEMORY];
  r->optimizer_s = mean_s[ORR_TIME_OPTIMIZER];
  r->host_memory_s = mean_s[ORR_TIME_OFFLOAD];
  r->wait_s = mean_s[ORR_TIME_BUBBLE] + mean_s[ORR_TIME_HOST];
  for (int kind = ORR_TIME_TP_COMM; kind <= ORR_TIME_DP_COMM; kind++)
    r->exposed_comm_s += mean_s[kind];
}

static void add_warnings(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrBatchStep *step = (const OrrBatchStep *)replayed->work;
  const double memory = replayed->cluster->device.memory_bytes;
  if (step->model_bytes > memory) {
    g_autofree char *holds = orr_quantity_format(step->model_bytes, ORR_UNIT_BYTES);
    g_autofree char *has = orr_quantity_format(memory, ORR_UNIT_BYTES);
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("weights, gradients and the optimizer's state (%s) do not fit "
                                    "the %s of %s",
                                    holds, has, replayed->cluster->device.name));
  }
  orr_replayed_warn_outside(step->cost_s, outcome);
}

void orr_step_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrBatchStep *step = (const OrrBatchStep *)replayed->work;
  OrrStepResult *r = &outcome->result.step;
  fill_times(replayed, r);
  r->batch = step->batch;
  r->samples_per_s = step->batch / r->step_s;
  r->samples_per_s_per_gpu = r->samples_per_s / (double)r->n_gpus;
  r->flops = step->flops;
  r->tflops_per_gpu = r->flops / r->step_s / 1e12;
  r->parameters = step->parameters;
  r->model_bytes = step->model_bytes;
  r->gpu_power_mean_w = orr_replayed_power(replayed, r->step_s, r->n_gpus, &r->machine, outcome);
  r->energy_j_per_sample = r->gpu_power_mean_w / r->samples_per_s;
  r->money = orr_replayed_money(replayed, (double)r->n_gpus, r->machine.all_w);
  orr_replayed_add_spans(replayed, outcome);
  orr_replayed_add_links(replayed, outcome);
  orr_link_time_add(replayed, outcome);
  add_warnings(replayed, outcome);
}

char *orr_step_rows_explain(const OrrOutcome *outcome) {
  const OrrStepResult *r = &outcome->result.step;
  const double all = r->step_s / 100;
  return g_strdup_printf(
      "gemm %.0f %%, attention %.0f %%, memory-bound %.0f %%, optimizer %.0f %%, "
      "communication %.0f %%, waits %.0f %%",
      r->gemm_s / all, r->attention_s / all, r->memory_s / all, r->optimizer_s / all,
      r->exposed_comm_s / all, r->wait_s / all);
}
