/*
 * rollout_replica.c - an engine core of serving on a clock of segments.
 *
 *   plan      the core's scheduler admits, preempts and makes the batch of a step
 *   segment   that step, with prompts in it; or k steps of a batch of decodes, until a response
 *             ends, the cache is full, or another response comes
 *   end       responses have their tokens; the loop hears of each that ended, then the next plan
 *
 * A plan that admits nobody holds until a response ends or comes: places and room only shrink.
 */
#include "workloads/post_training/rollout_replica.h"

enum { MOST_STEPS = 256 };

struct OrrRolloutReplica {
  const OrrRolloutContext *context;
  guint number;
  OrrCore core;
  GArray *blocks;   /* of gint64: orr_core_run_blocks */
  GPtrArray *ended; /* of OrrRolloutSample *: by the segment that ends */
  gboolean is_paused, is_active, is_called, loses_caches;
  guint32 generation;
  double carry; /* the part of a token to which accepted drafts have come beyond whole ones */
  /* the segment */
  double begin_s, seconds, steps,
      gained;      /* gained: tokens of each decode, a part of one included */
  OrrJoules watts; /* joules per second */
  OrrRolloutTotals totals;
};

typedef struct {
  OrrRolloutReplica *replica;
  guint32 generation;
} Tick;

/* --- Samples and their requests --- */

static OrrRolloutSample *sample_of(OrrRequest *request) { return (OrrRolloutSample *)request; }

/* A turn is a request of its own, whose prompt is all that there is so far. */
static void open_request(OrrRolloutSample *sample, double now_s) {
  orr_request_clear(&sample->request);
  sample->request = (OrrRequest){.id = sample->id,
                                 .prompt = sample->context,
                                 .output = sample->left,
                                 .shared = (guint64)sample->group + 1,
                                 .shared_tokens = sample->prompt,
                                 .stream = (guint64)sample->id + 1,
                                 .arrival_s = now_s,
                                 .scheduled_s = -1};
}

/* The sample has what its request wrote. */
static void settle(OrrRolloutSample *sample) {
  const gint32 wrote = sample->request.generated;
  sample->context += wrote;
  sample->response += wrote;
  sample->left = MAX(sample->left - wrote, 0);
}

void orr_rollout_sample_free(gpointer data) {
  OrrRolloutSample *sample = data;
  if (!sample) return;
  orr_request_clear(&sample->request);
  g_free(sample);
}

/* --- Segments --- */

static void set_active(OrrRolloutReplica *r, gboolean is_active) {
  if (r->is_active == is_active) return;
  r->is_active = is_active;
  if (r->context->busy) r->context->busy(r->context->user, r->number, is_active);
}

/* Tokens of each decode for which the cache has room, at most @tokens. */
static double room_for(const OrrRolloutReplica *r, guint tokens) {
  const OrrCore *core = &r->core;
  const gint64 most = tokens / orr_kv_block_size(core->kv) + 1;
  return orr_kv_n_free(core->kv) >= core->batch->len * most
             ? tokens
             : orr_core_run_blocks(core, tokens, r->blocks);
}

/* Steps that a batch of decodes takes at once; only the tokens that fit are gained in them. */
static void set_steps(OrrRolloutReplica *r) {
  const double gain = orr_rollout_speed_gain(r->context->speed);
  const double left = (double)orr_core_least_left(&r->core);
  const double most = r->core.has_preempted ? 1 : MOST_STEPS; /* the next plan may admit */
  r->steps = CLAMP(ceil((left - r->carry) / gain - 1e-9), 1, most);
  r->gained = r->carry + r->steps * gain;
  const double room = room_for(r, (guint)ceil(r->gained));
  if (room >= floor(r->gained)) return;
  r->steps = fmax(floor((room - r->carry) / gain + 1e-9), 1);
  r->gained = fmin(r->carry + r->steps * gain, room);
}

static void end_segment(void *user);

static void schedule(OrrRolloutReplica *r, double seconds) {
  Tick *tick = g_new(Tick, 1);
  *tick = (Tick){r, ++r->generation};
  set_active(r, TRUE);
  orr_engine_after(r->context->engine, seconds, end_segment, tick);
}

/* All requests wait again, in a core with an empty cache. */
static void lose_caches(OrrRolloutReplica *r) {
  g_autoptr(GPtrArray) requests = g_ptr_array_new();
  r->loses_caches = FALSE;
  orr_core_take_all(&r->core, requests);
  orr_core_clear(&r->core);
  orr_rollout_speed_open_core(r->context->speed, &r->core);
  ORR_EACH_POINTER(OrrRequest, request, requests) {
    request->computed = 0;
    request->swapped = FALSE;
    orr_core_add(&r->core, request);
  }
}

static void begin(OrrRolloutReplica *r) {
  OrrRolloutSpeed *speed = r->context->speed;
  OrrCore *core = &r->core;
  const double now_s = orr_engine_now(r->context->engine);
  if (r->is_active || r->is_paused || r->is_called) return;
  if (r->loses_caches) lose_caches(r);
  if (!orr_core_plan(core, now_s)) return;
  const guint n = core->shape.decodes;
  const double keys = core->shape.key_sum - n; /* before the step */
  r->totals.preemptions += core->preemptions;
  core->preemptions = 0;
  r->begin_s = now_s;
  if (core->shape.chunk > 0) {
    r->steps = 1;
    r->gained = r->carry + orr_rollout_speed_gain(speed);
    r->seconds = orr_rollout_speed_prompt(speed, n, core->shape.chunk);
    if (n > 0) r->seconds += orr_rollout_speed_decode(speed, n, keys);
    r->watts = (OrrJoules){0};
    r->totals.prompted += core->shape.chunk;
  } else {
    set_steps(r);
    const double middle = keys + n * fmax(r->gained - orr_rollout_speed_gain(speed), 0) / 2;
    r->seconds = r->steps * orr_rollout_speed_decode(speed, n, middle);
    r->watts = orr_rollout_speed_watts(speed, n, middle);
  }
  r->seconds += orr_rollout_speed_move(speed, core);
  schedule(r, r->seconds);
}

static void called(void *user) {
  OrrRolloutReplica *r = user;
  r->is_called = FALSE;
  begin(r);
}

/* Begins after all that comes at this date. */
static void call(OrrRolloutReplica *r) {
  if (r->is_called || r->is_active || r->is_paused) return;
  r->is_called = TRUE;
  orr_engine_after(r->context->engine, 0, called, r);
}

/* Gives decodes of the batch @tokens each, but not their last one. */
static void advance(OrrRolloutReplica *r, double tokens) {
  ORR_EACH_POINTER(OrrRequest, request, r->core.batch) {
    const gint32 n = MIN((gint32)tokens, request->output - request->generated - 1);
    if (n > 0 && orr_request_decodes(request) && orr_core_advance(&r->core, request, n))
      r->totals.decoded += n;
  }
}

/* @seconds of the segment have passed. */
static void count(OrrRolloutReplica *r, double seconds) {
  OrrJoules joules = {0};
  r->totals.busy_s += seconds;
  r->totals.sequence_s += seconds * r->core.running->len;
  orr_joules_add(&joules, r->watts, seconds);
  orr_joules_add(&r->totals.joules, joules, 1);
  if (seconds > 0 && r->context->power)
    orr_power_time_add(r->context->power, r->begin_s, r->begin_s + seconds, joules);
}

static void on_token(OrrRequest *request, void *user) {
  (void)request;
  ((OrrRolloutReplica *)user)->totals.decoded++;
}

static void on_end(OrrRequest *request, void *user) {
  settle(sample_of(request));
  g_ptr_array_add(((OrrRolloutReplica *)user)->ended, request);
}

/* The loop may add, drop or take responses meanwhile: nothing begins before it has heard of all. */
static void report(OrrRolloutReplica *r) {
  for (guint i = 0; i < r->ended->len; i++) {
    OrrRolloutSample *sample = r->ended->pdata[i];
    if (!sample->is_dropped) r->context->ended(r->context->user, sample);
  }
  g_ptr_array_set_size(r->ended, 0);
}

static void end_segment(void *user) {
  const Tick tick = *(Tick *)user;
  OrrRolloutReplica *r = tick.replica;
  g_free(user);
  if (tick.generation != r->generation) return;
  set_active(r, FALSE);
  count(r, r->seconds);
  const double whole = floor(r->gained + 1e-9);
  advance(r, whole - 1);
  r->carry = fmax(r->gained - whole, 0);
  orr_core_finish_step(&r->core, r->core.batch, orr_engine_now(r->context->engine), on_token,
                       on_end, r);
  r->is_called = TRUE;
  report(r);
  called(r);
}

/* The segment ends with the step that runs. */
static void shorten(OrrRolloutReplica *r) {
  if (!r->is_active || r->core.shape.chunk > 0) return;
  const double now_s = orr_engine_now(r->context->engine), each = r->seconds / r->steps;
  const double steps = fmax(ceil((now_s - r->begin_s) / each - 1e-9), 1);
  if (steps >= r->steps) return;
  r->gained = fmin(r->gained, r->carry + steps * orr_rollout_speed_gain(r->context->speed));
  r->steps = steps;
  r->seconds = steps * each;
  schedule(r, fmax(r->begin_s + r->seconds - now_s, 0));
}

/* --- From outside --- */

OrrRolloutReplica *orr_rollout_replica_new(const OrrRolloutContext *context, guint number) {
  OrrRolloutReplica *r = g_new0(OrrRolloutReplica, 1);
  r->context = context;
  r->number = number;
  r->blocks = g_array_new(FALSE, FALSE, sizeof(gint64));
  r->ended = g_ptr_array_new();
  orr_rollout_speed_open_core(context->speed, &r->core);
  return r;
}

void orr_rollout_replica_free(gpointer data) {
  OrrRolloutReplica *r = data;
  orr_core_clear(&r->core);
  g_array_unref(r->blocks);
  g_ptr_array_unref(r->ended);
  g_free(r);
}

void orr_rollout_replica_add(OrrRolloutReplica *r, OrrRolloutSample *sample) {
  open_request(sample, orr_engine_now(r->context->engine));
  orr_core_add(&r->core, &sample->request);
  call(r);
  if ((gint64)r->core.running->len < r->core.limits.max_sequences) shorten(r);
}

void orr_rollout_replica_sweep(OrrRolloutReplica *r) {
  g_autoptr(GPtrArray) waiting = g_ptr_array_new();
  for (guint i = 0; i < r->core.n_queues; i++)
    g_ptr_array_extend(waiting, r->core.waiting[i], NULL, NULL);
  ORR_EACH_POINTER(OrrRequest, request, waiting)
    if (sample_of(request)->is_dropped) orr_core_drop(&r->core, request);
  ORR_EACH_POINTER(OrrRequest, request, r->core.running)
    if (sample_of(request)->is_dropped) request->output = request->generated + 1;
  shorten(r);
}

/* Whole steps of the segment stay; the one that runs is lost, and the prompts in it. */
static void abort_segment(OrrRolloutReplica *r) {
  if (!r->is_active) return;
  const double passed_s = orr_engine_now(r->context->engine) - r->begin_s;
  const double steps = floor(fmin(passed_s / r->seconds, 1) * r->steps + 1e-9);
  r->generation++; /* the end of the segment is not heard */
  set_active(r, FALSE);
  count(r, passed_s);
  advance(r, steps > 0 && r->core.shape.chunk == 0
                 ? floor(r->carry + steps * orr_rollout_speed_gain(r->context->speed) + 1e-9)
                 : 0);
}

void orr_rollout_replica_empty(OrrRolloutReplica *r, GPtrArray *ret_samples) {
  abort_segment(r);
  orr_core_take_all(&r->core, ret_samples);
  orr_core_clear(&r->core);
  orr_rollout_speed_open_core(r->context->speed, &r->core);
  for (guint i = 0; i < ret_samples->len; i++) settle(ret_samples->pdata[i]);
}

void orr_rollout_replica_pause(OrrRolloutReplica *r) {
  r->is_paused = TRUE;
  shorten(r);
}

void orr_rollout_replica_resume(OrrRolloutReplica *r, gboolean is_lost) {
  r->is_paused = FALSE;
  r->loses_caches |= is_lost;
  call(r);
}

guint orr_rollout_replica_load(const OrrRolloutReplica *r) {
  return r->core.running->len + r->core.n_waiting;
}

guint orr_rollout_replica_running(const OrrRolloutReplica *r) { return r->core.running->len; }

const OrrRolloutTotals *orr_rollout_replica_totals(const OrrRolloutReplica *r) {
  return &r->totals;
}
