/*
 * replica_async.c - what the plan of a step does not know yet.
 *
 * With asynchronous scheduling (`host.async`) a step is planned when the one before it begins, as
 * vLLM does with two batches in its queue (v1/engine/core.py, step_with_batch_queue;
 * sched/async_scheduler.py):
 *
 *   host   | plan 2 |        | plan 3 |        | plan 4 |
 *   GPU    | step 1          | step 2          | step 3
 *              ^ a request that comes here is in no plan before 3
 *
 * What is decided then does not know who came during step 1 (requests join a step later), and has
 * neither the seats nor the blocks of those whom step 1 ends. Those compute nothing more: the
 * scheduler knows by max-tokens that they end. Where nothing can be planned so, the plan is made
 * when the step has ended. Here plans are still made at the end of a step, with what was known at
 * its beginning.
 *
 * With `recv-interval` N the engine looks for requests only every N-th step that decodes alone,
 * after every step with prompts, and while nothing runs (SGLang, scheduler_recv_skipper.py: a
 * decode counts 1, any other step 1,000): a request that comes meanwhile waits N / 2 steps on
 * average.
 * Requests that join with a cache computed elsewhere are not held back.
 */
#include "workloads/serving/replica/replica_private.h"

void orr_replica_finish_unseen(OrrReplica *replica, guint i) {
  OrrCore *core = &replica->cores[i];
  const gint64 seats = core->running->len, n_free = orr_kv_n_free(core->kv);
  orr_replica_finish_step(replica, i, core->batch);
  if (!replica->group->params.engine.host.async) return;
  core->sees_until_s = replica->begin_s;
  core->late_seats = seats - (gint64)core->running->len;
  core->late_blocks = core->late_seats > 0 ? MAX(orr_kv_n_free(core->kv) - n_free, 0) : 0;
}

static void see_all(OrrReplica *replica) {
  for (guint i = 0; i < replica->n_cores; i++) {
    replica->cores[i].sees_until_s = INFINITY;
    replica->cores[i].late_seats = replica->cores[i].late_blocks = 0;
  }
}

void orr_replica_count_steps(OrrReplica *replica, gint64 n, gboolean has_prompts) {
  const gint64 interval = replica->group->params.engine.recv_interval;
  if (has_prompts)
    replica->unpolled_steps = interval;
  else /* the looks within a run of steps found nothing */
    replica->unpolled_steps = (replica->unpolled_steps + n - 1) % interval + 1;
}

static void look(OrrReplica *replica, double now_s) {
  replica->unpolled_steps = 0;
  replica->polled_s = now_s;
  for (guint i = 0; i < replica->n_cores; i++)
    replica->polled_s = fmin(replica->polled_s, replica->cores[i].sees_until_s);
}

static gboolean plans_prompts(const OrrReplica *replica) {
  for (guint i = 0; i < replica->n_cores; i++)
    if (replica->cores[i].batch->len > 0 && replica->cores[i].shape.chunk > 0) return TRUE;
  return FALSE;
}

gboolean orr_replica_plan_cores(OrrReplica *replica, double now_s) {
  const OrrEngineParams *engine = &replica->group->params.engine;
  if (engine->recv_interval > 1) {
    if (replica->unpolled_steps >= engine->recv_interval) look(replica, now_s);
    for (guint i = 0; i < replica->n_cores; i++)
      replica->cores[i].sees_until_s = fmin(replica->cores[i].sees_until_s, replica->polled_s);
  }
  gboolean any = orr_replica_plan_seen(replica, now_s);
  see_all(replica);
  if (!any && (engine->recv_interval > 1 ||
               (engine->host.async && replica->group->params.parallel.pp == 1))) {
    look(replica, now_s);
    any = orr_replica_plan_seen(replica, now_s);
  }
  if (any) orr_replica_count_steps(replica, 1, plans_prompts(replica));
  return any;
}
