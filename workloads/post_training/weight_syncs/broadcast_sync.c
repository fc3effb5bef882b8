/*
 * broadcast_sync.c - NCCL: each message is gathered on the trainer and broadcast to the engines,
 * one after the other.
 *
 *   t = step + tensors * tensor / launch-speed + messages (gather + send)
 *
 * The engines load each message as it comes: they stand still all the time.
 */
#include "workloads/post_training/weight_syncs/weight_sync.h"

static OrrWeightTimes times(const OrrWeightSyncParams *params, const OrrWeightLoad *load,
                            const OrrWeightCalls *calls) {
  const double all_s = params->step_s + orr_weight_sync_tensors_s(params, load) +
                       orr_weight_sync_messages(params, load) * (calls->gather_s + calls->send_s);
  return (OrrWeightTimes){all_s, all_s};
}

static const OrrFieldTable table =
    ORR_FIELDS("sync-broadcast", "NCCL broadcasts.", OrrWeightSyncParams,
               ORR_WEIGHT_SYNC_FIELDS("0 B", "0 s"));

const OrrWeightSync orr_weight_sync_broadcast = {
    .entry = {"broadcast", "Weights are gathered on the trainer and broadcast by NCCL.", &table},
    .gathers = TRUE,
    .sends = TRUE,
    .refuses_shared = "it sends to GPUs of their own: set pools.rollout-gpus, or sync: ipc",
    .times = times};
