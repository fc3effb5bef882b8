/*
 * fabric_private.h - what a fabric holds: shared by fabric*.c.
 */
#ifndef ORR_FABRIC_PRIVATE_H
#define ORR_FABRIC_PRIVATE_H

#include "topologies/fabric.h"

G_BEGIN_DECLS

struct OrrFabric {
  gint64 *gpu_of; /* of a slice: its GPUs' numbers in the machine; NULL: they are the machine's */
  gint64 n_slice; /* how many */
  gboolean is_view;  /* the plan is another fabric's */
  GHashTable *avoid; /* links that routes do without; NULL: none */
  const OrrCluster *cluster;
  const OrrFabricKind *kind;
  gpointer plan; /* NULL where there are no NICs */
  guint64 seed;
  gint64 n_gpus;                        /* of the job's nodes */
  gint64 n_ports;                       /* theirs */
  gint64 gpus_per_port;                 /* GPUs that share a NIC; 1 where a GPU has one or more */
  gint64 host_base, nic_base, net_base, storage_base; /* first ids */
  gint64 server_port; /* the port of storage server 0, where they are on the fabric */
  gint64 n_links;
};

/* fabric_storage.c; links are counted from storage_base. */
gint64 orr_fabric_n_storage_links(const OrrFabric *fabric);
double orr_fabric_storage_link_bandwidth(const OrrFabric *fabric, gint64 link);
char *orr_fabric_storage_link_name(const OrrFabric *fabric, gint64 link);

/* From a GPU of the machine to a port of the fabric that is no GPU's, or back: its NIC and the switches between. */
double orr_fabric_route_to_port(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back, GArray *links);

G_END_DECLS

#endif
