/*
 * post_training_spans.c - what a loop recorded, as rows.
 *
 *   lane 0       the trainer
 *   lane 1       the rollout pool
 *   lane 2 + i   engine i; the trainer's own engines, which help, come last
 */
#include "sim/run/answer/answer_private.h"

enum { TRAINER_LANE, ROLLOUT_LANE, FIRST_ENGINE_LANE };

static gboolean is_wait(OrrLoopPhase phase) {
  return phase == ORR_LOOP_PHASE_WAITING || phase == ORR_LOOP_PHASE_SWITCH ||
         phase == ORR_LOOP_PHASE_SYNC;
}

static void add_phase(OrrOutcome *outcome, const char *pool, const char *phase, gint64 step,
                      double begin_s, double end_s) {
  ORR_APPEND(outcome->post_training_phases, OrrPostTrainingPhaseRow,
             {.step = step,
              .pool = (char *)pool,
              .phase = (char *)phase,
              .begin_s = begin_s,
              .end_s = end_s});
}

/* Work is of category compute, as operators are; a wait is a category of its own. */
static void add_span(const OrrPostTrainingWork *work, OrrOutcome *outcome, gint64 lane,
                     const char *name, gboolean is_work, double begin_s, double end_s) {
  const OrrSpanRow row = {.lane = lane,
                          .stream = "phase",
                          .name = (char *)name,
                          .category = is_work ? "compute" : (char *)name,
                          .micro_batch = -1,
                          .begin_s = begin_s,
                          .started_s = begin_s,
                          .end_s = end_s};
  if (work->keeps_spans) g_array_append_val(outcome->spans, row);
}

static void add_trainer(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const GArray *spans = work->history->spans;
  ORR_EACH(const OrrLoopSpan, span, spans) {
    const char *name = orr_loop_phase_words[span->phase];
    add_phase(outcome, "trainer", name, span->step, span->begin_s, span->end_s);
    add_span(work, outcome, TRAINER_LANE, name, !is_wait(span->phase), span->begin_s, span->end_s);
  }
}

static void add_rollouts(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const GArray *spans = work->history->pool_spans;
  ORR_EACH(const OrrLoopPoolSpan, span, spans) {
    const char *name = orr_loop_pool_words[span->state];
    add_phase(outcome, "rollouts", name, span->step, span->begin_s, span->end_s);
    add_span(work, outcome, ROLLOUT_LANE, name, span->state == ORR_LOOP_POOL_BUSY, span->begin_s,
             span->end_s);
  }
}

static void add_engines(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const GArray *spans = work->history->engine_spans;
  ORR_EACH(const OrrLoopEngineSpan, span, spans)
    add_span(work, outcome, FIRST_ENGINE_LANE + span->engine, "rollout", TRUE, span->begin_s,
             span->end_s);
}

static void add_lane(OrrOutcome *outcome, gint64 lane, gint64 gpus, char *name) {
  ORR_APPEND(outcome->lanes, OrrLaneRow,
             {.lane = lane,
              .name = g_string_chunk_insert(outcome->names, name),
              .multiplicity = gpus,
              .end_s = outcome->result.post_training.step_time_s});
  g_free(name);
}

static void add_lanes(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const guint engines = work->replicas + work->helpers;
  const gint64 each = work->rollout_gpus / work->replicas;
  if (!work->keeps_spans) return;
  add_lane(outcome, TRAINER_LANE, work->update_gpus, g_strdup("trainer"));
  add_lane(outcome, ROLLOUT_LANE, work->rollout_gpus, g_strdup("rollouts"));
  for (guint i = 0; i < engines; i++)
    add_lane(outcome, FIRST_ENGINE_LANE + i, each,
             i < work->replicas ? g_strdup_printf("engine %u", i)
                                : g_strdup_printf("trainer's engine %u", i - work->replicas));
}

static void add_loads(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  const GArray *loads = work->history->loads;
  ORR_EACH(const OrrLoopLoad, load, loads)
    ORR_APPEND(outcome->post_training_loads, OrrPostTrainingLoadRow,
               {.at_s = load->at_s,
                .engines_busy = load->busy,
                .running = load->running,
                .waiting = load->waiting,
                .at_tools = load->at_tools,
                .groups_ready = load->ready});
}

void orr_post_training_spans(const OrrPostTrainingWork *work, OrrOutcome *outcome) {
  add_trainer(work, outcome);
  add_rollouts(work, outcome);
  add_engines(work, outcome);
  add_lanes(work, outcome);
  add_loads(work, outcome);
}
