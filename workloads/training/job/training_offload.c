/*
 * training_offload - what a job keeps in the memory of its hosts: the optimizer, and activations.
 *
 *   optimizer    ZeRO-Offload (Ren et al. 2021, arXiv 2101.06840; DeepSpeed's offload_optimizer, Megatron-Core's
 *                optimizer-cpu-offload): master weights and moments of a share f of what a GPU updates lie in the
 * host's memory, and the host's cores update them (CPU Adam) while the GPU updates the rest.
 *
 *                  dp         reduce bucket ...
 *                  to-host             gradients ... |                      g f P
 *                  host                              Adam  Adam  Adam       (24 + g + w) f P through DRAM
 *                  from-host                               weights weights  w f P
 *
 *                CPU Adam streams gradient, master weight and two moments in, and the latter three and the weight out:
 *                g + 24 + w bytes a parameter; bound by the memory, which all GPUs of a node share, as do the copies.
 *                Where gradients are shared out (ZeRO-2, ZeRO-3, FSDP) they are added up in the host's memory: each
 *                further micro-batch fetches the sum, adds to it on the GPU and writes it back (DeepSpeed,
 *                runtime/zero/stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu).
 *   parameters   a rank's share of the weights lies there, too (ZeRO-Infinity, Rajbhandari et al. 2021, arXiv 2104.07857,
 *                section 6.1; DeepSpeed's offload_param; FSDP2's CPUOffloadPolicy): it is copied up before each gather,
 *                all ranks' links at once, and dropped with what was gathered. What the host updates stays there.
 *
 *                  from-host  c0 c1 | c2        as far ahead as gathers are
 *                  gather       g0 g1 | g2
 *                  compute         f0   f1   f2
 *
 *                w bytes a parameter of ZeRO's 16-bit shares, 4 of FSDP's, which are cast as they are gathered
 *                (_fsdp_param.py, all_gather_inputs); n passes of P parameters over k ranks copy n w P / k each.
 *   activations  what the first `activations` layers of each chunk keep goes to the host after their forward and comes
 *                back before their backward, on copy streams with two buffers each way (Transformer Engine's
 *                AsyncDoubleBufferGroupOffloadHandler, Megatron's cpu-offloading-num-layers).
 *
 *                  compute    f0   f1   f2         f3         f4        layer k waits for the copy of layer k - 2
 *                  to-host         c0........ c1........ c2........
 *
 * Alone on its PCIe link and its DRAM: N layers forward of f seconds each whose copies take c > f
 * last 2 f + (N - 2) c until the last one has computed, N f where c < f; the optimizer f P max((24
 * + g + w) G / DRAM, w / PCIe) and the first piece's Adam or the last one's copy, G GPUs to a node.
 */
#include "workloads/training/training_private.h"

/* Master weight and two moments, read and written, in fp32. */
#define ADAM_STATE_BYTES 24

static const OrrField offload_fields[] = {
    {.name = "optimizer",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrOffload, optimizer),
     .sentence = "Share of the optimizer's state that lies in the host's memory and is updated "
                 "there: 1 all (DeepSpeed's "
                 "offload_optimizer; less is its ratio, Megatron's optimizer-offload-fraction).",
     .fallback = "0",
     .unit = ORR_UNIT_FRACTION,
     .min = 0,
     .max = 1},
    {.name = "overlap",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(OrrOffload, overlap),
     .sentence = "Copy gradients as they are reduced, and parameters back unit by unit as they are "
                 "updated (Megatron's "
                 "overlap-cpu-optimizer-d2h-h2d); else all before, and all after the update.",
     .fallback = "true"},
    {.name = "parameters",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(OrrOffload, parameters),
     .sentence = "Keep the ranks' shares of the weights there, too, and copy them up before each "
                 "gather (DeepSpeed's "
                 "offload_param: cpu, FSDP's CPUOffloadPolicy); under zero-3, fsdp or hsdp, with "
                 "optimizer: 1 unless "
                 "nothing is trained.",
     .fallback = "false"},
    {.name = "activations",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrOffload, activations),
     .sentence =
         "Layers of each chunk whose activations go to the host's memory, from the first on "
         "(cpu-offloading-num-layers).",
     .fallback = "0",
     .min = 0,
     .max = 1e5},
};
const OrrFieldTable orr_offload_table = ORR_FIELD_TABLE(
    "offload", "What is kept in the memory of the hosts.", OrrOffload, offload_fields);

gboolean orr_training_offloads(const OrrTraining *params) {
  return params->offload.optimizer > 0 || params->offload.activations > 0 ||
         params->offload.parameters;
}

/* --- rules --- */

/* Activations come back for one backward: one that is cut in two wants them twice. */
static gboolean cuts_backwards(const OrrPipelineKind *schedule, const OrrPipelineShape *shape) {
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  schedule->steps(shape, 0, steps);
  for (guint i = 0; i < steps->len; i++) {
    const int kind = g_array_index(steps, OrrPipelineStep, i).kind;
    if (kind != ORR_STEP_FORWARD && kind != ORR_STEP_BACKWARD) return TRUE;
  }
  return FALSE;
}

static char *refuse_host(const OrrOffload *offload, const OrrCluster *cluster) {
  if (!(cluster->node.host.memory_bytes > 0))
    return g_strdup_printf(
        "offload (optimizer %g, activations %" G_GINT64_FORMAT
        ") needs host memory, and cluster %s does not say that its nodes have any: set "
        "cluster.node.host.memory and memory-bandwidth",
        offload->optimizer, offload->activations, cluster->name);
  return NULL;
}

char *orr_training_refuse_offload(const OrrTraining *params, const OrrCluster *cluster,
                                  const OrrPipelineShape *shape) {
  const OrrOffload *offload = &params->offload;
  const OrrPipelineKind *schedule = (const OrrPipelineKind *)params->pipeline.entry;
  if (!orr_training_offloads(params)) return NULL;
  char *refusal = refuse_host(offload, cluster);
  if (refusal) return refusal;
  if (offload->optimizer > 0 && orr_pipeline_n_chains(schedule) > 1)
    return g_strdup_printf("offload.optimizer does not work with %s, which holds the model twice: "
                           "use another schedule",
                           schedule->entry.name);
  if (offload->activations > 0 && cuts_backwards(schedule, shape))
    return g_strdup_printf(
        "offload.activations does not work with %s, which cuts backwards in two: what came back "
        "for "
        "one half would have to stay for the other; use 1f1b, interleaved-1f1b or gpipe",
        schedule->entry.name);
  return NULL;
}

char *orr_training_refuse_offloaded_layers(const OrrTraining *params, const gint64 *layers,
                                           gint64 n_blocks) {
  gint64 most = 0;
  for (gint64 b = 0; b < n_blocks; b++) most = MAX(most, layers[b]);
  if (params->offload.activations <= most) return NULL;
  return g_strdup_printf("offload.activations is %" G_GINT64_FORMAT
                         " layers of each chunk, and the largest chunk has %" G_GINT64_FORMAT,
                         params->offload.activations, most);
}

char *orr_training_refuse_offloaded_parameters(const OrrTraining *params,
                                               const OrrShardingPlan *sharding) {
  const char *name = params->optimizer.sharding.entry->name;
  if (!params->offload.parameters) return NULL;
  if (params->offload.optimizer < 1 && !params->evaluation)
    return g_strdup_printf(
        "offload.parameters needs offload.optimizer: 1, which is %g: DeepSpeed offloads parameters "
        "only with the optimizer, FSDP both at once",
        params->offload.optimizer);
  if (!sharding->weights)
    return g_strdup_printf(
        "offload.parameters needs weights that are shared out, and with optimizer.sharding %s each "
        "rank holds all: use zero-3, fsdp or hsdp",
        name);
  if (sharding->by_tensor)
    return g_strdup_printf(
        "offload.parameters is not modelled with by-tensor of optimizer.sharding %s", name);
  if (sharding->ranks > 1) return NULL;
  return g_strdup_printf(
      "offload.parameters is modelled where ranks share weights out, and optimizer.sharding %s has "
      "one (dp * cp is 1)",
      name);
}

/* --- bytes --- */

gboolean orr_offload_takes(const OrrJob *job, const GArray *units, gint64 unit) {
  gint64 layers = 0;
  if (orr_job_part(job, g_array_index(units, guint, unit))->unit != ORR_UNIT_LAYER) return FALSE;
  for (gint64 i = 0; i < unit; i++)
    layers += orr_job_part(job, g_array_index(units, guint, i))->unit == ORR_UNIT_LAYER;
  return layers < job->params->offload.activations;
}

double orr_offload_optimized(const OrrJob *job, OrrWeights weights) {
  return job->params->offload.optimizer * orr_job_optimized(job, weights);
}

/* Of the rank's own share. FSDP's is the optimizer's fp32 one; frozen weights have none. */
double orr_offload_weight_bytes(const OrrJob *job, OrrWeights weights) {
  const double element = orr_dtype_bytes(job->shard.dtype),
               own = job->sharding.master_alone ? 4 : element;
  double bytes = 0;
  if (!job->params->offload.parameters) return 0;
  for (int share = 0; share < ORR_N_SHARES; share++) {
    const double frozen = share == ORR_SHARE_DENSE ? weights.frozen : 0;
    const gint64 ranks = orr_share_ranks(job, share);
    if (ranks > 1) bytes += (orr_share_of(weights, share) * own + frozen * element) / (double)ranks;
  }
  return bytes;
}

double orr_offload_adam_bytes(const OrrJob *job) {
  return ADAM_STATE_BYTES + job->gradient_bytes_each + orr_dtype_bytes(job->shard.dtype);
}

/* Of the fullest node: its GPUs' stages, whatever they are. */
double orr_training_host_peak(const OrrJob *job, const GArray *memory) {
  const gint64 ranks = orr_job_replica_ranks(job) * job->dp;
  const OrrFabric *fabric = job->world->fabric;
  double peak = 0;
  if (!orr_training_offloads(job->params)) return 0;
  g_autofree double *nodes = g_new0(double, orr_cluster_n_nodes(job->world->cluster));
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (gint64 rank = 0; rank < ranks; rank++) {
      double *node = &nodes[orr_fabric_node(fabric, orr_job_gpu(job, stage, rank))];
      *node += g_array_index(memory, OrrStageMemory, stage).host;
      peak = MAX(peak, *node);
    }
  return peak;
}

/* --- ways --- */

enum { INSIDE = -1, OUT = 0, BACK = 1 };

/* One unit of flow for each GPU of the lane: over its way to the host or back, or only through
 * the node's memory. */
static guint32 plan_way(OrrTrainingPlan *plan, const OrrJob *job, gint64 stage, guint class,
                        int way) {
  const gint64 n = orr_job_replica_ranks(job);
  g_autofree gint64 *firsts = orr_training_class_ranks(plan, job, class);
  g_autofree guint32 *weights = g_new0(guint32, orr_fabric_n_links(job->world->fabric));
  g_autoptr(GArray) links =
      g_array_new(FALSE, FALSE, sizeof(guint32)); /* as often as they are crossed */
  g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  for (guint i = 0; i < plan->fold.size[class]; i++)
    for (gint64 rank = firsts[i]; rank < firsts[i] + n; rank++) {
      const gint64 gpu = orr_job_gpu(job, stage, rank);
      const guint32 memory = orr_fabric_memory_link(job->world->fabric, gpu);
      g_array_append_val(links, memory);
      if (way != INSIDE) orr_fabric_host_route(job->world->fabric, gpu, way == BACK, links);
    }
  for (guint i = 0; i < links->len; i++) weights[g_array_index(links, guint32, i)]++;
  for (guint i = 0; i < links->len; i++) {
    const OrrLinkUse use = {g_array_index(links, guint32, i),
                            weights[g_array_index(links, guint32, i)]};
    if (use.weight > 0) g_array_append_val(uses, use);
    weights[use.link] = 0;
  }
  return orr_wires_path(&plan->wires, (const OrrLinkUse *)(const void *)uses->data, uses->len);
}

void orr_training_plan_offload(OrrTrainingPlan *plan, const OrrJob *job) {
  if (!orr_training_offloads(job->params)) return;
  plan->offload = g_new0(OrrOffloadWays, job->pp * plan->fold.n);
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (guint class = 0; class < plan->fold.n; class ++)
      plan->offload[stage * plan->fold.n + class] = (OrrOffloadWays){
          plan_way(plan, job, stage, class, OUT), plan_way(plan, job, stage, class, BACK),
          plan_way(plan, job, stage, class, INSIDE)};
}

void orr_offload_cover(const OrrTrainingPlan *plan, const OrrJob *job, guint8 *links) {
  for (guint lane = 0; plan->offload && lane < job->pp * plan->fold.n; lane++) {
    OrrPhase phases[] = {{0, 0, plan->offload[lane].out}, {0, 0, plan->offload[lane].back}};
    orr_wires_cover(&plan->wires, &(OrrWire){phases, G_N_ELEMENTS(phases), 0}, links);
  }
}
