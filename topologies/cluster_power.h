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
 * follow the boards' load, hence the line; OrrNodePower has its parts, and what CPUs add to
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
#pragma once

#include "sim/base/diag.h"
#include "sim/base/field.h"

/* What the parts of a node draw besides its GPU boards.
 *
 *   cpu        idle + (busy - idle) cores busy / cores          all sockets, by host time
 *   memory, NICs, DPUs, scale-up switches inside the node       the same at any load
 *   fans       idle + load (busy - idle)                        load of the boards, 0 to 1
 *   loss       (1 - efficiency) of what the node draws, boards and all
 *   other      what a meter shows besides the boards, less all parts that are stated
 *
 * A node may be known by a meter (rest-idle, rest-busy of cluster_power.h), by its parts, or by
 * both. With a meter the node's rest is the meter's, plus what busy cores add to idle CPUs, at the
 * supplies' efficiency; the parts divide it, and `other` is what they leave: fans, drives, boards
 * of the node, in short whatever is not stated. Without a meter the rest is the sum of the parts
 * that are stated. Either way the parts add up to the rest. The line in cores is Fan, Weber,
 * Barroso, ISCA 2007 (within 5 % of their servers); power per core is higher while few are busy.
 *
 * Section `power.parts` of a cluster document:
 *
 *   power: {parts: {cpu-idle: 130 W, cpu-busy: 450 W, efficiency: 0.94}} */

typedef struct OrrCluster OrrCluster;

/* 0: not stated. */
typedef struct {
  char *source;
  double cpu_idle_w, cpu_busy_w; /* of all sockets; busy: all of node.host.cores */
  double memory_w;               /* of all its DRAM */
  double nic_w;                  /* of one, without optics */
  double dpu_w;                  /* of one */
  gint64 dpus;
  double scale_up_w;               /* of all switches of a scale-up domain inside the node */
  double fans_idle_w, fans_busy_w; /* of all */
  double efficiency;               /* of its supplies: power out over power in */
} OrrNodePower;

typedef enum {
  ORR_NODE_CPU,
  ORR_NODE_MEMORY,
  ORR_NODE_NIC,
  ORR_NODE_DPU,
  ORR_NODE_SCALE_UP,
  ORR_NODE_FAN,
  ORR_NODE_LOSS,
  ORR_NODE_OTHER,
  ORR_N_NODE_PARTS
} OrrNodePart;

extern const char *const orr_node_part_words[]; /* "cpu", "memory", ..., NULL */

/* What a node is asked to do. */
typedef struct {
  double boards_w; /* of its GPUs together */
  double load;     /* of them: 0 at static power, 1 at their limit */
  double cores;    /* that are busy, mean over time */
} OrrNodeLoad;

typedef struct {
  double part_w[ORR_N_NODE_PARTS]; /* NAN: not stated; 0: the node has none */
  double rest_w;                   /* all of them; NAN: neither a meter nor the CPUs are stated */
} OrrNodeDraw;

extern const OrrFieldTable orr_node_power_table;

OrrNodeDraw orr_node_power_draw(const OrrCluster *cluster, const OrrNodeLoad *load);

/* Boards at static power and idle CPUs; boards at their limit and all cores busy. */
OrrNodeLoad orr_node_power_idle(const OrrCluster *cluster);
OrrNodeLoad orr_node_power_busy(const OrrCluster *cluster);

/* How many pieces of @part a node has; 1 where they are stated together. */
double orr_node_power_pieces(const OrrCluster *cluster, OrrNodePart part);

/* Rules that span fields, and that parts draw no more than the meter shows. Findings at @place. */
void orr_node_power_check(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

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
