/*
 * trace_work.h - the workload `trace`: replays what ranks of a real or a simulated job did.
 *
 * Compute takes the time that the trace recorded; sends and collectives run on this scenario's
 * fabric. Where a node has no time, its num_ops and tensor_size take the roofline of the device's
 * datasheet, and the run says for how much of the compute this holds. Where the trace was recorded
 * on another device, a recorded time is multiplied by the ratio of the two rooflines of the node's
 * num_ops and tensor_size; a node without these keeps its time, and the run says so.
 *
 *   lane    rank; rank r runs on GPU r
 *   stream  kernels of one CUDA stream; operators of one thread; collectives of one process group;
 *           sends to, and receives from, one rank, several where they overlap
 *
 * Kernels that overlapped with a collective were slowed down when the trace was recorded; the
 * replay takes these times.
 */
#pragma once

#include "workloads/collectives/nccl.h"
#include "workloads/trace/et.h"
#include "workloads/trace/work_graph.h"
#include "workloads/workload.h"

typedef struct {
  char *stack, *file, *groups;
  gint64 ranks;
  gboolean symmetric;
  GArray *dims; /* of double */
  int dtype;    /* OrrDtype */
  OrrNccl nccl;
  OrrDevice recorded_on; /* name NULL: not said */
} OrrTraceParams;

extern const OrrWorkloadKind orr_trace_kind;

/* One kind of communication: equal op, ranks and bytes. */
typedef struct {
  const char *label; /* of its communications in the program */
  const char *op, *algorithm;
  gint64 n_ranks, count; /* calls, of all groups */
  double bytes, latency_s, predicted_s;
  int how; /* OrrHow */
} OrrTraceCall;

typedef struct {
  OrrWork work; /* first */
  gint64 n_nodes, n_collectives, n_sends;
  double comm_bytes;            /* of all communications, once each */
  double compute_s, modelled_s; /* of all ranks: kernels; the part that was not recorded */
  double as_recorded_s;         /* of all ranks: the part of compute_s taken as recorded */
  const char *recorded_on;      /* the device it was recorded on; NULL: not said */
  double host_s;                /* of all ranks: operators of the host */
  gint64 n_unknown;             /* kernels without time, num_ops and tensor_size */
  gboolean lacks_gpu_deps;      /* no kernel depends on another */
  GArray *calls;                /* of OrrTraceCall */
  GPtrArray *notes;             /* of char *: what the format held that is not replayed */
} OrrTraceWork;

/* trace_load.c: the files of a traced job: finds them and reads them into a graph. */

typedef struct {
  /* NAME.et: NAME.0.et, NAME.1.et ..., else the file itself; the same for NAME.json; NAME.goal,
   * NAME.txt */
  const char *file;
  char *const *folders; /* to search, NULL-terminated; NULL: none */
  gint64 ranks;         /* 0: as many as there are files */
  gboolean symmetric;   /* ranks without a file do what the first rank does */
  const char *groups;   /* a JSON file {"NAME": [RANK, ...]}; "": none */
  OrrEtDims dims;
} OrrTraceLoad;

/* The graph, matched. NULL with @error. */
OrrWorkGraph *orr_trace_load(const OrrTraceLoad *load, GError **error);

/* Why the name of a trace is refused (static); NULL: it is not. */
const char *orr_trace_load_refuse(const char *file);
