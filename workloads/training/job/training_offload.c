/*
 * training_offload - what a job keeps in the memory of its hosts: the optimizer, weights, and
 * activations.
 *
 *   optimizer    ZeRO-Offload (Ren et al. 2021, arXiv 2101.06840; DeepSpeed's offload_optimizer,
 *                Megatron-Core's optimizer-cpu-offload): the host holds the master weights and
 *                moments of a fraction f of the parameters that a GPU updates. The host's cores
 *                update these (CPU Adam) while the GPU updates the rest.
 *
 *                  dp         reduce bucket ...
 *                  to-host             gradients ... |                      g f P bytes
 *                  host                              Adam  Adam  Adam       (24 + g + w) f P, DRAM
 *                  from-host                               weights weights  w f P bytes
 *
 *                CPU Adam reads gradient, master weight and two moments, and writes the last three
 *                and the weight: g + 24 + w bytes per parameter. The memory limits it, and all GPUs
 *                of a node share that memory, also for the copies. Sharded gradients (ZeRO-2,
 *                ZeRO-3, FSDP) are added up in the host's memory: each further micro-batch fetches
 *                the sum, adds to it on the GPU and writes it back (DeepSpeed,
 *                runtime/zero/stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu).
 *   parameters   the host holds a rank's shard of the weights, too (ZeRO-Infinity, Rajbhandari et
 *                al. 2021, arXiv 2104.07857, section 6.1; DeepSpeed's offload_param; FSDP2's
 *                CPUOffloadPolicy). The shard is copied up before each gather, over all ranks'
 *                links at once, and dropped with the gathered weights. Weights that the host
 *                updates stay in its memory.
 *
 *                  from-host  c0 c1 | c2        as far ahead as gathers are
 *                  gather       g0 g1 | g2
 *                  compute         f0   f1   f2
 *
 *                A shard has w bytes per parameter in ZeRO (16 bit), and 4 in FSDP, which casts as
 *                it gathers (_fsdp_param.py, all_gather_inputs); n passes of P parameters over k
 *                ranks copy n w P / k bytes each.
 *   activations  of the first `activations` layers of each chunk go to the host after the
 *                layer's forward and return before its backward, on copy streams with two buffers
 *                in each direction (Transformer Engine's AsyncDoubleBufferGroupOffloadHandler,
 *                Megatron's cpu-offloading-num-layers).
 *
 *                  compute    f0   f1   f2         f3         f4
 *                  to-host         c0........ c1........ c2........
 *
 *                Layer k waits for the copy of layer k - 2.
 *
 * Times with PCIe link and DRAM to itself: N layers whose forward takes f seconds and whose copy
 * takes c > f take 2 f + (N - 2) c until the last one has computed, and N f where c < f. The
 * optimizer takes f P max((24 + g + w) G / DRAM, w / PCIe), with G GPUs per node (16 for 24 with
 * moments in bf16), and the first slice's Adam or the last slice's copy.
 */
#include "workloads/training/job/training_offload.h"

static const OrrField offload_fields[] = {
    ORR_FIELD_REAL(OrrOffload, "optimizer", optimizer, ORR_UNIT_FRACTION, "0",
                   "Fraction of the optimizer's state that the host's memory holds and the host's "
                   "cores update; 1: all (DeepSpeed's offload_optimizer and its ratio, Megatron's "
                   "optimizer-offload-fraction); fsdp and hsdp offload it with `parameters` only.",
                   .min = 0, .max = 1),
    ORR_FIELD_BOOL(OrrOffload, "overlap", overlap, "true",
                   "Copy gradients down as they are reduced, and parameters back layer by layer as "
                   "they are updated (Megatron's overlap-cpu-optimizer-d2h-h2d); false: copy all "
                   "gradients before the update, and all parameters after it."),
    ORR_FIELD_BOOL(
        OrrOffload, "parameters", parameters, "false",
        "Keep the ranks' shards of the weights in the host's memory, too, and copy them up "
        "before each gather (DeepSpeed's offload_param: cpu, FSDP's CPUOffloadPolicy); "
        "needs zero-3, fsdp or hsdp, and optimizer: 1 unless nothing is trained."),
    ORR_FIELD_INT(
        OrrOffload, "activations", activations, "0",
        "How many layers of each chunk keep their activations in the host's memory, from the "
        "first layer on (Megatron's cpu-offloading-num-layers).",
        .min = 0, .max = 1e5),
};
const OrrFieldTable orr_training_offload_table = ORR_FIELD_TABLE(
    "offload", "Data that the job keeps in its hosts' memory.", OrrOffload, offload_fields);

gboolean orr_training_offload_is_on(const OrrTraining *params) {
  return params->offload.optimizer > 0 || params->offload.activations > 0 ||
         params->offload.parameters;
}

static gboolean is_transformer(const OrrJob *job, const GArray *layers, gint64 layer) {
  return orr_job_spec(job, g_array_index(layers, guint, layer))->type == ORR_LAYER_TRANSFORMER;
}

gboolean orr_training_offload_takes(const OrrJob *job, const GArray *layers, gint64 layer) {
  gint64 before = 0;
  if (!is_transformer(job, layers, layer)) return FALSE;
  for (gint64 i = 0; i < layer; i++) before += is_transformer(job, layers, i);
  return before < job->params->offload.activations;
}

double orr_training_offload_optimized(const OrrJob *job, OrrWeights weights) {
  return job->params->offload.optimizer * orr_job_optimized(job, weights);
}

/* Of the rank's own shard. FSDP's trained shard is the optimizer's fp32 one; frozen weights have
 * no such shard. */
double orr_training_offload_weight_bytes(const OrrJob *job, OrrWeights weights) {
  const double element = orr_dtype_bytes(job->shard.dtype),
               own = job->sharding.master_alone && orr_job_master_bytes(job) > 0 ? 4 : element;
  double bytes = 0;
  if (!job->params->offload.parameters) return 0;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    const double frozen = set == ORR_WEIGHTS_DENSE ? weights.frozen : 0;
    const gint64 ranks = orr_job_shard_ranks(job, set);
    if (ranks > 1)
      bytes += (orr_weight_set_parameters(weights, set) * own + frozen * element) / (double)ranks;
  }
  return bytes;
}

double orr_training_offload_adam_bytes(const OrrJob *job) {
  const double state = 4 + 2 * orr_job_moment_bytes(job); /* fp32 master weight, two moments */
  return 2 * state + job->gradient_bytes_each + orr_dtype_bytes(job->shard.dtype);
}
