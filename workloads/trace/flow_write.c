/*
 * flow_write.c - the flows of a graph, and the files for htsim (flow_list.h).
 */
#include "workloads/trace/flow_list.h"
#include "workloads/trace/goal.h"

enum { MOST_FLOWS = 2000000 };

typedef struct {
  const OrrWorkGraph *graph;
  const OrrCollectiveContext *context;
  const gint64 *gpus;
  GHashTable *rank_of; /* GPU -> rank + 1 */
  double *comm_s;      /* by communication: alone here */
  guint32 *first;      /* by communication: its first flow, and one more */
  GArray *flows;
} Maker;

static const OrrGraphMember *members_of(const Maker *maker, const OrrGraphComm *comm) {
  return &g_array_index(maker->graph->members, OrrGraphMember, comm->first);
}

/* Adds @bytes to the flow of the pair, which the communication in hand began at flow @first. */
static void add_bytes(Maker *maker, GHashTable *pairs, gint64 src, gint64 dst, double bytes) {
  if (!orr_fabric_leaves_node(maker->context->fabric, src, dst)) return;
  const guint32 a = GPOINTER_TO_UINT(g_hash_table_lookup(maker->rank_of, &src)) - 1,
                b = GPOINTER_TO_UINT(g_hash_table_lookup(maker->rank_of, &dst)) - 1;
  const guint64 key = (guint64)a << 32 | b;
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(pairs, &key));
  if (known) {
    g_array_index(maker->flows, OrrFlow, known - 1).bytes += bytes;
    return;
  }
  ORR_APPEND(maker->flows, OrrFlow, {.src = a, .dst = b, .bytes = bytes, .got_s = NAN});
  g_hash_table_insert(pairs, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(maker->flows->len));
}

static gboolean add_sends(Maker *maker, const OrrCollectiveCall *call, GHashTable *pairs,
                          GError **error) {
  g_autoptr(GString) remarks = g_string_new(NULL);
  g_autoptr(OrrCollectiveSteps) steps = orr_goal_steps(maker->context, call, remarks, error);
  if (!steps) return FALSE;
  ORR_EACH(const OrrStepSend, send, steps->sends) {
    const OrrStepRoute *route = orr_collective_steps_route(steps, send);
    add_bytes(maker, pairs, route->src, route->dst, route->bytes);
  }
  return maker->flows->len <= MOST_FLOWS ||
         orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "the matrix would have more than %d flows: write a smaller job", MOST_FLOWS);
}

static gboolean add_comm(Maker *maker, guint at, GError **error) {
  const OrrGraphComm *comm = &g_array_index(maker->graph->comms, OrrGraphComm, at);
  const OrrGraphMember *members = members_of(maker, comm);
  g_autofree gint64 *gpus = g_new(gint64, comm->n);
  for (guint i = 0; i < comm->n; i++) gpus[i] = maker->gpus[members[i].rank];
  const OrrCollectiveCall call = {
      .op = (OrrCollectiveOp)comm->op, .bytes = comm->bytes, .gpus = gpus, .n = comm->n};
  maker->first[at] = maker->flows->len;
  if (comm->n < 2 || comm->bytes <= 0) return TRUE;
  g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(maker->context, &call, NULL, error);
  if (!plan) return FALSE;
  maker->comm_s[at] = plan->predicted_s;
  g_autoptr(GHashTable) pairs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  return add_sends(maker, &call, pairs, error);
}

/* Sets when the flows of each communication begin: when its last member has reached it. */
static gboolean settle_times(Maker *maker, GError **error) {
  const OrrWorkGraph *graph = maker->graph;
  g_autoptr(GArray) node_s = g_array_new(FALSE, FALSE, sizeof(double));
  OrrGraphOrder order;
  for (guint r = 0; r < graph->ranks->len; r++)
    for (guint i = 0; i < orr_work_graph_rank(graph, r)->nodes->len; i++)
      g_array_append_val(node_s, orr_work_graph_node(orr_work_graph_rank(graph, r), i)->seconds);
  if (!orr_graph_order_init(&order, graph, (const double *)(const void *)node_s->data,
                            maker->comm_s, error))
    return FALSE;
  for (guint c = 0; c < graph->comms->len; c++) {
    const OrrGraphComm *comm = &g_array_index(graph->comms, OrrGraphComm, c);
    const OrrGraphMember *members = members_of(maker, comm);
    double start_s = 0;
    for (guint i = 0; i < comm->n; i++)
      start_s = MAX(start_s, order.begin_s[order.first[members[i].rank] + members[i].node]);
    for (guint f = maker->first[c]; f < maker->first[c + 1]; f++) {
      OrrFlow *flow = &g_array_index(maker->flows, OrrFlow, f);
      flow->start_s = start_s;
      flow->end_s = start_s + maker->comm_s[c];
    }
  }
  orr_graph_order_clear(&order);
  return TRUE;
}

static int by_start(const void *a, const void *b) {
  const OrrFlow *x = a, *y = b;
  if (x->start_s != y->start_s) return x->start_s < y->start_s ? -1 : 1;
  if (x->src != y->src) return x->src < y->src ? -1 : 1;
  return (x->dst > y->dst) - (x->dst < y->dst);
}

GArray *orr_flow_list_of(const OrrWorkGraph *graph, const OrrCollectiveContext *context,
                         const gint64 *gpus, GError **error) {
  g_autoptr(GHashTable) rank_of = g_hash_table_new(g_int64_hash, g_int64_equal);
  g_autofree double *comm_s = g_new0(double, graph->comms->len + 1);
  g_autofree guint32 *first = g_new0(guint32, graph->comms->len + 1);
  g_autoptr(GArray) flows = g_array_new(FALSE, FALSE, sizeof(OrrFlow));
  Maker maker = {graph, context, gpus, rank_of, comm_s, first, flows};
  for (guint r = 0; r < graph->ranks->len; r++)
    g_hash_table_insert(rank_of, (gpointer)&gpus[r], GUINT_TO_POINTER(r + 1));
  for (guint c = 0; c < graph->comms->len; c++)
    if (!add_comm(&maker, c, error)) return NULL;
  first[graph->comms->len] = flows->len;
  if (flows->len == 0)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "nothing crosses the network: no flows");
  if (!settle_times(&maker, error)) return NULL;
  g_array_sort(flows, by_start);
  return g_steal_pointer(&flows);
}

char *orr_flow_list_matrix(const GArray *flows, guint n_ranks) {
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "Nodes %u\nConnections %u\n", n_ranks, flows->len);
  ORR_EACH_AT(i, const OrrFlow, flow, flows)
    g_string_append_printf(text, "%u->%u id %u start %.0f size %.0f\n", flow->src, flow->dst, i + 1,
                           flow->start_s * 1e12, fmax(round(flow->bytes), 1));
  return g_string_free(text, FALSE);
}

char *orr_flow_list_table(const GArray *flows) {
  GString *text = g_string_new("id,src,dst,bytes,start_us,end_us\n");
  ORR_EACH_AT(i, const OrrFlow, flow, flows)
    g_string_append_printf(text, "%u,%u,%u,%.0f,%.6f,%.6f\n", i + 1, flow->src, flow->dst,
                           fmax(round(flow->bytes), 1), flow->start_s * 1e6, flow->end_s * 1e6);
  return g_string_free(text, FALSE);
}
