/*
 * summary.h - the result of a run in about ten lines for people. Each part is in a file of its own
 * (summary_serving.c) and adds its lines to a page; lines about what a run does not have are left
 * out.
 */
#ifndef ORR_SUMMARY_H
#define ORR_SUMMARY_H

#include "sim/cli/page.h"
#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* The summary of a run, without where it is stored, since it is printed first; newly allocated. */
char *orr_summary_text(const OrrScenario *scenario, const OrrOutcome *outcome);

/* Where the run is stored, and the command to run next; newly allocated. @file: the scenario as on
 * the command line, or NULL if it was made of a launch line. @database: NULL with @run_id 0 where
 * nothing is stored. */
char *orr_summary_stored(const OrrOutcome *outcome, const char *file, const char *database,
                         gint64 run_id);

/* --- The lines of each kind of workload --- */

typedef void OrrSummaryPart(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome);

OrrSummaryPart orr_summary_campaign, orr_summary_cluster, orr_summary_diffusion,
    orr_summary_post_training, orr_summary_serving, orr_summary_step, orr_summary_traced;
/* The table that nccl-tests prints, so that both can be compared by eye or with diff. */
OrrSummaryPart orr_summary_collectives;

/* --- Lines of every kind --- */

/* What the run costs, and its carbon; without prices nothing. */
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

/* ", the machine 545 kW without its network"; nothing where its power is not known. */
void orr_summary_machine_power(OrrPage *page, const OrrMachinePower *machine);

G_END_DECLS

#endif
