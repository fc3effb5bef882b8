/*
 * work_graph.h - what the ranks of a job do, as a graph: the form in which traces are read and
 * written (Chakra ET, GOAL).
 *
 * Each rank has nodes: compute on its GPU, work of its host, sends, receives and collectives. A
 * node may begin when all nodes that it depends on have ended (or, GOAL's `irequires`, have begun).
 * Nodes that share a queue of their rank (a CUDA stream, a thread, a process group) run one at a
 * time. A graph has no streams and no order of its own beyond that: work_graph_order.h finds one.
 *
 *   rank 0   compute ---> all-reduce ---> compute        a collective begins when all ranks of its
 *   rank 1   compute ---> all-reduce ---> compute        group have reached it
 */
#ifndef ORR_WORK_GRAPH_H
#define ORR_WORK_GRAPH_H

#include <glib.h>

G_BEGIN_DECLS

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

G_END_DECLS

#endif
