/*
 * program_seal.c - checks that a program can be replayed, then folds its links.
 *
 * After a seal, every index in ops, phases and paths exists, every duration and size is finite and
 * not negative, each comm has its joins and each event its record. So the executor checks nothing.
 */
#include "sim/engine/program_private.h"

static gboolean G_GNUC_PRINTF(2, 3) wrong(GError **error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdup_vprintf(format, args);
  va_end(args);
  return orr_fault_set(error, ORR_FAULT_INTERNAL, "program: %s", text);
}

static gboolean fine_number(double value) { return isfinite(value) && value >= 0; }

static gboolean check_links(const OrrProgram *program, GError **error) {
  ORR_EACH(const OrrProgramLink, link, program->links)
    if (!fine_number(link->bandwidth) || link->bandwidth == 0)
      return wrong(error, "link %s has a bandwidth of %g bytes/s", link->name, link->bandwidth);
  ORR_EACH_AT(i, const OrrFault, fault, program->faults)
    if (fault->link >= program->links->len || !fine_number(fault->at_s) ||
        !fine_number(fault->factor))
      return wrong(error, "fault %u is of link %u of %u, factor %g, at %g s", i, fault->link,
                   program->links->len, fault->factor, fault->at_s);
  ORR_EACH_AT(i, const OrrSlowdown, slow, program->slowdowns)
    if (slow->lane >= program->lanes->len || !fine_number(slow->at_s) ||
        !fine_number(slow->factor) || slow->factor == 0)
      return wrong(error, "slowdown %u is of lane %u of %u, factor %g, at %g s", i, slow->lane,
                   program->lanes->len, slow->factor, slow->at_s);
  ORR_EACH_AT(i, const OrrLoss, loss, program->losses)
    if (loss->lane >= program->lanes->len || !fine_number(loss->at_s))
      return wrong(error, "loss %u is of lane %u of %u, at %g s", i, loss->lane,
                   program->lanes->len, loss->at_s);
  return TRUE;
}

static gboolean check_epochs(const OrrProgram *program, GError **error) {
  for (guint e = 0; e < program->epochs->len; e++) {
    const OrrEpoch *epoch = &g_array_index(program->epochs, OrrEpoch, e),
                   *last = e > 0 ? epoch - 1 : NULL;
    const guint32 end =
        e + 1 < program->epochs->len ? epoch[1].first_reroute : program->reroutes->len;
    if (!fine_number(epoch->at_s) || (last && epoch->at_s <= last->at_s))
      return wrong(error, "epoch %u begins at %g s, the one before at %g s", e, epoch->at_s,
                   last ? last->at_s : 0);
    for (guint32 i = epoch->first_reroute; i < end; i++) {
      const OrrReroute *reroute = &g_array_index(program->reroutes, OrrReroute, i);
      if (reroute->comm >= program->comms->len ||
          (i > epoch->first_reroute && reroute->comm <= reroute[-1].comm))
        return wrong(error, "epoch %u gives another way to comm %u of %u, or not in order", e,
                     reroute->comm, program->comms->len);
    }
  }
  if (program->reroutes->len > 0 &&
      (program->epochs->len == 0 || g_array_index(program->epochs, OrrEpoch, 0).first_reroute > 0))
    return wrong(error, "comms take other ways before the first epoch");
  return TRUE;
}

static gboolean check_lanes(const OrrProgram *program, GError **error) {
  ORR_EACH(const OrrLane, lane, program->lanes) {
    const OrrInterference *it = &lane->interference;
    const double factors[] = {it->compute_by_comm, it->compute_by_copy, it->comm_by_compute,
                              it->comm_by_copy,    it->copy_by_compute, it->copy_by_comm};
    for (guint f = 0; f < G_N_ELEMENTS(factors); f++)
      if (!fine_number(factors[f]) || factors[f] < 1)
        return wrong(error, "lane %s is slowed by %g during other activity: 1 or more", lane->name,
                     factors[f]);
  }
  return TRUE;
}

static gboolean check_paths(const OrrProgram *program, GError **error) {
  g_autofree guint32 *seen_in = g_new0(guint32, program->links->len + 1); /* path + 1 */
  for (guint32 path = 0; path < orr_use_rows_n(&program->paths); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->paths, path, &n);
    for (guint i = 0; i < n; i++) {
      if (uses[i].link >= program->links->len || uses[i].weight == 0)
        return wrong(error, "path %u uses link %u of %u with weight %u", path, uses[i].link,
                     program->links->len, uses[i].weight);
      if (seen_in[uses[i].link] == path + 1)
        return wrong(error, "path %u names link %s twice", path,
                     orr_program_link_name(program, uses[i].link));
      seen_in[uses[i].link] = path + 1;
    }
  }
  return TRUE;
}

static gboolean phase_is_fine(const OrrProgram *program, const OrrPhase *phase) {
  return fine_number(phase->latency_s) && fine_number(phase->bytes) &&
         (phase->path == ORR_NO_PATH || phase->path < orr_use_rows_n(&program->paths));
}

static gboolean check_phases(const OrrProgram *program, GError **error) {
  for (guint32 comm = 0; comm < program->comms->len; comm++) {
    guint n;
    const OrrPhase *phases = orr_program_phases(program, comm, &n);
    for (guint i = 0; i < n; i++)
      if (!phase_is_fine(program, &phases[i]))
        return wrong(error, "comm %u, phase %u: %g s, %g bytes on path %u of %u", comm, i,
                     phases[i].latency_s, phases[i].bytes, phases[i].path,
                     orr_use_rows_n(&program->paths));
  }
  ORR_EACH(const OrrReroute, reroute, program->reroutes) {
    for (guint k = 0; k < reroute->n_phases; k++)
      if (!phase_is_fine(program,
                         &g_array_index(program->phases, OrrPhase, reroute->first_phase + k)))
        return wrong(error, "comm %u, phase %u of another way is wrong", reroute->comm, k);
  }
  return TRUE;
}

static gboolean check_op(const OrrProgram *program, const OrrOp *op, guint32 target) {
  switch ((OrrOpKind)op->kind) {
  case ORR_OP_WORK:
    return fine_number(op->duration_s) && op->label < program->labels->len;
  case ORR_OP_COMM:
    return target < program->comms->len && op->label < program->labels->len;
  case ORR_OP_RECORD:
  case ORR_OP_WAIT:
    return target < program->n_events;
  case ORR_OP_CALL:
    return target < program->routines->len && op->label < program->labels->len;
  case ORR_OP_BESIDE:
  case ORR_OP_MEET:
    return FALSE; /* in routines alone */
  }
  return FALSE;
}

static gboolean count_ops(const OrrProgram *program, guint32 *joins, guint32 *records,
                          GError **error) {
  for (guint32 stream = 0; stream < program->streams->len; stream++) {
    if (orr_program_stream_lane(program, stream) >= program->lanes->len)
      return wrong(error, "stream %u belongs to lane %u of %u", stream,
                   orr_program_stream_lane(program, stream), program->lanes->len);
    guint n;
    const OrrOp *ops = orr_program_ops(program, stream, &n);
    for (guint i = 0; i < n; i++) {
      const guint32 target = orr_program_target(program, stream, i);
      if (!check_op(program, &ops[i], target)) {
        g_autofree char *name = orr_program_stream_title(program, stream);
        return wrong(error, "stream %s, op %u: kind %u, %g s, target %u or label %u is wrong", name,
                     i, ops[i].kind, ops[i].duration_s, target, ops[i].label);
      }
      if (ops[i].kind == ORR_OP_COMM) joins[target]++;
      if (ops[i].kind == ORR_OP_RECORD) records[target]++;
    }
  }
  return TRUE;
}

static gboolean check_ops(const OrrProgram *program, GError **error) {
  /* One array holds both counts. */
  guint32 n = MAX(MAX(MAX(program->comms->len, program->n_events), program->routines->len), 1);
  g_autofree guint32 *joins = g_new0(guint32, n);
  g_autofree guint32 *records = g_new0(guint32, n);
  if (!orr_program_check_routines(program, joins, error) ||
      !count_ops(program, joins, records, error))
    return FALSE;
  for (guint32 comm = 0; comm < program->comms->len; comm++)
    if (joins[comm] != orr_program_comm_members(program, comm))
      return wrong(error, "comm %u has %u joins and %u members", comm, joins[comm],
                   orr_program_comm_members(program, comm));
  for (guint32 event = 0; event < program->n_events; event++)
    if (records[event] != 1)
      return wrong(error, "event %u is recorded %u times, not once", event, records[event]);
  return TRUE;
}

/* Barriers of what is repeated: every lane joins them. Dates that are given in advance do not
 * repeat. */
static gboolean check_repeat(const OrrProgram *program, GError **error) {
  const OrrProgramRepeat *repeat = &program->repeat;
  if (repeat->times == 0) return TRUE;
  if (repeat->from >= program->comms->len || repeat->to >= program->comms->len ||
      repeat->from == repeat->to ||
      orr_program_comm_members(program, repeat->from) != program->lanes->len ||
      orr_program_comm_members(program, repeat->to) != program->lanes->len)
    return wrong(
        error,
        "the operations between comms %u and %u of %u cannot repeat: the two are not barriers",
        repeat->from, repeat->to, program->comms->len);
  if (program->faults->len + program->slowdowns->len + program->losses->len + program->epochs->len >
      0)
    return wrong(error, "faults at a date and a repetition exclude each other");
  return TRUE;
}

/* Seconds per byte of a transfer alone on its path, set by the link that it loads most. */
static void time_paths(OrrProgram *program) {
  program->seconds_a_byte = g_new0(double, orr_use_rows_n(&program->kept) + 1);
  for (guint32 path = 0; path < orr_use_rows_n(&program->kept); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->kept, path, &n);
    double *slowest = &program->seconds_a_byte[path];
    for (guint u = 0; u < n; u++)
      *slowest = MAX(*slowest, uses[u].weight / orr_program_link_bandwidth(program, uses[u].link));
  }
}

gboolean orr_program_seal(OrrProgram *program, GError **error) {
  if (program->sealed) return wrong(error, "sealed twice");
  if (program->n_lost > 0)
    return wrong(error,
                 "%" G_GUINT64_FORMAT " ops or links name a stream or link that does not exist",
                 program->n_lost);
  if (!check_links(program, error) || !check_lanes(program, error) ||
      !check_epochs(program, error) || !check_paths(program, error) ||
      !check_phases(program, error) || !check_ops(program, error) || !check_repeat(program, error))
    return FALSE;
  orr_program_fold(program);
  time_paths(program);
  program->uncontended = program->reroutes->len == 0 && orr_program_find_uncontended(program);
  program->sealed = TRUE;
  return TRUE;
}
