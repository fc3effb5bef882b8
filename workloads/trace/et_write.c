/*
 * et_write.c - a rank of a graph becomes a Chakra execution trace (et.h).
 *
 * Attributes have the types that Chakra's converter and ASTRA-sim's generators give them. Times are
 * whole microseconds: the rest of each node is carried to the next one of its queue.
 */
#include "workloads/collectives/collective.h"
#include "workloads/trace/et.h"
#include "workloads/trace/protobuf.h"

enum { NODE_ID = 1, NODE_NAME = 2, NODE_TYPE = 3, NODE_DATA_DEPS = 5, NODE_DURATION = 7 };
enum { NODE_ATTR = 10, ATTR_INT32 = 7, ATTR_INT64 = 9, ATTR_BOOL = 27, ATTR_TEXT = 29 };

/* By OrrGraphKind. */
static const guint types[] = {
    [ORR_GRAPH_EMPTY] = 1, [ORR_GRAPH_COMPUTE] = 4, [ORR_GRAPH_HOST] = 4,
    [ORR_GRAPH_SEND] = 5,  [ORR_GRAPH_RECV] = 6,    [ORR_GRAPH_COLLECTIVE] = 7};
/* By OrrCollectiveOp. */
static const guint comm_types[] = {
    [ORR_ALL_REDUCE] = 0, [ORR_REDUCE] = 1,         [ORR_ALL_GATHER] = 2, [ORR_BROADCAST] = 5,
    [ORR_ALL_TO_ALL] = 6, [ORR_REDUCE_SCATTER] = 7, [ORR_SEND_RECV] = 0};

static void put_attribute(GByteArray *node, const char *name, guint32 field, guint64 number) {
  g_autoptr(GByteArray) attribute = g_byte_array_new();
  orr_protobuf_put_text(attribute, 1, name);
  orr_protobuf_put_number(attribute, field, number);
  orr_protobuf_put_bytes(node, NODE_ATTR, attribute->data, attribute->len);
}

static void put_text_attribute(GByteArray *node, const char *name, const char *text) {
  g_autoptr(GByteArray) attribute = g_byte_array_new();
  orr_protobuf_put_text(attribute, 1, name);
  orr_protobuf_put_text(attribute, ATTR_TEXT, text);
  orr_protobuf_put_bytes(node, NODE_ATTR, attribute->data, attribute->len);
}

static void put_comm(GByteArray *out, const OrrGraphNode *node, guint32 rank) {
  put_attribute(out, "comm_size", ATTR_INT64, (guint64)round(node->bytes));
  if (node->kind == ORR_GRAPH_COLLECTIVE) {
    put_attribute(out, "comm_type", ATTR_INT64, comm_types[node->op]);
    if (node->group == ORR_GRAPH_ALL) return;
    g_autofree char *name = g_strdup_printf("%u", node->group);
    put_text_attribute(out, "pg_name", name);
    return;
  }
  const gboolean is_send = node->kind == ORR_GRAPH_SEND;
  put_attribute(out, "comm_src", ATTR_INT32, is_send ? rank : node->peer);
  put_attribute(out, "comm_dst", ATTR_INT32, is_send ? node->peer : rank);
  put_attribute(out, "comm_tag", ATTR_INT32, (guint64)node->tag);
}

/* Whole microseconds of @node, with what earlier nodes of its queue left over. */
static guint64 whole_us(const OrrGraphNode *node, GHashTable *rests) {
  const guint64 key = node->queue << 1 | (node->kind == ORR_GRAPH_HOST);
  double *rest_us = g_hash_table_lookup(rests, &key);
  if (!rest_us) {
    rest_us = g_new0(double, 1);
    g_hash_table_insert(rests, g_memdup2(&key, sizeof key), rest_us);
  }
  const double wanted_us = node->seconds * 1e6 + *rest_us, us = fmax(round(wanted_us), 0);
  *rest_us = wanted_us - us;
  return (guint64)us;
}

static void put_deps(GByteArray *out, const OrrGraphRank *rank, const OrrGraphNode *node) {
  g_autoptr(GByteArray) packed = g_byte_array_new();
  for (guint d = 0; d < node->n_deps; d++) {
    const guint32 dep = g_array_index(rank->deps, guint32, node->first_dep + d);
    orr_protobuf_put_varint(packed, orr_work_graph_node(rank, dep & ~ORR_GRAPH_ON_BEGIN)->id);
  }
  if (packed->len > 0) orr_protobuf_put_bytes(out, NODE_DATA_DEPS, packed->data, packed->len);
}

static void put_message(GByteArray *file, const GByteArray *message) {
  orr_protobuf_put_varint(file, message->len);
  g_byte_array_append(file, message->data, message->len);
}

GByteArray *orr_et_write(const OrrWorkGraph *graph, guint32 rank) {
  GByteArray *file = g_byte_array_new();
  g_autoptr(GByteArray) message = g_byte_array_new();
  g_autoptr(GHashTable) rests = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  const OrrGraphRank *from = orr_work_graph_rank(graph, rank);
  orr_protobuf_put_text(message, 1, "0.0.4");
  put_message(file, message);
  for (guint i = 0; i < from->nodes->len; i++) {
    const OrrGraphNode *node = orr_work_graph_node(from, i);
    g_byte_array_set_size(message, 0);
    orr_protobuf_put_number(message, NODE_ID, node->id);
    orr_protobuf_put_text(message, NODE_NAME, node->name);
    orr_protobuf_put_number(message, NODE_TYPE, types[node->kind]);
    put_deps(message, from, node);
    if (node->kind == ORR_GRAPH_COMPUTE || node->kind == ORR_GRAPH_HOST)
      orr_protobuf_put_number(message, NODE_DURATION, whole_us(node, rests));
    put_attribute(message, "is_cpu_op", ATTR_BOOL, node->kind == ORR_GRAPH_HOST);
    if (node->kind == ORR_GRAPH_COMPUTE) put_attribute(message, "stream", ATTR_INT64, node->queue);
    if (node->kind >= ORR_GRAPH_SEND) put_comm(message, node, rank);
    put_message(file, message);
  }
  return file;
}

static int compare_ranks(const void *a, const void *b) {
  const guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
  return (x > y) - (x < y);
}

char *orr_et_write_groups(const OrrWorkGraph *graph) {
  GString *text = g_string_new("{");
  ORR_EACH_POINTER_AT(g, const OrrGraphGroup, group, graph->groups) {
    g_autofree guint32 *ranks = g_memdup2(group->ranks->data, group->ranks->len * sizeof *ranks);
    if (ranks) qsort(ranks, group->ranks->len, sizeof *ranks, compare_ranks);
    g_string_append_printf(text, "%s\n  \"%u\": [", g ? "," : "", g);
    for (guint i = 0; i < group->ranks->len; i++)
      g_string_append_printf(text, "%s%u", i ? ", " : "", ranks[i]);
    g_string_append_c(text, ']');
  }
  g_string_append(text, "\n}\n");
  return g_string_free(text, FALSE);
}
