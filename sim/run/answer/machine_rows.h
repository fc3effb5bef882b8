/*
 * machine_rows.h - the rows of power_part: what each part of the machine draws for a job.
 */
#ifndef ORR_MACHINE_ROWS_H
#define ORR_MACHINE_ROWS_H

#include "sim/run/answer/outcome.h"
#include "topologies/cluster.h"

G_BEGIN_DECLS

/* A part that the machine does not have gets no row. */
void orr_machine_rows_add(const OrrCluster *cluster, const OrrMachinePower *machine,
                          OrrOutcome *outcome);

G_END_DECLS

#endif
