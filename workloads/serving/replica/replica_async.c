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
 */
#include <math.h>

#include "workloads/serving/replica/replica_private.h"

void orr_replica_finish_unseen(OrrReplica *replica, guint i) {
  OrrCore *core = &replica->cores[i];
  const gint64 seats = (gint64)core->running->len + core->more_sequences,
               n_free = orr_kv_n_free(core->kv);
  orr_replica_finish_step(replica, i, core->batch);
  if (!replica->run->work->params.engine.host.async) return;
  core->sees_until_s = replica->begin_s;
  core->late_seats = seats - (gint64)core->running->len - core->more_sequences;
  core->late_blocks = core->late_seats > 0 ? MAX(orr_kv_n_free(core->kv) - n_free, 0) : 0;
}

void orr_replica_see_all(OrrReplica *replica) {
  for (guint i = 0; i < replica->n_cores; i++) {
    replica->cores[i].sees_until_s = INFINITY;
    replica->cores[i].late_seats = replica->cores[i].late_blocks = 0;
  }
}
