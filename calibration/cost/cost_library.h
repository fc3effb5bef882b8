/*
 * cost_library.h - what the exchange of experts' tokens (workloads/collectives/expert_exchange.c)
 * asks about rows of kernels beyond their times: over which ranks and nodes they were measured.
 */
#pragma once

#include "calibration/cost/cost.h"

/* Whether @library sends each token straight to the rank of each of its experts, a copy for each
 * expert: low-latency kernels (by the end of their name) and pplx-garden. The others send one copy
 * to each domain, which forwards it. */
gboolean orr_cost_library_is_direct(const char *library);

/* One shape's rows of a kernel. */
typedef struct {
  gint64 ranks;
  gint64 gpus_per_node;   /* 0: all ranks shared a scale-up domain */
  double nic_bytes_per_s; /* of a GPU; 0: not stated */
} OrrLibraryRows;

/* For a call over nodes: the rows of its kernel whose number of ranks is nearest to the call's, by
 * ratio; rows that crossed nodes, too, and state their NICs' rate, come first. FALSE: the kernel
 * has no rows, or none but over nodes without a rate. */
gboolean orr_cost_library_nearest(const OrrCostModel *model, const OrrLibraryCall *call,
                                  OrrLibraryRows *ret_rows);
