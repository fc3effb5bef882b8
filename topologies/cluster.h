/*
 * cluster.h - a machine as a document: device, node shape, fabric, routing.
 *
 * Documents: topologies/clusters/NAME.yaml (`schema: cluster/1`). GPUs are numbered node by node:
 * GPU g sits in node g / node.gpus. A job may use fewer GPUs than the machine has nodes for: `gpus`
 * (default nodes * node.gpus).
 */
#pragma once

#include "topologies/cluster_power.h"
#include "topologies/device.h"
#include "sim/base/field.h"

/* The links inside a node between GPUs, NICs and memory: PCIe switches and host bridges,
 * where they can limit transfers.
 *
 *             memory ------ memory               a bridge a CPU socket: what its devices move to
 *                                                and from it,
 *               |              |                 in and out
 *            bridge0 -socket- bridge1            UPI, xGMI
 *            /     \          /     \
 *        switch0  switch1   ...                  a switch's link to its bridge, up and down
 *        /  |  \                                 each GPU's own PCIe: node.host-link-bandwidth
 *     gpu0 gpu1 nic0                             a NIC's own slot, for all of its ports
 *
 * Rates are nominal, for one direction, and are multiplied by node.host-link-efficiency; 0 means
 * that the link never limits. Depending on network-path, a GPU's network traffic crosses these
 * links and shares them with copies between GPU and host (checkpoints, offload) and with traffic
 * between GPUs of the node that communicate over PCIe:
 *
 *   auto     NIC, and the GPU's PCIe where that is slower    the default: what NICs reach was
 *                                                            measured with all of the path, but a
 *                                                            GPU's link bounds what its NICs carry
 *   apart    NIC                                             NICs on the device itself, or on a
 *                                                            switch of its own (TPUs, Gaudi)
 *   switch   GPU's PCIe, NIC's slot, NIC                     NICs and GPUs on PCIe switches (DGX
 *                                                            A100, H100)
 *   bridge   GPU's PCIe, switch up, bridge, slot, NIC        NICs on the CPU (Grace's), or no
 *                                                            GPUDirect RDMA
 *
 * Example, a DGX A100: two GPUs and two NICs on each of 4 PCIe switches, Gen4 x16, two switches per
 * socket (NVIDIA DGX A100 user guide, 2020, system topology):
 *
 *   node: {host: {network-path: switch, gpus-per-switch: 2, gpus-per-bridge: 4}}
 *
 * The memory of all sockets counts as one: data that is offloaded to it and data that CPU cores
 * stream through it share its rate.
 *
 *   node: {host: {memory: 2 TB, memory-bandwidth: 409.6 GB/s}}
 *
 * What software does on one core takes its time on a Xeon Platinum 8480C (DGX H100), divided by
 * cpu-speed, and by launch-speed where it launches kernels. Grace is nearly as fast as a Xeon in
 * Python's own loops: 67.5 ns on an H100's host for a call of ten arguments and 181.7 through
 * PyTorch's dispatcher, 71.6 and 197.4 on a GB200 (pytorch, issue 187862, June 2026): 0.93. It is
 * much slower in launching: 13.48 us for the forward of torch.nn.Linear, 37.08 us on a GB200 and
 * 33.17 us on a GH200 (NVIDIA/TransformerEngine, issue 2053, August 2025): 0.36 and 0.41.
 *
 *   node: {host: {cpu: Grace, cpu-speed: 0.93, launch-speed: 0.36}} */

typedef enum {
  ORR_NETWORK_AUTO,
  ORR_NETWORK_APART,
  ORR_NETWORK_SWITCH,
  ORR_NETWORK_BRIDGE
} OrrNetworkPath;

typedef struct {
  char *cpu;
  double cpu_speed;       /* of one core; a Xeon Platinum 8480C's is 1 */
  double launch_speed;    /* the same in launching kernels; 0: cpu_speed */
  gint64 cores;           /* of all sockets; 0: unknown */
  int network_path;       /* OrrNetworkPath */
  gint64 gpus_per_switch; /* 0: no PCIe switches are modelled */
  double switch_bytes_per_s;
  gint64 gpus_per_bridge; /* 0: one bridge for all */
  double bridge_bytes_per_s, socket_bytes_per_s, slot_bytes_per_s;
  double memory_bytes;       /* DRAM of the node; 0: unknown, and nothing can be offloaded to it */
  double memory_bytes_per_s; /* of all channels together, reads and writes, nominal */
  double memory_efficiency;  /* fraction of it that streaming kernels on all cores reach */
} OrrHostShape;

extern const OrrFieldTable orr_host_shape_table;

double orr_host_launch_speed(const OrrHostShape *host);

/* Checks rules that span fields, for a node of @gpus GPUs. Adds findings at @place. */
void orr_host_shape_check(const OrrHostShape *host, gint64 gpus, OrrPlace place, OrrDiags *diags);

/* A parallel file system outside a machine: servers with links of their own (Lustre's
 * object storage servers).
 *
 *   own:     node NICs for storage -- non-blocking network -- servers -- the file system's own
 *            limit
 *   fabric:  GPUs' NICs -- the compute fabric -- servers at its last ports -- the same
 *
 *   cluster:
 *     storage: {servers: 8, server-bandwidth: 40 GB/s, attach: own, node-bandwidth: 50 GB/s}
 *
 * Rates are effective, as large sequential files reach them, for one direction; a server reads and
 * writes at the same time. */

typedef enum { ORR_STORAGE_OWN, ORR_STORAGE_FABRIC } OrrStorageAttach;

typedef struct {
  gint64 servers; /* 0: no file system */
  double server_bytes_per_s;
  double aggregate_bytes_per_s; /* limit of the whole file system; 0: the sum of its servers */
  int attach;                   /* OrrStorageAttach */
  double node_bytes_per_s;      /* attach own: rate of a node's storage NICs */
  gint64 stripes;               /* servers over which one file is spread; 0: all */
  double latency_s;             /* to open and commit a file */
} OrrStorage;

extern const OrrFieldTable orr_storage_table;

gint64 orr_storage_stripes(const OrrStorage *storage); /* after defaults; at most the number of
                                                        * servers */

/* The server of stripe @i of client @gpu's file: round robin, in the order in which Lustre's
 * allocator assigns object servers. */
gint64 orr_storage_server(const OrrStorage *storage, gint64 gpu, gint64 i);

/* Checks rules that span fields. Adds findings at @place. */
void orr_storage_check(const OrrStorage *storage, OrrPlace place, OrrDiags *diags);

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

/* Which of several draws of ecmp's hash a plan takes (collective_draws.c). */
typedef enum { ORR_HASH_SEED, ORR_HASH_MEAN, ORR_HASH_WORST } OrrHashTake;

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
  gboolean split_data; /* a message is divided over all of them */
  gint64 hash_draws;   /* hashes of ecmp to compare; 0: the seed's alone */
  int hash_take;       /* OrrHashTake */
  OrrChoice queues;    /* of orr_queue_registry; params: OrrQueueParams */
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
/* One GPU's link to its host, each direction: its nominal rate, the node's or the device's; and
 * what copies over it reach, by itself or as a link of the fabric. */
double orr_cluster_host_link_bytes_per_s(const OrrCluster *cluster);
double orr_cluster_host_copy_bytes_per_s(const OrrCluster *cluster);
/* Whether messages to other nodes cross that link, too (node.host.network-path). */
gboolean orr_cluster_network_on_host_link(const OrrCluster *cluster);

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
