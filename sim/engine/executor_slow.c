/*
 * executor_slow.c - computes when work ends on a lane whose speed changes.
 *
 * A lane's speed is a step function of time: 1 / factor from each of its dates on. Where the factor
 * does not apply to a fraction s of the work, the speed is 1 / (s + (1 - s) factor), as if the two
 * were mixed evenly. Work of duration d that begins at t ends at the T for which the integral of
 * the speed from t to T is d.
 *
 *   speed 1 |-----------+              d = 3 from t = 1, factor 2 from 2 on: 1 second of work
 *       1/2 |           +-------       is done at 2, the other two take 4; T = 6
 *           0     1     2
 */
#include "sim/engine/executor_private.h"

static int by_lane_and_date(const void *a, const void *b) {
  const OrrSlowdown *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

void orr_slowdowns_init(OrrSlowdowns *slowdowns, const OrrProgram *program) {
  const guint n = program->slowdowns->len, n_lanes = orr_program_n_lanes(program);
  *slowdowns = (OrrSlowdowns){NULL, NULL};
  if (n == 0) return;
  slowdowns->items = g_memdup2(program->slowdowns->data, n * sizeof(OrrSlowdown));
  slowdowns->starts = g_new0(guint32, n_lanes + 1);
  qsort(slowdowns->items, n, sizeof(OrrSlowdown), by_lane_and_date);
  for (guint i = 0; i < n; i++) slowdowns->starts[slowdowns->items[i].lane + 1]++;
  for (guint lane = 0; lane < n_lanes; lane++)
    slowdowns->starts[lane + 1] += slowdowns->starts[lane];
}

void orr_slowdowns_clear(OrrSlowdowns *slowdowns) {
  g_clear_pointer(&slowdowns->starts, g_free);
  g_clear_pointer(&slowdowns->items, g_free);
}

double orr_slowdowns_work_end(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s,
                              double duration_s, double fixed_share) {
  double now_s = begin_s, factor = 1;
  for (guint32 i = slowdowns->starts[lane]; i < slowdowns->starts[lane + 1]; i++) {
    const OrrSlowdown *slow = &slowdowns->items[i];
    if (slow->at_s > now_s) {
      if (now_s + duration_s * factor <= slow->at_s) break;
      duration_s -= (slow->at_s - now_s) / factor;
      now_s = slow->at_s;
    }
    factor = fixed_share + (1 - fixed_share) * slow->factor;
  }
  return now_s + duration_s * factor;
}

double orr_executor_fixed_share(const OrrExecutor *executor, guint32 stream) {
  const OrrStreamState *state = &executor->streams[stream];
  return g_array_index(executor->program->labels, OrrLabel, orr_stream_op(state)->label)
      .fixed_share;
}

double orr_slowdowns_work_between(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s,
                                  double end_s, double fixed_share) {
  double now_s = begin_s, factor = 1, work_s = 0;
  for (guint32 i = slowdowns->starts[lane]; i < slowdowns->starts[lane + 1]; i++) {
    const OrrSlowdown *slow = &slowdowns->items[i];
    if (slow->at_s >= end_s) break;
    if (slow->at_s > now_s) {
      work_s += (slow->at_s - now_s) / factor;
      now_s = slow->at_s;
    }
    factor = fixed_share + (1 - fixed_share) * slow->factor;
  }
  return work_s + (end_s - now_s) / factor;
}
