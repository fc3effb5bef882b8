/*
 * node_power.h - what the parts of a node draw besides its GPU boards.
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
 *   power: {parts: {cpu-idle: 130 W, cpu-busy: 450 W, efficiency: 0.94}}
 */
#ifndef ORR_NODE_POWER_H
#define ORR_NODE_POWER_H

#include "sim/base/diag.h"
#include "sim/base/field.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
