/*
 * training_update - emits the end of a step: the rest of the reductions, the gradient of the tied
 * embedding, the gradient norm, the optimizer, the gather of parameters, and a checkpoint.
 */
#include "workloads/training/emit/training_program.h"

#include "workloads/training/emit/training_loader.h"
#include "workloads/training/emit/training_offload_emit.h"
#include "workloads/training/emit/training_sharding_emit.h"

/* The stages whose parameters @stage holds: its own, and in a bidirectional schedule the opposite
 * stage's, in the same order on both. */
static guint owners_of(const OrrEmitter *e, gint64 stage, gint64 ret_owners[2]) {
  ret_owners[0] = stage;
  if (e->directions == 1) return 1;
  const gint64 other = e->job->pp - 1 - stage;
  ret_owners[0] = MIN(stage, other);
  ret_owners[1] = MAX(stage, other);
  return 2;
}

static void emit_gradients(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress) {
  gint64 owners[2];
  const guint n_owners = owners_of(e, lane->stage, owners);
  const gboolean reduced_before = e->job->sharding.overlap || e->job->sharding.reduces_each_pass;
  gboolean any = FALSE;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++)
    for (guint o = 0; o < n_owners; o++) {
      const guint n = e->plan->sharding.buckets[set][owners[o]]->len;
      for (guint b = 0; b < n && !reduced_before; b++)
        orr_owned_reduce(e, lane, progress, &(OrrOwned){set, owners[o], n_owners}, b);
      any = any || n > 0;
    }
  if (!any) return;
  const guint32 reduced = orr_program_event(e->program);
  orr_program_record(e->program, orr_emitter_stream(e, lane, ORR_STREAM_DP), reduced);
  orr_program_wait(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), reduced);
}

/* All stages wait for the norm, unless each continues and validates it afterwards. */
static void emit_norm(OrrEmitter *e, const OrrLaneAt *lane) {
  const OrrJob *job = e->job;
  const OrrPhase phase = {e->plan->stages.norm.predicted_s, 0, ORR_NO_PATH};
  const OrrCommPlan plan = {(OrrPhase *)&phase, 1, phase.latency_s};
  if (job->schedule->post_validates && job->schedule->post_validates(job->params->pipeline.params))
    return;
  orr_program_join(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE),
                   orr_emitter_once(e, &e->norm, job->pp * e->plan->fold.n, &plan),
                   orr_emitter_comm_label(e, "gradient-norm", ORR_TIME_DP_COMM), -1);
}

static void emit_parameters(OrrEmitter *e, const OrrLaneAt *lane) {
  gint64 owners[2];
  const guint n_owners = owners_of(e, lane->stage, owners);
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++)
    for (guint o = 0; o < n_owners; o++)
      orr_owned_gather(e, lane, &(OrrOwned){set, owners[o], n_owners});
}

static void emit_embedding(OrrEmitter *e, const OrrLaneAt *lane) {
  const OrrCommPlan *plan = &e->plan->stages.embedding[lane->class];
  if (plan->n_phases == 0 || (lane->stage != 0 && lane->stage != e->job->pp - 1)) return;
  const guint32 comm = orr_emitter_once(e, &e->embeddings[lane->class], 2, plan);
  orr_program_join(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), comm,
                   orr_emitter_comm_label(e, "embedding-gradients", ORR_TIME_DP_COMM), -1);
}

/* One multi-tensor kernel. */
static void emit_optimizer(OrrEmitter *e, const OrrLaneAt *lane) {
  const double optimizer_s = e->optimizer_s[lane->stage];
  const double seconds[ORR_N_TIMES] = {[ORR_TIME_OPTIMIZER] = optimizer_s};
  g_autofree char *name = g_strdup_printf("optimizer stage %d", (int)lane->stage);
  orr_noise_draws_work(e->noise, lane->lane, optimizer_s, optimizer_s * optimizer_s);
  orr_emitter_work(e, lane, name, seconds, orr_noise_draws_meet(e->noise, lane->lane), -1);
}

static void emit_end(OrrEmitter *e, const OrrLaneAt *lane) {
  orr_training_loader_refill(e, lane);
  orr_training_storage_emit_last_data(e, lane);
  orr_program_work(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), 0,
                   orr_program_label(e->program, "step", "step"), -1);
}

void orr_training_update_emit(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress) {
  if (!e->job->params->evaluation) {
    emit_gradients(e, lane, progress);
    orr_training_offload_emit_wait_gradients(e, lane);
    emit_embedding(e, lane);
    emit_norm(e, lane);
    orr_training_offload_emit_update(e, lane);
    emit_optimizer(e, lane);
    orr_training_offload_emit_wait_update(e, lane);
    emit_parameters(e, lane);
    orr_training_storage_emit_checkpoint(e, lane);
  }
  emit_end(e, lane);
}
