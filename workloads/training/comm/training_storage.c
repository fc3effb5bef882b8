/*
 * training_storage - what a training job reads from and writes to a file system: checkpoints, and
 * data.
 *
 *   sync    compute: ... optimizer | write: GPU -> host -> network -> servers | all wait for all | next step
 *   async   compute: ... optimizer | snapshot: GPU -> host | next step ...
 *           storage:                                        write: host -> network -> servers
 *           a snapshot waits for the end of the write before it: there is one buffer
 *
 * A checkpoint is 14 bytes a trained parameter: 16-bit weights, fp32 master weights and Adam's two
 * moments (BLOOM-176B, the same state, published 2.3 TB: 13.1 bytes a parameter). Sharded, every
 * rank writes the part of its stage that no replica of it writes (PyTorch distributed checkpoint,
 * Megatron's fully parallel save); else the first replica writes its stages whole, and the others
 * wait. A file of a GPU is spread over `stripes` servers.
 *
 * Alone, with B bytes a GPU on all of n GPUs of N nodes and S servers, all stripes:
 *
 *   write = max(B / pcie, (n / N) B / node, n B / (S server), n B / aggregate)
 */
#include "sim/base/fault.h"
#include "workloads/training/emit/training_emitter.h"

/* Bytes of a trained parameter beside its weight: fp32 master weight and two moments. */
#define OPTIMIZER_BYTES 12

static const OrrStorage *storage_of(const OrrJob *job) { return &job->world->cluster->storage; }

gboolean orr_training_uses_storage(const OrrTraining *params) {
  return params->checkpoint.every > 0 || params->checkpoint.load || params->data_bytes > 0;
}

/* --- Bytes --- */

static double checkpoint_bytes(const OrrJob *job, gint64 stage) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  const double each = orr_dtype_bytes(job->shard.dtype) + OPTIMIZER_BYTES;
  if (!job->params->checkpoint.sharded) return each * (weights.dense + weights.experts);
  return each * (weights.dense / (double)orr_share_replicas(job, ORR_SHARE_DENSE) +
                 weights.experts / (double)orr_share_replicas(job, ORR_SHARE_EXPERTS));
}

/* What a GPU needs again: its weights, and what of the optimizer it holds. */
static double load_bytes(const OrrJob *job, gint64 stage) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  return orr_dtype_bytes(job->shard.dtype) * (weights.dense + weights.experts + weights.frozen) +
         OPTIMIZER_BYTES * orr_job_optimized(job, weights);
}

/* Of a replica's sequences of a step, by each of the ranks that read them together. */
static double data_bytes(const OrrJob *job) {
  return job->params->data_bytes * (double)job->params->batch.global_size / (double)job->dp /
         (double)orr_job_replica_ranks(job);
}

/* --- Wires --- */

typedef enum { TO_HOST = 1, TO_SERVERS = 2, IS_READ = 4 } Way;

typedef struct {
  const OrrJob *job;
  GHashTable *slots; /* fabric link -> place in uses + 1 */
  GArray *uses;      /* of OrrLinkUse */
  double latency_s;
} Loads;

static void add_use(Loads *loads, guint32 link, guint32 weight) {
  const guint slot = GPOINTER_TO_UINT(g_hash_table_lookup(loads->slots, GUINT_TO_POINTER(link)));
  if (slot) {
    g_array_index(loads->uses, OrrLinkUse, slot - 1).weight += weight;
    return;
  }
  const OrrLinkUse use = {link, weight};
  g_array_append_val(loads->uses, use);
  g_hash_table_insert(loads->slots, GUINT_TO_POINTER(link), GUINT_TO_POINTER(loads->uses->len));
}

/* One unit for each stripe of the GPU's file. */
static void add_gpu(Loads *loads, gint64 gpu, Way way) {
  const OrrFabric *fabric = loads->job->world->fabric;
  const gint64 stripes = orr_storage_stripes(storage_of(loads->job));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  if (way & TO_HOST) orr_fabric_host_route(fabric, gpu, way & IS_READ, links);
  for (guint k = 0; k < links->len; k++)
    add_use(loads, g_array_index(links, guint32, k), (guint32)stripes);
  for (gint64 i = 0; i < stripes && (way & TO_SERVERS); i++) {
    g_array_set_size(links, 0);
    const double latency_s = orr_fabric_storage_route(
        fabric, gpu, orr_storage_server(storage_of(loads->job), gpu, i), way & IS_READ, links);
    loads->latency_s = MAX(loads->latency_s, latency_s);
    for (guint k = 0; k < links->len; k++) add_use(loads, g_array_index(links, guint32, k), 1);
  }
}

/* @bytes by every GPU of the stage in the replicas of @class; a GPU of the first replica alone
 * where @first_only. */
static void plan_wire(OrrTrainingPlan *plan, const OrrJob *job, gint64 stage, guint class,
                      gboolean first_only, double bytes, Way way, OrrWire *ret_wire) {
  const gint64 n = orr_job_replica_ranks(job);
  if (bytes <= 0 || (first_only && class != plan->fold.class_of[0])) return;
  g_autofree gint64 *firsts = orr_training_class_ranks(plan, job, class);
  Loads loads = {job, g_hash_table_new(g_direct_hash, g_direct_equal),
                 g_array_new(FALSE, FALSE, sizeof(OrrLinkUse)), 0};
  for (guint i = 0; i < plan->fold.size[class]; i++)
    for (gint64 rank = firsts[i]; rank < firsts[i] + n; rank++)
      add_gpu(&loads, orr_job_gpu(job, stage, rank), way);
  *ret_wire = (OrrWire){.phases = g_new0(OrrPhase, 1), .n_phases = 1};
  ret_wire->phases[0] = (OrrPhase){
      loads.latency_s, bytes / (double)orr_storage_stripes(storage_of(job)),
      orr_wires_path(&plan->wires, (OrrLinkUse *)(void *)loads.uses->data, loads.uses->len)};
  g_hash_table_unref(loads.slots);
  g_array_unref(loads.uses);
}

void orr_training_plan_storage(OrrTrainingPlan *plan, const OrrJob *job) {
  const OrrCheckpoint *checkpoint = &job->params->checkpoint;
  const gboolean sync = checkpoint->mode == ORR_CHECKPOINT_SYNC, alone = !checkpoint->sharded;
  if (!orr_training_uses_storage(job->params)) return;
  plan->storage = g_new0(OrrStorageWires, job->pp * plan->fold.n);
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (guint class = 0; class < plan->fold.n; class ++) {
      OrrStorageWires *wires = &plan->storage[stage * plan->fold.n + class];
      const double bytes = checkpoint->every > 0 ? checkpoint_bytes(job, stage) : 0;
      plan_wire(plan, job, stage, class, alone, bytes, sync ? TO_HOST | TO_SERVERS : TO_SERVERS,
                &wires->write);
      if (!sync) plan_wire(plan, job, stage, class, alone, bytes, TO_HOST, &wires->snapshot);
      plan_wire(plan, job, stage, class, FALSE, checkpoint->load ? load_bytes(job, stage) : 0,
                TO_HOST | TO_SERVERS | IS_READ, &wires->load);
      if (stage == 0)
        plan_wire(plan, job, stage, class, FALSE, data_bytes(job), TO_HOST | TO_SERVERS | IS_READ,
                  &wires->data);
    }
}

void orr_training_clear_storage(OrrTrainingPlan *plan, gsize n_lanes) {
  for (gsize lane = 0; plan->storage && lane < n_lanes; lane++) {
    OrrStorageWires *wires = &plan->storage[lane];
    OrrWire *const all[] = {&wires->write, &wires->snapshot, &wires->load, &wires->data};
    for (guint i = 0; i < G_N_ELEMENTS(all); i++) orr_wire_clear(all[i]);
  }
  g_clear_pointer(&plan->storage, g_free);
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

/* --- Ops --- */

static const char *const use_names[] = {"checkpoint-write", "checkpoint-snapshot",
                                        "checkpoint-load", "data-load"};

const char *orr_training_storage_name(OrrStorageUse use) { return use_names[use]; }

static void join(OrrEmitter *e, guint32 stream, const OrrWire *wire, OrrStorageUse use,
                 gint32 tag) {
  if (wire->n_phases == 0) return;
  const guint32 comm = orr_program_comm(e->program, 1, wire->phases, wire->n_phases);
  orr_program_join(e->program, stream, comm,
                   orr_emit_comm_label(e, use_names[use], ORR_TIME_STORAGE), tag);
}

static void wait_for(OrrEmitter *e, guint32 from, guint32 to) {
  const guint32 event = orr_program_event(e->program);
  orr_program_record(e->program, from, event);
  orr_program_wait(e->program, to, event);
}

/* Nobody goes on before all have: what a barrier after the write is for. */
static void meet(OrrEmitter *e, guint32 stream, guint32 *slot) {
  const guint n_lanes = (guint)(e->job->pp * e->plan->fold.n);
  if (*slot == ORR_NO_COMM) *slot = orr_program_comm(e->program, n_lanes, NULL, 0);
  orr_program_join(e->program, stream, *slot,
                   orr_emit_comm_label(e, "checkpoint-barrier", ORR_TIME_STORAGE), -1);
}

void orr_emit_load(OrrEmitter *e, const OrrLaneAt *lane) {
  if (!e->plan->storage || !e->job->params->checkpoint.load) return;
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  join(e, compute, &e->plan->storage[lane->lane].load, ORR_STORAGE_USE_LOAD, -1);
  meet(e, compute, &e->loaded);
}

/* The data of this step was asked for when the step before began: of the first one at the start. */
void orr_emit_data(OrrEmitter *e, const OrrLaneAt *lane, gint64 step) {
  if (!e->plan->storage || e->plan->storage[lane->lane].data.n_phases == 0) return;
  const OrrWire *wire = &e->plan->storage[lane->lane].data;
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE),
                data = orr_emit_stream(e, lane, ORR_STREAM_DATA);
  if (step == 0) join(e, data, wire, ORR_STORAGE_USE_DATA, 0);
  wait_for(e, data, compute);
  if (step + 1 >= e->job->params->steps) return;
  wait_for(e, compute, data);
  join(e, data, wire, ORR_STORAGE_USE_DATA, (gint32)step + 1);
}

void orr_emit_checkpoint(OrrEmitter *e, const OrrLaneAt *lane, gint64 step) {
  const OrrCheckpoint *checkpoint = &e->job->params->checkpoint;
  if (!e->plan->storage || checkpoint->every == 0 || (step + 1) % checkpoint->every != 0) return;
  const OrrStorageWires *wires = &e->plan->storage[lane->lane];
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  if (checkpoint->mode == ORR_CHECKPOINT_SYNC) {
    join(e, compute, &wires->write, ORR_STORAGE_USE_WRITE, (gint32)step);
    meet(e, compute, &e->checkpoint);
    return;
  }
  const guint32 storage = orr_emit_stream(e, lane, ORR_STREAM_STORAGE);
  wait_for(e, storage, compute); /* the write before it */
  join(e, compute, &wires->snapshot, ORR_STORAGE_USE_SNAPSHOT, (gint32)step);
  wait_for(e, compute, storage);
  join(e, storage, &wires->write, ORR_STORAGE_USE_WRITE, (gint32)step);
}
