/*
 * watch.c - when a run that waits for its steady state looks at itself, and what it concludes.
 */
#include "workloads/serving/fleet/fleet_private.h"

enum { FIRST_LOOK = 100, EXPECTED_MISSES = 50 };
static const double looks = 1.2, sigmas = 3;
/* A run that is not steady after these multiples of the requests asked for, of the requests in the
 * system, and of a trace, will not be. */
static const double most_requests = 1000, most_turnovers = 100, most_cycles = 20;

void orr_watch_init(OrrWatch *watch, OrrServingRun *run) {
  const OrrServing *params = &run->work->params;
  *watch = (OrrWatch){.run = run, .next_look = FIRST_LOOK};
  if (params->metrics.window != ORR_WINDOW_STEADY) return;
  watch->is_on = ((const OrrArrival *)params->load.entry)->is_endless;
  run->sums = g_array_new(FALSE, FALSE, sizeof(OrrServingSum));
}

/* More of @n requests missed than would by chance in a run that reaches the fraction asked for: of
 * as many requests as make chance small compared with the fraction, for a burst of arrivals makes
 * many miss together. */
static gboolean is_surely_below(const OrrServingWork *work, guint64 n, guint64 missed) {
  const double least_good = work->params.least_good, together = fmax(work->chain.bunching, 1);
  const double expected =
      least_good < 1 ? fmax((double)n * (1 - least_good), EXPECTED_MISSES * together) : 0;
  return (double)missed > expected + sigmas * sqrt(expected * least_good * together) + 2;
}

/* Of a trace @n counts as whole replays: its worst may come first, or twice in little more than
 * one. */
static guint64 in_replays(const OrrWatch *watch, guint64 n) {
  const guint64 cycle = (guint64)watch->run->work->cycle.requests;
  return cycle > 0 ? MAX(1, (n + cycle - 1) / cycle) * cycle : n;
}

/* Engines begin empty, so requests are not later at first than afterwards. Caches begin empty, too:
 * so only the later part of the run counts. Where replicas start during the run, nothing does. */
static gboolean misses(const OrrWatch *watch) {
  const OrrServing *params = &watch->run->work->params;
  return params->least_good > 0 && !orr_serving_is_eventful(params) &&
         (is_surely_below(watch->run->work, in_replays(watch, watch->first), watch->missed_first) ||
          is_surely_below(watch->run->work, in_replays(watch, watch->ended), watch->missed));
}

static gboolean is_hopeless(const OrrServingWork *work) {
  const double n = work->requests->len, asked = (double)MAX(work->params.requests, FIRST_LOOK);
  const gboolean is_trace = work->cycle.requests > 0; /* its `requests` are a replay's */
  const double most = fmax(most_requests * asked, 2 * orr_steady_longest(work));
  return (is_trace || n > most) && n > most_turnovers * work->steady.in_system &&
         n > most_cycles * (double)work->cycle.requests;
}

static OrrWatchAnswer look(OrrWatch *watch) {
  OrrServingWork *work = watch->run->work;
  OrrSteady *steady = &work->steady;
  const double now_s = orr_serving_run_now(watch->run) - watch->run->start_s;
  *steady = orr_steady_of(work, now_s);
  if (steady->state != ORR_STEADY_GROWS && misses(watch)) {
    steady->state = ORR_STEADY_MISSES;
    steady->begin_s = fmin(steady->begin_s, now_s / 2);
  }
  if (watch->events >= 2 * watch->counted) {
    watch->counted = watch->events;
    watch->first = watch->missed_first = watch->ended = watch->missed = 0;
  }
  if (steady->state == ORR_STEADY_SHORT && !is_hopeless(work)) return ORR_WATCH_GOES_ON;
  watch->is_on = FALSE;
  return steady->state == ORR_STEADY_HOLDS ? ORR_WATCH_ENOUGH : ORR_WATCH_CUT;
}

static OrrWatchAnswer note_event(OrrWatch *watch) {
  if (!watch->run->sums || watch->run->error || ++watch->events < watch->next_look)
    return ORR_WATCH_GOES_ON;
  watch->next_look = (guint64)(looks * (double)watch->events) + 1;
  orr_serving_run_note_sum(watch->run);
  return watch->is_on ? look(watch) : ORR_WATCH_GOES_ON;
}

OrrWatchAnswer orr_watch_first_token(OrrWatch *watch, double ttft_s) {
  const OrrServing *params = &watch->run->work->params;
  const gboolean is_limited = params->slo.ttft_s > 0 && !params->classes;
  watch->first++;
  watch->missed_first += is_limited && ttft_s + params->engine.host.token_s > params->slo.ttft_s;
  return note_event(watch);
}

OrrWatchAnswer orr_watch_left(OrrWatch *watch, gboolean is_good) {
  watch->ended++;
  watch->missed += !is_good;
  return note_event(watch);
}

void orr_watch_unserved(OrrWatch *watch) {
  watch->ended++;
  watch->missed++;
}
