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
 * follow the boards' load, hence the line. Switches, optics and servers are counted (bill.h) and
 * draw the same at any load; a job has its GPUs' part of them. What the document does not state of
 * a part that the machine has is unknown, NAN, and left out of the sum. The building's share on top
 * is pue (prices.h).
 *
 * A rack's supplies carry `cap` for `cap-nodes` nodes. Their boards share evenly what the busy
 * nodes' rest leaves:
 *
 *   cap of a board = (cap / cap-nodes - rest-busy) / GPUs of a node
 *
 * Section `power` of a cluster document; without it nothing is known of the machine's power.
 */
#ifndef ORR_CLUSTER_POWER_H
#define ORR_CLUSTER_POWER_H

#include "sim/base/diag.h"
#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct OrrCluster OrrCluster;
typedef struct OrrFabric OrrFabric;

typedef struct {
  char *source;
  double rest_idle_w, rest_busy_w; /* of a node, without its GPU boards; busy 0: unknown */
  double rated_w;                  /* of a node with its GPUs, the vendor's maximum; 0: unknown */
  double switch_w, optic_w, server_w; /* one piece; 0: unknown. A switch is without its optics */
  double scale_up_switch_w;           /* of a domain that spans nodes; 0: in the nodes' rest */
  double cap_w;                       /* of the supplies of cap_nodes nodes; 0: no cap */
  gint64 cap_nodes;
} OrrClusterPower;

/* Mean watts of a job's part of the machine. NAN: not stated; NAN boards make all of it NAN. */
typedef struct {
  double nodes_w;   /* their rest, without boards */
  double network_w; /* 0 where there is nothing to count */
  double storage_w; /* the same */
  double all_w;     /* with boards; NAN without nodes_w; unknown network and storage left out */
} OrrMachinePower;

extern const OrrFieldTable orr_cluster_power_table;

/* For a job on @gpus of the machine's GPUs, which draw @gpu_w together; before PUE. */
OrrMachinePower orr_cluster_power_machine(const OrrFabric *fabric, const OrrCluster *cluster,
                                          double gpus, double gpu_w);

/* What a rack's cap leaves for each board, watts; 0: there is no cap. Needs rest_busy_w. */
double orr_cluster_power_board_cap_w(const OrrCluster *cluster);

/* Puts the boards' part of the rack's cap into the device's cap where it is the lower one. Adds a
 * finding at @place where the rest of a node is not stated, or nothing is left for boards. */
void orr_cluster_power_share_cap(OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

/* "1.33 MW: 128 nodes of 10.2 kW, switches and optics 20 kW"; newly allocated; NULL: nothing is
 * known. */
char *orr_cluster_power_text(const OrrFabric *fabric, const OrrCluster *cluster);

G_END_DECLS

#endif
