/*
 * work_graph_match.c - finds the communications of a graph: which sends, receives and collectives
 * of different ranks belong together.
 */
#include "workloads/collectives/collective.h"
#include "workloads/trace/work_graph.h"

#define ID "%" G_GUINT64_FORMAT

/* --- Groups --- */

static GArray *members_of(const OrrWorkGraph *graph, guint32 group) {
  return ((const OrrGraphGroup *)graph->groups->pdata[group])->ranks;
}

/* Ranks come in order, so the last one is the only one that can be known already. */
static void add_users(OrrWorkGraph *graph, const gboolean *is_open) {
  for (guint32 r = 0; r < graph->ranks->len; r++) {
    const GArray *nodes = orr_work_graph_rank(graph, r)->nodes;
    ORR_EACH(const OrrGraphNode, node, nodes) {
      if (node->kind != ORR_GRAPH_COLLECTIVE || node->group == ORR_GRAPH_ALL ||
          !is_open[node->group])
        continue;
      GArray *ranks = members_of(graph, node->group);
      if (ranks->len == 0 || g_array_index(ranks, guint32, ranks->len - 1) != r)
        g_array_append_val(ranks, r);
    }
  }
}

static void fill_groups(OrrWorkGraph *graph) {
  g_autofree gboolean *is_open = g_new0(gboolean, graph->groups->len + 1);
  for (guint32 i = 0; i < graph->groups->len; i++) is_open[i] = members_of(graph, i)->len == 0;
  add_users(graph, is_open);
}

/* --- Collectives --- */

/* The collectives of one rank in one group, in order. */
typedef struct {
  guint32 rank, node, group;
  gint64 start_us;
} Call;

static int compare_calls(const void *a, const void *b) {
  const Call *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->start_us != y->start_us) return x->start_us < y->start_us ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static GArray *calls_of(const OrrWorkGraph *graph) {
  GArray *calls = g_array_new(FALSE, FALSE, sizeof(Call));
  for (guint32 r = 0; r < graph->ranks->len; r++) {
    const GArray *nodes = orr_work_graph_rank(graph, r)->nodes;
    for (guint32 i = 0; i < nodes->len; i++) {
      const OrrGraphNode *node = &g_array_index(nodes, OrrGraphNode, i);
      const Call call = {r, i, node->group, node->start_us};
      if (node->kind == ORR_GRAPH_COLLECTIVE) g_array_append_val(calls, call);
    }
  }
  if (calls->len > 0) qsort(calls->data, calls->len, sizeof(Call), compare_calls);
  return calls;
}

static OrrGraphNode *node_at(const OrrWorkGraph *graph, guint32 rank, guint32 node) {
  return &g_array_index(orr_work_graph_rank(graph, rank)->nodes, OrrGraphNode, node);
}

static const char *group_name(const OrrWorkGraph *graph, guint32 group) {
  return group == ORR_GRAPH_ALL ? "all ranks"
                                : ((const OrrGraphGroup *)graph->groups->pdata[group])->name;
}

static gboolean refuse_unlike(const OrrWorkGraph *graph, const Call *one, const Call *other,
                              GError **error) {
  const OrrGraphNode *a = node_at(graph, one->rank, one->node);
  const OrrGraphNode *b = node_at(graph, other->rank, other->node);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "the collectives of group '%s' differ: node " ID
                       " of rank %u is %s of %.0f B, node " ID " of rank %u %s of %.0f B",
                       group_name(graph, one->group), a->id, one->rank, orr_collective_words[a->op],
                       a->bytes, b->id, other->rank, orr_collective_words[b->op], b->bytes);
}

/* One communication of the @k-th calls; rank i of the group has @n_calls calls from @calls + i
 * @n_calls on. */
static gboolean join_calls(OrrWorkGraph *graph, const Call *calls, guint n_calls, guint n_ranks,
                           guint k, GError **error) {
  const OrrGraphNode *first = node_at(graph, calls[k].rank, calls[k].node);
  OrrGraphComm comm = {
      .bytes = first->bytes, .first = graph->members->len, .n = n_ranks, .op = first->op};
  if (comm.op == ORR_ALL_GATHER) comm.bytes *= n_ranks; /* a rank's share, as in et.h */
  for (guint i = 0; i < n_ranks; i++) {
    const Call *call = &calls[i * n_calls + k];
    OrrGraphNode *node = node_at(graph, call->rank, call->node);
    const OrrGraphMember member = {call->rank, call->node};
    if (node->op != first->op || node->bytes != first->bytes)
      return refuse_unlike(graph, &calls[k], call, error);
    node->comm = graph->comms->len;
    g_array_append_val(graph->members, member);
  }
  g_array_append_val(graph->comms, comm);
  return TRUE;
}

/* The rank of @group with number @i in it. */
static guint32 rank_in(const OrrWorkGraph *graph, guint32 group, guint i) {
  return group == ORR_GRAPH_ALL ? i : g_array_index(members_of(graph, group), guint32, i);
}

/* Both calls and members are in the order of ranks. */
static gboolean check_members(const OrrWorkGraph *graph, const Call *calls, guint n, guint n_ranks,
                              GError **error) {
  guint member = 0;
  for (guint i = 0; i < n; i++) {
    while (member < n_ranks && rank_in(graph, calls->group, member) < calls[i].rank) member++;
    if (member == n_ranks || rank_in(graph, calls->group, member) != calls[i].rank)
      return orr_fault_set(error, ORR_FAULT_DOCUMENT, "rank %u is not a member of group '%s'",
                           calls[i].rank, group_name(graph, calls->group));
  }
  return TRUE;
}

/* The calls of one group: as many on each of its ranks. */
static gboolean join_group(OrrWorkGraph *graph, const Call *calls, guint n, GError **error) {
  const guint32 group = calls->group;
  const guint n_ranks = group == ORR_GRAPH_ALL ? graph->ranks->len : members_of(graph, group)->len;
  const guint n_calls = n / n_ranks;
  guint at = 0;
  if (!check_members(graph, calls, n, n_ranks, error)) return FALSE;
  for (guint i = 0; i < n_ranks; i++) {
    const guint32 rank = rank_in(graph, group, i);
    guint own = 0;
    for (; at < n && calls[at].rank == rank; at++) own++;
    if (own != n_calls || n % n_ranks != 0)
      return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                           "rank %u has %u collectives of group '%s', other ranks have another "
                           "number: some would never end",
                           rank, own, group_name(graph, group));
  }
  for (guint k = 0; k < n_calls; k++)
    if (!join_calls(graph, calls, n_calls, n_ranks, k, error)) return FALSE;
  return TRUE;
}

static gboolean match_collectives(OrrWorkGraph *graph, GError **error) {
  g_autoptr(GArray) calls = calls_of(graph);
  for (guint from = 0, to; from < calls->len; from = to) {
    const Call *first = &g_array_index(calls, Call, from);
    for (to = from; to < calls->len && g_array_index(calls, Call, to).group == first->group;) to++;
    if (!join_group(graph, first, to - from, error)) return FALSE;
  }
  return TRUE;
}

/* --- Sends and receives --- */

typedef struct {
  guint32 from, to;
  gint64 tag;
  guint32 rank, node;
  gboolean is_receive;
} Side;

static int compare_sides(const void *a, const void *b) {
  const Side *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
  if (x->is_receive != y->is_receive) return x->is_receive ? 1 : -1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static GArray *sides_of(const OrrWorkGraph *graph) {
  GArray *sides = g_array_new(FALSE, FALSE, sizeof(Side));
  for (guint32 r = 0; r < graph->ranks->len; r++) {
    const GArray *nodes = orr_work_graph_rank(graph, r)->nodes;
    for (guint32 i = 0; i < nodes->len; i++) {
      const OrrGraphNode *node = &g_array_index(nodes, OrrGraphNode, i);
      const gboolean is_receive = node->kind == ORR_GRAPH_RECV;
      const Side side = {
          is_receive ? node->peer : r, is_receive ? r : node->peer, node->tag, r, i, is_receive};
      if (is_receive || node->kind == ORR_GRAPH_SEND) g_array_append_val(sides, side);
    }
  }
  if (sides->len > 0) qsort(sides->data, sides->len, sizeof(Side), compare_sides);
  return sides;
}

static gboolean refuse_lonely(const OrrWorkGraph *graph, const Side *side, GError **error) {
  const OrrGraphNode *node = node_at(graph, side->rank, side->node);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "rank %u, node " ID
                       ": nothing %s from rank %u to rank %u with tag %ld meets this %s",
                       side->rank, node->id, side->is_receive ? "sent" : "received", side->from,
                       side->to, side->tag, side->is_receive ? "receive" : "send");
}

static gboolean join_sides(OrrWorkGraph *graph, const Side *send, const Side *receive,
                           GError **error) {
  OrrGraphNode *sender = node_at(graph, send->rank, send->node);
  OrrGraphNode *receiver = node_at(graph, receive->rank, receive->node);
  if (sender->bytes != receiver->bytes)
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "node " ID " of rank %u sends %.0f B, node " ID " of rank %u receives %.0f B of it",
        sender->id, send->rank, sender->bytes, receiver->id, receive->rank, receiver->bytes);
  const OrrGraphComm comm = {
      .bytes = sender->bytes, .first = graph->members->len, .n = 2, .op = ORR_SEND_RECV};
  const OrrGraphMember members[] = {{send->rank, send->node}, {receive->rank, receive->node}};
  sender->comm = receiver->comm = graph->comms->len;
  g_array_append_vals(graph->members, members, 2);
  g_array_append_val(graph->comms, comm);
  return TRUE;
}

static gboolean is_same_pair(const Side *a, const Side *b) {
  return a->from == b->from && a->to == b->to && a->tag == b->tag;
}

static gboolean match_sends(OrrWorkGraph *graph, GError **error) {
  g_autoptr(GArray) sides = sides_of(graph);
  const Side *all = (const Side *)(const void *)sides->data;
  for (guint from = 0, to; from < sides->len; from = to) {
    guint n_sends = 0;
    for (to = from; to < sides->len && is_same_pair(&all[to], &all[from]); to++)
      n_sends += !all[to].is_receive;
    const guint n = to - from, both = MIN(n_sends, n - n_sends);
    if (n != 2 * n_sends)
      return refuse_lonely(graph, &all[n_sends > both ? from + both : from + n_sends + both],
                           error);
    for (guint k = 0; k < both; k++)
      if (!join_sides(graph, &all[from + k], &all[from + both + k], error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_work_graph_match(OrrWorkGraph *graph, GError **error) {
  fill_groups(graph);
  return match_collectives(graph, error) && match_sends(graph, error);
}
