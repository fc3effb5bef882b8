/*
 * serving_pipeline.c - a replica with pp > 1: as many batches under way as stages, each with other requests.
 *
 *   stage 0   | a | b | c | a |        a batch takes pp stage times, and the next may begin a stage time after it
 *   stage 1       | a | b | c | a
 */
#include <math.h>

#include "workloads/serving/serving_replica.h"

/* A batch that a pipeline works on. */
typedef struct {
  OrrReplica *replica;
  GPtrArray *requests; /* kept from batch to batch */
  guint generation;
} InFlight;

static void clear_flight(gpointer data) {
  InFlight *flight = data;
  if (flight->requests) g_ptr_array_unref(flight->requests);
}

OrrPool *orr_pipeline_flights(void) { return orr_pool_new(sizeof(InFlight), clear_flight); }

static void batch_ends(void *user) {
  InFlight *flight = user;
  OrrReplica *replica = flight->replica;
  if (replica->fleet->error) return;
  if (flight->generation != replica->generation) {
    orr_pool_give(replica->flights, flight);
    return;
  }
  for (guint i = 0; i < flight->requests->len; i++) ((OrrRequest *)flight->requests->pdata[i])->is_in_flight = FALSE;
  orr_replica_finish_step(replica, 0, flight->requests);
  orr_pool_give(replica->flights, flight);
  replica->n_in_flight--;
  orr_replica_plan(replica);
}

/* A batch is planned when the one whose place it takes has come back, with the requests of that one (vLLM's
 * step_with_batch_queue): those of different batches never meet in one. It waits for the first stage.
 *
 *   done = max(done before + stage, begin + pp * stage)      batches do not overtake */
gboolean orr_pipeline_begin_batch(OrrReplica *replica, double now_s) {
  OrrCore *core = &replica->cores[0];
  const gint64 pp = replica->group->params.parallel.pp;
  if ((gint64)replica->n_in_flight >= pp || !orr_core_plan(core, now_s)) return FALSE;
  const OrrStepTime time = orr_replica_step_time(replica, &core->shape);
  const double host_s = orr_fleet_host_seconds(replica->fleet, replica->books->group, core->shape.sequences);
  const gboolean async = replica->fleet->work->params.engine.host.async;
  const double stage_s = (async ? fmax(time.stage_s, host_s) : time.stage_s + host_s) +
                         orr_fleet_swap_seconds(replica->fleet, replica->books->group, core);
  const double begin_s = fmax(now_s, replica->stage_free_s);
  const double end_s = fmax(replica->last_done_s + stage_s, begin_s + (double)pp * stage_s);
  InFlight *flight = orr_pool_take(replica->flights);
  flight->replica = replica;
  flight->generation = replica->generation;
  if (!flight->requests) flight->requests = g_ptr_array_new();
  g_ptr_array_set_size(flight->requests, 0);
  g_ptr_array_extend(flight->requests, core->batch, NULL, NULL);
  for (guint i = 0; i < flight->requests->len; i++) ((OrrRequest *)flight->requests->pdata[i])->is_in_flight = TRUE;
  replica->books->busy_s += time.gpu_s / (double)pp;
  replica->books->comm_s += time.comm_s / (double)pp;
  replica->books->host_s += stage_s - time.stage_s;
  replica->books->tokens += (gint64)core->shape.tokens;
  replica->used_blocks = orr_replica_held_blocks(replica);
  orr_replica_note_step(replica, begin_s, begin_s + stage_s, &core->shape);
  replica->last_done_s = end_s;
  orr_replica_tell_of_chunks(replica, end_s - now_s);
  replica->stage_free_s = begin_s + stage_s;
  replica->n_in_flight++;
  orr_engine_at(replica->fleet->engine, end_s, batch_ends, flight);
  return TRUE;
}
