/*
 * loop_sim.c - launches groups and gathers them.
 *
 * All events are calls of an engine without links (ORR_ENGINE_IDEAL).
 */
#include "workloads/post_training/loop_state.h"

const char *const orr_loop_kind_words[] = {"synchronous", "asynchronous", NULL};
const char *const orr_loop_on_update_words[] = {"keep", "recompute", "drain", NULL};
const char *const orr_loop_route_words[] = {"sample", "group", NULL};
const char *const orr_loop_phase_words[] = {
    "rollout-wait", "switch",        "data",   "old-log-probs", "reference", "rewards",
    "values",       "critic-update", "update", "weight-sync",   NULL};
const char *const orr_loop_unfinished_words[] = {"drop", "resume", NULL};

/* --- Rollouts --- */

guint orr_loop_least_loaded(OrrLoop *loop) {
  const guint n = loop->helpers_up ? loop->replicas->len : loop->input->replicas;
  guint least = loop->next_replica++ % n; /* among equals, the next in turn */
  for (guint i = 0; i < n; i++)
    if (orr_rollout_replica_load(orr_loop_replica(loop, i)) <
        orr_rollout_replica_load(orr_loop_replica(loop, least)))
      least = i;
  return least;
}

static OrrRolloutSample *draw_sample(OrrLoop *loop, guint group, gint32 prompt) {
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

static void launch_group(OrrLoop *loop) {
  const OrrLoopInput *input = loop->input;
  const gint32 prompt =
      (gint32)CLAMP(orr_lengths_draw(input->prompt, &loop->lengths), 1, input->longest - 1);
  const guint number = loop->groups->len;
  ORR_APPEND(loop->groups, OrrLoopGroup,
             {.first = loop->context.samples->len,
              .n_left = (guint)input->samples,
              .is_filtered = orr_random_unit(&loop->filter) < input->filtered});
  loop->launched++;
  guint to = orr_loop_least_loaded(loop);
  for (gint64 i = 0; i < input->samples; i++) {
    OrrRolloutSample *sample = draw_sample(loop, number, prompt);
    if (input->mode.route == ORR_LOOP_BY_SAMPLE && i > 0) to = orr_loop_least_loaded(loop);
    sample->replica = to;
    loop->in_flight++;
    orr_rollout_replica_add(orr_loop_replica(loop, to), sample);
  }
}

static double limit(const OrrLoop *loop) {
  const OrrLoopInput *input = loop->input;
  const double prompts = (double)input->prompts, before = (double)loop->version * prompts;
  if (input->mode.kind == ORR_LOOP_SYNCHRONOUS)
    return before + ceil(prompts * (1 + input->mode.oversampling) - 1e-9);
  return before + floor(prompts * (1 + input->mode.staleness) + 1e-9);
}

static gboolean may_launch(const OrrLoop *loop) {
  if (loop->is_over || loop->trainer == TRAINER_DRAINING || loop->trainer == TRAINER_SENDING)
    return FALSE;
  if (loop->trainer == TRAINER_COPYING && loop->input->mode.on_update == ORR_LOOP_DRAIN)
    return FALSE;
  return loop->launched < limit(loop);
}

void orr_loop_launch(OrrLoop *loop) {
  while (may_launch(loop)) launch_group(loop);
}

/* Of an ended round too few groups were kept: the next one has as many as the first. */
static void launch_round(OrrLoop *loop) {
  loop->ended = 0;
  loop->nine_tenths_s = NAN;
  for (gint64 i = 0; i < loop->input->prompts; i++) launch_group(loop);
}

static void count_end(OrrLoop *loop) {
  const gint64 all = loop->input->prompts * loop->input->samples;
  if (++loop->ended * 10 >= all * 9 && isnan(loop->nine_tenths_s))
    loop->nine_tenths_s = orr_loop_now(loop);
}

static void turn_ended(void *user, OrrRolloutSample *sample) {
  OrrLoop *loop = user;
  if (loop->is_over) return;
  orr_loop_pools_touch(loop);
  if (sample->turns > 0 && sample->context < loop->input->longest) {
    loop->at_tools++;
    orr_service_pool_add(loop->tools, sample);
    return;
  }
  loop->in_flight--;
  count_end(loop);
  loop->at_verifier++;
  orr_service_pool_add(loop->verifier, sample);
}

/* A tool has answered: the answer is read, then the next turn is written. */
static void tool_done(void *user, void *request) {
  OrrLoop *loop = user;
  OrrRolloutSample *sample = request;
  const OrrLoopInput *input = loop->input;
  orr_loop_pools_touch(loop);
  loop->at_tools--;
  if (sample->is_dropped || loop->is_over) return;
  const gint64 room = input->longest - sample->context;
  const gint64 answer = CLAMP(orr_lengths_draw(&input->turns.answer, &loop->lengths), 0, room - 1);
  const gint64 next = CLAMP(orr_lengths_draw(input->response, &loop->lengths), 1, room - answer);
  sample->context += (gint32)answer;
  sample->left = (gint32)next;
  sample->turns--;
  if (sample->replica >= loop->input->replicas && !loop->helpers_up) /* it trains by now */
    sample->replica = orr_loop_least_loaded(loop);
  orr_rollout_replica_add(orr_loop_replica(loop, sample->replica), sample);
}

static void scored(void *user, void *request) {
  OrrLoop *loop = user;
  const OrrRolloutSample *sample = request;
  const guint number = sample->group;
  orr_loop_pools_touch(loop);
  loop->at_verifier--;
  OrrLoopGroup *group = &g_array_index(loop->groups, OrrLoopGroup, number);
  if (--group->n_left > 0 || group->is_gone || loop->is_over) return;
  if (group->is_filtered) {
    loop->history->filtered++;
    loop->launched--;
    if (!orr_loop_has_rounds(loop)) orr_loop_launch(loop);
  } else {
    g_queue_push_tail(&loop->ready, GUINT_TO_POINTER(number));
  }
  if (orr_loop_round_is_open(loop)) return;
  if (orr_loop_has_rounds(loop) && (gint64)loop->ready.length < loop->input->prompts)
    return launch_round(loop);
  orr_loop_train(loop);
}

/* --- Life --- */

static void ended(void *user, OrrRolloutSample *sample) {
  OrrLoop *loop = user;
  turn_ended(loop, sample);
  orr_loop_look_again(loop);
}

static void busy(void *user, guint number, gboolean is_busy) {
  orr_loop_pools_engine(user, number, is_busy);
}

static OrrLoopHistory *history_new(void) {
  OrrLoopHistory *history = g_new0(OrrLoopHistory, 1);
  history->steps = g_array_new(FALSE, FALSE, sizeof(OrrLoopStep));
  history->spans = g_array_new(FALSE, FALSE, sizeof(OrrLoopSpan));
  history->pool_spans = g_array_new(FALSE, FALSE, sizeof(OrrLoopPoolSpan));
  history->engine_spans = g_array_new(FALSE, FALSE, sizeof(OrrLoopEngineSpan));
  history->loads = g_array_new(FALSE, FALSE, sizeof(OrrLoopLoad));
  history->power = orr_power_time_new();
  return history;
}

static void add_services(OrrLoop *loop) {
  const OrrLoopInput *input = loop->input;
  const OrrServiceParams tools = {loop->engine,        input->turns.latency_s,
                                  input->turns.spread, input->turns.workers,
                                  tool_done,           loop,
                                  input->seed};
  const OrrServiceParams verifier = {loop->engine,
                                     input->verifier.latency_s,
                                     input->verifier.spread,
                                     input->verifier.workers,
                                     scored,
                                     loop,
                                     input->seed + 1};
  loop->tools = orr_service_pool_new(&tools);
  loop->verifier = orr_service_pool_new(&verifier);
}

/* Helpers are asleep until the trainer waits. */
static void add_replicas(OrrLoop *loop) {
  const guint n = loop->input->replicas + loop->input->helpers;
  loop->replicas = g_ptr_array_new_with_free_func(orr_rollout_replica_free);
  for (guint i = 0; i < n; i++) {
    g_ptr_array_add(loop->replicas, orr_rollout_replica_new(&loop->context, i));
    if (i >= loop->input->replicas) orr_rollout_replica_pause(orr_loop_replica(loop, i));
  }
}

static void loop_init(OrrLoop *loop, const OrrLoopInput *input, OrrEngine *engine) {
  *loop = (OrrLoop){.input = input, .engine = engine, .nine_tenths_s = NAN};
  loop->history = history_new();
  loop->groups = g_array_new(FALSE, FALSE, sizeof(OrrLoopGroup));
  loop->context =
      (OrrRolloutContext){.engine = engine,
                          .speed = input->speed,
                          .samples = g_ptr_array_new_with_free_func(orr_rollout_sample_free),
                          .power = loop->history->power,
                          .ended = ended,
                          .busy = busy,
                          .user = loop};
  add_replicas(loop);
  orr_loop_pools_init(loop);
  add_services(loop);
  loop->lengths = orr_random_stream(input->seed, "responses");
  loop->filter = orr_random_stream(input->seed, "filtered");
}

static void loop_clear(OrrLoop *loop) {
  orr_service_pool_free(loop->tools);
  orr_service_pool_free(loop->verifier);
  g_ptr_array_unref(loop->replicas);
  g_ptr_array_unref(loop->context.samples);
  g_array_unref(loop->groups);
  orr_loop_pools_clear(loop);
  g_queue_clear(&loop->ready);
  orr_loop_sim_free(loop->history);
}

void orr_loop_sim_joules(OrrLoop *loop) {
  OrrLoopJoules *joules = &loop->history->joules;
  joules->pool = joules->helpers = (OrrJoules){0};
  for (guint i = 0; i < loop->replicas->len; i++)
    orr_joules_add(i >= loop->input->replicas ? &joules->helpers : &joules->pool,
                   orr_rollout_replica_totals(orr_loop_replica(loop, i))->joules, 1);
}

static void add_totals(OrrLoop *loop) {
  OrrLoopHistory *history = loop->history;
  for (guint i = 0; i < loop->replicas->len; i++) {
    const OrrRolloutTotals *totals = orr_rollout_replica_totals(orr_loop_replica(loop, i));
    const gboolean helps = i >= loop->input->replicas;
    *(helps ? &history->helped_s : &history->busy_s) += totals->busy_s;
    if (!helps) history->sequence_s += totals->sequence_s;
    history->decoded += totals->decoded;
    history->prompted += totals->prompted;
    history->preemptions += totals->preemptions;
  }
  orr_loop_sim_joules(loop);
  orr_loop_pools_close(loop);
  history->events = orr_engine_n_events(loop->engine);
}

OrrLoopHistory *orr_loop_sim(const OrrLoopInput *input, GError **error) {
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_IDEAL, error);
  if (!engine) return NULL;
  OrrLoop loop;
  loop_init(&loop, input, engine);
  orr_loop_wake_helpers(&loop);
  orr_loop_launch(&loop);
  OrrLoopHistory *history = NULL;
  if (orr_engine_run(engine, error)) {
    add_totals(&loop);
    if (loop.is_over)
      history = g_steal_pointer(&loop.history);
    else
      g_set_error(
          error, ORR_FAULT, ORR_FAULT_STUCK,
          "the loop stops in step %u: %u groups are ready, %ld are needed, and no more come",
          loop.history->steps->len + 1, loop.ready.length, input->prompts - loop.taken);
  }
  loop_clear(&loop);
  return history;
}

void orr_loop_sim_free(OrrLoopHistory *history) {
  if (!history) return;
  g_free(history->power);
  g_array_unref(history->steps);
  g_array_unref(history->spans);
  g_array_unref(history->pool_spans);
  g_array_unref(history->engine_spans);
  g_array_unref(history->loads);
  g_free(history);
}
