/*
 * training_calls.c - counts how often a step makes each planned communication, in the program.
 *
 * Buckets, chunks of an overlap and layers of several sizes share a name, so no count that is known
 * when one of them is planned holds for all. Where tensors are sent one after the other, one
 * communication carries out several plans: each counts.
 */
#include "workloads/training/comm/training_traffic.h"

typedef struct {
  const OrrTraffic *traffic;
  gint64 *calls; /* by row */
  gint64 steps;
} Tally;

static void add_comm(Tally *tally, guint32 comm) {
  const GArray *rows = tally->traffic->row_of_path;
  guint n;
  const OrrPhase *phases = orr_program_phases(tally->traffic->program, comm, &n);
  OrrPlannedCollective *first = NULL;
  for (guint k = 0; k < n; k++) {
    const guint32 row =
        phases[k].path < rows->len ? g_array_index(rows, guint32, phases[k].path) : 0;
    if (row == 0) continue;
    OrrPlannedCollective *planned =
        &g_array_index(tally->traffic->collectives, OrrPlannedCollective, row - 1);
    tally->calls[row - 1]++;
    if (first) first->within = planned->within = TRUE;
    first = planned;
  }
}

static void add_op(Tally *tally, const OrrOp *op, guint32 target) {
  const OrrProgram *program = tally->traffic->program;
  if (op->kind == ORR_OP_COMM || op->kind == ORR_OP_BESIDE) add_comm(tally, target);
  if (op->kind == ORR_OP_WORK)
    tally->steps += g_str_equal(orr_program_label_category(program, op->label), "step");
  guint n = 0;
  const OrrOp *ops = op->kind == ORR_OP_CALL ? orr_program_routine_ops(program, target, &n) : NULL;
  for (guint i = 0; i < n; i++) add_op(tally, &ops[i], ops[i].target);
}

static void add_stream(Tally *tally, guint32 stream) {
  guint n;
  const OrrOp *ops = orr_program_ops(tally->traffic->program, stream, &n);
  for (guint i = 0; i < n; i++)
    add_op(tally, &ops[i], orr_program_target(tally->traffic->program, stream, i));
}

void orr_traffic_count(OrrTraffic *traffic, guint n_classes) {
  const guint n_rows = traffic->collectives->len;
  g_autofree gboolean *known = g_new0(gboolean, n_rows + 1);
  for (gint64 stage = 0; stage < traffic->job->pp; stage++) {
    g_autofree gint64 *calls = g_new0(gint64, n_rows + 1);
    Tally tally = {traffic, calls, 0};
    for (guint32 stream = 0; stream < orr_program_n_streams(traffic->program); stream++)
      if (orr_program_stream_lane(traffic->program, stream) == stage * n_classes)
        add_stream(&tally, stream);
    ORR_EACH_AT(row, OrrPlannedCollective, planned, traffic->collectives) {
      if (known[row] || calls[row] == 0) continue;
      known[row] = TRUE;
      planned->count = (calls[row] + tally.steps / 2) / MAX(tally.steps, 1);
    }
  }
}
