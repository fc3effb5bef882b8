/*
 * recommender_pool.c - answers of a recommendation model: replicas of one GPU each, with all
 * tables, that work on batches (task_batches.c).
 *
 * A query ranks some items, each a row of the batch. A batch has up to `make.batch` items, and
 * takes as long as a step of workload `recommendation` in mode inference on one GPU; a query above
 * it runs in as many equal passes as it needs.
 *
 *   pools: [{name: rankers, of: {kind: recommender, replicas: 8, wait: 2 ms,
 *            make: {recommender: dlrm-dcnv2, mode: inference, stored: fp16, batch: 55296}}}]
 *
 * Oracle: one query alone takes overhead + its step.
 */
#include "workloads/diffusion/diffusion.h"
#include "workloads/serving/tasks/pools/task_pool.h"
#include "workloads/steps/recommendation.h"

typedef struct {
  OrrRecommendation make;
  gint64 replicas;
  double wait_s, overhead_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-pool-recommender", "Replicas of a recommendation model.", Params,
    ORR_FIELD_SECTION(Params, "make", make, &orr_recommendation_table, NULL,
                      "What ranks: the keys of workload `recommendation`, mode inference; `batch` "
                      "is the items of a pass at most. `stack` is not for pools."),
    ORR_FIELD_INT(Params, "replicas", replicas, "1",
                  "Copies, of one GPU each, on the GPUs after the engines'.", .min = 1, .max = 1e6),
    ORR_FIELD_REAL(Params, "wait", wait_s, ORR_UNIT_SECONDS, "0 s",
                   "How long the first query of a batch that is not full waits for others.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "overhead", overhead_s, ORR_UNIT_SECONDS, "0 s",
                   "Host time of a pass: the requests, the answers.", .flags = ORR_FIELD_UNSIGNED));

typedef struct {
  const Params *params;
  OrrTaskPoolHost host;
  OrrTaskBatches *room;
} Pool;

static void check(const void *data, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const Params *params = data;
  const OrrRecommendation *make = &params->make;
  const double bytes = orr_recommender_table_parameters(&make->recommender) *
                       orr_dtype_bytes((OrrDtype)make->stored);
  orr_recommender_check(&make->recommender, place, diags);
  if (make->mode == 0)
    orr_diags_error(diags, place, "make.mode: a pool answers: give mode: inference");
  if (make->stack && *make->stack && strcmp(make->stack, "none") != 0)
    orr_diags_error(diags, place,
                    "make.stack: pools take no stack; give the settings that it would make");
  if (make->tier != ORR_TABLES_IN_HBM && orr_cluster_host_link_bytes_per_s(cluster) <= 0)
    orr_diags_error(diags, place, "make.tier needs the device's host-link");
  if (make->tier == ORR_TABLES_IN_HBM && bytes > cluster->device.memory_bytes)
    orr_diags_error(diags, place,
                    "the tables of %s, %.1f GiB, do not fit a GPU of %.1f GiB: a replica of a pool "
                    "is one GPU",
                    make->recommender.name, bytes / 0x1p30, cluster->device.memory_bytes / 0x1p30);
}

static double serve(void *user, double queries, double items) {
  const Pool *pool = user;
  const double passes = ceil(items / (double)pool->params->make.batch);
  OrrJoules joules;
  const double pass_s = orr_recommendation_alone(&pool->params->make, pool->host.world,
                                                 (gint64)ceil(items / passes), &joules);
  orr_joules_add(&pool->host.books->joules, joules, passes);
  return passes * (pass_s + pool->params->overhead_s);
}

static void close_pool(gpointer state) {
  Pool *pool = state;
  orr_task_batches_free(pool->room);
  g_free(pool);
}

static double load_s(const Params *params, const OrrTaskPoolHost *host) {
  const OrrRecommendation *make = &params->make;
  const double dense = 2 * orr_recommender_dense_parameters(&make->recommender);
  const double tables = orr_recommender_table_parameters(&make->recommender) *
                        orr_dtype_bytes((OrrDtype)make->stored);
  return orr_diffusion_copy_s(host->world->cluster,
                              dense + (make->tier == ORR_TABLES_IN_HBM ? tables : 0));
}

static gpointer open_pool(const void *data, const OrrTaskPoolHost *host, GError **error) {
  const Params *params = data;
  Pool *pool = g_new0(Pool, 1);
  *pool = (Pool){.params = params, .host = *host};
  pool->room =
      orr_task_batches_new(host, &(OrrTaskBatchesParams){.most = (double)params->make.batch,
                                                         .load_s = load_s(params, host),
                                                         .by_tokens = TRUE,
                                                         .wait_s = params->wait_s,
                                                         .serve = serve,
                                                         .user = pool});
  return pool;
}

static void add(gpointer state, OrrTaskJob *job) {
  orr_task_batches_add(((Pool *)state)->room, job);
}

static gint64 replicas(const void *params) { return ((const Params *)params)->replicas; }

const OrrTaskPoolKind orr_task_pool_recommender = {
    .entry = {"recommender", "Replicas of a recommendation model that ranks items.", &table},
    .check = check,
    .open = open_pool,
    .add = add,
    .servers = replicas,
    .gpus = replicas,
    .has_batches = TRUE,
    .close = close_pool,
};
