/*
 * executor_stuck.c - a deadlock, explained: who waits for what, and who would have to bring it.
 *
 *   3 streams wait for what nothing will end:
 *     stage 0/compute, op 2: event 0, to be recorded by stage 1/compute at its op 5
 *     stage 1/compute, op 0: comm 3 "send", 1 of 2 there; still to come: stage 0/compute at its op 7
 *     stage 2/dp, op 4: comm 9 "dp-gradients", all 8 there; its bytes are held
 */
#include "sim/base/fault.h"
#include "sim/engine/executor_private.h"

/* Lines and missing members that are written out; the rest is counted. */
#define MAX_LINES 16
#define MAX_NAMES 4

/* Among the stream's ops, that after the one it is in. */
static guint32 place_of(const OrrStreamState *state) { return state->call > 0 ? state->call : state->next_op; }

/* Appends "STREAM at its op N" for each op of that kind and target that is not replayed yet. */
static void add_missing(GString *text, const OrrExecutor *executor, OrrOpKind kind, guint32 target) {
  guint n_found = 0;
  for (guint32 stream = 0; stream < orr_program_n_streams(executor->program); stream++) {
    guint n_ops;
    const OrrOp *ops = orr_program_ops(executor->program, stream, &n_ops);
    for (guint32 i = place_of(&executor->streams[stream]); i < n_ops; i++) {
      if (ops[i].kind != kind || ops[i].target != target) continue;
      if (n_found++ >= MAX_NAMES) continue;
      g_autofree char *name = orr_program_stream_title(executor->program, stream);
      g_string_append_printf(text, "%s%s at its op %u", n_found > 1 ? ", " : "", name, i);
    }
  }
  if (n_found > MAX_NAMES) g_string_append_printf(text, " and %u more", n_found - MAX_NAMES);
}

static void add_waiting(GString *text, const OrrExecutor *executor, guint32 stream) {
  const OrrStreamState *state = &executor->streams[stream];
  const OrrOp *op = orr_stream_op(state);
  g_autofree char *name = orr_program_stream_title(executor->program, stream);
  g_string_append_printf(text, "\n  %s, op %u: ", name, place_of(state) - 1);
  if (op->kind == ORR_OP_COMM &&
      executor->comms[op->target].n_arrived == orr_program_comm_members(executor->program, op->target)) {
    g_string_append_printf(text, "comm %u \"%s\", all %u there; its bytes are held", op->target,
                           orr_program_label_name(executor->program, op->label), executor->comms[op->target].n_arrived);
  } else if (op->kind == ORR_OP_COMM) {
    g_string_append_printf(text, "comm %u \"%s\", %u of %u there; still to come: ", op->target,
                           orr_program_label_name(executor->program, op->label), executor->comms[op->target].n_arrived,
                           orr_program_comm_members(executor->program, op->target));
    add_missing(text, executor, ORR_OP_COMM, op->target);
  } else {
    g_string_append_printf(text, "event %u, to be recorded by ", op->target);
    add_missing(text, executor, ORR_OP_RECORD, op->target);
  }
}

/* Those that wait, a line each; how many. */
static guint add_all(GString *text, const OrrExecutor *executor) {
  guint n_waiting = 0;
  for (guint32 stream = 0; stream < orr_program_n_streams(executor->program); stream++) {
    if (!executor->streams[stream].waiting || orr_executor_is_lost(executor, stream, G_MAXDOUBLE)) continue;
    if (n_waiting++ < MAX_LINES) add_waiting(text, executor, stream);
  }
  if (n_waiting > MAX_LINES) g_string_append_printf(text, "\n  and %u more", n_waiting - MAX_LINES);
  return n_waiting;
}

void orr_executor_explain_stuck(const OrrExecutor *executor, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  if (error == NULL || !g_error_matches(*error, ORR_FAULT, ORR_FAULT_STUCK) || add_all(text, executor) == 0) return;
  g_autofree char *message = g_strconcat((*error)->message, "; who waits:", text->str, NULL);
  g_clear_error(error);
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_STUCK, message);
}

gboolean orr_executor_check_done(const OrrExecutor *executor, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  const guint n_waiting = add_all(text, executor);
  if (n_waiting == 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_STUCK, "deadlock: %u streams wait for what nothing will end:%s", n_waiting,
              text->str);
  return FALSE;
}
