/*
 * topology_text.h - a cluster in the words of other tools: what `describe cluster NAME --as FORMAT`
 * prints, and the readers here read back.
 *
 * A format says less than a document: NCCL's XML has the inside of a node (several, where NVLink
 * spans nodes), Slurm's file which nodes are close. What both say together is compared by
 * tests/import/test_topology_round.c.
 */
#pragma once

#include "topologies/cluster.h"
#include "topologies/fabric.h"

typedef struct {
  const char *name;     /* "nccl-xml" */
  const char *sentence; /* what it says */
  /* The text; newly allocated. NULL with ORR_FAULT_DOCUMENT where the format has no words for the
   * cluster. */
  char *(*write)(const OrrCluster *cluster, GError **error);
  gboolean as_built; /* it has all nodes that the fabric is built for (max-nodes) */
} OrrTopologyText;

/* The cluster in that format. NULL with ORR_FAULT_USAGE for an unknown @format. */
char *orr_topology_text(const char *format, const OrrCluster *cluster, GError **error);
gboolean orr_topology_text_is_as_built(const char *format);

/* topology_cables.c: the switches and cables of a cluster's fabric, for formats that list them.
 *
 * Cables are as for routing ecmp, where parallel ones are not one trunk. Networks whose GPUs are
 * their own switches (torus) are refused. */

typedef struct {
  guint a, b; /* switches */
  double bytes_per_s;
} OrrTopologyCable;

typedef struct {
  OrrCluster cluster; /* as the fabric was built; shares the contents of the given one */
  OrrFabric *fabric;
  GPtrArray *switches; /* char*: names */
  GHashTable *numbers; /* name -> index + 1 */
  GArray *cables;      /* of OrrTopologyCable */
  GArray *leaves; /* of guint: the switch of each NIC, node by node, in the order of its GPUs */
} OrrTopologyCables;

/* @cluster must outlive @of. FALSE with ORR_FAULT_DOCUMENT where it has no switches or NICs;
 * @format is named in the message. @of is to be cleared in either case. */
gboolean orr_topology_cables_init(OrrTopologyCables *of, const OrrCluster *cluster,
                                  const char *format, GError **error);
void orr_topology_cables_clear(OrrTopologyCables *of);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrTopologyCables, orr_topology_cables_clear)
