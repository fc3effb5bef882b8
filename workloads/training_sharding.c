/*
 * training_sharding - what replicas say to each other, as job->sharding has it (workloads/sharding/sharding.h): buckets
 * of gradients, and units whose weights are gathered; planned, and as ops.
 *
 *   gather   wait(unit k - 1 - ahead has computed) join(all-gather of unit k) record(there)
 *   compute  wait(there) unit k  record(computed)
 *   dp       wait(bucket's gradients) join(reduction) [join(all-reduce over copies)]
 *
 * Units are counted through the step as the lane computes them, forward and back, so that a gather runs ahead over the
 * ends of passes, too. Those of a distributed optimizer (gather_beside_forward) are of the weights that the step before
 * has updated: they begin with the step, and run as far ahead as they can.
 */
#include "workloads/training_emit.h"

/* --- planning --------------------------------------------------------------------------------------------------- */

static gboolean is_bidirectional(const OrrJob *job) { return orr_pipeline_n_chains(job->schedule) > 1; }

gboolean orr_training_plan_stage(OrrTrainingPlan *plan, const char *name, gint64 count, OrrCollectiveOp op,
                                 OrrComb comb, gint64 stage, double bytes, OrrWire *ret_wire, GError **error) {
  const OrrJob *job = plan->wires.job;
  OrrCalls calls;
  gint64 stages[2] = {stage, stage};
  const guint n_stages = is_bidirectional(job) ? orr_job_holders(job, stage, stages) : 1;
  orr_calls_over(&calls, job, op, bytes, comb, stages, n_stages);
  const gboolean planned = orr_wires_join(&plan->wires, name, count, &calls, ret_wire, error);
  orr_calls_clear(&calls);
  return planned;
}

/* One chunk's units in the order of their backward, cut where a bucket is full. The stage's first bucket may be
 * another size; with one for all, chunks share it. */
static void cut_chunk(const OrrJob *job, gint64 stage, gint64 chunk, OrrBucket *open, GArray *buckets) {
  const OrrShardingPlan *sharding = &job->sharding;
  const GArray *units = orr_job_units(job, stage, chunk);
  for (guint i = units->len; i-- > 0;) {
    const guint part = g_array_index(units, guint, i);
    open->units++;
    open->bytes += orr_job_part_weights(job, stage, part).dense * job->gradient_bytes_each;
    const gboolean ends = i == 0 && (chunk == 0 || sharding->reduces_each_pass);
    if (!ends && open->bytes < (buckets->len == 0 ? sharding->first_bucket_bytes : sharding->bucket_bytes)) continue;
    g_array_append_vals(buckets, open, 1);
    *open = (OrrBucket){0};
  }
}

/* A wire of the plan for a bucket; equal buckets share one. */
static const OrrWire *plan_bucket(OrrTrainingPlan *plan, const char *name, gint64 count, OrrCollectiveOp op,
                                  OrrComb comb, gint64 stage, double bytes, GError **error) {
  g_autofree OrrWire *wire = g_new0(OrrWire, 1);
  if (!orr_training_plan_stage(plan, name, count, op, comb, stage, bytes, wire, error)) return NULL;
  g_ptr_array_add(plan->bucket_wires, wire);
  return g_steal_pointer(&wire);
}

static const OrrBucket *find_equal(const GArray *buckets, guint before) {
  for (guint k = 0; k < before; k++)
    if (g_array_index(buckets, OrrBucket, k).bytes == g_array_index(buckets, OrrBucket, before).bytes)
      return &g_array_index(buckets, OrrBucket, k);
  return NULL;
}

gboolean orr_training_plan_buckets(OrrTrainingPlan *plan, const OrrJob *job, gint64 stage, GError **error) {
  const OrrShardingPlan *sharding = &job->sharding;
  const OrrCollectiveOp op = sharding->optimizer ? ORR_REDUCE_SCATTER : ORR_ALL_REDUCE;
  const OrrComb comb = sharding->optimizer ? orr_shard_comb(job) : orr_dense_comb(job);
  const gboolean copies = sharding->optimizer && orr_copies_comb(job).size > 1;
  GArray *buckets = plan->buckets[stage];
  OrrBucket open = {0};
  for (gint64 chunk = is_bidirectional(job) ? 1 : job->shape.chunks; chunk-- > 0;)
    cut_chunk(job, stage, chunk, &open, buckets);
  const gint64 count = buckets->len * (sharding->reduces_each_pass ? orr_job_passes(job) : 1);
  for (guint b = 0; b < buckets->len; b++) {
    OrrBucket *bucket = &g_array_index(buckets, OrrBucket, b);
    const OrrBucket *equal = find_equal(buckets, b);
    bucket->wire =
        equal ? equal->wire : plan_bucket(plan, "dp-gradients", count, op, comb, stage, bucket->bytes, error);
    if (!bucket->wire) return FALSE;
    if (!copies) continue;
    const double rest = bucket->bytes / (double)sharding->ranks;
    bucket->copies = equal ? equal->copies
                           : plan_bucket(plan, "dp-gradients-copies", count, ORR_ALL_REDUCE, orr_copies_comb(job),
                                         stage, rest, error);
    if (!bucket->copies) return FALSE;
  }
  return TRUE;
}

static gint64 gathers_of(const OrrJob *job, gint64 stage, guint part) {
  const gint64 passes = job->sharding.weights ? orr_job_passes(job) * (job->sharding.gathers_again ? 2 : 1) : 1;
  return orr_job_count(job, stage, part) * passes;
}

gboolean orr_training_plan_weights(OrrTrainingPlan *plan, const OrrJob *job, gint64 stage, GError **error) {
  const guint n = job->layout.parts->len;
  for (guint part = 0; part < n && orr_job_gathers(job); part++) {
    const OrrWeights weights = orr_job_part_weights(job, stage, part);
    const double bytes = (weights.dense + weights.frozen) * orr_dtype_bytes(job->shard.dtype);
    if (bytes == 0 || orr_job_count(job, stage, part) == 0) continue;
    if (!orr_training_plan_stage(plan, "dp-weights", gathers_of(job, stage, part), ORR_ALL_GATHER, orr_shard_comb(job),
                                 stage, bytes, &plan->weights[stage * n + part], error))
      return FALSE;
  }
  return TRUE;
}

/* --- ops -------------------------------------------------------------------------------------------------------- */

/* The @index-th communication of that kind that lanes of the stage make in this step. */
static guint32 comm_at(OrrEmitter *e, GArray *made, guint index, guint n_stages, const OrrWire *wire) {
  const guint32 none = ORR_NO_COMM;
  while (made->len <= index) g_array_append_val(made, none);
  return orr_emit_once(e, &g_array_index(made, guint32, index), n_stages * e->plan->fold.n, wire);
}

void orr_emit_shards_init(OrrEmitShards *shards, const OrrJob *job) {
  *shards = (OrrEmitShards){.computed = g_array_new(FALSE, FALSE, sizeof(guint32)),
                            .left = g_new(gint64, job->shape.chunks),
                            .first = g_new(gboolean, job->shape.chunks)};
  for (gint64 c = 0; c < job->shape.chunks; c++) {
    shards->left[c] = orr_job_passes(job);
    shards->first[c] = TRUE;
  }
}

void orr_emit_shards_clear(OrrEmitShards *shards) {
  g_array_unref(shards->computed);
  g_free(shards->left);
  g_free(shards->first);
}

void orr_emit_gather(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, guint part) {
  const OrrWire *wire = &e->plan->weights[lane->stage * e->job->layout.parts->len + part];
  if (wire->n_phases == 0) return;
  const guint32 gather = orr_emit_stream(e, lane, ORR_STREAM_GATHER), there = orr_program_event(e->program);
  const gint64 behind = (gint64)shards->computed->len - 1 - e->job->sharding.ahead;
  if (e->job->sharding.weights && behind >= 0)
    orr_program_wait(e->program, gather, g_array_index(shards->computed, guint32, behind));
  orr_program_join(e->program, gather, comm_at(e, e->gathered[lane->stage], shards->n_gathers++, 1, wire),
                   orr_emit_comm_label(e, "dp-weights", ORR_TIME_DP_COMM), -1);
  orr_program_record(e->program, gather, there);
  orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), there);
}

void orr_emit_computed(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards) {
  const guint32 computed = orr_program_event(e->program);
  orr_program_record(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), computed);
  g_array_append_val(shards->computed, computed);
}

void orr_emit_reduction(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, gint64 stage, guint b,
                        guint n_stages) {
  const guint32 dp = orr_emit_stream(e, lane, ORR_STREAM_DP), compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  const OrrBucket *bucket = &g_array_index(e->plan->buckets[stage], OrrBucket, b);
  const OrrWire *const wires[] = {bucket->wire, bucket->copies};
  const guint32 ready = orr_program_event(e->program);
  orr_program_record(e->program, compute, ready);
  orr_program_wait(e->program, dp, ready);
  for (guint i = 0; i < G_N_ELEMENTS(wires) && wires[i]; i++) {
    const guint index = e->job->sharding.reduces_each_pass ? shards->n_reductions++ : 2 * b + i;
    orr_program_join(e->program, dp, comm_at(e, e->reduced[stage], index, n_stages, wires[i]),
                     orr_emit_comm_label(e, "dp-gradients", ORR_TIME_DP_COMM), -1);
  }
  if (e->job->sharding.overlap) return;
  const guint32 reduced = orr_program_event(e->program);
  orr_program_record(e->program, dp, reduced);
  orr_program_wait(e->program, compute, reduced);
}
