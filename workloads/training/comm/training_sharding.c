/*
 * training_sharding - what replicas say to each other, as job->sharding has it
 * (workloads/training/sharding/sharding.h): buckets of gradients, and units whose weights are
 * gathered; planned, and as ops.
 *
 *   gather   wait(unit k - 1 - ahead has computed) join(all-gather of unit k) record(there)
 *   compute  wait(there) unit k  record(computed)
 *   dp       wait(bucket's gradients) join(reduction) [join(all-reduce over copies)]
 *
 * Units are counted through the step as the lane computes them, forward and back, so that a gather
 * runs ahead over the ends of passes, too. Those of a distributed optimizer (gather_beside_forward)
 * are of the weights that the step before has updated: they begin with the step, and run as far
 * ahead as they can.
 */
#include "workloads/training/emit/training_emitter.h"

/* --- planning
 * --------------------------------------------------------------------------------------------------- */

static gboolean is_bidirectional(const OrrJob *job) {
  return orr_pipeline_n_chains(job->schedule) > 1;
}

/* What communications about @share are called. */
typedef struct {
  const char *gradients, *copies, *weights, *again, *parameters;
} Names;
static const Names names[] = {
    [ORR_SHARE_DENSE] = {"dp-gradients", "dp-gradients-copies", "dp-weights", "dp-weights-again",
                         "dp-parameters"},
    [ORR_SHARE_EXPERTS] = {"expert-gradients", "expert-gradients-copies", "expert-weights",
                           "expert-weights-again", "expert-parameters"},
};

/* One wire for all groups of @comb on @stage, which call at the same time. */
static gboolean plan_stage(OrrTrainingPlan *plan, const char *name, gint64 count,
                           OrrCollectiveOp op, OrrComb comb, gint64 stage, double bytes,
                           OrrWire *ret_wire, GError **error) {
  const OrrJob *job = plan->wires.job;
  OrrCalls calls;
  gint64 stages[2] = {stage, stage};
  const guint n_stages = is_bidirectional(job) ? orr_job_holders(job, stage, stages) : 1;
  orr_calls_over(&calls, job, op, bytes, comb, stages, n_stages);
  const gboolean planned = orr_wires_join(&plan->wires, name, count, &calls, ret_wire, error);
  orr_calls_clear(&calls);
  return planned;
}

/* One after the other, a collective for each of @tensors. */
static gboolean plan_tensors(OrrTrainingPlan *plan, const char *name, gint64 count,
                             OrrCollectiveOp op, OrrComb comb, const GArray *tensors,
                             double element_bytes, OrrWire *ret_wire, GError **error) {
  for (guint i = 0; i < tensors->len; i++) {
    OrrWire one = {0};
    const double bytes = g_array_index(tensors, double, i) * element_bytes;
    if (!plan_stage(plan, name, count, op, comb, 0, bytes, &one, error)) return FALSE;
    orr_wire_append(ret_wire, &one);
  }
  return TRUE;
}

/* Of a block, where two stages hold it: those of chunk 0 of the stage of that number. */
static gint64 n_chunks(const OrrJob *job) { return is_bidirectional(job) ? 1 : job->shape.chunks; }

static double stage_parameters(const OrrJob *job, OrrShare share, gint64 stage) {
  double sum = 0;
  for (gint64 chunk = n_chunks(job); chunk-- > 0;) {
    const GArray *units = orr_job_units(job, stage, chunk);
    for (guint u = 0; u < units->len; u++)
      sum += orr_share_of(orr_job_part_weights(job, stage, g_array_index(units, guint, u)), share);
  }
  return sum;
}

/* One chunk's units in the order of their backward, cut where a bucket is full. The stage's
 * first bucket may be another size; with one for all, chunks share it. */
static void cut_chunk(const OrrJob *job, OrrShare share, gint64 stage, gint64 chunk,
                      OrrBucket *open, GArray *buckets) {
  const OrrShardingPlan *sharding = &job->sharding;
  const GArray *units = orr_job_units(job, stage, chunk);
  for (guint i = units->len; i-- > 0;) {
    const guint part = g_array_index(units, guint, i);
    open->units++;
    open->part = part;
    open->bytes +=
        orr_share_of(orr_job_part_weights(job, stage, part), share) * job->gradient_bytes_each;
    const gboolean ends = i == 0 && (chunk == 0 || sharding->reduces_each_pass);
    if (!ends &&
        open->bytes < (buckets->len == 0 ? sharding->first_bucket_bytes : sharding->bucket_bytes))
      continue;
    g_array_append_vals(buckets, open, 1);
    *open = (OrrBucket){0};
  }
}

/* A wire of the plan for a bucket; equal buckets share one. */
static const OrrWire *plan_bucket(OrrTrainingPlan *plan, const char *name, gint64 count,
                                  OrrCollectiveOp op, OrrComb comb, gint64 stage, double bytes,
                                  GError **error) {
  g_autofree OrrWire *wire = g_new0(OrrWire, 1);
  if (!plan_stage(plan, name, count, op, comb, stage, bytes, wire, error)) return NULL;
  g_ptr_array_add(plan->bucket_wires, wire);
  return g_steal_pointer(&wire);
}

/* The same of a unit's tensors. */
static const OrrWire *plan_tensor_bucket(OrrTrainingPlan *plan, const OrrJob *job, gint64 count,
                                         guint part, GError **error) {
  g_autofree OrrWire *wire = g_new0(OrrWire, 1);
  g_autoptr(GArray) tensors = orr_training_tensors(job, part);
  if (!plan_tensors(plan, names[ORR_SHARE_DENSE].gradients, count, ORR_REDUCE_SCATTER,
                    orr_shard_comb(job, ORR_SHARE_DENSE), tensors, job->gradient_bytes_each, wire,
                    error))
    return NULL;
  g_ptr_array_add(plan->bucket_wires, wire);
  return g_steal_pointer(&wire);
}

static const OrrBucket *find_equal(const GArray *buckets, guint before) {
  for (guint k = 0; k < before; k++)
    if (g_array_index(buckets, OrrBucket, k).bytes ==
        g_array_index(buckets, OrrBucket, before).bytes)
      return &g_array_index(buckets, OrrBucket, k);
  return NULL;
}

/* @rest: what a rank of one copy has of the bucket, which all copies sum; 0: there is one copy. */
static gboolean plan_reduction(OrrTrainingPlan *plan, const OrrJob *job, OrrShare share,
                               gint64 stage, gint64 count, OrrBucket *bucket, double rest,
                               GError **error) {
  const gboolean sharded = job->sharding.optimizer;
  if (job->sharding.by_tensor && share == ORR_SHARE_DENSE) {
    bucket->wire = plan_tensor_bucket(plan, job, count, bucket->part, error);
    return bucket->wire != NULL;
  }
  const OrrComb comb = sharded ? orr_shard_comb(job, share) : orr_share_comb(job, share);
  bucket->wire =
      plan_bucket(plan, names[share].gradients, count,
                  sharded ? ORR_REDUCE_SCATTER : ORR_ALL_REDUCE, comb, stage, bucket->bytes, error);
  if (bucket->wire && rest > 0)
    bucket->copies = plan_bucket(plan, names[share].copies, count, ORR_ALL_REDUCE,
                                 orr_copies_comb(job, share), stage, rest, error);
  return bucket->wire && (rest == 0 || bucket->copies);
}

static gboolean plan_buckets(OrrTrainingPlan *plan, const OrrJob *job, OrrShare share, gint64 stage,
                             GError **error) {
  GArray *buckets = plan->buckets[share][stage];
  OrrBucket open = {0};
  for (gint64 chunk = n_chunks(job); chunk-- > 0;)
    cut_chunk(job, share, stage, chunk, &open, buckets);
  if (orr_share_replicas(job, share) == 1) return TRUE;
  const gint64 count = buckets->len * (job->sharding.reduces_each_pass ? orr_job_passes(job) : 1);
  const gboolean copies = job->sharding.optimizer && orr_copies_comb(job, share).size > 1;
  for (guint b = 0; b < buckets->len; b++) {
    OrrBucket *bucket = &g_array_index(buckets, OrrBucket, b);
    const OrrBucket *equal = find_equal(buckets, b);
    const double rest = copies ? bucket->bytes / (double)orr_share_ranks(job, share) : 0;
    if (equal) {
      bucket->wire = equal->wire;
      bucket->copies = equal->copies;
    } else if (!plan_reduction(plan, job, share, stage, count, bucket, rest, error)) {
      return FALSE;
    }
  }
  return TRUE;
}

static gint64 gathers_of(const OrrJob *job, gint64 stage, guint part) {
  const gint64 passes =
      job->sharding.weights
          ? orr_job_passes(job) * (job->sharding.gathers_again && !job->params->evaluation ? 2 : 1)
          : 1;
  return orr_job_count(job, stage, part) * passes;
}

/* Unit by unit, one tensor after the other, in a forward and in a backward. */
static gboolean plan_lists(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  const guint n = job->layout.parts->len;
  const OrrComb comb = orr_shard_comb(job, ORR_SHARE_DENSE);
  const double element_bytes = orr_dtype_bytes(job->shard.dtype);
  const Names *name = &names[ORR_SHARE_DENSE];
  plan->weights_again = g_new0(OrrWire, n);
  plan->lists = g_new0(OrrListWork, n);
  for (guint part = 0; part < n; part++) {
    g_autoptr(GArray) tensors = orr_training_tensors(job, part);
    g_autoptr(GArray) again = orr_training_regathered(job, part, tensors);
    const gint64 count = orr_job_count(job, 0, part) * orr_job_passes(job);
    plan->lists[part] = orr_training_list_work(job, part);
    OrrWire *back = &plan->weights_again[part];
    if (!plan_tensors(plan, name->weights, count, ORR_ALL_GATHER, comb, tensors, element_bytes,
                      &plan->weights[ORR_SHARE_DENSE][part], error) ||
        !plan_tensors(plan, name->weights, count, ORR_ALL_GATHER, comb, tensors, element_bytes,
                      back, error) ||
        !plan_tensors(plan, name->again, count, ORR_ALL_GATHER, comb, again, element_bytes, back,
                      error))
      return FALSE;
  }
  return TRUE;
}

static gboolean plan_weights(OrrTrainingPlan *plan, const OrrJob *job, OrrShare share, gint64 stage,
                             GError **error) {
  const guint n = job->layout.parts->len;
  if (job->sharding.by_tensor && share == ORR_SHARE_DENSE) return plan_lists(plan, job, error);
  for (guint part = 0; part < n; part++) {
    const OrrWeights weights = orr_job_part_weights(job, stage, part);
    const double bytes = orr_job_gather_bytes(job, weights, share);
    if (bytes == 0 || orr_job_count(job, stage, part) == 0) continue;
    if (!plan_stage(plan, names[share].weights, gathers_of(job, stage, part), ORR_ALL_GATHER,
                    orr_shard_comb(job, share), stage, bytes,
                    &plan->weights[share][stage * n + part], error))
      return FALSE;
  }
  return TRUE;
}

/* After the update, where weights are not gathered unit by unit. */
static gboolean plan_parameters(OrrTrainingPlan *plan, const OrrJob *job, OrrShare share,
                                gint64 stage, GError **error) {
  double bytes = 0;
  for (gint64 chunk = n_chunks(job); chunk-- > 0;) {
    const GArray *units = orr_job_units(job, stage, chunk);
    for (guint u = 0; u < units->len; u++)
      bytes += orr_job_gather_bytes(
          job, orr_job_part_weights(job, stage, g_array_index(units, guint, u)), share);
  }
  return plan_stage(plan, names[share].parameters, 1, ORR_ALL_GATHER, orr_shard_comb(job, share),
                    stage, bytes, &plan->parameters[share][stage], error);
}

gboolean orr_training_plan_share(OrrTrainingPlan *plan, const OrrJob *job, OrrShare share,
                                 GError **error) {
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const gboolean is_alone = orr_share_replicas(job, share) == 1;
    if (stage_parameters(job, share, stage) == 0 ||
        (is_alone && !(job->params->offload.optimizer > 0)))
      continue;
    if (!job->params->evaluation && !plan_buckets(plan, job, share, stage, error)) return FALSE;
    if (orr_share_ranks(job, share) == 1 || (job->params->evaluation && !job->sharding.weights))
      continue;
    if (!(orr_job_gathers(job) ? plan_weights : plan_parameters)(plan, job, share, stage, error))
      return FALSE;
  }
  return TRUE;
}

gboolean orr_training_reduces(const OrrTrainingPlan *plan, gint64 stage) {
  for (int share = 0; share < ORR_N_SHARES; share++)
    if (plan->buckets[share][stage]->len > 0) return TRUE;
  return FALSE;
}

/* --- ops
 * -------------------------------------------------------------------------------------------------------- */

/* The @index-th communication of that kind that lanes of the stage make in this step. */
static guint32 comm_at(OrrEmitter *e, GArray *made, guint index, guint n_stages,
                       const OrrWire *wire) {
  const guint32 none = ORR_NO_COMM;
  while (made->len <= index) g_array_append_val(made, none);
  return orr_emit_once(e, &g_array_index(made, guint32, index), n_stages * e->plan->fold.n, wire);
}

void orr_emit_shards_init(OrrEmitShards *shards, const OrrJob *job) {
  *shards =
      (OrrEmitShards){.computed = g_array_new(FALSE, FALSE, sizeof(guint32)),
                      .launched = g_array_new(FALSE, FALSE, sizeof(guint32)),
                      .left = g_new(gint64, job->shape.chunks),
                      .first = g_new(gboolean, job->shape.chunks),
                      .stashed = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
  for (gint64 c = 0; c < job->shape.chunks; c++) {
    shards->left[c] = orr_job_passes(job);
    shards->first[c] = TRUE;
  }
}

void orr_emit_shards_clear(OrrEmitShards *shards) {
  g_array_unref(shards->computed);
  g_array_unref(shards->launched);
  g_free(shards->left);
  g_free(shards->first);
  g_hash_table_unref(shards->stashed);
}

/* One share's weights of the part, on the gather stream; FALSE where they are there. */
static gboolean join_gather(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards,
                            OrrShare share, guint part, gboolean backward) {
  const gboolean again = backward && e->plan->weights_again && share == ORR_SHARE_DENSE;
  const OrrWire *wire =
      again ? &e->plan->weights_again[part]
            : &e->plan->weights[share][lane->stage * e->job->layout.parts->len + part];
  if (wire->n_phases == 0) return FALSE;
  const guint32 gather = orr_emit_stream(e, lane, ORR_STREAM_GATHER);
  const gint64 behind = (gint64)shards->computed->len - 1 - e->job->sharding.ahead;
  if (e->job->sharding.weights && behind >= 0)
    orr_program_wait(e->program, gather, g_array_index(shards->computed, guint32, behind));
  orr_program_join(e->program, gather,
                   comm_at(e, e->gathered[share][lane->stage], shards->n_gathers[share]++, 1, wire),
                   orr_emit_comm_label(e, names[share].weights, ORR_TIME_DP_COMM), -1);
  return TRUE;
}

/* What goes through lists before this unit computes are the tensors of the next one, of a step
 * of equal units as many as its own: its own were launched by the unit before. */
static void emit_gather_lists(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards,
                              guint part, gboolean backward) {
  if (!e->plan->lists) return;
  const OrrListWork *work = &e->plan->lists[part];
  const guint32 launched = orr_program_event(e->program),
                compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  orr_emit_work(e, lane, "weights' lists", backward ? work->again : work->gather, 0, -1);
  orr_program_record(e->program, compute, launched);
  g_array_append_val(shards->launched, launched);
  const gint64 at = MAX((gint64)shards->launched->len - 1 - e->job->sharding.ahead, 0);
  orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_GATHER),
                   g_array_index(shards->launched, guint32, at));
}

void orr_emit_gather(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, guint part,
                     gboolean backward) {
  gboolean any = FALSE;
  orr_emit_weights_up(e, lane, shards, part);
  emit_gather_lists(e, lane, shards, part, backward);
  for (int share = 0; share < ORR_N_SHARES; share++)
    any = join_gather(e, lane, shards, share, part, backward) || any;
  if (!any) return;
  const guint32 there = orr_program_event(e->program);
  orr_program_record(e->program, orr_emit_stream(e, lane, ORR_STREAM_GATHER), there);
  orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), there);
}

void orr_emit_computed(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards) {
  const guint32 computed = orr_program_event(e->program);
  orr_program_record(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), computed);
  g_array_append_val(shards->computed, computed);
}

void orr_emit_reduction(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, OrrShare share,
                        gint64 stage, guint b, guint n_stages) {
  const guint32 dp = orr_emit_stream(e, lane, ORR_STREAM_DP),
                compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  const OrrBucket *bucket = &g_array_index(e->plan->buckets[share][stage], OrrBucket, b);
  const OrrWire *const wires[] = {bucket->wire, bucket->copies};
  if (e->plan->lists)
    orr_emit_work(e, lane, "gradients' lists", e->plan->lists[bucket->part].scatter, 0, -1);
  const guint32 ready = orr_program_event(e->program);
  orr_program_record(e->program, compute, ready);
  orr_program_wait(e->program, dp, ready);
  for (guint i = 0; i < G_N_ELEMENTS(wires) && wires[i]; i++) {
    const guint index =
        e->job->sharding.reduces_each_pass ? shards->n_reductions[share]++ : 2 * b + i;
    orr_program_join(e->program, dp,
                     comm_at(e, e->reduced[share][stage], index, n_stages, wires[i]),
                     orr_emit_comm_label(e, names[share].gradients, ORR_TIME_DP_COMM), -1);
  }
  orr_emit_gradients_out(e, lane, shards, share, bucket->bytes);
  if (e->job->sharding.overlap) return;
  const guint32 reduced = orr_program_event(e->program);
  orr_program_record(e->program, dp, reduced);
  orr_program_wait(e->program, compute, reduced);
}

void orr_emit_parameters(OrrEmitter *e, const OrrLaneAt *lane, OrrShare share, gint64 owner,
                         guint n_stages) {
  const OrrWire *wire = &e->plan->parameters[share][owner];
  if (wire->n_phases == 0) return;
  orr_program_join(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE),
                   orr_emit_once(e, &e->gathers[share][owner], n_stages * e->plan->fold.n, wire),
                   orr_emit_comm_label(e, names[share].parameters, ORR_TIME_DP_COMM), -1);
}
