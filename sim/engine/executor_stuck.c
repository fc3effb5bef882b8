/*
 * executor_stuck.c - explains why a replay cannot end.
 *
 * Where a link that stays down holds communications, the message names the one that has waited
 * longest, its link, and since when. All others wait for it, directly or indirectly.
 *
 *   stage 0, replica 2 has waited since 1.02 s for gpu5.nic.tx, which went down at 1 s and
 *   stays down (pp-forward; ...
 *
 * Any other deadlock: what each stream waits for, and which stream has to provide it.
 *
 *   3 streams wait for what nothing will end:
 *     stage 0/compute, op 2: event 0, to be recorded by stage 1/compute at its op 5
 *     stage 1/compute, op 0: comm 3 "send", 1 of 2 there; still to come: stage 0/compute
 *     at its op 7
 */
#include "sim/engine/executor_private.h"

/* Lines and missing members printed in full; the others are only counted. */
#define MAX_LINES 16
#define MAX_NAMES 4

/* Index of the stream's op after the current one. */
static guint32 place_of(const OrrStreamState *state) {
  return state->call > 0 ? state->call : state->next_op;
}

/* Appends "STREAM at its op N" for each op of that kind and target that is not replayed yet. */
static void add_missing(GString *text, const OrrExecutor *executor, OrrOpKind kind,
                        guint32 target) {
  guint n_found = 0;
  for (guint32 stream = 0; stream < orr_program_n_streams(executor->program); stream++) {
    guint n_ops;
    const OrrOp *ops = orr_program_ops(executor->program, stream, &n_ops);
    for (guint32 i = place_of(&executor->streams[stream]); i < n_ops; i++) {
      if (ops[i].kind != kind || orr_program_target(executor->program, stream, i) != target)
        continue;
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
  const guint32 target = orr_stream_target(state);
  g_autofree char *name = orr_program_stream_title(executor->program, stream);
  g_string_append_printf(text, "\n  %s, op %u: ", name, place_of(state) - 1);
  if (op->kind == ORR_OP_COMM) {
    g_string_append_printf(text, "comm %u \"%s\", %u of %u there; still to come: ", target,
                           orr_program_label_name(executor->program, op->label),
                           executor->comms[target]->n_arrived,
                           orr_program_comm_members(executor->program, target));
    add_missing(text, executor, ORR_OP_COMM, target);
  } else {
    g_string_append_printf(text, "event %u, to be recorded by ", target);
    add_missing(text, executor, ORR_OP_RECORD, target);
  }
}

/* Appends a line per waiting stream; returns their number. */
static guint add_all(GString *text, const OrrExecutor *executor) {
  guint n_waiting = 0;
  for (guint32 stream = 0; stream < orr_program_n_streams(executor->program); stream++) {
    if (!executor->streams[stream].waiting || orr_executor_is_lost(executor, stream, G_MAXDOUBLE))
      continue;
    if (n_waiting++ < MAX_LINES) add_waiting(text, executor, stream);
  }
  if (n_waiting > MAX_LINES) g_string_append_printf(text, "\n  and %u more", n_waiting - MAX_LINES);
  return n_waiting;
}

/* --- Links that stay down --- */

typedef struct {
  guint32 stream, link;
  double down_s, since_s;
} Held;

/* The date since which @link has been down at the end of the replay; INFINITY where it is up. */
static double down_since(const OrrProgram *program, guint32 link) {
  const OrrFault *last = NULL;
  ORR_EACH(const OrrFault, fault, program->faults)
    if (fault->link == link && (!last || fault->at_s >= last->at_s)) last = fault;
  return last && last->factor == 0 ? last->at_s : INFINITY;
}

/* Keeps the comm of @stream where it waits for @link, @link is down, and none has waited longer. */
static void note_held(const OrrExecutor *executor, guint32 stream, const OrrCommState *comm,
                      guint32 link, Held *held) {
  const double down_s = down_since(executor->program, link), since_s = MAX(comm->started_s, down_s);
  if (since_s < held->since_s) *held = (Held){stream, link, down_s, since_s};
}

/* Whether all members have arrived, so that only its links can hold the comm. */
static void note_stream(const OrrExecutor *executor, guint32 stream, Held *held) {
  const OrrStreamState *state = &executor->streams[stream];
  const OrrOp *op = state->waiting ? orr_stream_op(state) : NULL;
  if (!op || op->kind != ORR_OP_COMM) return;
  const OrrCommState *comm = executor->comms[orr_stream_target(state)];
  if (comm->n_arrived != orr_program_comm_members(executor->program, orr_stream_target(state)))
    return;
  for (guint32 p = 0; p < comm->n_phases; p++) {
    guint n = 0;
    if (comm->phases[p].path == ORR_NO_PATH) continue;
    const OrrLinkUse *uses = orr_program_path_kept(executor->program, comm->phases[p].path, &n);
    for (guint u = 0; u < n; u++) note_held(executor, stream, comm, uses[u].link, held);
  }
}

static guint count_waiting(const OrrExecutor *executor) {
  guint n = 0;
  for (guint32 stream = 0; stream < orr_program_n_streams(executor->program); stream++)
    n += executor->streams[stream].waiting && !orr_executor_is_lost(executor, stream, G_MAXDOUBLE);
  return n;
}

/* NCCL's network plugin retries an unacknowledged packet, then the queue pair fails and the job
 * with it: NCCL_IB_RETRY_CNT (7) times 4.096 us 2^NCCL_IB_TIMEOUT (20 since NCCL 2.23), 30 s (NCCL
 * user guide, environment variables). Over shared memory and NVLink it waits for PyTorch's
 * watchdog, 600 s (torch.distributed.init_process_group, timeout). */
#define NCCL_GIVES_UP                                                                              \
  "NCCL would have given up after 30 s on a network (NCCL_IB_RETRY_CNT 7 x 4.096 us x "            \
  "2^NCCL_IB_TIMEOUT 20), PyTorch "                                                                \
  "after 600 s elsewhere"

void orr_executor_explain_stuck(const OrrExecutor *executor, GError **error) {
  const OrrProgram *program = executor->program;
  Held held = {ORR_NOBODY, 0, 0, INFINITY};
  if (error == NULL || !g_error_matches(*error, ORR_FAULT, ORR_FAULT_STUCK)) return;
  for (guint32 stream = 0; stream < orr_program_n_streams(program); stream++)
    note_stream(executor, stream, &held);
  if (held.stream == ORR_NOBODY) return;
  g_clear_error(error);
  const guint n_others = count_waiting(executor) - 1;
  g_autofree char *others =
      n_others > 0 ? g_strdup_printf("; %u more streams wait for it", n_others) : g_strdup("");
  g_set_error(
      error, ORR_FAULT, ORR_FAULT_STUCK,
      "%s has waited since %.6g s for %s, which went down at %g s and stays down "
      "(%s%s). " NCCL_GIVES_UP,
      orr_program_lane_name(program, orr_program_stream_lane(program, held.stream)), held.since_s,
      orr_program_link_name(program, held.link), held.down_s,
      orr_program_label_name(program, orr_stream_op(&executor->streams[held.stream])->label),
      others);
}

gboolean orr_executor_check_done(const OrrExecutor *executor, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  const guint n_waiting = add_all(text, executor);
  if (n_waiting == 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_STUCK,
                       "deadlock: %u streams wait for what nothing will end:%s", n_waiting,
                       text->str);
}
