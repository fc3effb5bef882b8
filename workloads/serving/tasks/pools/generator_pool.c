/*
 * generator_pool.c - pictures, clips, sounds, vectors: replicas of a generator, of one GPU each,
 * that work on batches (task_batches.c).
 *
 * A batch has up to `batch` outputs; a job above it runs in as many equal passes as it needs. A
 * pass of b outputs takes what workload `diffusion` takes for them (diffusion.h):
 *
 *   text(b) + steps step(b) + decoder(b) + output(b)
 *
 * `stages` gives a pool one part of them, so that text encoders, backbone and decoder can have
 * pools of their own, which a task visits in turn. Encoders (BERT, ViT, Whisper's) are generators
 * of one step. What goes from one pool to the next takes no time: a latent picture of 1024 x 1024
 * has half a megabyte.
 *
 *   pools: [{name: pictures, of: {kind: generator, make: {generator: sdxl, steps: 20}, batch: 8}}]
 *
 * Oracle: one job alone takes as long as the workload `diffusion` with a batch of 1; with
 * `batch: 1` and Poisson arrivals the pool is M/D/c.
 */
#include "workloads/diffusion/diffusion.h"
#include "workloads/serving/tasks/pools/task_pool.h"

typedef enum { ALL, TEXT, BACKBONE, DECODER } Stages;
static const char *const stages_words[] = {"all", "text", "backbone", "decoder", NULL};

typedef struct {
  OrrDiffusion make;
  gint64 replicas, batch;
  double wait_s, overhead_s;
  int stages; /* Stages */
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-pool-generator", "Replicas of a generator.", Params,
    ORR_FIELD_SECTION(Params, "make", make, &orr_diffusion_table, NULL,
                      "What a job makes: the keys of workload `diffusion`. `batch` and `stack` are "
                      "not for pools."),
    ORR_FIELD_INT(Params, "replicas", replicas, "1",
                  "Copies, of one GPU each, on the GPUs after the engines'.", .min = 1, .max = 1e6),
    ORR_FIELD_INT(Params, "batch", batch, "1", "Outputs that a pass makes at most.", .min = 1,
                  .max = 1e6),
    ORR_FIELD_REAL(Params, "wait", wait_s, ORR_UNIT_SECONDS, "0 s",
                   "How long the first job of a batch that is not full waits for others.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_WORD(Params, "stages", stages, stages_words, "all",
                   "The part that this pool computes: all, or one stage."),
    ORR_FIELD_REAL(Params, "overhead", overhead_s, ORR_UNIT_SECONDS, "0 s",
                   "Host time of a pass: the request, the answer.", .flags = ORR_FIELD_UNSIGNED));

typedef struct {
  double seconds;
  OrrJoules joules;
} Pass;

typedef struct {
  const Params *params;
  OrrTaskPoolHost host;
  OrrTaskBatches *room;
  GHashTable *passes; /* outputs -> Pass */
} Pool;

static gboolean runs(const Params *params, OrrDiffusionStageKind stage) {
  static const Stages own[ORR_N_STAGES] = {
      [ORR_STAGE_TEXT] = TEXT, [ORR_STAGE_STEP] = BACKBONE, [ORR_STAGE_DECODER] = DECODER};
  return params->stages == ALL || params->stages == (int)own[stage];
}

static void check(const void *data, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const Params *params = data;
  const guint before = orr_diags_n_errors(diags);
  OrrDiffusionWork work = {0};
  OrrDiffusion most = params->make;
  if (orr_diffusion_ranks(&params->make) > 1)
    orr_diags_error(diags, place, "make.parallel: a replica of a pool is one GPU");
  if (params->make.batch > 1)
    orr_diags_error(diags, place, "make.batch: the pool's own `batch` says how many a pass makes");
  if (params->make.stack && *params->make.stack && strcmp(params->make.stack, "none") != 0)
    orr_diags_error(diags, place,
                    "make.stack: pools take no stack; give the settings that it would make");
  if (orr_diags_n_errors(diags) == before)
    orr_diffusion_kind.check(&params->make, NULL, cluster, place, diags);
  if (orr_diags_n_errors(diags) > before) return;
  most.batch = params->batch;
  orr_diffusion_counts(&most, &work);
  if (work.weight_bytes + work.activation_bytes > cluster->device.memory_bytes)
    orr_diags_error(diags, place,
                    "%s with a batch of %ld needs at least %.1f GiB of weights and activations: a "
                    "GPU has %.1f GiB",
                    params->make.generator.name, params->batch,
                    (work.weight_bytes + work.activation_bytes) / 0x1p30,
                    cluster->device.memory_bytes / 0x1p30);
}

static Pass pass_of(const Pool *pool, gint64 outputs) {
  const Params *params = pool->params;
  OrrDiffusion make = params->make;
  Pass pass = {.seconds = params->overhead_s};
  make.batch = outputs;
  const OrrDiffusionAlone alone = orr_diffusion_alone(&make, pool->host.world);
  for (int stage = 0; stage < ORR_N_STAGES; stage++) {
    if (!runs(params, (OrrDiffusionStageKind)stage)) continue;
    pass.seconds += alone.stage_s[stage];
    orr_joules_add(&pass.joules, alone.joules[stage], 1);
  }
  if (runs(params, ORR_STAGE_DECODER)) pass.seconds += alone.output_s;
  return pass;
}

static const Pass *pass_for(Pool *pool, gint64 outputs) {
  Pass *pass = g_hash_table_lookup(pool->passes, &outputs);
  if (pass) return pass;
  pass = g_new(Pass, 1);
  *pass = pass_of(pool, outputs);
  g_hash_table_insert(pool->passes, g_memdup2(&outputs, sizeof outputs), pass);
  return pass;
}

/* A batch runs in as many equal passes as it needs. */
static double serve(void *user, double outputs, double tokens) {
  Pool *pool = user;
  const double passes = ceil(outputs / (double)pool->params->batch);
  const Pass *pass = pass_for(pool, (gint64)ceil(outputs / passes));
  orr_joules_add(&pool->host.books->joules, pass->joules, passes);
  return passes * pass->seconds;
}

static void close_pool(gpointer state) {
  Pool *pool = state;
  orr_task_batches_free(pool->room);
  g_hash_table_unref(pool->passes);
  g_free(pool);
}

static gpointer open_pool(const void *data, const OrrTaskPoolHost *host, GError **error) {
  const Params *params = data;
  Pool *pool = g_new0(Pool, 1);
  OrrDiffusionWork counts = {0};
  *pool = (Pool){.params = params, .host = *host};
  pool->passes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  double bytes = 0;
  orr_diffusion_counts(&params->make, &counts);
  for (int stage = 0; stage < ORR_N_STAGES; stage++)
    if (runs(params, (OrrDiffusionStageKind)stage)) bytes += counts.stages[stage].weight_bytes;
  const double load_s = orr_diffusion_copy_s(host->world->cluster, bytes);
  pool->room = orr_task_batches_new(host, &(OrrTaskBatchesParams){.most = (double)params->batch,
                                                                  .wait_s = params->wait_s,
                                                                  .load_s = load_s,
                                                                  .serve = serve,
                                                                  .user = pool});
  return pool;
}

static void add(gpointer state, OrrTaskJob *job) {
  orr_task_batches_add(((Pool *)state)->room, job);
}

static gint64 replicas(const void *params) { return ((const Params *)params)->replicas; }

const OrrTaskPoolKind orr_task_pool_generator = {
    .entry = {"generator", "Replicas of a generator of pictures, clips, sounds or vectors.",
              &table},
    .check = check,
    .open = open_pool,
    .add = add,
    .servers = replicas,
    .gpus = replicas,
    .has_batches = TRUE,
    .close = close_pool,
};
