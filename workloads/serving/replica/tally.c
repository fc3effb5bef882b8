/*
 * tally.c - what a step of a replica takes, and what replicas write down for the fleet:
 * sampled steps and gaps between tokens; and whether they add up.
 */
#include "workloads/serving/replica/replica_private.h"

/* Every stride-th step is kept; where there are twice too many, every other one is left: rows
 * stay evenly spaced. */
static void serving_run_note_step(OrrServingRun *run, const OrrServingStepRow *row) {
  const gint64 wanted = run->work->params.metrics.step_rows;
  GArray *steps = run->work->steps;
  if (wanted == 0 || run->seen_steps++ % run->step_stride != 0) return;
  g_array_append_vals(steps, row, 1);
  if ((gint64)steps->len < 2 * wanted) return;
  for (guint i = 0; 2 * i < steps->len; i++)
    g_array_index(steps, OrrServingStepRow, i) = g_array_index(steps, OrrServingStepRow, 2 * i);
  g_array_set_size(steps, (steps->len + 1) / 2);
  run->step_stride *= 2;
}

guint orr_serving_run_counts(const OrrServingRun *run, const OrrRequest *request) {
  return request->arrival_s - run->start_s >= run->work->params.metrics.warmup_s;
}

double orr_serving_work_littles_law_error(const OrrServingWork *work) {
  double sum_s = work->failed_s;
  ORR_EACH(const OrrServedRequest, request, work->requests)
    sum_s += request->end_s - request->row.arrival_s;
  return sum_s > 0 ? fabs(work->area_request_s / sum_s - 1) : 0;
}

gboolean orr_serving_run_check_law(const OrrServingRun *run, GError **error) {
  const double off = orr_serving_work_littles_law_error(run->work);
  if (off <= 1e-9) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_INTERNAL,
      "the requests' times do not add up to their number over time (Little's law): %.3g off", off);
}

static gboolean is_full(const OrrServingWork *work) {
  return work->params.metrics.window == ORR_WINDOW_FULL;
}

static OrrJoules joules_so_far(const OrrServingWork *work) {
  OrrJoules sum = {0};
  for (gint64 i = 0; i < work->params.replicas; i++)
    orr_joules_add(&sum, work->replicas[i].joules, 1);
  return sum;
}

void orr_serving_run_note_first(OrrServingRun *run) {
  OrrTokenWindow *window = &run->work->window;
  const double now_s = orr_serving_run_now(run) - run->start_s;
  window->n_first++;
  if (is_full(run->work) && window->n_first == window->places)
    window->begin_joules = joules_so_far(run->work);
  if (window->n_first == window->places) window->begin_s = now_s;
  if (window->n_first <= window->places) return;
  if (is_full(run->work)) window->end_joules = joules_so_far(run->work);
  window->end_s = now_s;
  window->kept = window->gaps;
  window->tokens = window->later + (guint64)(window->n_first - window->places);
}

void orr_serving_run_note_sum(OrrServingRun *run) {
  ORR_APPEND(
      run->sums, OrrServingSum,
      {orr_serving_run_now(run) - run->start_s, joules_so_far(run->work), run->work->window.gaps});
}

/* Between the two sums around @at_s; the first one is 0 at the begin. */
static OrrServingSum sum_at(const OrrServingRun *run, double at_s) {
  OrrServingSum before = {0}, after = {0};
  for (guint i = 0; i < run->sums->len && after.at_s < at_s; i++) {
    before = after;
    after = g_array_index(run->sums, OrrServingSum, i);
  }
  const double part =
      after.at_s > before.at_s ? fmin((at_s - before.at_s) / (after.at_s - before.at_s), 1) : 0;
  OrrServingSum sum = {.at_s = at_s, .joules = before.joules};
  orr_joules_add(&sum.joules, after.joules, part);
  orr_joules_add(&sum.joules, before.joules, -part);
  sum.gaps = before.gaps + (guint64)(part * (double)(after.gaps - before.gaps));
  return sum;
}

static guint64 output_in(const OrrServingWork *work, double begin_s, double end_s) {
  guint64 tokens = 0;
  ORR_EACH(const OrrServedRequest, row, work->requests)
    if (row->left_s > begin_s && row->left_s <= end_s)
      tokens += (guint64)(row->row.output_tokens * orr_serving_outputs(&work->params));
  return tokens;
}

/* Keeps the gaps [first, end). */
static void keep_gaps(GArray *gaps, guint64 first, guint64 end) {
  guint64 at = 0;
  guint n = 0;
  ORR_EACH_VALUE(OrrTokenGap, gap, gaps) {
    const guint64 from = MAX(at, first), to = MIN(at + gap.n, end);
    at += gap.n;
    if (to <= from) continue;
    gap.n = (guint)(to - from);
    g_array_index(gaps, OrrTokenGap, n++) = gap;
  }
  g_array_set_size(gaps, n);
}

static void fill_steady(OrrServingRun *run) {
  OrrTokenWindow *window = &run->work->window;
  const OrrSteady *steady = &run->work->steady;
  const OrrServingSum begin = sum_at(run, steady->begin_s), end = sum_at(run, steady->end_s);
  window->begin_s = steady->begin_s;
  window->end_s = steady->end_s;
  window->begin_joules = begin.joules;
  window->end_joules = end.joules;
  window->tokens = output_in(run->work, steady->begin_s, steady->end_s);
  keep_gaps(run->work->gaps, begin.gaps, end.gaps);
}

static gboolean refuse_short(const OrrServingRun *run, GError **error) {
  const OrrSteady *steady = &run->work->steady;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "workload.metrics.window: steady: the load ends before there is a steady state: %u "
      "requests in %.3g s, and a request stays %.3g s",
      run->work->requests->len, steady->end_s, steady->residence_s);
}

static gboolean refuse_empty(const OrrServingRun *run, GError **error) {
  const OrrTokenWindow *window = &run->work->window;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "workload.metrics.window: full: the %ld places of the engines (max-num-seqs of all) are "
      "never all taken: %ld requests came; give more requests, or window: all",
      window->places, window->n_first);
}

gboolean orr_serving_run_close_window(OrrServingRun *run, GError **error) {
  OrrServingWork *work = run->work;
  const OrrTokenWindow *window = &work->window;
  switch ((OrrMetricsWindow)work->params.metrics.window) {
  case ORR_WINDOW_ALL:
    break;
  case ORR_WINDOW_FULL:
    if (window->end_s <= window->begin_s) return refuse_empty(run, error);
    keep_gaps(work->gaps, 0, window->kept);
    break;
  case ORR_WINDOW_STEADY:
    if (work->steady.state == ORR_STEADY_SHORT) return refuse_short(run, error);
    fill_steady(run);
  }
  return TRUE;
}

void orr_serving_run_note_gaps(OrrServingRun *run, double gap_s, guint n, guint tokens) {
  OrrTokenWindow *window = &run->work->window;
  if (n == 0 || (is_full(run->work) && window->n_first < window->places)) return;
  window->gaps += n;
  window->later += tokens;
  GArray *gaps = run->work->gaps;
  OrrTokenGap *last = gaps->len > 0 ? &g_array_index(gaps, OrrTokenGap, gaps->len - 1) : NULL;
  if (last && last->gap_s == (float)gap_s) {
    last->n += n;
    return;
  }
  ORR_APPEND(gaps, OrrTokenGap, {(float)gap_s, n});
}

/* --- of a replica --- */

void orr_replica_note_step(OrrReplica *replica, double begin_s, double end_s,
                           const OrrStepShape *shape) {
  const gint64 waiting = orr_replica_n_waiting(replica);
  guint running = 0;
  gint64 away = 0;
  for (guint i = 0; i < replica->n_cores; i++) {
    running += replica->cores[i].running->len;
    away += replica->cores[i].most_away;
  }
  replica->books->most_away = MAX(replica->books->most_away, away);
  replica->books->steps++;
  replica->books->used_block_s += (double)replica->used_blocks * (end_s - begin_s);
  replica->books->running_s += (double)running * (end_s - begin_s);
  replica->books->peak_blocks = fmax(replica->books->peak_blocks, (double)replica->used_blocks);
  replica->books->most_running = MAX(replica->books->most_running, (gint64)running);
  const double start_s = replica->run->start_s;
  const OrrServingStepRow row = {.replica = replica->index,
                                 .begin_s = begin_s - start_s,
                                 .step_s = end_s - start_s - (begin_s - start_s),
                                 .tokens = shape->tokens,
                                 .prefill_tokens = shape->chunk,
                                 .decodes = shape->decodes,
                                 .running = running,
                                 .waiting = waiting,
                                 .kv_utilization = (double)replica->used_blocks /
                                                   orr_served_group_blocks(replica->group)};
  serving_run_note_step(replica->run, &row);
}

void orr_replica_close_core(OrrReplica *replica, OrrCore *core) {
  replica->books->preemptions += core->preemptions;
  replica->books->hit_tokens += core->hit_tokens;
  replica->books->looked_up_tokens += core->looked_up_tokens;
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    replica->books->tier_tokens[tier] += core->tier_tokens[tier];
  replica->books->checks += core->checks;
  replica->books->drafted += core->drafted;
  replica->books->accepted += core->accepted;
  replica->books->evicted_blocks += orr_kv_n_evicted(core->kv);
}
