/*
 * work_graph_order.h - one order in which a graph can run: a schedule by list scheduling, with
 * each communication alone on its links.
 *
 * A program (sim/engine/program.h) has streams, whose ops have a fixed order; a graph only says
 * what depends on what. The order of a stream is that in which this schedule begins its nodes: of
 * the ready ones, the one that the trace started first. Since the whole is one schedule that
 * ends, the streams of all ranks together cannot deadlock, however long transfers take when they
 * share links.
 *
 *   kernels of one CUDA stream     one at a time, as they become ready
 *   operators of one thread        likewise
 *   collectives of one group       one at a time, in their order
 *   sends and receives             begin when they are ready
 */
#ifndef ORR_WORK_GRAPH_ORDER_H
#define ORR_WORK_GRAPH_ORDER_H

#include "workloads/trace/work_graph.h"

G_BEGIN_DECLS

typedef struct {
  guint32 *first;  /* of each rank's nodes in the arrays below, and one more: their sum */
  double *begin_s; /* by node: of COMM kinds, when this rank reached it */
  double *end_s;
  guint32 *order; /* nodes of each rank in the order of their begins */
} OrrGraphOrder;

/* @node_s: seconds of nodes, by rank one after another; @comm_s: of communications. @graph is
 * matched. ORR_FAULT_STUCK, with a rank and a node, where the graph cannot end. */
gboolean orr_graph_order_init(OrrGraphOrder *order, const OrrWorkGraph *graph, const double *node_s,
                              const double *comm_s, GError **error);
void orr_graph_order_clear(OrrGraphOrder *order);

G_END_DECLS

#endif
