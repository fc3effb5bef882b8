/*
 * goal_write.c - a graph becomes a schedule in GOAL (goal.h).
 *
 * Node i of a rank is the operation n<i>. A collective is n<i>, then its sends s<i>_<k> and
 * receives r<i>_<k>, then e<i>, which waits for all of them; those that depend on it wait for e<i>.
 * Every send has a tag of its own, so that it meets the right receive.
 */
#include "workloads/trace/goal.h"

enum { MOST_SENDS = 5000000 };

typedef struct {
  const OrrWorkGraph *graph;
  const OrrCollectiveContext *context;
  const gint64 *gpus;
  GHashTable *rank_of;  /* GPU -> rank + 1, of the collective in hand */
  GString **operations; /* by rank */
  GString **needs;      /* by rank: what requires what */
  GString *remarks;
  guint32 n_tags;
} Writer;

static const OrrGraphNode *node_of(const Writer *writer, const OrrGraphMember *member) {
  return orr_work_graph_node(orr_work_graph_rank(writer->graph, member->rank), member->node);
}

static const OrrGraphMember *members_of(const Writer *writer, const OrrGraphComm *comm) {
  return &g_array_index(writer->graph->members, OrrGraphMember, comm->first);
}

/* --- Nodes --- */

static void write_node(const Writer *writer, guint32 rank, guint32 index) {
  const OrrGraphRank *from = orr_work_graph_rank(writer->graph, rank);
  const OrrGraphNode *node = orr_work_graph_node(from, index);
  GString *operations = writer->operations[rank];
  const gboolean is_send = node->kind == ORR_GRAPH_SEND;
  if (is_send || node->kind == ORR_GRAPH_RECV)
    g_string_append_printf(operations, "n%u: %s %.0fb %s %u tag %u\n", index,
                           is_send ? "send" : "recv", node->bytes, is_send ? "to" : "from",
                           node->peer, node->comm + 1);
  else
    g_string_append_printf(operations, "n%u: calc %.0f\n", index, node->seconds * 1e9);
  if (node->kind == ORR_GRAPH_COLLECTIVE)
    g_string_append_printf(operations, "e%u: calc 0\n", index);
  for (guint d = 0; d < node->n_deps; d++) {
    const guint32 dep = g_array_index(from->deps, guint32, node->first_dep + d);
    const guint32 other = dep & ~ORR_GRAPH_ON_BEGIN;
    const gboolean on_begin = dep != other;
    const OrrGraphNode *before = orr_work_graph_node(from, other);
    g_string_append_printf(writer->needs[rank], "n%u %s %c%u\n", index,
                           on_begin ? "irequires" : "requires",
                           !on_begin && before->kind == ORR_GRAPH_COLLECTIVE ? 'e' : 'n', other);
  }
}

/* --- Collectives --- */

static gboolean is_between_ranks(const OrrCollectiveSteps *steps) {
  ORR_EACH(const OrrStepRoute, route, steps->routes)
    if (route->dst < 0) return FALSE;
  return TRUE;
}

static OrrCollectiveSteps *steps_by(const OrrCollectiveContext *context,
                                    const OrrCollectiveCall *call,
                                    const OrrCollectiveAlgorithm *algorithm, GError **error) {
  g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(context, call, algorithm, error);
  if (!plan) return NULL;
  OrrCollectiveSteps *steps = orr_collective_steps_new(context, call, plan, error);
  if (!steps || is_between_ranks(steps)) return steps;
  orr_collective_steps_free(steps);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s runs in a switch",
                        plan->algorithm->entry.name);
}

OrrCollectiveSteps *orr_goal_steps(const OrrCollectiveContext *context,
                                   const OrrCollectiveCall *call, GString *remarks,
                                   GError **error) {
  g_autoptr(GError) reason = NULL;
  OrrCollectiveSteps *steps = steps_by(context, call, NULL, &reason);
  if (steps) return steps;
  const OrrEntry *ring = orr_registry_find(&orr_collective_registry, "ring");
  steps = steps_by(context, call, (const OrrCollectiveAlgorithm *)(gconstpointer)ring, error);
  g_autofree char *remark =
      g_strdup_printf("// %s of %u ranks is written as a ring: %s\n",
                      orr_collective_words[call->op], call->n, reason->message);
  if (steps && !strstr(remarks->str, remark)) g_string_append(remarks, remark);
  return steps;
}

typedef struct {
  const OrrCollectiveSteps *steps;
  const OrrGraphComm *comm;
  const OrrGraphMember *members;
  guint32 *last; /* by connection: the send before, + 1 */
} Expansion;

static const OrrGraphMember *member_on(const Writer *writer, const Expansion *to, gint64 gpu) {
  return &to->members[GPOINTER_TO_UINT(g_hash_table_lookup(writer->rank_of, &gpu)) - 1];
}

/* "s3_17 requires r3_12": what a send waits for has arrived at its rank, or left it. */
static void write_needs(const Writer *writer, const Expansion *to, guint i) {
  const OrrStepSend *send = &g_array_index(to->steps->sends, OrrStepSend, i);
  const OrrStepRoute *route = orr_collective_steps_route(to->steps, send);
  const OrrGraphMember *from = member_on(writer, to, route->src);
  GString *needs = writer->needs[from->rank];
  const guint32 node = from->node, last = to->last[send->connection];
  if (send->n_needs == 0) g_string_append_printf(needs, "s%u_%u requires n%u\n", node, i, node);
  for (guint k = 0; k < send->n_needs; k++) {
    const guint32 need = g_array_index(to->steps->needs, guint32, send->first_need + k);
    const OrrStepRoute *before =
        orr_collective_steps_route(to->steps, &g_array_index(to->steps->sends, OrrStepSend, need));
    if (before->dst == route->src || before->src == route->src)
      g_string_append_printf(needs, "s%u_%u requires %c%u_%u\n", node, i,
                             before->dst == route->src ? 'r' : 's', node, need);
  }
  if (last > 0) g_string_append_printf(needs, "s%u_%u requires s%u_%u\n", node, i, node, last - 1);
  to->last[send->connection] = i + 1;
}

static void write_send(Writer *writer, const Expansion *to, guint i) {
  const OrrStepSend *send = &g_array_index(to->steps->sends, OrrStepSend, i);
  const OrrStepRoute *route = orr_collective_steps_route(to->steps, send);
  const OrrGraphMember *from = member_on(writer, to, route->src);
  const OrrGraphMember *at = member_on(writer, to, route->dst);
  const guint32 tag = ++writer->n_tags;
  g_string_append_printf(writer->operations[from->rank], "s%u_%u: send %.0fb to %u tag %u\n",
                         from->node, i, route->bytes, at->rank, tag);
  g_string_append_printf(writer->operations[at->rank], "r%u_%u: recv %.0fb from %u tag %u\n",
                         at->node, i, route->bytes, from->rank, tag);
  g_string_append_printf(writer->needs[at->rank], "r%u_%u requires n%u\ne%u requires r%u_%u\n",
                         at->node, i, at->node, at->node, at->node, i);
  g_string_append_printf(writer->needs[from->rank], "e%u requires s%u_%u\n", from->node, from->node,
                         i);
  write_needs(writer, to, i);
}

static gboolean write_collective(Writer *writer, const OrrGraphComm *comm, GError **error) {
  const OrrGraphMember *members = members_of(writer, comm);
  g_autofree gint64 *gpus = g_new(gint64, comm->n);
  g_hash_table_remove_all(writer->rank_of);
  for (guint i = 0; i < comm->n; i++) {
    gpus[i] = writer->gpus[members[i].rank];
    g_hash_table_insert(writer->rank_of, &gpus[i], GUINT_TO_POINTER(i + 1));
    g_string_append_printf(writer->needs[members[i].rank], "e%u requires n%u\n", members[i].node,
                           members[i].node);
  }
  const OrrCollectiveCall call = {
      .op = (OrrCollectiveOp)comm->op, .bytes = comm->bytes, .gpus = gpus, .n = comm->n};
  if (comm->n < 2 || comm->bytes <= 0) return TRUE;
  g_autoptr(OrrCollectiveSteps) steps =
      orr_goal_steps(writer->context, &call, writer->remarks, error);
  if (!steps) return FALSE;
  if (writer->n_tags + (guint64)steps->sends->len > MOST_SENDS)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "the schedule would have more than %d sends: write a smaller job",
                         MOST_SENDS);
  g_autofree guint32 *last = g_new0(guint32, steps->n_connections + 1);
  const Expansion to = {steps, comm, members, last};
  for (guint i = 0; i < steps->sends->len; i++) write_send(writer, &to, i);
  return TRUE;
}

/* --- The text --- */

static char *text_of(const Writer *writer) {
  GString *text = g_string_new(writer->remarks->str);
  g_string_append_printf(text, "num_ranks %u\n", writer->graph->ranks->len);
  for (guint r = 0; r < writer->graph->ranks->len; r++)
    g_string_append_printf(text, "\nrank %u {\n%s%s}\n", r, writer->operations[r]->str,
                           writer->needs[r]->str);
  return g_string_free(text, FALSE);
}

static gboolean write_all(Writer *writer, GError **error) {
  for (guint r = 0; r < writer->graph->ranks->len; r++)
    for (guint i = 0; i < orr_work_graph_rank(writer->graph, r)->nodes->len; i++)
      write_node(writer, r, i);
  writer->n_tags = writer->graph->comms->len; /* the graph's own sends have these */
  ORR_EACH(const OrrGraphComm, comm, writer->graph->comms)
    if (node_of(writer, members_of(writer, comm))->kind == ORR_GRAPH_COLLECTIVE &&
        !write_collective(writer, comm, error))
      return FALSE;
  return TRUE;
}

char *orr_goal_write(const OrrWorkGraph *graph, const OrrCollectiveContext *context,
                     const gint64 *gpus, GError **error) {
  const guint n = graph->ranks->len;
  Writer writer = {.graph = graph,
                   .context = context,
                   .gpus = gpus,
                   .rank_of = g_hash_table_new(g_int64_hash, g_int64_equal),
                   .operations = g_new0(GString *, n + 1),
                   .needs = g_new0(GString *, n + 1),
                   .remarks = g_string_new(NULL)};
  for (guint r = 0; r < n; r++) {
    writer.operations[r] = g_string_new(NULL);
    writer.needs[r] = g_string_new(NULL);
  }
  char *text = write_all(&writer, error) ? text_of(&writer) : NULL;
  for (guint r = 0; r < n; r++) {
    g_string_free(writer.operations[r], TRUE);
    g_string_free(writer.needs[r], TRUE);
  }
  ORR_FREE(writer.operations, writer.needs);
  g_string_free(writer.remarks, TRUE);
  g_hash_table_unref(writer.rank_of);
  return text;
}
