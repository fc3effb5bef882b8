/*
 * cluster_power.h - what a machine draws besides the boards of its GPUs.
 *
 *   machine = GPUs + nodes' rest + switches + optics
 *   rest    = idle + load (busy - idle)       load = (GPU power - static) / (limit - static)
 *
 * A node's rest is what its meter shows less its boards: CPUs and their memory, NICs and DPUs,
 * switches of the scale-up domain, drives, fans, and what power supplies lose. Fans and supplies
 * follow the boards' load, hence the line. Switches and optics are counted from the fabric (bill.h)
 * and draw the same at any load; a job has its GPUs' part of them. The building's share on top is
 * pue (prices.h).
 *
 * Section `power` of a cluster document; without it nothing is known of the machine's power.
 */
#ifndef ORR_CLUSTER_POWER_H
#define ORR_CLUSTER_POWER_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct OrrCluster OrrCluster;
typedef struct OrrFabric OrrFabric;

typedef struct {
  char *source;
  double rest_idle_w, rest_busy_w; /* of a node, without its GPU boards; busy 0: unknown */
  double rated_w;                  /* of a node with its GPUs, the vendor's maximum; 0: unknown */
  double switch_w, optic_w;        /* one switch without optics, one transceiver */
} OrrClusterPower;

extern const OrrFieldTable orr_cluster_power_table;

/* Watts of the machine for a job on @gpus of its GPUs, which draw @gpu_w together; before PUE. NAN
 * where the cluster does not state its nodes' rest, or @gpu_w is NAN. */
double orr_cluster_power_machine_w(const OrrFabric *fabric, const OrrCluster *cluster, double gpus,
                                   double gpu_w);

/* "1.33 MW: 128 nodes of 10.2 kW, switches and optics 20 kW"; newly allocated; NULL: nothing is
 * known. */
char *orr_cluster_power_text(const OrrFabric *fabric, const OrrCluster *cluster);

G_END_DECLS

#endif
