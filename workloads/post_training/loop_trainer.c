/*
 * loop_trainer.c - phases of the trainer, the weights after them, and engines on its GPUs.
 *
 *   wait | switch | data | old-log-probs | reference | rewards | values | critic | update | sync
 *
 * A batch's phases are known when it begins, so they are recorded at once, one after the other.
 */
#include "workloads/post_training/loop_state.h"

static void add_phase(OrrLoop *loop, OrrLoopPhase phase, double begin_s, double seconds) {
  if (seconds <= 0) return;
  ORR_APPEND(loop->history->spans, OrrLoopSpan,
             {phase, loop->history->steps->len, begin_s, begin_s + seconds});
  loop->step.phase_s[phase] += seconds;
}

/* --- Taking groups --- */

static gint64 trained_at_once(const OrrLoopInput *input) {
  return input->mode.streaming > 0 ? MIN(input->mode.streaming, input->prompts) : input->prompts;
}

static void take_sample(OrrLoop *loop, const OrrRolloutSample *sample, GArray *tokens) {
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
static GArray *take(OrrLoop *loop, gint64 n) {
  GArray *tokens = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint64 i = 0; i < n; i++) {
    const guint number = GPOINTER_TO_UINT(g_queue_pop_head(&loop->ready));
    const OrrLoopGroup *group = &g_array_index(loop->groups, OrrLoopGroup, number);
    for (guint k = 0; k < (guint)loop->input->samples; k++) {
      take_sample(loop, orr_loop_sample(loop, group->first + k), tokens);
      g_clear_pointer(&loop->context.samples->pdata[group->first + k], orr_rollout_sample_free);
    }
  }
  loop->taken += n;
  return tokens;
}

/* Groups beyond those that the step needs: what they wrote is thrown away. */
static void drop_unfinished(OrrLoop *loop) {
  gboolean any = FALSE;
  ORR_EACH(OrrLoopGroup, group, loop->groups) {
    if (group->n_left == 0 || group->is_gone) continue;
    group->is_gone = any = TRUE;
    loop->launched--;
    for (guint k = 0; k < (guint)loop->input->samples; k++) {
      OrrRolloutSample *sample = orr_loop_sample(loop, group->first + k);
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
    orr_rollout_replica_sweep(orr_loop_replica(loop, i));
}

/* They stop where they are, and go on with the next weights. */
static void stop_unfinished(OrrLoop *loop) {
  loop->stops = TRUE;
  loop->history->resumed += loop->in_flight;
  for (guint i = 0; i < loop->replicas->len; i++)
    orr_rollout_replica_pause(orr_loop_replica(loop, i));
}

static void end_rollouts(OrrLoop *loop) {
  const OrrLoopMode *mode = &loop->input->mode;
  const gboolean is_synchronous = mode->kind == ORR_LOOP_SYNCHRONOUS;
  loop->step.rollout_s = orr_loop_now(loop) - loop->step.begin_s;
  loop->step.tail_s = is_synchronous && !isnan(loop->nine_tenths_s)
                          ? orr_loop_now(loop) - loop->nine_tenths_s
                          : NAN;
  if (!is_synchronous || (mode->oversampling <= 0 && !orr_loop_has_rounds(loop))) return;
  if (mode->unfinished == ORR_LOOP_RESUME)
    stop_unfinished(loop);
  else
    drop_unfinished(loop);
}

/* --- Helpers --- */

/* What helpers have not finished goes on in the rollout pool. */
static void stop_helpers(OrrLoop *loop) {
  g_autoptr(GPtrArray) samples = g_ptr_array_new();
  loop->helpers_up = FALSE;
  loop->waking++;
  for (guint i = loop->input->replicas; i < loop->replicas->len; i++) {
    orr_rollout_replica_pause(orr_loop_replica(loop, i));
    orr_rollout_replica_empty(orr_loop_replica(loop, i), samples);
  }
  loop->history->moved += samples->len;
  ORR_EACH_POINTER(OrrRolloutSample, sample, samples) {
    if (sample->is_dropped) continue;
    sample->replica = orr_loop_least_loaded(loop);
    orr_rollout_replica_add(orr_loop_replica(loop, sample->replica), sample);
  }
}

typedef struct {
  OrrLoop *loop;
  guint waking;
} Waking;

static void helpers_awake(void *user) {
  const Waking waking = *(Waking *)user;
  g_free(user);
  if (waking.waking != waking.loop->waking || waking.loop->is_over) return;
  orr_loop_pools_touch(waking.loop);
  for (guint i = waking.loop->input->replicas; i < waking.loop->replicas->len; i++)
    orr_rollout_replica_resume(orr_loop_replica(waking.loop, i), FALSE);
}

void orr_loop_wake_helpers(OrrLoop *loop) {
  if (loop->input->helpers == 0 || loop->trainer != TRAINER_IDLE || loop->is_over) return;
  Waking *waking = g_new(Waking, 1);
  *waking = (Waking){loop, ++loop->waking};
  loop->helpers_up = TRUE;
  orr_engine_after(loop->engine, loop->input->to_rollout_s, helpers_awake, waking);
}

/* --- Passes and updates --- */

static void add_joules(const OrrPassTime *time, double m, double times, OrrJoules *joules) {
  orr_joules_add(joules, time->fixed_j, times);
  orr_joules_add(joules, time->each_j, times * m);
}

/* Optimizer steps over @tokens, one mini-batch after the other; adds their joules. */
static double update_s(const OrrLoopInput *input, const OrrLoopPass *pass, const GArray *tokens,
                       OrrJoules *joules) {
  const OrrPassTime *time = &pass->time;
  const double driver_s = input->costs.update_s + input->costs.pass_s * tokens->len;
  double sum_s = 0;
  if (!pass->is_there) return 0;
  for (guint from = 0; from < tokens->len; from += (guint)input->mini_batch) {
    const guint n = MIN((guint)input->mini_batch, tokens->len - from);
    g_autoptr(GArray) part = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_array_append_vals(part, &g_array_index(tokens, gint64, from), n);
    const double m = orr_pass_time_micro_batches(&pass->shape, part);
    sum_s += time->fixed_s + time->each_s * m;
    add_joules(time, m, (double)input->epochs, joules);
  }
  return driver_s + pass->load_s + sum_s * (double)input->epochs;
}

static double pass_s(const OrrLoopInput *input, const OrrLoopPass *pass, const GArray *tokens,
                     OrrJoules *joules) {
  if (!pass->is_there) return 0;
  const double m = orr_pass_time_micro_batches(&pass->shape, tokens);
  add_joules(&pass->time, m, 1, joules);
  return input->costs.pass_s * tokens->len + pass->load_s + pass->time.fixed_s +
         pass->time.each_s * m;
}

static void draw(OrrLoopHistory *history, OrrLoopPhase phase, double at_s, double seconds,
                 OrrJoules joules) {
  orr_joules_add(&history->joules.phase[phase], joules, 1);
  if (seconds > 0) orr_power_time_add(history->power, at_s, at_s + seconds, joules);
}

/* Records the phases of @tokens, one after the other from now on; their sum. */
static double compute(OrrLoop *loop, const GArray *tokens, double switch_s) {
  const OrrLoopInput *input = loop->input;
  OrrJoules j[ORR_N_LOOP_PHASES] = {0};
  const struct {
    OrrLoopPhase phase;
    double seconds;
  } phases[] = {
      {ORR_LOOP_PHASE_SWITCH, switch_s},
      {ORR_LOOP_PHASE_DATA, input->costs.sample_s * tokens->len + input->costs.batch_s},
      {ORR_LOOP_PHASE_OLD_LOG_PROBS,
       pass_s(input, &input->old_log_probs, tokens, &j[ORR_LOOP_PHASE_OLD_LOG_PROBS])},
      {ORR_LOOP_PHASE_REFERENCE,
       pass_s(input, &input->reference, tokens, &j[ORR_LOOP_PHASE_REFERENCE])},
      {ORR_LOOP_PHASE_REWARDS, pass_s(input, &input->rewards, tokens, &j[ORR_LOOP_PHASE_REWARDS])},
      {ORR_LOOP_PHASE_VALUES, pass_s(input, &input->values, tokens, &j[ORR_LOOP_PHASE_VALUES])},
      {ORR_LOOP_PHASE_CRITIC, update_s(input, &input->critic, tokens, &j[ORR_LOOP_PHASE_CRITIC])},
      {ORR_LOOP_PHASE_UPDATE, update_s(input, &input->update, tokens, &j[ORR_LOOP_PHASE_UPDATE])},
  };
  const double begin_s = orr_loop_now(loop);
  double at_s = begin_s;
  for (guint i = 0; i < G_N_ELEMENTS(phases); i++) {
    add_phase(loop, phases[i].phase, at_s, phases[i].seconds);
    draw(loop->history, phases[i].phase, at_s, phases[i].seconds, j[phases[i].phase]);
    at_s += phases[i].seconds;
  }
  return at_s - begin_s;
}

static void wait_ended(OrrLoop *loop) {
  add_phase(loop, ORR_LOOP_PHASE_WAITING, loop->idle_since_s,
            orr_loop_now(loop) - loop->idle_since_s);
}

static void trained(void *user);

void orr_loop_train(OrrLoop *loop) {
  const OrrLoopInput *input = loop->input;
  const gint64 needed = MIN(trained_at_once(input), input->prompts - loop->taken);
  if (loop->trainer != TRAINER_IDLE || (gint64)loop->ready.length < needed || loop->is_over) return;
  if (orr_loop_round_is_open(loop)) return;
  orr_loop_pools_touch(loop);
  const gboolean is_first = loop->taken == 0, switches = loop->helpers_up || input->is_colocated;
  if (loop->taken + needed == input->prompts) end_rollouts(loop);
  wait_ended(loop);
  g_autoptr(GArray) tokens = take(loop, needed);
  loop->trainer = TRAINER_BUSY;
  if (loop->helpers_up) stop_helpers(loop);
  orr_engine_after(loop->engine,
                   compute(loop, tokens, is_first && switches ? input->to_update_s : 0), trained,
                   loop);
}

static gboolean is_drained(const OrrLoop *loop) {
  return loop->input->mode.on_update != ORR_LOOP_DRAIN || loop->in_flight == 0 || loop->stops;
}

static void send_weights(OrrLoop *loop);

void orr_loop_look_again(OrrLoop *loop) {
  if (loop->trainer == TRAINER_DRAINING && is_drained(loop)) send_weights(loop);
}

static void trained(void *user) {
  OrrLoop *loop = user;
  orr_loop_pools_touch(loop);
  loop->idle_since_s = orr_loop_now(loop);
  loop->trainer = TRAINER_IDLE;
  if (loop->taken < loop->input->prompts) return orr_loop_train(loop);
  loop->trainer = TRAINER_DRAINING;
  orr_loop_look_again(loop);
}

/* --- Weights --- */

static void end_step(OrrLoop *loop) {
  OrrLoopStep *step = &loop->step;
  step->end_s = orr_loop_now(loop);
  if (step->samples > 0) step->staleness /= (double)step->samples;
  g_array_append_val(loop->history->steps, *step);
  *step = (OrrLoopStep){.begin_s = orr_loop_now(loop)};
  loop->taken = loop->ended = 0;
  loop->nine_tenths_s = NAN;
  loop->version++;
  if ((gint64)loop->history->steps->len == loop->input->uncounted) orr_loop_pools_restart(loop);
}

/* Engines go on; the next step has begun. */
static void awake(void *user) {
  OrrLoop *loop = user;
  const OrrLoopInput *input = loop->input;
  orr_loop_pools_touch(loop);
  end_step(loop);
  loop->idle_since_s = orr_loop_now(loop);
  loop->trainer = TRAINER_IDLE;
  loop->stops = loop->is_waking = FALSE;
  if ((gint64)loop->history->steps->len >= input->steps) {
    loop->is_over = TRUE;
    loop->history->end_s = orr_loop_now(loop);
    return; /* replicas stay paused, so the engine runs dry */
  }
  const gboolean is_lost = input->mode.on_update == ORR_LOOP_RECOMPUTE || input->is_colocated;
  for (guint i = 0; i < input->replicas; i++)
    orr_rollout_replica_resume(orr_loop_replica(loop, i), is_lost);
  if (loop->ready.length < (guint)trained_at_once(input)) orr_loop_wake_helpers(loop);
  orr_loop_launch(loop);
  orr_loop_train(loop);
}

static void sent(void *user) {
  OrrLoop *loop = user;
  orr_loop_pools_touch(loop);
  if (!loop->input->is_colocated || loop->input->to_rollout_s <= 0) return awake(loop);
  loop->is_waking = TRUE;
  add_phase(loop, ORR_LOOP_PHASE_SWITCH, orr_loop_now(loop), loop->input->to_rollout_s);
  orr_engine_after(loop->engine, loop->input->to_rollout_s, awake, loop);
}

static void load_weights(void *user) {
  OrrLoop *loop = user;
  orr_loop_pools_touch(loop);
  loop->trainer = TRAINER_SENDING;
  for (guint i = 0; i < loop->replicas->len; i++)
    orr_rollout_replica_pause(orr_loop_replica(loop, i));
  orr_engine_after(loop->engine, loop->input->sync.blocked_s, sent, loop);
}

/* Engines go on until the last part of the copy. */
static void send_weights(OrrLoop *loop) {
  const OrrWeightTimes *sync = &loop->input->sync;
  orr_loop_pools_touch(loop);
  loop->trainer = TRAINER_COPYING;
  wait_ended(loop);
  add_phase(loop, ORR_LOOP_PHASE_SYNC, orr_loop_now(loop), sync->copy_s);
  if (sync->copy_s > sync->blocked_s)
    orr_engine_after(loop->engine, sync->copy_s - sync->blocked_s, load_weights, loop);
  else
    load_weights(loop);
}
