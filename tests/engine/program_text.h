/*
 * program_text.h - prints a program as text, one item per line.
 */
#pragma once

#include "sim/engine/program_private.h"

static void add_links(GString *text, const OrrProgram *program) {
  for (guint32 i = 0; i < program->links->len; i++) {
    const OrrProgramLink *link = &g_array_index(program->links, OrrProgramLink, i);
    g_string_append_printf(text, "link %u \"%s\" %g B/s", i, link->name, link->bandwidth);
    if (program->sealed) g_string_append_printf(text, ", stands for %u", link->stands_for);
    g_string_append(text, link->keep ? ", kept\n" : "\n");
  }
  ORR_EACH(const OrrFault, fault, program->faults)
    g_string_append_printf(text, "fault at %g s: link %u x %g\n", fault->at_s, fault->link,
                           fault->factor);
  ORR_EACH(const OrrSlowdown, slow, program->slowdowns)
    g_string_append_printf(text, "slow at %g s: lane %u x %g\n", slow->at_s, slow->lane,
                           slow->factor);
}

static void add_paths(GString *text, const OrrProgram *program) {
  for (guint32 path = 0; path < orr_use_rows_n(&program->paths); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->paths, path, &n);
    g_string_append_printf(text, "path %u:", path);
    for (guint i = 0; i < n; i++)
      g_string_append_printf(text, " %u*%u", uses[i].weight, uses[i].link);
    g_string_append_c(text, '\n');
  }
}

static void add_comms(GString *text, const OrrProgram *program) {
  for (guint32 comm = 0; comm < program->comms->len; comm++) {
    guint n;
    const OrrPhase *phases = orr_program_phases(program, comm, &n);
    g_string_append_printf(text, "comm %u of %u:", comm, orr_program_comm_members(program, comm));
    for (guint i = 0; i < n; i++) {
      g_string_append_printf(text, "%s %g s", i > 0 ? "," : "", phases[i].latency_s);
      if (phases[i].path != ORR_NO_PATH)
        g_string_append_printf(text, " + %g B on path %u", phases[i].bytes, phases[i].path);
    }
    g_string_append_c(text, '\n');
  }
}

static void add_op(GString *text, const OrrProgram *program, const OrrOp *op, guint32 target) {
  switch ((OrrOpKind)op->kind) {
  case ORR_OP_WORK:
    g_string_append_printf(text, "  work %g s", op->duration_s);
    break;
  case ORR_OP_COMM:
    g_string_append_printf(text, "  comm %u", target);
    break;
  case ORR_OP_RECORD:
    g_string_append_printf(text, "  record %u\n", target);
    return;
  case ORR_OP_WAIT:
    g_string_append_printf(text, "  wait %u\n", target);
    return;
  case ORR_OP_MEET:
    g_string_append(text, "  meet\n");
    return;
  case ORR_OP_BESIDE:
    g_string_append_printf(text, "  beside comm %u", target);
    break;
  case ORR_OP_CALL:
    g_string_append_printf(text, "  call %u", target);
    break;
  }
  g_string_append_printf(text, " \"%s\"", orr_program_label_name(program, op->label));
  if (op->tag >= 0) g_string_append_printf(text, " #%d", op->tag);
  g_string_append_c(text, '\n');
}

static void add_routines(GString *text, const OrrProgram *program) {
  for (guint32 routine = 0; routine < program->routines->len; routine++) {
    guint n;
    const OrrOp *ops = orr_program_routine_ops(program, routine, &n);
    g_string_append_printf(text, "routine %u of stream %u, helper %u\n", routine,
                           orr_program_routine(program, routine)->stream,
                           orr_program_routine(program, routine)->helper);
    for (guint i = 0; i < n; i++) add_op(text, program, &ops[i], ops[i].target);
  }
}

static void add_streams(GString *text, const OrrProgram *program) {
  for (guint32 stream = 0; stream < program->streams->len; stream++) {
    g_autofree char *name = orr_program_stream_title(program, stream);
    g_string_append_printf(
        text, "stream %u \"%s\" x %u\n", stream, name,
        orr_program_multiplicity(program, orr_program_stream_lane(program, stream)));
    guint n;
    const OrrOp *ops = orr_program_ops(program, stream, &n);
    for (guint i = 0; i < n; i++)
      add_op(text, program, &ops[i], orr_program_target(program, stream, i));
  }
}

static char *program_text(const OrrProgram *program) {
  GString *text = g_string_new(NULL);
  add_links(text, program);
  add_paths(text, program);
  add_comms(text, program);
  add_routines(text, program);
  add_streams(text, program);
  return g_string_free(text, FALSE);
}
