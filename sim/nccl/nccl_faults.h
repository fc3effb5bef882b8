/*
 * nccl_faults.h - known reasons why nccl-tests prints less than a machine should reach, each as
 * changes of the scenario: a fault's curve is a replay, never a table.
 *
 *   no-gdr      --set cluster.node.gpudirect-rdma=false, traffic over the host bridge
 *   slow-nic    --set faults=[{at: 0 s, fault: {kind: nic, gpu: 8, bandwidth: 50 %}}]
 *
 * To add one: a row of the table in nccl_faults.c with the function that writes its settings.
 */
#ifndef ORR_NCCL_FAULTS_H
#define ORR_NCCL_FAULTS_H

#include "sim/nccl/nccl_curve.h"
#include "topologies/fabric.h"

G_BEGIN_DECLS

typedef struct {
  const char *name;     /* "no-gdr" */
  const char *sentence; /* "NICs do not read and write GPU memory (no GPUDirect RDMA)" */
  const char *check;    /* how a person confirms it */
} OrrNcclFault;

/* A fault in one strength. */
typedef struct {
  const OrrNcclFault *fault;
  char *strength;  /* "at 50 %"; "": it has one only */
  char **settings; /* of the scenario */
} OrrNcclSuspect;

/* The machine that was measured. */
typedef struct {
  const OrrCluster *cluster;
  const OrrFabric *fabric;
  const OrrNcclCurveQuestion *question;
} OrrNcclSite;

/* All faults that such a machine and run can have: array of OrrNcclSuspect, owned. */
GArray *orr_nccl_faults_suspects(const OrrNcclSite *site);

G_END_DECLS

#endif
