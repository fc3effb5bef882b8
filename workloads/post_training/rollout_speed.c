/*
 * rollout_speed.c - asks serving_cost.h once per rung.
 */
#include "workloads/post_training/rollout_replica.h"

#include "workloads/serving/cost/drafter.h"
#include "workloads/serving/cost/serving_joules.h"
#include "workloads/serving/serving_work.h"

enum { RUNGS_PER_OCTAVE = 16, N_RUNGS = 21 * RUNGS_PER_OCTAVE, PROMPT_RUNGS = 8 };

typedef struct {
  double seconds;
  OrrJoules watts; /* of all GPUs, joules per second */
} Rung;

struct OrrRolloutSpeed {
  const OrrServing *params;
  const OrrCostModel *model;
  OrrWork *work; /* compiled, never run: what an engine holds */
  OrrServingCost *cost;
  OrrDrafter *drafter; /* NULL: nothing is drafted */
  double gain;
  GPtrArray *decodes;  /* by n: Rung[N_RUNGS], seconds < 0: not asked yet; NULL: none yet */
  GHashTable *prompts; /* rungs of n and of tokens -> double * */
};

static const OrrServedGroup *group_of(const OrrRolloutSpeed *speed) {
  return &g_array_index(((const OrrServingWork *)speed->work)->groups, OrrServedGroup, 0);
}

static OrrServingCostParams cost_params(const OrrServing *params, const OrrWorld *world) {
  const OrrEngineParams *engine = &params->engine;
  return (OrrServingCostParams){.world = world,
                                .shard = orr_serving_loaded_shard(params, world->model),
                                .pp = params->parallel.pp,
                                .kernels = (OrrKernelLibrary)engine->kernels,
                                .nccl = engine->nccl,
                                .all_reduce = engine->all_reduce,
                                .all_to_all = params->parallel.all_to_all,
                                .lora = orr_serving_lora(params),
                                .graph_largest = engine->graph_largest,
                                .graph_unit = (OrrGraphUnit)engine->graph_unit,
                                .graph_sizes = (OrrGraphSizes)engine->graph_sizes,
                                .graph_prompts = engine->graph_prompts,
                                .is_eager = engine->eager,
                                .launch_s = engine->host.launch_s,
                                .stage_tensors = engine->stage_tensors,
                                .stage_slices = engine->stage_slices,
                                .experts = engine->experts,
                                .pads = engine->graph_padding};
}

static gboolean open_costs(OrrRolloutSpeed *speed, const OrrWorld *world, GError **error) {
  const OrrServing *params = speed->params;
  const OrrServingCostParams cost = cost_params(params, world);
  const OrrSpeculation speculation = orr_speculation_of(&params->engine.speculation);
  speed->cost = orr_serving_cost_new(&cost, error);
  speed->gain = orr_speculation_expected(&speculation, orr_speculation_depth(&speculation));
  if (!speed->cost || speculation.tokens == 0) return speed->cost != NULL;
  speed->drafter = orr_drafter_new(&params->engine.speculation, &cost, error);
  return speed->drafter != NULL;
}

OrrRolloutSpeed *orr_rollout_speed_new(const OrrServing *params, const OrrWorld *world,
                                       GError **error) {
  g_autoptr(OrrRolloutSpeed) speed = g_new0(OrrRolloutSpeed, 1);
  speed->params = params;
  speed->model = world->cost;
  speed->decodes = g_ptr_array_new_with_free_func(g_free);
  speed->prompts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  speed->work = orr_serving_kind.compile(params, world, error);
  if (!speed->work || !open_costs(speed, world, error)) return NULL;
  return g_steal_pointer(&speed);
}

void orr_rollout_speed_free(OrrRolloutSpeed *speed) {
  if (!speed) return;
  orr_serving_cost_free(speed->cost);
  orr_drafter_free(speed->drafter);
  orr_work_free(speed->work);
  g_ptr_array_unref(speed->decodes);
  g_hash_table_unref(speed->prompts);
  g_free(speed);
}

/* --- One step --- */

/* Of one rank and one of the batches in a pipeline. */
static OrrStepShape shape_of(const OrrRolloutSpeed *speed, double n, double keys, double chunk) {
  const gint64 ranks = MAX(speed->params->parallel.dp_attention, 1),
               pp = speed->params->parallel.pp;
  const double share = (double)(ranks * pp);
  const gint64 drafted = orr_speculation_of(&speed->params->engine.speculation).tokens;
  const double own = ceil(n / share), mine = keys / share, part = chunk / share;
  const double checked = own * (double)(1 + drafted);
  return (OrrStepShape){.tokens = checked + part,
                        .chunk = part,
                        .chunk_key_sum = part * part / 2,
                        .chunk_pairs = part * (part + 1) / 2,
                        .n_chunks = part > 0 ? 1 : 0,
                        .decodes = (guint)own,
                        .key_sum = mine + checked,
                        .keys_least = own > 0 ? mine / own : 0,
                        .keys_most = own > 0 ? mine / own : 0,
                        .sequences = (guint)own + (part > 0 ? 1 : 0),
                        .group_tokens = ranks > 1 ? (checked + part) * (double)ranks : 0,
                        .logits = (guint)checked + (part > 0 ? 1 : 0)};
}

static OrrStepTime step_time(OrrRolloutSpeed *speed, const OrrStepShape *shape) {
  OrrStepTime time = orr_serving_cost_step(speed->cost, shape);
  orr_serving_joules_sample(speed->model, orr_serving_sampling_s(speed->params) * shape->sequences,
                            &time);
  if (!speed->drafter) return time;
  const OrrStepTime draft = orr_drafter_step(speed->drafter, shape);
  time.gpu_s += draft.gpu_s;
  time.stage_s += draft.stage_s;
  orr_joules_add(&time.joules, draft.joules, 1);
  return time;
}

/* The processes between engine and client handle every token of every sequence. */
static double front_end_s(const OrrRolloutSpeed *speed, double n) {
  const OrrFrontEnd *front = &speed->params->engine.front;
  if (front->processes == 0) return 0;
  return n * front->chunk_s /
         ((double)(front->processes * front->interval) *
          group_of(speed)->cluster.node.host.cpu_speed);
}

static Rung ask(OrrRolloutSpeed *speed, double n, double keys, double chunk) {
  const OrrServing *params = speed->params;
  const OrrServingHost *host = &params->engine.host;
  const OrrStepShape shape = shape_of(speed, n, keys, chunk);
  const OrrStepTime time = step_time(speed, &shape);
  const double drafter_s = speed->drafter ? orr_drafter_host_s(speed->drafter, shape.sequences) : 0;
  const double host_s = (host->step_s + host->sequence_s * shape.sequences + drafter_s) /
                            group_of(speed)->cluster.node.host.cpu_speed +
                        orr_serving_neighbours_s(host, &group_of(speed)->cluster);
  const double gpu_s = fmax(time.gpu_s, (double)params->parallel.pp * time.stage_s + time.sends_s);
  const double engine_s =
      host->async ? fmax(gpu_s + host->exposed * host_s, host_s) : gpu_s + host_s;
  const double seconds = fmax(engine_s, front_end_s(speed, n));
  const double gpus = (double)(params->parallel.tp * MAX(params->parallel.dp_attention, 1));
  Rung rung = {.seconds = seconds};
  orr_joules_add(&rung.watts, time.joules, gpus * (double)params->parallel.pp / seconds);
  return rung;
}

/* --- Ladders --- */

static const Rung *rung_of(OrrRolloutSpeed *speed, guint n, guint rung) {
  while (speed->decodes->len <= n) g_ptr_array_add(speed->decodes, NULL);
  Rung *rungs = speed->decodes->pdata[n];
  if (!rungs) {
    speed->decodes->pdata[n] = rungs = g_new(Rung, N_RUNGS);
    for (guint i = 0; i < N_RUNGS; i++) rungs[i].seconds = -1;
  }
  if (rungs[rung].seconds < 0)
    rungs[rung] = ask(speed, n, exp2((double)rung / RUNGS_PER_OCTAVE) * n, 0);
  return &rungs[rung];
}

static Rung between(OrrRolloutSpeed *speed, guint n, double keys) {
  const double mean = fmax(keys / n, 1), at = log2(mean) * RUNGS_PER_OCTAVE;
  const guint low = MIN((guint)at, N_RUNGS - 2);
  const double from = exp2((double)low / RUNGS_PER_OCTAVE),
               to = exp2((double)(low + 1) / RUNGS_PER_OCTAVE);
  const double part = (mean - from) / (to - from);
  const Rung *a = rung_of(speed, n, low), *b = rung_of(speed, n, low + 1);
  Rung rung = {.seconds = a->seconds + part * (b->seconds - a->seconds)};
  orr_joules_add(&rung.watts, a->watts, 1 - part);
  orr_joules_add(&rung.watts, b->watts, part);
  return rung;
}

double orr_rollout_speed_decode(OrrRolloutSpeed *speed, guint n, double keys) {
  return between(speed, n, keys).seconds;
}

OrrJoules orr_rollout_speed_watts(OrrRolloutSpeed *speed, guint n, double keys) {
  return n > 0 ? between(speed, n, keys).watts : (OrrJoules){0};
}

static double prompt_rung(OrrRolloutSpeed *speed, gint64 n_rung, gint64 rung) {
  const gint64 key = n_rung * 4096 + rung;
  double *known = g_hash_table_lookup(speed->prompts, &key);
  if (known) return *known;
  const double n = n_rung < 0 ? 0 : floor(exp2((double)n_rung / PROMPT_RUNGS));
  const double tokens = exp2((double)rung / PROMPT_RUNGS);
  const double alone = n > 0 ? ask(speed, n, 1024 * n, 0).seconds : 0;
  known = g_new(double, 1);
  *known = fmax(ask(speed, n, 1024 * n, tokens).seconds - alone, 0);
  g_hash_table_insert(speed->prompts, g_memdup2(&key, sizeof key), known);
  return *known;
}

double orr_rollout_speed_prompt(OrrRolloutSpeed *speed, guint n, double tokens) {
  const gint64 n_rung = n > 0 ? llround(log2(n) * PROMPT_RUNGS) : -1;
  const double at = log2(fmax(tokens, 1)) * PROMPT_RUNGS;
  const gint64 low = (gint64)at;
  const double from = exp2((double)low / PROMPT_RUNGS), to = exp2((double)(low + 1) / PROMPT_RUNGS);
  const double part = (tokens - from) / (to - from);
  const double a = prompt_rung(speed, n_rung, low), b = prompt_rung(speed, n_rung, low + 1);
  return fmax(a + part * (b - a), 0);
}

/* --- Facts --- */

double orr_rollout_speed_gain(const OrrRolloutSpeed *speed) { return speed->gain; }

static double ranks_of(const OrrRolloutSpeed *speed) {
  return (double)MAX(speed->params->parallel.dp_attention, 1);
}

double orr_rollout_speed_kv_tokens(const OrrRolloutSpeed *speed) {
  return (double)(group_of(speed)->n_blocks * speed->params->engine.block_size) * ranks_of(speed);
}

guint orr_rollout_speed_places(const OrrRolloutSpeed *speed) {
  return (guint)((double)speed->params->engine.max_num_seqs * ranks_of(speed));
}

double orr_rollout_speed_budget(const OrrRolloutSpeed *speed) {
  return (double)speed->params->engine.max_num_batched_tokens * ranks_of(speed);
}

gint64 orr_rollout_speed_longest(const OrrRolloutSpeed *speed) {
  return ((const OrrServingWork *)speed->work)->longest;
}

double orr_rollout_speed_gpu_bytes(const OrrRolloutSpeed *speed) {
  const OrrServedGroup *group = group_of(speed);
  return group->weight_bytes + group->kv_bytes_per_token * (double)group->n_blocks *
                                   (double)speed->params->engine.block_size;
}

char *orr_rollout_speed_missing(OrrRolloutSpeed *speed) {
  return orr_serving_cost_missing(speed->cost);
}

const double *orr_rollout_speed_trust(const OrrRolloutSpeed *speed) {
  return orr_serving_cost_trust(speed->cost);
}
