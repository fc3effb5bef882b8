/*
 * cluster.h - a machine as a document: device, node shape, fabric, routing.
 *
 * Documents: topologies/clusters/NAME.yaml (`schema: cluster/1`). GPUs are numbered node by node:
 * GPU g sits in node g / node.gpus. A job may use fewer GPUs than the machine has nodes for: `gpus`
 * (default nodes * node.gpus).
 */
#ifndef ORR_CLUSTER_H
#define ORR_CLUSTER_H

#include "topologies/cluster_power.h"
#include "topologies/device.h"
#include "topologies/host.h"
#include "topologies/storage.h"

G_BEGIN_DECLS

typedef enum {
  ORR_PORTS_BONDED,  /* all ports of a GPU act as one link with their summed bandwidth */
  ORR_PORTS_SEPARATE /* each port is a link of its own */
} OrrPorts;

typedef struct {
  gint64 gpus; /* a node */
  /* GPUs that reach each other over NVLink/NVSwitch; may span nodes (72); 1: none */
  gint64 scale_up_domain;
  /* GPU to GPU through NVSwitch, on top of the profile's scale-up-step */
  double scale_up_latency_s;
  gint64
      scale_up_switches;  /* boxes of switches of a domain that spans nodes; 0: none, or unknown */
  double nics_per_gpu;    /* 1 on DGX; 0.5: two GPUs share one */
  gint64 ports_per_nic;   /* 1 by default; the ports share the NIC's bandwidth */
  int ports;              /* OrrPorts */
  double nic_bytes_per_s; /* one NIC, one direction */
  /* fraction of nic_bytes_per_s that large RDMA messages reach, headers included */
  double nic_efficiency;
  double nic_latency_s;         /* from GPU memory to the cable, both ends together */
  double host_link_bytes_per_s; /* PCIe of one GPU, one direction; 0: as the device states */
  double host_link_efficiency;  /* fraction of it that peer-to-peer copies over PCIe reach */
  double host_link_latency_s;   /* GPU to GPU over PCIe, one way */
  /* NICs read and write GPU memory; FALSE: data goes through host memory */
  gboolean gpudirect_rdma;
  OrrHostShape host;
} OrrNodeShape;

typedef enum { /* see fabric.h */
               ORR_ROUTING_IDEAL,
               ORR_ROUTING_ECMP,
               ORR_ROUTING_ADAPTIVE,
               ORR_ROUTING_STATIC,
               ORR_ROUTING_VALIANT,
               ORR_ROUTING_UGAL
} OrrRouting;

extern const char *const orr_routing_words[]; /* "ideal", "ecmp", ..., NULL */

struct OrrCluster {
  char *name;
  char *source;
  OrrDevice device;
  /* nodes of the job's machine; 0: as many as `gpus` need (orr_cluster_n_nodes) */
  gint64 nodes;
  gint64 gpus;      /* GPUs that the job uses, counted from GPU 0; 0: nodes * node.gpus */
  gint64 max_nodes; /* nodes that the fabric was built for; 0: as many as `nodes` */
  OrrNodeShape node;
  OrrChoice fabric;    /* of orr_fabric_registry */
  int routing;         /* OrrRouting */
  OrrChoice transport; /* of orr_transport_registry; params: OrrTransport */
  gint64 queue_pairs;  /* queue pairs of one connection; ecmp hashes each one separately */
  OrrStorage storage;
  OrrClusterPower power; /* of all but its GPUs */
  char **copper;         /* levels whose cables have no optics; NULL: none */
};

extern const OrrFieldTable orr_cluster_table;
extern const OrrFieldTable orr_node_shape_table;

gint64 orr_cluster_n_nodes(const OrrCluster *cluster); /* `nodes`, or what `gpus` need */
gint64 orr_cluster_n_gpus(const OrrCluster *cluster);  /* GPUs that the job uses */
/* nodes that the fabric was built for */
gint64 orr_cluster_n_built_nodes(const OrrCluster *cluster);

/* Fabric ports (fabric.h): of a node; of one GPU, or of the GPUs that share a NIC. Then what one
 * port is: its bandwidth in bytes/s that large messages reach, and the switch ports that it
 * occupies. */
gint64 orr_node_shape_n_ports(const OrrNodeShape *node);
gint64 orr_node_shape_ports_each(const OrrNodeShape *node);
double orr_node_shape_port_bandwidth(const OrrNodeShape *node);
gint64 orr_node_shape_port_links(const OrrNodeShape *node);

/* Checks rules that span fields: nodes within max_nodes, gpus within nodes, whole scale-up
 * domains, and the fabric's own limits. Adds findings to @diags at @place. */
void orr_cluster_check(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif
