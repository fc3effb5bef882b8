/*
 * goal.h - GOAL, the text format of schedules of LogGOPSim and of simulators that read it (htsim
 * in ATLAHS): computation, sends and receives of ranks, and what requires what.
 *
 *   num_ranks 2
 *   rank 0 {
 *   l1: calc 1000                    nanoseconds
 *   l2: send 10b to 1 tag 7          bytes; optional: tag N, cpu N, nic N
 *   l2 requires l1                   begins when l1 has ended; irequires: when l1 has begun
 *   }
 *   rank 1 {
 *   recv 10b from 0 tag 7
 *   }
 *
 * Comments: "//" to the end of the line, and C's. Source: Hoefler, Schneider, Lumsdaine,
 * "LogGOPSim", 2010, and the grammar of spcl/LogGOPSim (txt2bin). A send without a tag has tag 0.
 * Receives from any rank or with any tag (-1) are refused: which send they meet depends on the run.
 *
 * What GOAL cannot say: collectives (they become sends), names, groups, devices. Here a send ends
 * when it is received; LogGOPSim lets the sender of a small message go on before.
 */
#pragma once

#include "workloads/collectives/collective.h"
#include "workloads/collectives/collective_steps.h"
#include "workloads/trace/work_graph.h"

/* The graph of a file's text, not matched; messages name @file with line and column. NULL with
 * @error. */
OrrWorkGraph *orr_goal_read(const char *text, gsize length, const char *file, GError **error);

/* A matched graph as GOAL, newly allocated. A collective becomes the sends of its algorithm
 * (collective_steps.h) on the context's fabric, where rank r is GPU @gpus[r]; one that a switch
 * computes, or that has no steps, becomes a ring's, and the text says so. NULL with
 * ORR_FAULT_DOCUMENT where it would have too many sends, or a collective has no ring. */
char *orr_goal_write(const OrrWorkGraph *graph, const OrrCollectiveContext *context,
                     const gint64 *gpus, GError **error);

/* The sends of @call by the algorithm that the planner takes; of a ring where a switch computes or
 * the algorithm has no steps, which @remarks then says, once ("// ...\n"). NULL with @error. */
OrrCollectiveSteps *orr_goal_steps(const OrrCollectiveContext *context,
                                   const OrrCollectiveCall *call, GString *remarks, GError **error);
