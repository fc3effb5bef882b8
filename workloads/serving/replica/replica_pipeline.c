/*
 * replica_pipeline.c - a replica with pp > 1: as many batches under way as stages, each with other
 * requests.
 *
 *   stage 0   | a | b | c | a |        a batch takes pp stage times and its sends from stage
 *                                      to stage (cost/serving_stages.c), and the next may begin
 *                                      when the stage is free
 *   stage 1       | a | b | c | a
 */
#include "workloads/serving/replica/replica_private.h"

/* A batch that a pipeline works on. */
typedef struct {
  OrrReplica *replica;
  GPtrArray **batches; /* by core; kept from batch to batch */
  guint n_batches, generation;
} InFlight;

static void clear_flight(gpointer data) {
  InFlight *flight = data;
  for (guint i = 0; i < flight->n_batches; i++) g_ptr_array_unref(flight->batches[i]);
  g_free(flight->batches);
}

OrrPool *orr_replica_pipeline_flights(void) { return orr_pool_new(sizeof(InFlight), clear_flight); }

static void mark(const GPtrArray *batch, gboolean is_in_flight) {
  for (guint i = 0; i < batch->len; i++)
    ((OrrRequest *)batch->pdata[i])->is_in_flight = is_in_flight;
}

static void batch_ends(void *user) {
  InFlight *flight = user;
  OrrReplica *replica = flight->replica;
  if (replica->run->error) return;
  if (flight->generation != replica->generation) return orr_pool_give(replica->flights, flight);
  for (guint i = 0; i < flight->n_batches; i++) mark(flight->batches[i], FALSE);
  for (guint i = 0; i < flight->n_batches; i++)
    orr_replica_finish_step(replica, i, flight->batches[i]);
  orr_pool_give(replica->flights, flight);
  replica->n_in_flight--;
  orr_replica_plan(replica);
}

static InFlight *take_batches(OrrReplica *replica) {
  InFlight *flight = orr_pool_take(replica->flights);
  flight->replica = replica;
  flight->generation = replica->generation;
  if (!flight->batches) {
    flight->n_batches = replica->n_cores;
    flight->batches = g_new(GPtrArray *, replica->n_cores);
    for (guint i = 0; i < replica->n_cores; i++) flight->batches[i] = g_ptr_array_new();
  }
  for (guint i = 0; i < replica->n_cores; i++) {
    g_ptr_array_set_size(flight->batches[i], 0);
    g_ptr_array_extend(flight->batches[i], replica->cores[i].batch, NULL, NULL);
    mark(flight->batches[i], TRUE);
  }
  return flight;
}

/* Where a stage's time goes. */
typedef struct {
  double stage_s; /* until the next batch may begin */
  double batch_s; /* through all stages */
  double busy_s, comm_s, host_s;
  double host_busy_s; /* of the engine core for the batch */
  OrrJoules joules;   /* of the core's GPUs, all stages */
} Stage;

static Stage stage_of(const OrrReplica *replica, const OrrCore *core) {
  const double pp = (double)replica->group->params.parallel.pp;
  const OrrStepTime time = orr_replica_step_time(replica, &core->shape);
  const double host_s =
      orr_serving_run_host_seconds(replica->run, replica->books->group, core->shape.sequences);
  const double stage_s =
      orr_serving_run_step_seconds(replica->run, replica->books->group, time.stage_s, host_s) +
      orr_serving_run_move_seconds(replica->run, replica->books->group, core);
  Stage stage = {.stage_s = stage_s + time.stage_sends_s,
                 .batch_s = pp * stage_s + time.sends_s,
                 .busy_s = time.gpu_s / pp,
                 .comm_s = time.comm_s / pp,
                 .host_s = stage_s - time.stage_s,
                 .host_busy_s = host_s};
  stage.joules = orr_replica_joules(replica, &time, stage.stage_s);
  return stage;
}

/* The slowest core's, for which the others wait in each layer; @ret_shape: what all compute. */
static Stage longest_stage(const OrrReplica *replica, OrrStepShape *ret_shape) {
  Stage longest = {0};
  OrrJoules joules = {0};
  double host_busy_s = 0;
  if (replica->n_cores > 1)
    orr_serving_run_sum_experts(replica->run, replica->books->group, replica->cores,
                                replica->n_cores);
  for (guint i = 0; i < replica->n_cores; i++) {
    const OrrCore *core = &replica->cores[i];
    if (core->batch->len == 0) continue;
    const Stage stage = stage_of(replica, core);
    if (stage.stage_s >= longest.stage_s) longest = stage;
    orr_joules_add(&joules, stage.joules, 1);
    host_busy_s += stage.host_busy_s;
    ret_shape->tokens += core->shape.tokens;
    ret_shape->chunk += core->shape.chunk;
    ret_shape->decodes += core->shape.decodes;
  }
  longest.joules = joules;
  longest.host_busy_s = host_busy_s;
  return longest;
}

/* A batch is planned when the one whose place it takes has come back, with its requests (vLLM's
 * step_with_batch_queue): requests of different batches never meet in one. It waits for the first
 * stage. With attention data parallelism a batch is one of each core.
 *
 *   done = max(done before + stage, begin + batch)      batches do not overtake */
void orr_replica_pipeline_launch(OrrReplica *replica) {
  const double now_s = orr_engine_now(replica->run->engine);
  OrrStepShape shape = {0};
  const Stage stage = longest_stage(replica, &shape);
  const double begin_s = fmax(now_s, replica->stage_free_s);
  const double end_s = fmax(replica->last_done_s + stage.stage_s, begin_s + stage.batch_s);
  InFlight *flight = take_batches(replica);
  replica->books->busy_s += stage.busy_s;
  replica->books->comm_s += stage.comm_s;
  replica->books->host_s += stage.host_s;
  replica->books->uneven_s += stage.stage_s - stage.busy_s - stage.host_s;
  replica->books->host_busy_s += stage.host_busy_s;
  replica->books->tokens += (gint64)shape.tokens;
  orr_replica_note_energy(replica, &(OrrReplicaDraw){begin_s, begin_s + stage.stage_s, shape.chunk,
                                                     shape.tokens, stage.joules});
  replica->used_blocks = orr_replica_held_blocks(replica);
  orr_replica_note_step(replica, begin_s, begin_s + stage.stage_s, &shape);
  replica->last_done_s = end_s;
  orr_replica_report_chunks(replica, end_s - now_s);
  replica->stage_free_s = begin_s + stage.stage_s;
  replica->n_in_flight++;
  orr_engine_at(replica->run->engine, end_s, batch_ends, flight);
}

gboolean orr_replica_pipeline_begin_batch(OrrReplica *replica, double now_s) {
  if ((gint64)replica->n_in_flight >= replica->group->params.parallel.pp) return FALSE;
  if (!orr_replica_plan_cores(replica, now_s) || orr_replica_must_wait(replica)) return FALSE;
  orr_replica_pipeline_launch(replica);
  return TRUE;
}
