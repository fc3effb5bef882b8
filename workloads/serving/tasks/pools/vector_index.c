/*
 * vector_index.c - an index of vectors: bytes and FLOPs that a query touches, on CPU workers or
 * GPUs.
 *
 * n vectors of d dimensions, b bytes each number. A query's distances are 2 d FLOPs each.
 *
 *   flat   n distances; n d b bytes
 *   ivf    lists + probes / lists n distances: to all centroids, then to the vectors of the
 *          nearest lists. Bytes: 4 lists d + probes / lists n d b. With product-quantized codes of
 *          m bytes (code): per vector m bytes and m additions, per probe a table of 256 d products
 *          of the residual (Jegou, Douze, Schmid 2011, IVFADC; Johnson, Douze, Jegou 2017)
 *   hnsw   M (ef + ln n / ln M) distances: M neighbours of each of ef candidates on the ground
 *          layer and of one on each of ln n / ln M layers above (Malkov, Yashunin 2016: a walk of
 *          O(log n) hops). A vertex of the ground layer has up to 2 M neighbours; that half of
 *          them were visited before is an assumption. Bytes: d b for each, 4 * 2 M for each hop. At
 *          most n candidates and n distances
 *
 *   time = latency + max(bytes / bandwidth, FLOPs / rate + 8 look-ups / rate) + hops * hop-latency
 *
 * Additions of codes are look-ups in a table: a CPU thread makes about one per cycle, as
 * long as 8 FLOPs at the default rate, an assumption. A CPU worker is one thread: its bandwidth and
 * rate are its share of the machine when all are busy. A GPU answers one query after the other, so
 * it reads the centroids for each, at `efficiency` of its bandwidth and its fp32 peak: FAISS's
 * benchmark of SIFT1B (its README: IVF262144, PQ8, 10,000 queries in 0.587 s with 128 probes
 * and in 1.160 s with 256) reads 3.9 MB more in 57 us, a fifth of the 336 GB/s of the Titan X that
 * the paper names. It draws the power of a running kernel, and of the bytes that it reads. Every
 * GPU has the whole index. Recall follows from probes or ef and from the
 * data, and is not computed: measure it on your index.
 *
 *   pools: [{name: passages, of: {kind: index, type: ivf, vectors: 1e8, dimension: 768,
 *            lists: 65536, probes: 64, code: 96, workers: 16}}]
 */
#include "workloads/serving/tasks/pools/task_pool.h"

typedef enum { FLAT, HNSW, IVF } Type;
static const char *const type_words[] = {"flat", "hnsw", "ivf", NULL};
typedef enum { ON_CPU, ON_GPU } On;
enum { FLOPS_PER_LOOK_UP = 8 };
static const char *const on_words[] = {"cpu", "gpu", NULL};

typedef struct {
  int type, on;
  gint64 vectors, dimension, lists, probes, code, links, ef, workers;
  double number_bytes, bandwidth, rate, efficiency, hop_s, latency_s;
} Params;

#define COUNT(name_, member_, least_, fallback_, sentence_)                                        \
  ORR_FIELD_INT(Params, name_, member_, fallback_, sentence_, .min = least_, .max = 1e12)
static const OrrFieldTable table = ORR_FIELDS(
    "task-pool-index", "An index of vectors.", Params,
    ORR_FIELD_WORD(Params, "type", type, type_words, "ivf", "How vectors are found."),
    COUNT("vectors", vectors, 1, NULL, "Vectors of the index."),
    COUNT("dimension", dimension, 1, NULL, "Numbers of a vector."),
    ORR_FIELD_REAL(Params, "number", number_bytes, ORR_UNIT_BYTES, "4 B", "Bytes of a number.",
                   .flags = ORR_FIELD_POSITIVE),
    COUNT("lists", lists, 1, "1024", "ivf: inverted lists (nlist)."),
    COUNT("probes", probes, 1, "16", "ivf: lists that a query visits (nprobe)."),
    COUNT("code", code, 0, "0", "ivf: bytes of a product-quantized vector; 0: vectors are whole."),
    COUNT("links", links, 2, "16",
          "hnsw: neighbours of a vertex (M); twice as many at the bottom."),
    COUNT("ef", ef, 1, "100", "hnsw: candidates that a query keeps (efSearch)."),
    ORR_FIELD_WORD(Params, "on", on, on_words, "cpu", "What searches."),
    COUNT("workers", workers, 1, "1", "CPU threads, or GPUs, each with one query at a time."),
    ORR_FIELD_REAL(Params, "bandwidth", bandwidth, ORR_UNIT_BYTES_PER_S, "10 GB/s",
                   "cpu: bytes that a thread reads per second while all are busy. 10 GB/s is an "
                   "assumption: 32 threads of a socket with 8 channels of DDR5-4800, 307 GB/s.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(Params, "rate", rate, ORR_UNIT_FLOP_PER_S, "20 GFLOP/s",
                   "cpu: FLOPs of a thread. 20 GFLOP/s is an assumption: a fifth of AVX2's peak in "
                   "fp32 at 3 GHz, 96.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(Params, "efficiency", efficiency, ORR_UNIT_FRACTION, "20 %",
                   "gpu: fraction of its bandwidth and of its fp32 peak that a search reaches.",
                   .min = 1e-6, .max = 1),
    ORR_FIELD_REAL(Params, "hop-latency", hop_s, ORR_UNIT_SECONDS, "100 ns",
                   "hnsw: wait for the neighbours of a hop, a miss of all caches; an assumption.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "latency", latency_s, ORR_UNIT_SECONDS, "0 s",
                   "Time of a query besides: network, parsing, merging.",
                   .flags = ORR_FIELD_UNSIGNED));

/* What a query touches. */
typedef struct {
  double bytes, flops, look_ups, hops;
} Query;

static Query query_of(const Params *p) {
  const double n = (double)p->vectors, d = (double)p->dimension, vector = d * p->number_bytes;
  const double lists = (double)p->lists, probes = (double)p->probes, code = (double)p->code;
  const double scanned = probes / lists * n;
  if (p->type == FLAT) return (Query){n * vector, 2 * d * n, 0, 0};
  if (p->type == IVF && code > 0)
    return (Query){4 * lists * d + scanned * code,
                   2 * d * lists + probes * 2 * 256 * d + scanned * code, scanned * code, 0};
  if (p->type == IVF)
    return (Query){4 * lists * d + scanned * vector, 2 * d * (lists + scanned), 0, 0};
  const double links = (double)p->links, hops = fmin((double)p->ef, n) + log(n) / log(links);
  const double distances = fmin(links * hops, n);
  return (Query){distances * vector + hops * 4 * 2 * links, 2 * d * distances, 0, hops};
}

static double index_bytes(const Params *p) {
  const double n = (double)p->vectors, d = (double)p->dimension;
  if (p->type == IVF && p->code > 0)
    return n * ((double)p->code + 8) + 4 * (double)p->lists * d; /* codes, and ids of 8 bytes */
  return n * d * p->number_bytes + (p->type == HNSW ? n * 4 * 2 * (double)p->links : 0);
}

static void check(const void *params, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const Params *p = params;
  const double bytes = index_bytes(p);
  const double room =
      p->on == ON_GPU ? cluster->device.memory_bytes : cluster->node.host.memory_bytes;
  g_autofree char *size = orr_quantity_format(bytes, ORR_UNIT_BYTES),
                  *most = orr_quantity_format(room, ORR_UNIT_BYTES);
  if (p->probes > p->lists)
    orr_diags_error(diags, place, "probes (%ld) is above the %ld lists", p->probes, p->lists);
  if (p->type == IVF && p->lists > p->vectors)
    orr_diags_error(diags, place, "lists (%ld) is above the %ld vectors: each list needs one",
                    p->lists, p->vectors);
  if (p->type == HNSW && p->on == ON_GPU)
    orr_diags_error(diags, place, "type hnsw on gpu is not modelled: use ivf or flat, or cpu");
  if (p->on == ON_GPU && orr_device_peak_flops(&cluster->device, ORR_FP32) <= 0)
    orr_diags_error(diags, place, "on: gpu needs the fp32 peak of device %s", cluster->device.name);
  if (room > 0 && bytes > room)
    orr_diags_error(diags, place, "the index of %s does not fit the %s of %s", size, most,
                    p->on == ON_GPU ? "a GPU" : "a node's host");
}

typedef struct {
  OrrTaskServers *servers;
  OrrTaskPoolBooks *books;
  Query query;
  double seconds;   /* of a query */
  OrrJoules joules; /* of a query on a GPU, on top of static power */
} Index;

static double seconds_of(const Params *p, const OrrDevice *device) {
  const Query query = query_of(p);
  if (p->on == ON_GPU)
    return p->latency_s + fmax(query.bytes / device->memory_bytes_per_s,
                               query.flops / orr_device_peak_flops(device, ORR_FP32)) /
                              p->efficiency;
  const double products = query.flops - query.look_ups;
  return p->latency_s +
         fmax(query.bytes / p->bandwidth,
              (products + FLOPS_PER_LOOK_UP * query.look_ups) / p->rate) +
         query.hops * p->hop_s;
}

static OrrJoules joules_of(const Params *p, const Query *query, const OrrCostModel *cost,
                           double time_s) {
  const OrrOperator op =
      orr_operator_memory("search", ORR_PASS_FORWARD, ORR_FP32, query->bytes, query->flops);
  return p->on == ON_GPU && cost ? orr_cost_energy_operator(cost, &op, time_s - p->latency_s)
                                 : (OrrJoules){0};
}

static gpointer open_pool(const void *params, const OrrTaskPoolHost *host, GError **error) {
  const Params *p = params;
  Index *index = g_new0(Index, 1);
  *index = (Index){orr_task_servers_new(host, p->workers),
                   host->books,
                   query_of(p),
                   seconds_of(p, &host->world->cluster->device),
                   {0}};
  index->joules = joules_of(p, &index->query, host->world->cost, index->seconds);
  return index;
}

static void add(gpointer state, OrrTaskJob *job) {
  Index *index = state;
  index->books->bytes += job->queries * index->query.bytes;
  index->books->flops += job->queries * index->query.flops;
  orr_joules_add(&index->books->joules, index->joules, job->queries);
  orr_task_servers_add(index->servers, job, job->queries * index->seconds);
}

static gint64 servers(const void *params) { return ((const Params *)params)->workers; }

static gint64 gpus(const void *params) {
  const Params *p = params;
  return p->on == ON_GPU ? p->workers : 0;
}

static double cores(const void *params) { return ((const Params *)params)->on == ON_CPU ? 1 : 0; }

static void close_pool(gpointer state) {
  orr_task_servers_free(((Index *)state)->servers);
  g_free(state);
}

const OrrTaskPoolKind orr_task_pool_index = {
    .entry = {"index", "An index of vectors, searched by CPU threads or GPUs.", &table},
    .check = check,
    .open = open_pool,
    .add = add,
    .servers = servers,
    .gpus = gpus,
    .cores = cores,
    .close = close_pool,
};
