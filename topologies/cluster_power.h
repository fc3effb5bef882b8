/*
 * cluster_power.h - what a machine draws besides the boards of its GPUs.
 *
 *   machine = GPUs + nodes' rest + network + storage
 *   rest    = idle + load (busy - idle)       load = (GPU power - static) / (tdp - static)
 *   network = switches, scale-up switches outside nodes, optics
 *   storage = servers of the file system
 *
 * A node's rest is what its meter shows less its boards: CPUs and their memory, NICs and DPUs,
 * switches of the scale-up domain, drives, fans, and what power supplies lose. Fans and supplies
 * follow the boards' load, hence the line; node_power.h has its parts, and what CPUs add to
 * it by host time. Switches, optics and servers are counted (bill.h) and draw the same at any
 * load; a job has its GPUs' part of them. What the document does not state of a part that the
 * machine has is unknown, NAN, and left out of the sum. The building's share on top is pue
 * (prices.h).
 *
 * A rack's supplies carry `cap` for `cap-nodes` nodes. Their boards share evenly what the busy
 * nodes' rest leaves:
 *
 *   cap of a board = (cap / cap-nodes - rest-busy) / GPUs of a node
 *
 * Without rest-busy the parts at full load take its place, and the supplies' efficiency comes off
 * what is left.
 *
 * Section `power` of a cluster document; without it nothing is known of the machine's power.
 */
#ifndef ORR_CLUSTER_POWER_H
#define ORR_CLUSTER_POWER_H

#include "sim/base/diag.h"
#include "sim/base/field.h"
#include "topologies/node_power.h"

G_BEGIN_DECLS

typedef struct OrrFabric OrrFabric;

typedef struct {
  char *source;
  double rest_idle_w, rest_busy_w; /* of a node, without its GPU boards; busy 0: unknown */
  double rated_w;                  /* of a node with its GPUs, the vendor's maximum; 0: unknown */
  double switch_w, optic_w, server_w; /* one piece; 0: unknown. A switch is without its optics */
  double scale_up_switch_w;           /* of a domain that spans nodes; 0: in the nodes' rest */
  double cap_w;                       /* of the supplies of cap_nodes nodes; 0: no cap */
  gint64 cap_nodes;
  OrrNodePower parts; /* of a node's rest */
} OrrClusterPower;

/* Mean watts of a job's part of the machine. NAN: not stated; NAN boards make all of it NAN. */
typedef struct {
  double nodes_w;   /* their rest, without boards */
  double network_w; /* 0 where there is nothing to count */
  double storage_w; /* the same */
  double all_w;     /* with boards; NAN without nodes_w; unknown network and storage left out */
  /* What these are sums of. */
  double gpus_w, node_part_w[ORR_N_NODE_PARTS];
  double switch_w, scale_up_switch_w, optic_w;
  /* How many of each: the job's nodes, and its GPUs' part of the machine's switches. */
  double gpus, nodes, switches, scale_up_switches, optics, servers;
} OrrMachinePower;

/* What a job asks of the machine, mean over its time. */
typedef struct {
  double gpus;  /* that it holds */
  double gpu_w; /* of all of them */
  double cores; /* of hosts that are busy, all nodes together */
} OrrMachineLoad;

extern const OrrFieldTable orr_cluster_power_table;

/* Before PUE. */
OrrMachinePower orr_cluster_power_machine(const OrrFabric *fabric, const OrrCluster *cluster,
                                          const OrrMachineLoad *load);

/* @busy of the time as @machine, whose boards draw @gpus_w on average; @waiting nodes more, mean
 * over all time, stand with idle CPUs and boards that compute nothing. */
OrrMachinePower orr_cluster_power_interrupted(const OrrCluster *cluster,
                                              const OrrMachinePower *machine, double busy,
                                              double waiting, double gpus_w);

/* Whether what a node draws besides its boards is stated: a meter's reading, or its parts. */
gboolean orr_cluster_power_knows_nodes(const OrrClusterPower *power);

/* " without its memory, fans and network": the parts that are left out of the sum; "" where none
 * is. Newly allocated. */
char *orr_cluster_power_left_out(const OrrMachinePower *machine);

/* What a rack's cap leaves for each board, watts; 0: there is no cap. Needs the nodes' rest. */
double orr_cluster_power_board_cap_w(const OrrCluster *cluster);

/* Puts the boards' part of the rack's cap into the device's cap where it is the lower one. Adds a
 * finding at @place where the rest of a node is not stated, or nothing is left for boards. */
void orr_cluster_power_share_cap(OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

/* The table of `orrery describe cluster`: what each part of the machine as built draws, idle and
 * busy, and its rating. Newly allocated; "" where nothing is known. */
char *orr_cluster_power_text(const OrrFabric *fabric, const OrrCluster *cluster);

G_END_DECLS

#endif
