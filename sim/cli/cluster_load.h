/*
 * cluster_load.h - `orrery describe cluster NAME --collective OP`: the load that a collective puts
 * on the links of a cluster.
 */
#ifndef ORR_CLUSTER_LOAD_H
#define ORR_CLUSTER_LOAD_H

#include "sim/base/node.h"
#include "topologies/cluster.h"

G_BEGIN_DECLS

/* Options of `orrery describe cluster`. */
typedef struct {
  char *collective; /* "all-to-all"; NULL: describe the cluster itself */
  char *algorithm;  /* NULL: the fastest one */
  char *size;       /* buffer; NULL: 1 GiB */
  int seed;         /* of the hash that routing ecmp uses */
  char **settings;  /* "routing=ecmp", ..., NULL */
  char *prices;     /* name or file; NULL: no prices */
} OrrClusterQuery;

/* Whether any of these options is set. */
gboolean orr_cluster_query_is_set(const OrrClusterQuery *query);

/* Applies the settings to a cluster's tree before it is read. FALSE with ORR_FAULT_USAGE. */
gboolean orr_cluster_query_apply(const OrrClusterQuery *query, OrrNode *tree, GError **error);

/* The load when all GPUs of the cluster take part, as text; newly allocated. NULL with @error. */
char *orr_cluster_query_answer(const OrrClusterQuery *query, const OrrCluster *cluster,
                               GError **error);

G_END_DECLS

#endif
