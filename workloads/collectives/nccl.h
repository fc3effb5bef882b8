/*
 * nccl.h - what a release of NCCL can do that an older one cannot: the section `nccl` of every
 * workload that uses collectives. Stacks set it (workloads/stacks/nccl-*.yaml).
 *
 *   nccl: {pxn: false}      # before 2.12, March 2022
 *
 * Release notes: docs.nvidia.com/deeplearning/nccl/release-notes.
 */
#pragma once

#include "sim/base/field.h"
#include "topologies/cluster.h"

typedef struct {
  gboolean pxn;       /* 2.12: a message leaves through the NIC of another GPU of its node */
  gboolean nvls;      /* 2.17: all-reduce in the NVSwitch, in one domain */
  gboolean nvls_tree; /* 2.18: the same over several nodes */
  gboolean mscclpp;   /* RCCL: kernels of MSCCL++ for small all-reduces (RCCL_MSCCLPP_ENABLE=1) */
  gboolean pat;       /* 2.23: all-gather and reduce-scatter of one GPU per node by trees */
} OrrNccl;

extern const OrrFieldTable orr_nccl_table;

/* The section of a workload whose struct has a member `nccl`. */
#define ORR_NCCL_FIELD(type_)                                                                      \
  ORR_FIELD_SECTION(type_, "nccl", nccl, &orr_nccl_table, "{}",                                    \
                    "Features of the release of NCCL (stacks nccl-*).")

/* What OrrCollectiveContext.gpus_per_switch needs: 0 where @nccl has PXN. */
gint64 orr_nccl_gpus_per_switch(const OrrNccl *nccl, const OrrCluster *cluster);
