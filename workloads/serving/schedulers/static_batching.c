/*
 * static_batching.c - FasterTransformer's batches: no request joins before all have ended.
 *
 * A batch is filled from the waiting requests, as many as max-num-seqs and as one step of
 * max-num-batched-tokens has room for, computes their prompts in that step, and decodes until its
 * longest output ends. The slot of a request that ended earlier is still computed in each step, for
 * nothing. A batch is made when the one before has ended, also under asynchronous scheduling.
 *
 *   makespan of n equal batches = n (t_prefill + (longest output - 1) t_decode)
 *
 *   workload: {engine: {scheduler: static}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gint64 slots;   /* of the batch, when it began */
  gint64 padding; /* slots whose request has ended */
} State;

static gpointer open(void) { return g_new0(State, 1); }

static void plan(OrrCore *core, const void *params, gpointer data) {
  State *state = data;
  state->padding = 0;
  if (core->running->len == 0) {
    core->sees_until_s = INFINITY;
    core->late_seats = core->late_blocks = 0;
    orr_scheduler_whole_prompts(core, ORR_RESERVE_ALL);
    state->slots = core->running->len;
    return;
  }
  state->padding = state->slots - (gint64)core->running->len;
  orr_scheduler_decodes(core);
}

static gint64 padding(const OrrCore *core, gpointer state) {
  return ((const State *)state)->padding;
}

const OrrScheduler orr_scheduler_static = {
    .entry = {"static", "Static batching: a batch runs until its longest output ends.", NULL},
    .open = open,
    .close = g_free,
    .plan = plan,
    .padding = padding,
    .reserves = TRUE,
    .without_chunks = TRUE,
};
