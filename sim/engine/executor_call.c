/*
 * executor_call.c - streams inside routines, and the helper streams that join their overlapped
 * comms.
 *
 *   stream   ... CALL --> ops of the routine --> the op after the CALL
 *                           BESIDE: the helper joins the comm; MEET: the stream waits for it
 *   helper   idle -------> waiting for the comm -------> idle; a stream at MEET continues
 */
#include "sim/engine/executor_private.h"

void orr_executor_call_begin(OrrExecutor *executor, guint32 stream, guint32 routine) {
  OrrStreamState *state = &executor->streams[stream];
  state->call = state->next_op;
  state->next_op = 0;
  state->ops = orr_program_routine_ops(executor->program, routine, &state->n_ops);
}

gboolean orr_executor_call_end(OrrExecutor *executor, guint32 stream) {
  OrrStreamState *state = &executor->streams[stream];
  if (state->call == 0) return FALSE;
  state->next_op = state->call;
  state->call = 0;
  state->ops = orr_program_ops(executor->program, stream, &state->n_ops);
  return TRUE;
}

const OrrOp *orr_executor_call_op(const OrrExecutor *executor, guint32 stream) {
  const guint32 caller =
      executor->streams[stream].helps > 0 ? executor->streams[stream].helps - 1 : stream;
  const guint32 call = executor->streams[caller].call;
  const OrrStream *it = &g_array_index(executor->program->streams, OrrStream, caller);
  return call > 0 ? &g_array_index(it->ops, OrrOp, call - 1) : NULL;
}

guint32 orr_executor_call_helper(const OrrExecutor *executor, guint32 stream) {
  return orr_program_routine(executor->program, orr_executor_call_op(executor, stream)->target)
      ->helper;
}

void orr_executor_call_send_helper(OrrExecutor *executor, guint32 stream, guint32 op,
                                   double now_s) {
  const OrrStreamState *state = &executor->streams[stream];
  OrrStreamState *helper = &executor->streams[orr_executor_call_helper(executor, stream)];
  helper->ops = state->ops;
  helper->next_op = helper->n_ops = op + 1;
  helper->helps = stream + 1;
  helper->now_s = now_s;
}

gboolean orr_executor_call_meet(OrrExecutor *executor, guint32 stream) {
  OrrStreamState *state = &executor->streams[stream];
  const OrrStreamState *helper = &executor->streams[orr_executor_call_helper(executor, stream)];
  state->waiting = helper->helps > 0;
  if (!state->waiting) state->now_s = MAX(state->now_s, helper->now_s);
  return !state->waiting;
}

void orr_executor_call_helped(OrrExecutor *executor, guint32 stream) {
  OrrStreamState *helper = &executor->streams[stream];
  if (helper->helps == 0) return;
  const guint32 caller = helper->helps - 1;
  OrrStreamState *state = &executor->streams[caller];
  helper->helps = 0;
  if (!state->waiting) return; /* it has not reached MEET yet */
  state->waiting = FALSE;
  state->now_s = MAX(state->now_s, helper->now_s);
  orr_stream_list_append(executor->streams, &executor->ready, caller);
}
