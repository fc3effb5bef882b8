/*
 * loop_sim.c - launches groups, gathers them, and moves the trainer through its phases.
 *
 * All events are calls of an engine without links (ORR_ENGINE_IDEAL).
 */
#include "workloads/post_training/loop_sim.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "workloads/post_training/rollout_replica.h"
#include "workloads/post_training/service_pool.h"

const char *const orr_loop_kind_words[] = {"synchronous", "asynchronous", NULL};
const char *const orr_loop_on_update_words[] = {"keep", "recompute", "drain", NULL};
const char *const orr_loop_route_words[] = {"sample", "group", NULL};
const char *const orr_loop_phase_words[] = {
    "rollout-wait", "switch",        "data",   "old-log-probs", "reference",
    "values",       "critic-update", "update", "weight-sync",   NULL};

typedef enum { TRAINER_IDLE, TRAINER_BUSY, TRAINER_DRAINING, TRAINER_SENDING } Trainer;

typedef struct {
  guint first;  /* its first sample's id */
  guint n_left; /* samples that are not scored yet */
  gboolean is_filtered, is_gone;
} Group;

typedef struct {
  const OrrLoopInput *input;
  OrrEngine *engine;
  OrrLoopHistory *history;
  OrrRolloutContext context;
  GPtrArray *replicas; /* of OrrRolloutReplica * */
  GArray *groups;      /* of Group */
  GQueue ready;        /* group numbers: scored, not trained on */
  OrrServicePool *tools, *verifier;
  OrrRandom lengths, filter;
  double launched; /* groups that count towards the limit */
  gint64 version, taken, in_flight;
  gint64 ended; /* samples that ended in this step */
  double nine_tenths_s;
  Trainer trainer;
  OrrLoopStep step; /* the one under way */
  double idle_since_s;
  guint next_replica;
  gboolean is_over;
} Loop;

static void launch(Loop *loop);
static void train(Loop *loop);

static double now(const Loop *loop) { return orr_engine_now(loop->engine); }

static OrrRolloutSample *sample_at(const Loop *loop, guint id) {
  return loop->context.samples->pdata[id];
}

/* --- Rollouts --- */

static OrrRolloutReplica *replica_at(const Loop *loop, guint i) { return loop->replicas->pdata[i]; }

static guint least_loaded(Loop *loop) {
  guint least = loop->next_replica++ % loop->replicas->len; /* among equals, the next in turn */
  for (guint i = 0; i < loop->replicas->len; i++)
    if (orr_rollout_replica_load(replica_at(loop, i)) <
        orr_rollout_replica_load(replica_at(loop, least)))
      least = i;
  return least;
}

static OrrRolloutSample *draw_sample(Loop *loop, guint group, gint32 prompt) {
  const OrrLoopInput *input = loop->input;
  OrrRolloutSample *sample = g_new0(OrrRolloutSample, 1);
  const gint64 room = MAX(input->longest - prompt, 1);
  *sample = (OrrRolloutSample){
      .group = group,
      .id = loop->context.samples->len,
      .prompt = prompt,
      .context = prompt,
      .left = (gint32)CLAMP(orr_lengths_draw(input->response, &loop->lengths), 1, room),
      .turns = (gint32)MAX(orr_lengths_draw(&input->turns.turns, &loop->lengths), 1) - 1,
      .version = (gint32)loop->version};
  g_ptr_array_add(loop->context.samples, sample);
  return sample;
}

static void launch_group(Loop *loop) {
  const OrrLoopInput *input = loop->input;
  const gint32 prompt =
      (gint32)CLAMP(orr_lengths_draw(input->prompt, &loop->lengths), 1, input->longest - 1);
  const guint number = loop->groups->len;
  const Group group = {.first = loop->context.samples->len,
                       .n_left = (guint)input->samples,
                       .is_filtered = orr_random_unit(&loop->filter) < input->filtered};
  g_array_append_val(loop->groups, group);
  loop->launched++;
  guint to = least_loaded(loop);
  for (gint64 i = 0; i < input->samples; i++) {
    OrrRolloutSample *sample = draw_sample(loop, number, prompt);
    if (input->mode.route == ORR_LOOP_BY_SAMPLE && i > 0) to = least_loaded(loop);
    sample->replica = to;
    loop->in_flight++;
    orr_rollout_replica_add(replica_at(loop, to), sample);
  }
}

static double limit(const Loop *loop) {
  const OrrLoopInput *input = loop->input;
  const double prompts = (double)input->prompts, before = (double)loop->version * prompts;
  if (input->mode.kind == ORR_LOOP_SYNCHRONOUS)
    return before + ceil(prompts * (1 + input->mode.oversampling) - 1e-9);
  return before + floor(prompts * (1 + input->mode.staleness) + 1e-9);
}

static gboolean may_launch(const Loop *loop) {
  if (loop->is_over || loop->trainer == TRAINER_DRAINING || loop->trainer == TRAINER_SENDING)
    return FALSE;
  return loop->launched < limit(loop);
}

static void launch(Loop *loop) {
  while (may_launch(loop)) launch_group(loop);
}

static void count_end(Loop *loop) {
  const gint64 all = loop->input->prompts * loop->input->samples;
  if (++loop->ended * 10 >= all * 9 && isnan(loop->nine_tenths_s)) loop->nine_tenths_s = now(loop);
}

static void turn_ended(void *user, OrrRolloutSample *sample) {
  Loop *loop = user;
  if (loop->is_over) return;
  if (sample->turns > 0 && sample->context < loop->input->longest) {
    orr_service_pool_add(loop->tools, sample);
    return;
  }
  loop->in_flight--;
  count_end(loop);
  orr_service_pool_add(loop->verifier, sample);
}

/* A tool has answered: the answer is read, then the next turn is written. */
static void tool_done(void *user, void *request) {
  Loop *loop = user;
  OrrRolloutSample *sample = request;
  const OrrLoopInput *input = loop->input;
  if (sample->is_dropped || loop->is_over) return;
  const gint64 room = input->longest - sample->context;
  const gint64 answer = CLAMP(orr_lengths_draw(&input->turns.answer, &loop->lengths), 0, room - 1);
  const gint64 next = CLAMP(orr_lengths_draw(input->response, &loop->lengths), 1, room - answer);
  sample->cached = sample->context;
  sample->context += (gint32)answer;
  sample->left = (gint32)next;
  sample->turns--;
  orr_rollout_replica_add(replica_at(loop, sample->replica), sample);
}

static void scored(void *user, void *request) {
  Loop *loop = user;
  const OrrRolloutSample *sample = request;
  const guint number = sample->group;
  Group *group = &g_array_index(loop->groups, Group, number);
  if (--group->n_left > 0 || group->is_gone || loop->is_over) return;
  if (group->is_filtered) {
    loop->history->filtered++;
    loop->launched--;
    launch(loop);
  } else {
    g_queue_push_tail(&loop->ready, GUINT_TO_POINTER(number));
  }
  train(loop);
}

/* --- The trainer --- */

static void add_phase(Loop *loop, OrrLoopPhase phase, double begin_s, double seconds) {
  if (seconds <= 0) return;
  const OrrLoopSpan span = {phase, loop->history->steps->len, begin_s, begin_s + seconds};
  g_array_append_val(loop->history->spans, span);
  loop->step.phase_s[phase] += seconds;
}

static gint64 trained_at_once(const OrrLoopInput *input) {
  return input->mode.streaming > 0 ? MIN(input->mode.streaming, input->prompts) : input->prompts;
}

static void take_sample(Loop *loop, const OrrRolloutSample *sample, GArray *tokens) {
  const gint64 length = sample->context;
  const gint64 age = loop->version - sample->version;
  OrrLoopStep *step = &loop->step;
  g_array_append_val(tokens, length);
  step->tokens += (double)length;
  step->samples++;
  step->response_tokens += sample->response;
  step->longest = MAX(step->longest, sample->response);
  step->staleness += (double)age;
  step->stalest = fmax(step->stalest, (double)age);
  loop->history->staleness[CLAMP(age, 0, 15)]++;
}

/* The next @n groups' samples, which are forgotten. */
static GArray *take(Loop *loop, gint64 n) {
  GArray *tokens = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint64 i = 0; i < n; i++) {
    const guint number = GPOINTER_TO_UINT(g_queue_pop_head(&loop->ready));
    const Group *group = &g_array_index(loop->groups, Group, number);
    for (guint k = 0; k < (guint)loop->input->samples; k++) {
      take_sample(loop, sample_at(loop, group->first + k), tokens);
      g_clear_pointer(&loop->context.samples->pdata[group->first + k], g_free);
    }
  }
  loop->taken += n;
  return tokens;
}

/* Optimizer steps over @tokens, one mini-batch after the other; adds their joules. */
static double update_s(const OrrLoopInput *input, const GArray *tokens, double *joules) {
  double sum_s = 0;
  for (guint from = 0; from < tokens->len; from += (guint)input->mini_batch) {
    const guint n = MIN((guint)input->mini_batch, tokens->len - from);
    g_autoptr(GArray) part = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_array_append_vals(part, &g_array_index(tokens, gint64, from), n);
    const double m = orr_pass_time_micro_batches(&input->shape, part);
    sum_s += input->update.fixed_s + input->update.each_s * m;
    *joules += (input->update.fixed_j + input->update.each_j * m) * (double)input->epochs;
  }
  return sum_s * (double)input->epochs;
}

static void trained(void *user);

/* Records the phases of @tokens, one after the other from now on; their sum. */
static double compute(Loop *loop, const GArray *tokens) {
  const OrrLoopInput *input = loop->input;
  const double begin_s = now(loop);
  const double m = orr_pass_time_micro_batches(&input->shape, tokens);
  const double forward_s = input->forward.fixed_s + input->forward.each_s * m;
  const int forwards = input->old_pass + input->reference_pass + input->has_critic;
  double update_j = 0;
  const double actor_s = update_s(input, tokens, &update_j);
  loop->history->trainer_j += forwards * (input->forward.fixed_j + input->forward.each_j * m) +
                              update_j * (input->has_critic ? 2 : 1);
  const gboolean is_first = loop->taken <= trained_at_once(input);
  const struct {
    OrrLoopPhase phase;
    double seconds;
  } phases[] = {
      {ORR_LOOP_PHASE_SWITCH, is_first ? input->to_update_s : 0},
      {ORR_LOOP_PHASE_DATA, input->costs.sample_s * tokens->len + input->costs.batch_s},
      {ORR_LOOP_PHASE_OLD_LOG_PROBS, input->old_pass ? forward_s : 0},
      {ORR_LOOP_PHASE_REFERENCE, input->reference_pass ? forward_s : 0},
      {ORR_LOOP_PHASE_VALUES, input->has_critic ? forward_s : 0},
      {ORR_LOOP_PHASE_CRITIC, input->has_critic ? actor_s : 0},
      {ORR_LOOP_PHASE_UPDATE, actor_s},
  };
  double at_s = begin_s;
  for (guint i = 0; i < G_N_ELEMENTS(phases); i++) {
    add_phase(loop, phases[i].phase, at_s, phases[i].seconds);
    at_s += phases[i].seconds;
  }
  return at_s - begin_s;
}

static void wait_ended(Loop *loop) {
  add_phase(loop, ORR_LOOP_PHASE_WAITING, loop->idle_since_s, now(loop) - loop->idle_since_s);
}

/* Groups beyond those that the step needs: what they wrote is thrown away. */
static void drop_unfinished(Loop *loop) {
  gboolean any = FALSE;
  for (guint i = 0; i < loop->groups->len; i++) {
    Group *group = &g_array_index(loop->groups, Group, i);
    if (group->n_left == 0 || group->is_gone) continue;
    group->is_gone = any = TRUE;
    loop->launched--;
    for (guint k = 0; k < (guint)loop->input->samples; k++) {
      OrrRolloutSample *sample = sample_at(loop, group->first + k);
      sample->is_dropped = TRUE;
      loop->history->dropped++;
    }
  }
  for (GList *link; (link = g_queue_peek_tail_link(&loop->ready)) &&
                    loop->ready.length > (guint)loop->input->prompts;) {
    g_queue_delete_link(&loop->ready, link);
    loop->launched--;
  }
  loop->in_flight = 0;
  for (guint i = 0; any && i < loop->replicas->len; i++)
    orr_rollout_replica_sweep(replica_at(loop, i));
}

static void train(Loop *loop) {
  const OrrLoopInput *input = loop->input;
  const gint64 needed = MIN(trained_at_once(input), input->prompts - loop->taken);
  if (loop->trainer != TRAINER_IDLE || (gint64)loop->ready.length < needed || loop->is_over) return;
  if (loop->taken + needed == input->prompts) {
    loop->step.rollout_s = now(loop) - loop->step.begin_s;
    loop->step.tail_s = input->mode.kind == ORR_LOOP_SYNCHRONOUS && !isnan(loop->nine_tenths_s)
                            ? now(loop) - loop->nine_tenths_s
                            : NAN;
    if (input->mode.kind == ORR_LOOP_SYNCHRONOUS && input->mode.oversampling > 0)
      drop_unfinished(loop);
  }
  wait_ended(loop);
  g_autoptr(GArray) tokens = take(loop, needed);
  loop->trainer = TRAINER_BUSY;
  orr_engine_after(loop->engine, compute(loop, tokens), trained, loop);
}

/* --- Weights --- */

static void sent(void *user);

static void send_weights(Loop *loop) {
  loop->trainer = TRAINER_SENDING;
  wait_ended(loop);
  add_phase(loop, ORR_LOOP_PHASE_SYNC, now(loop), loop->input->sync_s);
  add_phase(loop, ORR_LOOP_PHASE_SWITCH, now(loop) + loop->input->sync_s,
            loop->input->to_rollout_s);
  for (guint i = 0; i < loop->replicas->len; i++) orr_rollout_replica_pause(replica_at(loop, i));
  orr_engine_after(loop->engine, loop->input->sync_s + loop->input->to_rollout_s, sent, loop);
}

static gboolean is_drained(const Loop *loop) {
  return loop->input->mode.on_update != ORR_LOOP_DRAIN || loop->in_flight == 0;
}

static void look_again(void *user) {
  Loop *loop = user;
  if (loop->trainer == TRAINER_DRAINING && is_drained(loop)) send_weights(loop);
}

static void trained(void *user) {
  Loop *loop = user;
  loop->idle_since_s = now(loop);
  loop->trainer = TRAINER_IDLE;
  if (loop->taken < loop->input->prompts) {
    train(loop);
    return;
  }
  loop->trainer = TRAINER_DRAINING;
  look_again(loop);
}

static void end_step(Loop *loop) {
  OrrLoopStep *step = &loop->step;
  step->end_s = now(loop);
  if (step->samples > 0) step->staleness /= (double)step->samples;
  g_array_append_val(loop->history->steps, *step);
  *step = (OrrLoopStep){.begin_s = now(loop)};
  loop->taken = loop->ended = 0;
  loop->nine_tenths_s = NAN;
  loop->version++;
}

static void sent(void *user) {
  Loop *loop = user;
  end_step(loop);
  loop->idle_since_s = now(loop);
  loop->trainer = TRAINER_IDLE;
  if ((gint64)loop->history->steps->len >= loop->input->steps) {
    loop->is_over = TRUE;
    loop->history->end_s = now(loop);
    return; /* replicas stay paused, so the engine runs dry */
  }
  for (guint i = 0; i < loop->replicas->len; i++)
    orr_rollout_replica_resume(replica_at(loop, i),
                               loop->input->mode.on_update == ORR_LOOP_RECOMPUTE);
  launch(loop);
  train(loop);
}

/* --- Life --- */

static void ended(void *user, OrrRolloutSample *sample) {
  Loop *loop = user;
  turn_ended(loop, sample);
  look_again(loop);
}

static void loop_init(Loop *loop, const OrrLoopInput *input, OrrEngine *engine) {
  *loop = (Loop){.input = input, .engine = engine, .nine_tenths_s = NAN};
  loop->history = g_new0(OrrLoopHistory, 1);
  loop->history->steps = g_array_new(FALSE, FALSE, sizeof(OrrLoopStep));
  loop->history->spans = g_array_new(FALSE, FALSE, sizeof(OrrLoopSpan));
  loop->groups = g_array_new(FALSE, FALSE, sizeof(Group));
  loop->context = (OrrRolloutContext){.engine = engine,
                                      .speed = input->speed,
                                      .samples = g_ptr_array_new_with_free_func(g_free),
                                      .shares_prompt = input->shares_prompt,
                                      .ended = ended,
                                      .user = loop};
  loop->replicas = g_ptr_array_new_with_free_func(orr_rollout_replica_free);
  for (guint i = 0; i < input->replicas; i++)
    g_ptr_array_add(loop->replicas, orr_rollout_replica_new(&loop->context));
  const OrrServiceParams tools = {engine,
                                  input->turns.latency_s,
                                  input->turns.spread,
                                  input->turns.workers,
                                  tool_done,
                                  loop,
                                  input->seed};
  const OrrServiceParams verifier = {engine,
                                     input->verifier.latency_s,
                                     input->verifier.spread,
                                     input->verifier.workers,
                                     scored,
                                     loop,
                                     input->seed + 1};
  loop->tools = orr_service_pool_new(&tools);
  loop->verifier = orr_service_pool_new(&verifier);
  loop->lengths = orr_random_stream(input->seed, "responses");
  loop->filter = orr_random_stream(input->seed, "filtered");
}

static void loop_clear(Loop *loop) {
  orr_service_pool_free(loop->tools);
  orr_service_pool_free(loop->verifier);
  g_ptr_array_unref(loop->replicas);
  g_ptr_array_unref(loop->context.samples);
  g_array_unref(loop->groups);
  g_queue_clear(&loop->ready);
  orr_loop_sim_free(loop->history);
}

static void add_totals(Loop *loop) {
  OrrLoopHistory *history = loop->history;
  for (guint i = 0; i < loop->replicas->len; i++) {
    const OrrRolloutTotals *totals = orr_rollout_replica_totals(replica_at(loop, i));
    history->busy_s += totals->busy_s;
    history->watt_s += totals->watt_s;
    history->sequence_s += totals->sequence_s;
    history->decoded += totals->decoded;
    history->prompted += totals->prompted;
    history->preemptions += totals->preemptions;
  }
  history->events = orr_engine_n_events(loop->engine);
}

OrrLoopHistory *orr_loop_sim(const OrrLoopInput *input, GError **error) {
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_IDEAL, error);
  if (!engine) return NULL;
  Loop loop;
  loop_init(&loop, input, engine);
  launch(&loop);
  OrrLoopHistory *history = NULL;
  if (orr_engine_run(engine, error)) {
    add_totals(&loop);
    if (loop.is_over)
      history = g_steal_pointer(&loop.history);
    else
      g_set_error(error, ORR_FAULT, ORR_FAULT_STUCK,
                  "the loop stops in step %u: %u groups are ready, %" G_GINT64_FORMAT
                  " are needed, and no more come",
                  loop.history->steps->len + 1, loop.ready.length, input->prompts - loop.taken);
  }
  loop_clear(&loop);
  return history;
}

void orr_loop_sim_free(OrrLoopHistory *history) {
  if (!history) return;
  g_array_unref(history->steps);
  g_array_unref(history->spans);
  g_free(history);
}
