/*
 * serving_joules.c - joules of operators, collectives and attention's cores of a step.
 */
#include "workloads/serving/cost/serving_joules.h"

OrrJoules orr_serving_joules_operator(const OrrServingCostParams *params, const OrrOperator *op,
                                      double time_s) {
  const OrrCostModel *model = params->world->cost;
  if (op->kind != ORR_OPERATOR_COMM) return orr_cost_energy_operator(model, op, time_s);
  return orr_cost_energy_link(model, orr_serving_collectives_sent(params, op), time_s);
}

/* Two products per pair, over the size of a key and of a value. Latent values are part of the keys
 * and read with them. */
OrrJoules orr_serving_joules_core(const OrrServingCostParams *params,
                                  const OrrInferenceHeads *heads, OrrServingCoreWork work,
                                  double time_s) {
  const OrrInferenceShard *shard = &params->shard;
  const double n = (double)heads->heads, d = (double)heads->head_dim,
               value = heads->value_dim ? (double)heads->value_dim : d;
  const double stored = (double)heads->kv_heads * (heads->latent ? d : d + value);
  const OrrOperator op = {.kind = ORR_OPERATOR_ATTENTION,
                          .dtype = shard->activations,
                          .flops = 2 * n * (d + value) * work.pairs,
                          .bytes =
                              work.keys * stored * orr_dtype_bytes(shard->kv) +
                              work.tokens * n * (d + value) * orr_dtype_bytes(shard->activations)};
  return orr_cost_energy_operator(params->world->cost, &op, time_s);
}

void orr_serving_joules_sample(const OrrCostModel *model, double sampling_s, OrrStepTime *time) {
  if (sampling_s <= 0) return;
  const double stretched_s = sampling_s * orr_cost_energy_busy_stretch(model);
  time->gpu_s += stretched_s;
  time->stage_s += stretched_s;
  orr_joules_add(&time->joules, orr_cost_energy_busy(model, stretched_s), 1);
}

void orr_serving_joules_stretch(const OrrServingCostParams *params, OrrStepTime *time) {
  const double times = orr_cost_energy_stretch(params->world->cost, time->joules, time->gpu_s);
  time->gpu_s *= times;
  time->stage_s *= times;
}
