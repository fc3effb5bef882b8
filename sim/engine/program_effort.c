/*
 * program_effort.c - counts a program's transfers and those that can meet. program_effort.h says
 * what for.
 *
 * A stream has at most one comm in flight, and a comm is in flight on all its streams. So the comms
 * of one stream never meet each other, and a link carries at most as many transfers at a time as
 * there are different first streams among the comms that use it.
 */
#include "sim/engine/program_effort.h"

#include "sim/engine/program_private.h"

typedef struct {
  const OrrProgram *program;
  guint32 *n_on;    /* by link: first streams whose comms use it */
  guint32 *link_of; /* by link: the last of them */
  guint32 *path_of; /* by path: the last first stream that took it */
  guint8 *taken;    /* by comm: counted */
  double *n_times;  /* by path: transfers */
} Count;

static void take_path(Count *count, guint32 path, guint32 stream) {
  guint n;
  const OrrLinkUse *uses = orr_use_rows_get(&count->program->kept, path, &n);
  if (count->path_of[path] == stream) return;
  count->path_of[path] = stream;
  for (guint i = 0; i < n; i++) {
    if (count->link_of[uses[i].link] == stream) continue;
    count->link_of[uses[i].link] = stream;
    count->n_on[uses[i].link]++;
  }
}

/* @times: how often the comm runs. */
static void take_comm(Count *count, guint32 comm, guint32 stream, double times) {
  guint n;
  const OrrPhase *phases = orr_program_phases(count->program, comm, &n);
  for (guint i = 0; i < n; i++) {
    if (phases[i].path == ORR_NO_PATH || phases[i].bytes == 0) continue;
    count->n_times[phases[i].path] += times;
    take_path(count, phases[i].path, stream);
  }
}

static void take_op(Count *count, const OrrOp *op, guint32 comm, guint32 stream, double times) {
  if ((op->kind != ORR_OP_COMM && op->kind != ORR_OP_BESIDE) || count->taken[comm]) return;
  count->taken[comm] = 1;
  take_comm(count, comm, stream, times);
}

static void take_streams(Count *count) {
  const OrrProgram *program = count->program;
  g_autofree double *calls = g_new0(double, program->routines->len + 1);
  guint n;
  for (guint32 stream = 0; stream < program->streams->len; stream++) {
    const OrrOp *ops = orr_program_ops(program, stream, &n);
    for (guint i = 0; i < n; i++) {
      const guint32 target = orr_program_target(program, stream, i);
      take_op(count, &ops[i], target, stream, 1);
      if (ops[i].kind == ORR_OP_CALL) calls[target]++;
    }
  }
  for (guint32 routine = 0; routine < program->routines->len; routine++) {
    const OrrOp *ops = orr_program_routine_ops(program, routine, &n);
    for (guint i = 0; i < n; i++)
      take_op(count, &ops[i], ops[i].target, orr_program_routine(program, routine)->stream,
              calls[routine]);
  }
}

static OrrProgramEffort sum_up(const Count *count) {
  OrrProgramEffort effort = {0};
  for (guint32 path = 0; path < orr_use_rows_n(&count->program->kept); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&count->program->kept, path, &n);
    const double times = count->n_times[path];
    if (times == 0) continue;
    effort.transfers += times;
    for (guint i = 0; i < n; i++) effort.meetings += times * (count->n_on[uses[i].link] - 1.0);
  }
  return effort;
}

OrrProgramEffort orr_program_effort(const OrrProgram *program) {
  const guint32 n_paths = orr_use_rows_n(&program->kept);
  g_autofree guint32 *n_on = g_new0(guint32, program->links->len + 1);
  g_autofree guint32 *link_of = g_new(guint32, program->links->len + 1);
  g_autofree guint32 *path_of = g_new(guint32, n_paths + 1);
  g_autofree guint8 *taken = g_new0(guint8, program->comms->len + 1);
  g_autofree double *n_times = g_new0(double, n_paths + 1);
  Count count = {program, n_on, link_of, path_of, taken, n_times};
  memset(link_of, 0xff, (program->links->len + 1) * sizeof *link_of); /* no stream */
  memset(path_of, 0xff, (n_paths + 1) * sizeof *path_of);
  take_streams(&count);
  return sum_up(&count);
}

/* Measured as the processor time of runs on SimGrid less the time of the same runs on the ideal
 * engine (SimGrid 3.32 with sharing.c, two cores of an Intel Xeon, 2026-11-23). Training steps of
 * 70,000 to 580,000 transfers with 2 to 70 meetings each (GPT-3 175B on 1,024 to 12,288 GPUs with
 * routing ecmp, also on a 4:1 fabric; Llama 70B on 512 GPUs; a step that overlaps an all-to-all)
 * take 0.2 to 2.9 s, each within a factor of 2.5 of the prediction. It is too high where events
 * prevent what could meet from meeting: all-to-alls send by send over 256, 512 and 1,024 ranks take
 * 0.28, 1.1 and 4.2 s, predicted are 0.65, 3.3 and 19 s. There auto takes fair too early, which
 * changes no answer. No run of a minute was measured: the largest took 6 s. */
#define TRANSFER_S 1e-6
#define MEETING_S 0.07e-6

double orr_program_effort_simgrid_s(const OrrProgram *program) {
  const OrrProgramEffort effort = orr_program_effort(program);
  return TRANSFER_S * effort.transfers + MEETING_S * effort.meetings;
}
