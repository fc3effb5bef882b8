/*
 * work_graph_of.h - a replayed program as a graph: what a profiler of the simulated job would have
 * recorded, to be written as a trace.
 *
 * Each GPU of the job becomes a rank, in the order of their numbers. Its nodes are the operations
 * of its lane: work takes the time of the replay, so that what overlap cost is in it; a
 * communication is the call of its own group. Streams become dependencies. A process group is the
 * ranks of a call on one stream, since communicators of different streams run side by side.
 */
#ifndef ORR_WORK_GRAPH_OF_H
#define ORR_WORK_GRAPH_OF_H

#include "sim/engine/executor.h"
#include "workloads/trace/work_graph.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

/* @spans (of OrrSpan) in the order of the replay; @work was compiled with OrrWorld.keeps_calls and
 * is FULL. NULL with ORR_FAULT_DOCUMENT where it does what a graph cannot say: copies to hosts,
 * file systems. */
OrrWorkGraph *orr_work_graph_of(const OrrWork *work, const GArray *spans, GError **error);

G_END_DECLS

#endif
