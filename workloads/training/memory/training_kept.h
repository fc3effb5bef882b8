/*
 * training_kept.h - bytes of activations of one layer: what it keeps from forward to backward, and
 * what it needs in addition while it runs.
 */
#ifndef ORR_TRAINING_KEPT_H
#define ORR_TRAINING_KEPT_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

/* Kept by the @layer-th of a block's @layers, from one pass. */
double orr_training_kept_bytes(const OrrJob *job, const GArray *layers, gint64 layer);
/* Kept by one pass of a block: in the hosts' memory, or in the GPU's. */
double orr_training_kept_by_block(const OrrJob *job, const GArray *layers, gboolean in_host);

/* In addition, while a block's backward runs; and while a forward runs that keeps nothing. Layers
 * run one after another, so the largest counts. */
double orr_training_kept_backward_working(const OrrJob *job, const GArray *layers);
double orr_training_kept_forward_working(const OrrJob *job, const GArray *layers);

G_END_DECLS

#endif
