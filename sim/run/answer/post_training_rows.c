/*
 * post_training_rows.c - means over the steps, and the rows of each; time lines are in
 * post_training_spans.c.
 */
#include "sim/run/answer/answer_private.h"

static const OrrLoopStep *step_at(const OrrPostTrainingWork *work, guint i) {
  return &g_array_index(work->history->steps, OrrLoopStep, i);
}

/* The first steps fill the pipeline, so means begin after them where there are others. */
guint orr_post_training_rows_first(const OrrPostTrainingWork *work) {
  return work->history->steps->len > work->uncounted ? (guint)work->uncounted : 0;
}

static void add_steps(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  for (guint i = 0; i < work->history->steps->len; i++) {
    const OrrLoopStep *step = step_at(work, i);
    ORR_APPEND(outcome->post_training_steps, OrrPostTrainingStepRow,
               {.step = i,
                .begin_s = step->begin_s,
                .end_s = step->end_s,
                .rollout_s = step->rollout_s,
                .tail_s = step->tail_s,
                .samples = step->samples,
                .tokens = step->tokens,
                .response_tokens_mean = (double)step->response_tokens / (double)step->samples,
                .response_tokens_most = step->longest,
                .staleness_mean = step->staleness,
                .staleness_most = step->stalest});
  }
}

static void add_stalenesses(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const OrrLoopHistory *history = work->history;
  for (guint age = 0; age < G_N_ELEMENTS(history->staleness); age++) {
    const OrrPostTrainingStalenessRow row = {age, history->staleness[age]};
    if (row.samples > 0) g_array_append_val(outcome->post_training_stalenesses, row);
  }
}

typedef struct {
  double seconds, tokens, samples, responses, rollout_s, tail, staleness;
  double phase_s[ORR_N_LOOP_PHASES];
  gint64 n;
} Sums;

static Sums sum_steps(const OrrPostTrainingWork *work, OrrPostTrainingResult *r) {
  Sums sums = {0};
  for (guint i = orr_post_training_rows_first(work); i < work->history->steps->len; i++) {
    const OrrLoopStep *step = step_at(work, i);
    sums.n++;
    sums.seconds += step->end_s - step->begin_s;
    sums.tokens += step->tokens;
    sums.samples += (double)step->samples;
    sums.responses += (double)step->response_tokens;
    sums.rollout_s += step->rollout_s;
    sums.tail += step->tail_s / step->rollout_s;
    sums.staleness += step->staleness;
    for (int phase = 0; phase < ORR_N_LOOP_PHASES; phase++)
      sums.phase_s[phase] += step->phase_s[phase];
    r->response_tokens_most = MAX(r->response_tokens_most, step->longest);
    r->staleness_most = fmax(r->staleness_most, step->stalest);
  }
  return sums;
}

static void fill_phases(const Sums *sums, OrrPostTrainingResult *r) {
  double *const members[ORR_N_LOOP_PHASES] = {
      &r->rollout_wait_s, &r->switch_s,     &r->data_s,   &r->old_log_probs_s,
      &r->reference_s,    &r->rewards_s,    &r->values_s, &r->critic_update_s,
      &r->update_s,       &r->weight_sync_s};
  for (int phase = 0; phase < ORR_N_LOOP_PHASES; phase++)
    *members[phase] = sums->phase_s[phase] / (double)sums->n;
  r->batch_wait_s = r->rollout_wait_s + r->data_s;
  const double idle_s = sums->phase_s[ORR_LOOP_PHASE_WAITING] +
                        sums->phase_s[ORR_LOOP_PHASE_SWITCH] + sums->phase_s[ORR_LOOP_PHASE_SYNC];
  r->trainer_busy = 1 - idle_s / sums->seconds;
}

static void fill_rollouts(const OrrPostTrainingWork *work, OrrPostTrainingResult *r) {
  const OrrLoopHistory *history = work->history;
  r->rollout_busy = history->busy_s / (history->end_s * work->replicas);
  r->rollout_sequences = history->busy_s > 0 ? history->sequence_s / history->busy_s : 0;
  r->computed_again = history->decoded > 0 ? history->prompted / history->decoded : 0;
  r->rollout_help = work->helpers > 0 ? history->helped_s / (history->end_s * work->helpers) : NAN;
  r->preemptions = history->preemptions;
  r->samples_resumed = history->resumed;
  r->samples_moved = history->moved;
  r->groups_filtered = history->filtered;
  r->samples_dropped = history->dropped;
  r->rollout_memory_bytes = work->rollout_bytes;
  r->update_memory_bytes = work->update_bytes;
  r->weight_sync_bytes = work->sync_bytes;
  r->weight_blocked_s = work->blocked_s;
}

/* --- Waits of rollouts and updates --- */

static void add_pool_row(OrrOutcome *outcome, const char *pool, const char *state, double seconds,
                         double gpus) {
  const double step_s = outcome->result.post_training.step_time_s;
  const OrrPostTrainingPoolRow row = {.pool = (char *)pool,
                                      .state = (char *)state,
                                      .seconds = seconds,
                                      .fraction = seconds / step_s,
                                      .gpu_seconds = seconds * gpus};
  if (seconds > 0) g_array_append_val(outcome->post_training_pools, row);
}

static void add_trainer_pool(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  const double gpus = (double)work->update_gpus;
  const double waits_s = r->rollout_wait_s + r->data_s + r->switch_s + r->weight_sync_s;
  add_pool_row(outcome, "trainer", "busy", r->step_time_s - waits_s, gpus);
  add_pool_row(outcome, "trainer", "rollouts", r->rollout_wait_s, gpus);
  add_pool_row(outcome, "trainer", "driver", r->data_s, gpus);
  add_pool_row(outcome, "trainer", "switch", r->switch_s, gpus);
  add_pool_row(outcome, "trainer", "weight-sync", r->weight_sync_s, gpus);
}

static void add_rollout_pool(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const OrrLoopHistory *history = work->history;
  const double steps = (double)(history->steps->len - orr_post_training_rows_first(work));
  for (int state = 0; state < ORR_N_LOOP_POOL_STATES; state++)
    add_pool_row(outcome, "rollouts",
                 state == ORR_LOOP_POOL_BUSY ? "busy" : orr_loop_pool_words[state],
                 history->pool_s[state] / work->replicas / steps, (double)work->rollout_gpus);
}

static gboolean fits(const OrrPostTrainingWork *work) {
  ORR_EACH(const OrrPostTrainingMemoryRow, row, work->memory)
    if (!row->fits) return FALSE;
  return TRUE;
}

static void fill_result(const OrrReplayed *replayed, OrrOutcome *outcome) {
  OrrPostTrainingResult *r = &outcome->result.post_training;
  const OrrPostTrainingWork *work = (const OrrPostTrainingWork *)replayed->work;
  const Sums sums = sum_steps(work, r);
  const double n = (double)sums.n;
  r->step_time_s = sums.seconds / n;
  r->tokens_per_s = sums.tokens / sums.seconds;
  r->tokens_per_s_per_gpu = r->tokens_per_s / (double)work->work.n_gpus;
  r->samples_per_s = sums.samples / sums.seconds;
  r->response_tokens_mean = sums.responses / sums.samples;
  r->rollout_s = sums.rollout_s / n;
  r->rollout_tail = sums.tail / n;
  r->staleness_mean = sums.staleness / n;
  fill_phases(&sums, r);
  fill_rollouts(work, r);
  orr_post_training_energy(replayed, sums.responses / sums.seconds, outcome);
  r->fits = fits(work);
  r->rollout_gpus = work->rollout_gpus;
  r->update_gpus = work->update_gpus;
  r->replicas = work->replicas;
  r->n_steps = work->history->steps->len;
  r->events = (gint64)work->history->events;
}

static void add_warnings(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  double sum = 0;
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) sum += work->trust_s[how];
  if (!outcome->result.post_training.fits)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("the trainer needs %.1f GiB of a GPU, more than it has",
                                    work->update_bytes / 0x1p30));
  if (work->missing)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("rollouts: the profile has no rows for %s", work->missing));
  if (sum > 0 && work->trust_s[ORR_HOW_OUTSIDE] > 0.2 * sum)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("rollouts: %.0f %% of the kernels' time lies outside the "
                                    "measured range",
                                    100 * work->trust_s[ORR_HOW_OUTSIDE] / sum));
}

void orr_post_training_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrPostTrainingWork *work = (const OrrPostTrainingWork *)replayed->work;
  fill_result(replayed, outcome);
  add_steps(work, outcome);
  add_trainer_pool(work, outcome);
  add_rollout_pool(work, outcome);
  orr_outcome_take(&outcome->post_training_memories, work->memory);
  add_stalenesses(work, outcome);
  orr_post_training_spans(work, outcome);
  add_warnings(work, outcome);
}

char *orr_post_training_rows_explain(const OrrOutcome *outcome) {
  const OrrPostTrainingResult *r = &outcome->result.post_training;
  const double passes_s = r->old_log_probs_s + r->reference_s + r->rewards_s + r->values_s;
  return g_strdup_printf("rollout wait %.0f %%, passes %.0f %%, update %.0f %%, weights %.0f %% of "
                         "a step",
                         100 * r->rollout_wait_s / r->step_time_s, 100 * passes_s / r->step_time_s,
                         100 * (r->update_s + r->critic_update_s) / r->step_time_s,
                         100 * r->weight_sync_s / r->step_time_s);
}
