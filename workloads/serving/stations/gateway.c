/*
 * gateway.c - from the fleet's door to a replica: admission, the queue at the router, and its
 * choice.
 *
 *   arrival --> [a replica has room?] --yes--> router --> replica
 *                      | no
 *                      +--> queue (first come, first served) --> rejected where it is full
 *
 * A replica has room while it is up and has fewer than admission.in-flight requests. A place
 * becomes free when a request ends, and the first of the queue takes it at that time.
 *
 * Oracle: with in-flight c and queue 0 one replica is M/G/c/c, which rejects Erlang's B(c, a)
 * whatever the lengths.
 */
#include "workloads/serving/fleet/life.h"

struct OrrDoor {
  OrrFleet *fleet;
  const OrrRouter *router;
  gpointer state;
  guint first, n;
  gint64 in_flight, queue; /* limits; 0 and below 0: none */
  GQueue waiting;          /* OrrRequest* */
  gboolean is_due;         /* a look at the queue is on the calendar */
};

static gboolean is_open(void *user, guint i) {
  const OrrDoor *door = user;
  if (!orr_life_is_up(door->fleet->life, door->first + i)) return FALSE;
  return door->in_flight == 0 ||
         orr_replica_n_requests(door->fleet->replicas[door->first + i]) < door->in_flight;
}

static gint64 load(void *user, guint i, OrrRouterLoad by) {
  const OrrDoor *door = user;
  const OrrReplica *replica = door->fleet->replicas[door->first + i];
  switch (by) {
  case ORR_LOAD_REQUESTS:
    return orr_replica_n_requests(replica);
  case ORR_LOAD_WAITING:
    return orr_replica_n_waiting(replica);
  case ORR_LOAD_KV_BLOCKS:
    break;
  }
  return orr_replica_claimed_blocks(replica);
}

OrrDoor *orr_door_new(OrrFleet *fleet, guint first, guint n, gboolean is_limited) {
  const OrrServing *params = &fleet->work->params;
  OrrDoor *door = g_new0(OrrDoor, 1);
  *door = (OrrDoor){.fleet = fleet,
                    .router = (const OrrRouter *)params->router.entry,
                    .first = first,
                    .n = n,
                    .in_flight = is_limited ? params->admission.in_flight : 0,
                    .queue = is_limited ? params->admission.queue : -1};
  const OrrRouterView view = {.user = door,
                              .n = n,
                              .block_size = params->engine.block_size,
                              .seed = (guint64)fleet->work->world->seed,
                              .is_open = is_open,
                              .load = load};
  g_queue_init(&door->waiting);
  door->state = door->router->open(params->router.params, &view);
  fleet->sees_blocks =
      door->router->sees_blocks && door->router->sees_blocks(params->router.params);
  return door;
}

void orr_door_free(OrrDoor *door) {
  if (!door) return;
  door->router->close(door->state);
  g_queue_clear(&door->waiting);
  g_free(door);
}

gboolean orr_door_any_open(OrrDoor *door) {
  for (guint i = 0; i < door->n; i++)
    if (is_open(door, i)) return TRUE;
  return FALSE;
}

gint64 orr_door_n_waiting(const OrrDoor *door) { return door->waiting.length; }

guint orr_door_pick(OrrDoor *door, const OrrRequest *request) {
  return door->first +
         door->router->pick(door->state, request, orr_engine_now(door->fleet->engine));
}

static void send(OrrDoor *door, OrrRequest *request) {
  orr_replica_add(door->fleet->replicas[orr_door_pick(door, request)], request);
}

gboolean orr_door_send(OrrDoor *door, OrrRequest *request) {
  if (door->waiting.length == 0 && orr_door_any_open(door)) {
    send(door, request);
    return TRUE;
  }
  if (door->queue >= 0 && (gint64)door->waiting.length >= door->queue) return FALSE;
  g_queue_push_tail(&door->waiting, request);
  return TRUE;
}

static void look(void *user) {
  OrrDoor *door = user;
  door->is_due = FALSE;
  while (!door->fleet->error && door->waiting.length > 0 && orr_door_any_open(door))
    send(door, g_queue_pop_head(&door->waiting));
}

/* Not at once: the replica is in the middle of its step's end. */
void orr_door_left(OrrDoor *door) {
  if (door->waiting.length == 0 || door->is_due) return;
  door->is_due = TRUE;
  orr_engine_after(door->fleet->engine, 0, look, door);
}

void orr_door_block(OrrDoor *door, guint replica, guint64 key, gboolean is_there) {
  if (door->router->on_block)
    door->router->on_block(door->state, replica - door->first, key, is_there,
                           orr_engine_now(door->fleet->engine));
}
