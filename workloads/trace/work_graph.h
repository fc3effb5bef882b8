/*
 * work_graph.h - what the ranks of a job do, as a graph: the form in which traces are read and
 * written (Chakra ET, GOAL).
 *
 * Each rank has nodes: compute on its GPU, work of its host, sends, receives and collectives. A
 * node may begin when all nodes that it depends on have ended (or, GOAL's `irequires`, have begun).
 * Nodes that share a queue of their rank (a CUDA stream, a thread, a process group) run one at a
 * time. A graph has no streams and no order of its own beyond that: work_graph.h finds one.
 *
 *   rank 0   compute ---> all-reduce ---> compute        a collective begins when all ranks of its
 *   rank 1   compute ---> all-reduce ---> compute        group have reached it
 */
#pragma once

#include "sim/engine/executor.h"
#include "workloads/workload.h"

typedef enum {
  ORR_GRAPH_EMPTY,   /* takes no time: metadata */
  ORR_GRAPH_COMPUTE, /* a kernel */
  ORR_GRAPH_HOST,    /* an operator on the host */
  ORR_GRAPH_SEND,
  ORR_GRAPH_RECV,
  ORR_GRAPH_COLLECTIVE
} OrrGraphKind;

#define ORR_GRAPH_ALL G_MAXUINT32      /* the group of all ranks */
#define ORR_GRAPH_NO_GROUP 0xfffffffeu /* no group is known yet */

typedef struct {
  guint64 id;       /* in the file, unique within the rank */
  const char *name; /* the graph's */
  double seconds;   /* as recorded; 0: not recorded */
  double flops;     /* COMPUTE; 0: not recorded */
  /* COMPUTE: bytes that it moves. SEND, RECV: bytes. COLLECTIVE: as OrrCollectiveCall counts */
  double bytes;
  gint64 start_us; /* as recorded; 0: not recorded */
  guint64 queue;   /* COMPUTE: stream; HOST: thread */
  gint64 tag;      /* SEND, RECV */
  guint32 peer;    /* SEND, RECV: the other rank */
  guint32 group;   /* COLLECTIVE: index into the graph's groups, or ORR_GRAPH_ALL */
  guint32 comm;    /* set by orr_work_graph_match */
  guint32 first_dep, n_deps;
  guint8 kind, op; /* OrrGraphKind, OrrCollectiveOp */
} OrrGraphNode;

/* A dependency: a node's index in its rank, with ORR_GRAPH_ON_BEGIN where its begin is enough. */
#define ORR_GRAPH_ON_BEGIN 0x80000000u

typedef struct {
  char *file;
  GArray *nodes; /* of OrrGraphNode */
  GArray *deps;  /* of guint32 */
} OrrGraphRank;

typedef struct {
  char *name;
  GArray *ranks; /* of guint32, ascending */
} OrrGraphGroup;

/* A communication: sends with their receives, and collectives with all their members. */
typedef struct {
  double bytes;
  guint32 first, n; /* index into members: nodes of ranks; of a send-recv the sender is first */
  guint8 op;        /* OrrCollectiveOp */
} OrrGraphComm;

typedef struct {
  guint32 rank, node;
} OrrGraphMember;

typedef struct {
  GPtrArray *ranks;    /* of OrrGraphRank */
  GPtrArray *groups;   /* of OrrGraphGroup */
  GHashTable *by_name; /* name of a group -> its index + 1 */
  GArray *comms;       /* of OrrGraphComm; empty before orr_work_graph_match */
  GArray *members;     /* of OrrGraphMember */
  GStringChunk *names;
  GPtrArray *notes; /* of char *: what the format held that is not replayed */
} OrrWorkGraph;

OrrWorkGraph *orr_work_graph_new(void);
void orr_work_graph_free(OrrWorkGraph *graph); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrWorkGraph, orr_work_graph_free)

/* A rank without nodes; its number is the count of those before. */
OrrGraphRank *orr_work_graph_add_rank(OrrWorkGraph *graph, const char *file);
/* The group of that name, made where there is none. */
guint32 orr_work_graph_group(OrrWorkGraph *graph, const char *name);
void orr_work_graph_note(OrrWorkGraph *graph, const char *note); /* once */

const OrrGraphNode *orr_work_graph_node(const OrrGraphRank *rank, guint32 node);
const OrrGraphRank *orr_work_graph_rank(const OrrWorkGraph *graph, guint32 rank);

/* Resolves dependencies given as ids: @ids (of guint64) holds first_dep .. of each node. FALSE
 * where two nodes share an id, or an id is unknown. */
gboolean orr_work_graph_resolve(OrrGraphRank *rank, const GArray *ids, GError **error);

/* Groups without members get the ranks whose nodes name them. Then finds the communications: the
 * k-th collective of a group is the same on all of its ranks, by the order of recorded starts, or
 * of the file; a send meets the first receive with its tag. FALSE with what does not match. */
gboolean orr_work_graph_match(OrrWorkGraph *graph, GError **error);

/* work_graph_order.c: one order in which a graph can run: a schedule by list scheduling, with each
 * communication alone on its links.
 *
 * A program (sim/engine/program.h) has streams, whose ops have a fixed order; a graph only says
 * what depends on what. The order of a stream is that in which this schedule begins its nodes: of
 * the ready ones, the one that the trace started first. Since the whole is one schedule that ends,
 * the streams of all ranks together cannot deadlock, however long transfers take when they share
 * links.
 *
 *   kernels of one CUDA stream     one at a time, as they become ready
 *   operators of one thread        likewise
 *   collectives of one group       one at a time, in their order
 *   sends and receives             begin when they are ready
 */

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

/* work_graph_of.c: a replayed program as a graph: what a profiler of the simulated job would have
 * recorded, to be written as a trace.
 *
 * Each GPU of the job becomes a rank, in the order of their numbers. Its nodes are the operations
 * of its lane: work takes the time of the replay, so that what overlap cost is in it; a
 * communication is the call of its own group. Streams become dependencies. A process group is the
 * ranks of a call on one stream, since communicators of different streams run side by side. */

/* @spans (of OrrSpan) in the order of the replay; @work was compiled with OrrWorld.keeps_calls and
 * is FULL. NULL with ORR_FAULT_DOCUMENT where it does what a graph cannot say: copies to hosts,
 * file systems. */
OrrWorkGraph *orr_work_graph_of(const OrrWork *work, const GArray *spans, GError **error);
