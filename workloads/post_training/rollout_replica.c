/*
 * rollout_replica.c - segments of an engine.
 */
#include "workloads/post_training/rollout_replica.h"

enum { MOST_STEPS = 256 };

/* A running sequence. Its turn ends when the replica's counter of tokens reaches @end. */
typedef struct {
  double end;
  guint32 id;
  guint32 order; /* of admission */
} Running;

struct OrrRolloutReplica {
  const OrrRolloutContext *context;
  guint number;
  GArray *running;    /* of Running: a heap by end */
  GQueue waiting;     /* of OrrRolloutSample * */
  GArray *joining;    /* of guint32: whose prompts this segment computes */
  GHashTable *groups; /* group -> sequences of it that are here; only with shares_prompt */
  double counter;     /* tokens that a sequence has gained since the begin */
  double keys;        /* tokens of the running sequences' contexts */
  double shared;      /* of them, counted by more than one sequence of a group */
  double kv, places, budget;
  gboolean is_paused, is_active, loses_caches;
  guint32 generation, order, evictions;
  /* the segment */
  double begin_s, seconds, steps;
  OrrJoules watts; /* joules per second */
  OrrRolloutTotals totals;
};

typedef struct {
  OrrRolloutReplica *replica;
  guint32 generation;
} Tick;

/* --- The heap --- */

static Running *at(const OrrRolloutReplica *r, guint i) {
  return &g_array_index(r->running, Running, i);
}

static gboolean is_before(const Running *a, const Running *b) {
  return a->end < b->end || (a->end == b->end && a->order < b->order);
}

static void swap(OrrRolloutReplica *r, guint i, guint j) {
  const Running kept = *at(r, i);
  *at(r, i) = *at(r, j);
  *at(r, j) = kept;
}

static void push(OrrRolloutReplica *r, Running one) {
  g_array_append_val(r->running, one);
  for (guint i = r->running->len - 1; i > 0 && is_before(at(r, i), at(r, (i - 1) / 2));
       i = (i - 1) / 2)
    swap(r, i, (i - 1) / 2);
}

static void sift_down(OrrRolloutReplica *r, guint i) {
  for (;;) {
    guint least = i;
    for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < r->running->len; child++)
      if (is_before(at(r, child), at(r, least))) least = child;
    if (least == i) return;
    swap(r, i, least);
    i = least;
  }
}

static Running pop(OrrRolloutReplica *r) {
  const Running first = *at(r, 0);
  swap(r, 0, r->running->len - 1);
  g_array_set_size(r->running, r->running->len - 1);
  if (r->running->len > 0) sift_down(r, 0);
  return first;
}

static void rebuild(OrrRolloutReplica *r) {
  for (guint i = r->running->len / 2; i-- > 0;) sift_down(r, i);
}

/* --- Cache --- */

static OrrRolloutSample *sample_of(const OrrRolloutReplica *r, guint32 id) {
  return r->context->samples->pdata[id];
}

/* How many sequences of @sample's group are here after adding @change. */
static guint group_count(OrrRolloutReplica *r, const OrrRolloutSample *sample, int change) {
  const gpointer key = GUINT_TO_POINTER(sample->group + 1);
  const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(r->groups, key)) + (guint)change;
  if (n > 0)
    g_hash_table_insert(r->groups, key, GUINT_TO_POINTER(n));
  else
    g_hash_table_remove(r->groups, key);
  return n;
}

static void hold(OrrRolloutReplica *r, const OrrRolloutSample *sample) {
  r->keys += sample->context;
  if (r->context->shares_prompt && group_count(r, sample, 1) > 1) r->shared += sample->prompt;
}

static void release(OrrRolloutReplica *r, const OrrRolloutSample *sample) {
  r->keys -= sample->context;
  if (r->context->shares_prompt && group_count(r, sample, -1) > 0) r->shared -= sample->prompt;
}

static double room(const OrrRolloutReplica *r) { return r->kv - (r->keys - r->shared); }

static gint32 to_compute(const OrrRolloutReplica *r, const OrrRolloutSample *sample) {
  gint32 cached = sample->cached;
  if (r->context->shares_prompt &&
      g_hash_table_contains(r->groups, GUINT_TO_POINTER(sample->group + 1)))
    cached = MAX(cached, sample->prompt);
  return MAX(sample->context - cached, 1);
}

/* --- Segments --- */

static void begin(OrrRolloutReplica *r);

/* Brings a sample up to what it has written when it stops running. */
static void settle(OrrRolloutReplica *r, OrrRolloutSample *sample, double end) {
  const gint32 left = (gint32)lround(fmax(end - r->counter, 0));
  const gint32 gained = sample->left - left;
  sample->left = left;
  sample->context += gained;
  sample->response += gained;
}

/* keys counts what running sequences gained; a settled one's context is part of it. */
static void leave(OrrRolloutReplica *r, const Running *one) {
  OrrRolloutSample *sample = sample_of(r, one->id);
  settle(r, sample, one->end);
  release(r, sample);
}

static void preempt(OrrRolloutReplica *r) {
  guint newest = 0;
  for (guint i = 1; i < r->running->len; i++)
    if (at(r, i)->order > at(r, newest)->order) newest = i;
  const Running one = *at(r, newest);
  g_array_remove_index_fast(r->running, newest);
  rebuild(r);
  leave(r, &one);
  OrrRolloutSample *sample = sample_of(r, one.id);
  sample->cached = 0;
  g_queue_push_head(&r->waiting, sample);
  r->totals.preemptions++;
  r->evictions++;
}

/* Takes waiting sequences in; the tokens to compute for them. */
static double admit(OrrRolloutReplica *r) {
  double tokens = 0;
  OrrRolloutSample *sample;
  while ((sample = g_queue_peek_head(&r->waiting)) != NULL) {
    const guint n = r->running->len + r->joining->len;
    const double own = to_compute(r, sample);
    const double needs = r->context->shares_prompt ? fmin(own, sample->context) : sample->context;
    if (n >= r->places || (n > 0 && needs + n + 1 > room(r))) break;
    g_queue_pop_head(&r->waiting);
    tokens += own;
    hold(r, sample);
    sample->cached = 0;
    g_array_append_val(r->joining, sample->id);
  }
  return tokens;
}

static double steps_to_run(OrrRolloutReplica *r) {
  const double gain = orr_rollout_speed_gain(r->context->speed);
  while (r->running->len > 1 && room(r) < gain * r->running->len) preempt(r);
  const double to_end = ceil((at(r, 0)->end - r->counter) / gain - 1e-9);
  const double to_full = floor(room(r) / (gain * r->running->len));
  return CLAMP(fmin(to_end, r->running->len > 1 ? to_full : to_end), 1, MOST_STEPS);
}

static void end_segment(void *user);

static void set_active(OrrRolloutReplica *r, gboolean is_active) {
  if (r->is_active == is_active) return;
  r->is_active = is_active;
  if (r->context->busy) r->context->busy(r->context->user, r->number, is_active);
}

static void schedule(OrrRolloutReplica *r, double seconds) {
  Tick *tick = g_new(Tick, 1);
  *tick = (Tick){r, ++r->generation};
  set_active(r, TRUE);
  orr_engine_after(r->context->engine, seconds, end_segment, tick);
}

/* Running sequences wait at the head again, without their caches. */
static void lose_caches(OrrRolloutReplica *r) {
  r->loses_caches = FALSE;
  r->evictions++;
  while (r->running->len > 0) {
    const Running one = pop(r);
    leave(r, &one);
    g_queue_push_head(&r->waiting, sample_of(r, one.id));
  }
}

static void begin(OrrRolloutReplica *r) {
  if (r->is_active || r->is_paused) return;
  if (r->loses_caches) lose_caches(r);
  const guint n = r->running->len;
  const double tokens = admit(r);
  if (n == 0 && r->joining->len == 0) return;
  OrrRolloutSpeed *speed = r->context->speed;
  double each = 0;
  if (r->joining->len > 0) {
    const double budget = fmax(r->budget - n, 1);
    r->steps = ceil(tokens / budget);
    each = orr_rollout_speed_prompt(speed, n, tokens / r->steps);
    if (n > 0) each += orr_rollout_speed_decode(speed, n, r->keys);
    r->watts = (OrrJoules){0};
  } else {
    r->steps = steps_to_run(r);
    const guint now = r->running->len; /* the cache may have pushed some out */
    const double middle = r->keys + now * orr_rollout_speed_gain(speed) * (r->steps - 1) / 2;
    each = orr_rollout_speed_decode(speed, now, middle);
    r->watts = orr_rollout_speed_watts(speed, now, middle);
  }
  r->totals.prompted += tokens;
  r->begin_s = orr_engine_now(r->context->engine);
  r->seconds = r->steps * each;
  schedule(r, r->seconds);
}

static void join(OrrRolloutReplica *r) {
  ORR_EACH_VALUE(const guint32, id, r->joining) {
    /* the step that computes the prompt writes the first token */
    OrrRolloutSample *sample = sample_of(r, id);
    if (sample->is_dropped) sample->left = 0; /* while its prompt was computed: it ends at once */
    push(r, (Running){r->counter + fmax(sample->left - 1, 0), id, r->order++});
    sample->left = MAX(sample->left - 1, 0);
    sample->context++;
    sample->response++;
    r->keys++;
    r->totals.decoded++;
  }
  g_array_set_size(r->joining, 0);
}

static void finish_due(OrrRolloutReplica *r) {
  while (r->running->len > 0 && at(r, 0)->end <= r->counter + 1e-9) {
    const Running one = pop(r);
    OrrRolloutSample *sample = sample_of(r, one.id);
    /* what the last step, or a prompt's steps, went beyond the end was not written */
    r->keys -= r->counter - one.end;
    r->totals.decoded -= r->counter - one.end;
    leave(r, &one);
    sample->evictions = r->evictions;
    if (!sample->is_dropped) r->context->ended(r->context->user, sample);
  }
}

/* For @seconds from the begin of the segment. */
static void draw(OrrRolloutReplica *r, double seconds) {
  OrrJoules joules = {0};
  orr_joules_add(&joules, r->watts, seconds);
  orr_joules_add(&r->totals.joules, joules, 1);
  if (seconds > 0 && r->context->power)
    orr_power_time_add(r->context->power, r->begin_s, r->begin_s + seconds, joules);
}

static void end_segment(void *user) {
  Tick *tick = user;
  OrrRolloutReplica *r = tick->replica;
  const gboolean is_stale = tick->generation != r->generation;
  g_free(tick);
  if (is_stale) return;
  const guint n = r->running->len;
  const double gained = r->steps * orr_rollout_speed_gain(r->context->speed);
  set_active(r, FALSE);
  r->totals.busy_s += r->seconds;
  draw(r, r->seconds);
  r->totals.sequence_s += r->seconds * (n + r->joining->len);
  r->keys += gained * n;
  r->totals.decoded += gained * n;
  r->counter += gained;
  join(r);
  finish_due(r);
  begin(r);
}

/* The segment ends with the step that runs. */
static void shorten(OrrRolloutReplica *r) {
  if (!r->is_active || r->joining->len > 0) return;
  const double now_s = orr_engine_now(r->context->engine), each = r->seconds / r->steps;
  const double steps = fmax(ceil((now_s - r->begin_s) / each - 1e-9), 1);
  if (steps >= r->steps) return;
  r->steps = steps;
  r->seconds = steps * each;
  schedule(r, fmax(r->begin_s + r->seconds - now_s, 0));
}

/* --- From outside --- */

OrrRolloutReplica *orr_rollout_replica_new(const OrrRolloutContext *context, guint number) {
  OrrRolloutReplica *r = g_new0(OrrRolloutReplica, 1);
  r->context = context;
  r->number = number;
  r->running = g_array_new(FALSE, FALSE, sizeof(Running));
  r->joining = g_array_new(FALSE, FALSE, sizeof(guint32));
  r->groups = g_hash_table_new(NULL, NULL);
  r->kv = orr_rollout_speed_kv_tokens(context->speed);
  r->places = orr_rollout_speed_places(context->speed);
  r->budget = orr_rollout_speed_budget(context->speed);
  return r;
}

void orr_rollout_replica_free(gpointer data) {
  OrrRolloutReplica *r = data;
  g_array_unref(r->running);
  g_array_unref(r->joining);
  g_hash_table_unref(r->groups);
  g_queue_clear(&r->waiting);
  g_free(r);
}

void orr_rollout_replica_add(OrrRolloutReplica *r, OrrRolloutSample *sample) {
  if (sample->cached > 0 && sample->evictions != r->evictions) sample->cached = 0;
  g_queue_push_tail(&r->waiting, sample);
  if (!r->is_active)
    begin(r);
  else if (r->running->len < r->places)
    shorten(r);
}

void orr_rollout_replica_sweep(OrrRolloutReplica *r) {
  for (GList *link = r->waiting.head, *next; link; link = next) {
    next = link->next;
    if (((const OrrRolloutSample *)link->data)->is_dropped) g_queue_delete_link(&r->waiting, link);
  }
  for (guint i = 0; i < r->running->len; i++) /* they end at the next end of a segment, unheard */
    if (sample_of(r, at(r, i)->id)->is_dropped) {
      OrrRolloutSample *sample = sample_of(r, at(r, i)->id);
      settle(r, sample, at(r, i)->end);
      sample->left = 0;
      at(r, i)->end = r->counter;
    }
  rebuild(r);
  shorten(r);
}

/* The segment ends now: sequences keep the steps that are over, and prompts are computed again. */
static void abort_segment(OrrRolloutReplica *r) {
  if (!r->is_active) return;
  const double passed_s = orr_engine_now(r->context->engine) - r->begin_s;
  const gboolean computes = r->joining->len > 0;
  const double steps = computes ? 0 : floor(fmin(passed_s / r->seconds, 1) * r->steps + 1e-9);
  const double gained = steps * orr_rollout_speed_gain(r->context->speed) * r->running->len;
  r->generation++; /* the end of the segment is not heard */
  set_active(r, FALSE);
  r->totals.busy_s += passed_s;
  draw(r, passed_s);
  r->totals.sequence_s += passed_s * (r->running->len + r->joining->len);
  r->totals.decoded += gained;
  r->keys += gained;
  r->counter += steps * orr_rollout_speed_gain(r->context->speed);
}

void orr_rollout_replica_empty(OrrRolloutReplica *r, GPtrArray *ret_samples) {
  OrrRolloutSample *sample;
  abort_segment(r);
  r->evictions++;
  finish_due(r);
  ORR_EACH_VALUE(const guint32, value, r->joining) {
    sample = sample_of(r, value);
    release(r, sample);
    g_ptr_array_add(ret_samples, sample);
  }
  g_array_set_size(r->joining, 0);
  while (r->running->len > 0) {
    const Running one = pop(r);
    leave(r, &one);
    g_ptr_array_add(ret_samples, sample_of(r, one.id));
  }
  while ((sample = g_queue_pop_head(&r->waiting)) != NULL) g_ptr_array_add(ret_samples, sample);
  for (guint i = 0; i < ret_samples->len; i++)
    ((OrrRolloutSample *)ret_samples->pdata[i])->cached = 0;
}

void orr_rollout_replica_pause(OrrRolloutReplica *r) {
  r->is_paused = TRUE;
  shorten(r);
}

void orr_rollout_replica_resume(OrrRolloutReplica *r, gboolean is_lost) {
  r->is_paused = FALSE;
  r->loses_caches |= is_lost;
  begin(r);
}

guint orr_rollout_replica_load(const OrrRolloutReplica *r) {
  return r->running->len + r->joining->len + r->waiting.length;
}

guint orr_rollout_replica_running(const OrrRolloutReplica *r) {
  return r->running->len + r->joining->len;
}

const OrrRolloutTotals *orr_rollout_replica_totals(const OrrRolloutReplica *r) {
  return &r->totals;
}
