/*
 * nccl.c - the fields of a release of NCCL, and the factors of nccl-tests' bus bandwidth.
 */
#include "workloads/collectives/nccl.h"

#include "workloads/collectives/collective.h"

const OrrFieldTable orr_nccl_table = ORR_FIELDS(
    "nccl", "What a release of NCCL can do.", OrrNccl,
    ORR_FIELD_BOOL(OrrNccl, "pxn", pxn, "true",
                   "Whether a message may cross NVLink to the GPU whose NIC is on the receiver's "
                   "rail (2.12). Without it a channel enters and leaves a node through one NIC, "
                   "and an all-to-all changes rails in the network."),
    ORR_FIELD_BOOL(OrrNccl, "nvls", nvls, "true",
                   "Whether all-reduces of one domain may be summed in the NVSwitch (2.17)."),
    ORR_FIELD_BOOL(OrrNccl, "nvls-tree", nvls_tree, "true",
                   "Whether all-reduces over several nodes may (2.18)."),
    ORR_FIELD_BOOL(OrrNccl, "mscclpp", mscclpp, "false",
                   "Whether RCCL runs MSCCL++'s kernels for small all-reduces inside a node "
                   "(RCCL_MSCCLPP_ENABLE=1): the profile's optional choices."),
    ORR_FIELD_BOOL(OrrNccl, "pat", pat, "false",
                   "Whether all-gathers and reduce-scatters of one GPU per node may run as trees "
                   "(2.23)."));

gint64 orr_nccl_gpus_per_switch(const OrrNccl *nccl, const OrrCluster *cluster) {
  return nccl->pxn ? 0 : cluster->node.host.gpus_per_switch;
}

double orr_collective_bus_factor(OrrCollectiveOp op, guint n) {
  if (n < 2) return op == ORR_BROADCAST || op == ORR_REDUCE || op == ORR_SEND_RECV ? 1 : 0;
  switch (op) {
  case ORR_ALL_REDUCE:
    return 2 * (n - 1.0) / n;
  case ORR_ALL_GATHER:
  case ORR_REDUCE_SCATTER:
  case ORR_ALL_TO_ALL:
    return (n - 1.0) / n;
  default:
    return 1;
  }
}
