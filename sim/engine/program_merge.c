/*
 * program_merge.c - appends the arrays of all parts; only links are looked up, so that parts can
 * share them.
 */
#include "sim/engine/program_merge.h"

#include "sim/engine/program_private.h"

/* The merged program's number of each link of @part. */
static guint32 *merge_links(OrrProgram *merged, const OrrProgramPart *part, GHashTable *known) {
  guint32 *numbers = g_new(guint32, part->program->links->len + 1);
  for (guint32 i = 0; i < part->program->links->len; i++) {
    const OrrProgramLink *link = &g_array_index(part->program->links, OrrProgramLink, i);
    const gpointer thing = GUINT_TO_POINTER(part->links[i]);
    gpointer found = NULL;
    if (!g_hash_table_lookup_extended(known, thing, NULL, &found)) {
      found = GUINT_TO_POINTER(
          orr_program_link(merged, orr_program_link_name(part->program, i), link->bandwidth));
      g_hash_table_insert(known, thing, found);
    }
    numbers[i] = GPOINTER_TO_UINT(found);
    if (link->keep) orr_program_keep_link(merged, numbers[i]);
    if (link->is_shared) orr_program_share_link(merged, numbers[i]);
    if (part->ret_links) part->ret_links[i] = numbers[i];
  }
  return numbers;
}

static guint32 merge_paths(OrrProgram *merged, const OrrProgram *part, const guint32 *links) {
  const guint32 first = orr_use_rows_n(&merged->paths);
  for (guint32 path = 0; path < orr_use_rows_n(&part->paths); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&part->paths, path, &n);
    for (guint i = 0; i < n; i++)
      ORR_APPEND(merged->paths.uses, OrrLinkUse, {links[uses[i].link], uses[i].weight});
    orr_use_rows_end_row(&merged->paths);
  }
  return first;
}

static void merge_comms(OrrProgram *merged, const OrrProgram *part, guint32 first_path) {
  const guint32 first_phase = merged->phases->len;
  ORR_EACH_VALUE(OrrPhase, phase, part->phases) {
    if (phase.path != ORR_NO_PATH) phase.path += first_path;
    g_array_append_val(merged->phases, phase);
  }
  ORR_EACH_VALUE(OrrComm, comm, part->comms) {
    comm.first_phase += first_phase;
    g_array_append_val(merged->comms, comm);
  }
}

/* Labels are appended, not looked up, so that a label's number is the part's plus an offset. */
static void merge_labels(OrrProgram *merged, const OrrProgram *part) {
  ORR_EACH(const OrrLabel, known, part->labels)
    ORR_APPEND(merged->labels, OrrLabel,
               {g_string_chunk_insert_const(merged->names, known->name),
                g_string_chunk_insert_const(merged->names, known->category), known->fixed_share});
}

/* --- Numbers of ops and spans ---
 *
 * Ops and spans refer to other objects by number, and each number is shifted by its part's offset.
 * Only the two functions below decide which members are such numbers. Both list every member, in
 * order, in one initializer, so that a member added to OrrOp or OrrSpan is noticed here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"

static guint32 shift_of_target(const OrrProgramOffset *offset, guint8 kind) {
  switch ((OrrOpKind)kind) {
  case ORR_OP_COMM:
  case ORR_OP_BESIDE:
    return offset->first_comm;
  case ORR_OP_RECORD:
  case ORR_OP_WAIT:
    return offset->first_event;
  case ORR_OP_CALL:
    return offset->first_routine;
  case ORR_OP_WORK:
  case ORR_OP_MEET:
    return 0;
  }
  g_return_val_if_reached(0);
}

static gboolean has_label(guint8 kind) {
  return kind != ORR_OP_RECORD && kind != ORR_OP_WAIT && kind != ORR_OP_MEET;
}

static OrrOp merged_op(const OrrOp *op, const OrrProgramOffset *offset) {
  return (OrrOp){op->duration_s, op->label + (has_label(op->kind) ? offset->first_label : 0),
                 op->target + shift_of_target(offset, op->kind), op->tag, op->kind};
}

/* Shifts a number, except "none". */
static guint32 shift_back(guint32 number, guint32 first) {
  return number == G_MAXUINT32 ? number : number - first;
}

OrrSpan orr_program_part_span(const OrrSpan *span, const OrrProgramOffset *offset) {
  return (OrrSpan){span->stream - offset->first_stream,
                   span->label - offset->first_label,
                   span->tag,
                   shift_back(span->comm, offset->first_comm),
                   span->begin_s,
                   span->started_s,
                   span->end_s,
                   shift_back(span->beside, offset->first_label),
                   span->n_ops > 0 ? span->routine - offset->first_routine : span->routine,
                   span->first,
                   span->n_ops,
                   span->alone_s};
}
#pragma GCC diagnostic pop

static void merge_routines(OrrProgram *merged, const OrrProgram *part,
                           const OrrProgramOffset *offset) {
  for (guint i = 0; i < part->routines->len; i++) {
    const OrrRoutine *own = orr_program_routine(part, i);
    const OrrRoutine routine = {orr_program_room(own->n_ops), own->n_ops,
                                own->stream + offset->first_stream,
                                own->helper + offset->first_stream};
    for (guint k = 0; k < own->n_ops; k++) routine.ops[k] = merged_op(&own->ops[k], offset);
    g_array_append_val(merged->routines, routine);
  }
}

static void merge_streams(OrrProgram *merged, const OrrProgram *part,
                          const OrrProgramOffset *offset) {
  ORR_EACH_AT(i, const OrrStream, stream, part->streams) {
    const guint32 to = orr_program_stream(merged, offset->first_lane + stream->lane, stream->name);
    GArray *ops = g_array_index(merged->streams, OrrStream, to).ops;
    if (stream->quiet) orr_program_quiet_stream(merged, to);
    if (stream->of_host) orr_program_host_stream(merged, to);
    ORR_EACH_VALUE_AT(k, OrrOp, op, stream->ops) {
      op.target = orr_program_target(part, i, k);
      op = merged_op(&op, offset);
      g_array_append_val(ops, op);
    }
  }
}

static void merge_lanes(OrrProgram *merged, const OrrProgramPart *part) {
  ORR_EACH(const OrrLane, lane, part->program->lanes) {
    g_autofree char *name =
        part->name ? g_strdup_printf("%s: %s", part->name, lane->name) : g_strdup(lane->name);
    orr_program_interfere(merged, orr_program_lane(merged, name, lane->multiplicity),
                          &lane->interference);
  }
}

static void merge_faults(OrrProgram *merged, const OrrProgram *part, const guint32 *links) {
  ORR_EACH(const OrrFault, fault, part->faults)
    orr_program_fault(merged, fault->at_s, links[fault->link], fault->factor);
}

static void merge_slowdowns(OrrProgram *merged, const OrrProgram *part, guint32 first_lane) {
  ORR_EACH(const OrrSlowdown, slow, part->slowdowns)
    orr_program_slow_lane(merged, slow->at_s, first_lane + slow->lane, slow->factor);
}

static void merge_losses(OrrProgram *merged, const OrrProgram *part, guint32 first_lane) {
  ORR_EACH(const OrrLoss, loss, part->losses)
    orr_program_lose_lane(merged, loss->at_s, first_lane + loss->lane);
}

static void merge_part(OrrProgram *merged, const OrrProgramPart *part, GHashTable *known,
                       OrrProgramOffset *offset) {
  *offset = (OrrProgramOffset){merged->lanes->len, merged->streams->len, merged->labels->len,
                               merged->comms->len, merged->n_events,     merged->routines->len};
  g_autofree guint32 *links = merge_links(merged, part, known);
  merge_comms(merged, part->program, merge_paths(merged, part->program, links));
  merge_labels(merged, part->program);
  merge_lanes(merged, part);
  merge_faults(merged, part->program, links);
  merge_slowdowns(merged, part->program, offset->first_lane);
  merge_losses(merged, part->program, offset->first_lane);
  merged->n_events += part->program->n_events;
  merged->n_lost += part->program->n_lost;
  if (part->program->repeat.times > 0) merged->n_lost++; /* other parts do not wait meanwhile */
  merge_routines(merged, part->program, offset);
  merge_streams(merged, part->program, offset);
}

/* Lets the first stream of each lane of @part wait for the start of the part. */
static void delay_part(OrrProgram *merged, const OrrProgramPart *part,
                       const OrrProgramOffset *offset) {
  if (part->start_s <= 0) return;
  const OrrLabel idle = {"not started", "idle", 1};
  const OrrOp wait = {
      .duration_s = part->start_s, .label = merged->labels->len, .tag = -1, .kind = ORR_OP_WORK};
  g_array_append_val(merged->labels, idle);
  g_autofree gboolean *seen = g_new0(gboolean, part->program->lanes->len + 1);
  for (guint i = 0; i < part->program->streams->len; i++) {
    OrrStream *stream = &g_array_index(merged->streams, OrrStream, offset->first_stream + i);
    gboolean *is_delayed = &seen[stream->lane - offset->first_lane];
    if (!*is_delayed) g_array_prepend_val(stream->ops, wait);
    *is_delayed = TRUE;
  }
}

OrrProgram *orr_program_merge(const OrrProgramPart *parts, guint n, OrrProgramOffset *ret_offsets) {
  OrrProgram *merged = orr_program_new();
  g_autoptr(GHashTable) known = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint i = 0; i < n; i++) merge_part(merged, &parts[i], known, &ret_offsets[i]);
  for (guint i = 0; i < n; i++) delay_part(merged, &parts[i], &ret_offsets[i]);
  return merged;
}
