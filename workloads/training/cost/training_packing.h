/*
 * training_packing.h - sequences packed with documents: how much attention each micro-batch has.
 */
#pragma once

#include "workloads/training/job/training_job.h"

extern const OrrFieldTable orr_training_packing_table;
gboolean orr_training_packing_is_on(const OrrPacking *packing);
void orr_training_packing_check(const OrrTraining *params, const OrrModel *model, OrrPlace place,
                                OrrDiags *diags);

typedef struct {
  double mean;    /* attention time, as a multiple of the time of one document per sequence */
  double *ratio;  /* of each micro-batch's attention time to the mean: by (step * dp + replica) *
                    micro-batches + micro-batch */
  double *images; /* of each micro-batch, as a multiple of encoder.images in each of its sequences;
                     NULL: 1 */
  /* pairs of queries and keys, as a fraction of one document's s^2, before causality */
  double pairs;
  double padding; /* tokens, as a fraction of all */
  /* of the documents' tokens, what longer ones than a sequence lose */
  double left_out;
} OrrPackedLoads;

OrrPackedLoads *orr_packed_loads_new(const OrrJob *job); /* NULL: not packed */
void orr_packed_loads_free(OrrPackedLoads *loads);

/* One piece of work of one micro-batch. */
typedef struct {
  gint64 step, replica;
  gint32 micro_batch; /* -1: none */
  double attention_s; /* the mean time of its attention */
} OrrPackedWork;

/* How much longer @work takes than in the mean; below 0: shorter. @loads may be NULL. */
double orr_packed_loads_late_s(const OrrPackedLoads *loads, const OrrJob *job,
                               const OrrPackedWork *work);
/* The images of @work's micro-batch, as a multiple of the images that the encoder is costed for. */
double orr_packed_loads_images(const OrrPackedLoads *loads, const OrrJob *job,
                               const OrrPackedWork *work);
