/*
 * checkpoint_engine.c - Moonshot's checkpoint-engine: every trainer GPU copies its part of the
 * weights to the host, buckets are then read back and broadcast, and the copies of one bucket
 * overlap the broadcast of the one before.
 *
 *   c = bytes / trainer GPUs / host link
 *   t = step + tensors * tensor + c + max(c, messages * send)
 */
#include <math.h>

#include "workloads/post_training/weight_syncs/weight_sync.h"

static double seconds(const OrrWeightSyncParams *params, const OrrWeightLoad *load,
                      const OrrWeightCalls *calls) {
  const double copy_s = load->bytes / (double)load->trainer_gpus / load->host_link_bytes_per_s;
  return params->step_s + load->tensors * params->tensor_s + copy_s +
         fmax(copy_s, orr_weight_sync_messages(params, load) * calls->send_s);
}

static const OrrField fields[] = {ORR_WEIGHT_SYNC_FIELDS("1 GiB", "0 s")};
static const OrrFieldTable table = ORR_FIELD_TABLE(
    "sync-checkpoint-engine", "Buckets through host memory.", OrrWeightSyncParams, fields);

const OrrWeightSync orr_weight_sync_checkpoint_engine = {
    .entry = {"checkpoint-engine",
              "Weights go to host memory and are broadcast in buckets, copies during sends.",
              &table},
    .sends = TRUE,
    .refuses_shared = "it sends to GPUs of their own: set pools.rollout-gpus, or sync: ipc",
    .seconds = seconds};
