/*
 * training_steps - finds jobs whose steps repeat, so that two of them stand for all.
 *
 * At the end of a step all lanes join the gradient norm. When it ends nothing is under way:
 * gradients and activations have arrived, since the norm waits for the reductions, these for the
 * backward passes, and those for every transfer between stages. So each step continues from the
 * same state, and what happens from one norm to the next happens again
 * (sim/engine/executor_repeat.c has the argument and checks that nothing is in flight):
 *
 *   replayed   step 0 ... norm | update, step 1 ... norm | update
 *              once              1 + steps - 2 times       once
 *
 * Not where steps differ (noise, packed documents, faults), where something runs on from step to
 * step (checkpoints, data, a loader, weights that are gathered ahead), where other jobs share the
 * machine, and where no norm is awaited (an evaluation, post-validation).
 */
#include "workloads/training/emit/training_emitter.h"

#include "workloads/training/cost/training_packing.h"
#include "workloads/training/emit/training_loader.h"
#include "workloads/training/emit/training_noise.h"

static gboolean awaits_norm(const OrrJob *job) {
  const OrrPipelineKind *schedule = job->schedule;
  return !job->params->evaluation &&
         !(schedule->post_validates && schedule->post_validates(job->params->pipeline.params));
}

static gboolean steps_are_alike(const OrrTraining *params) {
  return !orr_training_noise_is_on(&params->noise) && !orr_training_packing_is_on(&params->packing);
}

static gboolean steps_are_apart(const OrrJob *job) {
  return !orr_job_uses_storage(job->params) && !orr_training_loader_is_on(&job->params->loader) &&
         !orr_job_gathers(job);
}

gint64 orr_training_steps_left_out(const OrrJob *job) {
  const OrrWorld *world = job->world;
  if (!world->repeats_steps || world->is_shared || world->is_faulty || job->params->steps <= 2)
    return 0;
  return awaits_norm(job) && steps_are_alike(job->params) && steps_are_apart(job)
             ? job->params->steps - 2
             : 0;
}
