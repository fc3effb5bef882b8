/*
 * training_storage.h - what a job reads from and writes to a file system: checkpoints and data, as
 * bytes and as communications.
 */
#ifndef ORR_TRAINING_STORAGE_H
#define ORR_TRAINING_STORAGE_H

#include "workloads/training/comm/training_fold.h"
#include "workloads/training/comm/training_traffic.h"

G_BEGIN_DECLS

/* Of one lane. */
typedef struct {
  OrrCommPlan write, snapshot, load, data;
} OrrStorageTraffic;

/* By lane; newly allocated. */
OrrStorageTraffic *orr_storage_traffic_new(OrrTraffic *traffic, const OrrFold *fold);
void orr_storage_traffic_free(OrrStorageTraffic *storage, gsize n_lanes); /* NULL is fine */

double orr_training_storage_bytes(const OrrJob *job, OrrStorageUse use); /* of all GPUs, once */

G_END_DECLS

#endif
