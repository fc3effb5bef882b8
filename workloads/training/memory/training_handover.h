/*
 * training_handover.h - bytes that a stage holds of tensors sent to and from its neighbours.
 */
#ifndef ORR_TRAINING_HANDOVER_H
#define ORR_TRAINING_HANDOVER_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

extern const char *const orr_training_handover_words[]; /* "auto", "megatron", "torch", NULL */

typedef struct {
  double passing;  /* allocated in every step */
  double standing; /* allocated once */
  double merged;   /* all micro-batches' outputs, concatenated when no activations are left */
} OrrHandoverBytes;

/* @received: passes under way at the peak whose input came from another block. */
OrrHandoverBytes orr_handover_bytes_of(const OrrJob *job, gint64 stage, gint64 received);

G_END_DECLS

#endif
