/*
 * rollout_speed.c - asks serving_cost.h once per rung.
 */
#include "workloads/post_training/rollout_replica.h"

#include "workloads/serving/replica/serving_run.h"

enum { RUNGS_PER_OCTAVE = 16, N_RUNGS = 21 * RUNGS_PER_OCTAVE, PROMPT_RUNGS = 8 };

typedef struct {
  double seconds;
  OrrJoules watts; /* of all GPUs, joules per second */
} Rung;

struct OrrRolloutSpeed {
  OrrServingRun run; /* of a compiled work that never begins: what an engine holds and costs */
  double gain;
  GPtrArray *decodes;  /* by n: Rung[N_RUNGS], seconds < 0: not asked yet; NULL: none yet */
  GHashTable *prompts; /* rungs of n and of tokens -> double * */
};

static const OrrServedGroup *group_of(const OrrRolloutSpeed *speed) {
  return &g_array_index(speed->run.work->groups, OrrServedGroup, 0);
}

static const OrrServing *params_of(const OrrRolloutSpeed *speed) {
  return &group_of(speed)->params;
}

OrrRolloutSpeed *orr_rollout_speed_new(const OrrServing *params, const OrrWorld *world,
                                       GError **error) {
  g_autoptr(OrrRolloutSpeed) speed = g_new0(OrrRolloutSpeed, 1);
  const OrrSpeculation speculation = orr_speculation_of(&params->engine.speculation);
  speed->gain = orr_speculation_expected(&speculation, orr_speculation_depth(&speculation));
  speed->decodes = g_ptr_array_new_with_free_func(g_free);
  speed->prompts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  speed->run.work = (OrrServingWork *)orr_serving_kind.compile(params, world, error);
  if (!speed->run.work || !orr_group_costs_open(&speed->run, error)) return NULL;
  return g_steal_pointer(&speed);
}

void orr_rollout_speed_free(OrrRolloutSpeed *speed) {
  if (!speed) return;
  if (speed->run.work) {
    orr_group_costs_free(&speed->run);
    orr_work_free(&speed->run.work->work);
  }
  g_ptr_array_unref(speed->decodes);
  g_hash_table_unref(speed->prompts);
  g_free(speed);
}

/* --- One step --- */

/* Of one rank and one of the batches in a pipeline. */
static OrrStepShape shape_of(const OrrRolloutSpeed *speed, double n, double keys, double chunk) {
  const gint64 ranks = params_of(speed)->parallel.dp_attention, pp = params_of(speed)->parallel.pp;
  const double share = (double)(ranks * pp);
  const gint64 drafted = orr_speculation_of(&params_of(speed)->engine.speculation).tokens;
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

/* The processes between engine and client handle every token of every sequence. */
static double front_end_s(const OrrRolloutSpeed *speed, double n) {
  const OrrFrontEnd *front = &params_of(speed)->engine.front;
  if (front->processes == 0) return 0;
  return n * front->chunk_s /
         ((double)(front->processes * front->interval) * orr_serving_run_cpu_speed(&speed->run, 0));
}

static Rung ask(OrrRolloutSpeed *speed, double n, double keys, double chunk) {
  const OrrServingParallel *parallel = &params_of(speed)->parallel;
  const OrrStepShape shape = shape_of(speed, n, keys, chunk);
  const OrrStepTime time = orr_serving_run_step_time(&speed->run, 0, NULL, &shape);
  const double host_s = orr_serving_run_host_seconds(&speed->run, 0, shape.sequences);
  const double gpu_s = fmax(time.gpu_s, (double)parallel->pp * time.stage_s + time.sends_s);
  const double engine_s = orr_serving_run_step_seconds(&speed->run, 0, gpu_s, host_s);
  Rung rung = {.seconds = fmax(engine_s, front_end_s(speed, n))};
  orr_joules_add(&rung.watts, time.joules,
                 (double)(parallel->tp * parallel->dp_attention * parallel->pp) / rung.seconds);
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

gint64 orr_rollout_speed_longest(const OrrRolloutSpeed *speed) { return speed->run.work->longest; }

void orr_rollout_speed_open_core(const OrrRolloutSpeed *speed, OrrCore *core) {
  orr_serving_run_open_core(&speed->run, 0, params_of(speed)->parallel.dp_attention, core);
}

double orr_rollout_speed_move(const OrrRolloutSpeed *speed, const OrrCore *core) {
  return orr_serving_run_move_seconds(&speed->run, 0, core) /
         (double)params_of(speed)->parallel.dp_attention;
}

double orr_rollout_speed_gpu_bytes(const OrrRolloutSpeed *speed) {
  const OrrServedGroup *group = group_of(speed);
  return group->weight_bytes + group->kv_bytes_per_token * (double)group->n_blocks *
                                   (double)params_of(speed)->engine.block_size;
}

char *orr_rollout_speed_missing(OrrRolloutSpeed *speed) {
  return orr_serving_cost_missing(speed->run.costs[0]);
}

const double *orr_rollout_speed_trust(const OrrRolloutSpeed *speed) {
  return orr_serving_cost_trust(speed->run.costs[0]);
}
