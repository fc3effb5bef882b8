/*
 * executor_reroute.c - communications that change at a date: they are rerouted, or their lanes are
 * lost.
 *
 *   epoch          0                1                2
 *   date           0 ---------------+----------------+------->
 *   comm 3's       own              rerouted         own
 *
 * A comm that starts in epoch 1 has the phases of epoch 1. A comm in flight at the date of epoch 1
 * is moved, beginning with the rest of its current phase.
 *
 * Invariants
 *  1. A comm has the phases of the last epoch that began at or before its start, or of a later one
 *  that began while it was in flight, with as many phases, if the same ones send bytes.
 *  2. At each epoch all comms are checked once: the cost is linear in comms, and zero without
 *     epochs.
 */
#include "sim/engine/executor_private.h"

static const OrrEpoch *epoch_at(const OrrProgram *program, guint index) {
  return &g_array_index(program->epochs, OrrEpoch, index);
}

static int compare_reroutes(const void *a, const void *b) {
  const OrrReroute *x = a, *y = b;
  return (x->comm > y->comm) - (x->comm < y->comm);
}

/* The phases of @comm in epoch @index, or its own; the epoch before the first has index -1. */
static const OrrPhase *phases_in(const OrrProgram *program, gint64 index, guint32 comm,
                                 guint *ret_n) {
  if (index < 0) return orr_program_phases(program, comm, ret_n);
  const guint32 first = epoch_at(program, index)->first_reroute;
  const guint32 end = index + 1 < program->epochs->len ? epoch_at(program, index + 1)->first_reroute
                                                       : program->reroutes->len;
  const OrrReroute key = {comm, 0, 0}, *all = (const OrrReroute *)(void *)program->reroutes->data;
  const OrrReroute *found =
      end > first ? bsearch(&key, all + first, end - first, sizeof key, compare_reroutes) : NULL;
  if (!found) return orr_program_phases(program, comm, ret_n);
  *ret_n = found->n_phases;
  return (const OrrPhase *)(void *)program->phases->data + found->first_phase;
}

void orr_executor_choose_phases(const OrrExecutor *executor, OrrCommState *comm) {
  const OrrProgram *program = executor->program;
  gint64 index = -1;
  while (index + 1 < program->epochs->len && epoch_at(program, index + 1)->at_s <= comm->started_s)
    index++;
  comm->phases = phases_in(program, index, comm->comm, &comm->n_phases);
}

static gboolean same_uses(const OrrLinkUse *a, guint n_a, const OrrLinkUse *b, guint n_b) {
  return n_a == n_b && memcmp(a, b, n_a * sizeof *a) == 0;
}

static void comm_moves(OrrExecutor *executor, OrrCommState *comm, const OrrPhase *phases) {
  const OrrPhase *old = comm->phases;
  comm->phases = phases;
  if (comm->transfer == NULL) return;
  guint n_old = 0, n_new = 0;
  const guint32 now = comm->phase - 1; /* of the transfer in flight */
  const OrrLinkUse *before = orr_use_rows_get(&executor->uses, old[now].path, &n_old);
  const OrrLinkUse *after = orr_use_rows_get(&executor->uses, phases[now].path, &n_new);
  if (phases[now].bytes == old[now].bytes && same_uses(before, n_old, after, n_new)) return;
  comm->transfer =
      orr_engine_move(executor->engine, comm->transfer, phases[now].bytes, after, n_new);
  if (comm->transfer) orr_engine_drag(executor->engine, comm->transfer, comm->drag);
}

static gboolean sends(const OrrPhase *phase) {
  return phase->path != ORR_NO_PATH && phase->bytes > 0;
}

/* Whether one may go on where the other is. */
static gboolean same_shape(const OrrPhase *a, const OrrPhase *b, guint n) {
  for (guint i = 0; i < n; i++)
    if (sends(&a[i]) != sends(&b[i])) return FALSE;
  return TRUE;
}

static gboolean is_under_way(const OrrExecutor *executor, const OrrCommState *comm) {
  return comm->n_arrived == orr_program_comm_members(executor->program, comm->comm) &&
         comm->members.first != ORR_NOBODY;
}

static void epoch_begins(void *user) {
  const OrrDatedCall *call = user;
  OrrExecutor *executor = call->executor;
  for (guint32 i = 0; i < orr_program_n_comms(executor->program); i++) {
    OrrCommState *comm = executor->comms[i];
    guint n = 0;
    if (!comm || !is_under_way(executor, comm)) continue;
    const OrrPhase *phases = phases_in(executor->program, call->index, i, &n);
    if (n == comm->n_phases && phases != comm->phases && same_shape(phases, comm->phases, n))
      comm_moves(executor, comm, phases);
  }
}

gboolean orr_executor_comm_is_lost(const OrrExecutor *executor, const OrrCommState *comm,
                                   double now_s) {
  if (executor->lost_s == NULL || comm->members.first == ORR_NOBODY) return FALSE;
  return executor->lost_s[executor->streams[comm->members.first].lane] <= now_s;
}

static void lane_is_lost(void *user) {
  const OrrDatedCall *call = user;
  OrrExecutor *executor = call->executor;
  for (guint32 i = 0; i < orr_program_n_comms(executor->program); i++) {
    OrrCommState *comm = executor->comms[i];
    if (!comm || comm->transfer == NULL ||
        !orr_executor_comm_is_lost(executor, comm, orr_engine_now(executor->engine)))
      continue;
    orr_engine_drop(executor->engine, comm->transfer);
    comm->transfer = NULL;
  }
}

static void plan_losses(OrrExecutor *executor) {
  const GArray *losses = executor->program->losses;
  const guint n_lanes = orr_program_n_lanes(executor->program);
  if (losses->len == 0) return;
  executor->lost_s = g_new(double, n_lanes + 1);
  executor->losses = g_new0(OrrDatedCall, losses->len);
  for (guint lane = 0; lane < n_lanes; lane++) executor->lost_s[lane] = G_MAXDOUBLE;
  ORR_EACH_AT(i, const OrrLoss, loss, losses) {
    executor->lost_s[loss->lane] = MIN(executor->lost_s[loss->lane], loss->at_s);
    executor->losses[i] = (OrrDatedCall){executor, i};
    if (i > 0 && loss->at_s == g_array_index(losses, OrrLoss, i - 1).at_s)
      continue; /* one check for all epochs of a date */
    orr_engine_at(executor->engine, loss->at_s, lane_is_lost, &executor->losses[i]);
  }
}

void orr_executor_plan_changes(OrrExecutor *executor) {
  const GArray *epochs = executor->program->epochs;
  plan_losses(executor);
  executor->epochs = g_new0(OrrDatedCall, epochs->len + 1);
  for (guint i = 0; i < epochs->len; i++) {
    executor->epochs[i] = (OrrDatedCall){executor, i};
    orr_engine_at(executor->engine, g_array_index(epochs, OrrEpoch, i).at_s, epoch_begins,
                  &executor->epochs[i]);
  }
}

void orr_executor_clear_changes(OrrExecutor *executor) {
  ORR_FREE(executor->epochs, executor->losses, executor->lost_s);
}
