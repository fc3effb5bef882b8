/*
 * reading_model.c - a model that reads and does not write: embeddings and rerankers, on GPUs of
 * their own.
 *
 * Replicas of one GPU work on batches of up to `batch` tokens (task_batches.c); a job above it runs
 * in as many equal passes as it needs. A pass costs what a prefill of these sequences costs a
 * serving engine (serving_cost.h): the same operators, kernel by kernel, so small batches take the
 * host's launches. Models of documents are decoders, so attention is causal, as in Qwen3-Embedding
 * and Qwen3-Reranker; an encoder's attends to all tokens, twice the products of attention.
 *
 *   pools: [{name: embedder, of: {kind: model, model: qwen3-0.6b, replicas: 1}},
 *           {name: reranker, of: {kind: model, model: qwen3-0.6b, scores: true}}]
 *
 * Oracle: one job alone takes overhead + its pass; sequences of equal jobs that come at once share
 * one.
 */
#include "workloads/diffusion/diffusion.h"
#include "workloads/products.h"
#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/tasks/pools/task_pool.h"

typedef struct {
  OrrModel model;
  gint64 replicas, batch;
  int precision;
  gboolean scores;
  double overhead_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-pool-model", "A model that reads.", Params,
    ORR_FIELD_SECTION(Params, "model", model, &orr_model_table, NULL, "What reads.",
                      .document = "model"),
    ORR_FIELD_INT(Params, "replicas", replicas, "1",
                  "Copies, of one GPU each, on the GPUs after the engines'.", .min = 1, .max = 1e6),
    ORR_FIELD_INT(Params, "batch", batch, "8192", "Tokens that one pass reads at most.", .min = 1,
                  .max = 1e9),
    ORR_FIELD_WORD(Params, "precision", precision, orr_dtype_names, "bf16",
                   "Number format of weights and activations."),
    ORR_FIELD_BOOL(Params, "scores", scores, "false",
                   "Whether each sequence needs its last token's logits, as rerankers do; "
                   "embeddings are the last hidden state."),
    ORR_FIELD_REAL(Params, "overhead", overhead_s, ORR_UNIT_SECONDS, "0 s",
                   "Host time of a pass: tokenization, the request, the answer.",
                   .flags = ORR_FIELD_UNSIGNED));

typedef struct {
  const Params *params;
  OrrTaskPoolHost host;
  OrrModel model; /* settled; points into the document's */
  OrrWorld world; /* with the model */
  OrrServingCost *cost;
  OrrTaskBatches *room;
} Readers;

static OrrInferenceShard shard_of(const Params *p) {
  return (OrrInferenceShard){.tp = 1,
                             .dp = 1,
                             .ep = 1,
                             .weights = (OrrDtype)p->precision,
                             .activations = (OrrDtype)p->precision,
                             .kv = (OrrDtype)p->precision};
}

static void check(const void *params, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const Params *p = params;
  const OrrInferenceShard shard = shard_of(p);
  const guint before = orr_diags_n_errors(diags);
  OrrModel model = p->model;
  orr_model_settle(&model, place, diags);
  if (orr_diags_n_errors(diags) > before) return;
  orr_inference_check(&model, &shard, place, diags);
  orr_products_check(&cluster->device, "precision", orr_dtype_names[p->precision],
                     (OrrDtype)p->precision, "", place, diags);
  const double bytes = orr_inference_weight_bytes(&model, &shard, 0, model.layers, TRUE, TRUE);
  if (bytes > cluster->device.memory_bytes)
    orr_diags_error(diags, place, "model %s, %.1f GiB, does not fit a GPU of %.1f GiB", model.name,
                    bytes / 0x1p30, cluster->device.memory_bytes / 0x1p30);
}

/* One of @passes equal passes over @sequences of @tokens tokens in all. */
static OrrStepTime pass_time(const Readers *readers, double sequences, double tokens,
                             double passes) {
  const double n = ceil(sequences / passes), all = ceil(tokens / passes), each = all / n;
  const OrrStepShape shape = {.tokens = all,
                              .chunk = all,
                              .chunk_key_sum = n * each * each / 2,
                              .chunk_pairs = n * each * (each + 1) / 2,
                              .n_chunks = (guint)n,
                              .sequences = (guint)n,
                              .logits = readers->params->scores ? (guint)n : 0};
  return orr_serving_cost_step(readers->cost, &shape);
}

static double serve(void *user, double sequences, double tokens) {
  Readers *readers = user;
  const Params *p = readers->params;
  const double passes = MIN(ceil(tokens / (double)p->batch), sequences);
  const OrrStepTime time = pass_time(readers, sequences, tokens, passes);
  orr_joules_add(&readers->host.books->joules, time.joules, passes);
  return passes * (time.gpu_s + p->overhead_s);
}

static void close_pool(gpointer state) {
  Readers *readers = state;
  orr_task_batches_free(readers->room);
  orr_serving_cost_free(readers->cost);
  g_free(readers);
}

static gpointer open_pool(const void *params, const OrrTaskPoolHost *host, GError **error) {
  const Params *p = params;
  g_autoptr(OrrDiags) diags = orr_diags_new(); /* check() has reported them */
  Readers *readers = g_new0(Readers, 1);
  *readers = (Readers){.params = p, .host = *host, .model = p->model, .world = *host->world};
  orr_model_settle(&readers->model, (OrrPlace){0}, diags);
  readers->world.model = &readers->model;
  const OrrInferenceShard shard = shard_of(p);
  const double bytes =
      orr_inference_weight_bytes(&readers->model, &shard, 0, readers->model.layers, TRUE, TRUE);
  const double load_s = orr_diffusion_copy_s(host->world->cluster, bytes);
  readers->room = orr_task_batches_new(host, &(OrrTaskBatchesParams){.most = (double)p->batch,
                                                                     .by_tokens = TRUE,
                                                                     .load_s = load_s,
                                                                     .serve = serve,
                                                                     .user = readers});
  const OrrServingCostParams cost = {.world = &readers->world,
                                     .shard = shard_of(p),
                                     .pp = 1,
                                     .first_gpu = host->first_gpu,
                                     .nccl = *host->nccl,
                                     .all_reduce = "auto",
                                     .all_to_all = "auto",
                                     .is_eager = TRUE};
  if ((readers->cost = orr_serving_cost_new(&cost, error))) return readers;
  close_pool(readers);
  return NULL;
}

static void add(gpointer state, OrrTaskJob *job) {
  orr_task_batches_add(((Readers *)state)->room, job);
}

static gint64 replicas(const void *params) { return ((const Params *)params)->replicas; }
static gint64 longest(const void *params) { return ((const Params *)params)->model.context; }

const OrrTaskPoolKind orr_task_pool_model = {
    .entry = {"model", "Replicas of a model that reads: embeddings, rerankers.", &table},
    .check = check,
    .open = open_pool,
    .add = add,
    .servers = replicas,
    .gpus = replicas,
    .longest = longest,
    .has_batches = TRUE,
    .close = close_pool,
};
