/*
 * training_stages - plans the traffic between pipeline stages, per class of replicas.
 *
 * Pairs of GPUs of two stages transfer at the same time: one plan for all ranks of all replicas of
 * the class. With scatter-gather each tp rank sends 1/tp of the boundary tensor, and the receivers
 * gather the rest over NVLink before they compute (SC21, section 4.1).
 */
#include "workloads/training/comm/training_plan.h"

/* A call between the GPUs of equal rank on two stages, made @count times per step. */
typedef struct {
  const char *name;
  gint64 count;
  OrrCollectiveOp op;
  gint64 from, to;
  double bytes;
} Pairs;

static gboolean plan_pairs(OrrTraffic *traffic, const OrrFold *fold, guint class,
                           const Pairs *pairs, OrrCommPlan *ret_plan, GError **error) {
  const OrrJob *job = traffic->job;
  const gint64 n = orr_job_replica_ranks(job);
  g_autofree gint64 *firsts = orr_fold_class_ranks(fold, job, class);
  OrrCalls calls;
  orr_calls_init(&calls, pairs->op, pairs->bytes, n * fold->size[class], 2);
  gint64 *gpu = calls.gpus;
  for (guint i = 0; i < fold->size[class]; i++)
    for (gint64 rank = firsts[i]; rank < firsts[i] + n; rank++) {
      *gpu++ = orr_job_gpu(job, pairs->from, rank);
      *gpu++ = orr_job_gpu(job, pairs->to, rank);
    }
  const gboolean planned =
      orr_traffic_plan(traffic, pairs->name, pairs->count, &calls, ret_plan, error);
  orr_calls_clear(&calls);
  return planned;
}

/* With sequence parallelism each rank holds, and so sends, 1/tp of the boundary tensor anyway. */
static gboolean scatters(const OrrJob *job) {
  return job->params->pipeline_comm.scatter_gather && job->tp > 1 && job->pp > 1 &&
         !job->shard.sequence_parallel;
}

/* The receivers' all-gather of the boundary tensor, in one tensor-parallel group of the first
 * replica. */
static void gather_calls(const OrrJob *job, OrrCalls *calls) {
  const gint64 first = 0;
  const double boundary = orr_transformer_boundary_bytes(job->world->model, &job->shard);
  const OrrCallSpec spec = {ORR_ALL_GATHER, boundary, orr_grouping_of(job, ORR_GROUP_TP)};
  orr_calls_within(calls, job, &spec, &(OrrRankRanges){0, &first, 1, job->tp});
}

static gboolean plan_gather(OrrStageTraffic *stages, OrrTraffic *traffic, gint64 count,
                            GError **error) {
  OrrCommPlan gather = {0};
  OrrCalls calls;
  gather_calls(traffic->job, &calls);
  const gboolean planned = orr_traffic_plan(
      traffic, "pp-gather", (1 + orr_job_forwards(traffic->job)) * count, &calls, &gather, error);
  orr_calls_clear(&calls);
  stages->gather_s = gather.predicted_s;
  orr_comm_plan_clear(&gather);
  return planned;
}

double orr_stage_traffic_gather_alone_s(const OrrTraffic *traffic) {
  OrrCalls calls;
  if (!scatters(traffic->job)) return 0;
  gather_calls(traffic->job, &calls);
  const double seconds = orr_traffic_alone_s(traffic, &calls.calls[0]);
  orr_calls_clear(&calls);
  return seconds;
}

static double sent_bytes(const OrrJob *job) {
  const double boundary = orr_transformer_boundary_bytes(job->world->model, &job->shard);
  return scatters(job) ? boundary / (double)job->tp : boundary;
}

double orr_stage_traffic_alone_s(const OrrTraffic *traffic, gint64 from, gint64 to) {
  const OrrJob *job = traffic->job;
  const gint64 gpus[] = {orr_job_gpu(job, from, 0), orr_job_gpu(job, to, 0)};
  const OrrCollectiveCall call = {
      .op = ORR_SEND_RECV, .bytes = sent_bytes(job), .gpus = gpus, .n = G_N_ELEMENTS(gpus)};
  return from == to ? 0 : orr_traffic_alone_s(traffic, &call);
}

static gboolean plan_transfers(OrrStageTraffic *stages, OrrTraffic *traffic, const OrrFold *fold,
                               GError **error) {
  const OrrJob *job = traffic->job;
  if (job->pp == 1) return TRUE;
  const gboolean wraps = job->schedule->blocks == ORR_BLOCKS_LOOP && job->shape.chunks > 1;
  const double bytes = sent_bytes(job);
  const gint64 count = job->shape.chunks * orr_job_passes(job);
  for (guint class = 0; class < fold->n; class ++)
    for (gint64 stage = 0; stage < job->pp; stage++) {
      const gint64 next = (stage + 1) % job->pp;
      if (next == 0 && !wraps) continue;
      const Pairs forward = {"pp-forward", count, ORR_SEND_RECV,
                             stage,        next,  bytes * (double)orr_job_forwards(job)};
      const Pairs backward = {"pp-backward", count, ORR_SEND_RECV, next, stage, bytes};
      OrrCommPlan *plan = &stages->transfers[(class * job->pp + stage) * 2];
      if (!plan_pairs(traffic, fold, class, &forward, plan, error)) return FALSE;
      if (job->params->evaluation) continue;
      if (!plan_pairs(traffic, fold, class, &backward, plan + 1, error)) return FALSE;
    }
  return !scatters(job) || plan_gather(stages, traffic, count, error);
}

static gboolean plan_embedding(OrrStageTraffic *stages, OrrTraffic *traffic, const OrrFold *fold,
                               GError **error) {
  const OrrJob *job = traffic->job;
  const OrrModel *model = job->world->model;
  if (job->params->evaluation || !model->tied_embeddings || orr_job_holds(job, 0, ORR_LAYER_HEAD))
    return TRUE;
  const double bytes = (double)model->vocab * model->hidden / job->tp * job->gradient_bytes_each;
  const Pairs pairs = {"embedding-gradients", 1, ORR_ALL_REDUCE, 0, job->pp - 1, bytes};
  for (guint class = 0; class < fold->n; class ++)
    if (!plan_pairs(traffic, fold, class, &pairs, &stages->embedding[class], error)) return FALSE;
  return TRUE;
}

/* Ranks of a stage that hold parts of one copy of the gradients: a replica's, and with a sharded
 * optimizer all that share it (Megatron-Core, DistributedOptimizer.get_grad_stats_parallel_group;
 * PyTorch's norm of a DTensor, over its mesh). */
static gint64 norm_ranks(const OrrJob *job) {
  const gint64 replica = orr_job_replica_ranks(job);
  const gint64 shards = job->sharding.optimizer ? orr_job_shard_ranks(job, ORR_WEIGHTS_DENSE) : 1;
  return MIN(MAX(replica, job->tp * shards), replica * job->dp);
}

/* A scalar over the ranks that hold one copy: gradient clipping and the inf check need it. */
static gboolean plan_norm(OrrStageTraffic *stages, OrrTraffic *traffic, GError **error) {
  const OrrJob *job = traffic->job;
  if (job->params->evaluation) return TRUE;
  const gint64 n = norm_ranks(job);
  OrrCalls calls;
  orr_calls_init(&calls, ORR_ALL_REDUCE, 4, 1, n * job->pp);
  for (gint64 p = 0; p < job->pp; p++)
    for (gint64 rank = 0; rank < n; rank++) calls.gpus[p * n + rank] = orr_job_gpu(job, p, rank);
  const gboolean planned =
      orr_traffic_plan(traffic, "gradient-norm", 1, &calls, &stages->norm, error);
  orr_calls_clear(&calls);
  return planned;
}

void orr_stage_traffic_init(OrrStageTraffic *stages, const OrrJob *job, const OrrFold *fold) {
  *stages = (OrrStageTraffic){.transfers = g_new0(OrrCommPlan, fold->n * job->pp * 2),
                              .embedding = g_new0(OrrCommPlan, fold->n)};
}

gboolean orr_stage_traffic_plan(OrrStageTraffic *stages, OrrTraffic *traffic, const OrrFold *fold,
                                GError **error) {
  return plan_transfers(stages, traffic, fold, error) &&
         plan_embedding(stages, traffic, fold, error) && plan_norm(stages, traffic, error);
}

void orr_stage_traffic_clear(OrrStageTraffic *stages, const OrrJob *job, const OrrFold *fold) {
  orr_comm_plan_free_all(stages->transfers, fold->n * job->pp * 2);
  orr_comm_plan_free_all(stages->embedding, fold->n);
  orr_comm_plan_clear(&stages->norm);
}
