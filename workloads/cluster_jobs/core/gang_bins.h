/*
 * gang_bins.h - the free GPUs of a cluster, node by node, and the choice of nodes for a gang.
 *
 * A placement is an entry: it says where a gang would sit now, or that it does not fit. `count`
 * treats the whole cluster as one node. To add one: write placements/NAME.c with a `const
 * OrrGangPlacement` and its line in meson.build; tests/workloads/cluster_jobs/test_gang_sim.c walks
 * all.
 */
#pragma once

#include "sim/base/registry.h"
#include "workloads/cluster_jobs/gang_job.h"

/* The parts of a machine that its nodes are in: NVLink domain, leaf, pod.
 *
 *   level    nodes a and b are together where                     on a fat tree of three levels
 *   node     a = b
 *   domain   scale-up links join their GPUs (NVL72)
 *   leaf     one switch is between the first GPUs of the two      one leaf
 *   pod      at most three are                                    one pod
 *   across   else                                                 through the core
 *
 * On a rail-optimized fabric the nodes of a leaf are those whose equal GPUs share the switches of
 * their rails. A fabric without switches has one leaf. */
typedef struct OrrFabric OrrFabric;

typedef enum {
  ORR_GANG_NODE,
  ORR_GANG_DOMAIN,
  ORR_GANG_LEAF,
  ORR_GANG_POD,
  ORR_GANG_ACROSS,
  ORR_GANG_N_LEVELS
} OrrGangLevel;
extern const char *const orr_gang_level_words[]; /* "node", "domain", ..., NULL */

typedef struct OrrGangMap {
  guint n;                           /* nodes */
  guint *part_of[ORR_GANG_N_LEVELS]; /* by level and node: its part, from 0 */
  guint n_parts[ORR_GANG_N_LEVELS];  /* by level */
} OrrGangMap;

/* Of the first @n_nodes nodes of @fabric, with @gpus_per_node GPUs each. */
OrrGangMap *orr_gang_map_new(const OrrFabric *fabric, guint n_nodes, gint64 gpus_per_node);
/* Nodes in leaves of @per_leaf and pods of @per_pod, for tests. */
OrrGangMap *orr_gang_map_regular(guint n_nodes, guint per_leaf, guint per_pod);
void orr_gang_map_free(OrrGangMap *map);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGangMap, orr_gang_map_free)

/* The lowest level at which all nodes of @shares are together. */
OrrGangLevel orr_gang_map_level(const OrrGangMap *map, const GArray *shares);
/* In how many parts of @level they are. */
guint orr_gang_map_n_parts(const OrrGangMap *map, const GArray *shares, OrrGangLevel level);
/* The most GPUs of @shares that one of these parts has. */
gint64 orr_gang_map_most(const OrrGangMap *map, const GArray *shares, OrrGangLevel level);

typedef struct {
  guint n;
  gint64 size; /* GPUs of a node */
  gint64 n_free;
  gint64 *free; /* by node */
  guint first;  /* no node before it has a free GPU */
  /* How many nodes have 0, 1, ..., size GPUs free; NULL: not kept (one node, or a minimum). */
  guint *levels;
  /* Fraction of the jobs by GPUs that they need on one node, 1 to size; NULL: not known. */
  const double *popular;
  const OrrGangMap *map; /* of the nodes; NULL: not known */
} OrrGangBins;

typedef struct {
  OrrEntry entry;
  gboolean is_count;     /* the cluster is one node */
  gboolean is_by_fabric; /* it needs the place of nodes on the cluster's fabric */
  /* Whatever the order of nodes, a gang fits where orr_gang_bins_has_room says so. */
  gboolean by_room;
  /* A gang of whole nodes has the first that are whole, whatever is free on the others. */
  gboolean whole_first;
  /* Mandatory. Sets @shares (of OrrGangShare) to the place of @job's gang; FALSE: it does not fit.
   * Does not change @bins. @params: of the entry's table; NULL: it has none. */
  gboolean (*place)(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                    GArray *shares);
  /* Why the parameters do not go with a cluster of @n_nodes, newly allocated; NULL: they do.
   * NULL: any do. */
  char *(*refuse)(const void *params, gint64 n_nodes);
  /* Time that a gang of @gpus on nodes of @node_gpus waits at each start until the machine has
   * joined its nodes; NULL: none. */
  double (*set_up_s)(const void *params, gint64 gpus, gint64 node_gpus);
  /* A gang that loses a node has no place with another one, or without it. */
  gboolean no_replacement, no_shrinking;
} OrrGangPlacement;

extern const OrrRegistry orr_gang_placement_registry;

void orr_gang_bins_init(OrrGangBins *bins, guint n, gint64 size); /* all free */
void orr_gang_bins_clear(OrrGangBins *bins);
void orr_gang_bins_copy(OrrGangBins *bins, const OrrGangBins *from); /* of equal n and size */
/* Takes the GPUs of @shares (@sign -1), or gives them back (+1). */
void orr_gang_bins_add(OrrGangBins *bins, const GArray *shares, int sign);

/* Whether a gang of at most a node's GPUs fits on one node, and a larger one on whole nodes and one
 * more for the rest; TRUE where levels are not kept. */
gboolean orr_gang_bins_has_room(const OrrGangBins *bins, gint64 gpus);

/* --- shared by placements --- */

/* How one node is chosen for @gpus that must sit together; G_MAXUINT: none has them free. */
typedef guint (*OrrGangPick)(const OrrGangBins *bins, gint64 gpus, const GArray *taken);

/* A gang of at most a node's GPUs sits on the node that @pick chooses. A larger gang takes whole
 * nodes, the first that are empty, and @pick chooses one more for the rest. */
gboolean orr_gang_bins_place(const OrrGangBins *bins, gint64 gpus, OrrGangPick pick,
                             GArray *shares);
/* The same on the nodes @first to @first + @n - 1 only. */
gboolean orr_gang_bins_place_within(const OrrGangBins *bins, guint first, guint n, gint64 gpus,
                                    OrrGangPick pick, GArray *shares);
/* Of nodes @first to @first + @n - 1: the free GPUs. */
gint64 orr_gang_bins_free(const OrrGangBins *bins, guint first, guint n);
guint orr_gang_bins_empty(const OrrGangBins *bins, guint first, guint n); /* whole free nodes */
/* The node on which the fewest GPUs stay free. */
guint orr_gang_bins_pick_best(const OrrGangBins *bins, gint64 gpus, const GArray *taken);
/* Whether @shares holds node @bin. */
gboolean orr_gang_bins_holds(const GArray *shares, guint bin);
