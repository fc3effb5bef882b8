/*
 * diffusion_rows.c - a replayed batch of pictures as rows: times and watts from the ledger.
 */
#include "sim/run/answer/answer_private.h"
#include "workloads/diffusion/diffusion.h"

static gboolean is_comm(int kind) { return kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM; }

/* Steps that were left out come after the last one that is replayed. */
static void fill_stages(const OrrReplayed *replayed, OrrDiffusionResult *r) {
  const OrrDiffusionWork *work = (const OrrDiffusionWork *)replayed->work;
  const GArray *ends = orr_ledger_step_ends(replayed->ledger);
  const OrrRepetition repeated = orr_ledger_repetition(replayed->ledger);
  const double copy_s = work->steps_copy_s;
  const double first_s = g_array_index(ends, double, 0) - copy_s;
  const double last_s = g_array_index(ends, double, work->full_steps - (gint64)repeated.times);
  r->latency_s = replayed->replay.end_s;
  r->text_s = first_s;
  r->denoise_s = last_s - first_s;
  if (repeated.times > 0) r->denoise_s += repeated.times * (repeated.to_s - repeated.from_s);
  r->step_s = (r->denoise_s - copy_s) / (double)work->full_steps;
  r->decode_s = r->latency_s - r->text_s - r->denoise_s;
}

static void fill_times(const OrrReplayed *replayed, OrrDiffusionResult *r) {
  double mean_s[ORR_N_TIMES];
  orr_ledger_mean(replayed->ledger, mean_s);
  r->gemm_s = mean_s[ORR_TIME_GEMM];
  r->attention_s = mean_s[ORR_TIME_ATTENTION];
  r->memory_s = mean_s[ORR_TIME_MEMORY];
  r->offload_s = mean_s[ORR_TIME_OFFLOAD];
  r->wait_s = mean_s[ORR_TIME_BUBBLE] + mean_s[ORR_TIME_HOST];
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    if (is_comm(kind)) r->exposed_comm_s += mean_s[kind];
}

static double flops_of(const OrrDiffusionWork *work) {
  const OrrDiffusionStage *stages = work->stages;
  return (double)work->ranks *
         (stages[ORR_STAGE_TEXT].flops + stages[ORR_STAGE_DECODER].flops +
          (double)(work->full_steps * work->passes) * stages[ORR_STAGE_STEP].flops);
}

/* Activations are a lower bound, so what does not fit here does not fit. */
static void warn_memory(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrDiffusionWork *work = (const OrrDiffusionWork *)replayed->work;
  const OrrDevice *device = &replayed->cluster->device;
  g_autofree char *weights = orr_quantity_format(work->weight_bytes, ORR_UNIT_BYTES);
  g_autofree char *activations = orr_quantity_format(work->activation_bytes, ORR_UNIT_BYTES);
  g_autofree char *has = orr_quantity_format(device->memory_bytes, ORR_UNIT_BYTES);
  if (work->weight_bytes + work->activation_bytes <= device->memory_bytes) return;
  g_ptr_array_add(
      outcome->warnings,
      work->weight_bytes > device->memory_bytes
          ? g_strdup_printf("the weights (%s) do not fit the %s of %s: give parallel.tp or offload",
                            weights, has, device->name)
          : g_strdup_printf("it does not fit: %s of weights and at least %s of activations are "
                            "more than the %s of %s: make batch smaller, or give decode.tile, "
                            "parallel or offload",
                            weights, activations, has, device->name));
}

static void add_warnings(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrDiffusionWork *work = (const OrrDiffusionWork *)replayed->work;
  orr_replayed_warn_idle(replayed, "generate", outcome);
  warn_memory(replayed, outcome);
  orr_replayed_warn_outside(work->cost_s, outcome);
}

void orr_diffusion_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrDiffusionWork *work = (const OrrDiffusionWork *)replayed->work;
  OrrDiffusionResult *r = &outcome->result.diffusion;
  fill_stages(replayed, r);
  fill_times(replayed, r);
  r->batch = work->batch;
  r->outputs_per_s = (double)work->batch / r->latency_s;
  r->tokens = work->positions;
  r->flops = flops_of(work);
  r->tflops_per_gpu = r->flops / r->latency_s / (double)work->ranks / 1e12;
  r->weight_bytes = work->weight_bytes;
  r->activation_bytes = work->activation_bytes;
  r->gpu_power_mean_w = orr_replayed_power(replayed, r->latency_s, r->n_gpus, &r->machine, outcome);
  r->energy_j_per_output = r->gpu_power_mean_w * r->latency_s / (double)r->batch;
  r->money = orr_replayed_money(replayed, (double)r->n_gpus, r->machine.all_w);
  orr_replayed_add_spans(replayed, outcome);
  orr_replayed_add_links(replayed, outcome);
  orr_link_time_add(replayed, outcome);
  add_warnings(replayed, outcome);
}

char *orr_diffusion_rows_explain(const OrrOutcome *outcome) {
  const OrrDiffusionResult *r = &outcome->result.diffusion;
  const double all = r->latency_s / 100;
  return g_strdup_printf("attention %.0f %%, gemm %.0f %%, memory-bound %.0f %%, communication "
                         "%.0f %%, waits %.0f %%; decoder %.0f %%",
                         r->attention_s / all, r->gemm_s / all, r->memory_s / all,
                         r->exposed_comm_s / all, r->wait_s / all, r->decode_s / all);
}
