/*
 * served.c - what the client of a request saw, and whether that met its objectives.
 */
#include "workloads/serving/fleet/fleet_private.h"

static const OrrSlo *slo_of(const OrrServing *params, guint group) {
  const OrrRequestClass *one =
      params->classes && group < params->classes->len ? params->classes->pdata[group] : NULL;
  const gboolean has_own =
      one && (one->slo.ttft_s > 0 || one->slo.tpot_s > 0 || one->slo.e2e_s > 0);
  return has_own ? &one->slo : &params->slo;
}

/* A request of one output token has no time per token after the first. vLLM counts it as 0, AIPerf
 * as an objective that is not met. */
static void judge(const OrrServing *params, OrrServedRequest *served) {
  OrrServingRequestRow *row = &served->row;
  const OrrSlo *slo = slo_of(params, served->group);
  const gboolean has_gap =
      row->output_tokens > 1 || params->metrics.definition != ORR_METRICS_AIPERF;
  served->first_is_good = slo->ttft_s <= 0 || row->ttft_s <= slo->ttft_s;
  served->gap_is_good = slo->tpot_s <= 0 || (has_gap && row->tpot_s <= slo->tpot_s);
  row->good =
      served->first_is_good && served->gap_is_good && (slo->e2e_s <= 0 || row->e2e_s <= slo->e2e_s);
}

static void set_measured(const OrrRequest *request, OrrServingRequestRow *row) {
  row->measured_ttft_s = row->measured_tpot_s = row->measured_e2e_s = NAN;
  if (request->measured_end_s <= 0) return;
  row->measured_ttft_s = request->measured_first_s - row->arrival_s;
  row->measured_e2e_s = request->measured_end_s - row->arrival_s;
  if (request->output > 1)
    row->measured_tpot_s =
        (request->measured_end_s - request->measured_first_s) / (request->output - 1);
}

OrrServedRequest orr_served_row(const OrrServingRun *run, const OrrRequest *request) {
  const OrrServing *params = &run->work->params;
  const double start_s = run->start_s, token_s = params->engine.host.token_s;
  const double arrival_s = request->arrival_s - start_s;
  const double end_s = request->last_token_s - start_s;
  OrrServedRequest all = {
      .row = {.request = request->id,
              .replica = request->replica,
              .arrival_s = arrival_s,
              .queue_s = request->scheduled_s - start_s - arrival_s - request->out_s,
              .ttft_s = request->first_token_s - start_s - arrival_s + token_s,
              .e2e_s = end_s - arrival_s + token_s,
              .input_tokens = request->prompt,
              .output_tokens = request->output,
              .cached_tokens = request->hit,
              .preemptions = request->preemptions,
              .handover_s = NAN,
              .network_s = NAN},
      .group = request->group,
      .region = request->region,
      .end_s = end_s};
  OrrServingRequestRow *row = &all.row;
  if (request->output > 1) row->tpot_s = (row->e2e_s - row->ttft_s) / (request->output - 1);
  set_measured(request, row);
  judge(params, &all);
  return all;
}
