/*
 * work_graph_order.c - runs a graph with communications alone on their links, and notes the order.
 *
 * Node i of rank r is item first[r] + i. An item waits for its dependencies, then for its queue if
 * it has one, then runs; a communication ends on all members at once, its time after the last has
 * reached it.
 */
#include "workloads/trace/work_graph.h"

#include "sim/engine/calendar.h"

#define NO_QUEUE G_MAXUINT32

typedef struct {
  OrrCalendar ready;
  gboolean is_busy;
  guint32 next; /* a process group's: the communication that comes next */
} Queue;

typedef struct {
  const OrrWorkGraph *graph;
  const double *node_s, *comm_s;
  OrrGraphOrder *order;
  guint32 n_items;
  guint32 *rank_of, *left, *queue_of;
  guint32 *first_after; /* by item: where those that depend on it begin in @after */
  guint32 *after;       /* items, with ORR_GRAPH_ON_BEGIN */
  guint32 *n_ordered;   /* by rank */
  guint32 *n_there;     /* by communication */
  OrrEvent *events;     /* by item: in its queue, then in @running */
  OrrCalendar running;
  GArray *queues;    /* of Queue */
  GArray *unblocked; /* of guint32: items whose dependencies are met */
  guint64 n_events;
  double now_s;
} Run;

static const OrrGraphNode *node_of(const Run *run, guint32 item) {
  const guint32 rank = run->rank_of[item];
  return orr_work_graph_node(orr_work_graph_rank(run->graph, rank), item - run->order->first[rank]);
}

static gboolean is_comm(const OrrGraphNode *node) { return node->kind >= ORR_GRAPH_SEND; }

/* --- Making --- */

typedef struct {
  guint32 rank, kind;
  guint64 key;
} QueueName;

static guint name_hash(gconstpointer data) {
  const QueueName *name = data;
  return name->rank * 31 + name->kind * 7 + (guint)(name->key * 2654435761u);
}

static gboolean name_equal(gconstpointer first, gconstpointer second) {
  const QueueName *a = first, *b = second;
  return a->rank == b->rank && a->kind == b->kind && a->key == b->key;
}

static guint32 queue_of(Run *run, GHashTable *known, guint32 item) {
  const OrrGraphNode *node = node_of(run, item);
  const gboolean is_group = node->kind == ORR_GRAPH_COLLECTIVE;
  const gboolean has_queue =
      is_group || node->kind == ORR_GRAPH_COMPUTE || node->kind == ORR_GRAPH_HOST;
  if (!has_queue) return NO_QUEUE;
  const QueueName name = {run->rank_of[item], node->kind, is_group ? node->group : node->queue};
  guint number = GPOINTER_TO_UINT(g_hash_table_lookup(known, &name));
  if (!number) {
    const Queue queue = {.next = node->comm};
    g_array_append_val(run->queues, queue);
    orr_calendar_init(&g_array_index(run->queues, Queue, run->queues->len - 1).ready);
    number = run->queues->len;
    g_hash_table_insert(known, g_memdup2(&name, sizeof name), GUINT_TO_POINTER(number));
  }
  Queue *queue = &g_array_index(run->queues, Queue, number - 1);
  if (is_group) queue->next = MIN(queue->next, node->comm);
  return number - 1;
}

static void count_items(Run *run) {
  const guint n_ranks = run->graph->ranks->len;
  run->order->first = g_new0(guint32, n_ranks + 1);
  for (guint r = 0; r < n_ranks; r++)
    run->order->first[r + 1] =
        run->order->first[r] + orr_work_graph_rank(run->graph, r)->nodes->len;
  run->n_items = run->order->first[n_ranks];
  run->rank_of = g_new(guint32, run->n_items + 1);
  for (guint r = 0; r < n_ranks; r++)
    for (guint32 i = run->order->first[r]; i < run->order->first[r + 1]; i++) run->rank_of[i] = r;
}

/* Turns the dependencies around: by item, which others wait for it. */
static void link_items(Run *run) {
  guint32 n = 0;
  run->first_after = g_new0(guint32, run->n_items + 2);
  run->left = g_new0(guint32, run->n_items + 1);
  for (guint32 item = 0; item < run->n_items; item++) {
    const OrrGraphNode *node = node_of(run, item);
    const guint32 rank = run->rank_of[item], first = run->order->first[rank];
    const GArray *deps = orr_work_graph_rank(run->graph, rank)->deps;
    run->left[item] = node->n_deps;
    for (guint d = 0; d < node->n_deps; d++) {
      const guint32 dep = g_array_index(deps, guint32, node->first_dep + d);
      run->first_after[first + (dep & ~ORR_GRAPH_ON_BEGIN) + 2]++;
      n++;
    }
  }
  for (guint32 i = 2; i < run->n_items + 2; i++) run->first_after[i] += run->first_after[i - 1];
  run->after = g_new(guint32, n + 1);
  for (guint32 item = 0; item < run->n_items; item++) {
    const OrrGraphNode *node = node_of(run, item);
    const guint32 rank = run->rank_of[item], first = run->order->first[rank];
    const GArray *deps = orr_work_graph_rank(run->graph, rank)->deps;
    for (guint d = 0; d < node->n_deps; d++) {
      const guint32 dep = g_array_index(deps, guint32, node->first_dep + d);
      guint32 *at = &run->first_after[first + (dep & ~ORR_GRAPH_ON_BEGIN) + 1];
      run->after[(*at)++] = item | (dep & ORR_GRAPH_ON_BEGIN);
    }
  }
}

static void begin_run(Run *run) {
  count_items(run);
  link_items(run);
  run->order->begin_s = g_new(double, run->n_items + 1);
  run->order->end_s = g_new(double, run->n_items + 1);
  run->order->order = g_new(guint32, run->n_items + 1);
  run->queue_of = g_new(guint32, run->n_items + 1);
  run->events = g_new0(OrrEvent, run->n_items + 1);
  run->n_ordered = g_new0(guint32, run->graph->ranks->len + 1);
  run->n_there = g_new0(guint32, run->graph->comms->len + 1);
  run->queues = g_array_new(FALSE, TRUE, sizeof(Queue));
  run->unblocked = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_calendar_init(&run->running);
  g_autoptr(GHashTable) known = g_hash_table_new_full(name_hash, name_equal, g_free, NULL);
  for (guint32 i = 0; i < run->n_items; i++) {
    run->queue_of[i] = queue_of(run, known, i);
    run->order->begin_s[i] = run->order->end_s[i] = NAN;
    run->events[i].slot = ORR_NOT_SCHEDULED;
    if (run->left[i] == 0) g_array_append_val(run->unblocked, i);
  }
}

static void end_run(Run *run) {
  ORR_EACH(Queue, queue, run->queues) orr_calendar_clear(&queue->ready);
  orr_calendar_clear(&run->running);
  g_array_unref(run->queues);
  g_array_unref(run->unblocked);
  ORR_FREE(run->rank_of, run->left, run->queue_of, run->first_after, run->after, run->n_ordered,
           run->n_there, run->events);
}

/* --- Running --- */

static void release(Run *run, guint32 item, guint32 when) {
  for (guint32 a = run->first_after[item]; a < run->first_after[item + 1]; a++) {
    const guint32 next = run->after[a] & ~ORR_GRAPH_ON_BEGIN;
    if ((run->after[a] & ORR_GRAPH_ON_BEGIN) != when) continue;
    if (--run->left[next] == 0) g_array_append_val(run->unblocked, next);
  }
}

static void end_at(Run *run, guint32 item, double at_s) {
  run->events[item].date_s = at_s;
  run->events[item].order = run->n_events++;
  orr_calendar_put(&run->running, &run->events[item]);
}

static void reach(Run *run, guint32 comm) {
  const OrrGraphComm *all = &g_array_index(run->graph->comms, OrrGraphComm, comm);
  if (++run->n_there[comm] < all->n) return;
  for (guint i = 0; i < all->n; i++) {
    const OrrGraphMember *member =
        &g_array_index(run->graph->members, OrrGraphMember, all->first + i);
    end_at(run, run->order->first[member->rank] + member->node, run->now_s + run->comm_s[comm]);
  }
}

static void begin(Run *run, guint32 item) {
  const OrrGraphNode *node = node_of(run, item);
  const guint32 rank = run->rank_of[item], first = run->order->first[rank];
  run->order->begin_s[item] = run->now_s;
  run->order->order[first + run->n_ordered[rank]++] = item - first;
  if (is_comm(node))
    reach(run, node->comm);
  else
    end_at(run, item, run->now_s + run->node_s[item]);
  release(run, item, ORR_GRAPH_ON_BEGIN);
}

static void try_queue(Run *run, guint32 number) {
  Queue *queue = &g_array_index(run->queues, Queue, number);
  OrrEvent *first = orr_calendar_first(&queue->ready);
  if (!first || queue->is_busy) return;
  const guint32 item = (guint32)(first - run->events);
  const OrrGraphNode *node = node_of(run, item);
  if (node->kind == ORR_GRAPH_COLLECTIVE && node->comm != queue->next) return;
  orr_calendar_remove(&queue->ready, first);
  queue->is_busy = TRUE;
  begin(run, item);
}

static void unblock(Run *run) {
  ORR_EACH_VALUE(const guint32, item, run->unblocked) {
    const guint32 queue = run->queue_of[item];
    const OrrGraphNode *node = node_of(run, item);
    if (queue == NO_QUEUE) {
      begin(run, item);
      continue;
    }
    run->events[item].date_s =
        node->kind == ORR_GRAPH_COLLECTIVE ? node->comm : (double)node->start_us;
    run->events[item].order = item;
    orr_calendar_put(&g_array_index(run->queues, Queue, queue).ready, &run->events[item]);
    try_queue(run, queue);
  }
  g_array_set_size(run->unblocked, 0);
}

static void end(Run *run, guint32 item) {
  const guint32 queue = run->queue_of[item];
  run->order->end_s[item] = run->now_s;
  release(run, item, 0);
  if (queue != NO_QUEUE) {
    g_array_index(run->queues, Queue, queue).is_busy = FALSE;
    g_array_index(run->queues, Queue, queue).next++;
    try_queue(run, queue);
  }
  unblock(run);
}

/* --- Errors --- */

#define ID "%" G_GUINT64_FORMAT

/* A communication that some members reached and others did not says the most. */
static gboolean refuse_stuck(const Run *run, GError **error) {
  guint32 stuck = G_MAXUINT32;
  for (guint32 i = run->n_items; i-- > 0;)
    if (isnan(run->order->end_s[i]) && (stuck == G_MAXUINT32 || !isnan(run->order->begin_s[i]) ||
                                        isnan(run->order->begin_s[stuck])))
      stuck = i;
  if (stuck == G_MAXUINT32) return TRUE;
  const OrrGraphNode *node = node_of(run, stuck);
  return orr_fault_set(error, ORR_FAULT_STUCK, "rank %u, node " ID " (%s): %s", run->rank_of[stuck],
                       node->id, node->name,
                       isnan(run->order->begin_s[stuck])
                           ? "its dependencies form a circle"
                           : "it waits for a rank that never reaches this communication");
}

gboolean orr_graph_order_init(OrrGraphOrder *order, const OrrWorkGraph *graph, const double *node_s,
                              const double *comm_s, GError **error) {
  *order = (OrrGraphOrder){0};
  Run run = {.graph = graph, .node_s = node_s, .comm_s = comm_s, .order = order};
  begin_run(&run);
  unblock(&run);
  for (OrrEvent *event; (event = orr_calendar_first(&run.running));) {
    run.now_s = event->date_s;
    orr_calendar_remove(&run.running, event);
    end(&run, (guint32)(event - run.events));
  }
  const gboolean has_ended = refuse_stuck(&run, error);
  end_run(&run);
  return has_ended;
}

void orr_graph_order_clear(OrrGraphOrder *order) {
  ORR_FREE(order->first, order->begin_s, order->end_s, order->order);
  *order = (OrrGraphOrder){0};
}
