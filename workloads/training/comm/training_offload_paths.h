/*
 * training_offload_paths.h - the paths of a program between GPUs and their hosts' memory.
 */
#ifndef ORR_TRAINING_OFFLOAD_PATHS_H
#define ORR_TRAINING_OFFLOAD_PATHS_H

#include "workloads/training/comm/training_fold.h"
#include "workloads/training/comm/training_traffic.h"

G_BEGIN_DECLS

/* Of all GPUs of one lane together. */
typedef struct {
  guint32 to_host, from_host;
  guint32 memory; /* within the hosts' memory */
} OrrOffloadPaths;

/* By lane; newly allocated. */
OrrOffloadPaths *orr_offload_paths_new(OrrTraffic *traffic, const OrrFold *fold);

/* Sets @links where the copies of @n_lanes lanes use them (orr_traffic_cover). */
void orr_offload_paths_cover(const OrrOffloadPaths *paths, guint n_lanes, const OrrTraffic *traffic,
                             guint8 *links);

G_END_DECLS

#endif
