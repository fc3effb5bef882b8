/*
 * fabric_private.h - what a fabric holds: shared by fabric*.c.
 */
#ifndef ORR_FABRIC_PRIVATE_H
#define ORR_FABRIC_PRIVATE_H

#include "topologies/fabric.h"

G_BEGIN_DECLS

/* Links inside a node that GPUs share, in the order of their numbers (fabric_host.c). */
typedef enum {
  ORR_HOST_SWITCH,
  ORR_HOST_BRIDGE,
  ORR_HOST_SOCKET,
  ORR_HOST_SLOT,
  ORR_N_HOST_LINKS
} OrrHostLink;

struct OrrFabric {
  gint64 *gpu_of;   /* of a slice: its GPUs' numbers in the machine; NULL: they are the machine's */
  gint64 n_slice;   /* how many */
  gboolean is_view; /* the plan is another fabric's */
  GHashTable *avoid; /* links that routes do without; NULL: none */
  const OrrCluster *cluster;
  const OrrFabricKind *kind;
  gpointer plan; /* NULL where there are no NICs */
  guint64 seed;
  gint64 n_gpus;       /* of the job's nodes */
  gint64 n_ports;      /* theirs */
  gint64 gpus_per_nic; /* GPUs that share one; 1 where a GPU has one or more */
  gint64 lanes;        /* fabric ports of a GPU, or of those that share a NIC */
  gint64 host_base, inside_base[ORR_N_HOST_LINKS], nic_base, net_base, storage_base; /* first ids */
  gint64 memory_base; /* the last ones */
  gint64 server_port; /* the port of storage server 0, where they are on the fabric */
  gint64 n_links;
};

/* The port of a GPU of the machine on @lane. */
static inline gint64 orr_fabric_port(const OrrFabric *fabric, gint64 gpu, gint64 lane) {
  return gpu / fabric->gpus_per_nic * fabric->lanes + lane;
}

/* Shares of nominal * efficiency: of links between switches, and of NICs. */
double orr_fabric_nic_share(const OrrFabric *fabric);
double orr_fabric_switch_share(const OrrFabric *fabric);

/* fabric_host.c. GPUs are the machine's. Numbers the links from @base; returns the first id
 * after them. */
gint64 orr_fabric_number_host_links(OrrFabric *fabric, gint64 base);
double orr_fabric_host_link_bandwidth(const OrrFabric *fabric, gint64 link);
char *orr_fabric_host_link_name(const OrrFabric *fabric, gint64 link);
double orr_fabric_pcie_bandwidth(const OrrFabric *fabric); /* of a GPU */

/* What lies between a GPU and its port: on the way out, on the way in; between the host's memory
 * and the port (@back: to memory); between two GPUs of a node that meet over PCIe, their own
 * PCIe included. */
void orr_fabric_append_exit(const OrrFabric *fabric, gint64 gpu, gint64 port, GArray *links);
void orr_fabric_append_entry(const OrrFabric *fabric, gint64 gpu, gint64 port, GArray *links);
void orr_fabric_append_memory(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back,
                              GArray *links);
void orr_fabric_append_peer(const OrrFabric *fabric, gint64 src, gint64 dst, GArray *links);

/* fabric_memory.c; one link a node. */
gint64 orr_fabric_n_memory_links(const OrrFabric *fabric);
double orr_fabric_memory_bandwidth(const OrrFabric *fabric);

/* fabric_storage.c; links are counted from storage_base. */
gint64 orr_fabric_n_storage_links(const OrrFabric *fabric);
double orr_fabric_storage_link_bandwidth(const OrrFabric *fabric, gint64 link);
char *orr_fabric_storage_link_name(const OrrFabric *fabric, gint64 link);

/* From a GPU of the machine to a port of the fabric that is no GPU's, or back: its NIC and the
 * switches between. */
double orr_fabric_route_to_port(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back,
                                GArray *links);

G_END_DECLS

#endif
