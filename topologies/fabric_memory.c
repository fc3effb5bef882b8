/*
 * fabric_memory.c - each node's host memory as a link, which carries the reads and writes of all
 * copies of its GPUs and of its CPU cores.
 */
#include "topologies/fabric_private.h"

gint64 orr_fabric_node(const OrrFabric *fabric, gint64 gpu) {
  return (fabric->gpu_of ? fabric->gpu_of[gpu] : gpu) / fabric->cluster->node.gpus;
}

gint64 orr_fabric_n_memory_links(const OrrFabric *fabric) {
  return fabric->cluster->node.host.memory_bytes_per_s > 0 ? orr_cluster_n_nodes(fabric->cluster)
                                                           : 0;
}

double orr_fabric_memory_bandwidth(const OrrFabric *fabric) {
  const OrrHostShape *host = &fabric->cluster->node.host;
  return host->memory_bytes_per_s * host->memory_efficiency;
}

guint32 orr_fabric_memory_link(const OrrFabric *fabric, gint64 gpu) {
  return (guint32)(fabric->memory_base + orr_fabric_node(fabric, gpu));
}
