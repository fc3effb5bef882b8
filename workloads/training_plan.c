/*
 * training_plan - every communication of a job, planned once and made many times.
 *
 * Order matters: gradient reductions join all replicas and are planned first; what they put on links helps to tell
 * replicas apart (training_fold.c); the classes found then share their pipeline transfers and tensor-parallel wires.
 */
#include "workloads/training_private.h"

/* Equal calls of several groups that move together: group g's GPUs are gpus[g * n .. g * n + n). */
typedef struct {
  gint64 *gpus;
  OrrCollectiveCall *calls;
  guint n_calls;
} Calls;

static void calls_init(Calls *calls, OrrCollectiveOp op, double bytes, guint n_groups, guint n) {
  calls->gpus = g_new0(gint64, (gsize)n_groups * n);
  calls->calls = g_new0(OrrCollectiveCall, n_groups);
  calls->n_calls = n_groups;
  for (guint g = 0; g < n_groups; g++) calls->calls[g] = (OrrCollectiveCall){op, bytes, calls->gpus + (gsize)g * n, n};
}

static void calls_clear(Calls *calls) {
  g_free(calls->gpus);
  g_free(calls->calls);
}

/* The data-parallel groups of all tp ranks of @stage. */
static gboolean plan_dp(OrrTrainingPlan *plan, const OrrJob *job, const char *name, gint64 count, OrrCollectiveOp op,
                        gint64 stage, double bytes, OrrWire *ret_wire, GError **error) {
  Calls calls;
  calls_init(&calls, op, bytes, job->tp, job->dp);
  for (gint64 t = 0; t < job->tp; t++)
    for (gint64 d = 0; d < job->dp; d++) calls.gpus[t * job->dp + d] = orr_job_gpu(job, t, d, stage);
  const gboolean planned = orr_wires_join(&plan->wires, name, count, calls.calls, calls.n_calls, ret_wire, error);
  calls_clear(&calls);
  return planned;
}

/* Pairs of @from's and @to's GPUs, over the class's replicas and the tp ranks. */
static gboolean plan_pairs(OrrTrainingPlan *plan, const OrrJob *job, const char *name, gint64 count, OrrCollectiveOp op,
                           guint class, gint64 from, gint64 to, double bytes, OrrWire *ret_wire, GError **error) {
  Calls calls;
  calls_init(&calls, op, bytes, job->tp * plan->fold.size[class], 2);
  gint64 *gpu = calls.gpus;
  for (gint64 d = plan->fold.first[class]; d < job->dp; d++) {
    if (plan->fold.class_of[d] != class) continue;
    for (gint64 t = 0; t < job->tp; t++) {
      *gpu++ = orr_job_gpu(job, t, d, from);
      *gpu++ = orr_job_gpu(job, t, d, to);
    }
  }
  const gboolean planned = orr_wires_join(&plan->wires, name, count, calls.calls, calls.n_calls, ret_wire, error);
  calls_clear(&calls);
  return planned;
}

/* The tensor-parallel group of one replica of a lane's class. */
static gboolean plan_tp(OrrTrainingPlan *plan, const OrrJob *job, const char *name, gint64 count, OrrCollectiveOp op,
                        guint lane, double bytes, gboolean whole_class, OrrWire *ret_wire, GError **error) {
  const guint class = lane % plan->fold.n;
  const gint64 stage = lane / plan->fold.n;
  Calls calls;
  calls_init(&calls, op, bytes, whole_class ? plan->fold.size[class] : 1, job->tp);
  gint64 *gpu = calls.gpus;
  for (gint64 d = plan->fold.first[class]; gpu < calls.gpus + calls.n_calls * job->tp; d++) {
    if (plan->fold.class_of[d] != class) continue;
    for (gint64 t = 0; t < job->tp; t++) *gpu++ = orr_job_gpu(job, t, d, stage);
  }
  const gboolean planned = orr_wires_join(&plan->wires, name, count, calls.calls, calls.n_calls, ret_wire, error);
  calls_clear(&calls);
  return planned;
}

/* Parameters of unit @u of a stage's backward: the head on the last stage, then its layers, then the embedding. */
static double unit_parameters(const OrrJob *job, gint64 stage, gint64 u) {
  const OrrModel *model = job->world->model;
  const gint64 layers = job->chunk_layers * job->shape.chunks;
  const gboolean first = stage == 0, last = stage == job->pp - 1;
  if (last && u == 0) return orr_weights_sum(orr_transformer_head_weights(model, &job->shard, first && model->tied_embeddings));
  if (u - last < layers) return orr_weights_sum(orr_transformer_layer_weights(model, 0, &job->shard));
  return orr_weights_sum(orr_transformer_embedding_weights(model, &job->shard));
}

static gint64 n_units(const OrrJob *job, gint64 stage) {
  return job->chunk_layers * job->shape.chunks + (stage == 0) + (stage == job->pp - 1);
}

static void cut_buckets(const OrrJob *job, gint64 stage, GArray *buckets) {
  const OrrDataParallel *dp = &job->params->data_parallel;
  const gint64 n = n_units(job, stage);
  OrrBucket bucket = {0};
  for (gint64 u = 0; u < n; u++) {
    bucket.units++;
    bucket.bytes += unit_parameters(job, stage, u) * job->gradient_bytes_each;
    if (u + 1 < n && (!dp->overlap || bucket.bytes < dp->bucket_bytes)) continue;
    g_array_append_val(buckets, bucket);
    bucket = (OrrBucket){0};
  }
}

static gboolean plan_buckets(OrrTrainingPlan *plan, const OrrJob *job, gint64 stage, GError **error) {
  const gboolean sharded = job->params->optimizer.sharding == ORR_SHARDING_DISTRIBUTED;
  GArray *buckets = plan->buckets[stage];
  cut_buckets(job, stage, buckets);
  for (guint b = 0; b < buckets->len; b++) {
    OrrBucket *bucket = &g_array_index(buckets, OrrBucket, b);
    for (guint k = 0; k < b && !bucket->wire; k++) /* equal buckets share a wire */
      if (g_array_index(buckets, OrrBucket, k).bytes == bucket->bytes)
        bucket->wire = g_array_index(buckets, OrrBucket, k).wire;
    if (bucket->wire) continue;
    OrrWire *wire = g_new0(OrrWire, 1);
    g_ptr_array_add(plan->bucket_wires, wire);
    bucket->wire = wire;
    if (!plan_dp(plan, job, "dp-gradients", buckets->len, sharded ? ORR_REDUCE_SCATTER : ORR_ALL_REDUCE, stage,
                 bucket->bytes, wire, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean plan_gradients(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  if (job->dp == 1) return TRUE;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    if (!plan_buckets(plan, job, stage, error)) return FALSE;
    if (job->params->optimizer.sharding != ORR_SHARDING_DISTRIBUTED) continue;
    const double bytes = orr_job_stage_parameters(job, stage) * orr_dtype_bytes(job->shard.dtype);
    if (!plan_dp(plan, job, "dp-parameters", 1, ORR_ALL_GATHER, stage, bytes, &plan->parameters[stage], error))
      return FALSE;
  }
  return TRUE;
}

static void fold(OrrTrainingPlan *plan, const OrrJob *job, OrrFidelity fidelity) {
  g_autoptr(GHashTable) load = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (guint b = 0; b < plan->buckets[stage]->len; b++)
      orr_wires_load(&plan->wires, g_array_index(plan->buckets[stage], OrrBucket, b).wire, stage, load);
  orr_fold_init(&plan->fold, job, fidelity, load);
}

/* Under sequence parallelism a rank holds, and so sends, 1/tp of the boundary tensor anyway. */
static gboolean gathers(const OrrJob *job) {
  return job->params->pipeline_comm.scatter_gather && job->tp > 1 && job->pp > 1 && !job->shard.sequence_parallel;
}

static gboolean plan_transfers(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  if (job->pp == 1) return TRUE;
  const double boundary = orr_transformer_boundary_bytes(job->world->model, &job->shard);
  const double bytes = gathers(job) ? boundary / job->tp : boundary;
  const gint64 count = job->shape.chunks * job->shape.micro_batches;
  for (guint class = 0; class < plan->fold.n; class ++)
    for (gint64 stage = 0; stage < job->pp; stage++) {
      const gint64 next = (stage + 1) % job->pp;
      if (next == 0 && job->shape.chunks == 1) continue;
      OrrWire *wire = &plan->transfers[(class * job->pp + stage) * 2];
      if (!plan_pairs(plan, job, "pp-forward", count, ORR_SEND_RECV, class, stage, next, bytes, wire, error) ||
          !plan_pairs(plan, job, "pp-backward", count, ORR_SEND_RECV, class, next, stage, bytes, wire + 1, error))
        return FALSE;
    }
  if (!gathers(job)) return TRUE;
  OrrWire gather = {0};
  if (!plan_tp(plan, job, "pp-gather", 2 * count, ORR_ALL_GATHER, 0, boundary, FALSE, &gather, error)) return FALSE;
  plan->gather_s = gather.predicted_s;
  orr_wire_clear(&gather);
  return TRUE;
}

static gboolean plan_embedding(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  const OrrModel *model = job->world->model;
  if (job->pp == 1 || !model->tied_embeddings) return TRUE;
  const double bytes = (double)model->vocab * model->hidden / job->tp * job->gradient_bytes_each;
  for (guint class = 0; class < plan->fold.n; class ++)
    if (!plan_pairs(plan, job, "embedding-gradients", 1, ORR_ALL_REDUCE, class, 0, job->pp - 1, bytes,
                    &plan->embedding[class], error))
      return FALSE;
  return TRUE;
}

/* A scalar over the tensor- and pipeline-parallel ranks of the first replica: what clipping and the inf check wait for.
 */
static gboolean plan_norm(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  Calls calls;
  calls_init(&calls, ORR_ALL_REDUCE, 4, 1, job->tp * job->pp);
  for (gint64 p = 0; p < job->pp; p++)
    for (gint64 t = 0; t < job->tp; t++) calls.gpus[p * job->tp + t] = orr_job_gpu(job, t, 0, p);
  const gboolean planned = orr_wires_join(&plan->wires, "gradient-norm", 1, calls.calls, 1, &plan->norm, error);
  calls_clear(&calls);
  return planned;
}

static const OrrCollectiveOp tp_ops[] = {
    [ORR_COMM_ALL_REDUCE] = ORR_ALL_REDUCE,
    [ORR_COMM_ALL_GATHER] = ORR_ALL_GATHER,
    [ORR_COMM_REDUCE_SCATTER] = ORR_REDUCE_SCATTER,
};
static const char *const tp_names[] = {
    [ORR_COMM_ALL_REDUCE] = "tp-all-reduce",
    [ORR_COMM_ALL_GATHER] = "tp-all-gather",
    [ORR_COMM_REDUCE_SCATTER] = "tp-reduce-scatter",
};

const OrrWire *orr_training_tp_wire(const OrrTrainingPlan *plan, guint lane, int comm, double bytes) {
  const GArray *wires = plan->tp_wires[lane];
  for (guint i = 0; i < wires->len; i++) {
    const OrrTpWire *known = &g_array_index(wires, OrrTpWire, i);
    if (known->comm == comm && known->bytes == bytes) return &known->wire;
  }
  return NULL;
}

static gint64 comms_of(const OrrTrainingCosts *costs, int comm) {
  const OrrRun *const runs[] = {&costs->layer_forward, &costs->layer_backward};
  gint64 n = 0;
  for (guint r = 0; r < G_N_ELEMENTS(runs); r++)
    for (guint i = 0; i < runs[r]->segments->len; i++)
      n += g_array_index(runs[r]->segments, OrrSegment, i).comm == comm;
  return n;
}

static gboolean plan_tp_run(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs, guint lane,
                            const OrrRun *run, gboolean whole_class, GError **error) {
  const gint64 layer_runs = job->chunk_layers * job->shape.chunks * job->shape.micro_batches;
  for (guint i = 0; i < run->segments->len; i++) {
    const OrrSegment *segment = &g_array_index(run->segments, OrrSegment, i);
    if (segment->comm < 0 || orr_training_tp_wire(plan, lane, segment->comm, segment->comm_bytes)) continue;
    OrrTpWire tp = {segment->comm, segment->comm_bytes, {0}};
    if (!plan_tp(plan, job, tp_names[tp.comm], comms_of(costs, tp.comm) * layer_runs, tp_ops[tp.comm], lane, tp.bytes,
                 whole_class, &tp.wire, error))
      return FALSE;
    g_array_append_val(plan->tp_wires[lane], tp);
  }
  return TRUE;
}

static void clear_tp_wires(OrrTrainingPlan *plan, guint lane) {
  for (guint i = 0; i < plan->tp_wires[lane]->len; i++)
    orr_wire_clear(&g_array_index(plan->tp_wires[lane], OrrTpWire, i).wire);
  g_array_set_size(plan->tp_wires[lane], 0);
}

static gboolean plan_tp_lanes(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                              gboolean whole_class, GError **error) {
  const OrrRun *const runs[] = {&costs->layer_forward,      &costs->layer_backward, &costs->embedding_forward,
                                &costs->embedding_backward, &costs->head_forward,   &costs->head_backward};
  for (guint lane = 0; lane < job->pp * plan->fold.n; lane++) {
    clear_tp_wires(plan, lane);
    for (guint r = 0; r < G_N_ELEMENTS(runs); r++)
      if (!plan_tp_run(plan, job, costs, lane, runs[r], whole_class, error)) return FALSE;
  }
  return TRUE;
}

/* Whether a lane's tensor-parallel links also carry its pipeline transfers, or gradients beside its backward. */
static gboolean lane_is_alone(const OrrTrainingPlan *plan, const OrrJob *job, guint lane) {
  if (plan->tp_wires[lane]->len == 0) return TRUE;
  const OrrWire *tp = &g_array_index(plan->tp_wires[lane], OrrTpWire, 0).wire;
  const guint class = lane % plan->fold.n;
  for (gint64 s = 0; s < 2 * job->pp; s++)
    if (orr_wires_meet(&plan->wires, tp, &plan->transfers[class * job->pp * 2 + s])) return FALSE;
  if (!job->params->data_parallel.overlap) return TRUE;
  for (gint64 s = 0; s < job->pp; s++)
    if (plan->buckets[s]->len > 0 &&
        orr_wires_meet(&plan->wires, tp, g_array_index(plan->buckets[s], OrrBucket, 0).wire))
      return FALSE;
  return TRUE;
}

static gboolean plan_tensor_parallel(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                                     GError **error) {
  plan->tp_alone = TRUE;
  if (job->tp == 1) return TRUE;
  if (!plan_tp_lanes(plan, job, costs, FALSE, error)) return FALSE;
  for (guint lane = 0; lane < job->pp * plan->fold.n && plan->tp_alone; lane++)
    plan->tp_alone = lane_is_alone(plan, job, lane);
  return plan->tp_alone || plan_tp_lanes(plan, job, costs, TRUE, error);
}

gboolean orr_training_plan_init(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                                OrrFidelity fidelity, OrrProgram *program, GError **error) {
  *plan = (OrrTrainingPlan){.bucket_wires = g_ptr_array_new()};
  orr_wires_init(&plan->wires, job, program);
  plan->buckets = g_new0(GArray *, job->pp + 1);
  plan->parameters = g_new0(OrrWire, job->pp);
  for (gint64 stage = 0; stage < job->pp; stage++) plan->buckets[stage] = g_array_new(FALSE, FALSE, sizeof(OrrBucket));
  if (!plan_gradients(plan, job, error)) return FALSE;
  fold(plan, job, fidelity);
  plan->transfers = g_new0(OrrWire, plan->fold.n * job->pp * 2);
  plan->embedding = g_new0(OrrWire, plan->fold.n);
  plan->tp_wires = g_new0(GArray *, plan->fold.n * job->pp + 1);
  for (guint lane = 0; lane < plan->fold.n * job->pp; lane++)
    plan->tp_wires[lane] = g_array_new(FALSE, FALSE, sizeof(OrrTpWire));
  return plan_transfers(plan, job, error) && plan_embedding(plan, job, error) && plan_norm(plan, job, error) &&
         plan_tensor_parallel(plan, job, costs, error);
}

static void clear_wires(OrrWire *wires, gsize n) {
  for (gsize i = 0; wires && i < n; i++) orr_wire_clear(&wires[i]);
  g_free(wires);
}

void orr_training_plan_clear(OrrTrainingPlan *plan) {
  const gsize pp = plan->wires.job->pp, classes = plan->fold.n;
  for (guint i = 0; plan->buckets && plan->buckets[i]; i++) g_array_unref(plan->buckets[i]);
  for (guint lane = 0; plan->tp_wires && plan->tp_wires[lane]; lane++) {
    clear_tp_wires(plan, lane);
    g_array_unref(plan->tp_wires[lane]);
  }
  for (guint i = 0; i < plan->bucket_wires->len; i++) clear_wires(g_ptr_array_index(plan->bucket_wires, i), 1);
  g_ptr_array_unref(plan->bucket_wires);
  clear_wires(plan->parameters, pp);
  clear_wires(plan->transfers, classes * pp * 2);
  clear_wires(plan->embedding, classes);
  orr_wire_clear(&plan->norm);
  g_free(plan->buckets);
  g_free(plan->tp_wires);
  orr_fold_clear(&plan->fold);
  orr_wires_clear(&plan->wires);
}
