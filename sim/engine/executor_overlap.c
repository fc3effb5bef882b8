/*
 * executor_overlap.c - slows work while communication or copies are in flight on its lane.
 *
 * Work of d seconds on a lane with factor x, and a comm in flight from a to b:
 *
 *   begin        a            b          end
 *     |  rate 1  |  rate 1/x  |  rate 1   |       the integral of the rate is d
 *
 * When a comm starts or ends, the work left on the lane is computed from the rate since the last
 * change, and its end is withdrawn from the engine's calendar and scheduled again.
 *
 * Cost: one engine event per WORK op, and a new date per change of its rate. The other direction is
 * executor_drag.c's.
 */
#include "sim/engine/executor_private.h"

static const OrrLane *lane_of(const OrrExecutor *executor, guint32 lane) {
  return &g_array_index(executor->program->lanes, OrrLane, lane);
}

static gboolean is_quiet(const OrrExecutor *executor, guint32 stream) {
  return g_array_index(executor->program->streams, OrrStream, stream).quiet;
}

static gboolean any_is_slowed(const OrrProgram *program) {
  ORR_EACH(OrrLane, one, program->lanes)
    if (orr_interference_slows_compute(&one->interference)) return TRUE;
  return orr_executor_drags(program);
}

/* The streams of each lane, in rows. */
static void list_streams(OrrOverlaps *overlaps, const OrrProgram *program) {
  const guint n_lanes = program->lanes->len, n_streams = program->streams->len;
  overlaps->first = g_new0(guint32, n_lanes + 1);
  overlaps->streams = g_new0(guint32, n_streams + 1);
  overlaps->workers = g_new0(guint32, n_streams + 1);
  overlaps->n_workers = g_new0(guint32, n_lanes + 1);
  for (guint32 s = 0; s < n_streams; s++)
    overlaps->first[orr_program_stream_lane(program, s) + 1]++;
  for (guint lane = 0; lane < n_lanes; lane++) overlaps->first[lane + 1] += overlaps->first[lane];
  g_autofree guint32 *next = g_memdup2(overlaps->first, (n_lanes + 1) * sizeof *next);
  for (guint32 s = 0; s < n_streams; s++)
    overlaps->streams[next[orr_program_stream_lane(program, s)]++] = s;
}

void orr_overlaps_init(OrrExecutor *executor) {
  const OrrProgram *program = executor->program;
  executor->overlaps = (OrrOverlaps){0};
  if (!any_is_slowed(program) && !executor->express.routines) return;
  OrrOverlaps *overlaps = &executor->overlaps;
  overlaps->works = g_new0(OrrWorkState, program->streams->len + 1);
  for (guint s = 0; s < program->streams->len; s++) overlaps->works[s].executor = executor;
  overlaps->drags = orr_executor_drags(program);
  overlaps->n_flights = g_new0(guint32, program->lanes->len + 1);
  overlaps->n_copies = g_new0(guint32, program->lanes->len + 1);
  overlaps->n_computing = g_new0(guint32, program->lanes->len + 1);
  overlaps->in_flight = g_new0(gboolean, program->streams->len + 1);
  overlaps->flight_labels = g_new(guint32, program->streams->len + 1);
  for (guint s = 0; s < program->streams->len; s++) overlaps->flight_labels[s] = G_MAXUINT32;
  list_streams(overlaps, program);
}

void orr_overlaps_clear(OrrOverlaps *overlaps) {
  ORR_FREE(overlaps->works, overlaps->n_flights, overlaps->n_copies, overlaps->n_computing,
           overlaps->in_flight, overlaps->flight_labels, overlaps->first, overlaps->streams,
           overlaps->workers, overlaps->n_workers);
}

/* Dates nearer than this count as equal, so no comm slows work between them. */
#define SAME_DATE 1e-12

/* Of several overlapping comms, the one on the lowest stream counts as the cause, so that the
 * order in which they began does not matter. */
static void note(OrrExecutor *executor, guint32 stream, double now_s) {
  const OrrOverlaps *overlaps = &executor->overlaps;
  OrrWorkState *work = &overlaps->works[stream];
  const guint32 lane = executor->streams[stream].lane;
  const gboolean lasted = now_s - work->noted_s > SAME_DATE * now_s;
  work->noted_s = now_s;
  for (guint32 i = overlaps->first[lane]; lasted && i < overlaps->first[lane + 1]; i++) {
    const guint32 other = overlaps->streams[i];
    if (overlaps->flight_labels[other] == G_MAXUINT32 || other >= work->slowed_by) continue;
    work->slowed_by = other;
    work->beside = overlaps->flight_labels[other];
  }
}

static guint32 stream_of(const OrrWorkState *work) {
  return (guint32)(work - work->executor->overlaps.works);
}

static void work_ends(void *user) {
  OrrWorkState *work = user;
  OrrExecutor *executor = work->executor;
  const guint32 stream = stream_of(work), lane = executor->streams[stream].lane;
  const gboolean computes = !is_quiet(executor, stream);
  if (orr_interference_slows_compute(&lane_of(executor, lane)->interference))
    note(executor, stream, work->end_s);
  work->working = FALSE;
  work->end = NULL;
  orr_executor_end_work(executor, stream, work->begin_s, work->end_s, work->beside);
  /* after the stream's next work has begun: between the two the lane is not idle */
  if (computes && --executor->overlaps.n_computing[lane] == 0 && executor->overlaps.drags)
    orr_executor_drag_change(executor, lane);
}

guint32 orr_overlaps_call_stream(OrrEngineCall call, const void *user) {
  return call == work_ends ? stream_of(user) : ORR_NOBODY;
}

void orr_overlaps_postpone(OrrExecutor *executor, guint32 stream, double delay_s) {
  if (!executor->overlaps.works) return;
  OrrWorkState *work = &executor->overlaps.works[stream];
  work->begin_s += delay_s;
  work->since_s += delay_s;
  work->end_s += delay_s;
  work->noted_s += delay_s;
}

static double factor_now(const OrrExecutor *executor, guint32 stream, guint32 lane) {
  const OrrInterference *it = &lane_of(executor, lane)->interference;
  const double by_comm = executor->overlaps.n_flights[lane] > 0 ? it->compute_by_comm : 1;
  return executor->overlaps.n_copies[lane] > 0 && !is_quiet(executor, stream)
             ? MAX(by_comm, it->compute_by_copy)
             : by_comm;
}

/* Schedules the end of the work, at the rate that the comms in flight leave from @now_s on. */
static void set_end(OrrExecutor *executor, guint32 stream, double now_s) {
  OrrWorkState *work = &executor->overlaps.works[stream];
  const guint32 lane = executor->streams[stream].lane;
  work->factor = factor_now(executor, stream, lane);
  work->since_s = now_s;
  work->end_s =
      executor->slowdowns.starts
          ? orr_slowdowns_work_end(&executor->slowdowns, lane, now_s, work->left_s * work->factor,
                                   orr_executor_fixed_share(executor, stream))
          : now_s + work->left_s * work->factor;
  orr_engine_withdraw(executor->engine, work->end);
  work->end = orr_engine_at(executor->engine, MAX(work->end_s, orr_engine_now(executor->engine)),
                            work_ends, work);
}

/* Few of a lane's streams ever work: only these are asked when a flight begins or ends. */
static void list_worker(OrrExecutor *executor, guint32 stream) {
  const OrrOverlaps *overlaps = &executor->overlaps;
  const guint32 lane = executor->streams[stream].lane;
  guint32 *workers = overlaps->workers + overlaps->first[lane];
  guint32 at = overlaps->n_workers[lane]++;
  for (; at > 0 && workers[at - 1] > stream; at--) workers[at] = workers[at - 1];
  workers[at] = stream;
  overlaps->works[stream].is_listed = TRUE;
}

static void begin_work(OrrExecutor *executor, guint32 stream, double left_s, double now_s) {
  OrrWorkState *work = &executor->overlaps.works[stream];
  if (!work->is_listed) list_worker(executor, stream);
  work->working = TRUE;
  work->begin_s = executor->streams[stream].now_s;
  work->left_s = left_s;
  work->noted_s = now_s;
  work->slowed_by = ORR_NOBODY;
  work->beside = G_MAXUINT32;
  set_end(executor, stream, now_s);
  const guint32 lane = executor->streams[stream].lane;
  if (!is_quiet(executor, stream) && executor->overlaps.n_computing[lane]++ == 0 &&
      executor->overlaps.drags)
    orr_executor_drag_change(executor, lane);
}

void orr_overlaps_begin_work(OrrExecutor *executor, guint32 stream, double duration_s) {
  begin_work(executor, stream, duration_s, executor->streams[stream].now_s);
}

void orr_overlaps_resume_work(OrrExecutor *executor, guint32 stream, double left_s, double since_s,
                              guint32 beside, guint32 label) {
  begin_work(executor, stream, left_s, since_s);
  executor->overlaps.works[stream].slowed_by = beside;
  executor->overlaps.works[stream].beside = label;
}

static void change_rate(OrrExecutor *executor, guint32 stream, double now_s) {
  OrrWorkState *work = &executor->overlaps.works[stream];
  const guint32 lane = executor->streams[stream].lane;
  if (!work->working || now_s >= work->end_s) return;
  const double done_s =
      executor->slowdowns.starts
          ? orr_slowdowns_work_between(&executor->slowdowns, lane, work->since_s, now_s,
                                       orr_executor_fixed_share(executor, stream))
          : now_s - work->since_s;
  work->left_s = MAX(work->left_s - done_s / work->factor, 0);
  set_end(executor, stream, now_s);
}

/* A comm on @stream begins (@label) or ends (G_MAXUINT32). */
static void change_flight(OrrExecutor *executor, guint32 stream, guint32 label) {
  if (g_array_index(executor->program->streams, OrrStream, stream).of_host) return;
  OrrOverlaps *overlaps = &executor->overlaps;
  const guint32 lane = executor->streams[stream].lane;
  const double now_s = orr_engine_now(executor->engine);
  const OrrInterference *it = &lane_of(executor, lane)->interference;
  const gboolean copies = is_quiet(executor, stream), begins = label != G_MAXUINT32;
  const gboolean slows = (copies ? it->compute_by_copy : it->compute_by_comm) > 1;
  guint32 *n = copies ? &overlaps->n_copies[lane] : &overlaps->n_flights[lane];
  const guint32 *workers = overlaps->workers + overlaps->first[lane];
  if (slows && begins) orr_express_meet_lane(executor, lane);
  for (guint32 i = 0; slows && i < overlaps->n_workers[lane]; i++)
    if (overlaps->works[workers[i]].working) note(executor, workers[i], now_s);
  if (!copies || slows) overlaps->flight_labels[stream] = label;
  overlaps->in_flight[stream] = begins;
  *n += begins ? 1 : -1;
  if (*n != (begins ? 1 : 0)) return;
  for (guint32 i = 0; slows && i < overlaps->n_workers[lane]; i++)
    change_rate(executor, workers[i], now_s);
  if (overlaps->drags) orr_executor_drag_change(executor, lane);
}

void orr_overlaps_begin_flight(OrrExecutor *executor, guint32 stream, guint32 label) {
  change_flight(executor, stream, label);
}

void orr_overlaps_end_flight(OrrExecutor *executor, guint32 stream) {
  change_flight(executor, stream, G_MAXUINT32);
}
