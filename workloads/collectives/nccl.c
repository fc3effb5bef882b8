/*
 * nccl.c - the fields of a release of NCCL.
 */
#include "workloads/collectives/nccl.h"

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
