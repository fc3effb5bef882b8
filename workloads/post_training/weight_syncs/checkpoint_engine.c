/*
 * checkpoint_engine.c - Moonshot's checkpoint-engine: every trainer GPU copies its part of the
 * weights to the host, buckets are then read back and broadcast, and the copies of one bucket
 * overlap the broadcast of the one before.
 *
 *   c       = bytes / trainer GPUs / host link
 *   blocked = step + tensors * tensor / launch-speed + 2 (bytes / engine's GPUs) / memory bandwidth
 *   copy    = c + max(c, messages * send) + blocked
 *
 * The engines generate until the weights lie in a buffer of their own, and stand still only while
 * they load from it: verl measures 20 ms for the 15 GB of a 7B (rl-weight-sync), which a link of
 * 450 GB/s could not carry.
 */
#include "workloads/post_training/weight_syncs/weight_sync.h"

static OrrWeightTimes times(const OrrWeightSyncParams *params, const OrrWeightLoad *load,
                            const OrrWeightCalls *calls) {
  const double copy_s = load->bytes / (double)load->trainer_gpus / load->host_copy_bytes_per_s;
  const double own = load->bytes / (double)load->engine_gpus;
  const double blocked_s =
      params->step_s + orr_weight_sync_tensors_s(params, load) + 2 * own / load->memory_bytes_per_s;
  const double sent_s = fmax(copy_s, orr_weight_sync_messages(params, load) * calls->send_s);
  return (OrrWeightTimes){copy_s + sent_s + blocked_s, blocked_s};
}

static const OrrFieldTable table =
    ORR_FIELDS("sync-checkpoint-engine", "Buckets through host memory.", OrrWeightSyncParams,
               ORR_WEIGHT_SYNC_FIELDS("1 GiB", "0 s"));

const OrrWeightSync orr_weight_sync_checkpoint_engine = {
    .entry = {"checkpoint-engine",
              "Weights go to host memory and are broadcast in buckets, copies during sends.",
              &table},
    .sends = TRUE,
    .refuses_shared = "it sends to GPUs of their own: set pools.rollout-gpus, or sync: ipc",
    .times = times};
