/*
 * training_storage - plans what a training job reads from and writes to a file system: checkpoints
 * and data.
 *
 *   sync    compute: ... optimizer | write: GPU -> host -> network -> servers | all wait for all |
 *           next step
 *   async   compute: ... optimizer | snapshot: GPU -> host | next step ...
 *           storage:                                        write: host -> network -> servers
 *           a snapshot waits for the end of the write before it: there is one buffer
 *
 * A checkpoint has 14 bytes per trained parameter, less where optimizer.master or moments are
 * smaller: 16-bit weights, fp32 master weights and Adam's two moments (BLOOM-176B, the same state,
 * published 2.3 TB: 13.1 bytes per parameter). Sharded, each rank writes a different slice of its
 * stage (PyTorch distributed checkpoint, Megatron's fully parallel save); else the first replica
 * writes its stages whole, and the others wait. The file of a GPU is spread over `stripes` servers.
 * A load reads what each GPU holds: its stage's weights, or its shard of them (ZeRO-3, FSDP).
 *
 * On idle links, with B bytes per GPU on all of n GPUs of N nodes, and S servers with all stripes:
 *
 *   write = max(B / pcie, (n / N) B / node, n B / (S server), n B / aggregate)
 */
#include "workloads/training/comm/training_plan.h"

/* Bytes per trained parameter in addition to its weight: master weight and two moments. */
static double optimizer_bytes(const OrrJob *job) {
  return orr_job_master_bytes(job) + 2 * orr_job_moment_bytes(job);
}

static const char *const use_names[] = {"checkpoint-write", "checkpoint-snapshot",
                                        "checkpoint-load", "data-load"};

const char *orr_storage_use_name(OrrStorageUse use) { return use_names[use]; }

static const OrrStorage *storage_of(const OrrJob *job) { return &job->world->cluster->storage; }

/* --- bytes --- */

/* Per writer. Adapters' halves that all tensor-parallel ranks hold alike are written once. */
static double checkpoint_bytes(const OrrJob *job, gint64 stage) {
  OrrWeights weights = orr_job_stage_weights(job, stage);
  weights.dense -= weights.copied * (1 - 1 / (double)MAX(1, job->shard.tp));
  const double each = orr_dtype_bytes(job->shard.dtype) + optimizer_bytes(job);
  if (!job->params->checkpoint.sharded) return each * (weights.dense + weights.experts);
  return each * (weights.dense / (double)orr_grouping_n_holders(job, ORR_WEIGHTS_DENSE) +
                 weights.experts / (double)orr_grouping_n_holders(job, ORR_WEIGHTS_EXPERTS));
}

/* Parameters that a GPU holds: all of its stage's, or its shard of them. */
static double held_parameters(const OrrJob *job, OrrWeights weights) {
  double sum = 0;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    const double frozen = set == ORR_WEIGHTS_DENSE ? weights.frozen : 0;
    sum += (orr_weight_set_parameters(weights, set) + frozen) /
           (double)(job->sharding.weights ? orr_job_shard_ranks(job, set) : 1);
  }
  return sum;
}

/* A GPU reads back the weights and the optimizer state that it holds. */
static double load_bytes(const OrrJob *job, gint64 stage) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  return orr_dtype_bytes(job->shard.dtype) * held_parameters(job, weights) +
         optimizer_bytes(job) * orr_job_optimized(job, weights);
}

/* Per rank: the ranks of a replica read its sequences of the step together. */
static double data_bytes(const OrrJob *job) {
  return job->params->data_bytes * (double)job->params->batch.global_size / (double)job->dp /
         (double)orr_job_replica_ranks(job);
}

double orr_training_storage_bytes(const OrrJob *job, OrrStorageUse use) {
  double sum = 0;
  const double ranks = (double)(orr_job_replica_ranks(job) * job->dp);
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const gboolean one = !job->params->checkpoint.sharded;
    const double writers = one ? (double)orr_job_replica_ranks(job) : ranks;
    sum += use == ORR_STORAGE_USE_LOAD ? load_bytes(job, stage) * ranks
                                       : checkpoint_bytes(job, stage) * writers;
  }
  return use == ORR_STORAGE_USE_DATA ? data_bytes(job) * ranks : sum;
}

/* --- plans --- */

/* The hops of a transfer, and its direction. */
typedef enum { VIA_HOST = 1, VIA_SERVERS = 2, IS_READ = 4 } Route;

typedef struct {
  const OrrJob *job;
  guint32 *slots; /* by fabric link: its index in uses + 1, or 0 */
  GArray *uses;   /* of OrrLinkUse */
  GArray *links;  /* of guint32: of one route */
  double latency_s;
} Loads;

static void add_use(Loads *loads, guint32 link, guint32 weight) {
  const guint32 slot = loads->slots[link];
  if (slot) {
    g_array_index(loads->uses, OrrLinkUse, slot - 1).weight += weight;
    return;
  }
  ORR_APPEND(loads->uses, OrrLinkUse, {link, weight});
  loads->slots[link] = loads->uses->len;
}

static void forget_uses(Loads *loads) {
  ORR_EACH(OrrLinkUse, use, loads->uses) loads->slots[use->link] = 0;
  g_array_set_size(loads->uses, 0);
  loads->latency_s = 0;
}

/* Adds one flow for each stripe of the GPU's file. */
static void add_gpu(Loads *loads, gint64 gpu, Route route) {
  const OrrFabric *fabric = loads->job->world->fabric;
  const gint64 stripes = orr_storage_stripes(storage_of(loads->job));
  GArray *links = loads->links;
  g_array_set_size(links, 0);
  if (route & VIA_HOST) orr_fabric_host_route(fabric, gpu, route & IS_READ, links);
  ORR_EACH_VALUE(const guint32, value, links) add_use(loads, value, (guint32)stripes);
  for (gint64 i = 0; i < stripes && (route & VIA_SERVERS); i++) {
    g_array_set_size(links, 0);
    const double latency_s = orr_fabric_storage_route(
        fabric, gpu, orr_storage_server(storage_of(loads->job), gpu, i), route & IS_READ, links);
    loads->latency_s = MAX(loads->latency_s, latency_s);
    ORR_EACH_VALUE(const guint32, number, links) add_use(loads, number, 1);
  }
}

/* @bytes for each GPU of the lane. */
static void plan_transfer(OrrTraffic *traffic, const OrrFold *fold, Loads *loads, guint lane,
                          Route route, double bytes, OrrCommPlan *ret_plan) {
  const OrrJob *job = traffic->job;
  const gint64 n = orr_job_replica_ranks(job), stage = lane / fold->n;
  const guint class = lane % fold->n;
  if (bytes <= 0) return;
  g_autofree gint64 *firsts = orr_fold_class_ranks(fold, job, class);
  for (guint i = 0; i < fold->size[class]; i++)
    for (gint64 rank = firsts[i]; rank < firsts[i] + n; rank++)
      add_gpu(loads, orr_job_gpu(job, stage, rank), route);
  *ret_plan = (OrrCommPlan){.phases = g_new0(OrrPhase, 1), .n_phases = 1};
  ret_plan->phases[0] = (OrrPhase){
      loads->latency_s, bytes / (double)orr_storage_stripes(storage_of(job)),
      orr_traffic_path(traffic, (OrrLinkUse *)(void *)loads->uses->data, loads->uses->len)};
  forget_uses(loads);
}

static void plan_lane(OrrTraffic *traffic, const OrrFold *fold, Loads *loads, guint lane,
                      OrrStorageTraffic *storage) {
  const OrrJob *job = traffic->job;
  const OrrCheckpoint *checkpoint = &job->params->checkpoint;
  const gint64 stage = lane / fold->n;
  const gboolean sync = checkpoint->mode == ORR_CHECKPOINT_SYNC;
  const gboolean writes = checkpoint->sharded || lane % fold->n == fold->class_of[0];
  const double write = checkpoint->every > 0 && writes ? checkpoint_bytes(job, stage) : 0;
  const double load = checkpoint->load ? load_bytes(job, stage) : 0;
  plan_transfer(traffic, fold, loads, lane, sync ? VIA_HOST | VIA_SERVERS : VIA_SERVERS, write,
                &storage->write);
  if (!sync) plan_transfer(traffic, fold, loads, lane, VIA_HOST, write, &storage->snapshot);
  plan_transfer(traffic, fold, loads, lane, VIA_HOST | VIA_SERVERS | IS_READ, load, &storage->load);
  if (stage == 0)
    plan_transfer(traffic, fold, loads, lane, VIA_HOST | VIA_SERVERS | IS_READ, data_bytes(job),
                  &storage->data);
}

OrrStorageTraffic *orr_storage_traffic_new(OrrTraffic *traffic, const OrrFold *fold) {
  const guint n_lanes = (guint)traffic->job->pp * fold->n;
  OrrStorageTraffic *storage = g_new0(OrrStorageTraffic, n_lanes);
  g_autofree guint32 *slots = g_new0(guint32, orr_fabric_n_links(traffic->job->world->fabric));
  g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Loads loads = {traffic->job, slots, uses, links, 0};
  for (guint lane = 0; lane < n_lanes; lane++)
    plan_lane(traffic, fold, &loads, lane, &storage[lane]);
  return storage;
}

void orr_storage_traffic_free(OrrStorageTraffic *storage, gsize n_lanes) {
  for (gsize lane = 0; storage && lane < n_lanes; lane++) {
    OrrCommPlan *const all[] = {&storage[lane].write, &storage[lane].snapshot, &storage[lane].load,
                                &storage[lane].data};
    for (guint i = 0; i < G_N_ELEMENTS(all); i++) orr_comm_plan_clear(all[i]);
  }
  g_free(storage);
}
