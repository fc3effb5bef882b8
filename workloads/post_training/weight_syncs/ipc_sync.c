/*
 * ipc_sync.c - engines on the trainer's own GPUs: each message is gathered, its memory is opened by
 * the engine's process (CUDA IPC), and every GPU copies its own part.
 *
 *   t = step + tensors * tensor / launch-speed + messages gather
 *       + 2 (bytes / engine's GPUs) / memory bandwidth
 */
#include "workloads/post_training/weight_syncs/weight_sync.h"

static OrrWeightTimes times(const OrrWeightSyncParams *params, const OrrWeightLoad *load,
                            const OrrWeightCalls *calls) {
  const double own = load->bytes / (double)load->engine_gpus;
  const double all_s = params->step_s + orr_weight_sync_tensors_s(params, load) +
                       orr_weight_sync_messages(params, load) * calls->gather_s +
                       2 * own / load->memory_bytes_per_s;
  return (OrrWeightTimes){all_s, all_s};
}

static const OrrFieldTable table =
    ORR_FIELDS("sync-ipc", "Copies within a GPU.", OrrWeightSyncParams,
               ORR_WEIGHT_SYNC_FIELDS("1 GiB", "0 s"));

const OrrWeightSync orr_weight_sync_ipc = {
    .entry = {"ipc", "Engines on the trainer's GPUs copy their part of gathered weights.", &table},
    .gathers = TRUE,
    .refuses_apart = "its engines share the trainer's GPUs: use broadcast or checkpoint-engine",
    .times = times};
