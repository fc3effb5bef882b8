/*
 * loop_pools.c - how the rollout engines' time splits up, and what the pool does when.
 *
 * An engine without a sequence to run waits for one thing at a time. The first that applies:
 *
 *   weight-sync, switch   weights move, or shared GPUs change their role
 *   trainer               it was stopped until the trainer has updated (shared GPUs, resume)
 *   tools                 responses of the pool are with their tools
 *   tail                  other engines still run: lengths, or sequences, are not even
 *   verifier              the trainer waits, too, for scores
 *   trainer               no group may be launched before new weights
 *
 * so busy time and waits add up to engines times time.
 */
#include "workloads/post_training/loop_state.h"

enum { MOST_LOADS = 2000, MOST_STRETCHES = 200000 };

const char *const orr_loop_pool_words[] = {"rollout", "tail",   "tools",       "verifier",
                                           "trainer", "switch", "weight-sync", NULL};

void orr_loop_pools_init(OrrLoop *loop) {
  loop->stretches = g_array_new(FALSE, FALSE, sizeof(OrrLoopStretch));
  for (guint i = 0; i < loop->replicas->len; i++)
    ORR_APPEND(loop->stretches, OrrLoopStretch, {0, 0});
}

/* No response of this step is left to roll out. */
static gboolean has_stopped(const OrrLoop *loop) {
  const OrrLoopInput *input = loop->input;
  return input->is_colocated || loop->stops ||
         (input->mode.kind == ORR_LOOP_SYNCHRONOUS && loop->taken >= input->prompts);
}

static OrrLoopPoolState idle_state(const OrrLoop *loop) {
  if (loop->trainer == TRAINER_SENDING)
    return loop->is_waking ? ORR_LOOP_POOL_SWITCH : ORR_LOOP_POOL_SYNC;
  if (loop->trainer != TRAINER_IDLE && has_stopped(loop)) return ORR_LOOP_POOL_TRAINER;
  if (loop->at_tools > 0) return ORR_LOOP_POOL_TOOLS;
  if (loop->n_busy > 0) return ORR_LOOP_POOL_TAIL;
  if (loop->at_verifier > 0 && loop->trainer == TRAINER_IDLE) return ORR_LOOP_POOL_VERIFIER;
  return ORR_LOOP_POOL_TRAINER;
}

/* What the pool as a whole does, for the time line: neighbours in the same state are one span. */
static void extend(OrrLoop *loop, OrrLoopPoolState state, double begin_s, double end_s) {
  GArray *spans = loop->history->pool_spans;
  const gint64 step = loop->history->steps->len;
  OrrLoopPoolSpan *last =
      spans->len > 0 ? &g_array_index(spans, OrrLoopPoolSpan, spans->len - 1) : NULL;
  if (last && last->state == state && last->step == step) {
    last->end_s = end_s;
    return;
  }
  ORR_APPEND(spans, OrrLoopPoolSpan, {state, step, begin_s, end_s});
}

/* Every other row is dropped when there are too many, and the next ones come half as often. */
static void thin(GArray *loads) {
  guint kept = 0;
  for (guint i = 0; i < loads->len; i += 2)
    g_array_index(loads, OrrLoopLoad, kept++) = g_array_index(loads, OrrLoopLoad, i);
  g_array_set_size(loads, kept);
}

static void add_load(OrrLoop *loop, double now_s) {
  GArray *loads = loop->history->loads;
  OrrLoopLoad load = {.at_s = now_s,
                      .busy = loop->n_busy,
                      .at_tools = loop->at_tools,
                      .ready = (gint64)loop->ready.length};
  for (guint i = 0; i < loop->replicas->len; i++) {
    const OrrRolloutReplica *replica = orr_loop_replica(loop, i);
    load.running += orr_rollout_replica_running(replica);
    load.waiting += orr_rollout_replica_load(replica) - orr_rollout_replica_running(replica);
  }
  g_array_append_val(loads, load);
  if (loads->len >= MOST_LOADS) {
    thin(loads);
    loop->load_every_s = fmax(2 * loop->load_every_s, now_s / MOST_LOADS);
  }
  loop->next_load_s = now_s + loop->load_every_s;
}

void orr_loop_pools_touch(OrrLoop *loop) {
  const double now_s = orr_loop_now(loop), passed_s = now_s - loop->touched_s;
  if (passed_s <= 0 || loop->is_over) return;
  const OrrLoopPoolState idle = idle_state(loop);
  double *pool_s = loop->history->pool_s;
  pool_s[ORR_LOOP_POOL_BUSY] += passed_s * loop->n_busy;
  pool_s[idle] += passed_s * (loop->input->replicas - loop->n_busy);
  extend(loop, loop->n_busy > 0 ? ORR_LOOP_POOL_BUSY : idle, loop->touched_s, now_s);
  loop->touched_s = now_s;
  if (now_s >= loop->next_load_s) add_load(loop, now_s);
}

static void record(OrrLoop *loop, guint engine, const OrrLoopStretch *stretch) {
  GArray *spans = loop->history->engine_spans;
  if (stretch->end_s <= stretch->begin_s || spans->len >= MOST_STRETCHES) return;
  ORR_APPEND(spans, OrrLoopEngineSpan, {engine, stretch->begin_s, stretch->end_s});
}

void orr_loop_pools_engine(OrrLoop *loop, guint engine, gboolean is_busy) {
  OrrLoopStretch *stretch = &g_array_index(loop->stretches, OrrLoopStretch, engine);
  const double now_s = orr_loop_now(loop);
  orr_loop_pools_touch(loop);
  if (engine < loop->input->replicas) loop->n_busy += is_busy ? 1 : -1;
  if (!is_busy) {
    stretch->end_s = now_s;
    return;
  }
  if (stretch->end_s < now_s || stretch->end_s <= stretch->begin_s) {
    record(loop, engine, stretch);
    stretch->begin_s = now_s;
  }
  stretch->end_s = NAN;
}

void orr_loop_pools_restart(OrrLoop *loop) {
  orr_loop_pools_touch(loop);
  for (int i = 0; i < ORR_N_LOOP_POOL_STATES; i++) loop->history->pool_s[i] = 0;
  loop->history->counted_s = orr_loop_now(loop);
  orr_loop_sim_joules(loop);
  loop->history->before = loop->history->joules;
  memset(loop->history->staleness, 0, sizeof loop->history->staleness);
}

void orr_loop_pools_close(OrrLoop *loop) {
  ORR_EACH_AT(i, OrrLoopStretch, stretch, loop->stretches) {
    if (isnan(stretch->end_s)) stretch->end_s = loop->history->end_s;
    record(loop, i, stretch);
  }
}

void orr_loop_pools_clear(OrrLoop *loop) { g_array_unref(loop->stretches); }
