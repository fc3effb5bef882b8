/*
 * executor_leap.c - takes lanes ahead by the periods that a program leaves out.
 *
 * The machine is deterministic. What follows depends on where each stream stands in its list of
 * ops, and on which ops are in flight and since when; on nothing else, since rates follow from the
 * transfers in flight. Lanes that share neither communications, events nor links do not concern
 * each other, so this holds for each group of lanes that do: in a pipeline, a replica, until the
 * gradients are reduced. Compare, stream by stream, the ops of a group that end in (t - 2 d, t - d]
 * with those that end in (t - d, t]. Suppose that each of the latter is d later, from its begin on,
 * has the same label, and has a tag (micro-batch) k periods of the schedule higher. Then
 *
 *   1. at t each stream of the group stands where it stood at t - d, k periods further on;
 *   2. an op in flight at t - d ends within (t - d, t], so its counterpart is in flight at t and
 *      began d later; it has as many bytes left, because the same transfers were in flight all
 *      along.
 *
 * So the state at t equals the state at t - d. With n k more periods of the schedule in the middle,
 * the group passes through that state n more times, and all that follows is n d later. A program
 * that leaves n k periods out is therefore replayed by postponing all that the group has under way
 * at t by n d. Until then, and for what k does not divide, executor_rewind.c replays period after
 * period. Groups need not have the same d or k:
 *
 *   group 0   -----|==d==|==d==|            n d             |-------
 *   group 1   ---|=d'=|=d'=|           n d'            |-----------   meets group 0 in the end
 *
 * An op of a run (executor_express.c) is handed over when the run ends or is broken, which may be
 * after its end, and after t. Where windows of ends differ for that alone, windows of the dates at
 * which ops were handed over decide. Ops of a run that goes on at t are then handed over at t if
 * their counterparts ended by t - d, so that ends in (t - d, t] still are a period of ops.
 *
 * That every lane runs forward and backward passes in the period excludes the warm-up, in which
 * some stages repeat themselves while others still wait, and the end.
 *
 * A group is looked at whenever its first lane begins another period. When that lane has repeated
 * itself, for some k, a call is scheduled in a gap between the group's ops, where rounding (1e-16
 * of each date) moves none across; it compares the whole group, for each such k. Dates are equal
 * when they differ by less than TOLERANCE of the period.
 */
#include "sim/engine/executor_leap.h"

#include "sim/base/number.h"

#define TOLERANCE 1e-12
#define MOST_PERIODS 12 /* of the schedule in one of the machine */

/* A call that compares and leaps. */
typedef struct {
  OrrExecutor *executor;
  guint32 lane; /* the group's first */
  /* by k: how long the lane's last k periods took; 0: they did not repeat */
  double periods_s[MOST_PERIODS + 1];
} Probe;

static const OrrSpan *span_at(const OrrExecutor *executor, guint32 index) {
  return &executor->spans.kept[index].span;
}

/* --- why lanes were not taken ahead --- */

const char *const orr_leap_words[] = {"taken ahead",
                                      "faults, slow GPUs or losses have dates",
                                      "some stream's operations do not repeat",
                                      "the last periods took different times",
                                      "the first lane did not repeat its operations' dates",
                                      "other lanes did not repeat theirs",
                                      "operations end within rounding of each other",
                                      "more happens to them on the same date",
                                      "fewer periods are left than one of the machine spans",
                                      NULL};

static void note_look(const OrrExecutor *executor, OrrLeapLook look) {
  executor->leaper->looks[look]++;
}

void orr_leaper_count_looks(const OrrExecutor *executor, guint64 *ret_looks) {
  if (executor->leaper) memcpy(ret_looks, executor->leaper->looks, sizeof executor->leaper->looks);
}

/* --- life --- */

static guint32 *nobodies(gsize n) {
  guint32 *list = g_new(guint32, n + 1);
  memset(list, 0xff, (n + 1) * sizeof *list);
  return list;
}

static gboolean is_possible(const OrrProgram *program) {
  return program->faults->len == 0 && program->slowdowns->len == 0 && program->losses->len == 0 &&
         program->epochs->len == 0;
}

static void init_lanes(OrrLeaper *leaper, const OrrProgram *program, OrrLeap *leaps) {
  const guint n = program->lanes->len;
  leaper->lanes = g_new0(OrrLeapLane, n + 1);
  leaper->coupled = g_new(guint32, n + 1);
  leaper->compute = nobodies(n);
  for (guint32 lane = 0; lane < n; lane++) {
    leaper->coupled[lane] = lane;
    leaper->lanes[lane] = (OrrLeapLane){.begins = g_array_new(FALSE, FALSE, sizeof(guint32)),
                                        .last_tag = -1,
                                        .n_left = leaper->left_out.n_periods,
                                        .leap = &leaps[lane]};
  }
  for (guint32 s = program->streams->len; s-- > 0;)
    leaper->compute[orr_program_stream_lane(program, s)] = s;
}

void orr_leaper_init(OrrExecutor *executor, const OrrLeftOut *left_out, OrrLeap *leaps) {
  const OrrProgram *program = executor->program;
  if (left_out->n_periods == 0) return;
  OrrLeaper *leaper = executor->leaper = g_new0(OrrLeaper, 1);
  leaper->left_out = *left_out;
  init_lanes(leaper, program, leaps);
  leaper->event_lane = nobodies(program->n_events);
  leaper->event_stream = nobodies(program->n_events);
  leaper->event_op = nobodies(program->n_events);
  leaper->last = nobodies(program->streams->len);
  leaper->calls = g_ptr_array_new_with_free_func(g_free);
  const gboolean is_dated = !is_possible(program);
  leaper->is_off = is_dated || !orr_leaper_rewind_init(executor);
  if (leaper->is_off) note_look(executor, is_dated ? ORR_LEAP_DATED : ORR_LEAP_NO_LOOP);
  orr_leap_groups_init(executor);
}

gboolean orr_leaper_gives_up(const OrrExecutor *executor) {
  return executor->leaper && executor->leaper->is_off;
}

gint64 orr_leaper_n_left(OrrExecutor *executor) {
  const OrrLeaper *leaper = executor->leaper;
  gint64 n = 0;
  if (leaper && !leaper->is_off) orr_leap_groups_update(executor);
  if (leaper && leaper->groups.is_broken) return leaper->left_out.n_periods;
  for (guint32 lane = 0; leaper && lane < executor->program->lanes->len; lane++)
    n += leaper->lanes[lane].n_left;
  return n;
}

void orr_leaper_free(OrrLeaper *leaper) {
  if (!leaper) return;
  for (OrrLeapLane *lane = leaper->lanes; lane->begins; lane++) g_array_unref(lane->begins);
  g_free(leaper->lanes);
  guint32 *const lists[] = {leaper->coupled,      leaper->compute,  leaper->event_lane,
                            leaper->event_stream, leaper->event_op, leaper->last};
  for (guint i = 0; i < G_N_ELEMENTS(lists); i++) g_free(lists[i]);
  orr_leap_groups_clear(leaper);
  g_ptr_array_unref(leaper->calls);
  ORR_FREE(leaper->ranges, leaper);
}

/* --- comparing --- */

static guint32 before(const OrrExecutor *executor, guint32 span) {
  return executor->spans.kept[span].previous;
}

/* The stream's last span that ends by @at_s, from @span backwards; ORR_NO_SPAN: none. */
static guint32 ended_by(const OrrExecutor *executor, guint32 span, double at_s) {
  while (span != ORR_NO_SPAN && span_at(executor, span)->end_s > at_s)
    span = before(executor, span);
  return span;
}

/* When the span's end was known: a run hands over ops that ended before. */
static double known_at(const OrrExecutor *executor, guint32 span) {
  return MAX(span_at(executor, span)->end_s, executor->spans.kept[span].noted_s);
}

/* Two windows, (at - 2 period, at - period] and (at - period, at]. */
typedef struct {
  OrrExecutor *executor;
  double at_s, period_s;
  gint64 tags;           /* by which the second one's are higher */
  gboolean by_knowledge; /* by the dates at which ends were known */
} Windows;

static double key_of(const Windows *windows, guint32 span) {
  return windows->by_knowledge ? known_at(windows->executor, span)
                               : span_at(windows->executor, span)->end_s;
}

/* The stream's last span within a window's end, from @span backwards; ORR_NO_SPAN: none. */
static guint32 last_by(const Windows *windows, guint32 span, double at_s) {
  while (span != ORR_NO_SPAN && key_of(windows, span) > at_s)
    span = before(windows->executor, span);
  return span;
}

static gboolean are_equal(const Windows *windows, guint32 early, guint32 late) {
  const OrrSpan *a = span_at(windows->executor, early), *b = span_at(windows->executor, late);
  const double period_s = windows->period_s, tolerance = TOLERANCE * period_s;
  return fabs(key_of(windows, late) - key_of(windows, early) - period_s) <= tolerance &&
         a->label == b->label && a->n_ops == b->n_ops && a->first == b->first &&
         b->tag - a->tag == windows->tags &&
         fabs(b->begin_s - a->begin_s - period_s) <= tolerance &&
         fabs(b->started_s - a->started_s - period_s) <= tolerance &&
         fabs(b->end_s - a->end_s - period_s) <= tolerance;
}

/* A pass is a forward, a backward, or both, by its label. */
static void note_pass(const OrrProgram *program, const OrrSpan *span, gboolean *forward,
                      gboolean *backward) {
  const char *name = orr_program_label_name(program, span->label);
  *forward = *forward || g_str_has_prefix(name, "forward");
  *backward = *backward || g_str_has_prefix(name, "backward");
}

/* Whether no op of a stream without spans in the windows is in flight: such a stream waits for an
 * event, or has no ops. */
static gboolean is_idle(const OrrExecutor *executor, guint32 stream) {
  const OrrStreamState *state = &executor->streams[stream];
  if (executor->overlaps.works && executor->overlaps.works[stream].working) return FALSE;
  if (state->n_ops == 0 || (state->next_op == state->n_ops && !state->waiting)) return TRUE;
  return state->waiting && state->next_op > 0 && orr_stream_op(state)->kind == ORR_OP_WAIT;
}

static gboolean stream_repeats(const Windows *windows, guint32 stream, gboolean is_compute) {
  const OrrExecutor *executor = windows->executor;
  const OrrLeaper *leaper = executor->leaper;
  const double from_s = windows->at_s - windows->period_s;
  guint32 late = last_by(windows, leaper->last[stream], windows->at_s);
  guint32 early = last_by(windows, late, from_s);
  gboolean forward = FALSE, backward = FALSE;
  if (late == early && !is_idle(executor, stream)) return FALSE;
  for (const guint32 end = early; late != end; late = before(executor, late)) {
    if (early == ORR_NO_SPAN) return FALSE;
    if (key_of(windows, early) <= from_s - windows->period_s) return FALSE;
    if (!are_equal(windows, early, late)) return FALSE;
    if (is_compute) note_pass(executor->program, span_at(executor, early), &forward, &backward);
    early = before(executor, early);
  }
  if (early != ORR_NO_SPAN && key_of(windows, early) > from_s - windows->period_s) return FALSE;
  return !is_compute || (forward && backward);
}

/* The stream's span that ended in the window before the last one and was known in the last one;
 * ORR_NO_SPAN: none. FALSE: there are several. */
static gboolean find_late(const Windows *windows, guint32 stream, guint32 *ret_span) {
  const OrrExecutor *executor = windows->executor;
  const double from_s = windows->at_s - windows->period_s;
  guint32 span = last_by(windows, executor->leaper->last[stream], windows->at_s);
  *ret_span = ORR_NO_SPAN;
  for (; span != ORR_NO_SPAN && key_of(windows, span) > from_s; span = before(executor, span)) {
    if (span_at(executor, span)->end_s > from_s) continue;
    if (*ret_span != ORR_NO_SPAN) return FALSE;
    *ret_span = span;
  }
  return TRUE;
}

/* Whether the stream's run has its next op where its counterpart had it a period ago, if that was
 * handed over since. */
static gboolean can_split(const Windows *windows, guint32 stream) {
  OrrExecutor *executor = windows->executor;
  guint32 late;
  if (!find_late(windows, stream, &late)) return FALSE;
  if (late == ORR_NO_SPAN) return TRUE;
  const OrrSpan *span = span_at(executor, late);
  return span->n_ops > 0 && orr_express_op(executor, stream) == span->first + span->n_ops;
}

static gboolean stream_of_group_repeats(const Windows *windows, guint32 stream) {
  const OrrLeaper *leaper = windows->executor->leaper;
  const guint32 lane = windows->executor->streams[stream].lane;
  return stream_repeats(windows, stream, leaper->compute[lane] == stream) &&
         (!windows->by_knowledge || can_split(windows, stream));
}

/* Most groups do not repeat, look after look, and for the same stream: it is compared first. */
static gboolean group_repeats(const Windows *windows, guint32 group) {
  const OrrExecutor *executor = windows->executor;
  const OrrLeaper *leaper = executor->leaper;
  guint32 *differed = &leaper->lanes[group].differed;
  if (orr_leaper_group(leaper, executor->streams[*differed].lane) == group &&
      !stream_of_group_repeats(windows, *differed))
    return FALSE;
  for (guint32 s = 0; s < executor->program->streams->len; s++) {
    if (orr_leaper_group(leaper, executor->streams[s].lane) != group) continue;
    if (stream_of_group_repeats(windows, s)) continue;
    *differed = s;
    return FALSE;
  }
  return TRUE;
}

/* --- leaping --- */

typedef struct {
  OrrExecutor *executor;
  guint32 group;
} Group;

static gboolean is_of(const Group *group, guint32 stream) {
  const OrrExecutor *executor = group->executor;
  return orr_leaper_group(executor->leaper, executor->streams[stream].lane) == group->group;
}

static gboolean concerns(OrrEngineCall call, void *user, void *data) {
  guint32 stream = orr_executor_comm_call_stream(call, user);
  if (stream == ORR_NOBODY) stream = orr_overlaps_call_stream(call, user);
  if (stream == ORR_NOBODY) stream = orr_express_call_stream(call, user);
  return stream != ORR_NOBODY && is_of(data, stream);
}

OrrCommState *orr_leaper_joined(const OrrExecutor *executor, guint32 stream) {
  const OrrStreamState *state = &executor->streams[stream];
  if (!state->waiting || state->next_op == 0) return NULL;
  const OrrOp *op = orr_stream_op(state);
  const gboolean is_in = op->kind == ORR_OP_COMM || (op->kind == ORR_OP_BESIDE && state->helps > 0);
  return is_in ? executor->comms[orr_stream_target(state)] : NULL;
}

/* Spans that streams ahead of the engine have already left behind. */
static void postpone_spans(OrrExecutor *executor, guint32 stream, double at_s, double delay_s) {
  for (guint32 i = executor->leaper->last[stream]; i != ORR_NO_SPAN; i = before(executor, i)) {
    OrrSpan *span = &executor->spans.kept[i].span;
    if (span->end_s <= at_s) break;
    span->begin_s += delay_s;
    span->started_s += delay_s;
    span->end_s += delay_s;
    executor->end_s = MAX(executor->end_s, span->end_s);
  }
}

static void postpone_stream(OrrExecutor *executor, guint32 stream, double delay_s) {
  OrrCommState *comm = orr_leaper_joined(executor, stream);
  postpone_spans(executor, stream, orr_engine_now(executor->engine), delay_s);
  executor->streams[stream].now_s += delay_s;
  orr_overlaps_postpone(executor, stream, delay_s);
  orr_express_postpone(executor, stream, delay_s);
  if (!comm || comm->members.first != stream) return; /* once for all of its members */
  comm->started_s += delay_s;
  comm->end_s += delay_s;
}

static void postpone(const Group *group, double delay_s) {
  OrrExecutor *executor = group->executor;
  for (guint32 s = 0; s < executor->program->streams->len; s++)
    if (is_of(group, s)) postpone_stream(executor, s, delay_s);
  for (guint32 i = 0; i < executor->program->n_events; i++) {
    const guint32 lane = executor->leaper->event_lane[i];
    if (executor->events[i].at_s >= 0 && lane != ORR_NOBODY &&
        orr_leaper_group(executor->leaper, lane) == group->group)
      executor->events[i].at_s += delay_s;
  }
}

/* How often the period of @k periods of the schedule is still to come, for all lanes of the
 * group. */
static gint64 times_left(const Group *group, guint k) {
  const OrrLeaper *leaper = group->executor->leaper;
  gint64 n = G_MAXINT64;
  for (guint32 lane = 0; lane < group->executor->program->lanes->len; lane++)
    if (orr_leaper_group(leaper, lane) == group->group) n = MIN(n, leaper->lanes[lane].n_left);
  return n / k;
}

static void split_runs(const Windows *windows, const Group *group) {
  for (guint32 s = 0; s < group->executor->program->streams->len; s++) {
    guint32 late;
    if (is_of(group, s) && find_late(windows, s, &late) && late != ORR_NO_SPAN)
      orr_express_split(group->executor, s);
  }
}

static void leap(const Windows *windows, guint32 group) {
  OrrExecutor *executor = windows->executor;
  OrrLeaper *leaper = executor->leaper;
  Group all = {executor, group};
  const guint k = (guint)(windows->tags / leaper->left_out.tags);
  const gint64 times = times_left(&all, k);
  const double now_s = windows->at_s, later_s = (double)times * windows->period_s;
  if (times == 0) return note_look(executor, ORR_LEAP_FEW);
  if (!orr_engine_postpone(executor->engine, later_s, concerns, &all))
    return note_look(executor, ORR_LEAP_AT_ONCE);
  note_look(executor, ORR_LEAP_TAKEN);
  if (windows->by_knowledge) split_runs(windows, &all);
  postpone(&all, later_s);
  for (guint32 lane = 0; lane < executor->program->lanes->len; lane++) {
    if (orr_leaper_group(leaper, lane) != group) continue;
    *leaper->lanes[lane].leap = (OrrLeap){now_s - windows->period_s, now_s, (double)times, later_s};
    leaper->lanes[lane].n_left -= times * k;
  }
}

/* The least k with which the first lane and the whole group repeat: other lanes can need more
 * periods than the first. */
static gboolean find_period(const Probe *probe, guint32 group, Windows *ret_windows) {
  const OrrExecutor *executor = probe->executor;
  for (guint k = 1; k <= MOST_PERIODS; k++) {
    if (probe->periods_s[k] == 0) continue;
    *ret_windows = (Windows){probe->executor, orr_engine_now(executor->engine), probe->periods_s[k],
                             k * executor->leaper->left_out.tags, FALSE};
    if (group_repeats(ret_windows, group)) return TRUE;
    ret_windows->by_knowledge = TRUE;
    if (group_repeats(ret_windows, group)) return TRUE;
  }
  return FALSE;
}

static void look(void *user) {
  const Probe *probe = user;
  OrrLeaper *leaper = probe->executor->leaper;
  orr_leap_groups_update(probe->executor);
  const guint32 group = orr_leaper_group(leaper, probe->lane);
  Windows windows;
  leaper->lanes[probe->lane].is_probed = FALSE;
  if (leaper->lanes[group].leap->times > 0) return;
  if (!find_period(probe, group, &windows)) return note_look(probe->executor, ORR_LEAP_OTHERS);
  leap(&windows, group);
}

/* --- when to look --- */

/* The middle of the longest gap between two ends of the group in (from, to). */
static gboolean find_cut(const Group *group, double from_s, double to_s, double *ret_cut_s) {
  const OrrExecutor *executor = group->executor;
  g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(double));
  double longest_s = 0;
  g_array_append_val(ends, from_s);
  g_array_append_val(ends, to_s);
  for (guint32 s = 0; s < executor->program->streams->len; s++) {
    if (!is_of(group, s)) continue;
    guint32 i = ended_by(executor, executor->leaper->last[s], to_s);
    for (; i != ORR_NO_SPAN && span_at(executor, i)->end_s > from_s; i = before(executor, i))
      g_array_append_val(ends, span_at(executor, i)->end_s);
  }
  g_array_sort(ends, orr_number_compare);
  for (guint i = 0; i + 1 < ends->len; i++) {
    const double end_s = g_array_index(ends, double, i);
    const double gap_s = g_array_index(ends, double, i + 1) - end_s;
    if (gap_s <= longest_s) continue;
    longest_s = gap_s;
    *ret_cut_s = end_s + gap_s / 2;
  }
  return longest_s > 8 * TOLERANCE * (to_s - from_s);
}

/* Looks in a gap between ends, so that none changes sides by rounding. */
static void schedule(const Probe *wanted) {
  OrrExecutor *executor = wanted->executor;
  OrrLeaper *leaper = executor->leaper;
  const double now_s = orr_engine_now(executor->engine);
  const Group group = {executor, orr_leaper_group(leaper, wanted->lane)};
  guint k = 1;
  while (wanted->periods_s[k] == 0) k++;
  const double period_s = wanted->periods_s[k];
  double cut_s = 0;
  if (!find_cut(&group, now_s - period_s, now_s - period_s / 2, &cut_s))
    return note_look(executor, ORR_LEAP_CROWDED);
  Probe *probe = g_memdup2(wanted, sizeof *wanted);
  g_ptr_array_add(leaper->calls, probe);
  leaper->lanes[wanted->lane].is_probed = TRUE;
  orr_engine_at(executor->engine, MAX(cut_s + period_s, now_s), look, probe);
}

static double end_of_begin(const OrrExecutor *executor, const OrrLeapLane *lane, guint back) {
  return span_at(executor, g_array_index(lane->begins, guint32, lane->begins->len - 1 - back))
      ->end_s;
}

/* Whether the lane's compute stream did in its last @k periods what it did in the @k before.
 * Counted from one begin of a period to the next, as ops of no length end on the same date. */
static gboolean lane_repeats(const Windows *windows, const OrrLeapLane *lane, guint k) {
  const OrrExecutor *executor = windows->executor;
  const guint32 *begins = &g_array_index(lane->begins, guint32, lane->begins->len - 1 - 2 * k);
  guint32 early = begins[k];
  gboolean forward = FALSE, backward = FALSE;
  for (guint32 late = begins[2 * k]; late != begins[k]; late = before(executor, late)) {
    if (early == begins[0] || !are_equal(windows, early, late)) return FALSE;
    note_pass(executor->program, span_at(executor, early), &forward, &backward);
    early = before(executor, early);
  }
  return early == begins[0] && forward && backward;
}

/* The compute stream of a group's first lane has begun a period: whether it repeats itself. */
static void begin_period(OrrExecutor *executor, guint32 lane) {
  const OrrLeapLane *state = &executor->leaper->lanes[lane];
  Probe probe = {.executor = executor, .lane = lane};
  gboolean is_wanted = FALSE;
  OrrLeapLook look = ORR_LEAP_LENGTHS;
  if (state->begins->len <= 2) return; /* no two periods yet */
  for (guint k = 1; k <= MOST_PERIODS && 2 * k < state->begins->len; k++) {
    if (state->n_left < k) break;
    const double at_s = end_of_begin(executor, state, 0);
    const double period_s = at_s - end_of_begin(executor, state, k);
    const double other_s = at_s - period_s - end_of_begin(executor, state, 2 * k);
    const Windows windows = {executor, at_s, period_s, k * executor->leaper->left_out.tags, FALSE};
    if (fabs(period_s - other_s) > TOLERANCE * period_s) continue;
    look = ORR_LEAP_FIRST;
    if (!lane_repeats(&windows, state, k)) continue;
    probe.periods_s[k] = period_s;
    is_wanted = TRUE;
  }
  if (is_wanted)
    schedule(&probe);
  else
    note_look(executor, look);
}

void orr_leaper_note_span(OrrExecutor *executor) {
  OrrLeaper *leaper = executor->leaper;
  const guint32 index = executor->spans.n_kept - 1;
  OrrKeptSpan *kept = &executor->spans.kept[index];
  OrrSpan *span = &kept->span;
  const guint32 lane = executor->streams[span->stream].lane;
  OrrLeapLane *state = &leaper->lanes[lane];
  if (leaper->is_off) return;
  if (span->tag >= 0) span->tag += (gint32)(state->n_rewound * leaper->left_out.tags);
  kept->previous = leaper->last[span->stream];
  kept->noted_s = orr_engine_now(executor->engine);
  leaper->last[span->stream] = index;
  if (span->stream != leaper->compute[lane] || span->tag <= state->last_tag) return;
  state->last_tag = span->tag;
  if (span->tag % leaper->left_out.tags != 0) return;
  g_array_append_val(state->begins, index);
  if (state->n_left == 0) return;
  orr_leaper_rewind(executor, lane);
  if (state->is_probed || state->leap->times > 0) return;
  orr_leap_groups_update(executor);
  if (orr_leaper_group(leaper, lane) == lane) begin_period(executor, lane);
}
