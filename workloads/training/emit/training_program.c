/*
 * training_program - lanes, and their steps one after another.
 */
#include "workloads/training/emit/training_program.h"

#include "workloads/training/emit/training_sharding_emit.h"

static void note_gpus(OrrEmitter *e, gint64 stage) {
  const OrrFold *fold = &e->plan->fold;
  const gint64 n = orr_job_replica_ranks(e->job);
  for (gint64 rank = 0; rank < n * e->job->dp; rank++)
    g_array_index(e->work->work.lane_of_gpu, guint32, orr_job_gpu(e->job, stage, rank)) =
        (guint32)stage * fold->n + fold->class_of[rank / n];
}

static void add_lanes(OrrEmitter *e) {
  const OrrFold *fold = &e->plan->fold;
  for (gint64 stage = 0; stage < e->job->pp; stage++)
    for (guint class = 0; class < fold->n; class ++) {
      const gint64 replica = fold->first[class];
      g_autofree char *name =
          fold->n == 1 ? g_strdup_printf("stage %d", (int)stage)
                       : g_strdup_printf("stage %d, replica %d", (int)stage, (int)replica);
      const guint32 n_ranks = orr_job_replica_ranks(e->job) * fold->size[class];
      const OrrLaneAt lane = {orr_program_lane(e->program, name, n_ranks), class, stage};
      orr_program_interfere(e->program, lane.lane, orr_cost_interference(e->job->world->cost));
      for (int s = 0; s < ORR_N_STREAMS; s++) e->streams[lane.lane][s] = G_MAXUINT32;
      for (int s = 0; s <= ORR_STREAM_TP; s++) orr_emitter_stream(e, &lane, s);
      g_array_append_val(e->work->lane_stage, stage);
      g_array_append_val(e->work->lane_replica, replica);
    }
  for (gint64 stage = 0; stage < e->job->pp; stage++) note_gpus(e, stage);
}

/* A moment of memory has ended: memory/training_moments.c lists the same passes. */
static void note_moment(const OrrEmitter *e, const OrrLaneAt *lane) {
  guint n_ops = 0;
  if (lane->class != 0) return;
  orr_program_ops(e->program, e->streams[lane->lane][ORR_STREAM_COMPUTE], &n_ops);
  g_array_append_val(e->work->moment_ops, n_ops);
}

static void emit_slots(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress) {
  g_autoptr(OrrSlots) slots = orr_slots_new(e->job);
  for (guint slot = 0; slot < orr_slots_n(slots); slot++) {
    orr_training_passes_emit_slot(e, lane, slots, slot, progress);
    if (orr_slots_at(slots, lane->stage, slot)) note_moment(e, lane);
  }
}

static void emit_schedule(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress) {
  if (orr_slots_apply(e->job)) return emit_slots(e, lane, progress);
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  orr_job_steps(e->job, lane->stage, steps);
  for (guint i = 0; i < steps->len; i++) {
    orr_training_passes_emit(e, lane, &g_array_index(steps, OrrPipelineStep, i), progress);
    note_moment(e, lane);
  }
}

/* Replicas of a stage do the same: what the first one does is stored once, and likewise where
 * neighbours differ from it but not from each other. Ops that follow in a later step make streams
 * part again, so all steps but the last are left untouched where there are many. */
static void share_ops(const OrrEmitter *e, const OrrLaneAt *lane) {
  const gint64 left = e->job->params->steps - 1 - e->step;
  if (lane->class == 0 || left > 1) return;
  for (int s = 0; s < ORR_N_STREAMS; s++)
    for (int before = 0; before < 2; before++) {
      const guint other = before ? lane->lane - 1 : lane->lane - lane->class;
      orr_program_share(e->program, e->streams[lane->lane][s], e->streams[other][s]);
    }
}

static void emit_step(OrrEmitter *e, gint64 step) {
  const OrrFold *fold = &e->plan->fold;
  orr_emitter_begin_step(e, step);
  for (guint l = 0; l < e->job->pp * fold->n; l++) {
    const OrrLaneAt lane = {l, l % fold->n, l / fold->n};
    OrrLaneProgress progress;
    orr_lane_progress_init(&progress, e->job);
    if (step == 0) orr_training_storage_emit_load(e, &lane);
    if (step > 0) orr_training_sharding_emit_updated(e, &lane);
    orr_training_storage_emit_data(e, &lane);
    emit_schedule(e, &lane, &progress);
    orr_training_update_emit(e, &lane, &progress);
    note_moment(e, &lane);
    orr_lane_progress_clear(&progress);
    share_ops(e, &lane);
  }
}

void orr_training_program_emit(const OrrEmission *emission) {
  OrrEmitter e;
  orr_emitter_init(&e, emission);
  e.passes = orr_training_runs_passes_new(&e);
  add_lanes(&e);
  for (gint64 step = 0; step < emission->job->params->steps; step++) {
    const guint32 norm = e.norm; /* of the step before */
    emit_step(&e, step);
    if (step == 1 && emission->left_out > 0)
      orr_program_repeat(e.program, norm, e.norm, (guint32)emission->left_out);
  }
  orr_emitter_clear(&e);
}
