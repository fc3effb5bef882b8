/*
 * recommendation.c - a step of a recommendation model: fields, checks, and the list of its items.
 *
 *   workload:
 *     kind: recommendation
 *     recommender: dlrm-dcnv2
 *     batch: 55296
 *
 *   kernels     |--look up--|--bottom MLP, own tables--|--interaction, top; backward--|--update--|
 *   background              |--all-to-all-----------|                                 ..
 *
 * Of a batch of B samples, each of n GPUs has b = B / n; vectors have d elements:
 *
 *   look up    reads B l rows and writes B v sums: its share of the tables (table_placement.c)
 *   exchange   sends B v vectors; with row-wise parts the receiver adds partial sums
 *   backward   the same exchange; sorts the B l indices (four passes over pairs of 8 bytes), sums
 *              the gradients of each row, and updates the rows with AdaGrad: reads a gradient,
 *              reads and writes the row and its sum of squares
 *
 * Rows of tier ssd come by pages of P bytes, each row of the batch once, and go back after the
 * update. With u different rows that neither HBM nor host memory has, on each of the g GPUs of a
 * node, drives take
 *
 *   max(g u / reads, g u P / bandwidth),   on the way back   max(g u / writes, g u P / bandwidth)
 *
 * while what is read crosses the host links.
 *
 * With sparse cores (device.sparse-cores) all work on tables and its exchanges run there, for the
 * batch before and the batch after, under the dense layers: a step takes the longer of both
 * (TensorFlow's TPUEmbedding with pipeline_execution_with_tensor_core). What they read of the
 * memory's bandwidth does not slow the dense layers.
 *
 * Gradients of dense layers and of replicated tables are all-reduced under the update of the rows.
 * Keys of the next batch come from the host under this one, and take no time.
 */
#include "workloads/steps/recommendation.h"

#include "workloads/steps/batch_step.h"

static const char *const mode_words[] = {"training", "inference", NULL};
static const char *const tables_words[] = {"balanced", "table", "row", "column", "lookup", NULL};
static const char *const tier_words[] = {"hbm", "host", "ssd", NULL};

#define DRIVES(name_, member_, unit_, fallback_, sentence_)                                        \
  ORR_FIELD_REAL(OrrTableDrives, name_, member_, unit_, fallback_, sentence_, .min = 1)
static const OrrFieldTable drives_table = ORR_FIELDS(
    "table-drives",
    "A node's drives; by default 8 NVMe drives of 3.84 TB as in a DGX H100, each with 6.8 GB/s, "
    "and "
    "1,000,000 reads or 180,000 writes of 4 KiB per second at random (datasheet of PM9A3).",
    OrrTableDrives,
    DRIVES("capacity", capacity_bytes, ORR_UNIT_BYTES, "30.7 TB", "What they hold together."),
    DRIVES("bandwidth", bytes_per_s, ORR_UNIT_BYTES_PER_S, "54.4 GB/s", "Their rate together."),
    DRIVES("reads", reads_per_s, ORR_UNIT_NONE, "8e6", "Pages read per second, at random."),
    DRIVES("writes", writes_per_s, ORR_UNIT_NONE, "1.44e6", "Pages written per second, at random."),
    DRIVES("page", page_bytes, ORR_UNIT_BYTES, "4 KiB", "The least that a drive reads or writes."));

#define FORMAT(name_, member_, fallback_, sentence_)                                               \
  ORR_FIELD_WORD(OrrRecommendation, name_, member_, orr_dtype_names, fallback_, sentence_)
static const OrrField fields[] = {
    ORR_WORKLOAD_STACK_FIELD(OrrRecommendation),
    ORR_FIELD_SECTION(OrrRecommendation, "recommender", recommender, &orr_recommender_table, NULL,
                      "The model.", .document = "recommender"),
    ORR_FIELD_INT(OrrRecommendation, "batch", batch, NULL, "Samples of a step, of all GPUs.",
                  .min = 1, .max = 1e9),
    ORR_FIELD_INT(
        OrrRecommendation, "items", items, "1",
        "Rows of the batch that results count as one sample: the items that a query ranks.",
        .min = 1, .max = 1e6),
    ORR_FIELD_WORD(OrrRecommendation, "mode", mode, mode_words, "training",
                   "Training, or answers alone."),
    FORMAT("precision", precision, "fp16", "Number format of the dense layers."),
    FORMAT("stored", stored, "fp32", "Number format of the tables."),
    FORMAT("exchanged", exchanged, "fp16", "Number format of pooled vectors and their gradients."),
    ORR_FIELD_WORD(
        OrrRecommendation, "sharding", sharding, tables_words, "balanced",
        "How GPUs share tables: whole ones (table), by rows (row; lookup: each row that is "
        "looked up is sent unsummed), by columns, or whole ones, the hottest split by "
        "rows (balanced)."),
    ORR_FIELD_REAL(OrrRecommendation, "replicate-below", replicate_bytes, ORR_UNIT_BYTES, "0 B",
                   "Smaller tables are on every GPU.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_WORD(OrrRecommendation, "tier", tier, tier_words, "hbm",
                   "Where the tables that GPUs share are: each GPU's memory; its node's host "
                   "memory, read over its host link; or the node's drives, read by pages into host "
                   "memory. Replicated tables are in each GPU's memory."),
    ORR_FIELD_REAL(OrrRecommendation, "cached", cached, ORR_UNIT_FRACTION, "0",
                   "Tiers host and ssd: fraction of lookups that the GPU's cache of rows has.",
                   .min = 0, .max = 1),
    ORR_FIELD_REAL(OrrRecommendation, "host-cached", host_cached, ORR_UNIT_FRACTION, "0",
                   "Tier ssd: fraction of the other rows that host memory has.", .min = 0,
                   .max = 1),
    ORR_FIELD_SECTION(OrrRecommendation, "drives", drives, &drives_table, "{}",
                      "Tier ssd: the drives of a node."),
    ORR_FIELD_BOOL(OrrRecommendation, "graphs", graphs, "true",
                   "Whether CUDA graphs launch the kernels: the host takes no time."),
    ORR_FIELD_REAL(OrrRecommendation, "overhead", overhead_s, ORR_UNIT_SECONDS, "0 s",
                   "Time of a step outside its graph: keys are distributed, streams meet.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_NCCL_FIELD(OrrRecommendation),
};
const OrrFieldTable orr_recommendation_table = ORR_FIELD_TABLE(
    "recommendation", "A step of a recommendation model.", OrrRecommendation, fields);

static gboolean trains(const OrrRecommendation *params) { return params->mode == 0; }

/* Tables that GPUs share lie evenly over the nodes, at best; AdaGrad's sums are as large. */
static void check_host(const OrrRecommendation *params, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags) {
  const double nodes = fmax((double)orr_cluster_n_nodes(cluster), 1);
  const double bytes = (trains(params) ? 2 : 1) * orr_table_placement_shared_bytes(params);
  if (params->tier != ORR_TABLES_IN_HBM && !(bytes > 0))
    return orr_diags_error(diags, place,
                           "tier: %s is for tables that GPUs share, and replicate-below puts every "
                           "table into each GPU's memory: lower it or leave tier out",
                           tier_words[params->tier]);
  if (params->tier == ORR_TABLES_ON_DRIVES && bytes / nodes > params->drives.capacity_bytes)
    orr_diags_error(diags, place, "tier: ssd needs %.4g TB on each node: its drives have %.4g TB",
                    bytes / nodes / 1e12, params->drives.capacity_bytes / 1e12);
  if (params->tier != ORR_TABLES_IN_HOST) return;
  g_autofree char *refusal = orr_footprint_refuse_host(cluster, bytes / nodes, "tier: host");
  if (refusal) orr_diags_error(diags, place, "%s", refusal);
}

/* How many rows answer a fraction of the lookups depends on how uneven lookups are, which no key
 * says. */
static void check_cache(const OrrRecommendation *params, gint64 gpus, OrrPlace place,
                        OrrDiags *diags) {
  const double rows = params->cached * orr_table_placement_shared_bytes(params) / (double)gpus;
  if (params->tier == ORR_TABLES_IN_HBM || params->cached <= 0) return;
  if (params->cached >= 1)
    return orr_diags_error(diags, place,
                           "cached: a cache that answers every lookup holds every row: give tier: "
                           "hbm, or less than 100 %%");
  orr_diags_warning(diags, place,
                    "cached: the cache of rows is not in the answer's memory: if all rows are "
                    "looked up alike, %.3g %% of the lookups need %.3g GiB on each GPU, less if a "
                    "few rows are looked up more",
                    100 * params->cached, rows / 0x1p30);
}

static void check_tier(const OrrRecommendation *params, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags) {
  check_cache(params, MAX(orr_cluster_n_gpus(cluster), 1), place, diags);
  if (params->tier == ORR_TABLES_IN_HBM && params->cached > 0)
    orr_diags_error(diags, place, "cached is for tier: host and tier: ssd");
  if (params->tier != ORR_TABLES_ON_DRIVES && params->host_cached > 0)
    orr_diags_error(diags, place, "host-cached is for tier: ssd");
  if (params->tier != ORR_TABLES_IN_HBM && orr_cluster_host_link_bytes_per_s(cluster) <= 0)
    orr_diags_error(diags, place, "tier: %s needs the device's host-link",
                    tier_words[params->tier]);
  check_host(params, cluster, place, diags);
}

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrRecommendation *params = data;
  const gint64 gpus = orr_cluster_n_gpus(cluster);
  orr_recommender_check(&params->recommender, place, diags);
  if (params->batch % gpus)
    orr_diags_error(diags, place, "a batch of %ld cannot be dealt to %ld GPUs evenly",
                    params->batch, gpus);
  if (params->sharding == ORR_TABLES_COLUMNS && params->recommender.width % gpus)
    orr_diags_error(
        diags, place,
        "sharding: column needs a number of GPUs that divides the width %ld: the cluster has %ld",
        params->recommender.width, gpus);
  check_tier(params, cluster, place, diags);
}

typedef struct {
  const OrrRecommendation *params;
  const OrrWorld *world;
  OrrBatchStep *step;
  OrrTablePlacement tables;
  double gpus, batch, own; /* samples of all, and of a GPU */
  double width;
} Making;

static double bytes_of(int dtype) { return orr_dtype_bytes((OrrDtype)dtype); }

/* --- Items --- */

static void put_dense_memory(Making *making, const char *name, OrrPass pass, double bytes) {
  const OrrOperator op = orr_operator_memory(name, pass, ORR_FP32, bytes, 0);
  if (bytes > 0) orr_batch_step_operator(making->step, &op, 1, 1);
}

/* Work on tables, which a device with sparse cores does there: for the next batch and the last one,
 * under the dense layers of this one. */
static gboolean has_sparse_cores(const Making *making) {
  return making->world->cluster->device.sparse_cores > 0;
}

static void put_memory(Making *making, const char *name, OrrPass pass, double bytes) {
  making->step->beside = has_sparse_cores(making);
  put_dense_memory(making, name, pass, bytes);
  making->step->beside = FALSE;
}

/* An exchange under what comes next, or on the sparse cores; meet_exchange takes the answer. */
static guint begin_exchange(Making *making, const OrrBatchItem *exchange) {
  if (!has_sparse_cores(making)) return orr_batch_step_begin(making->step, exchange);
  making->step->beside = TRUE;
  orr_batch_step_comm(making->step, exchange);
  making->step->beside = FALSE;
  return G_MAXUINT;
}

static void meet_exchange(Making *making, guint begun) {
  if (begun != G_MAXUINT) orr_batch_step_meet(making->step, begun);
}

static void put_operators(Making *making, GArray *operators) {
  for (guint i = 0; i < operators->len; i++)
    orr_batch_step_operator(making->step, &g_array_index(operators, OrrOperator, i), 1, 1);
  g_array_set_size(operators, 0);
}

/* Pages of rows that drives read, or write, for the GPUs of a node. */
static double drives_s(const Making *making, gboolean writes) {
  const OrrRecommendation *params = making->params;
  const OrrTableDrives *drives = &params->drives;
  const double gpus = fmin((double)making->world->cluster->node.gpus, making->gpus);
  const double pages = gpus * making->tables.unique * making->tables.share * (1 - params->cached) *
                       (1 - params->host_cached);
  if (params->tier != ORR_TABLES_ON_DRIVES) return 0;
  return fmax(pages / (writes ? drives->writes_per_s : drives->reads_per_s),
              pages * drives->page_bytes / drives->bytes_per_s);
}

/* Rows of a tier below HBM cross the GPU's host link; @accesses: reads and writes of each. */
static void put_rows(Making *making, const char *name, double rows, double accesses) {
  const OrrRecommendation *params = making->params;
  const OrrCluster *cluster = making->world->cluster;
  const double bytes = rows * accesses * making->width * bytes_of(params->stored);
  const double far = params->tier == ORR_TABLES_IN_HBM ? 0 : 1 - params->cached;
  put_memory(making, name, ORR_PASS_FORWARD, bytes * (1 - far));
  making->step->beside = has_sparse_cores(making);
  if (far > 0)
    orr_batch_step_seconds(making->step, ORR_TIME_OFFLOAD,
                           fmax(bytes * far / orr_cluster_host_copy_bytes_per_s(cluster),
                                drives_s(making, accesses > 1)));
  making->step->beside = FALSE;
}

static void put_lookup(Making *making) {
  const OrrTablePlacement *tables = &making->tables;
  const double rows = making->batch * tables->lookups * tables->share;
  orr_batch_step_work(making->step, "look up");
  put_rows(making, "embedding", rows, 1);
  put_memory(making, "pool", ORR_PASS_FORWARD,
             making->batch * tables->vectors * tables->share * making->width *
                 bytes_of(making->params->exchanged));
}

static OrrBatchItem exchange_of(const Making *making, const char *name) {
  const OrrTablePlacement *tables = &making->tables;
  const double bytes = making->batch * tables->vectors * tables->share * making->width *
                       bytes_of(making->params->exchanged);
  return (OrrBatchItem){.name = name,
                        .op = ORR_ALL_TO_ALL,
                        .bytes = bytes,
                        .group = {bytes > 0 ? (gint64)making->gpus : 1, 1},
                        .category = "ep-comm"};
}

/* The receiver adds what came of each table's parts to a vector. */
static void put_sums(Making *making, OrrPass pass) {
  const OrrTablePlacement *tables = &making->tables;
  put_memory(making, "sum vectors", pass,
             making->own * tables->vectors * tables->share * making->gpus * making->width *
                 bytes_of(making->params->exchanged));
}

static void put_own_tables(Making *making, double accesses, double bytes_per_element) {
  put_memory(making, "embedding", ORR_PASS_FORWARD,
             making->own * making->tables.own_lookups * accesses * making->width *
                 bytes_per_element);
}

static void put_forward(Making *making, GArray *operators) {
  const OrrRecommendation *params = making->params;
  const OrrDtype dtype = (OrrDtype)params->precision;
  put_lookup(making);
  const OrrBatchItem exchange = exchange_of(making, "exchange vectors");
  const guint begun = begin_exchange(making, &exchange);
  orr_batch_step_work(making->step, "bottom");
  put_own_tables(making, 1, bytes_of(params->stored));
  orr_recommender_bottom(&params->recommender, making->own, dtype, FALSE, operators);
  put_operators(making, operators);
  meet_exchange(making, begun);
  orr_batch_step_work(making->step, "top");
  put_sums(making, ORR_PASS_FORWARD);
  orr_recommender_top(&params->recommender, making->own, dtype, FALSE, operators);
  put_operators(making, operators);
}

/* Pairs of index and place: four passes of a radix sort read and write 8 bytes. Gradients are read
 * once for each lookup; AdaGrad reads a gradient, and reads and writes a row and its squares. */
static void put_update(Making *making) {
  const OrrTablePlacement *tables = &making->tables;
  const double indices = making->batch * tables->lookups;
  put_memory(making, "sort", ORR_PASS_DGRAD, indices * 4 * 16);
  put_memory(making, "sum gradients", ORR_PASS_DGRAD,
             (indices * bytes_of(making->params->exchanged) + 4 * tables->unique) * tables->share *
                 making->width);
  put_memory(making, "read gradients", ORR_PASS_OPTIMIZER,
             4 * tables->unique * tables->share * making->width);
  put_rows(making, "adagrad", tables->unique * tables->share, 4);
}

static double dense_of(const Making *making) {
  return orr_recommender_dense_parameters(&making->params->recommender) +
         making->tables.own_elements;
}

static void put_backward(Making *making, GArray *operators) {
  const OrrRecommendation *params = making->params;
  const OrrDtype dtype = (OrrDtype)params->precision;
  const OrrBatchItem exchange = exchange_of(making, "exchange gradients");
  const OrrBatchItem reduce = {.name = "all-reduce gradients",
                               .op = ORR_ALL_REDUCE,
                               .bytes = dense_of(making) * orr_dtype_bytes(dtype),
                               .group = {(gint64)making->gpus, 1},
                               .category = "dp-comm"};
  orr_batch_step_work(making->step, "top backward");
  orr_recommender_top(&params->recommender, making->own, dtype, TRUE, operators);
  put_operators(making, operators);
  const guint exchanged = begin_exchange(making, &exchange);
  orr_batch_step_work(making->step, "bottom backward");
  put_own_tables(making, 2, bytes_of(params->exchanged));
  orr_recommender_bottom(&params->recommender, making->own, dtype, TRUE, operators);
  put_operators(making, operators);
  const guint reduced = orr_batch_step_begin(making->step, &reduce);
  meet_exchange(making, exchanged);
  orr_batch_step_work(making->step, "update");
  put_update(making);
  orr_batch_step_meet(making->step, reduced);
  orr_batch_step_work(making->step, "optimizer");
  put_dense_memory(making, "adagrad", ORR_PASS_OPTIMIZER, 20 * dense_of(making));
}

/* --- The work --- */

/* A vector to send, in lookups: its bytes at the slowest link of the group, a row's at HBM. */
static double vector_cost(const OrrRecommendation *params, const OrrCluster *cluster) {
  const gboolean is_one_domain = orr_cluster_n_gpus(cluster) <= cluster->node.scale_up_domain;
  const double link = is_one_domain ? cluster->device.scale_up_bytes_per_s
                                    : cluster->node.nic_bytes_per_s * cluster->node.nics_per_gpu;
  const double training = trains(params) ? 2.0 / 4 : 1; /* accesses of vector and row */
  return training * cluster->device.memory_bytes_per_s / fmax(link, 1) *
         bytes_of(params->exchanged) / bytes_of(params->stored);
}

static double model_bytes(const Making *making) {
  const double tables = (making->params->tier == ORR_TABLES_IN_HBM ? making->tables.bytes : 0) +
                        making->tables.own_bytes;
  const double dense = orr_recommender_dense_parameters(&making->params->recommender);
  const double state = trains(making->params) ? 2 : 1; /* AdaGrad's sums are as large as the rows */
  return state * tables + dense * (trains(making->params) ? 12 : 2);
}

static OrrWork *compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrRecommendation *params = data;
  const gint64 gpus = orr_fabric_n_gpus(world->fabric);
  Making making = {.params = params,
                   .world = world,
                   .step = orr_batch_step_new(&orr_recommendation_kind, world),
                   .tables = orr_table_placement(params, gpus, vector_cost(params, world->cluster)),
                   .gpus = (double)gpus,
                   .batch = (double)params->batch,
                   .own = (double)params->batch / (double)gpus,
                   .width = (double)params->recommender.width};
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  if (!params->graphs)
    making.step->dispatch_s = orr_cost_operator_dispatch_s(world->cost, ORR_KERNELS_EAGER);
  put_forward(&making, operators);
  if (trains(params)) put_backward(&making, operators);
  orr_batch_step_work(making.step, "overhead");
  orr_batch_step_seconds(making.step, ORR_TIME_HOST, params->overhead_s);
  making.step->batch = (double)params->batch / (double)params->items;
  making.step->parameters = orr_recommender_dense_parameters(&params->recommender) +
                            orr_recommender_table_parameters(&params->recommender);
  making.step->model_bytes = model_bytes(&making);
  return orr_batch_step_compile(making.step, &params->nccl, error);
}

double orr_recommendation_alone(const OrrRecommendation *params, const OrrWorld *world,
                                gint64 items, OrrJoules *ret_joules) {
  OrrRecommendation one = *params;
  one.batch = items;
  Making making = {.params = &one,
                   .world = world,
                   .step = orr_batch_step_new(&orr_recommendation_kind, world),
                   .tables = orr_table_placement(&one, 1, 0),
                   .gpus = 1,
                   .batch = (double)items,
                   .own = (double)items,
                   .width = (double)one.recommender.width};
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  if (!one.graphs)
    making.step->dispatch_s = orr_cost_operator_dispatch_s(world->cost, ORR_KERNELS_EAGER);
  put_forward(&making, operators);
  const double seconds = orr_batch_step_alone_s(making.step, ret_joules) + one.overhead_s;
  orr_work_free(&making.step->work);
  return seconds;
}

const OrrWorkloadKind orr_recommendation_kind = {
    .entry = {"recommendation",
              "A step of a recommendation model: tables of vectors that GPUs share, dense layers.",
              &orr_recommendation_table},
    .without_model = TRUE,
    .check = check,
    .compile = compile,
    .work_free = orr_batch_step_free,
};
