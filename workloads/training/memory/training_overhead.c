/*
 * training_overhead - estimates the memory that libraries take for themselves.
 *
 *   context         CUDA's context and the kernels that it has loaded: 1343 MB (Hugging Face
 *                   transformers, "Model training anatomy", nvidia-smi after one small tensor,
 *                   2022); an H100 has 1.06 GB before its first collective (NVIDIA/nccl issue 1685,
 *                   2025)
 *   communicators   NCCL's buffers, one set for each group that has called a collective: 4 MiB
 *                   (Simple), 4.7 MiB (LL128) and 0.5 MiB (LL) per channel and connection, 24
 *                   channels over NVLink, the connections of a ring and of a tree. Measured on
 *                   A100: 688 MB; 544 MB for two ranks (issue 964, 2023). An all-to-all connects
 *                   every rank with every other: 4.34 - 1.06 GB on eight H100 (issue 1685).
 *                   DeepEP's exchange has its own buffers instead: 0.7 GB for DeepSeek-V3 over 64
 *                   ranks
 *   workspace       cuBLAS: 32 MiB, PyTorch's default on Hopper (8 MiB before;
 *                   CUBLAS_WORKSPACE_CONFIG)
 *   flat copies     of gradients: DDP's buckets, DeepSpeed's, and its update's
 *                   (workloads/training/sharding)
 *
 * The groups are Megatron's (parallel_state.py): tensor, context, data, pipeline, model (the
 * gradient norm), embedding, expert, expert data, and the world. Flat copies are larger than any
 * segment of activations, and PyTorch's allocator neither joins segments nor returns them: the
 * copies add to activations that are dead by then.
 */
#include "workloads/training/memory/training_memory.h"

#include "workloads/training/job/training_groups.h"

#define BYTES(key_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_REAL(OrrOverhead, key_, member_, ORR_UNIT_BYTES, fallback_, sentence_,                 \
                 .flags = ORR_FIELD_UNSIGNED)

static const char *const allocator_words[] = {"caching", "expandable", NULL};

const OrrFieldTable orr_training_overhead_table = ORR_FIELDS(
    "memory", "GPU memory that libraries take for themselves; 0: do not count it.", OrrOverhead,
    BYTES("context", context_bytes, "1343 MB",
          "CUDA's context, with the kernels that it has loaded."),
    BYTES("communicator", communicator_bytes, "688 MiB",
          "NCCL's buffers for a group of more than two ranks."),
    BYTES("pair", pair_bytes, "544 MiB",
          "NCCL's buffers for a group of two ranks, or for a pipeline's neighbours."),
    BYTES("exchange", exchange_bytes, "3.28 GB",
          "NCCL's buffers for a group that calls all-to-all; with experts.dispatch: deepep, "
          "DeepEP's own buffers are counted instead."),
    BYTES("workspace", workspace_bytes, "32 MiB", "cuBLAS's workspace."),
    ORR_UNSIGNED_REAL(
        OrrOverhead, "fragmentation", fragmentation, ORR_UNIT_NONE, "0.15",
        "Fraction of the allocator's memory for activations, buffers and temporary tensors "
        "that is gaps between them.",
        .min = 0, .max = 0.9),
    ORR_FIELD_WORD(
        OrrOverhead, "allocator", allocator, allocator_words, "caching",
        "PyTorch's allocator: caching, whose segments have gaps (fragmentation), or expandable "
        "(expandable_segments:True), which maps pages where needed and has no gaps."),
    ORR_FIELD_BOOL(OrrOverhead, "flat-copies", flat_copies, "true",
                   "Count the copies of gradients that the framework makes: DDP's buckets "
                   "(gradient_as_bucket_view is "
                   "off), DeepSpeed's buckets and its fp32 gradients at the update."));

static double group_bytes(const OrrOverhead *overhead, gint64 ranks) {
  return ranks == 1 ? 0 : ranks == 2 ? overhead->pair_bytes : overhead->communicator_bytes;
}

/* DeepEP's two buffers for training, as its size hints compute them (csrc/config.hpp of
 * deepseek-ai/DeepEP). Over NVLink: a queue for each channel (two SMs of 20) and each GPU of the
 * node, as long as its dispatch configurations say (deep_ep/buffer.py, get_dispatch_config). Over
 * RDMA: a queue of 128 tokens in each direction for each channel and node. A token is its hidden
 * values in bf16, and space for 128 experts' numbers (8 bytes) and weights (4), 128 scales (4) and
 * its source (8, and 16 over RDMA). */
static double deepep_bytes(const OrrJob *job) {
  enum { CHANNELS = 10, NODE = 8, RDMA_TOKENS = 128 };
  const double tokens = job->ep <= 64 ? 288 : job->ep <= 128 ? 560 : 720;
  const double token = 2.0 * (double)job->world->model->hidden + 128 * (8 + 4 + 4) + 8;
  const double nvlink = CHANNELS * (double)MIN(job->ep, NODE) * tokens * token;
  const double nodes = job->ep > NODE ? (double)(job->ep / NODE) : 0;
  return nvlink + CHANNELS * nodes * RDMA_TOKENS * 2 * (token + 16);
}

/* For the group that exchanges tokens with experts: NCCL's connections between all pairs, or
 * DeepEP's own. */
static double exchange_bytes(const OrrJob *job) {
  const gboolean is_deepep = job->params->experts.dispatch == ORR_DISPATCH_DEEPEP;
  if (job->ep == 1 || job->params->memory.exchange_bytes == 0) return 0;
  return is_deepep ? deepep_bytes(job) : job->params->memory.exchange_bytes;
}

static double communicators(const OrrJob *job, gint64 stage) {
  const OrrOverhead *overhead = &job->params->memory;
  const gboolean at_end = stage == 0 || stage == job->pp - 1;
  double bytes = group_bytes(overhead, job->tp * job->cp * job->pp * job->dp) +
                 group_bytes(overhead, job->tp) + group_bytes(overhead, job->cp) +
                 group_bytes(overhead, orr_grouping_replicas(job, ORR_WEIGHTS_DENSE).size) +
                 group_bytes(overhead, job->tp * job->pp);
  if (job->pp > 1) bytes += overhead->pair_bytes;
  if (job->pp > 1 && at_end && job->world->model->tied_embeddings) bytes += overhead->pair_bytes;
  bytes += exchange_bytes(job);
  if (job->ep > 1)
    bytes += group_bytes(overhead, orr_grouping_replicas(job, ORR_WEIGHTS_EXPERTS).size);
  return bytes;
}

void orr_training_overhead_fill(const OrrJob *job, double optimized, double gradients,
                                OrrStageMemory *memory) {
  const OrrOverhead *overhead = &job->params->memory;
  const OrrShardingPlan *sharding = &job->sharding;
  memory->context = overhead->context_bytes;
  memory->workspace = overhead->workspace_bytes;
  memory->communicators = communicators(job, memory->stage);
  if (overhead->flat_copies && !job->params->evaluation) /* of gradients and updates */
    memory->flat_copies = sharding->gradients_again * gradients + sharding->flat_bytes +
                          sharding->update_bytes * optimized;
}

double orr_training_overhead_gaps(const OrrTraining *params, double bytes) {
  const double fraction =
      params->memory.allocator == ORR_ALLOCATOR_EXPANDABLE ? 0 : params->memory.fragmentation;
  return bytes * fraction / (1 - fraction);
}

double orr_stage_memory_total(const OrrStageMemory *memory) {
  return orr_stage_memory_reserved(memory) + memory->communicators + memory->context;
}

double orr_stage_memory_reserved(const OrrStageMemory *memory) {
  return memory->weights + memory->gradients + memory->optimizer + memory->activations +
         memory->working + memory->buffers + memory->fragmentation + memory->flat_copies +
         memory->workspace;
}
