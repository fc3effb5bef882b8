/*
 * life.c - replicas that come and go: autoscaling, lost nodes and cold starts.
 *
 *            wanted                weights are there
 *     OFF ----------> STARTING ---------------------> UP ----------> DRAINING
 *      ^                 ^ |                          | ^  not wanted   |  |
 *      |       node back | | node lost                | +--- wanted ----+  |
 *      |                 | v                node lost |                    |
 *      |                DOWN <------------------------+                    |
 *      +------------------------------- empty -----------------------------+
 *
 * A start takes `start.overhead` (a container, CUDA's context, graphs); then each GPU reads its
 * weights from the file system, as a flow that contends with all others on the fabric. With
 * `start.sleeps` a replica that was up copies its weights to host memory before it is OFF, keeps
 * them there, and its next start takes
 *
 *   start.wake + weights of a GPU / host link        unless its node is lost meanwhile
 *
 * Groups that share GPUs have one replica awake on each GPU. A request that no replica of its model
 * takes wakes another: the one that is OFF and whose GPUs have fewest requests. What is awake there
 * stays `start.stays` from its start on, finishes its requests and sleeps; then the other one
 * starts. Replicas that wait for the same GPUs start in the order in which they were wanted, and
 * requests for one that drains wait for its next turn.
 *
 *   requests     A A B A           turn of A: both; B wakes: its one; A wakes again
 *
 * Replicas are scaled together: all, those that prefill and those that decode, or, of a fleet in
 * several regions with a router each, those in one region.
 *
 * A replica is lost with any node that holds one of its GPUs. With `on-failure: retry` its requests
 * go to other replicas, which compute the prompt and the tokens generated so far again (Dynamo's
 * request migration); otherwise they fail. A slow GPU slows its replica's kernels from the next
 * step on.
 *
 * Invariants
 *  1. Only replicas that are UP are given requests; DRAINING ones finish what they have.
 *  2. A loss makes calls on the calendar void: they carry an older generation.
 *  3. The autoscaler runs only while something can still happen, so that a stuck fleet ends.
 */
#include "workloads/serving/fleet/fleet_private.h"

#include "workloads/serving/stations/gateway.h"
#include "workloads/serving/transfers/transfers.h"

typedef enum { OFF, STARTING, UP, DRAINING, DOWN } State;
static const char *const state_words[] = {"off", "starting", "up", "draining", "down"};

typedef struct {
  OrrLife *life;
  guint index;
  State state;
  guint generation; /* of its start */
  guint n_lost;     /* of its GPUs */
  gboolean sleeps;  /* OFF, with its weights in host memory */
  double copied_s;  /* DRAINING: when its weights will be there; 0: they do not go yet */
  guint64 wanted;   /* OFF: the turn in which it is to start; 0: it is not wanted */
  double since_s;   /* of the state */
  double busy_s;    /* of its row, when the autoscaler last ran */
  double *slow;     /* by GPU: factor on the time of its kernels; NULL: always 1 */
} One;

/* Replicas that are scaled together. */
typedef struct {
  OrrLife *life;
  guint first, n;
  guint64 answered, in_time; /* first tokens since the autoscaler last ran */
  GArray *wishes;            /* of Wish: of the last down-after */
  double asked_s, up_s;      /* of the replicas, until then and since */
} Pool;

typedef struct {
  double at_s;
  guint n;
} Wish;

typedef struct {
  One *one;
  guint generation;
} Start;

typedef struct {
  OrrLife *life;
  guint index; /* of the work's gpu_changes or fabric_changes */
} Change;

struct OrrLife {
  OrrRoute *route;
  OrrServingRun *run;
  OrrLifeReports reports;
  One *all;
  Pool *pools;
  guint n_pools, n_starting, n_changes_left;
  gboolean is_open; /* the job has begun */
  OrrPool *starts;
  Change *changes, *link_changes;
  guint64 turn;        /* of the replica that was wanted last */
  GPtrArray *homeless; /* OrrRequest*: of replicas lost at this date */
};

static const OrrServing *params_of(const OrrLife *life) { return &life->run->work->params; }

static double now(const OrrLife *life) { return orr_serving_run_now(life->run); }

static gboolean is_held(State state) {
  return state == STARTING || state == UP || state == DRAINING;
}

/* Each region of a fleet has its own pool where it has its own router. */
static gboolean is_by_region(const OrrServing *params) {
  return orr_serving_n_regions(params) > 0 && params->between.order == ORR_REGIONS_NEAREST;
}

static guint region_of(const OrrLife *life, guint index) {
  return orr_serving_group_region(params_of(life), life->run->work->replicas[index].group);
}

static Pool *pool_of(OrrLife *life, guint index) {
  guint i = life->n_pools - 1;
  while (life->pools[i].first > index) i--;
  return &life->pools[i];
}

/* The last request has ended: later events of replicas are not part of the run. */
static gboolean is_over(const OrrLife *life) {
  return life->is_open && !life->reports.expects(life->reports.user) &&
         life->reports.in_system(life->reports.user) == 0;
}

/* Whether anything is under way besides the autoscaler. */
static gboolean any_station_is_busy(const OrrRoute *route) {
  for (guint i = 0; i < route->n_stops; i++) {
    const OrrStop *stop = &route->stops[i];
    if (stop->station->is_busy && stop->station->is_busy(stop->state)) return TRUE;
  }
  return FALSE;
}

static gboolean goes_on(const OrrLife *life) {
  if (life->reports.in_system(life->reports.user) == 0) return !is_over(life);
  if (life->reports.expects(life->reports.user)) return TRUE;
  if (life->n_starting > 0 || life->n_changes_left > 0 || life->run->n_flows > 0 ||
      any_station_is_busy(life->route))
    return TRUE;
  for (gint64 i = 0; i < params_of(life)->replicas; i++)
    if (orr_replica_is_stepping(life->route->replicas[i])) return TRUE;
  return FALSE;
}

/* --- states --- */

static void enter(One *one, State state) {
  OrrLife *life = one->life;
  OrrServedReplica *row = &life->run->work->replicas[one->index];
  const double now_s = now(life), spent_s = now_s - one->since_s;
  if (is_held(one->state)) row->held_s += spent_s;
  if (one->state == UP || one->state == DRAINING) pool_of(life, one->index)->up_s += spent_s;
  const gboolean has_started = one->state == STARTING && state == UP;
  row->starts += has_started;
  row->starting_s += has_started ? spent_s : 0;
  life->n_starting += (state == STARTING) - (one->state == STARTING);
  one->state = state;
  one->copied_s = 0;
  life->route->is_up[one->index] = state == UP;
  one->since_s = now_s;
  ORR_APPEND(life->run->work->turns, OrrServingTurnRow,
             {now_s - life->run->start_s, one->index, (char *)state_words[state]});
}

static void settle(void *user);

/* Replicas that wait for GPUs may start, requests may want others. Not at once: a replica may be in
 * the middle of its step's end, and requests of what has started go before. */
static void notice(OrrLife *life) {
  if (!orr_serving_shares(params_of(life))) return;
  orr_route_replica_up(life->route);
  orr_engine_after(life->run->engine, 0, settle, life);
}

static void is_started(void *user) {
  Start *start = user;
  One *one = start->one;
  const gboolean is_void = start->generation != one->generation;
  orr_pool_give(one->life->starts, start);
  if (is_void || one->life->run->error || is_over(one->life)) return;
  enter(one, UP);
  orr_route_replica_up(one->life->route);
  notice(one->life);
}

static void begin_start(One *one) {
  OrrLife *life = one->life;
  const OrrReplicaStart *params = &params_of(life)->start;
  Start *start = orr_pool_take(life->starts);
  *start = (Start){one, ++one->generation};
  enter(one, STARTING);
  if (one->sleeps)
    orr_engine_after(
        life->run->engine,
        orr_serving_run_wake_seconds(life->run, life->run->work->replicas[one->index].group),
        is_started, start);
  else if (params->weights)
    orr_transfers_begin(life->run, orr_serving_paths_load(life->run->work, one->index),
                        orr_serving_paths_load_bytes(life->run->work, one->index),
                        params->overhead_s, is_started, start);
  else
    orr_engine_after(life->run->engine, params->overhead_s, is_started, start);
}

static void look(void *user) {
  One *one = user;
  OrrReplica *replica = one->life->route->replicas[one->index];
  OrrServingRun *run = one->life->run;
  if (one->state != DRAINING || !orr_replica_is_empty(replica) || run->error) return;
  if (params_of(one->life)->start.sleeps && one->copied_s == 0) {
    one->copied_s =
        now(one->life) + orr_serving_run_sleep_seconds(run, run->work->replicas[one->index].group);
    orr_engine_at(run->engine, one->copied_s, look, one);
  }
  if (now(one->life) < one->copied_s) return;
  orr_replica_forget(replica);
  one->sleeps = params_of(one->life)->start.sleeps;
  enter(one, OFF);
  notice(one->life);
}

/* Not at once: the replica may be in the middle of its step's end. */
void orr_life_idle(OrrLife *life, guint replica) {
  if (life && life->all[replica].state == DRAINING)
    orr_engine_after(life->run->engine, 0, look, &life->all[replica]);
}

/* --- replicas that share GPUs --- */

static gint64 first_gpu_of(const One *one, gint64 *ret_n) {
  const OrrServedGroup *group = orr_serving_group(one->life->run->work, one->index);
  *ret_n = group->gpus;
  return group->first_gpu + ((gint64)one->index - group->first) * group->gpus;
}

static gboolean meets(const One *one, const One *other) {
  gint64 n, n_other;
  const gint64 first = first_gpu_of(one, &n), first_other = first_gpu_of(other, &n_other);
  return one != other && first < first_other + n_other && first_other < first + n;
}

/* Starts @one once its GPUs are free, and asks what is awake there to leave. */
static void make_room(One *one) {
  OrrLife *life = one->life;
  gboolean is_free = TRUE;
  for (gint64 i = 0; i < params_of(life)->replicas; i++) {
    One *other = &life->all[i];
    if (!meets(one, other)) continue;
    if (other->wanted > 0 && other->wanted < one->wanted) return;
    is_free = is_free && !is_held(other->state);
    if (other->state != UP) continue;
    const double until_s = other->since_s + params_of(life)->start.stays_s;
    if (until_s > now(life)) {
      orr_engine_at(life->run->engine, until_s, settle, life);
      continue;
    }
    enter(other, DRAINING);
    orr_life_idle(life, other->index);
  }
  if (!is_free || one->n_lost > 0) return;
  one->wanted = 0;
  begin_start(one);
}

static void settle(void *user) {
  OrrLife *life = user;
  for (gint64 i = 0; !life->run->error && !is_over(life) && i < params_of(life)->replicas; i++)
    if (life->all[i].wanted > 0) make_room(&life->all[i]);
}

static gint64 requests_at(const OrrLife *life, const One *one) {
  gint64 sum = 0;
  for (gint64 i = 0; i < params_of(life)->replicas; i++)
    if (meets(one, &life->all[i]))
      sum += orr_replica_n_requests(life->route->replicas[i]) + (life->all[i].wanted > 0);
  return sum;
}

void orr_life_want(OrrLife *life, const gboolean *serves) {
  One *best = NULL;
  gint64 least = G_MAXINT64;
  if (!life || !orr_serving_shares(params_of(life))) return;
  for (gint64 i = 0; i < params_of(life)->replicas; i++) {
    One *one = &life->all[i];
    if (!serves[i]) continue;
    if (one->state == STARTING || one->wanted > 0) return;
    if (one->state != OFF || one->n_lost > 0 || requests_at(life, one) >= least) continue;
    least = requests_at(life, one);
    best = one;
  }
  if (!best) return;
  best->wanted = ++life->turn;
  orr_engine_after(life->run->engine, 0, settle, life);
}

void orr_life_first_token(OrrLife *life, guint replica, double ttft_s) {
  if (!life) return;
  const double asked_s = params_of(life)->slo.ttft_s;
  for (guint i = 0; i < life->n_pools; i++) {
    Pool *pool = &life->pools[i];
    if (is_by_region(params_of(life)) && pool != pool_of(life, replica)) continue;
    pool->answered++;
    pool->in_time += asked_s <= 0 || ttft_s <= asked_s;
  }
}

/* --- nodes and GPUs --- */

/* After all replicas that are lost at this date: none of them gets the requests of another. */
static void rehome(void *user) {
  OrrLife *life = user;
  g_autoptr(GPtrArray) requests = life->homeless;
  life->homeless = g_ptr_array_new();
  for (guint i = 0; i < requests->len; i++)
    life->reports.homeless(life->reports.user, requests->pdata[i]);
}

static void lose(One *one) {
  OrrLife *life = one->life;
  const State before = one->state;
  one->generation++;
  one->wanted = 0;
  one->sleeps = FALSE;
  enter(one, DOWN);
  if (before == OFF || before == STARTING) return;
  g_autoptr(GPtrArray) requests = orr_route_lose_replica(life->route, one->index);
  if (requests->len > 0 && life->homeless->len == 0)
    orr_engine_after(life->run->engine, 0, rehome, life);
  for (guint i = 0; i < requests->len; i++) g_ptr_array_add(life->homeless, requests->pdata[i]);
}

static void slow_down(One *one, gint64 gpu, double factor) {
  const gint64 n = orr_serving_group(one->life->run->work, one->index)->gpus;
  double most = 1;
  if (!one->slow) {
    one->slow = g_new(double, n);
    for (gint64 i = 0; i < n; i++) one->slow[i] = 1;
  }
  one->slow[gpu] = factor;
  for (gint64 i = 0; i < n; i++) most = MAX(most, one->slow[i]);
  orr_replica_slow(one->life->route->replicas[one->index], most);
}

/* To @one, at GPU @gpu of it. */
static void change_one(One *one, gint64 gpu, const OrrGpuChange *it) {
  if (!it->is_node) return slow_down(one, gpu, it->factor);
  if (it->factor > 0)
    one->n_lost--;
  else if (one->n_lost++ == 0 && one->life->is_open)
    lose(one);
  if (it->factor <= 0 || one->n_lost > 0 || one->state != DOWN) return;
  if (!orr_serving_shares(params_of(one->life))) return begin_start(one);
  enter(one, OFF); /* until a request wants it */
  notice(one->life);
}

static gboolean is_of_station(const OrrRoute *route, const OrrGpuChange *change) {
  for (guint i = 0; i < route->n_stops; i++) {
    const OrrStop *stop = &route->stops[i];
    if (stop->station->gpu_changed && stop->station->gpu_changed(stop->state, change)) return TRUE;
  }
  return FALSE;
}

static void change(void *user) {
  const Change *at = user;
  OrrLife *life = at->life;
  const OrrServingWork *work = life->run->work;
  const OrrGpuChange *it = &g_array_index(work->work.gpu_changes, OrrGpuChange, at->index);
  life->n_changes_left--;
  if (life->run->error || it->gpu >= work->work.n_gpus || is_over(life)) return;
  if (is_of_station(life->route, it)) return;
  ORR_EACH(const OrrServedGroup, group, work->groups) {
    const gint64 gpu = it->gpu - group->first_gpu;
    if (gpu >= 0 && gpu < group->params.replicas * group->gpus)
      change_one(&life->all[group->first + gpu / group->gpus], gpu % group->gpus, it);
  }
}

static void links_change(void *user) {
  const Change *at = user;
  OrrLife *life = at->life;
  life->n_changes_left--;
  if (life->run->error || is_over(life)) return;
  orr_engine_links_change(
      life->route,
      g_array_index(life->run->work->work.fabric_changes, OrrFabricChange, at->index).fabric);
}

static void plan_link_changes(OrrLife *life) {
  const GArray *changes = life->run->work->work.fabric_changes;
  if (!changes) return;
  life->link_changes = g_new(Change, changes->len + 1);
  life->n_changes_left += changes->len;
  for (guint i = 0; i < changes->len; i++) {
    life->link_changes[i] = (Change){life, i};
    orr_engine_at(life->run->engine, g_array_index(changes, OrrFabricChange, i).at_s, links_change,
                  &life->link_changes[i]);
  }
}

static void plan_changes(OrrLife *life) {
  const GArray *changes = life->run->work->work.gpu_changes;
  if (!changes) return;
  life->changes = g_new(Change, changes->len + 1);
  life->n_changes_left = changes->len;
  for (guint i = 0; i < changes->len; i++) {
    life->changes[i] = (Change){life, i};
    orr_engine_at(life->run->engine, g_array_index(changes, OrrGpuChange, i).at_s, change,
                  &life->changes[i]);
  }
}

/* --- scaling --- */

static guint count(const OrrLife *life, const Pool *pool, State state) {
  guint n = 0;
  for (guint i = 0; i < pool->n; i++) n += life->all[pool->first + i].state == state;
  return n;
}

static OrrPoolView view_of(OrrLife *life, Pool *pool) {
  const OrrGatewayPair *gateways = orr_gateway_pair(life->route);
  OrrPoolView view = {
      .n_up = count(life, pool, UP), .answered = pool->answered, .in_time = pool->in_time};
  double busy_s = 0, up_s = pool->up_s;
  view.n_started = view.n_up + count(life, pool, STARTING);
  view.requests =
      is_by_region(params_of(life))
          ? orr_gateway_n_waiting_near(gateways->first, region_of(life, pool->first))
          : orr_gateway_n_waiting(pool->first == 0 ? gateways->first : gateways->decode);
  for (guint i = pool->first; i < pool->first + pool->n; i++) {
    One *one = &life->all[i];
    const double all_s = life->run->work->replicas[i].busy_s;
    view.requests += orr_replica_n_requests(life->route->replicas[i]);
    busy_s += all_s - one->busy_s;
    one->busy_s = all_s;
    if (one->state == UP || one->state == DRAINING)
      up_s += now(life) - fmax(one->since_s, pool->asked_s);
  }
  view.busy = up_s > 0 ? fmin(busy_s / up_s, 1) : 0;
  pool->asked_s = now(life);
  pool->up_s = 0;
  pool->answered = pool->in_time = 0;
  return view;
}

/* The most that was wanted in the last down-after. */
static guint most_wanted(Pool *pool, guint wanted) {
  const double now_s = now(pool->life),
               since_s = now_s - params_of(pool->life)->autoscaling.down_after_s;
  ORR_APPEND(pool->wishes, Wish, {now_s, wanted});
  guint kept = 0, most = 0;
  ORR_EACH(const Wish, old, pool->wishes) {
    if (old->at_s < since_s) continue;
    most = MAX(most, old->n);
    g_array_index(pool->wishes, Wish, kept++) = *old;
  }
  g_array_set_size(pool->wishes, kept);
  return most;
}

/* Those that drain are taken back before others start; the first start first, and the last go
 * first. */
static void go_up(OrrLife *life, Pool *pool, guint n) {
  for (guint i = pool->first; n > 0 && i < pool->first + pool->n; i++)
    if (life->all[i].state == DRAINING) {
      enter(&life->all[i], UP);
      n--;
    }
  for (guint i = pool->first; n > 0 && i < pool->first + pool->n; i++)
    if (life->all[i].state == OFF && life->all[i].n_lost == 0) {
      begin_start(&life->all[i]);
      n--;
    }
}

static void go_down(OrrLife *life, Pool *pool, guint n) {
  for (guint i = pool->first + pool->n; n > 0 && i-- > pool->first;)
    if (life->all[i].state == UP) {
      enter(&life->all[i], DRAINING);
      orr_life_idle(life, i);
      n--;
    }
}

static void scale(OrrLife *life, Pool *pool) {
  const OrrAutoscaling *params = &params_of(life)->autoscaling;
  const OrrAutoscaler *scaler = (const OrrAutoscaler *)params->by.entry;
  const OrrPoolView view = view_of(life, pool);
  const guint least = MIN((guint)params->least, pool->n);
  const guint asked = CLAMP(scaler->wanted(params->by.params, &view), least, pool->n);
  const guint wanted = most_wanted(pool, asked);
  if (asked > view.n_started)
    go_up(life, pool, asked - view.n_started);
  else if (wanted < view.n_up)
    go_down(life, pool, view.n_up - wanted);
}

static void ask(void *user);

static void ask_later(OrrLife *life) {
  life->run->next_look_s = now(life) + params_of(life)->autoscaling.interval_s;
  orr_engine_at(life->run->engine, life->run->next_look_s, ask, life);
}

static void ask(void *user) {
  OrrLife *life = user;
  if (life->run->error) return;
  for (guint i = 0; i < life->n_pools; i++) scale(life, &life->pools[i]);
  life->run->next_look_s = G_MAXDOUBLE;
  if (goes_on(life)) ask_later(life);
}

/* --- life --- */

/* GPUs are with the first group that shares them. */
static void sleep_from_begin(One *one) {
  one->sleeps = params_of(one->life)->start.sleeps;
  enter(one, OFF);
}

static void add_pool(OrrLife *life, guint first, guint n) {
  const OrrServing *params = params_of(life);
  const guint begin = orr_serving_scales(params) ? MIN((guint)params->autoscaling.least, n) : n;
  Pool *pool = &life->pools[life->n_pools++];
  *pool = (Pool){.life = life,
                 .first = first,
                 .n = n,
                 .wishes = g_array_new(FALSE, FALSE, sizeof(Wish)),
                 .asked_s = now(life)};
  for (guint i = first; i < first + n; i++) {
    One *one = &life->all[i];
    one->since_s = now(life);
    if (one->n_lost > 0)
      enter(one, DOWN);
    else if (orr_serving_groups_shares(params, life->run->work->replicas[i].group))
      sleep_from_begin(one);
    else if (i - first < begin && params->start.warm)
      enter(one, UP);
    else if (i - first < begin)
      begin_start(one);
  }
}

static void open_pools(void *user) {
  OrrLife *life = user;
  const OrrServing *params = params_of(life);
  const guint prefill = (guint)params->disaggregation.prefill, n = (guint)params->replicas;
  life->is_open = TRUE;
  for (guint i = 0, next; i < n && is_by_region(params); i = next) {
    for (next = i + 1; next < n && region_of(life, next) == region_of(life, i);) next++;
    add_pool(life, i, next - i);
  }
  if (life->n_pools == 0) add_pool(life, 0, prefill > 0 ? prefill : n);
  if (prefill > 0) add_pool(life, prefill, n - prefill);
  if (orr_serving_scales(params)) ask_later(life);
}

OrrLife *orr_life_new(OrrRoute *route, const OrrLifeReports *reports) {
  OrrServingRun *run = route->run;
  const OrrServing *params = &run->work->params;
  if (!orr_serving_is_eventful(params) && !run->work->work.gpu_changes) return NULL;
  OrrLife *life = g_new(OrrLife, 1);
  *life = (OrrLife){.route = route,
                    .run = run,
                    .reports = *reports,
                    .all = g_new0(One, params->replicas),
                    .pools = g_new0(Pool, orr_serving_n_groups(params) + 1),
                    .starts = orr_pool_new(sizeof(Start), NULL),
                    .homeless = g_ptr_array_new()};
  for (gint64 i = 0; i < params->replicas; i++)
    life->all[i] = (One){.life = life, .index = (guint)i};
  for (gint64 i = 0; i < params->replicas; i++) route->is_up[i] = FALSE;
  plan_changes(life);
  plan_link_changes(life);
  orr_engine_at(run->engine, run->start_s, open_pools, life);
  return life;
}

void orr_life_free(OrrLife *life) {
  if (!life) return;
  for (gint64 i = 0; i < params_of(life)->replicas; i++) g_free(life->all[i].slow);
  for (guint i = 0; i < life->n_pools; i++) g_array_unref(life->pools[i].wishes);
  orr_pool_free(life->starts);
  g_ptr_array_unref(life->homeless);
  ORR_FREE(life->all, life->pools, life->changes, life->link_changes, life);
}

void orr_life_close(const OrrLife *life, double end_s) {
  if (!life) return;
  for (gint64 i = 0; i < params_of(life)->replicas; i++)
    if (is_held(life->all[i].state))
      life->run->work->replicas[i].held_s += fmax(end_s - life->all[i].since_s, 0);
}
