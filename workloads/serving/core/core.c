/*
 * core.c - one engine core: its queues, the requests in it, and one step after another.
 */
#include "workloads/serving/core/core.h"

#include "workloads/serving/schedulers/scheduler.h"

/* --- heaps of waiting requests: who is before all others is at 0 --- */

static void heap_push(GPtrArray *heap, OrrRequest *request) {
  g_ptr_array_add(heap, request);
  guint i = heap->len - 1;
  for (guint parent; i > 0 && orr_request_is_before(request, heap->pdata[parent = (i - 1) / 2]);
       i = parent)
    heap->pdata[i] = heap->pdata[parent];
  heap->pdata[i] = request;
}

static void sift_down(GPtrArray *heap, guint i, OrrRequest *request) {
  for (guint child; (child = 2 * i + 1) < heap->len; i = child) {
    if (child + 1 < heap->len && orr_request_is_before(heap->pdata[child + 1], heap->pdata[child]))
      child++;
    if (!orr_request_is_before(heap->pdata[child], request)) break;
    heap->pdata[i] = heap->pdata[child];
  }
  heap->pdata[i] = request;
}

/* Anywhere in the heap: what a scheduler picks need not be the first. */
static void heap_remove(GPtrArray *heap, OrrRequest *request) {
  guint i = 0;
  while (heap->pdata[i] != request) i++;
  OrrRequest *last = heap->pdata[heap->len - 1];
  g_ptr_array_set_size(heap, (gint)heap->len - 1);
  if (last == request) return;
  while (i > 0 && orr_request_is_before(last, heap->pdata[(i - 1) / 2])) {
    heap->pdata[i] = heap->pdata[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  sift_down(heap, i, last);
}

/* --- life --- */

typedef struct {
  const OrrCoreHooks *hooks;
  gpointer state;
} Hook;

static const Hook *hook_at(const OrrCore *core, guint i) {
  return &g_array_index(core->hooks, Hook, i);
}

void orr_core_hook(OrrCore *core, const OrrCoreHooks *hooks, gpointer state) {
  ORR_APPEND(core->hooks, Hook, {hooks, state});
}

void orr_core_init(OrrCore *core, const OrrCoreLimits *limits, const OrrScheduler *scheduler,
                   const void *scheduler_params, guint n_clients, OrrKv *kv) {
  *core = (OrrCore){.limits = *limits,
                    .scheduler = scheduler,
                    .scheduler_params = scheduler_params,
                    .kv = kv,
                    .hooks = g_array_new(FALSE, FALSE, sizeof(Hook)),
                    .sees_until_s = INFINITY};
  core->n_queues = scheduler->is_fair ? MAX(n_clients, 1) : 1;
  core->running = g_ptr_array_new();
  core->batch = g_ptr_array_new();
  core->aside = g_ptr_array_new();
  core->waiting = g_new0(GPtrArray *, core->n_queues);
  core->served = g_new0(double, core->n_queues);
  for (guint i = 0; i < core->n_queues; i++) core->waiting[i] = g_ptr_array_new();
  if (scheduler->open) core->scheduler_state = scheduler->open();
}

void orr_core_clear(OrrCore *core) {
  if (!core->running) return;
  for (guint i = 0; i < core->n_queues; i++) g_ptr_array_unref(core->waiting[i]);
  ORR_FREE(core->waiting, core->served);
  g_ptr_array_unref(core->running);
  g_ptr_array_unref(core->batch);
  g_ptr_array_unref(core->aside);
  if (core->scheduler->close) core->scheduler->close(core->scheduler_state);
  orr_kv_free(core->kv);
  for (guint i = 0; i < core->hooks->len; i++)
    if (hook_at(core, i)->hooks->close) hook_at(core, i)->hooks->close(hook_at(core, i)->state);
  g_array_unref(core->hooks);
}

/* --- queues --- */

static guint queue_of(const OrrCore *core, const OrrRequest *request) {
  return core->n_queues > 1 ? request->client % core->n_queues : 0;
}

/* A client that was idle does not save up what it was not served (VTC, Sheng et al. 2024,
 * algorithm 2). */
static void lift_counter(OrrCore *core, guint queue) {
  double least = INFINITY;
  for (guint i = 0; i < core->n_queues; i++)
    if (i != queue && core->waiting[i]->len > 0) least = fmin(least, core->served[i]);
  if (isfinite(least)) core->served[queue] = fmax(core->served[queue], least);
}

static void enqueue(OrrCore *core, OrrRequest *request) {
  const guint queue = queue_of(core, request);
  if (core->n_queues > 1 && core->waiting[queue]->len == 0) lift_counter(core, queue);
  request->state = ORR_REQUEST_WAITING;
  heap_push(core->waiting[queue], request);
  core->n_waiting++;
  core->waiting_tokens += orr_request_wanted(request);
}

void orr_core_drop(OrrCore *core, OrrRequest *request) {
  heap_remove(core->waiting[queue_of(core, request)], request);
  core->n_waiting--;
  core->waiting_tokens -= orr_request_wanted(request);
}

static void set_key(const OrrCore *core, OrrRequest *request) {
  request->key = core->scheduler->key ? core->scheduler->key(request, core->scheduler_params) : 0;
}

void orr_core_add(OrrCore *core, OrrRequest *request) {
  set_key(core, request);
  enqueue(core, request);
}

static OrrRequest *first_of_all(OrrCore *core) {
  guint best = G_MAXUINT;
  for (guint i = 0; i < core->n_queues; i++)
    if (core->waiting[i]->len > 0 && (best == G_MAXUINT || core->served[i] < core->served[best]))
      best = i;
  if (best == G_MAXUINT) return NULL;
  return core->scheduler->pick
             ? core->scheduler->pick(core, core->scheduler_params, core->waiting[best])
             : core->waiting[best]->pdata[0];
}

gboolean orr_core_can_join(const OrrCore *core, const OrrRequest *request) {
  for (guint i = 0; i < core->hooks->len; i++) {
    const Hook *hook = hook_at(core, i);
    if (hook->hooks->may_begin && !hook->hooks->may_begin(hook->state, request)) return FALSE;
  }
  return TRUE;
}

static void begin_request(OrrCore *core, const OrrRequest *request) {
  for (guint i = 0; i < core->hooks->len; i++) {
    const Hook *hook = hook_at(core, i);
    if (hook->hooks->begin) hook->hooks->begin(hook->state, core, request);
  }
}

static void stop_request(const OrrCore *core, const OrrRequest *request) {
  for (guint i = 0; i < core->hooks->len; i++) {
    const Hook *hook = hook_at(core, i);
    if (hook->hooks->end) hook->hooks->end(hook->state, request);
  }
}

static gboolean is_kept(const OrrCore *core, const OrrRequest *request) {
  for (guint i = 0; i < core->hooks->len; i++) {
    const Hook *hook = hook_at(core, i);
    if (hook->hooks->keeps && hook->hooks->keeps(hook->state, request)) return TRUE;
  }
  return FALSE;
}

OrrRequest *orr_core_first(OrrCore *core) {
  OrrRequest *request;
  while ((request = first_of_all(core)) &&
         (request->added_s > core->sees_until_s || !orr_core_can_join(core, request))) {
    heap_remove(core->waiting[queue_of(core, request)], request);
    g_ptr_array_add(core->aside, request);
  }
  return request;
}

static void put_back(OrrCore *core) {
  ORR_EACH_POINTER(OrrRequest, request, core->aside)
    heap_push(core->waiting[queue_of(core, request)], request);
  g_ptr_array_set_size(core->aside, 0);
}

void orr_core_take_all(OrrCore *core, GPtrArray *requests) {
  for (guint i = 0; i < core->running->len; i++) {
    orr_kv_release(core->kv, core->running->pdata[i]);
    g_ptr_array_add(requests, core->running->pdata[i]);
  }
  for (guint i = 0; i < core->n_queues; i++)
    g_ptr_array_extend(requests, core->waiting[i], NULL, NULL);
}

/* --- the batch --- */

static void count(OrrCore *core, const OrrRequest *request, int sign) {
  OrrStepShape *shape = &core->shape;
  const double tokens = request->scheduled, before = request->computed;
  shape->tokens += sign * tokens;
  shape->sequences += (guint)sign;
  shape->logits += (guint)(sign * (1 + request->drafted));
  if (orr_request_decodes(request)) {
    shape->decodes += (guint)sign;
    shape->key_sum += sign * (before + tokens);
    return;
  }
  shape->n_chunks += (guint)sign;
  shape->chunk += sign * tokens;
  shape->chunk_key_sum += sign * tokens * (before + tokens / 2);
  shape->chunk_pairs += sign * (tokens * before + tokens * (tokens + 1) / 2);
}

/* Guesses that go along with one token of a decode. */
static gint64 guesses(const OrrCore *core, const OrrRequest *request, gint64 tokens) {
  if (!core->drafter || tokens != 1 || !orr_request_decodes(request)) return 0;
  const gint64 room =
      MIN(core->budget - tokens, core->limits.longest - orr_request_wanted(request));
  return CLAMP(orr_drafter_drafts(core->drafter, request), 0, MAX(room, 0));
}

/* Of @tokens of a prompt from @begin on, those up to a block's end: there its state can be kept.
 * The last state is at the end of the last whole block, and what comes after it is a step of its
 * own (vLLM, _mamba_block_aligned_split). */
static gint64 up_to_block(const OrrCore *core, const OrrRequest *request, gint64 begin,
                          gint64 tokens) {
  const gint64 size = orr_kv_block_size(core->kv), wanted = orr_request_wanted(request);
  const gint64 last = wanted - wanted % size, end = begin + tokens;
  if (!orr_kv_keeps_states(core->kv) || begin >= last || orr_request_decodes(request))
    return tokens;
  return MAX(MIN(end - end % size, last) - begin, 0);
}

gboolean orr_core_give(OrrCore *core, OrrRequest *request, gint64 most) {
  const gint64 tokens = up_to_block(core, request, request->computed, most);
  if (tokens == 0)
    return TRUE; /* not in this step: what is left of it does not reach the end of a block */
  const gint64 drafted = guesses(core, request, tokens), all = tokens + drafted;
  const gint32 kept = request->blocks;
  if (!orr_kv_grow(core->kv, request, request->computed + all)) return FALSE;
  orr_kv_announce(core->kv, request, request->computed + tokens);
  request->scheduled = (gint32)all;
  request->drafted = (gint32)drafted;
  request->kept_blocks = kept;
  core->budget -= all;
  g_ptr_array_add(core->batch, request);
  count(core, request, 1);
  return TRUE;
}

/* Loads the blocks up to @end from the tiers below HBM; @from: tokens from each tier. */
static void load(OrrCore *core, OrrRequest *request, gint64 end, const gint64 *from) {
  orr_kv_load(core->kv, request, end);
  for (int tier = 0; tier < ORR_N_TIERS; tier++) {
    core->loaded_tokens[tier] += from[tier];
    core->tier_tokens[tier] += from[tier];
  }
}

/* What a swap of @request moves, in tokens of all layers. */
static gint64 swapped_by(const OrrCore *core, const OrrRequest *request) {
  const gint64 tokens = request->computed, block_size = orr_kv_block_size(core->kv);
  return (gint64)round(orr_kv_layout_kept(orr_kv_laid(core->kv), block_size, 0, tokens, tokens));
}

gboolean orr_core_admit(OrrCore *core, OrrRequest *request, gint64 most, gboolean whole,
                        gint64 reserve_tokens) {
  const gboolean resumes = request->swapped;
  gint64 from[ORR_N_TIERS];
  const gint64 hit = resumes ? 0 : orr_kv_lookup(core->kv, request);
  const gint64 below = resumes ? 0 : orr_kv_lookup_below(core->kv, request, hit, from);
  const gint64 begin = resumes ? request->computed : hit + below;
  const gint64 left = orr_request_wanted(request) - begin;
  const gint64 tokens =
      whole ? MIN(left, most) : up_to_block(core, request, begin, MIN(left, most));
  const gint64 room = MAX(reserve_tokens, begin + tokens);
  const gint64 checked =
      core->limits.reserve_prompt ? MAX(room, orr_request_wanted(request)) : room;
  if (tokens <= 0 || (whole && tokens < left)) return FALSE;
  if ((gint64)core->running->len + core->late_seats >= core->limits.max_sequences) return FALSE;
  const gint64 kept =
      core->late_blocks + (core->running->len > 0 ? core->limits.watermark_blocks : 0);
  if (orr_kv_needed(core->kv, request, checked, hit) + kept > orr_kv_n_free(core->kv)) return FALSE;
  orr_core_drop(core, request);
  request->state = ORR_REQUEST_RUNNING;
  g_ptr_array_add(core->running, request);
  begin_request(core, request);
  if (hit > 0) orr_kv_share(core->kv, request, hit);
  if (below > 0) load(core, request, begin, from);
  if (request->scheduled_s < 0) {
    request->hit = (gint32)(hit + below);
    core->shape.images += request->images;
  }
  core->hit_tokens += hit + below;
  core->looked_up_tokens += resumes ? 0 : left + hit + below;
  request->swapped = FALSE;
  orr_kv_grow(core->kv, request, room);
  if (resumes) {
    const gint64 moved = swapped_by(core, request);
    core->swapped_tokens += moved;
    core->away_tokens -= moved;
  }
  if (core->n_queues > 1) core->served[queue_of(core, request)] += (double)left;
  return orr_core_give(core, request, tokens);
}

void orr_core_preempt(OrrCore *core, OrrRequest *request) {
  if (request->scheduled > 0) { /* it was given its turn already: take that back */
    count(core, request, -1);
    core->budget += request->scheduled;
    g_ptr_array_remove(core->batch, request);
    request->scheduled = request->drafted = 0;
  }
  g_ptr_array_remove(core->running, request);
  stop_request(core, request);
  request->swapped = core->limits.preemption == ORR_PREEMPT_SWAP;
  if (request->swapped) {
    const gint64 moved = swapped_by(core, request);
    core->swapped_tokens += moved;
    core->away_tokens += moved;
    core->most_away = MAX(core->most_away, core->away_tokens);
  }
  orr_kv_release(core->kv, request);
  if (!request->swapped) request->computed = 0;
  request->preemptions++;
  core->preemptions++;
  core->has_preempted = TRUE;
  enqueue(core, request);
}

/* Without a key the one that was admitted last, as vLLM's running.pop(). */
static OrrRequest *last_running(const OrrCore *core) {
  OrrRequest *last = NULL;
  ORR_EACH_POINTER(OrrRequest, request, core->running) {
    if (request->is_in_flight) continue;
    if (!last || !core->scheduler->key || orr_request_is_before(last, request)) last = request;
  }
  return last;
}

gboolean orr_core_give_or_preempt(OrrCore *core, OrrRequest *request, gint64 tokens) {
  while (!orr_core_give(core, request, tokens)) {
    OrrRequest *victim = last_running(core);
    orr_core_preempt(core, victim);
    if (victim == request) return FALSE;
  }
  return TRUE;
}

gboolean orr_core_reserve(OrrCore *core, OrrRequest *request) {
  if ((gint64)(core->running->len + core->n_expected) >= core->limits.max_sequences) return FALSE;
  const gint64 tokens = (gint64)request->prompt + 1, hit = orr_kv_lookup(core->kv, request);
  if (orr_kv_needed(core->kv, request, tokens, hit) > orr_kv_n_free(core->kv)) return FALSE;
  if (hit > 0) orr_kv_share(core->kv, request, hit);
  orr_kv_grow(core->kv, request, tokens);
  core->n_expected++;
  core->parked_blocks += orr_kv_held_by(core->kv, request);
  return TRUE;
}

void orr_core_join(OrrCore *core, OrrRequest *request) {
  const gint64 before = request->computed;
  request->computed = request->prompt;
  orr_kv_publish(core->kv, request, before);
  set_key(core, request);
  request->state = ORR_REQUEST_RUNNING;
  core->n_expected--;
  core->parked_blocks -= orr_kv_held_by(core->kv, request);
  g_ptr_array_add(core->running, request);
  begin_request(core, request);
}

static void give_up(OrrCore *core, OrrRequest *request) {
  core->parked_blocks -= orr_kv_held_by(core->kv, request);
  orr_kv_release(core->kv, request);
}

void orr_core_unexpect(OrrCore *core, OrrRequest *request) {
  give_up(core, request);
  core->n_expected--;
}

void orr_core_release(OrrCore *core, OrrRequest *request) {
  give_up(core, request);
  core->n_kept--;
}

gboolean orr_core_conserves(const OrrCore *core) {
  gint64 blocks = core->parked_blocks;
  for (guint i = 0; i < core->running->len; i++)
    blocks += orr_kv_held_by(core->kv, core->running->pdata[i]);
  return orr_kv_conserves(core->kv, blocks);
}

/* @n sequences that are computed for nothing, with the longest context of the batch. */
static void pad(OrrStepShape *shape, gint64 n) {
  shape->tokens += (double)n;
  shape->decodes += (guint)n;
  shape->sequences += (guint)n;
  shape->logits += (guint)n;
  shape->key_sum += (double)n * shape->keys_most;
}

/* The least and the largest context of the decodes, and the scheduler's padding. */
static void settle_shape(OrrCore *core) {
  OrrStepShape *shape = &core->shape;
  shape->keys_least = INFINITY;
  shape->keys_most = 0;
  ORR_EACH_POINTER(const OrrRequest, request, core->batch) {
    if (!orr_request_decodes(request)) continue;
    const double keys = (double)request->computed + request->scheduled;
    shape->keys_least = MIN(shape->keys_least, keys); /* fmin is a call */
    shape->keys_most = MAX(shape->keys_most, keys);
  }
  if (shape->decodes == 0) shape->keys_least = 0;
  if (core->scheduler->padding && shape->decodes > 0)
    pad(shape, core->scheduler->padding(core, core->scheduler_state));
}

gboolean orr_core_plan(OrrCore *core, double now_s) {
  g_ptr_array_set_size(core->batch, 0);
  core->shape = (OrrStepShape){0};
  core->budget = core->limits.max_batched_tokens;
  core->has_preempted = FALSE;
  core->swapped_tokens = 0;
  core->host_link_bytes = 0;
  for (int tier = 0; tier < ORR_N_TIERS; tier++) core->loaded_tokens[tier] = 0;
  if (core->running->len == 0 && core->n_waiting == 0) return FALSE;
  for (guint i = 0; i < core->hooks->len; i++)
    if (hook_at(core, i)->hooks->open_plan)
      hook_at(core, i)->hooks->open_plan(hook_at(core, i)->state, core);
  core->scheduler->plan(core, core->scheduler_params, core->scheduler_state);
  put_back(core);
  ORR_EACH_POINTER(OrrRequest, request, core->batch)
    if (request->scheduled_s < 0) request->scheduled_s = now_s;
  for (guint i = 0; i < core->hooks->len; i++)
    if (hook_at(core, i)->hooks->plan) hook_at(core, i)->hooks->plan(hook_at(core, i)->state, core);
  settle_shape(core);
  return core->batch->len > 0;
}

/* What a decode's guesses come to: the tokens it wrote. Those that were wrong leave the cache. */
static gint32 check_guesses(OrrCore *core, OrrRequest *request) {
  const gint64 accepted = orr_drafter_accepted(core->drafter, request, request->drafted);
  core->checks++;
  core->drafted += request->drafted;
  core->accepted += accepted;
  const gint32 wrote = (gint32)MIN(1 + accepted, (gint64)request->output - request->generated);
  request->computed += wrote - 1 - request->drafted;
  if (request->drafted > 0)
    orr_kv_shrink(core->kv, request, request->computed, request->kept_blocks);
  request->drafted = 0;
  return wrote;
}

static void end_request(OrrCore *core, OrrRequest *request) {
  request->state = ORR_REQUEST_FINISHED;
  stop_request(core, request);
  if (is_kept(core, request)) {
    core->n_kept++; /* until its cache is elsewhere */
    core->parked_blocks += orr_kv_held_by(core->kv, request);
  } else {
    orr_kv_release(core->kv, request);
  }
}

void orr_core_finish_step(OrrCore *core, const GPtrArray *batch, double now_s, OrrCoreFinish token,
                          OrrCoreFinish finish, void *user) {
  gboolean has_finished = FALSE;
  ORR_EACH_POINTER(OrrRequest, request, batch) {
    const gint64 before = request->computed;
    const gboolean is_checked = core->drafter && orr_request_decodes(request);
    gint32 wrote = 1;
    request->computed += request->scheduled;
    request->scheduled = 0;
    if (is_checked) wrote = check_guesses(core, request);
    if (request->computed / orr_kv_block_size(core->kv) != before / orr_kv_block_size(core->kv))
      orr_kv_publish(core->kv, request, before);
    if (orr_request_left(request) > 0) continue;
    const gboolean is_first = request->generated == 0;
    request->generated += wrote;
    if (core->n_queues > 1) /* an output token counts twice (VTC) */
      core->served[queue_of(core, request)] += 2.0 * wrote;
    if (is_first) request->first_token_s = now_s;
    token(request, user);
    request->last_token_s = now_s;
    if (request->generated < request->output) continue;
    end_request(core, request);
    has_finished = TRUE;
  }
  if (has_finished) {
    guint n = 0;
    ORR_EACH_POINTER(OrrRequest, request, core->running)
      if (request->state != ORR_REQUEST_FINISHED) core->running->pdata[n++] = request;
    g_ptr_array_set_size(core->running, (gint)n);
  }
  ORR_EACH_POINTER(OrrRequest, request, batch)
    if (request->state == ORR_REQUEST_FINISHED) finish(request, user);
}
