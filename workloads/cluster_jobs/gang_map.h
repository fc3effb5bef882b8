/*
 * gang_map.h - the parts of a machine that its nodes are in: NVLink domain, leaf, pod.
 *
 *   level    nodes a and b are together where                     on a fat tree of three levels
 *   node     a = b
 *   domain   scale-up links join their GPUs (NVL72)
 *   leaf     one switch is between the first GPUs of the two      one leaf
 *   pod      at most three are                                    one pod
 *   across   else                                                 through the core
 *
 * On a rail-optimized fabric the nodes of a leaf are those whose equal GPUs share the switches of
 * their rails. A fabric without switches has one leaf.
 */
#ifndef ORR_GANG_MAP_H
#define ORR_GANG_MAP_H

#include <glib.h>

#include "workloads/cluster_jobs/gang_job.h"

G_BEGIN_DECLS

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
/* The GPUs of @shares in that of these parts that has most of them. */
gint64 orr_gang_map_most(const OrrGangMap *map, const GArray *shares, OrrGangLevel level);

G_END_DECLS

#endif
