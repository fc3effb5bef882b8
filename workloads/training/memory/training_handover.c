/*
 * training_handover - what a stage holds of tensors sent to and from its neighbours; that depends
 * on whose runtime sends them.
 *
 *   megatron   one boundary tensor in each direction
 *   torch      torch.distributed.pipelining (stage.py) has, for each micro-batch and block:
 *
 *                receive buffers    inputs, and gradients of outputs: allocated once, before the
 *                                   first step
 *                outputs            kept until the step ends: of all stages before pull request
 *                                   153383 (May 2025); since then of the last one, its logits
 *                inputs' gradients  .grad of what was received: cleared as the next step begins
 *
 *              At the end of the step it concatenates the last block's outputs (_merge_outputs: as
 *              many bytes again; pytorch issue 159251), in a segment that is larger than any that
 *              activations left.
 *
 * With b bytes per boundary tensor and m micro-batches, a block in the middle has 4 m b. The
 * received inputs of micro-batches under way are also their first layer's kept input, and are
 * counted there.
 */
#include "workloads/training/memory/training_memory.h"

const char *const orr_training_handover_words[] = {"auto", "megatron", "torch", NULL};

/* FSDP with a pipeline is torchtitan's, which uses torch.distributed.pipelining. */
static gboolean is_torch(const OrrJob *job) {
  const int runtime = job->params->pipeline_comm.runtime;
  return runtime == ORR_RUNTIME_TORCH || (runtime == ORR_RUNTIME_AUTO && job->sharding.weights);
}

/* How many blocks of the stage have a block before them, and how many have one after. */
static void count_neighbours(const OrrJob *job, gint64 stage, gint64 *ret_before,
                             gint64 *ret_after) {
  const gint64 n_blocks = orr_job_n_blocks(job);
  *ret_before = *ret_after = 0;
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const gint64 block = orr_pipeline_place(job->schedule, &job->shape, stage, chunk).block;
    *ret_before += block > 0;
    *ret_after += block + 1 < n_blocks;
  }
}

OrrHandoverBytes orr_handover_bytes_of(const OrrJob *job, gint64 stage, gint64 received) {
  const double boundary = orr_transformer_boundary_bytes(job->world->model, &job->shard);
  const gint64 m = job->shape.micro_batches;
  const gboolean trains = !job->params->evaluation;
  gint64 before, after;
  if (job->pp == 1) return (OrrHandoverBytes){0};
  if (!is_torch(job)) return (OrrHandoverBytes){.passing = 2 * boundary};
  count_neighbours(job, stage, &before, &after);
  const double inputs = (double)(m * before) * boundary, outputs = (double)(m * after) * boundary;
  const gboolean is_last = orr_job_holds(job, stage, ORR_LAYER_HEAD);
  const double logits =
      is_last ? (double)m * orr_transformer_logits_bytes(job->world->model, &job->shard) : 0;
  return (OrrHandoverBytes){.standing =
                                inputs - (double)received * boundary + (trains ? outputs : 0),
                            .passing = trains ? outputs + inputs + logits : logits,
                            .merged = logits};
}
