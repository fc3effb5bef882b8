/*
 * text_write.c - a graph becomes layers as text (text_workload.h).
 *
 * The format runs layers forward, then backward from the last one, each with a kernel and a
 * collective that the next layer waits for (of the gradient of the input), and a collective that
 * runs next to what follows (of the weights). A step of any order is written as the backward passes
 * of layers that do nothing forward, the first one last: rank 0's kernels and collectives in order.
 *
 *   kernel a; all-reduce; kernel b; kernel c, with an all-reduce next to it
 *
 *   c -1 0 NONE 0 C NONE 0      0 NONE 0 0
 *   b -1 0 NONE 0 B NONE 0      0 ALLREDUCE 2 0
 *   a -1 0 NONE 0 A ALLREDUCE 1 0 NONE 0 0
 *
 * A collective that no later kernel waits for directly is one of the weights. The last kernel,
 * where it waits for data-parallel ranks beside model groups (the optimizer), is the update behind
 * their collective. A model group's collective is always written as awaited, also where kernels run
 * next to it. Kernels of several streams follow one another. All-reduces of 4 B (ranks that
 * wait for each other) are left out where the format has no group for them.
 */
#include "workloads/collectives/collective.h"
#include "workloads/trace/text_workload.h"

enum { BARRIER_BYTES = 4 };

/* By OrrCollectiveOp; NULL: the format has none. */
static const char *const words[] = {[ORR_ALL_REDUCE] = "ALLREDUCE",
                                    [ORR_ALL_GATHER] = "ALLGATHER",
                                    [ORR_REDUCE_SCATTER] = "REDUCESCATTER",
                                    [ORR_BROADCAST] = NULL,
                                    [ORR_REDUCE] = NULL,
                                    [ORR_ALL_TO_ALL] = "ALLTOALL",
                                    [ORR_SEND_RECV] = NULL};

typedef struct {
  const char *word; /* NULL: none */
  double bytes;
} Call;

typedef struct {
  const char *name;
  double seconds, update_s;
  Call input, weights;
} Layer;

typedef struct {
  const OrrWorkGraph *graph;
  const OrrGraphRank *rank;
  OrrGraphOrder order;
  guint ranks, model; /* model 1: there is no model parallelism */
  GArray *layers;
  const OrrGraphNode *update; /* the kernel that is written as an update; NULL: none */
} Writer;

static const OrrGraphNode *node_at(const Writer *writer, guint i) {
  return orr_work_graph_node(writer->rank, writer->order.order[i]);
}

/* --- Groups --- */

typedef enum { ALL, MODEL, DATA, OTHER } Group;

/* The ranks of a group as numbers @stride apart from 0 on; FALSE: they are not. */
static gboolean is_strided(const GArray *ranks, guint *ret_stride) {
  *ret_stride = ranks->len > 1 ? g_array_index(ranks, guint32, 1) : 1;
  for (guint i = 0; i < ranks->len; i++)
    if (g_array_index(ranks, guint32, i) != i * *ret_stride) return FALSE;
  return TRUE;
}

static Group group_of(const Writer *writer, const OrrGraphNode *node, guint *ret_size) {
  *ret_size = writer->ranks;
  if (node->group == ORR_GRAPH_ALL) return ALL;
  const OrrGraphGroup *group = writer->graph->groups->pdata[node->group];
  guint stride;
  *ret_size = group->ranks->len;
  if (group->ranks->len == writer->ranks) return ALL;
  if (!is_strided(group->ranks, &stride)) return OTHER;
  if (stride == 1) return MODEL;
  return stride == writer->model && group->ranks->len * stride == writer->ranks ? DATA : OTHER;
}

static gboolean refuse(const OrrGraphNode *node, const char *why, GError **error) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "'%s' %s, which layers as text cannot say",
                       node->name, why);
}

/* The size of the model group: of the one group of neighbours. */
static gboolean find_model(Writer *writer, GError **error) {
  writer->model = 1;
  for (guint i = 0; i < writer->rank->nodes->len; i++) {
    const OrrGraphNode *node = orr_work_graph_node(writer->rank, i);
    guint size;
    if (node->kind == ORR_GRAPH_SEND || node->kind == ORR_GRAPH_RECV)
      return refuse(node,
                    "goes from rank to rank (stages of a pipeline, or tp-comm-overlap: none puts "
                    "collectives in its place)",
                    error);
    if (node->kind != ORR_GRAPH_COLLECTIVE || group_of(writer, node, &size) != MODEL) continue;
    if (writer->model > 1 && size != writer->model)
      return refuse(node, "is of a second kind of model group", error);
    writer->model = size;
  }
  return TRUE;
}

/* --- Layers --- */

/* Whether @node waits for node @other, directly or over collectives. */
static gboolean waits_for(const Writer *writer, const OrrGraphNode *node, guint32 other,
                          guint depth) {
  for (guint d = 0; d < node->n_deps; d++) {
    const guint32 dep =
        g_array_index(writer->rank->deps, guint32, node->first_dep + d) & ~ORR_GRAPH_ON_BEGIN;
    const OrrGraphNode *before = orr_work_graph_node(writer->rank, dep);
    if (dep == other) return TRUE;
    if (before->kind == ORR_GRAPH_COLLECTIVE && depth > 0 &&
        waits_for(writer, before, other, depth - 1))
      return TRUE;
  }
  return FALSE;
}

/* Whether the next kernel in the order waits for the collective at @at. */
static gboolean is_awaited(const Writer *writer, guint at) {
  for (guint i = at + 1; i < writer->rank->nodes->len; i++)
    if (node_at(writer, i)->kind == ORR_GRAPH_COMPUTE)
      return waits_for(writer, node_at(writer, i), writer->order.order[at], 4);
  return FALSE;
}

static Layer *last_layer(Writer *writer) {
  return writer->layers->len ? &g_array_index(writer->layers, Layer, writer->layers->len - 1)
                             : NULL;
}

static Layer *new_layer(Writer *writer, const char *name, double seconds) {
  ORR_APPEND(writer->layers, Layer, {.name = name, .seconds = seconds});
  return last_layer(writer);
}

/* The one kernel after @at; NULL: there are none or several. */
static const OrrGraphNode *only_kernel(const Writer *writer, guint at) {
  const OrrGraphNode *found = NULL;
  for (guint i = at + 1; i < writer->rank->nodes->len; i++) {
    const OrrGraphNode *node = node_at(writer, i);
    if (node->kind != ORR_GRAPH_COMPUTE || node->seconds <= 0) continue;
    if (found) return NULL;
    found = node;
  }
  return found;
}

static gboolean add_collective(Writer *writer, guint at, GError **error) {
  const OrrGraphNode *node = node_at(writer, at);
  guint size;
  const Group group = group_of(writer, node, &size);
  const gboolean awaited = is_awaited(writer, at), is_model = group == MODEL;
  if (!words[node->op]) return refuse(node, "is a broadcast, a reduce or a send", error);
  if (size < 2) return TRUE;
  if (group == OTHER)
    return refuse(node, "is of ranks that are neither a model nor a data group", error);
  if (writer->model > 1 && !is_model && (awaited || group == ALL)) {
    if (node->bytes <= BARRIER_BYTES) return TRUE;
    if (awaited && group == DATA && !writer->update) writer->update = only_kernel(writer, at);
    if (group == ALL || !writer->update)
      return refuse(node, "is of data-parallel ranks, and the next kernel waits for it", error);
  }
  const Call call = {words[node->op],
                     node->bytes * (node->op == ORR_ALL_GATHER ? (double)size : 1)};
  const gboolean is_input = is_model || (awaited && writer->model == 1);
  Layer *layer = last_layer(writer);
  if (!layer || layer->weights.word || (is_input && layer->input.word))
    layer = new_layer(writer, node->name, 0);
  *(is_input ? &layer->input : &layer->weights) = call;
  if (!is_input && awaited && writer->update) layer->update_s = writer->update->seconds;
  return TRUE;
}

static gboolean add_nodes(Writer *writer, GError **error) {
  for (guint i = 0; i < writer->rank->nodes->len; i++) {
    const OrrGraphNode *node = node_at(writer, i);
    if (node->kind == ORR_GRAPH_COMPUTE && node->seconds > 0 && node != writer->update)
      new_layer(writer, node->name, node->seconds);
    if (node->kind == ORR_GRAPH_COLLECTIVE && !add_collective(writer, i, error)) return FALSE;
  }
  return writer->layers->len > 0 ||
         orr_fault_set(error, ORR_FAULT_DOCUMENT, "rank 0 has no kernels and no collectives");
}

/* --- The text --- */

static void print_call(GString *text, double seconds, const Call *call) {
  g_string_append_printf(text, " %.0f %s %.0f", seconds * 1e9, call->word ? call->word : "NONE",
                         call->word ? call->bytes : 0);
}

static char *text_of(const Writer *writer) {
  static const Call none = {NULL, 0};
  GString *text = g_string_new(NULL);
  if (writer->model > 1)
    g_string_append_printf(text,
                           "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: %u ep: 1 "
                           "pp: 1 ",
                           writer->model);
  else
    g_string_append(text, "DATA ");
  g_string_append_printf(text, "all_gpus: %u\n%u\n", writer->ranks, writer->layers->len);
  for (guint i = writer->layers->len; i-- > 0;) {
    const Layer *layer = &g_array_index(writer->layers, Layer, i);
    g_autofree char *name = g_strdup(layer->name && *layer->name ? layer->name : "layer");
    g_string_append_printf(text, "%s -1", g_strdelimit(name, " \t\r\n", '_'));
    print_call(text, 0, &none);
    print_call(text, layer->seconds, &layer->input);
    print_call(text, 0, &layer->weights);
    g_string_append_printf(text, " %.0f\n", layer->update_s * 1e9);
  }
  return g_string_free(text, FALSE);
}

static gboolean order_nodes(Writer *writer, GError **error) {
  const OrrWorkGraph *graph = writer->graph;
  g_autoptr(GArray) node_s = g_array_new(FALSE, FALSE, sizeof(double));
  g_autofree double *comm_s = g_new0(double, graph->comms->len + 1);
  for (guint r = 0; r < graph->ranks->len; r++)
    for (guint i = 0; i < orr_work_graph_rank(graph, r)->nodes->len; i++)
      g_array_append_val(node_s, orr_work_graph_node(orr_work_graph_rank(graph, r), i)->seconds);
  return orr_graph_order_init(&writer->order, graph, (const double *)(const void *)node_s->data,
                              comm_s, error);
}

char *orr_text_workload_write(const OrrWorkGraph *graph, GError **error) {
  g_autoptr(GArray) layers = g_array_new(FALSE, TRUE, sizeof(Layer));
  Writer writer = {.graph = graph,
                   .rank = orr_work_graph_rank(graph, 0),
                   .ranks = graph->ranks->len,
                   .layers = layers};
  if (!find_model(&writer, error) || !order_nodes(&writer, error)) return NULL;
  char *text = add_nodes(&writer, error) ? text_of(&writer) : NULL;
  orr_graph_order_clear(&writer.order);
  return text;
}
