/*
 * training_run_time - adds up segments, collectives and what the host adds.
 *
 * The host works ahead, so that a run which it launches slowly costs nothing while the GPU is busy
 * with earlier work. With g seconds of a run on the GPU and h on the host, the GPU ends at E and
 * the host at H:
 *
 *   E = max(E + g, H), H = H + h        backlog = E - H = max(backlog + g - h, 0)
 *
 * Where the host waits for the router's counts (experts.sync), it launches the experts, x of the g
 * and y of the h, only when the GPU is about to run them. The rest of the run is launched before:
 *
 *   the run takes  max(x, y) + max(g - x, h - y)         backlog = max(x - y, 0)
 */
#include "workloads/training/comm/training_plan.h"

OrrTimeKind orr_run_time_kind(int group) {
  static const OrrTimeKind times[ORR_N_GROUPS] = {
      [ORR_GROUP_TP] = ORR_TIME_TP_COMM,       [ORR_GROUP_CP] = ORR_TIME_CP_COMM,
      [ORR_GROUP_EP] = ORR_TIME_EP_COMM,       [ORR_GROUP_ETP] = ORR_TIME_TP_COMM,
      [ORR_GROUP_CP_INNER] = ORR_TIME_CP_COMM, [ORR_GROUP_CP_OUTER] = ORR_TIME_CP_COMM,
  };
  return times[group];
}

static double overlap_cost(const OrrJob *job, const OrrSegment *work, double comm_s) {
  double left_s;
  const double alone_s = orr_segment_seconds(work),
               slowed_s = orr_training_costs_overlapped_s(job, alone_s, comm_s, &left_s);
  return slowed_s - alone_s + left_s;
}

void orr_run_time_add_segment(OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                              const OrrSegment *segment) {
  for (int kind = 0; kind < ORR_N_TIMES; kind++) time->seconds[kind] += segment->seconds[kind];
  if (segment->comm < 0) return;
  const double comm_s = orr_layer_traffic_of(layers, lane, segment)->predicted_s;
  time->seconds[orr_run_time_kind(segment->group)] +=
      segment->overlaps ? overlap_cost(layers->job, segment + 1, comm_s) : comm_s;
}

static OrrRunTime gpu_time(const OrrLayerTraffic *layers, guint lane, const OrrRun *run) {
  OrrRunTime once = {0};
  ORR_EACH(OrrSegment, segment, run->segments)
    orr_run_time_add_segment(&once, layers, lane, segment);
  return once;
}

static double sum_of(const OrrRunTime *time) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += time->seconds[kind];
  return sum;
}

/* What the host adds to @times runs, each of @once on the GPU. */
static void add_host(OrrRunTime *time, const OrrRun *run, gint64 times, const OrrRunTime *once) {
  const double sum = sum_of(once);
  if (run->serial) {
    time->seconds[ORR_TIME_HOST] += (double)times * run->host_s;
    return;
  }
  if (run->syncs) {
    const double ahead_s = run->experts_s - run->experts_host_s,
                 rest_s = sum - run->host_s - ahead_s;
    time->backlog_s = MAX(ahead_s, 0);
    time->seconds[ORR_TIME_HOST] += (double)times * (MAX(-ahead_s, 0) + MAX(-rest_s, 0));
    return;
  }
  const double left_s = time->backlog_s + (double)times * (sum - run->host_s);
  time->backlog_s = MAX(left_s, 0);
  time->seconds[ORR_TIME_HOST] += MAX(-left_s, 0);
}

void orr_run_time_add_host(OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                           const OrrRun *run) {
  const OrrRunTime once = gpu_time(layers, lane, run);
  add_host(time, run, 1, &once);
}

/* Else each run uses up some of the backlog, and the run at which it ends waits for the host. */
gboolean orr_run_time_is_steady(const OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                                const OrrRun *run) {
  const OrrRunTime once = gpu_time(layers, lane, run);
  return run->serial || run->syncs || time->backlog_s == 0 || sum_of(&once) >= run->host_s;
}

void orr_run_time_add(OrrRunTime *time, const OrrLayerTraffic *layers, guint lane,
                      const OrrRun *run, gint64 times) {
  const OrrRunTime once = gpu_time(layers, lane, run);
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    time->seconds[kind] += (double)times * once.seconds[kind];
  add_host(time, run, times, &once);
}
