/*
 * program_routine.c - routines: built once, called many times.
 *
 * While a routine is being built, `outer` holds the stream's own ops, and ops added to the stream
 * go to the routine.
 */
#include "sim/engine/program_private.h"

static OrrStream *stream_at(const OrrProgram *program, guint32 stream) {
  return stream < program->streams->len ? &g_array_index(program->streams, OrrStream, stream)
                                        : NULL;
}

void orr_program_begin_routine(OrrProgram *program, guint32 stream, guint32 helper) {
  OrrStream *it = stream_at(program, stream);
  if (!it || it->outer || stream == helper) {
    program->n_lost++;
    return;
  }
  it->outer = it->ops;
  it->ops = g_array_new(FALSE, FALSE, sizeof(OrrOp));
  it->helper = helper;
}

guint32 orr_program_end_routine(OrrProgram *program, guint32 stream) {
  OrrStream *it = stream_at(program, stream);
  if (!it || !it->outer) {
    program->n_lost++;
    return 0;
  }
  const guint n = it->ops->len;
  const OrrRoutine routine = {orr_program_room(n), n, stream, it->helper};
  if (n > 0) memcpy(routine.ops, it->ops->data, n * sizeof(OrrOp));
  g_array_unref(it->ops);
  it->ops = g_steal_pointer(&it->outer);
  g_array_append_val(program->routines, routine);
  return program->routines->len - 1;
}

void orr_program_begin_loop(OrrProgram *program, guint32 stream) {
  OrrStream *it = stream_at(program, stream);
  if (it && it->outer)
    it->loop = it->ops->len;
  else
    program->n_lost++;
}

/* Another comm with the same phases; one that does not exist is left to seal. */
static guint32 comm_again(OrrProgram *program, guint32 comm) {
  if (comm >= program->comms->len) return comm;
  ORR_APPEND(program->comms, OrrComm, *orr_comm_of(program, comm));
  return program->comms->len - 1;
}

void orr_program_end_loop(OrrProgram *program, guint32 stream, gint64 times) {
  OrrStream *it = stream_at(program, stream);
  if (!it || !it->outer) {
    program->n_lost++;
    return;
  }
  const guint first = it->loop, n = it->ops->len - first;
  g_array_set_size(it->ops, first + (guint)times * n);
  for (guint i = first + n; i < it->ops->len; i++) {
    OrrOp *op = &g_array_index(it->ops, OrrOp, i);
    *op = g_array_index(it->ops, OrrOp, i - n);
    if (op->kind == ORR_OP_COMM || op->kind == ORR_OP_BESIDE)
      op->target = comm_again(program, op->target);
  }
}

const OrrOp *orr_program_routine_ops(const OrrProgram *program, guint32 routine, guint *ret_n) {
  const OrrRoutine *known =
      routine < program->routines->len ? orr_program_routine(program, routine) : NULL;
  *ret_n = known ? known->n_ops : 0;
  return known ? known->ops : NULL;
}

double *orr_program_routine_begins(const OrrProgram *program, guint32 routine) {
  const double beside =
      g_array_index(program->lanes, OrrLane,
                    orr_program_stream_lane(program, orr_program_routine(program, routine)->stream))
          .interference.compute_by_comm;
  guint n;
  const OrrOp *ops = orr_program_routine_ops(program, routine, &n);
  double *begins = g_new0(double, n + 1), flight_end = 0; /* end of the overlapped comm */
  for (guint i = 0; i < n; i++) {
    const double begin = begins[i],
                 shared = MAX(flight_end - begin, 0) / beside; /* work done during the comm */
    switch ((OrrOpKind)ops[i].kind) {
    case ORR_OP_WORK:
      begins[i + 1] = ops[i].duration_s <= shared
                          ? begin + ops[i].duration_s * beside
                          : MAX(begin, flight_end) + ops[i].duration_s - shared;
      break;
    case ORR_OP_BESIDE:
      flight_end = begin + orr_program_comm_alone(program, ops[i].target);
      begins[i + 1] = begin;
      break;
    case ORR_OP_MEET:
      begins[i + 1] = MAX(begin, flight_end);
      break;
    default:
      begins[i + 1] = begin + orr_program_comm_alone(program, ops[i].target);
    }
  }
  return begins;
}

/* --- checks --- */

static gboolean G_GNUC_PRINTF(3, 4)
    wrong(guint32 routine, GError **error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdup_vprintf(format, args);
  va_end(args);
  return orr_fault_set(error, ORR_FAULT_INTERNAL, "program: routine %u %s", routine, text);
}

static gboolean check_op(const OrrProgram *program, guint32 routine, const OrrOp *op,
                         gboolean is_beside, GError **error) {
  const OrrOpKind kind = op->kind;
  const gboolean joins = kind == ORR_OP_COMM || kind == ORR_OP_BESIDE;
  if (kind == ORR_OP_MEET)
    return is_beside || wrong(routine, error, "meets a comm that it did not begin");
  if (kind != ORR_OP_WORK && !joins) return wrong(routine, error, "has an op of kind %u", kind);
  if (op->label >= program->labels->len || !isfinite(op->duration_s) || op->duration_s < 0)
    return wrong(routine, error, "has an op of %g s, label %u", op->duration_s, op->label);
  if (joins && is_beside)
    return wrong(routine, error, "joins comm %u while another is under way", op->target);
  if (joins &&
      (op->target >= program->comms->len || orr_program_comm_members(program, op->target) != 1))
    return wrong(routine, error, "joins comm %u, which has not one member", op->target);
  return TRUE;
}

static gboolean check_routine(const OrrProgram *program, guint32 index, guint32 *joins,
                              GError **error) {
  const OrrRoutine *routine = orr_program_routine(program, index);
  gboolean is_beside = FALSE;
  guint n;
  const OrrOp *ops = orr_program_routine_ops(program, index, &n);
  for (guint i = 0; i < n; i++) {
    if (!check_op(program, index, &ops[i], is_beside, error)) return FALSE;
    if (ops[i].kind == ORR_OP_COMM || ops[i].kind == ORR_OP_BESIDE) joins[ops[i].target]++;
    if (ops[i].kind == ORR_OP_BESIDE && (routine->helper >= program->streams->len ||
                                         orr_program_stream_lane(program, routine->helper) !=
                                             orr_program_stream_lane(program, routine->stream) ||
                                         stream_at(program, routine->helper)->ops->len > 0))
      return wrong(index, error, "is helped by stream %u, which has ops or is of another lane",
                   routine->helper);
    is_beside = ops[i].kind == ORR_OP_BESIDE || (is_beside && ops[i].kind != ORR_OP_MEET);
  }
  return !is_beside || wrong(index, error, "ends before a comm that it began");
}

/* One stream calls a routine, so that it never runs twice at a time. */
static gboolean check_calls(const OrrProgram *program, guint32 stream, GError **error) {
  guint n;
  const OrrOp *ops = orr_program_ops(program, stream, &n);
  for (guint i = 0; i < n; i++) {
    if (ops[i].kind != ORR_OP_CALL || ops[i].target >= program->routines->len) continue;
    const guint32 own = orr_program_routine(program, ops[i].target)->stream;
    if (own != stream)
      return wrong(ops[i].target, error, "of stream %u is called by stream %u", own, stream);
  }
  return TRUE;
}

gboolean orr_program_check_routines(const OrrProgram *program, guint32 *joins, GError **error) {
  for (guint32 routine = 0; routine < program->routines->len; routine++)
    if (!check_routine(program, routine, joins, error)) return FALSE;
  for (guint32 stream = 0; stream < program->streams->len; stream++) {
    if (stream_at(program, stream)->outer)
      return wrong(program->routines->len, error, "was begun and not ended");
    if (!check_calls(program, stream, error)) return FALSE;
  }
  return TRUE;
}
