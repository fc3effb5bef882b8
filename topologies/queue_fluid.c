/*
 * queue_fluid.c - integrates flows through queues: how many bytes wait before each link, which
 * links are paused, and when the last byte of each flow arrives.
 *
 *   flow f:  left --feed--> | queue 0 | link 0 --> | queue 1 | link 1 --> ... --> delivered
 *
 * A step of h seconds:
 *
 *   waiting(l)  bytes of all flows before link l           a queue passes on  min(1, C h / waiting)
 *                                                          of each flow's bytes: well mixed
 *   held(u)     bytes that came over link u and wait        > xoff: u is paused; < xon: it resumes
 *               behind it, in whichever queue
 *   marked(f)   1 - product over its queues of (1 - p(q))   known to the sender one RTT later
 *
 * That each link into a full switch gets the same share, and that strangers wait, is not put in: it
 * follows from the pauses.
 *
 * Invariants
 *  1. left + all queues of a flow + delivered = its bytes, up to rounding.
 *  2. No link passes more than C h in a step, and none while it is paused.
 *  3. The same flows give the same result: no hash order, no random number.
 *
 * Time leaps: once the rates of two windows of steps agree, nothing changes until a flow ends or
 * begins, so all amounts advance to just before that date. Rates that never settle are taken from
 * the last of SETTLE windows. After MOST_WORK a leap goes on until a tenth of the flows has ended,
 * each at its last rate, and the result is marked rough.
 *
 * Accuracy: a hop adds one step, which is subtracted; a flow ends with its last packet. Tests hold
 * closed forms to 3 %.
 */
#include "topologies/queue_model.h"

#include "sim/base/number.h"

#define STEPS_TO_XOFF 8.0    /* steps in which a link at full rate brings xoff */
#define STEPS_AT_LEAST 400.0 /* in the time that the busiest link needs */
#define LAST_PACKET 4096.0   /* bytes of a flow that may be missing when it counts as finished */
#define AGREE 0.01           /* rates of two windows that count as equal */
#define CONTROL_S 1e-3       /* window of senders that adapt: DCQCN's rates move in milliseconds */
#define CYCLES 16.0          /* of pauses in a window */
#define MOST_WORK 6e7        /* queues times steps, then leaps are coarse: half a second */
#define WINDOWS_AT_LEAST 16.0
enum { WINDOW = 256, SETTLE = 12, MOST_DELAY = 256 };

typedef struct {
  const OrrQueueFlow *flow;
  guint first;                    /* its queues are first ... first + n_links - 1 */
  double left, delivered, before; /* delivered when the window began */
  double rate, last_rate;         /* delivered bytes/s of the last window, and of the one before */
  OrrQueueSender sender;
  gboolean is_done;
} Flow;

typedef struct {
  double capacity;
  double waiting, behind; /* bytes before it; the part that waits in a switch */
  double held;
  double share, marks;
  gboolean paused, has_transit;
  guint n_senders; /* to the receiver behind it */
  OrrQueueLink at_window;
} Link;

typedef struct {
  const OrrQueueKind *kind;
  OrrQueueParams params;
  Flow *flows;
  guint n_flows, n_done;
  Link *links;
  guint n_links;
  guint *link_of; /* by queue */
  double *queues;
  float *marks; /* ring: by step and flow */
  guint n_queues, delay;
  guint64 step;
  double now_s, step_s, work;
  guint window; /* steps */
  OrrQueueResult *result;
} Fluid;

static gboolean runs(const Fluid *fluid, const Flow *flow) {
  return !flow->is_done && flow->flow->start_s <= fluid->now_s;
}

/* --- One step --- */

/* Bytes that a sender hands to its NIC. Where others pass through the same link (a torus), its own
 * queue competes with theirs as any ingress does. */
static void feed(Fluid *fluid, Flow *flow) {
  const Link *link = &fluid->links[fluid->link_of[flow->first]];
  const double most = MIN(flow->sender.rate, flow->sender.line_bytes_per_s) * fluid->step_s;
  const double room =
      (link->has_transit ? fluid->params.xoff_bytes : most) - fluid->queues[flow->first];
  const double fed = MAX(MIN(MIN(most, room), flow->left), 0);
  fluid->queues[flow->first] += fed;
  flow->sender.sent_bytes += fed;
  flow->left -= fed;
}

static void add_up(Fluid *fluid) {
  for (guint l = 0; l < fluid->n_links; l++)
    fluid->links[l].waiting = fluid->links[l].behind = fluid->links[l].held = 0;
  for (guint f = 0; f < fluid->n_flows; f++) {
    Flow *flow = &fluid->flows[f];
    if (!runs(fluid, flow)) continue;
    feed(fluid, flow);
    for (guint h = 0; h < flow->flow->n_links; h++) {
      const guint q = flow->first + h;
      Link *link = &fluid->links[fluid->link_of[q]];
      link->waiting += fluid->queues[q];
      if (h == 0) continue;
      link->behind += fluid->queues[q];
      fluid->links[fluid->link_of[q - 1]].held += fluid->queues[q];
    }
  }
}

static double mark_probability(const OrrQueueParams *params, double length) {
  if (params->kmax_bytes <= 0 || length <= params->kmin_bytes) return 0;
  if (length >= params->kmax_bytes) return 1;
  return params->pmax * (length - params->kmin_bytes) / (params->kmax_bytes - params->kmin_bytes);
}

static void settle_links(Fluid *fluid) {
  for (guint l = 0; l < fluid->n_links; l++) {
    Link *link = &fluid->links[l];
    OrrQueueLink *fact = &fluid->result->facts[l];
    const double most = link->capacity * fluid->step_s;
    if (link->held > fluid->params.xoff_bytes) link->paused = TRUE;
    if (link->held < fluid->params.xon_bytes) link->paused = FALSE;
    link->share = link->paused || link->waiting <= 0 ? 0 : MIN(1, most / link->waiting);
    link->marks = mark_probability(&fluid->params, link->behind);
    fact->peak_bytes = MAX(fact->peak_bytes, link->behind);
    fact->paused_s += link->paused ? fluid->step_s : 0;
    fact->bytes += link->waiting * link->share;
    fact->marked_bytes += link->behind * link->share * link->marks;
  }
}

/* From the last queue to the first, so that no byte passes two links in one step. Returns the
 * fraction of marked packets. */
static double move(Fluid *fluid, Flow *flow) {
  double unmarked = 1;
  for (guint h = flow->flow->n_links; h-- > 0;) {
    const guint q = flow->first + h;
    const Link *link = &fluid->links[fluid->link_of[q]];
    const double out = fluid->queues[q] * link->share;
    fluid->queues[q] -= out;
    if (h + 1 < flow->flow->n_links)
      fluid->queues[q + 1] += out;
    else
      flow->delivered += out;
    if (h > 0) unmarked *= 1 - link->marks;
  }
  return 1 - unmarked;
}

static void finish(Fluid *fluid, guint f, double date_s) {
  Flow *flow = &fluid->flows[f];
  flow->is_done = TRUE;
  fluid->n_done++;
  fluid->links[fluid->link_of[flow->first + flow->flow->n_links - 1]].n_senders--;
  fluid->result->finish_s[f] = date_s;
  for (guint h = 0; h < flow->flow->n_links; h++) fluid->queues[flow->first + h] = 0;
}

static void adapt(Fluid *fluid, guint f, double marked) {
  Flow *flow = &fluid->flows[f];
  const Link *last = &fluid->links[fluid->link_of[flow->first + flow->flow->n_links - 1]];
  float *now = &fluid->marks[(fluid->step % fluid->delay) * fluid->n_flows + f];
  const OrrQueueSignal signal = {.step_s = fluid->step_s,
                                 .marked = *now, /* written one round of the ring ago */
                                 .receiver_bytes_per_s = last->capacity,
                                 .n_senders = MAX(last->n_senders, 1)};
  *now = (float)marked;
  fluid->kind->adapt(&fluid->params, &signal, &flow->sender);
}

static double missing(const OrrQueueFlow *flow) { return MIN(LAST_PACKET, flow->bytes / 200); }

static void start_senders(Fluid *fluid, double until_s) {
  for (guint f = 0; f < fluid->n_flows; f++) {
    const Flow *flow = &fluid->flows[f];
    if (flow->flow->start_s > fluid->now_s && flow->flow->start_s <= until_s)
      fluid->links[fluid->link_of[flow->first + flow->flow->n_links - 1]].n_senders++;
  }
}

static void take_step(Fluid *fluid) {
  add_up(fluid);
  settle_links(fluid);
  for (guint f = 0; f < fluid->n_flows; f++) {
    Flow *flow = &fluid->flows[f];
    if (!runs(fluid, flow)) continue;
    const double marked = move(fluid, flow);
    if (fluid->kind->adapt) adapt(fluid, f, marked);
    const double lag_s = (flow->flow->n_links - 1) * fluid->step_s;
    if (flow->delivered >= flow->flow->bytes - missing(flow->flow))
      finish(fluid, f, fluid->now_s + fluid->step_s - lag_s);
  }
  start_senders(fluid, fluid->now_s + fluid->step_s);
  fluid->now_s += fluid->step_s;
  fluid->step++;
  fluid->work += fluid->n_queues;
}

/* --- Windows and leaps --- */

static void begin_window(Fluid *fluid) {
  for (guint f = 0; f < fluid->n_flows; f++) fluid->flows[f].before = fluid->flows[f].delivered;
  for (guint l = 0; l < fluid->n_links; l++) fluid->links[l].at_window = fluid->result->facts[l];
}

/* Runs a window; returns whether the rates agree with the window before and no flow came or
 * went. */
static gboolean run_window(Fluid *fluid, double *ret_moved) {
  const guint n_done = fluid->n_done;
  const double begin_s = fluid->now_s;
  gboolean agree = TRUE;
  begin_window(fluid);
  for (guint i = 0; i < fluid->window && fluid->n_done < fluid->n_flows; i++) take_step(fluid);
  *ret_moved = 0;
  for (guint f = 0; f < fluid->n_flows; f++) {
    Flow *flow = &fluid->flows[f];
    *ret_moved += flow->delivered - flow->before;
    flow->last_rate = flow->rate;
    flow->rate = (flow->delivered - flow->before) / (fluid->now_s - begin_s);
    if (flow->flow->start_s > begin_s && flow->flow->start_s <= fluid->now_s) agree = FALSE;
    if (runs(fluid, flow) && fabs(flow->rate - flow->last_rate) > AGREE * flow->rate) agree = FALSE;
  }
  return agree && fluid->n_done == n_done;
}

/* Time for which the rates of the window can go on: to one window before the first end or start. */
static double leap_time(const Fluid *fluid) {
  double least_s = INFINITY;
  for (guint f = 0; f < fluid->n_flows; f++) {
    const Flow *flow = &fluid->flows[f];
    if (flow->flow->start_s > fluid->now_s)
      least_s = MIN(least_s, flow->flow->start_s - fluid->now_s);
    else if (!flow->is_done && flow->rate > 0)
      least_s = MIN(least_s, flow->left / flow->rate);
  }
  return least_s - fluid->window * fluid->step_s;
}

/* The same when time is short: until a tenth of the running flows has ended. */
static double coarse_time(const Fluid *fluid) {
  g_autofree double *times = g_new(double, fluid->n_flows + 1);
  guint n = 0;
  double start_s = INFINITY;
  for (guint f = 0; f < fluid->n_flows; f++) {
    const Flow *flow = &fluid->flows[f];
    if (flow->flow->start_s > fluid->now_s)
      start_s = MIN(start_s, flow->flow->start_s - fluid->now_s);
    else if (!flow->is_done && flow->rate > 0)
      times[n++] = (flow->flow->bytes - flow->delivered) / flow->rate;
  }
  qsort(times, n, sizeof *times, orr_number_compare);
  return n > 0 ? MIN(times[n / 10], start_s) : 0;
}

static void advance(Fluid *fluid, guint f, double by_s) {
  Flow *flow = &fluid->flows[f];
  const double bytes = flow->rate * by_s, rest = flow->flow->bytes - flow->delivered;
  if (!runs(fluid, flow)) return;
  if (flow->rate > 0 && rest <= bytes) return finish(fluid, f, fluid->now_s + rest / flow->rate);
  flow->left = MAX(flow->left - bytes, 0);
  flow->delivered += bytes;
  flow->sender.sent_bytes += bytes;
}

static void leap(Fluid *fluid, double by_s) {
  const double window_s = fluid->window * fluid->step_s;
  for (guint f = 0; f < fluid->n_flows; f++) advance(fluid, f, by_s);
  for (guint l = 0; l < fluid->n_links; l++) {
    OrrQueueLink *fact = &fluid->result->facts[l];
    const OrrQueueLink *then = &fluid->links[l].at_window;
    fact->paused_s += (fact->paused_s - then->paused_s) / window_s * by_s;
    fact->bytes += (fact->bytes - then->bytes) / window_s * by_s;
    fact->marked_bytes += (fact->marked_bytes - then->marked_bytes) / window_s * by_s;
  }
  start_senders(fluid, fluid->now_s + by_s);
  fluid->now_s += by_s;
}

/* Ends all flows at their last rates; flows without one never end. */
static void extrapolate(Fluid *fluid) {
  for (guint f = 0; f < fluid->n_flows; f++) {
    Flow *flow = &fluid->flows[f];
    const double ran_s = fluid->now_s - flow->flow->start_s;
    const double rate = ran_s > 0 ? MAX(flow->rate, flow->delivered / ran_s) : 0;
    if (flow->is_done) continue;
    fluid->result->is_stuck |= rate <= 0;
    finish(fluid, f,
           MAX(fluid->now_s, flow->flow->start_s) + (flow->flow->bytes - flow->delivered) / rate);
  }
}

static gboolean waits_for_start(const Fluid *fluid) {
  for (guint f = 0; f < fluid->n_flows; f++)
    if (fluid->flows[f].flow->start_s > fluid->now_s) return TRUE;
  return FALSE;
}

static void run(Fluid *fluid) {
  OrrQueueResult *result = fluid->result;
  for (guint windows = 1; fluid->n_done < fluid->n_flows; windows++) {
    double moved = 0;
    const guint n_done = fluid->n_done;
    const gboolean agree = run_window(fluid, &moved);
    if (fluid->n_done == fluid->n_flows) return;
    result->is_stuck = moved <= 0 && !waits_for_start(fluid);
    result->is_rough |= fluid->work > MOST_WORK;
    if (result->is_stuck || fluid->work > 3 * MOST_WORK) return extrapolate(fluid);
    if (fluid->n_done > n_done) windows = 0;
    if (!agree && windows < SETTLE && !result->is_rough) continue;
    const double by_s = result->is_rough ? coarse_time(fluid) : leap_time(fluid);
    if (isfinite(by_s) && by_s >= 2 * fluid->window * fluid->step_s) leap(fluid, by_s);
    windows = 0;
  }
}

/* --- Life --- */

static void number_links(Fluid *fluid, OrrQueueBandwidth bandwidth, gconstpointer fabric) {
  g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL);
  GArray *links = fluid->result->links;
  for (guint f = 0; f < fluid->n_flows; f++)
    for (guint h = 0; h < fluid->flows[f].flow->n_links; h++) {
      const guint32 link = fluid->flows[f].flow->links[h];
      guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, GUINT_TO_POINTER(link)));
      if (!place) {
        g_array_append_val(links, link);
        place = links->len;
        g_hash_table_insert(places, GUINT_TO_POINTER(link), GUINT_TO_POINTER(place));
      }
      fluid->link_of[fluid->flows[f].first + h] = place - 1;
    }
  fluid->n_links = links->len;
  fluid->links = g_new0(Link, links->len + 1);
  fluid->result->facts = g_new0(OrrQueueLink, links->len + 1);
  for (guint l = 0; l < links->len; l++)
    fluid->links[l].capacity = bandwidth(fabric, g_array_index(links, guint32, l));
}

static void place_flows(Fluid *fluid) {
  for (guint f = 0; f < fluid->n_flows; f++) {
    Flow *flow = &fluid->flows[f];
    const guint n = flow->flow->n_links;
    const double line = fluid->links[fluid->link_of[flow->first]].capacity;
    flow->left = flow->flow->bytes;
    flow->sender = (OrrQueueSender){line, line, line, 1, 0};
    if (flow->flow->start_s <= 0) fluid->links[fluid->link_of[flow->first + n - 1]].n_senders++;
    for (guint h = 1; h < n; h++) fluid->links[fluid->link_of[flow->first + h]].has_transit = TRUE;
  }
}

/* The time that the busiest link needs for all flows. */
static double busiest_s(const Fluid *fluid) {
  g_autofree double *bytes = g_new0(double, fluid->n_links + 1);
  double most_s = 0;
  for (guint f = 0; f < fluid->n_flows; f++)
    for (guint h = 0; h < fluid->flows[f].flow->n_links; h++)
      bytes[fluid->link_of[fluid->flows[f].first + h]] += fluid->flows[f].flow->bytes;
  for (guint l = 0; l < fluid->n_links; l++)
    most_s = MAX(most_s, bytes[l] / fluid->links[l].capacity);
  return most_s;
}

/* The longest cycle of a pause: the time in which a link passes what the ports that lead to it hold
 * between two pauses. */
static double longest_cycle_s(const Fluid *fluid) {
  g_autofree guint *flows = g_new0(guint, fluid->n_links + 1);
  double longest_s = 0;
  for (guint q = 0; q < fluid->n_queues; q++) flows[fluid->link_of[q]]++;
  for (guint l = 0; l < fluid->n_links; l++)
    longest_s = MAX(longest_s, flows[l] * fluid->params.xoff_bytes / fluid->links[l].capacity);
  return longest_s;
}

/* A window holds many cycles, so that its rates are means. */
static guint window_of(const Fluid *fluid) {
  const double adapts_s = fluid->params.timer_s > 0 ? CONTROL_S : 0;
  const double window_s = MAX(adapts_s, CYCLES * longest_cycle_s(fluid));
  const double most = MOST_WORK / (WINDOWS_AT_LEAST * (fluid->n_queues + 1));
  return (guint)MAX(MIN(window_s / fluid->step_s, most), WINDOW);
}

static void choose_step(Fluid *fluid) {
  double fastest = 0;
  for (guint l = 0; l < fluid->n_links; l++) fastest = MAX(fastest, fluid->links[l].capacity);
  fluid->step_s =
      MIN(fluid->params.xoff_bytes / (STEPS_TO_XOFF * fastest), busiest_s(fluid) / STEPS_AT_LEAST);
  if (fluid->params.unsolicited_bytes > 0)
    fluid->step_s = MIN(fluid->step_s, fluid->params.unsolicited_bytes / (4 * fastest));
  if (fluid->params.rtt_s > 0) fluid->step_s = MIN(fluid->step_s, fluid->params.rtt_s / 4);
  fluid->delay = (guint)CLAMP(fluid->params.rtt_s / fluid->step_s, 1, MOST_DELAY);
  fluid->window = window_of(fluid);
}

OrrQueueResult *orr_queue_model_solve(const OrrChoice *choice, const OrrQueueFlow *flows,
                                      guint n_flows, OrrQueueBandwidth bandwidth,
                                      gconstpointer fabric) {
  OrrQueueResult *result = g_new0(OrrQueueResult, 1);
  Fluid fluid = {.kind = (const OrrQueueKind *)(gconstpointer)choice->entry,
                 .params = *(const OrrQueueParams *)choice->params,
                 .n_flows = n_flows,
                 .result = result};
  result->n_flows = n_flows;
  result->finish_s = g_new0(double, n_flows + 1);
  result->links = g_array_new(FALSE, FALSE, sizeof(guint32));
  fluid.flows = g_new0(Flow, n_flows + 1);
  for (guint f = 0; f < n_flows; f++) {
    fluid.flows[f] = (Flow){.flow = &flows[f], .first = fluid.n_queues};
    fluid.n_queues += flows[f].n_links;
  }
  fluid.link_of = g_new0(guint, fluid.n_queues + 1);
  fluid.queues = g_new0(double, fluid.n_queues + 1);
  number_links(&fluid, bandwidth, fabric);
  place_flows(&fluid);
  choose_step(&fluid);
  fluid.marks = g_new0(float, (gsize)fluid.delay *n_flows + 1);
  run(&fluid);
  for (guint f = 0; f < n_flows; f++) result->last_s = MAX(result->last_s, result->finish_s[f]);
  ORR_FREE(fluid.flows, fluid.links, fluid.link_of, fluid.queues, fluid.marks);
  return result;
}

void orr_queue_result_free(OrrQueueResult *result) {
  if (!result) return;
  g_array_unref(result->links);
  ORR_FREE(result->facts, result->finish_s, result);
}
