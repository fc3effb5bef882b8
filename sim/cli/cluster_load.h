/*
 * cluster_load.h - `orrery describe cluster NAME --collective OP`: what a collective puts on its
 * links.
 */
#ifndef ORR_CLUSTER_LOAD_H
#define ORR_CLUSTER_LOAD_H

#include "sim/base/node.h"
#include "topologies/cluster.h"

G_BEGIN_DECLS

typedef struct {
  char *collective; /* "all-to-all"; NULL: not asked for */
  char *algorithm;  /* NULL: whatever is fastest */
  char *size;       /* "1 GiB"; NULL: that */
  int seed;         /* of ecmp's hash */
  char **settings;  /* "routing=ecmp", ..., NULL */
} OrrClusterAsk;

/* Whether anything was asked. */
gboolean orr_cluster_ask_is_made(const OrrClusterAsk *ask);

/* Applies the settings to a cluster's unread tree. FALSE with ORR_FAULT_USAGE. */
gboolean orr_cluster_ask_apply(const OrrClusterAsk *ask, OrrNode *tree, GError **error);

/* The load over all GPUs of the cluster, as text; NULL with the reason. Newly allocated. */
char *orr_cluster_ask_answer(const OrrClusterAsk *ask, const OrrCluster *cluster, GError **error);

G_END_DECLS

#endif
