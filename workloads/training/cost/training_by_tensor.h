/*
 * training_by_tensor.h - what it costs that weights and gradients travel tensor by tensor (zero-3's
 * by-tensor), in addition to their collectives.
 */
#ifndef ORR_TRAINING_BY_TENSOR_H
#define ORR_TRAINING_BY_TENSOR_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

/* Seconds that the lists of a layer's tensors take of its lane, by kind of time: in a forward, in a
 * backward (two gathers), and after the backward. */
typedef struct {
  double gather[ORR_N_TIMES], again[ORR_N_TIMES], scatter[ORR_N_TIMES];
} OrrListWork;

OrrListWork orr_list_work_of(const OrrJob *job, guint spec);

/* of double: the parameters of each sharded tensor of a layer, in the order of the backward. */
GArray *orr_training_by_tensor_sizes(const OrrJob *job, guint spec);
/* The ones of @tensors that are gathered once more, between the layer's recomputation and its
 * backward. */
GArray *orr_training_by_tensor_regathered(const OrrJob *job, guint spec, const GArray *tensors);

G_END_DECLS

#endif
