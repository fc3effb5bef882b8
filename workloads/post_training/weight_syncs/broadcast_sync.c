/*
 * broadcast_sync.c - NCCL: each message is gathered on the trainer and broadcast to the engines,
 * one after the other.
 *
 *   t = step + tensors * tensor + messages (gather + send)
 */
#include "workloads/post_training/weight_syncs/weight_sync.h"

static double seconds(const OrrWeightSyncParams *params, const OrrWeightLoad *load,
                      const OrrWeightCalls *calls) {
  return params->step_s + load->tensors * params->tensor_s +
         orr_weight_sync_messages(params, load) * (calls->gather_s + calls->send_s);
}

static const OrrField fields[] = {ORR_WEIGHT_SYNC_FIELDS("0 B", "0 s")};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("sync-broadcast", "NCCL broadcasts.", OrrWeightSyncParams, fields);

const OrrWeightSync orr_weight_sync_broadcast = {
    .entry = {"broadcast", "Weights are gathered on the trainer and broadcast by NCCL.", &table},
    .gathers = TRUE,
    .sends = TRUE,
    .refuses_shared = "it sends to GPUs of their own: set pools.rollout-gpus, or sync: ipc",
    .seconds = seconds};
