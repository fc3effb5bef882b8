/*
 * cluster.h - a machine as a document: device, node shape, fabric, routing.
 *
 * Documents: topologies/clusters/NAME.yaml (`schema: cluster/1`). GPUs are numbered node by node:
 * GPU g sits in node g / node.gpus. A job may use fewer GPUs than the machine has nodes for: `gpus`
 * (default nodes * node.gpus).
 */
#ifndef ORR_CLUSTER_H
#define ORR_CLUSTER_H

#include "topologies/device.h"
#include "topologies/host.h"
#include "topologies/storage.h"

G_BEGIN_DECLS

typedef enum {
  ORR_PORTS_BONDED,  /* all ports of a GPU are one way out, of their summed bandwidth */
  ORR_PORTS_SEPARATE /* each is a way out of its own */
} OrrPorts;

typedef struct {
  gint64 gpus; /* a node */
  /* GPUs that reach each other over NVLink/NVSwitch; may span nodes (72); 1: none */
  gint64 scale_up_domain;
  /* GPU to GPU through NVSwitch, on top of the profile's scale-up-step */
  double scale_up_latency_s;
  double nics_per_gpu;          /* 1 on DGX; 0.5: two GPUs share one */
  gint64 ports_per_nic;         /* 1; the NIC's bandwidth is theirs together */
  int ports;                    /* OrrPorts */
  double nic_bytes_per_s;       /* one NIC, one direction */
  double nic_efficiency;        /* share of it that large RDMA messages reach, headers and all */
  double nic_latency_s;         /* GPU memory to wire, both ends together */
  double host_link_bytes_per_s; /* PCIe of one GPU, one direction; 0: the device's */
  double host_link_efficiency;  /* share of it that peer-to-peer copies over PCIe reach */
  double host_link_latency_s;   /* GPU to GPU over PCIe, one way */
  gboolean gpudirect_rdma;      /* NICs reach GPU memory; FALSE: data goes through the host's */
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

typedef struct {
  char *name;
  char *source;
  OrrDevice device;
  /* how many the job's machine has; 0: as many as `gpus` need (orr_cluster_n_nodes) */
  gint64 nodes;
  gint64 gpus;      /* how many GPUs the job uses, from the first; 0: nodes * node.gpus */
  gint64 max_nodes; /* what the fabric was built for; 0: as many as `nodes` asks */
  OrrNodeShape node;
  OrrChoice fabric;    /* of orr_fabric_registry */
  int routing;         /* OrrRouting */
  OrrChoice transport; /* of orr_transport_registry; params: OrrTransport */
  gint64 queue_pairs;  /* of a connection: flows that ecmp tells apart */
  OrrStorage storage;
} OrrCluster;

extern const OrrFieldTable orr_cluster_table;
extern const OrrFieldTable orr_node_shape_table;

gint64 orr_cluster_n_nodes(const OrrCluster *cluster); /* `nodes`, or what `gpus` need */
gint64 orr_cluster_n_gpus(const OrrCluster *cluster);  /* GPUs in use */
/* nodes that the fabric was built for */
gint64 orr_cluster_n_built_nodes(const OrrCluster *cluster);

/* Fabric ports (fabric.h): of a node; of a GPU, or of the GPUs that share a NIC; and what one
 * is: its bandwidth (that large messages reach, bytes/s) and the switch ports that it takes. */
gint64 orr_node_shape_n_ports(const OrrNodeShape *node);
gint64 orr_node_shape_ports_each(const OrrNodeShape *node);
double orr_node_shape_port_bandwidth(const OrrNodeShape *node);
gint64 orr_node_shape_port_links(const OrrNodeShape *node);

/* Checks what single fields cannot: nodes within max_nodes, gpus within nodes, whole domains,
 * the fabric's own limits. Findings go to @diags at @place. */
void orr_cluster_check(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif
