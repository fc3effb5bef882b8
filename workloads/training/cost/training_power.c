/*
 * training_power.c - the mean power of each kind of time, over the operators of a step.
 *
 *   watts of a kind = sum of its operators' joules / sum of their seconds, within the board's limit
 *
 * While a collective holds up compute, its kernel is on the board and its bytes cross the links at
 * the rate that they reach (scale-up-efficiency); what collectives beside compute add is left out.
 * A GPU that waits, for its stage, its host or a file system, draws its static power: NCCL's
 * kernels spin on a few multiprocessors then, which is not counted.
 */
#include "workloads/training/cost/training_costs.h"

static gboolean is_comm(int kind) { return kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM; }

/* A second of a collective on the critical path. */
static OrrJoules comm_second(const OrrJob *job) {
  const OrrDevice *device = &job->world->cluster->device;
  const double bytes = device->scale_up_bytes_per_s * device->scale_up_efficiency;
  return orr_cost_energy_link(job->world->cost, bytes, 1);
}

OrrWorkPower orr_training_power(const OrrTrainingCosts *costs, const OrrJob *job) {
  const OrrCostModel *model = job->world->cost;
  OrrWorkPower power = {.is_known = orr_cost_energy_is_known(model),
                        .static_w = orr_device_power_static_w(&job->world->cluster->device.power)};
  double seconds[ORR_N_TIMES] = {0};
  if (!power.is_known) return power;
  ORR_EACH(const OrrCostedOperator, one, costs->operators) {
    const int kind = orr_training_costs_kind(&one->op);
    seconds[kind] += one->count * one->each_s;
    orr_joules_add(&power.watts[kind], orr_cost_energy_operator(model, &one->op, one->each_s),
                   one->count);
  }
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    OrrJoules second = {0};
    if (is_comm(kind)) second = comm_second(job);
    if (seconds[kind] > 0) orr_joules_add(&second, power.watts[kind], 1 / seconds[kind]);
    power.watts[kind] = orr_cost_energy_limited(model, second, 1);
  }
  return power;
}
