/*
 * training_plan - every communication of a job, planned once and made many times.
 *
 * Order matters: gradient reductions join all replicas and are planned first; what they put on
 * links helps to tell replicas apart (training_fold.c); the classes found then share their pipeline
 * transfers and what goes on inside layers (training_layers.c).
 */
#include "workloads/training/training_private.h"

gint64 *orr_training_class_ranks(const OrrTrainingPlan *plan, const OrrJob *job, guint class) {
  gint64 *firsts = g_new(gint64, plan->fold.size[class]);
  guint n = 0;
  for (gint64 d = plan->fold.first[class]; d < job->dp; d++)
    if (plan->fold.class_of[d] == class) firsts[n++] = d * orr_job_replica_ranks(job);
  return firsts;
}

/* Pairs of @from's and @to's GPUs, over the ranks of the class's replicas. */
static gboolean plan_pairs(OrrTrainingPlan *plan, const OrrJob *job, const char *name, gint64 count,
                           OrrCollectiveOp op, guint class, gint64 from, gint64 to, double bytes,
                           OrrWire *ret_wire, GError **error) {
  const gint64 n = orr_job_replica_ranks(job);
  g_autofree gint64 *firsts = orr_training_class_ranks(plan, job, class);
  OrrCalls calls;
  orr_calls_init(&calls, op, bytes, n * plan->fold.size[class], 2);
  gint64 *gpu = calls.gpus;
  for (guint i = 0; i < plan->fold.size[class]; i++)
    for (gint64 rank = firsts[i]; rank < firsts[i] + n; rank++) {
      *gpu++ = orr_job_gpu(job, from, rank);
      *gpu++ = orr_job_gpu(job, to, rank);
    }
  const gboolean planned = orr_wires_join(&plan->wires, name, count, &calls, ret_wire, error);
  orr_calls_clear(&calls);
  return planned;
}

static void load_wire(const OrrTrainingPlan *plan, const OrrWire *wire, guint64 salt,
                      guint64 *load) {
  if (wire) orr_wires_load(&plan->wires, wire, salt, load);
}

/* By what all replicas do together: gradients, hybrid sharding's second reduction, gathers of
 * parameters. */
static void fold(OrrTrainingPlan *plan, const OrrJob *job, OrrFidelity fidelity) {
  g_autofree guint64 *load = g_new0(guint64, orr_fabric_n_links(job->world->fabric));
  for (int share = 0; share < ORR_N_SHARES; share++) {
    for (gint64 stage = 0; stage < job->pp; stage++) {
      for (guint b = 0; b < plan->buckets[share][stage]->len; b++) {
        const OrrBucket *bucket = &g_array_index(plan->buckets[share][stage], OrrBucket, b);
        load_wire(plan, bucket->wire, stage, load);
        load_wire(plan, bucket->copies, stage, load);
      }
      load_wire(plan, &plan->parameters[share][stage], stage, load);
    }
    for (guint i = 0; i < (guint)job->pp * job->layout.parts->len; i++)
      orr_wires_load(&plan->wires, &plan->weights[share][i], i / job->layout.parts->len, load);
  }
  orr_fold_init(&plan->fold, job, fidelity, load);
}

/* Under sequence parallelism a rank holds, and so sends, 1/tp of the boundary tensor anyway. */
static gboolean gathers(const OrrJob *job) {
  return job->params->pipeline_comm.scatter_gather && job->tp > 1 && job->pp > 1 &&
         !job->shard.sequence_parallel;
}

/* What the receiver of a boundary tensor adds before it computes: one tensor-parallel group of
 * the first replica. */
static gboolean plan_gather(OrrTrainingPlan *plan, const OrrJob *job, double boundary, gint64 count,
                            GError **error) {
  OrrWire gather = {0};
  OrrCalls calls;
  const gint64 first = 0;
  orr_calls_of(&calls, job, ORR_ALL_GATHER, boundary, orr_group_comb(job, ORR_GROUP_TP), 0, &first,
               1, job->tp);
  const gboolean planned =
      orr_wires_join(&plan->wires, "pp-gather", 2 * count, &calls, &gather, error);
  orr_calls_clear(&calls);
  plan->gather_s = gather.predicted_s;
  orr_wire_clear(&gather);
  return planned;
}

static gboolean plan_transfers(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  if (job->pp == 1) return TRUE;
  const gboolean wraps = job->schedule->blocks == ORR_BLOCKS_LOOP && job->shape.chunks > 1;
  const double boundary = orr_transformer_boundary_bytes(job->world->model, &job->shard);
  const double bytes = gathers(job) ? boundary / job->tp : boundary;
  const gint64 count = job->shape.chunks * orr_job_passes(job);
  for (guint class = 0; class < plan->fold.n; class ++)
    for (gint64 stage = 0; stage < job->pp; stage++) {
      const gint64 next = (stage + 1) % job->pp;
      if (next == 0 && !wraps) continue;
      OrrWire *wire = &plan->transfers[(class * job->pp + stage) * 2];
      if (!plan_pairs(plan, job, "pp-forward", count, ORR_SEND_RECV, class, stage, next, bytes,
                      wire, error))
        return FALSE;
      if (job->params->evaluation) continue;
      if (!plan_pairs(plan, job, "pp-backward", count, ORR_SEND_RECV, class, next, stage, bytes,
                      wire + 1, error))
        return FALSE;
    }
  return !gathers(job) || plan_gather(plan, job, boundary, count, error);
}

static gboolean plan_embedding(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  const OrrModel *model = job->world->model;
  if (job->params->evaluation || !model->tied_embeddings || orr_job_holds(job, 0, ORR_UNIT_HEAD))
    return TRUE;
  const double bytes = (double)model->vocab * model->hidden / job->tp * job->gradient_bytes_each;
  for (guint class = 0; class < plan->fold.n; class ++)
    if (!plan_pairs(plan, job, "embedding-gradients", 1, ORR_ALL_REDUCE, class, 0, job->pp - 1,
                    bytes, &plan->embedding[class], error))
      return FALSE;
  return TRUE;
}

/* A scalar over the ranks of the first replica: what clipping and the inf check wait for. */
static gboolean plan_norm(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  if (job->params->evaluation) return TRUE;
  const gint64 n = orr_job_replica_ranks(job);
  OrrCalls calls;
  orr_calls_init(&calls, ORR_ALL_REDUCE, 4, 1, n * job->pp);
  for (gint64 p = 0; p < job->pp; p++)
    for (gint64 rank = 0; rank < n; rank++) calls.gpus[p * n + rank] = orr_job_gpu(job, p, rank);
  const gboolean planned =
      orr_wires_join(&plan->wires, "gradient-norm", 1, &calls, &plan->norm, error);
  orr_calls_clear(&calls);
  return planned;
}

gboolean orr_training_plan_init(OrrTrainingPlan *plan, const OrrJob *job,
                                const OrrTrainingCosts *costs, OrrFidelity fidelity,
                                OrrProgram *program, GError **error) {
  *plan = (OrrTrainingPlan){.bucket_wires = g_ptr_array_new()};
  orr_wires_init(&plan->wires, job, program);
  for (int share = 0; share < ORR_N_SHARES; share++) {
    plan->buckets[share] = g_new0(GArray *, job->pp + 1);
    plan->parameters[share] = g_new0(OrrWire, job->pp);
    plan->weights[share] = g_new0(OrrWire, job->pp * job->layout.parts->len);
    for (gint64 stage = 0; stage < job->pp; stage++)
      plan->buckets[share][stage] = g_array_new(FALSE, FALSE, sizeof(OrrBucket));
  }
  for (int share = 0; share < ORR_N_SHARES; share++)
    if (!orr_training_plan_share(plan, job, share, error)) return FALSE;
  fold(plan, job, fidelity);
  plan->transfers = g_new0(OrrWire, plan->fold.n * job->pp * 2);
  plan->embedding = g_new0(OrrWire, plan->fold.n);
  orr_training_plan_storage(plan, job);
  orr_training_plan_offload(plan, job);
  return plan_transfers(plan, job, error) && plan_embedding(plan, job, error) &&
         plan_norm(plan, job, error) && orr_training_plan_layers(plan, job, costs, error);
}

static void clear_wires(OrrWire *wires, gsize n) {
  for (gsize i = 0; wires && i < n; i++) orr_wire_clear(&wires[i]);
  g_free(wires);
}

void orr_training_plan_clear(OrrTrainingPlan *plan) {
  const gsize pp = plan->wires.job->pp, classes = plan->fold.n;
  for (int share = 0; share < ORR_N_SHARES; share++) {
    for (guint i = 0; plan->buckets[share] && plan->buckets[share][i]; i++)
      g_array_unref(plan->buckets[share][i]);
    clear_wires(plan->parameters[share], pp);
    clear_wires(plan->weights[share], pp * plan->wires.job->layout.parts->len);
    g_free(plan->buckets[share]);
  }
  clear_wires(plan->weights_again, plan->wires.job->layout.parts->len);
  g_free(plan->lists);
  orr_training_clear_layers(plan);
  orr_training_clear_storage(plan, pp * classes);
  g_free(plan->offload);
  for (guint i = 0; i < plan->bucket_wires->len; i++)
    clear_wires(g_ptr_array_index(plan->bucket_wires, i), 1);
  g_ptr_array_unref(plan->bucket_wires);
  clear_wires(plan->transfers, classes * pp * 2);
  clear_wires(plan->embedding, classes);
  orr_wire_clear(&plan->norm);
  orr_fold_clear(&plan->fold);
  orr_wires_clear(&plan->wires);
}
