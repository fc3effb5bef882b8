/*
 * topology_cables.h - the switches and cables of a cluster's fabric, for formats that list them.
 *
 * Cables are as for routing ecmp, where parallel ones are not one trunk. Networks whose GPUs are
 * their own switches (torus) are refused.
 */
#pragma once

#include "topologies/fabric.h"

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
