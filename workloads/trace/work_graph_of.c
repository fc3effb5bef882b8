/*
 * work_graph_of.c - walks the streams of each rank's lane (work_graph.h).
 *
 * A stream has a frontier: the nodes that its next operation depends on. Work and communication
 * replace it by their own node, RECORD copies it to an event, WAIT adds an event's.
 */
#include "workloads/trace/work_graph.h"

#include "workloads/collectives/collective.h"
#include "workloads/work_calls.h"

enum { MOST_NODES = 40000000 };

/* A stream of the lane that is being walked. */
typedef struct {
  guint32 stream;
  const OrrOp *ops;
  guint n, at;
  const OrrOp *outer; /* in a routine: the stream's ops, */
  guint n_outer, at_outer;
  GArray *frontier; /* of guint32: nodes */
  GArray *beside;   /* of guint32: nodes of the communication that overlaps, in a routine */
  guint next_span;
} Walk;

typedef struct {
  const OrrWork *work;
  OrrWorkGraph *graph;
  GPtrArray **spans;  /* by stream: of const OrrSpan, work only */
  guint32 *rank_of;   /* by GPU; G_MAXUINT32: none */
  GArray **lanes;     /* by lane: of guint32, its streams */
  OrrGraphRank *rank; /* being made */
  guint32 gpu, number;
  GPtrArray *walks;   /* of Walk */
  GHashTable *events; /* of the rank: event + 1 -> GArray of nodes */
  guint64 n_nodes;
} Maker;

/* --- Nodes --- */

static void add_all(GArray *to, const GArray *from) {
  ORR_EACH_VALUE(const guint32, node, from) {
    gboolean is_known = FALSE;
    for (guint k = 0; k < to->len && !is_known; k++)
      is_known = g_array_index(to, guint32, k) == node;
    if (!is_known) g_array_append_val(to, node);
  }
}

static guint32 add_node(Maker *maker, const Walk *walk, OrrGraphNode node) {
  const guint32 index = maker->rank->nodes->len;
  node.id = index + 1;
  node.first_dep = maker->rank->deps->len;
  node.n_deps = walk->frontier->len;
  if (node.n_deps > 0)
    g_array_append_vals(maker->rank->deps, walk->frontier->data, walk->frontier->len);
  g_array_append_val(maker->rank->nodes, node);
  maker->n_nodes++;
  return index;
}

static const char *name_of(Maker *maker, guint32 label) {
  return g_string_chunk_insert_const(maker->graph->names,
                                     orr_program_label_name(maker->work->program, label));
}

/* The time of the next work of the stream, as replayed. */
static double work_s(const Maker *maker, Walk *walk, const OrrOp *op) {
  const GPtrArray *spans = maker->spans[walk->stream];
  if (!spans || walk->next_span >= spans->len) return 0;
  const OrrSpan *span = spans->pdata[walk->next_span];
  if (span->label != op->label) return 0;
  walk->next_span++;
  return span->end_s - span->begin_s;
}

static void add_work(Maker *maker, Walk *walk, const OrrOp *op) {
  const double seconds = work_s(maker, walk, op);
  const char *category = orr_program_label_category(maker->work->program, op->label);
  if (seconds <= 0) return;
  const guint32 node =
      add_node(maker, walk,
               (OrrGraphNode){.name = name_of(maker, op->label),
                              .kind = g_str_equal(category, orr_time_words[ORR_TIME_HOST])
                                          ? ORR_GRAPH_HOST
                                          : ORR_GRAPH_COMPUTE,
                              .seconds = seconds,
                              .queue = walk->stream,
                              .group = ORR_GRAPH_ALL});
  g_array_set_size(walk->frontier, 0);
  g_array_append_val(walk->frontier, node);
}

/* --- Communications --- */

/* The group of a call's ranks on a stream; its name is its number, as ASTRA-sim wants it. */
static guint32 group_of(Maker *maker, const Walk *walk, const gint64 *gpus, guint n) {
  OrrWorkGraph *graph = maker->graph;
  g_autoptr(GString) key = g_string_new(NULL);
  g_string_append_printf(key, "%s", orr_program_stream_name(maker->work->program, walk->stream));
  for (guint i = 0; i < n; i++) g_string_append_printf(key, " %u", maker->rank_of[gpus[i]]);
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(graph->by_name, key->str));
  if (known) return known - 1;
  OrrGraphGroup *group = g_new0(OrrGraphGroup, 1);
  group->name = g_strdup(key->str);
  group->ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0; i < n; i++) g_array_append_val(group->ranks, maker->rank_of[gpus[i]]);
  g_ptr_array_add(graph->groups, group);
  g_hash_table_insert(graph->by_name, group->name, GUINT_TO_POINTER(graph->groups->len));
  return graph->groups->len - 1;
}

static void add_send(Maker *maker, const Walk *walk, const OrrKeptCalls *kept, const gint64 *gpus,
                     guint32 comm, const char *name, GArray *after) {
  const gboolean is_send = gpus[0] == maker->gpu;
  const guint32 node = add_node(maker, walk,
                                (OrrGraphNode){.name = name,
                                               .kind = is_send ? ORR_GRAPH_SEND : ORR_GRAPH_RECV,
                                               .op = ORR_SEND_RECV,
                                               .bytes = kept->bytes,
                                               .peer = maker->rank_of[gpus[is_send]],
                                               .tag = comm,
                                               .group = ORR_GRAPH_ALL});
  g_array_append_val(after, node);
}

static void add_collective(Maker *maker, const Walk *walk, const OrrKeptCalls *kept,
                           const gint64 *gpus, const char *name, GArray *after) {
  const double share = kept->op == ORR_ALL_GATHER ? kept->n : 1;
  const guint32 node = add_node(maker, walk,
                                (OrrGraphNode){.name = name,
                                               .kind = ORR_GRAPH_COLLECTIVE,
                                               .op = (guint8)kept->op,
                                               .bytes = kept->bytes / share,
                                               .group = group_of(maker, walk, gpus, kept->n)});
  g_array_append_val(after, node);
}

/* The calls of @kept in which the rank takes part. */
static void add_calls(Maker *maker, Walk *walk, const OrrKeptCalls *kept, guint32 comm,
                      const char *name) {
  g_autoptr(GArray) after = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint c = 0; c < kept->n_calls; c++) {
    const gint64 *gpus = kept->gpus + (gsize)c * kept->n;
    gboolean is_member = FALSE;
    for (guint i = 0; i < kept->n; i++) is_member = is_member || gpus[i] == maker->gpu;
    if (!is_member) continue;
    if (kept->op == ORR_SEND_RECV)
      add_send(maker, walk, kept, gpus, comm, name, after);
    else
      add_collective(maker, walk, kept, gpus, name, after);
  }
  if (after->len == 0) return;
  g_array_set_size(walk->frontier, 0);
  g_array_append_vals(walk->frontier, after->data, after->len);
}

static gboolean refuse_comm(const Maker *maker, guint32 label, GError **error) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "'%s' is a transfer between no ranks (a file system, host memory, a wait "
                       "for others), which a trace cannot say: leave it out of the scenario",
                       orr_program_label_name(maker->work->program, label));
}

/* What takes time over no links: where all lanes meet, an all-reduce of one number (the norm of the
 * gradients); on one lane, work. */
static gboolean add_meeting(Maker *maker, Walk *walk, guint32 comm, guint32 label, GError **error) {
  const OrrProgram *program = maker->work->program;
  const guint32 n_members = orr_program_comm_members(program, comm);
  guint n;
  const OrrPhase *phases = orr_program_phases(program, comm, &n);
  OrrGraphNode node = {.name = name_of(maker, label), .group = ORR_GRAPH_ALL};
  if (n_members == 1) {
    node.kind = ORR_GRAPH_COMPUTE;
    node.queue = walk->stream;
    for (guint k = 0; k < n; k++) node.seconds += phases[k].latency_s;
  } else if (n_members == orr_program_n_lanes(program)) {
    node.kind = ORR_GRAPH_COLLECTIVE;
    node.op = ORR_ALL_REDUCE;
    node.bytes = 4;
  } else {
    return refuse_comm(maker, label, error);
  }
  const guint32 index = add_node(maker, walk, node);
  g_array_set_size(walk->frontier, 0);
  g_array_append_val(walk->frontier, index);
  return TRUE;
}

static gboolean has_path(const OrrPhase *phases, guint n) {
  for (guint k = 0; k < n; k++)
    if (phases[k].path != ORR_NO_PATH) return TRUE;
  return FALSE;
}

/* A communication of several plans in turn becomes several nodes in turn. */
static gboolean add_comm(Maker *maker, Walk *walk, guint32 comm, guint32 label, GError **error) {
  const OrrProgram *program = maker->work->program;
  const OrrKeptCalls *last = NULL;
  guint n;
  const OrrPhase *phases = orr_program_phases(program, comm, &n);
  if (!has_path(phases, n)) return add_meeting(maker, walk, comm, label, error);
  for (guint k = 0; k < n; k++) {
    const OrrKeptCalls *kept = phases[k].path == ORR_NO_PATH
                                   ? last
                                   : orr_work_calls_of(maker->work->calls, phases[k].path);
    if (!kept) return refuse_comm(maker, label, error);
    if (kept != last) add_calls(maker, walk, kept, comm, name_of(maker, label));
    last = kept;
  }
  return TRUE;
}

/* --- Walking --- */

static gboolean begin_beside(Maker *maker, Walk *walk, const OrrOp *op, GError **error) {
  g_autoptr(GArray) before = g_array_copy(walk->frontier);
  if (!add_comm(maker, walk, op->target, op->label, error)) return FALSE;
  g_array_set_size(walk->beside, 0);
  add_all(walk->beside, walk->frontier);
  g_array_set_size(walk->frontier, 0);
  add_all(walk->frontier, before);
  return TRUE;
}

static void enter(const Maker *maker, Walk *walk, const OrrOp *op) {
  walk->outer = walk->ops;
  walk->n_outer = walk->n;
  walk->at_outer = walk->at;
  walk->ops = orr_program_routine_ops(maker->work->program, op->target, &walk->n);
  walk->at = 0;
}

static gboolean leave(Walk *walk) {
  if (!walk->outer) return FALSE;
  walk->ops = walk->outer;
  walk->n = walk->n_outer;
  walk->at = walk->at_outer;
  walk->outer = NULL;
  return TRUE;
}

/* The target of the stream's op before @walk->at. */
static guint32 target_of(const Maker *maker, const Walk *walk, const OrrOp *op) {
  return walk->outer ? op->target
                     : orr_program_target(maker->work->program, walk->stream, walk->at - 1);
}

static void record(Maker *maker, const Walk *walk, guint32 event) {
  g_hash_table_insert(maker->events, GUINT_TO_POINTER(event + 1), g_array_copy(walk->frontier));
}

/* FALSE: it has not happened yet. */
static gboolean await(const Maker *maker, Walk *walk, guint32 event) {
  const GArray *nodes = g_hash_table_lookup(maker->events, GUINT_TO_POINTER(event + 1));
  if (nodes) add_all(walk->frontier, nodes);
  return nodes != NULL;
}

/* Walks until the stream waits, or ends. FALSE with @error. */
static gboolean walk_on(Maker *maker, Walk *walk, gboolean *ret_moved, GError **error) {
  while (walk->at < walk->n || leave(walk)) {
    if (walk->at == walk->n) continue;
    const OrrOp *op = &walk->ops[walk->at++];
    switch ((OrrOpKind)op->kind) {
    case ORR_OP_WORK:
      add_work(maker, walk, op);
      break;
    case ORR_OP_COMM:
      if (!add_comm(maker, walk, target_of(maker, walk, op), op->label, error)) return FALSE;
      break;
    case ORR_OP_RECORD:
      record(maker, walk, target_of(maker, walk, op));
      break;
    case ORR_OP_WAIT:
      if (await(maker, walk, target_of(maker, walk, op))) break;
      walk->at--;
      return TRUE;
    case ORR_OP_CALL:
      enter(maker, walk, op);
      break;
    case ORR_OP_BESIDE:
      if (!begin_beside(maker, walk, op, error)) return FALSE;
      break;
    case ORR_OP_MEET:
      add_all(walk->frontier, walk->beside);
      break;
    }
    *ret_moved = TRUE;
  }
  return TRUE;
}

static void walk_free(gpointer data) {
  Walk *walk = data;
  g_array_unref(walk->frontier);
  g_array_unref(walk->beside);
  g_free(walk);
}

static void begin_rank(Maker *maker, guint32 lane) {
  g_ptr_array_set_size(maker->walks, 0);
  g_hash_table_remove_all(maker->events);
  for (guint i = 0; maker->lanes[lane] && i < maker->lanes[lane]->len; i++) {
    Walk *walk = g_new0(Walk, 1);
    walk->stream = g_array_index(maker->lanes[lane], guint32, i);
    walk->ops = orr_program_ops(maker->work->program, walk->stream, &walk->n);
    walk->frontier = g_array_new(FALSE, FALSE, sizeof(guint32));
    walk->beside = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_ptr_array_add(maker->walks, walk);
  }
}

static gboolean walk_rank(Maker *maker, guint32 lane, GError **error) {
  gboolean moved = TRUE, is_done = TRUE;
  begin_rank(maker, lane);
  while (moved) {
    moved = FALSE;
    for (guint i = 0; i < maker->walks->len; i++)
      if (!walk_on(maker, maker->walks->pdata[i], &moved, error)) return FALSE;
  }
  for (guint i = 0; i < maker->walks->len; i++)
    is_done = is_done && ((const Walk *)maker->walks->pdata[i])->at ==
                             ((const Walk *)maker->walks->pdata[i])->n;
  if (!is_done)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "a stream of %s waits for another rank's event, which a trace cannot say",
                         orr_program_lane_name(maker->work->program, lane));
  return maker->n_nodes <= MOST_NODES ||
         orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "the trace would have more than %d nodes: write fewer ranks, micro-batches "
                       "or steps",
                       MOST_NODES);
}

/* --- The whole --- */

static void list_ranks(Maker *maker) {
  const GArray *lanes = maker->work->lane_of_gpu;
  maker->rank_of = g_new(guint32, lanes->len + 1);
  guint32 n = 0;
  for (guint gpu = 0; gpu < lanes->len; gpu++)
    maker->rank_of[gpu] = g_array_index(lanes, guint32, gpu) == ORR_NO_LANE ? G_MAXUINT32 : n++;
}

static void list_streams(Maker *maker, const GArray *spans) {
  const OrrProgram *program = maker->work->program;
  maker->spans = g_new0(GPtrArray *, orr_program_n_streams(program) + 1);
  maker->lanes = g_new0(GArray *, orr_program_n_lanes(program) + 1);
  for (guint32 s = 0; s < orr_program_n_streams(program); s++) {
    GArray **streams = &maker->lanes[orr_program_stream_lane(program, s)];
    if (!*streams) *streams = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_array_append_val(*streams, s);
  }
  ORR_EACH(const OrrSpan, span, spans) {
    if (span->comm != G_MAXUINT32) continue;
    if (!maker->spans[span->stream]) maker->spans[span->stream] = g_ptr_array_new();
    g_ptr_array_add(maker->spans[span->stream], (gpointer)span);
  }
}

static void clear(Maker *maker) {
  for (guint32 s = 0; s < orr_program_n_streams(maker->work->program); s++)
    if (maker->spans[s]) g_ptr_array_unref(maker->spans[s]);
  for (guint32 l = 0; l < orr_program_n_lanes(maker->work->program); l++)
    if (maker->lanes[l]) g_array_unref(maker->lanes[l]);
  ORR_FREE(maker->spans, maker->lanes, maker->rank_of);
  g_ptr_array_unref(maker->walks);
  g_hash_table_unref(maker->events);
}

static void free_nodes(gpointer nodes) { g_array_unref(nodes); }

OrrWorkGraph *orr_work_graph_of(const OrrWork *work, const GArray *spans, GError **error) {
  g_autoptr(OrrWorkGraph) graph = orr_work_graph_new();
  Maker maker = {.work = work,
                 .graph = graph,
                 .walks = g_ptr_array_new_with_free_func(walk_free),
                 .events = g_hash_table_new_full(NULL, NULL, NULL, free_nodes)};
  list_ranks(&maker);
  list_streams(&maker, spans);
  gboolean ok = TRUE;
  for (guint gpu = 0; ok && gpu < work->lane_of_gpu->len; gpu++) {
    const guint32 lane = g_array_index(work->lane_of_gpu, guint32, gpu);
    if (lane == ORR_NO_LANE) continue;
    maker.gpu = gpu;
    maker.number = maker.rank_of[gpu];
    maker.rank = orr_work_graph_add_rank(graph, "");
    ok = walk_rank(&maker, lane, error);
  }
  clear(&maker);
  return ok ? g_steal_pointer(&graph) : NULL;
}
