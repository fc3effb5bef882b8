/*
 * training_stage_send.h - boundary tensors sent and received between pipeline stages, as
 * operations.
 */
#ifndef ORR_TRAINING_STAGE_SEND_H
#define ORR_TRAINING_STAGE_SEND_H

#include "workloads/training/emit/training_emitter.h"

G_BEGIN_DECLS

/* The tensor between block @boundary of a direction and the block after it: the forward's output,
 * or the backward's gradient. */
typedef struct {
  gint64 direction, boundary;
  gint32 micro_batch;
  gboolean backward;
} OrrStageSend;

/* Whether the boundary lies between two stages: at the turning point of a V, one stage holds both
 * blocks. */
gboolean orr_stage_send_crosses(const OrrEmitter *e, const OrrStageSend *send);
void orr_stage_send_receive(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send);
void orr_stage_send_send(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send);

/* The stage that receives it. */
gint64 orr_stage_send_target(const OrrEmitter *e, const OrrStageSend *send);
/* Posts @sends and @receives (OrrStageSend) together, after the compute so far, and lets the
 * compute that follows wait for all of them. */
void orr_stage_send_exchange(OrrEmitter *e, const OrrLaneAt *lane, const GArray *sends,
                             const GArray *receives);

G_END_DECLS

#endif
