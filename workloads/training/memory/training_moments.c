/*
 * training_moments - walks a stage's schedule and notes what is alive during each pass.
 *
 *     bytes  |        F2__ B0
 *            |    F1__|   ^  |__ F3
 *            | F0_|                B1
 *            |____________________________ weights, gradients, optimizer, libraries
 *
 * A moment is a pass of the schedule. Activations rise as a forward begins, and fall as a backward
 * (or its half by weight) ends; working bytes exist only during the pass.
 */
#include "workloads/training/memory/training_memory.h"

static const char *const step_names[] = {
    [ORR_STEP_FORWARD] = "forward",
    [ORR_STEP_BACKWARD] = "backward",
    [ORR_STEP_BACKWARD_INPUT] = "backward-input",
    [ORR_STEP_BACKWARD_WEIGHT] = "backward-weight",
    [ORR_STEP_BOTH] = "forward-backward",
};

/* Bytes of one pass of each chunk: kept, and working during its backward. */
typedef struct {
  double *kept, *working;
} Chunks;

/* FSDP's gradients of a chunk are whole from its first backward until its last one has reduced them
 * (FSDPParam's unsharded_accumulated_grad), unless each pass reduces its own. */
gboolean orr_training_moments_have_gradients(const OrrJob *job) {
  const OrrShardingPlan *sharding = &job->sharding;
  return sharding->copies_gradients && !sharding->gradients && sharding->ranks > 1 &&
         !job->params->evaluation;
}

static double chunk_gradient_bytes(const OrrJob *job, gint64 stage, gint64 chunk) {
  const GArray *layers = orr_job_layers(job, stage, chunk);
  double parameters = 0;
  ORR_EACH_VALUE(const guint, value, layers) {
    const OrrWeights weights = orr_job_layer_weights(job, stage, value);
    parameters += weights.dense + weights.experts;
  }
  return parameters * job->gradient_bytes_each;
}

/* Adds each chunk's gradients to the moments from @from on, between its first and last backward. */
static void add_gradients(const OrrJob *job, gint64 stage, GArray *moments, guint from) {
  if (!orr_training_moments_have_gradients(job)) return;
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const double bytes = chunk_gradient_bytes(job, stage, chunk);
    guint first = moments->len, last = 0;
    for (guint i = from; i < moments->len; i++) {
      const OrrMemoryMoment *moment = &g_array_index(moments, OrrMemoryMoment, i);
      if (moment->back_chunk != chunk) continue;
      first = MIN(first, i);
      last = i;
    }
    for (guint i = first; i <= last && i < moments->len; i++)
      g_array_index(moments, OrrMemoryMoment, i).gradients += bytes;
  }
}

static gboolean comes_from_outside(const OrrJob *job, gint64 stage, gint64 chunk) {
  return orr_pipeline_place(job->schedule, &job->shape, stage, chunk).block > 0;
}

static OrrMemoryMoment *append_moments(GArray *moments, guint n) {
  const guint from = moments->len;
  g_array_set_size(moments, from + n);
  return &g_array_index(moments, OrrMemoryMoment, from);
}

/* Returns the most that is kept at once. @moments may be NULL. */
static double run_schedule(const OrrJob *job, gint64 stage, const Chunks *chunks, GArray *moments) {
  const gboolean keeps = !job->params->evaluation;
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  orr_job_steps(job, stage, steps);
  OrrMemoryMoment *next = moments ? append_moments(moments, steps->len) : NULL;
  double alive = 0, peak = 0;
  gint64 received = 0;
  ORR_EACH(const OrrPipelineStep, step, steps) {
    const gint64 back = step->kind == ORR_STEP_BOTH ? step->back_chunk : step->chunk;
    const gboolean works =
        !keeps || (step->kind != ORR_STEP_FORWARD && step->kind != ORR_STEP_BACKWARD_WEIGHT);
    if (orr_step_begins(step)) alive += chunks->kept[step->chunk];
    if (orr_step_begins(step)) received += comes_from_outside(job, stage, step->chunk);
    OrrMemoryMoment moment = {.stage = stage,
                              .received = keeps ? received : 0,
                              .what = step_names[step->kind],
                              .chunk = step->chunk,
                              .back_chunk = step->kind == ORR_STEP_FORWARD ? -1 : back,
                              .micro_batch = step->micro_batch,
                              .activations = alive};
    if (works) moment.working = chunks->working[back];
    peak = MAX(peak, alive);
    if (orr_step_ends(step)) alive -= chunks->kept[back];
    if (orr_step_ends(step)) received -= comes_from_outside(job, stage, back);
    moment.after = alive;
    if (next) *next++ = moment;
  }
  return peak;
}

void orr_training_moments_append(const OrrJob *job, gint64 stage, GArray *moments) {
  g_autofree double *kept = g_new(double, job->shape.chunks);
  g_autofree double *working = g_new(double, job->shape.chunks);
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *layers = orr_job_layers(job, stage, chunk);
    kept[chunk] = job->params->evaluation ? 0 : orr_training_kept_by_block(job, layers, FALSE);
    working[chunk] = job->params->evaluation ? orr_training_kept_forward_working(job, layers)
                                             : orr_training_kept_backward_working(job, layers);
  }
  const guint from = moments->len;
  run_schedule(job, stage, &(Chunks){kept, working}, moments);
  add_gradients(job, stage, moments, from);
  ORR_APPEND(moments, OrrMemoryMoment,
             {.stage = stage, .what = "update", .chunk = -1, .back_chunk = -1, .micro_batch = -1});
}

double orr_training_moments_host_bytes(const OrrJob *job, gint64 stage) {
  if (job->params->offload.activations == 0) return 0;
  g_autofree double *kept = g_new(double, job->shape.chunks);
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++)
    kept[chunk] = orr_training_kept_by_block(job, orr_job_layers(job, stage, chunk), TRUE);
  return run_schedule(job, stage, &(Chunks){kept, kept}, NULL);
}
