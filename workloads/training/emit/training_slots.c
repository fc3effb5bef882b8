/*
 * training_slots - the time slots of a schedule in which all stages move together.
 *
 * PyTorch's schedules of several chunks (torch/distributed/pipelining/schedules.py,
 * PipelineScheduleMulti) number their actions by slots. After its action of a slot a stage posts
 * the sends of that action and the receives of its neighbours' actions of the same slot, and waits
 * for all of them. So where one stage's forward meets a neighbour's backward, the slot lasts as
 * long as the backward:
 *
 *   slot      1   2   3   4   5   6
 *   stage 0   F   F   F   B   F   B
 *   stage 1   .   F   F . B   F . B     . waits for its neighbour
 *
 * Every stage does its next action in the first slot after the one that it depends on.
 */
#include "workloads/training/emit/training_emitter.h"

struct OrrSlots {
  const OrrJob *job;
  GPtrArray *steps;      /* of each stage: GArray of OrrPipelineStep */
  GPtrArray *slots;      /* of each stage: GArray of gint32, the step in each slot; -1: none */
  gint32 *forward_done;  /* slot by block and micro-batch; -1: not yet */
  gint32 *backward_done; /* likewise */
};

static gint32 *done_at(const OrrSlots *slots, gboolean backward, gint64 block, gint64 micro_batch) {
  return (backward ? slots->backward_done : slots->forward_done) +
         block * slots->job->shape.micro_batches + micro_batch;
}

static gboolean is_done(gint32 slot, gint32 now) { return slot >= 0 && slot < now; }

static gboolean can_run(const OrrSlots *slots, gint64 block, const OrrPipelineStep *step,
                        gint32 now) {
  const gint64 last = orr_pipeline_n_blocks(slots->job->schedule, &slots->job->shape) - 1;
  if (step->kind == ORR_STEP_BACKWARD_WEIGHT) return TRUE;
  if (step->kind == ORR_STEP_FORWARD)
    return block == 0 || is_done(*done_at(slots, FALSE, block - 1, step->micro_batch), now);
  return block == last || is_done(*done_at(slots, TRUE, block + 1, step->micro_batch), now);
}

/* Stage @stage's part of the slot @now; TRUE: it has steps left. */
static gboolean advance(OrrSlots *slots, gint64 stage, guint *next, gint32 now) {
  const GArray *steps = slots->steps->pdata[stage];
  gint32 at = -1;
  if (*next < steps->len) {
    const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, *next);
    const gint64 block =
        orr_pipeline_place(slots->job->schedule, &slots->job->shape, stage, step->chunk).block;
    if (can_run(slots, block, step, now)) {
      at = (gint32)(*next)++;
      if (step->kind != ORR_STEP_BACKWARD_WEIGHT)
        *done_at(slots, step->kind != ORR_STEP_FORWARD, block, step->micro_batch) = now;
    }
  }
  g_array_append_val((GArray *)slots->slots->pdata[stage], at);
  return *next < steps->len;
}

static void fill(OrrSlots *slots) {
  const gint64 n = slots->job->pp;
  g_autofree guint *next = g_new0(guint, n);
  gboolean left = TRUE;
  for (gint32 now = 0; left; now++) {
    left = FALSE;
    for (gint64 stage = 0; stage < n; stage++) left |= advance(slots, stage, &next[stage], now);
  }
}

OrrSlots *orr_slots_new(const OrrJob *job) {
  const gint64 n =
      orr_pipeline_n_blocks(job->schedule, &job->shape) * MAX(1, job->shape.micro_batches);
  OrrSlots *slots = g_new0(OrrSlots, 1);
  slots->job = job;
  slots->steps = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  slots->slots = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  slots->forward_done = g_new(gint32, n);
  slots->backward_done = g_new(gint32, n);
  for (gint64 i = 0; i < n; i++) slots->forward_done[i] = slots->backward_done[i] = -1;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
    orr_job_steps(job, stage, steps);
    g_ptr_array_add(slots->steps, steps);
    g_ptr_array_add(slots->slots, g_array_new(FALSE, FALSE, sizeof(gint32)));
  }
  fill(slots);
  return slots;
}

void orr_slots_free(OrrSlots *slots) {
  if (!slots) return;
  g_ptr_array_unref(slots->steps);
  g_ptr_array_unref(slots->slots);
  ORR_FREE(slots->forward_done, slots->backward_done, slots);
}

guint orr_slots_n(const OrrSlots *slots) { return ((GArray *)slots->slots->pdata[0])->len; }

const OrrPipelineStep *orr_slots_at(const OrrSlots *slots, gint64 stage, guint slot) {
  const gint32 at = g_array_index((GArray *)slots->slots->pdata[stage], gint32, slot);
  return at < 0 ? NULL : &g_array_index((GArray *)slots->steps->pdata[stage], OrrPipelineStep, at);
}

gboolean orr_slots_apply(const OrrJob *job) {
  return job->params->pipeline_comm.lock_step && job->shape.chunks > 1 && !job->shape.pairs &&
         orr_pipeline_n_directions(job->schedule) == 1;
}
