/*
 * trace_work.c - the workload `trace`: its keys, and a graph as a sealed program (trace_work.h).
 *
 *   files -> graph -> communications -> plans -> one order -> streams and events
 */
#include "workloads/trace/trace_work.h"

#include "workloads/collectives/collective_cache.h"

static const OrrFieldTable table = ORR_FIELDS(
    "trace", "A replay of the operations of a job's ranks.", OrrTraceParams,
    ORR_WORKLOAD_STACK_FIELD(OrrTraceParams),
    ORR_FIELD_TEXT(OrrTraceParams, "file", file, NULL,
                   "The trace: a Chakra execution trace, NAME.et, of ranks NAME.0.et, NAME.1.et "
                   "and so on, the same as JSON, NAME.json, a schedule in GOAL, NAME.goal, or "
                   "layers as ASTRA-sim 1 and SimAI have them, NAME.txt. A path from the "
                   "document's folder, from one of the library's, or from the working directory."),
    ORR_UNSIGNED_INT(
        OrrTraceParams, "ranks", ranks, "0",
        "Ranks that are replayed; 0: as many as there are files, or as the text says."),
    ORR_FIELD_BOOL(OrrTraceParams, "symmetric", symmetric, "false",
                   "Ranks without a file do the same as the first rank."),
    ORR_FIELD_TEXT(OrrTraceParams, "groups", groups, "",
                   "A JSON file with the ranks of process groups, {\"1\": [0, 1]}, as ASTRA-sim "
                   "takes it; without: the ranks that use a group."),
    ORR_FIELD_REALS(OrrTraceParams, "dims", dims, ORR_UNIT_NONE, "[]",
                    "Ranks along each dimension that involved_dim counts, the innermost first.",
                    .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_WORD(OrrTraceParams, "dtype", dtype, orr_dtype_names, "bf16",
                   "Number format whose peak rate num_ops run at where no time was recorded."),
    ORR_NCCL_FIELD(OrrTraceParams),
    ORR_OPTIONAL_SECTION(
        OrrTraceParams, "recorded-on", recorded_on, &orr_device_table,
        "The device that the trace was recorded on: where it is another one than "
        "the cluster's, recorded times are multiplied by the ratio of both rooflines "
        "of num_ops and tensor_size; absent: times are taken as recorded.",
        .document = "device"));

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrTraceParams *params = data;
  const char *refused = orr_trace_load_refuse(params->file);
  if (refused) orr_diags_error(diags, place, "file '%s': %s", params->file, refused);
  for (guint i = 0; i < params->dims->len; i++)
    if (fmod(g_array_index(params->dims, double, i), 1) != 0)
      orr_diags_error(diags, place, "dims are whole numbers of ranks, found %g",
                      g_array_index(params->dims, double, i));
  if (params->ranks > orr_cluster_n_gpus(cluster))
    orr_diags_error(diags, place, "ranks is %ld: the cluster has %ld GPUs", params->ranks,
                    orr_cluster_n_gpus(cluster));
}

/* --- Times --- */

typedef struct {
  OrrTraceWork *work;
  const OrrTraceParams *params;
  const OrrWorld *world;
  const OrrWorkGraph *graph;
  OrrGraphOrder order;
  double *node_s, *comm_s;
  guint32 *program_links; /* by fabric link: program link + 1; 0: not used yet */
  GHashTable *planned;    /* of Planned */
  const void **plan_of;   /* Planned, by communication */
  guint32 *comm_of;       /* program comm + 1, by communication; 0: not made yet */
  guint32 *stream_of;     /* by item (work_graph.h) */
  guint8 *needs;          /* by item: NEEDS_ */
  guint32 *events[2];     /* by item: at its begin, at its end */
  guint32 *place;         /* by item: position in its stream */
  GHashTable *streams;    /* of StreamName -> stream + 1 */
  GHashTable *waited;     /* two streams -> position + 1 that the first waited for */
} Compile;

enum { NEEDS_BEGIN = 1, NEEDS_END = 2 };

/* The roofline of @device's datasheet; 0 without num_ops and tensor_size. */
static double roofline_s(const Compile *c, const OrrDevice *device, const OrrGraphNode *node) {
  const double peak = orr_device_peak_flops(device, (OrrDtype)c->params->dtype);
  const double flops_s = peak > 0 ? node->flops / peak : 0;
  return fmax(flops_s, node->bytes / device->memory_bytes_per_s);
}

/* What a recorded time is multiplied by. */
static double ratio_of_devices(Compile *c, const OrrGraphNode *node) {
  const OrrDevice *there = &c->params->recorded_on, *here = &c->world->cluster->device;
  if (there->name && strcmp(there->name, here->name) == 0) return 1;
  const double there_s = there->name ? roofline_s(c, there, node) : 0;
  if (there_s > 0) return roofline_s(c, here, node) / there_s;
  c->work->as_recorded_s += node->seconds;
  return 1;
}

static double kernel_s(Compile *c, const OrrGraphNode *node) {
  double seconds = node->seconds;
  if (seconds == 0 && node->flops == 0 && node->bytes == 0) c->work->n_unknown++;
  if (seconds == 0) {
    seconds = roofline_s(c, &c->world->cluster->device, node);
    c->work->modelled_s += seconds;
  } else {
    seconds *= ratio_of_devices(c, node);
  }
  c->work->compute_s += seconds;
  return seconds;
}

static void find_times(Compile *c) {
  guint32 at = 0;
  for (guint r = 0; r < c->graph->ranks->len; r++) {
    const GArray *nodes = orr_work_graph_rank(c->graph, r)->nodes;
    for (guint i = 0; i < nodes->len; i++, at++) {
      const OrrGraphNode *node = &g_array_index(nodes, OrrGraphNode, i);
      if (node->kind == ORR_GRAPH_COMPUTE) c->node_s[at] = kernel_s(c, node);
      if (node->kind == ORR_GRAPH_HOST) c->work->host_s += c->node_s[at] = node->seconds;
    }
  }
}

/* --- Communications --- */

/* Equal calls of equal ranks share their plan. */
typedef struct {
  double bytes;
  guint32 group, from, to; /* a collective: its group; a send: both ranks */
  guint8 op;
  /* the value */
  OrrPhase *phases;
  guint n_phases;
  double predicted_s;
  guint call; /* index into the work's calls */
} Planned;

static guint planned_hash(gconstpointer data) {
  const Planned *planned = data;
  return g_double_hash(&planned->bytes) ^ (planned->group * 31 + planned->from * 1009) ^
         (planned->to * 65537 + planned->op);
}

static gboolean planned_equal(gconstpointer first, gconstpointer second) {
  const Planned *a = first, *b = second;
  return a->bytes == b->bytes && a->group == b->group && a->from == b->from && a->to == b->to &&
         a->op == b->op;
}

static void planned_free(gpointer data) {
  Planned *planned = data;
  ORR_FREE(planned->phases, planned);
}

static guint32 add_path(Compile *c, const OrrCollectivePhase *phase) {
  OrrProgram *program = c->work->work.program;
  if (phase->n_uses == 0) return ORR_NO_PATH;
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, phase->n_uses);
  for (guint i = 0; i < phase->n_uses; i++) {
    const guint32 fabric_link = phase->uses[i].link;
    guint32 *known = &c->program_links[fabric_link];
    if (!*known) {
      *known = orr_fabric_program_link(c->world->fabric, program, fabric_link) + 1;
      g_array_append_val(c->work->work.links, fabric_link);
    }
    uses[i] = (OrrLinkUse){*known - 1, phase->uses[i].weight};
  }
  return orr_program_path(program, uses, phase->n_uses);
}

/* The row of calls of this op, size and number of ranks. */
static guint call_row(Compile *c, const OrrCollectiveCall *call, const OrrCollectivePlan *plan) {
  GArray *calls = c->work->calls;
  ORR_EACH_AT(i, const OrrTraceCall, row, calls)
    if (row->bytes == call->bytes && row->n_ranks == call->n &&
        g_str_equal(row->op, orr_collective_words[call->op]))
      return i;
  g_autofree char *label =
      g_strdup_printf("%s %.0f B of %u", orr_collective_words[call->op], call->bytes, call->n);
  OrrTraceCall row = {.label = g_intern_string(label),
                      .op = orr_collective_words[call->op],
                      .algorithm = plan->algorithm ? plan->algorithm->entry.name : "none",
                      .n_ranks = call->n,
                      .bytes = call->bytes,
                      .predicted_s = plan->predicted_s,
                      .how = plan->how};
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases) row.latency_s += phase->latency_s;
  g_array_append_val(calls, row);
  return calls->len - 1;
}

static Planned *plan_new(Compile *c, const Planned *key, const OrrGraphComm *comm, GError **error) {
  g_autofree gint64 *gpus = g_new(gint64, comm->n);
  for (guint i = 0; i < comm->n; i++)
    gpus[i] = g_array_index(c->graph->members, OrrGraphMember, comm->first + i).rank;
  const OrrCollectiveContext context = {
      .fabric = c->world->fabric,
      .cost = c->world->cost,
      .nccl = &c->params->nccl,
      .gpus_per_switch = orr_nccl_gpus_per_switch(&c->params->nccl, c->world->cluster)};
  const OrrCollectiveCall call = {
      .op = (OrrCollectiveOp)comm->op, .bytes = comm->bytes, .gpus = gpus, .n = comm->n};
  g_autoptr(OrrCollectivePlan) plan =
      orr_collective_cache_plan(c->world->plans, &context, &call, NULL, error);
  if (!plan) return NULL;
  Planned *planned = g_memdup2(key, sizeof *key);
  planned->n_phases = plan->phases->len;
  planned->phases = g_new0(OrrPhase, plan->phases->len + 1);
  planned->predicted_s = plan->predicted_s;
  planned->call = call_row(c, &call, plan);
  ORR_EACH_AT(k, const OrrCollectivePhase, phase, plan->phases) {
    planned->phases[k] = (OrrPhase){phase->latency_s, phase->bytes, add_path(c, phase)};
  }
  return planned;
}

static Planned *plan_of(Compile *c, const OrrGraphComm *comm, GError **error) {
  const OrrGraphMember *members = &g_array_index(c->graph->members, OrrGraphMember, comm->first);
  const gboolean is_send = comm->op == ORR_SEND_RECV;
  const OrrGraphNode *node =
      orr_work_graph_node(orr_work_graph_rank(c->graph, members->rank), members->node);
  const Planned key = {.bytes = comm->bytes,
                       .op = comm->op,
                       .group = is_send ? ORR_GRAPH_NO_GROUP : node->group,
                       .from = is_send ? members[0].rank : 0,
                       .to = is_send ? members[1].rank : 0};
  Planned *planned = g_hash_table_lookup(c->planned, &key);
  if (planned) return planned;
  planned = plan_new(c, &key, comm, error);
  if (planned) g_hash_table_add(c->planned, planned);
  return planned;
}

static gboolean plan_comms(Compile *c, GError **error) {
  ORR_EACH_AT(i, const OrrGraphComm, comm, c->graph->comms) {
    Planned *planned = plan_of(c, comm, error);
    if (!planned) return FALSE;
    c->plan_of[i] = planned;
    c->comm_s[i] = planned->predicted_s;
    c->work->comm_bytes += comm->bytes;
    *(comm->op == ORR_SEND_RECV ? &c->work->n_sends : &c->work->n_collectives) += 1;
    g_array_index(c->work->calls, OrrTraceCall, planned->call).count++;
  }
  return TRUE;
}

/* --- Streams --- */

typedef struct {
  guint32 rank, kind;
  guint64 key;
  guint32 slot; /* of sends and receives that overlap */
} StreamName;

static guint stream_hash(gconstpointer data) {
  const StreamName *name = data;
  return name->rank * 31 + name->kind * 7 + name->slot * 65537 + (guint)(name->key * 2654435761u);
}

static gboolean stream_equal(gconstpointer first, gconstpointer second) {
  const StreamName *a = first, *b = second;
  return a->rank == b->rank && a->kind == b->kind && a->key == b->key && a->slot == b->slot;
}

static const char *const stream_words[] = {"host", "compute", "host", "send", "receive", "nccl"};

static guint32 stream_named(Compile *c, const StreamName *name) {
  guint known = GPOINTER_TO_UINT(g_hash_table_lookup(c->streams, name));
  if (known) return known - 1;
  /* The lane's first stream is its clock: the first one of kernels. */
  const guint32 stream =
      orr_program_stream(c->work->work.program, name->rank, stream_words[name->kind]);
  g_hash_table_insert(c->streams, g_memdup2(name, sizeof *name), GUINT_TO_POINTER(stream + 1));
  return stream;
}

/* The first slot whose last send has ended in the schedule. */
static guint32 send_stream(Compile *c, StreamName *name, guint32 item, GArray *busy_s) {
  for (;; name->slot++) {
    const guint32 stream = stream_named(c, name);
    if (busy_s->len <= stream) g_array_set_size(busy_s, stream + 1);
    double *until_s = &g_array_index(busy_s, double, stream);
    if (*until_s > c->order.begin_s[item]) continue;
    *until_s = c->order.end_s[item];
    return stream;
  }
}

static void assign_streams(Compile *c, guint32 rank) {
  const OrrGraphRank *from = orr_work_graph_rank(c->graph, rank);
  const guint32 first = c->order.first[rank];
  g_autoptr(GArray) busy_s = g_array_new(FALSE, TRUE, sizeof(double));
  guint64 clock = 0; /* the stream of the first kernel */
  for (guint i = from->nodes->len; i-- > 0;) {
    const OrrGraphNode *node = orr_work_graph_node(from, c->order.order[first + i]);
    if (node->kind == ORR_GRAPH_COMPUTE) clock = node->queue;
  }
  stream_named(c, &(StreamName){.rank = rank, .kind = ORR_GRAPH_COMPUTE, .key = clock});
  for (guint i = 0; i < from->nodes->len; i++) {
    const guint32 item = first + c->order.order[first + i];
    const OrrGraphNode *node = orr_work_graph_node(from, item - first);
    const gboolean is_send = node->kind == ORR_GRAPH_SEND || node->kind == ORR_GRAPH_RECV;
    StreamName name = {.rank = rank,
                       .kind = node->kind == ORR_GRAPH_EMPTY ? ORR_GRAPH_HOST : node->kind,
                       .key = is_send                              ? node->peer
                              : node->kind == ORR_GRAPH_COLLECTIVE ? node->group
                                                                   : node->queue};
    c->stream_of[item] = is_send ? send_stream(c, &name, item, busy_s) : stream_named(c, &name);
    c->place[item] = i;
  }
}

/* Marks what others wait for on another stream. */
static void find_events(Compile *c, guint32 rank) {
  const OrrGraphRank *from = orr_work_graph_rank(c->graph, rank);
  const guint32 first = c->order.first[rank];
  for (guint32 i = 0; i < from->nodes->len; i++) {
    const OrrGraphNode *node = orr_work_graph_node(from, i);
    for (guint d = 0; d < node->n_deps; d++) {
      const guint32 dep = g_array_index(from->deps, guint32, node->first_dep + d);
      const guint32 item = first + (dep & ~ORR_GRAPH_ON_BEGIN);
      if (c->stream_of[item] != c->stream_of[first + i])
        c->needs[item] |= dep & ORR_GRAPH_ON_BEGIN ? NEEDS_BEGIN : NEEDS_END;
    }
  }
}

/* --- Operations --- */

/* FALSE where @stream has waited for that, or for something later on the same stream. */
static gboolean must_wait(Compile *c, guint32 stream, guint32 item) {
  const guint64 key = (guint64)stream << 32 | c->stream_of[item];
  const guint place = c->place[item] + 1;
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(c->waited, &key));
  if (known >= place) return FALSE;
  g_hash_table_insert(c->waited, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(place));
  return TRUE;
}

static void wait_for_deps(Compile *c, const OrrGraphRank *rank, guint32 first, guint32 item) {
  OrrProgram *program = c->work->work.program;
  const OrrGraphNode *node = orr_work_graph_node(rank, item - first);
  const guint32 stream = c->stream_of[item];
  for (guint d = 0; d < node->n_deps; d++) {
    const guint32 dep = g_array_index(rank->deps, guint32, node->first_dep + d);
    const guint32 other = first + (dep & ~ORR_GRAPH_ON_BEGIN);
    if (c->stream_of[other] == stream) continue;
    if (dep & ORR_GRAPH_ON_BEGIN)
      orr_program_wait(program, stream, c->events[0][other]);
    else if (must_wait(c, stream, other))
      orr_program_wait(program, stream, c->events[1][other]);
  }
}

static void record(Compile *c, guint32 item, int which) {
  OrrProgram *program = c->work->work.program;
  if (!(c->needs[item] & (which ? NEEDS_END : NEEDS_BEGIN))) return;
  c->events[which][item] = orr_program_event(program);
  orr_program_record(program, c->stream_of[item], c->events[which][item]);
}

/* Kinds of time: by what a call does, since a trace does not say what it is for. */
static const char *comm_category(guint8 op) {
  return orr_time_words[op == ORR_SEND_RECV    ? ORR_TIME_PP_COMM
                        : op == ORR_ALL_TO_ALL ? ORR_TIME_EP_COMM
                                               : ORR_TIME_DP_COMM];
}

static void add_comm(Compile *c, const OrrGraphNode *node, guint32 stream) {
  OrrProgram *program = c->work->work.program;
  const OrrGraphComm *comm = &g_array_index(c->graph->comms, OrrGraphComm, node->comm);
  const Planned *planned = c->plan_of[node->comm];
  guint32 *known = &c->comm_of[node->comm];
  if (!*known) *known = orr_program_comm(program, comm->n, planned->phases, planned->n_phases) + 1;
  const OrrTraceCall *call = &g_array_index(c->work->calls, OrrTraceCall, planned->call);
  orr_program_join(program, stream, *known - 1,
                   orr_program_label(program, call->label, comm_category(comm->op)), -1);
}

/* All of a kernel's time is of one kind: a trace does not say which. */
static void add_work(Compile *c, const OrrGraphNode *node, guint32 item) {
  OrrProgram *program = c->work->work.program;
  const gboolean is_host = node->kind == ORR_GRAPH_HOST;
  const guint32 label = orr_program_label(program,
                                          *node->name ? node->name
                                          : is_host   ? "operator"
                                                      : "kernel",
                                          is_host ? orr_time_words[ORR_TIME_HOST] : "compute");
  GArray *seconds = c->work->work.label_seconds;
  if (seconds->len < (label + 1) * ORR_N_TIMES)
    g_array_set_size(seconds, (label + 1) * ORR_N_TIMES);
  g_array_index(seconds, double, label *ORR_N_TIMES + (is_host ? ORR_TIME_HOST : ORR_TIME_GEMM)) =
      1;
  orr_program_work(program, c->stream_of[item], c->node_s[item], label, -1);
}

static void emit_rank(Compile *c, guint32 rank) {
  const OrrGraphRank *from = orr_work_graph_rank(c->graph, rank);
  const guint32 first = c->order.first[rank];
  assign_streams(c, rank);
  find_events(c, rank);
  for (guint i = 0; i < from->nodes->len; i++) {
    const guint32 item = first + c->order.order[first + i];
    const OrrGraphNode *node = orr_work_graph_node(from, item - first);
    wait_for_deps(c, from, first, item);
    record(c, item, 0);
    if (node->kind >= ORR_GRAPH_SEND)
      add_comm(c, node, c->stream_of[item]);
    else if (c->node_s[item] > 0)
      add_work(c, node, item);
    record(c, item, 1);
  }
}

static void emit(Compile *c) {
  for (guint32 r = 0; r < c->graph->ranks->len; r++) {
    g_autofree char *name = g_strdup_printf("rank %u", r);
    orr_program_lane(c->work->work.program, name, 1);
    g_array_index(c->work->work.lane_of_gpu, guint32, r) = r;
  }
  for (guint32 r = 0; r < c->graph->ranks->len; r++) emit_rank(c, r);
}

/* --- Compilation --- */

/* Kernels of a trace that was linked from a profile may depend on their launches alone. */
static gboolean lacks_gpu_deps(const OrrWorkGraph *graph) {
  guint n_kernels = 0;
  for (guint r = 0; r < graph->ranks->len; r++) {
    const OrrGraphRank *rank = orr_work_graph_rank(graph, r);
    for (guint i = 0; i < rank->nodes->len; i++) {
      const OrrGraphNode *node = orr_work_graph_node(rank, i);
      if (node->kind == ORR_GRAPH_EMPTY || node->kind == ORR_GRAPH_HOST) continue;
      n_kernels++;
      for (guint d = 0; d < node->n_deps; d++) {
        const guint32 dep = g_array_index(rank->deps, guint32, node->first_dep + d);
        const OrrGraphNode *other = orr_work_graph_node(rank, dep & ~ORR_GRAPH_ON_BEGIN);
        if (other->kind != ORR_GRAPH_EMPTY && other->kind != ORR_GRAPH_HOST) return FALSE;
      }
    }
  }
  return n_kernels > graph->ranks->len;
}

static OrrTraceWork *work_new(const OrrWorkGraph *graph, const OrrWorld *world,
                              const char *recorded_on) {
  OrrTraceWork *work = g_new0(OrrTraceWork, 1);
  work->work.kind = &orr_trace_kind;
  work->work.program = orr_program_new();
  work->work.label_seconds = g_array_new(FALSE, TRUE, sizeof(double));
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  work->work.fidelity = ORR_FIDELITY_FULL;
  work->work.streams_alike = TRUE;
  work->work.n_gpus = graph->ranks->len;
  work->work.lane_of_gpu = orr_work_lanes_new(orr_fabric_n_gpus(world->fabric));
  work->calls = g_array_new(FALSE, TRUE, sizeof(OrrTraceCall));
  work->notes = g_ptr_array_new_with_free_func(g_free);
  work->lacks_gpu_deps = lacks_gpu_deps(graph);
  work->recorded_on = recorded_on;
  for (guint i = 0; i < graph->notes->len; i++)
    g_ptr_array_add(work->notes, g_strdup(graph->notes->pdata[i]));
  for (guint r = 0; r < graph->ranks->len; r++)
    work->n_nodes += orr_work_graph_rank(graph, r)->nodes->len;
  return work;
}

static void work_free(OrrWork *data) {
  OrrTraceWork *work = (OrrTraceWork *)data;
  g_array_unref(work->calls);
  g_ptr_array_unref(work->notes);
  g_free(work);
}

static void compile_begin(Compile *c) {
  const gsize n_items = (gsize)c->work->n_nodes + 1, n_comms = c->graph->comms->len + 1;
  c->node_s = g_new0(double, n_items);
  c->comm_s = g_new0(double, n_comms);
  c->plan_of = g_new0(const void *, n_comms);
  c->comm_of = g_new0(guint32, n_comms);
  c->stream_of = g_new0(guint32, n_items);
  c->needs = g_new0(guint8, n_items);
  c->events[0] = g_new0(guint32, n_items);
  c->events[1] = g_new0(guint32, n_items);
  c->place = g_new0(guint32, n_items);
  c->program_links = g_new0(guint32, orr_fabric_n_links(c->world->fabric) + 1);
  c->planned = g_hash_table_new_full(planned_hash, planned_equal, planned_free, NULL);
  c->streams = g_hash_table_new_full(stream_hash, stream_equal, g_free, NULL);
  c->waited = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

static void compile_end(Compile *c) {
  ORR_FREE(c->node_s, c->comm_s, c->plan_of, c->comm_of, c->stream_of, c->needs, c->events[0],
           c->events[1], c->place, c->program_links);
  g_hash_table_unref(c->planned);
  g_hash_table_unref(c->streams);
  g_hash_table_unref(c->waited);
  orr_graph_order_clear(&c->order);
}

static gboolean compile_graph(Compile *c, GError **error) {
  compile_begin(c);
  find_times(c);
  gboolean ok = plan_comms(c, error);
  if (ok && !orr_graph_order_init(&c->order, c->graph, c->node_s, c->comm_s, error)) {
    g_prefix_error(error, "%s: ", c->params->file);
    ok = FALSE;
  }
  if (ok) emit(c);
  compile_end(c);
  return ok && orr_program_seal(c->work->work.program, error);
}

static OrrWork *compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrTraceParams *params = data;
  const OrrTraceLoad load = {
      .file = params->file,
      .folders = world->folders,
      .ranks = params->ranks,
      .symmetric = params->symmetric,
      .groups = params->groups,
      .dims = {(const double *)(const void *)params->dims->data, params->dims->len}};
  g_autoptr(OrrWorkGraph) graph = orr_trace_load(&load, error);
  if (!graph) return NULL;
  if (graph->ranks->len > orr_fabric_n_gpus(world->fabric))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "%s: the trace has %u ranks, the cluster %ld GPUs", params->file,
                          graph->ranks->len, orr_fabric_n_gpus(world->fabric));
  OrrTraceWork *work = work_new(graph, world, params->recorded_on.name);
  Compile c = {.work = work, .params = params, .world = world, .graph = graph};
  if (compile_graph(&c, error)) return &work->work;
  orr_work_free(&work->work);
  return NULL;
}

const OrrWorkloadKind orr_trace_kind = {
    .entry = {"trace",
              "A replay of the operations of a job's ranks, from a trace: its compute times, its "
              "communication on this fabric.",
              &table},
    .without_model = TRUE,
    .check = check,
    .compile = compile,
    .work_free = work_free,
};
