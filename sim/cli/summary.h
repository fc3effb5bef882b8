/*
 * summary.h - the result of a run in about ten lines for people. Each part is in a file of its own
 * (summary_serving.c) and adds its lines to a page; lines about what a run does not have are left
 * out.
 */
#pragma once

#include "sim/cli/page.h"
#include "sim/run/answer/outcome.h"
#include "sim/run/simulate.h"
#include "sim/sweep/sweep_slurm.h"

/* The summary of a run, without where it is stored, since it is printed first; newly allocated. */
char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome);

/* Where the run is stored, and the command to run next; newly allocated. @file: the scenario as on
 * the command line, or NULL if it was made of a launch line. @database: NULL with @run_id 0 where
 * nothing is stored. */
char *orr_summary_stored(const OrrOutcome *outcome, const char *file, const char *database,
                         gint64 run_id);

/* " --set 'a={b: 1}' --set c=2": @settings (NULL: none) for a command to run next; newly
 * allocated. */
char *orr_summary_settings(char *const *settings);

/* --- The lines of each kind of workload --- */

typedef void OrrSummaryPart(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome);

OrrSummaryPart orr_summary_campaign, orr_summary_cluster, orr_summary_diffusion,
    orr_summary_post_training, orr_summary_serving, orr_summary_step, orr_summary_traced;
/* The table that nccl-tests prints, so that both can be compared by eye or with diff. */
OrrSummaryPart orr_summary_collectives;

/* --- Lines of every kind --- */

/* The run's cost, and its carbon; without prices nothing. */
OrrSummaryPart orr_summary_money;

/* The spread of the main results over the replays of uncertain inputs, and the inputs that it comes
 * from; and `, "inputs": {...}`. Without uncertain inputs nothing. */
void orr_summary_inputs(OrrPage *page, const OrrOutcome *outcome);
void orr_summary_inputs_json(GString *out, const OrrOutcome *outcome);

/* One line for each of the first few faults, and one with the cost of all; nothing for a run
 * without faults. Lines begin with @name, or with "faults" when @name is NULL. And
 * `, "fault": [{...}, ...], "slowdown": 1.05`. */
void orr_summary_faults(OrrPage *page, const OrrOutcome *outcome, const char *name);
void orr_summary_faults_json(GString *out, const OrrOutcome *outcome);

/* The cluster's model of queues with what it cost, and the spread of ecmp's hashes; nothing without
 * either. And `, "queue": [{...}], "hash_spread": [...]`. */
void orr_summary_network(OrrPage *page, const OrrOutcome *outcome);
void orr_summary_network_json(GString *out, const OrrOutcome *outcome);

/* The tasks of a serving run, and its pools; nothing without tasks. And `, "task_result": [{...}],
 * "task_pool": [...]`. */
void orr_summary_tasks(OrrPage *page, const OrrOutcome *outcome);
void orr_summary_tasks_json(GString *out, const OrrOutcome *outcome);

/* How costs are known: "measured 23 %, modelled 77 % of the kernels' time". @seconds: by OrrHow;
 * the ones above @least of @sum are listed. */
void orr_summary_costs(OrrPage *page, const OrrOutcome *outcome, const double *seconds, double sum,
                       double least, const char *whose);

/* "8 GPUs (h100-sxm) of dgx-h100". */
void orr_summary_machine(OrrPage *page, const OrrScenario *scenario, gint64 n_gpus);

/* "1.2 J per token (1.0 to 1.5; weak: ...); GPUs draw 4.1 kW (3.5 to 4.9 kW), the machine 545 kW
 * without its network": begins with @joules and the band of @metric, if there is one; without the
 * machine where its power is unknown, without the line where the GPUs' is. */
void orr_summary_energy(OrrPage *page, const OrrOutcome *outcome, const char *joules,
                        const char *metric, double gpus_w, const OrrMachinePower *machine);

/* summary_band.c: error bands as people read them: an answer with as many digits as its band
 * supports, and the band in words.
 *
 *   29.2 s (28.0 to 33.3, 80 % band from 106 measured steps like this one)
 *   0.92 s (0.70 to 1.90; weak: no measured run of this software on this device)
 *   17.64 s (no band: no measured run on this device)
 *
 *   7.20 s (7.26 to 8.09, measured runs show 6 % more, 80 % band from ...)
 *   7.20 s (7.02 to 7.81, measured runs take 4 % longer, 80 % band from ...): three in four
 *   rows of a good band lie on one side of the answer
 *
 * An answer is rounded so that half the width of its band keeps two digits.
 */

/* @value, which is the result @metric of @outcome or is known as well, rounded to the digits that
 * its band supports; unchanged without a band. */
double orr_summary_band_rounded(const OrrOutcome *outcome, const char *metric, double value);

/* @value with as many digits as bounds from @low to @high support, at most @decimals after the
 * point: 1741.4 from 1,600 to 1,900 is "1740". Without bounds (NAN) it has @decimals. Newly
 * allocated. */
char *orr_summary_band_digits(double value, double low, double high, int decimals);

/* The same for the result @metric of @outcome. Newly allocated. */
char *orr_summary_band_number(const OrrOutcome *outcome, const char *metric, double value,
                              int decimals);

/* The result @metric in @unit, rounded: "29.2 s". Newly allocated. */
char *orr_summary_band_value(const OrrOutcome *outcome, const char *metric, double value,
                             OrrUnit unit);

/* Its band in the same unit, which is named where @with_unit, without brackets: "28.0 to 33.3, 80 %
 * band from 106 measured steps like this one". Newly allocated; NULL: the outcome has no such
 * row. */
char *orr_summary_band_text(const OrrOutcome *outcome, const char *metric, OrrUnit unit,
                            gboolean with_unit);

/* Adds it in brackets to the last line of @page; nothing where there is no such row. */
void orr_summary_band_more(OrrPage *page, const OrrOutcome *outcome, const char *metric,
                           OrrUnit unit);

/* Bounds of a spread about @value in the same style: "28.0 to 33.3 s". Newly allocated. */
char *orr_summary_band_range(double value, double low, double high, OrrUnit unit);

/* The lines of a serving run. */
void orr_summary_band_serving(OrrPage *page, const OrrOutcome *outcome);

/* Appends `, "iteration_time_s_low": ..., "iteration_time_s_expected": ..., ..., "band_level": ...,
 * "bands": [...]`. */
void orr_summary_band_json(GString *out, const OrrOutcome *outcome);

/* summary_sweep.c: the report of a sweep, as text for people and as JSON for programs; and the
 * progress of a sweep on Slurm (summary_slurm.c). */

/* @file, @settings: the scenario as on the command line. @db: where the points are stored, or NULL.
 */
void orr_summary_sweep_print(const OrrSweepReport *report, const char *file, char *const *settings,
                             const char *db);
/* How often steady states of pipelines were skipped, and why they were not. */
void orr_summary_sweep_looks(const OrrSweepReport *report);
void orr_summary_sweep_json(const OrrSweepReport *report);

/* The progress line: "[####....] 120 of 400, 210/s, 2 s left, best 28.37". Newly allocated. */
char *orr_summary_sweep_line(const OrrSweepReport *report);

/* Appends `, "excluded": [{"reason": ..., "n": ...}]`, and `, "n_ok": 12` of every status. */
void orr_summary_sweep_reasons_json(GString *out, const char *name, const GArray *reasons);
void orr_summary_sweep_statuses_json(GString *out, const guint64 *by_status);

/* @db: the database of the sweep. */
void orr_summary_slurm_print(const OrrSlurmStatus *status, const char *db);
void orr_summary_slurm_json(const OrrSlurmStatus *status);
