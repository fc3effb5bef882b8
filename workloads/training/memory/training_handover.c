/*
 * training_handover - what a stage holds of tensors on their way to and from its neighbours, by
 * whose runtime moves them.
 *
 *   megatron   a boundary tensor on its way in each direction
 *   torch      torch.distributed.pipelining (stage.py) has, for each micro-batch and block:
 *
 *                to receive into    inputs, and gradients of outputs      allocated once, before the first step
 *                outputs            kept until the step ends              (all stages': before pull request 153383,
 *                                                                         May 2025; the last one's, its logits, since)
 *                inputs' gradients  .grad of what was received            cleared as the next step begins
 *
 *              and puts the last block's outputs together when the step ends (_merge_outputs: once more as many bytes;
 *              pytorch issue 159251), where their segment is larger than any that activations left.
 *
 * b bytes of a boundary tensor, m micro-batches: a block in the middle has 4 m b, of which what is
 * received of micro-batches under way is their first layer's kept input, counted there.
 */
#include "workloads/training/training_private.h"

const char *const orr_pipeline_runtime_words[] = {"auto", "megatron", "torch", NULL};

/* Under a pipeline FSDP is torchtitan's. */
static gboolean is_torch(const OrrJob *job) {
  const int runtime = job->params->pipeline_comm.runtime;
  return runtime == ORR_RUNTIME_TORCH || (runtime == ORR_RUNTIME_AUTO && job->sharding.weights);
}

/* Blocks of a stage that have one before them, and one after. */
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

OrrHandoverBytes orr_training_handover_bytes(const OrrJob *job, gint64 stage, gint64 received) {
  const double boundary = orr_transformer_boundary_bytes(job->world->model, &job->shard);
  const gint64 m = job->shape.micro_batches;
  const gboolean trains = !job->params->evaluation;
  gint64 before, after;
  if (job->pp == 1) return (OrrHandoverBytes){0};
  if (!is_torch(job)) return (OrrHandoverBytes){.passing = 2 * boundary};
  count_neighbours(job, stage, &before, &after);
  const double inputs = (double)(m * before) * boundary, outputs = (double)(m * after) * boundary;
  const gboolean is_last = orr_job_holds(job, stage, ORR_UNIT_HEAD);
  const double logits =
      is_last ? (double)m * orr_transformer_logits_bytes(job->world->model, &job->shard) : 0;
  return (OrrHandoverBytes){.standing =
                                inputs - (double)received * boundary + (trains ? outputs : 0),
                            .passing = trains ? outputs + inputs + logits : logits,
                            .merged = logits};
}
