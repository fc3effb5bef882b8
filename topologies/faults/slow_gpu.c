/*
 * slow_gpu.c - slow-gpu: a straggler, whose kernels take longer.
 *
 *   fault: {kind: slow-gpu, gpu: 5, slower: 20 %}     kernels take 1.2 times as long
 *
 * Its tensor-parallel group waits for it in each collective, its pipeline waits for its stage, and
 * all replicas wait for its gradients: one GPU slows down the job. Collectives are not slower:
 * links bound them.
 */
#include "topologies/machine_fault.h"

typedef struct {
  gint64 gpu;
  double slower;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "slow-gpu", "Parameters of the fault slow-gpu.", Params,
    ORR_MACHINE_FAULT_GPU(Params, "The GPU of the machine; -1: drawn at random (needs mtbf)."),
    ORR_FIELD_REAL(Params, "slower", slower, ORR_UNIT_FRACTION, "10 %",
                   "How much longer its kernels take: 20 % is 1.2 times as long.", .min = 0,
                   .max = 1000));

static gboolean strike(const void *data, const OrrFaultTarget *target, GArray *effects,
                       char **ret_what, GError **error) {
  const Params *params = data;
  OrrFaultEffect effect = {ORR_FAULT_EFFECT_GPU, 0, params->slower};
  if (!orr_machine_fault_pick(target, "GPU", params->gpu, orr_cluster_n_gpus(target->cluster),
                              &effect.index, error))
    return FALSE;
  g_array_append_val(effects, effect);
  *ret_what = g_strdup_printf("GPU %ld %g %% slower", effect.index, 100 * params->slower);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_slow_gpu = {
    .entry = {"slow-gpu", "A straggler: a GPU whose kernels take longer.", &table},
    .strike = strike,
};
