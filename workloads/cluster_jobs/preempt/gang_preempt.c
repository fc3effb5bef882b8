/*
 * gang_preempt.c - what a preemption does to a gang, by `preemption.mode`.
 *
 * A checkpoint may take time, `checkpoint-cost`: then a job does its work in cycles; the last one
 * has none. What is done counts from the end of a cycle on.
 *
 *   |-- checkpoint --|cost|-- checkpoint --|cost|-- rest --|
 *
 *   requeue   it waits again, without the work since its last checkpoint; its next start takes
 *             `restart`:   left = work - work at the last checkpoint + restart
 *   cancel    it ends here; all its GPU time counts as overhead
 *   suspend   it keeps its work and waits for the same GPUs (Slurm's SUSPEND: the processes stay
 *             in memory)
 *   shrink    an elastic gang goes on at once with its fewest GPUs, after a restart; it has nothing
 *             to load from a checkpoint, because the members that stay hold its state
 */
#include "workloads/cluster_jobs/preempt/gang_preempt.h"

const char *const orr_preempt_mode_words[] = {"requeue", "cancel", "suspend", "shrink", NULL};
const char *const orr_take_words[] = {"never", "lower-priority", NULL};

gint64 orr_gang_preempt_stated(gint64 of_job_us, gint64 of_policy_us) {
  return of_job_us >= 0 ? of_job_us : of_policy_us;
}

void orr_gang_preempt_count(OrrGangSim *sim, OrrGangJob *job) {
  job->preemptions++;
  sim->totals.preemptions++;
  if (sim->rules->history)
    orr_gang_history_stop(sim->rules->history, job, sim->now_us, "preempted");
}

/* More work to be done at the speed that the job has had, which does not count as such; returns
 * what that adds to its run time. */
static gint64 charge(OrrGangJob *job, gint64 more_us) {
  const gint64 time_us = job->rate == 1 ? more_us : llround((double)more_us / job->rate);
  job->left_us += more_us;
  job->overhead_us += time_us;
  job->overhead_gpu_us += (double)job->gpus * (double)time_us;
  return time_us;
}

/* Overhead that failures cause. */
static void blame(OrrGangJob *job, gint64 time_us) {
  job->failed_us += time_us;
  job->failed_gpu_us += (double)job->gpus * (double)time_us;
}

/* Work beyond the job's own and its checkpoints: what is left of a restart. */
static gint64 restart_left_us(const OrrGangJob *job) {
  return MAX(job->left_us - (job->run_us + job->saving_us - job->done_us), 0);
}

/* The work that would be done in the time of a restart, which the next start settles, and
 * @more_us. */
static gint64 restart_work(const OrrGangSim *sim, OrrGangJob *job, gint64 more_us) {
  const gint64 restart_us =
      orr_gang_preempt_stated(job->restart_us, sim->rules->restart_us) + more_us;
  job->restart_us_due = restart_us;
  job->restart_gpus = job->gpus;
  job->restart_work_us = job->rate == 1 ? restart_us : llround((double)restart_us * job->rate);
  return job->restart_work_us;
}

void orr_gang_preempt_resize(OrrGangSim *sim, OrrGangJob *job, gint64 gpus) {
  const double was = orr_gang_kinds_speed(sim, job, job->kind, job->gpus);
  job->gpus = gpus;
  job->restart_fails = job->restart_fails && restart_left_us(job) > 0;
  job->rate *= orr_gang_kinds_speed(sim, job, job->kind, gpus) / was;
  charge(job, restart_work(sim, job, 0));
}

/* Its work and its checkpoints. */
static gint64 whole_us(const OrrGangJob *job) { return job->run_us + job->saving_us; }

/* What is kept of both: up to the end of the last checkpoint. */
static gint64 kept_us(const OrrGangSim *sim, const OrrGangJob *job, gint64 left_us) {
  const gint64 checkpoint_us =
      orr_gang_preempt_stated(job->checkpoint_us, sim->rules->checkpoint_us);
  const gint64 cost_us =
      orr_gang_preempt_stated(job->checkpoint_cost_us, sim->rules->checkpoint_cost_us);
  const gint64 worked_us = whole_us(job) - left_us;
  const gint64 kept =
      checkpoint_us > 0 ? worked_us - worked_us % (checkpoint_us + cost_us) : worked_us;
  return MAX(job->done_us, kept);
}

void orr_gang_preempt_plan_checkpoints(const OrrGangRules *rules, OrrGangJob *job,
                                       gint64 limit_us) {
  const gint64 checkpoint_us = orr_gang_preempt_stated(job->checkpoint_us, rules->checkpoint_us);
  const gint64 cost_us =
      orr_gang_preempt_stated(job->checkpoint_cost_us, rules->checkpoint_cost_us);
  job->saving_us = 0;
  if (checkpoint_us <= 0 || cost_us <= 0 || job->run_us <= 0) return;
  job->saving_us = (job->run_us - 1) / checkpoint_us * cost_us;
  const gint64 cycle_us = checkpoint_us + cost_us;
  if (limit_us <= 0 || whole_us(job) <= limit_us) return;
  job->run_us = limit_us / cycle_us * checkpoint_us + MIN(limit_us % cycle_us, checkpoint_us);
  job->saving_us = limit_us - job->run_us;
}

/* A job that is stopped within a restart has nothing to lose: what is left of the restart does not
 * count as overhead any more, and another one begins. */
void orr_gang_preempt_lose(const OrrGangSim *sim, OrrGangJob *job, gint64 more_us, gboolean fails) {
  job->done_us = kept_us(sim, job, job->left_us);
  const gint64 unspent_us = charge(job, -restart_left_us(job));
  if (job->restart_fails) blame(job, unspent_us);
  const gint64 lost_us =
      charge(job, whole_us(job) - job->done_us - job->left_us + restart_work(sim, job, more_us));
  job->restart_fails = fails;
  if (fails) blame(job, lost_us);
}

void orr_gang_preempt_charge(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_preempt_count(sim, job);
  orr_gang_preempt_lose(sim, job, 0, FALSE);
}

double orr_gang_preempt_loss(const OrrGangSim *sim, const OrrGangJob *job) {
  const gint64 left_us = orr_gang_job_left_us(job, sim->now_us);
  const gint64 worked_us = MAX(whole_us(job) - left_us, job->done_us);
  return (double)job->gpus * (double)(worked_us - kept_us(sim, job, left_us));
}

static void cancel(OrrGangSim *sim, OrrGangJob *job) {
  job->run_us = job->saving_us = job->left_us = 0;
  job->overhead_us = job->held_us;
  job->overhead_gpu_us = job->held_gpu_us;
  job->paced_us = job->paced_gpu_us = 0;
  job->end_us = sim->now_us;
  job->is_cancelled = TRUE;
  job->is_timed_out = FALSE;
  orr_gang_sim_close(sim, job, "cancelled");
  g_clear_pointer(&job->shares, g_array_unref);
  orr_gang_after_ended(sim->dependents, job, sim->requeued);
}

/* Its GPUs are free, and the job that takes them has started: it goes on where there is room. */
static gboolean shrink(OrrGangSim *sim, OrrGangJob *job) {
  if (job->min_gpus <= 0 || job->min_gpus >= job->gpus) return FALSE;
  const gint64 before = job->gpus;
  job->gpus = job->min_gpus;
  if (!orr_gang_room_fits_now(sim, job)) return FALSE;
  job->gpus = before;
  orr_gang_preempt_resize(sim, job, job->min_gpus);
  orr_gang_preempt_count(sim, job);
  orr_gang_sim_start(sim, job);
  return TRUE;
}

void orr_gang_preempt(OrrGangSim *sim, OrrGangJob *job) {
  const OrrPreemptMode mode = sim->rules->mode;
  if (mode == ORR_PREEMPT_CANCEL) {
    orr_gang_preempt_count(sim, job);
    cancel(sim, job);
    return;
  }
  if (mode == ORR_PREEMPT_SHRINK && shrink(sim, job)) return;
  if (mode == ORR_PREEMPT_SUSPEND) {
    orr_gang_preempt_count(sim, job);
    job->is_suspended = TRUE;
  } else {
    orr_gang_preempt_charge(sim, job);
  }
  g_ptr_array_add(sim->requeued, job);
}
