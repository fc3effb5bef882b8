/*
 * flow_list.h - what a graph sends over the network as flows for a packet simulator, and the flow
 * completion times that it prints.
 *
 *   step.cm           htsim's connection matrix (Broadcom/csg-htsim, ultraethernet/uet-htsim)
 *     Nodes 16
 *     Connections 2
 *     0->8 id 1 start 1000000 size 4194304        start in picoseconds, size in bytes
 *   step.flows.csv    the same flows, with the time that flows sharing links max-min take here
 *   a log             Flow Uec_0_8 flowId 1 uecSrc 0 finished at 90.5 total messages 1 ...
 *                     Flow Roce_0_8 1000000042 finished at 90.5 total bytes 4194304
 *
 * A host of htsim is a GPU. A collective becomes one flow for each pair of GPUs of different nodes
 * between which its algorithm sends, with all of its bytes; all begin when the collective does. So
 * flows do not wait for each other inside a collective, nor for flows that take longer than here:
 * for that, GOAL has the dependencies.
 *
 * Not carried: queue pairs, rails (htsim's own topology file has them), NVLink, what a switch
 * computes (NVLS is sent as a ring).
 */
#pragma once

#include "workloads/collectives/collective.h"
#include "workloads/trace/work_graph.h"

typedef struct {
  guint32 src, dst; /* ranks */
  double bytes;
  double start_s, end_s; /* end_s: of its communication, alone on its links here */
  double got_s;          /* when the log says that it finished; NAN: not in it */
} OrrFlow;

/* Flows of a matched graph, by start; flow i has id i + 1. Rank r is GPU @gpus[r]. NULL with
 * ORR_FAULT_DOCUMENT where nothing crosses the network. */
GArray *orr_flow_list_of(const OrrWorkGraph *graph, const OrrCollectiveContext *context,
                         const gint64 *gpus, GError **error);
char *orr_flow_list_matrix(const GArray *flows, guint n_ranks); /* the .cm; newly allocated */
char *orr_flow_list_table(const GArray *flows);                 /* the .flows.csv; likewise */

/* Reads a .flows.csv; messages name @file with line and column. NULL with @error. */
GArray *orr_flow_list_read(const char *text, gsize length, const char *file, GError **error);
/* Sets got_s from a log of htsim. A line belongs to the flow of its flowId where that has the
 * name's pair, otherwise to the first flow of the pair that has no time yet. FALSE with @error: a
 * line that no flow has, or no such line at all. */
gboolean orr_flow_list_finish(GArray *flows, const char *text, gsize length, const char *file,
                              GError **error);
/* Every flow with both completion times and their ratio, CSV; newly allocated. */
char *orr_flow_list_compared(const GArray *flows);
