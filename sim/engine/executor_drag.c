/*
 * executor_drag.c - slows the transfers of communication and copies while their lanes compute, or
 * while the other of the two is in flight there.
 *
 *   lane      |  compute  |           |  compute  |
 *   comm        |  1/y    |  rate 1   |   1/y  |            y: the lane's comm_by_compute
 *
 * A comm of several lanes runs in lock step, so it is slowed by the most that slows any of its
 * members: a comm's drag is the largest factor of its members' lanes. Delays (a phase without
 * bytes) are not slowed.
 *
 * When the first activity of a kind begins on a lane, or the last one ends, the comms in flight on
 * the lane are looked at. A change that can only raise a drag needs one comparison for each comm;
 * one that may lower it looks at all members. Between two works of a stream the lane does not
 * count as idle (executor_overlap.c).
 *
 * Cost: none where no factor is above 1. Else one change of a date for each comm in flight and
 * change of its lanes; rates are not solved again.
 */
#include "sim/engine/executor_private.h"

gboolean orr_executor_drags(const OrrProgram *program) {
  ORR_EACH(OrrLane, lane, program->lanes)
    if (orr_interference_slows_transfers(&lane->interference)) return TRUE;
  return FALSE;
}

/* The factor that slows the comm of @stream on its own lane now. */
static double drag_on(const OrrExecutor *executor, guint32 stream) {
  const OrrOverlaps *overlaps = &executor->overlaps;
  const guint32 lane = executor->streams[stream].lane;
  const OrrInterference *it = &g_array_index(executor->program->lanes, OrrLane, lane).interference;
  const OrrStream *own = &g_array_index(executor->program->streams, OrrStream, stream);
  const gboolean copies = own->quiet;
  const guint32 n_others = copies ? overlaps->n_flights[lane] : overlaps->n_copies[lane];
  double drag = 1;
  if (own->of_host) return drag;
  if (overlaps->n_computing[lane] > 0) drag = copies ? it->copy_by_compute : it->comm_by_compute;
  if (n_others > 0) drag = MAX(drag, copies ? it->copy_by_comm : it->comm_by_copy);
  return drag;
}

static double drag_of(const OrrExecutor *executor, const OrrCommState *comm) {
  double drag = 1;
  for (guint32 s = comm->members.first; s != ORR_NOBODY; s = executor->streams[s].next)
    drag = MAX(drag, drag_on(executor, s));
  return drag;
}

void orr_executor_drag_begin(OrrExecutor *executor, OrrCommState *comm) {
  comm->drag = drag_of(executor, comm);
}

void orr_executor_drag_change(OrrExecutor *executor, guint32 lane) {
  const OrrOverlaps *overlaps = &executor->overlaps;
  for (guint32 i = overlaps->first[lane]; i < overlaps->first[lane + 1]; i++) {
    const guint32 stream = overlaps->streams[i];
    if (!overlaps->in_flight[stream]) continue;
    OrrCommState *comm = executor->comms[orr_stream_target(&executor->streams[stream])];
    const double here = drag_on(executor, stream);
    if (here == comm->drag) continue;
    comm->drag = here > comm->drag ? here : drag_of(executor, comm);
    if (comm->transfer) orr_engine_drag(executor->engine, comm->transfer, comm->drag);
  }
}
