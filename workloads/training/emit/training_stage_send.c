/*
 * training_stage_send - sender and receiver join the same communication, each on its own stream.
 */
#include "workloads/training/emit/training_emitter.h"

static gint64 stage_of(const OrrEmitter *e, gint64 direction, gint64 block) {
  return orr_pipeline_stage(e->job->schedule, &e->job->shape, (OrrPipelinePlace){direction, block});
}

gboolean orr_stage_send_crosses(const OrrEmitter *e, const OrrStageSend *send) {
  return stage_of(e, send->direction, send->boundary) !=
             stage_of(e, send->direction, send->boundary + 1) ||
         e->job->schedule->blocks == ORR_BLOCKS_LOOP;
}

/* Whether the model continues on the previous stage at this boundary. */
static gboolean is_reversed(const OrrEmitter *e, const OrrStageSend *send) {
  if (e->job->schedule->blocks == ORR_BLOCKS_LOOP) return FALSE;
  return stage_of(e, send->direction, send->boundary) >
         stage_of(e, send->direction, send->boundary + 1);
}

static guint32 transfer_comm(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *s) {
  const gsize row = ((gsize)lane->class * 2 + s->backward) * e->directions + s->direction;
  guint32 *slot =
      &e->transfers[(row * e->blocks + s->boundary) * e->job->shape.micro_batches + s->micro_batch];
  const gboolean reversed = is_reversed(e, s);
  const gint64 stage = stage_of(e, s->direction, s->boundary + (reversed ? 1 : 0));
  const gboolean back = s->backward != reversed;
  return orr_emitter_once(
      e, slot, 2, &e->plan->stages.transfers[(lane->class * e->job->pp + stage) * 2 + back]);
}

static guint32 label_of(OrrEmitter *e, const OrrStageSend *send) {
  guint32 *label = &e->handover_labels[send->backward];
  if (*label == G_MAXUINT32)
    *label =
        orr_emitter_comm_label(e, send->backward ? "pp-backward" : "pp-forward", ORR_TIME_PP_COMM);
  return *label;
}

static guint32 receiving_stream(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send) {
  static const OrrTrainingStream streams[2][2] = {{ORR_STREAM_RECV_PREV, ORR_STREAM_RECV_NEXT},
                                                  {ORR_STREAM_RECV_NEXT_2, ORR_STREAM_RECV_PREV_2}};
  return orr_emitter_stream(e, lane, streams[is_reversed(e, send)][send->backward]);
}

static guint32 sending_stream(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send) {
  static const OrrTrainingStream streams[2][2] = {{ORR_STREAM_SEND_NEXT, ORR_STREAM_SEND_PREV},
                                                  {ORR_STREAM_SEND_PREV_2, ORR_STREAM_SEND_NEXT_2}};
  return orr_emitter_stream(e, lane, streams[is_reversed(e, send)][send->backward]);
}

void orr_stage_send_receive(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send) {
  const guint32 stream = receiving_stream(e, lane, send);
  const guint32 arrived = orr_program_event(e->program);
  orr_program_join(e->program, stream, transfer_comm(e, lane, send), label_of(e, send),
                   send->micro_batch);
  orr_program_record(e->program, stream, arrived);
  orr_program_wait(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE), arrived);
}

void orr_stage_send_send(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send) {
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  const guint32 stream = sending_stream(e, lane, send);
  orr_emitter_wait_for(e, compute, stream);
  orr_program_join(e->program, stream, transfer_comm(e, lane, send), label_of(e, send),
                   send->micro_batch);
  if (!e->job->params->pipeline_comm.overlap_p2p) orr_emitter_wait_for(e, stream, compute);
}

gint64 orr_stage_send_target(const OrrEmitter *e, const OrrStageSend *send) {
  return stage_of(e, send->direction, send->boundary + !send->backward);
}

void orr_stage_send_exchange(OrrEmitter *e, const OrrLaneAt *lane, const GArray *sends,
                             const GArray *receives) {
  const guint32 compute = orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE);
  const guint n = sends->len + receives->len;
  g_autofree guint32 *streams = g_new(guint32, n + 1);
  for (guint i = 0; i < n; i++) {
    const gboolean is_send = i < sends->len;
    const OrrStageSend *transfer = is_send ? &g_array_index(sends, OrrStageSend, i)
                                           : &g_array_index(receives, OrrStageSend, i - sends->len);
    streams[i] = is_send ? sending_stream(e, lane, transfer) : receiving_stream(e, lane, transfer);
    orr_emitter_wait_for(e, compute, streams[i]);
    orr_program_join(e->program, streams[i], transfer_comm(e, lane, transfer),
                     label_of(e, transfer), transfer->micro_batch);
  }
  for (guint i = 0; i < n; i++) orr_emitter_wait_for(e, streams[i], compute);
}
