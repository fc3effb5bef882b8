/*
 * sweep_submit.h - a submission to Slurm: finds the points that are left, and submits their tasks.
 */
#pragma once

#include "sim/sweep/sweep_batch.h"
#include "sim/sweep/sweep_plan.h"

/* The plan of @file, whose section sweep.slurm has the options of sbatch. */
OrrSweepPlan *orr_sweep_submit_plan(OrrLibrary *library, const char *file, char **settings,
                                    GError **error);

/* Counts the points that are left, by task (report->left), without simulating. Begins the sweep in
 * the database if it is not there. @resume, @yes: as in OrrSweepOrder. */
OrrSweepReport *orr_sweep_submit_look(OrrLibrary *library, const OrrSweepBatch *batch,
                                      gboolean resume, gboolean yes, GError **error);

/* Submits the tasks that have points left in @report, and the job that merges. Sets batch->job and
 * batch->merge_job as far as Slurm took them. */
gboolean orr_sweep_submit(OrrSweepBatch *batch, const OrrSlurm *slurm, const OrrSweepReport *report,
                          GError **error);
