/*
 * fleet.c - brings the requests of a load onto their route (stations/station.h), and writes their
 * rows when they end.
 *
 * Of the arrivals that are known in advance one is on the calendar at a time. A request that
 * follows another one is put there when that one ends. Requests live in a pool, which reuses their
 * memory.
 */
#include "workloads/serving/fleet/fleet.h"

#include "workloads/serving/fleet/fleet_private.h"
#include "workloads/serving/stations/gateway.h"
#include "workloads/serving/tasks/task_run.h"
#include "workloads/serving/transfers/transfers.h"

struct OrrFleet {
  OrrServingRun run;
  OrrRoute route;
  OrrLife *life; /* NULL: all replicas are up from beginning to end */
  const OrrArrival *load;
  gpointer state;
  OrrTaskRun *tasks; /* NULL: what arrives is a request */
  OrrRequest *due;   /* known in advance, on the calendar; NULL: none */
  OrrPool *followers;
  OrrRandom lengths, groups, regions, prefixes;
  OrrClientRegions clients;
  guint32 n_requests;
  gint64 in_system, n_following; /* requests; those that will follow another one's end */
  double area_since_s;
  double arrivals_s; /* of the requests in the system, in all */
  GQueue unsent;     /* OrrRequest*: wait at their clients for max-concurrency */
  double unsent_area_s;
  gboolean is_send_due;
  OrrWatch watch;
  gboolean is_over, is_cut; /* the load sends no more; the run ends with requests in the system */
  double weights;           /* of the classes, in all */
};

typedef struct {
  OrrFleet *fleet;
  OrrRequest *request;
} Follower;

static gint64 n_unsent(const OrrFleet *fleet) { return (gint64)fleet->unsent.length; }

/* --- Little's law: the area under the number in the system, kept in addition to the requests' own
 * times --- */

static void count_area(OrrFleet *fleet, const OrrRequest *request, int change) {
  const double now_s = orr_engine_now(fleet->run.engine), for_s = now_s - fleet->area_since_s;
  fleet->run.work->area_request_s += (double)fleet->in_system * for_s;
  fleet->unsent_area_s += (double)n_unsent(fleet) * for_s;
  fleet->area_since_s = now_s;
  fleet->in_system += change;
  fleet->arrivals_s += change * request->arrival_s;
}

/* --- requests --- */

static guint draw_group(OrrFleet *fleet) {
  const GPtrArray *classes = fleet->run.work->params.classes;
  if (!classes || classes->len < 2) return 0;
  double place = orr_random_unit(&fleet->groups) * fleet->weights;
  for (guint i = 0; i + 1 < classes->len; i++) {
    place -= ((const OrrRequestClass *)classes->pdata[i])->share;
    if (place < 0) return i;
  }
  return classes->len - 1;
}

/* Where the load does not say so: by the regions' shares. What follows a request comes from where
 * that came from. */
static void draw_region(OrrFleet *fleet, OrrRequest *request) {
  const OrrClientRegions *clients = &fleet->clients;
  if (clients->n > 0 && request->region == 0)
    request->region =
        orr_client_regions_draw(clients, clients->weights, orr_random_unit(&fleet->regions));
}

/* Drawn prompts are longer by the common prefix; a trace's prompts have it already. A task's later
 * requests have what its steps made of it. */
static void share_prefix(OrrFleet *fleet, const OrrServing *params, OrrRequest *request) {
  if (params->shared_prefix == 0 || request->shared != 0 || request->task) return;
  const guint64 n = (guint64)MAX(params->distinct_prefixes, 1);
  request->shared = 1 + orr_random_below(&fleet->prefixes, n);
  request->shared_tokens = (gint32)MIN(params->shared_prefix, request->prompt);
}

/* What the load left open. Lengths without an end of their own are held to what there is room
 * for. */
static void fill_lengths(OrrFleet *fleet, OrrRequest *request) {
  const OrrServing *params = &fleet->run.work->params;
  const OrrRequestClass *class =
      params->classes && params->classes->len > 0 ? params->classes->pdata[request->group] : NULL;
  const OrrLengths *input =
      class ? orr_request_class_lengths(&class->input, &params->input) : &params->input;
  const OrrLengths *output =
      class ? orr_request_class_lengths(&class->output, &params->output) : &params->output;
  const gint64 longest = fleet->run.work->longest;
  if (request->prompt == 0) {
    const gint64 prompt = orr_lengths_draw(input, &fleet->lengths) + params->shared_prefix +
                          orr_serving_image_tokens(params, fleet->run.work->world->model);
    request->prompt = (gint32)CLAMP(prompt, 1, MAX(longest - 1, 1));
    fleet->run.work->n_cut += prompt > request->prompt;
  }
  share_prefix(fleet, params, request);
  if (request->output == 0) {
    const gint64 drawn = orr_lengths_draw(output, &fleet->lengths);
    request->output = (gint32)CLAMP(drawn, 1, MAX(longest - request->prompt, 1));
    fleet->run.work->n_cut += drawn > request->output;
  }
}

static gint64 context_of(const OrrServingWork *work) {
  const gint64 own = work->params.engine.max_model_len;
  return own > 0 ? own : work->world->model->context;
}

/* Engines that compute prompts whole may refuse one that goes into no step. */
static gboolean is_above_budget(OrrFleet *fleet, const OrrRequest *request) {
  const OrrEngineParams *engine = &fleet->run.work->params.engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  if (!scheduler->refuses_long || !scheduler->refuses_long(engine->scheduler.params) ||
      (gint64)request->prompt <= engine->max_num_batched_tokens)
    return FALSE;
  if (!fleet->run.error)
    g_set_error(
        &fleet->run.error, ORR_FAULT, ORR_FAULT_DOCUMENT,
        "the prompt of request %u of %d tokens is longer than engine.max-num-batched-tokens "
        "(%ld), and the scheduler %s without chunked-prefill refuses it",
        fleet->n_requests + 1, request->prompt, engine->max_num_batched_tokens,
        scheduler->entry.name);
  return TRUE;
}

static gboolean is_too_long(OrrFleet *fleet, const OrrRequest *request) {
  const OrrServingWork *work = fleet->run.work;
  if ((gint64)request->prompt + request->output <= work->longest) return FALSE;
  if (!fleet->run.error)
    g_set_error(&fleet->run.error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "request %u of %d + %d tokens is longer than %s of %ld tokens",
                fleet->n_requests + 1, request->prompt, request->output,
                work->longest < context_of(work) ? "the key-value cache" : "the context",
                work->longest);
  return TRUE;
}

static void arrive(void *user);

/* Completes @request, which arrives at request->arrival_s. Of a task it is where the context
 * begins, and no request yet. */
static void complete(OrrFleet *fleet, OrrRequest *request) {
  const GPtrArray *classes = fleet->run.work->params.classes;
  const gboolean begins_task = fleet->tasks && !request->task;
  draw_region(fleet, request);
  if (!begins_task && !request->goes_on)
    request->group = request->client = (guint16)draw_group(fleet);
  fill_lengths(fleet, request);
  if (begins_task) return;
  if (is_too_long(fleet, request) || is_above_budget(fleet, request)) return;
  request->id = fleet->n_requests++;
  request->images = (guint32)fleet->run.work->params.images;
  request->scheduled_s = request->first_token_s = request->last_token_s = -1;
  request->key = 0;
  if (classes && classes->len > 0)
    request->key = (double)((const OrrRequestClass *)classes->pdata[request->group])->priority;
  orr_route_made(&fleet->route, request);
}

/* --- arrivals --- */

static void fetch(OrrFleet *fleet);

static void follow_up(OrrFleet *fleet, OrrRequest *request, const OrrServingRequestRow *row);

static void note_unserved(OrrFleet *fleet, const OrrRequest *request, gboolean is_failed) {
  const double start_s = fleet->run.start_s, now_s = orr_serving_run_now(&fleet->run);
  ORR_APPEND(fleet->run.work->unserved, OrrUnserved,
             {request->arrival_s - start_s, now_s - start_s, is_failed, request->region});
  orr_watch_unserved(&fleet->watch);
}

static void enter(OrrFleet *fleet, OrrRequest *request) {
  OrrServingWork *work = fleet->run.work;
  work->last_arrival_s = request->arrival_s - fleet->run.start_s;
  if (work->arrived++ == 0) work->first_arrival_s = work->last_arrival_s;
  if (orr_route_enter(&fleet->route, request, 0)) {
    count_area(fleet, request, 1);
  } else {
    note_unserved(fleet, request, FALSE);
    follow_up(fleet, request, NULL);
  }
}

static gboolean has_place(const OrrFleet *fleet) {
  const gint64 most = fleet->run.work->params.max_concurrency;
  return most == 0 || fleet->in_system < most;
}

/* From now on the clocks of the requests run that waited at their clients. */
static void send_unsent(void *user) {
  OrrFleet *fleet = user;
  const double now_s = orr_engine_now(fleet->run.engine);
  fleet->is_send_due = FALSE;
  while (n_unsent(fleet) > 0 && has_place(fleet) && !fleet->run.error) {
    count_area(fleet, g_queue_peek_head(&fleet->unsent), 0);
    OrrRequest *request = g_queue_pop_head(&fleet->unsent);
    fleet->run.work->client_wait_s += now_s - request->arrival_s;
    request->arrival_s = now_s;
    enter(fleet, request);
  }
}

/* A request has left. Not at once: a replica may be in the middle of its step's end. */
static void notice_place(OrrFleet *fleet) {
  if (n_unsent(fleet) == 0 || fleet->is_send_due) return;
  fleet->is_send_due = TRUE;
  orr_engine_after(fleet->run.engine, 0, send_unsent, fleet);
}

/* @request is where a task begins. */
static void begin_task(OrrFleet *fleet, OrrRequest *request) {
  orr_task_run_arrive(fleet->tasks, request);
  orr_route_drop(&fleet->route, request);
}

/* Sends @request, or lets it wait at its client for a place. */
static void submit(OrrFleet *fleet, OrrRequest *request) {
  if (fleet->tasks && !request->task) return begin_task(fleet, request);
  if (n_unsent(fleet) == 0 && has_place(fleet)) return enter(fleet, request);
  count_area(fleet, request, 0);
  g_queue_push_tail(&fleet->unsent, request);
}

/* All that arrive now, so that they can be in one batch. */
static void arrive(void *user) {
  OrrFleet *fleet = user;
  const double now_s = orr_engine_now(fleet->run.engine);
  while (fleet->due && fleet->due->arrival_s <= now_s && !fleet->run.error) {
    OrrRequest *request = g_steal_pointer(&fleet->due);
    fetch(fleet);
    submit(fleet, request);
  }
  if (fleet->due && !fleet->run.error)
    orr_engine_at(fleet->run.engine, fleet->due->arrival_s, arrive, fleet);
}

/* The next request that is known in advance. */
static void fetch(OrrFleet *fleet) {
  OrrRequest *request = orr_route_new_request(&fleet->route);
  fleet->run.next_arrival_s = G_MAXDOUBLE;
  if (fleet->is_over || !fleet->load->next(fleet->state, request))
    return orr_route_drop(&fleet->route, request);
  request->arrival_s += fleet->run.start_s;
  complete(fleet, request);
  if (fleet->run.error) return;
  fleet->due = request;
  fleet->run.next_arrival_s = request->arrival_s;
}

static void follow(void *user) {
  Follower *follower = user;
  OrrFleet *fleet = follower->fleet;
  fleet->n_following--;
  if (!fleet->run.error) submit(fleet, follower->request);
  orr_pool_give(fleet->followers, follower);
}

static void check_queue(OrrFleet *fleet, const OrrRequest *request) {
  const double limit_s = fleet->run.work->params.most_queue_s,
               waited_s = request->scheduled_s - request->arrival_s - request->out_s;
  if (limit_s <= 0 || waited_s <= limit_s || fleet->run.error) return;
  g_set_error(&fleet->run.error, ORR_FAULT, ORR_FAULT_STUCK,
              "the queue diverges: request %u waited %.3g s for its first step (longest-queue: "
              "%.3g s); %u requests "
              "had ended by then, %ld were in the system",
              request->id + 1, waited_s, limit_s, fleet->run.work->requests->len, fleet->in_system);
}

static void take_answer(OrrFleet *fleet, OrrWatchAnswer answer) {
  if (answer == ORR_WATCH_GOES_ON || fleet->run.error) return;
  fleet->is_over = TRUE;
  fleet->run.next_arrival_s = G_MAXDOUBLE;
  while (n_unsent(fleet) > 0) orr_route_drop(&fleet->route, g_queue_pop_head(&fleet->unsent));
  if (answer != ORR_WATCH_CUT) return;
  fleet->is_cut = TRUE; /* nothing more happens: serving_run.h */
  g_set_error_literal(&fleet->run.error, ORR_FAULT, ORR_FAULT_STUCK, "the run was cut");
}

static void ended(void *user, OrrRequest *request) {
  OrrFleet *fleet = user;
  OrrServedRequest all = orr_served_row(&fleet->run, request);
  orr_route_add_row(&fleet->route, request, &all.row);
  count_area(fleet, request, -1);
  all.left_s = orr_serving_run_now(&fleet->run) - fleet->run.start_s;
  all.area_s[1] = fleet->unsent_area_s;
  all.area_s[0] = fleet->run.work->area_request_s + all.area_s[1];
  all.number[1] = (gint32)n_unsent(fleet);
  all.number[0] = (gint32)fleet->in_system + all.number[1];
  g_array_append_val(fleet->run.work->requests, all);
  check_queue(fleet, request);
  take_answer(fleet, orr_watch_left(&fleet->watch, all.row.good));
  orr_gateway_notice(orr_gateway_pair(&fleet->route)->first);
  follow_up(fleet, request, &all.row);
}

/* Puts @request on the calendar; takes it. */
static void put(OrrFleet *fleet, OrrRequest *request) {
  complete(fleet, request);
  if (fleet->run.error) return;
  Follower *follower = orr_pool_take(fleet->followers);
  fleet->n_following++;
  *follower = (Follower){fleet, request};
  orr_engine_at(fleet->run.engine, fmax(request->arrival_s, orr_engine_now(fleet->run.engine)),
                follow, follower);
}

static gboolean load_after(OrrFleet *fleet, OrrRequest *ended, OrrRequest *ret_next) {
  *ret_next = (OrrRequest){0};
  if (fleet->is_over || !fleet->load->after ||
      !fleet->load->after(fleet->state, ended, orr_engine_now(fleet->run.engine), ret_next))
    return FALSE;
  ret_next->region = ended->region;
  if (!ret_next->session) return TRUE; /* another request of a client */
  ret_next->goes_on = TRUE;
  ret_next->group = ended->group;
  ret_next->client = ended->client;
  ret_next->adapter = ended->adapter;
  return TRUE;
}

static void put_copy(OrrFleet *fleet, const OrrRequest *next) {
  OrrRequest *request = orr_route_new_request(&fleet->route);
  *request = *next;
  put(fleet, request);
}

/* @request has ended, with its row, or was rejected; where its client goes on, the next one is put
 * on the calendar. */
static void follow_up(OrrFleet *fleet, OrrRequest *request, const OrrServingRequestRow *row) {
  OrrRequest next;
  const gboolean has_next = !fleet->tasks && load_after(fleet, request, &next);
  if (has_next && !row && !fleet->run.error)
    orr_refusals_check_loop(request, &next, &fleet->run.error);
  notice_place(fleet);
  if (fleet->tasks && !fleet->run.error) orr_task_run_left(request, row);
  orr_route_drop(&fleet->route, request);
  if (has_next) put_copy(fleet, &next);
}

/* --- tasks --- */

static OrrRequest *new_request(void *user) {
  return orr_route_new_request(&((OrrFleet *)user)->route);
}

static void put_request(void *user, OrrRequest *request) { put(user, request); }

static gboolean next_turn(void *user, OrrRequest *ended, OrrRequest *ret_turn) {
  return load_after(user, ended, ret_turn);
}

static void moved(void *user) {
  const OrrRequest none = {0};
  count_area(user, &none, 0);
}

/* Of sessions each task reads its own turns; of other loads a task's end may bring the next. */
static void task_ended(void *user, const OrrRequest *arrival) {
  OrrFleet *fleet = user;
  OrrRequest ended = *arrival, next;
  if (fleet->run.error || fleet->load->is_trace || !load_after(fleet, &ended, &next)) return;
  put_copy(fleet, &next);
}

static gboolean open_tasks(OrrFleet *fleet, GError **error) {
  const OrrTaskReports reports = {.user = fleet,
                                  .new_request = new_request,
                                  .submit = put_request,
                                  .next_turn = next_turn,
                                  .moved = moved,
                                  .ended = task_ended};
  if (!orr_tasks_are_on(&fleet->run.work->params.tasks)) return TRUE;
  return (fleet->tasks = orr_task_run_new(&fleet->run, &reports, error)) != NULL;
}

/* By a station that it reached after its arrival. */
static void rejected(void *user, OrrRequest *request) {
  OrrFleet *fleet = user;
  OrrServingWork *work = fleet->run.work;
  note_unserved(fleet, request, FALSE);
  work->failed_s += orr_serving_run_now(&fleet->run) - request->arrival_s;
  count_area(fleet, request, -1);
  follow_up(fleet, request, NULL);
}

static void fail(OrrFleet *fleet, OrrRequest *request) {
  OrrServingWork *work = fleet->run.work;
  note_unserved(fleet, request, TRUE);
  work->failed_s += orr_serving_run_now(&fleet->run) - request->arrival_s;
  count_area(fleet, request, -1);
  follow_up(fleet, request, NULL);
}

/* Its replica is lost. It enters again, but for what its client has: prompt and output so far are
 * computed again. */
static void homeless(void *user, OrrRequest *request) {
  OrrFleet *fleet = user;
  OrrServingWork *work = fleet->run.work;
  request->state = ORR_REQUEST_FUTURE;
  request->computed = request->scheduled = request->drafted = 0;
  request->swapped = request->is_in_flight = FALSE;
  orr_route_lose(&fleet->route, request);
  if (work->params.on_failure == ORR_FAILURE_RETRY && orr_route_enter(&fleet->route, request, 0)) {
    work->retried++;
    return;
  }
  if (!orr_route_is_bound(&fleet->route, request))
    fail(fleet, request);
  else if (!fleet->run.error)
    g_set_error_literal(&fleet->run.error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                        "a replica is lost with some of the outputs of a prompt: on-failure "
                        "fail, or a queue that is full, would leave the others without them; use "
                        "on-failure: retry and no admission.queue");
}

static void answered(void *user, const OrrRequest *request, double ttft_s) {
  OrrFleet *fleet = user;
  orr_life_first_token(fleet->life, (guint)request->replica, ttft_s);
  take_answer(fleet, orr_watch_first_token(&fleet->watch, ttft_s));
}

static void idle(void *user, guint replica) {
  orr_life_idle(((const OrrFleet *)user)->life, replica);
}

static void wanted(void *user, const gboolean *serves) {
  orr_life_want(((const OrrFleet *)user)->life, serves);
}

static gint64 in_system(void *user) { return ((const OrrFleet *)user)->in_system; }

static gboolean expects(void *user) {
  const OrrFleet *fleet = user;
  return fleet->run.next_arrival_s < G_MAXDOUBLE || fleet->n_following > 0 || n_unsent(fleet) > 0 ||
         (fleet->tasks && orr_task_run_active(fleet->tasks) > 0);
}

/* --- the run --- */

#define ENDLESS ((gint64)1 << 40) /* requests */

static gboolean open_load(OrrFleet *fleet, GError **error) {
  const OrrServingWork *work = fleet->run.work;
  const OrrServing *params = &work->params;
  const gboolean is_endless = fleet->watch.is_on, is_more = is_endless && !fleet->load->cycle;
  const OrrArrivalContext context = {.requests = is_more ? ENDLESS : params->requests,
                                     .is_endless = is_endless,
                                     .input = &params->input,
                                     .output = &params->output,
                                     .seed = (guint64)work->world->seed,
                                     .folders = work->world->folders,
                                     .longest = work->longest,
                                     .clients = fleet->clients};
  for (guint i = 0; params->classes && i < params->classes->len; i++)
    fleet->weights += ((const OrrRequestClass *)params->classes->pdata[i])->share;
  fleet->state = fleet->load->open(params->load.params, &context, error);
  if (fleet->state && fleet->load->left_out)
    fleet->run.work->left_out = g_strdup(fleet->load->left_out(fleet->state));
  if (fleet->state && fleet->load->requests)
    fleet->run.work->trace_requests = fleet->load->requests(fleet->state);
  fleet->run.work->chain =
      fleet->state && fleet->load->chain ? fleet->load->chain(fleet->state) : (OrrChain){1, 0, 0};
  if (fleet->state && fleet->load->cycle) fleet->run.work->cycle = fleet->load->cycle(fleet->state);
  return fleet->state != NULL;
}

static gboolean open_fleet(OrrFleet *fleet, GError **error) {
  const OrrRouteReports route_reports = {.user = fleet,
                                         .answered = answered,
                                         .idle = idle,
                                         .wanted = wanted,
                                         .rejected = rejected,
                                         .homeless = homeless,
                                         .ended = ended};
  const OrrLifeReports life_reports = {
      .user = fleet, .homeless = homeless, .in_system = in_system, .expects = expects};
  if (!orr_group_costs_open(&fleet->run, error) || !orr_objectives_check(&fleet->run, error) ||
      !open_load(fleet, error))
    return FALSE;
  orr_transfers_open(&fleet->run);
  if (!orr_route_open(&fleet->route, &fleet->run, &route_reports, error)) return FALSE;
  fleet->life = orr_life_new(&fleet->route, &life_reports);
  return open_tasks(fleet, error);
}

static gboolean close_replicas(OrrFleet *fleet, GError **error) {
  OrrServingWork *work = fleet->run.work;
  for (gint64 i = 0; i < work->params.replicas; i++)
    if (!orr_replica_close(fleet->route.replicas[i], error)) return FALSE;
  if (fleet->in_system > 0)
    return orr_fault_set(error, ORR_FAULT_STUCK,
                         "%ld requests wait for ever: no replica is left that could take them",
                         fleet->in_system);
  for (gint64 i = 0; i < work->params.replicas && !fleet->life; i++)
    work->replicas[i].held_s = fleet->area_since_s - fleet->run.start_s;
  orr_life_close(fleet->life, fleet->area_since_s);
  return TRUE;
}

/* Requests that a cut run leaves in the system count with the time they spent in it so far. */
static void take_cut(OrrFleet *fleet) {
  OrrServingWork *work = fleet->run.work;
  g_clear_error(&fleet->run.error);
  work->failed_s += (double)fleet->in_system * fleet->area_since_s - fleet->arrivals_s;
  for (gint64 i = 0; i < work->params.replicas; i++) {
    orr_replica_close(fleet->route.replicas[i], NULL);
    work->replicas[i].held_s = fleet->area_since_s - fleet->run.start_s;
  }
}

gboolean orr_fleet_finish(OrrWork *base, GError **error) {
  OrrServingWork *work = (OrrServingWork *)base;
  OrrFleet *fleet = work->fleet;
  if (fleet->run.error && !fleet->is_cut) {
    g_propagate_error(error, g_steal_pointer(&fleet->run.error));
    return FALSE;
  }
  if (fleet->is_cut)
    take_cut(fleet);
  else if (!close_replicas(fleet, error))
    return FALSE;
  work->end_s = fleet->area_since_s - fleet->run.start_s;
  if (fleet->tasks) orr_task_run_close(fleet->tasks);
  if (work->power) /* to the end of the run; when a pool's passes ran is not kept */
    orr_power_time_add(work->power, 0, work->end_s, work->task_joules);
  if (!fleet->is_over) work->steady = orr_steady_of(work, work->last_arrival_s);
  if (!orr_serving_run_close_window(&fleet->run, error)) return FALSE;
  if (!orr_serving_run_check_law(&fleet->run, error)) return FALSE;
  work->calls = (gint64)orr_engine_n_events(fleet->run.engine);
  orr_group_costs_close(&fleet->run);
  return TRUE;
}

void orr_fleet_free(OrrFleet *fleet) {
  if (!fleet) return;
  orr_task_run_free(fleet->tasks);
  orr_life_free(fleet->life);
  orr_route_close(&fleet->route);
  orr_transfers_close(&fleet->run);
  orr_pool_free(fleet->followers);
  if (fleet->state) fleet->load->close(fleet->state);
  if (fleet->run.sums) g_array_unref(fleet->run.sums);
  g_queue_clear(&fleet->unsent);
  ORR_FREE(fleet->clients.weights, fleet->clients.later_s);
  orr_group_costs_free(&fleet->run);
  g_clear_error(&fleet->run.error);
  g_free(fleet);
}

gboolean orr_fleet_begin(OrrWork *base, const OrrLivePlace *place, GError **error) {
  OrrServingWork *work = (OrrServingWork *)base;
  const guint64 seed = (guint64)work->world->seed;
  OrrFleet *fleet = g_new0(OrrFleet, 1);
  *fleet = (OrrFleet){.run = {.work = work,
                              .engine = place->engine,
                              .links = place->links,
                              .start_s = place->start_s,
                              .next_look_s = G_MAXDOUBLE,
                              .step_stride = 1},
                      .followers = orr_pool_new(sizeof(Follower), NULL),
                      .lengths = orr_random_stream(seed, "lengths"),
                      .groups = orr_random_stream(seed, "classes"),
                      .regions = orr_random_stream(seed, "regions"),
                      .prefixes = orr_random_stream(seed, "prefixes"),
                      .clients = orr_serving_clients(&work->params),
                      .area_since_s = place->start_s,
                      .load = (const OrrArrival *)work->params.load.entry};
  work->fleet = fleet;
  g_queue_init(&fleet->unsent);
  orr_watch_init(&fleet->watch, &fleet->run);
  if (!open_fleet(fleet, error)) return FALSE;
  fetch(fleet);
  if (fleet->due)
    orr_engine_at(fleet->run.engine, fmax(fleet->due->arrival_s, fleet->run.start_s), arrive,
                  fleet);
  return TRUE;
}

void orr_fleet_times(const OrrWork *base, double *ret_end_s, double *ret_answer_s) {
  const OrrServingWork *work = (const OrrServingWork *)base;
  double sum_s = 0;
  ORR_EACH(const OrrServedRequest, request, work->requests)
    sum_s += request->end_s - request->row.arrival_s;
  *ret_end_s = work->end_s;
  *ret_answer_s = work->requests->len > 0 ? sum_s / work->requests->len : 0;
}
