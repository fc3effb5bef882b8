/*
 * cluster_plan.h - a cluster document from the dumps of a machine.
 *
 * Each key bears the place that it is from. What no dump shows is assumed, marked QUESTION in a
 * comment, and listed as a question with the option that answers it.
 */
#pragma once

#include "sim/import/topology/dump.h"

/* known_gpu.c: which device of the library a dump's GPU is: by its PCI id, its name, its compute
 * capability, the number of its NVLinks. */

typedef struct {
  const char *device;   /* in the library; NULL: it has none for it */
  const char *label;    /* "A100 SXM 80 GB" */
  guint16 ids[4];       /* PCI, vendor NVIDIA or AMD */
  const char *names[5]; /* parts of the names that tools print, upper case */
  int sm;               /* compute capability; 0: AMD */
  const char *gcn;      /* AMD's architecture */
  guint nvlinks;        /* of the GPU, to others; 0: none */
} OrrKnownGpu;

extern const OrrKnownGpu orr_known_gpus[]; /* ends with a NULL label */

/* The entries that @kind can be (const OrrKnownGpu *), most likely first; empty: it shows nothing
 * by which to tell, or something that no entry has (then *@ret_shown names it; newly allocated,
 * else NULL). */
GPtrArray *orr_known_gpu_match(const OrrDumpKind *kind, char **ret_shown);

/* node_plan.c: a node of the cluster document, from what dumps show of machines from the inside. */

/* What the user answers on the command line; 0, NULL: not answered. */
typedef struct {
  const char *device, *name, *choose;
  double link_bytes_per_s;
  gint64 nodes, gpus, nics, domain;
  double oversubscription;
} OrrTopologyAnswers;

/* Each `said` is a comment: where a value is from. Owned. */
typedef struct {
  char *device, *device_said;
  guint links, all_links; /* of a GPU in its domain, and the device's; 0: not to be corrected */
  guint mesh;             /* other GPUs that they join without a switch; 0: not a mesh */
  gint64 gpus, domain;    /* gpus: of a node; domain: of a scale-up domain */
  char *gpus_said, *domain_said;
  gboolean is_domain_assumed; /* no dump shows NVLinks */
  gint64 nics;                /* of a node */
  char *nics_said;
  gboolean is_nics_assumed;
  double nic_bytes_per_s;
  char *rate_said;
  gboolean is_rate_assumed;
  gint64 gpus_per_switch, gpus_per_bridge; /* 0: not shown */
  gint64 nodes;                            /* machines that the dumps show; 0: none */
  gboolean is_seen;                        /* FALSE: no dump shows a node from the inside */
} OrrNodePlan;

/* Adds what could not be seen to @questions (char*), and what was left out to the dump's notes.
 * FALSE with ORR_FAULT_DOCUMENT: several machines and no choice, a GPU that the library has no
 * device for; with ORR_FAULT_USAGE: an answer that names nothing. */
gboolean orr_node_plan_init(OrrNodePlan *plan, OrrDump *dump, const OrrTopologyAnswers *answers,
                            OrrLibrary *library, GPtrArray *questions, GError **error);
void orr_node_plan_clear(OrrNodePlan *plan);

/* "FILE:LINE" without the folders of FILE; newly allocated. */
char *orr_node_plan_place(OrrPlace place);

typedef struct {
  char *text;           /* the document */
  GPtrArray *questions; /* char*: what the dumps leave open, with the option that answers it */
  GPtrArray *notes;     /* char*: what was read and left out, and why */
} OrrClusterPlan;

/* The document reads and passes the checks of `orrery check`. NULL with ORR_FAULT_DOCUMENT: dumps
 * that contradict each other, several machines or fabrics and no choice; with ORR_FAULT_USAGE: an
 * answer that cannot be taken. @files: the sources, for the head of the document. */
OrrClusterPlan *orr_cluster_plan_new(OrrDump *dump, const OrrTopologyAnswers *answers, char **files,
                                     OrrLibrary *library, GError **error);
void orr_cluster_plan_free(OrrClusterPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrClusterPlan, orr_cluster_plan_free)

/* fabric_graph.c: a dump's fabric made ready: nodes with equally many ports, in an order in which
 * those that share switches follow one another; switches that lead to nodes; cables counted. */

typedef struct {
  guint a, b;
  gint64 count;
  double bytes_per_s;
} OrrGraphCable; /* between two switches: parallel ones of one rate together */

typedef struct {
  const OrrDumpFabric *from;
  guint n_switches;
  guint *source;           /* of each switch here: its number in the dump */
  GArray *cables;          /* of OrrGraphCable */
  guint n_nodes, n_ports;  /* n_ports: of a node */
  guint *leaf;             /* n_nodes x n_ports: the switch of each port */
  guint bonded;            /* NICs of a port: 1, or as orr_fabric_graph_bond was given */
  double port_bytes_per_s; /* of a NIC */
  gboolean is_rate_given;  /* not shown by the dump */
  guint *part;             /* of each switch: its connected part, from 0 */
  guint n_parts;
  /* of each switch: 1 has ports, 2 is joined to one of level 1, ... */
  guint *level;
  GPtrArray *notes; /* char*: what was left out, and why */
} OrrFabricGraph;

/* Rates that the dump lacks become @bytes_per_s. NULL with ORR_FAULT_DOCUMENT where the fabric
 * falls into parts that no cable joins and @choose names none of their switches. Parts that all
 * hold the same nodes are rails, and stay. */
OrrFabricGraph *orr_fabric_graph_new(const OrrDump *dump, const OrrDumpFabric *fabric,
                                     const char *choose, double bytes_per_s, GError **error);
void orr_fabric_graph_free(OrrFabricGraph *graph);

/* Joins every @n ports of a node that follow one another (the NICs of one GPU) to one port, if they
 * are on the same switch everywhere. FALSE: they are not, and nothing changed. */
gboolean orr_fabric_graph_bond(OrrFabricGraph *graph, guint n);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrFabricGraph, orr_fabric_graph_free)

const char *orr_fabric_graph_name(const OrrFabricGraph *graph, guint at);

/* fabric_shape.c: which kind of fabric a graph is: a fat-tree, rails, or cables by name.
 *
 * A shape is proposed from counts and kept only if the fabric that Orrery builds from it has the
 * same counts: leaves, spines, cores, cables at each level, rates; and if the cables of the graph
 * are spread as in a Clos: every leaf has equally many to every spine of its pod, every spine
 * equally many to every core that it meets. Otherwise the cables themselves are written. */

typedef struct {
  char *yaml;          /* the lines below `fabric:`, indented by two, each with its newline */
  char *said;          /* one line: what was found and counted */
  gboolean is_rail;    /* nodes have a port on each of several leaves */
  gboolean is_assumed; /* from a scheduler's tree: cables and rates are assumptions */
} OrrFabricShape;

/* What a scheduler's tree does not say. */
typedef struct {
  gint64 gpus, nics;       /* of a node */
  double bytes_per_s;      /* of a NIC */
  double oversubscription; /* at each level */
} OrrFabricAnswers;

/* ORR_FAULT_DOCUMENT where neither a shape nor cables can be written (parts that nothing joins). */
gboolean orr_fabric_shape_init(OrrFabricShape *shape, const OrrFabricGraph *graph,
                               const OrrFabricAnswers *answers, GError **error);
void orr_fabric_shape_clear(OrrFabricShape *shape);

/* Whether the fabric @yaml can be built for @n_nodes nodes. */
gboolean orr_fabric_shape_builds(const char *yaml, gint64 n_nodes, const OrrFabricAnswers *answers);

/* fabric_tree.c: the shape of a scheduler's tree, which counts no cables: Slurm's topology.conf.
 *
 * A switch of the tree is a level, not always one device. Where the NICs below a leaf are more
 * than a switch has ports, a leaf is taken as a group of rails. Cables carry all that lies below,
 * divided by the oversubscription: an assumption, which the caller asks about. */

void orr_fabric_tree_init(OrrFabricShape *shape, const OrrFabricGraph *graph,
                          const OrrFabricAnswers *answers);
