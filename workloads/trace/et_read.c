/*
 * et_read.c - a Chakra execution trace becomes a rank of a graph (et.h).
 */
#include "workloads/collectives/collective.h"
#include "workloads/trace/et.h"
#include "workloads/trace/protobuf.h"

enum {
  NODE_ID = 1,
  NODE_NAME,
  NODE_TYPE,
  NODE_CTRL_DEPS,
  NODE_DATA_DEPS,
  NODE_START,
  NODE_DURATION
};
enum { NODE_ATTR = 10 };
enum { ATTR_NAME = 1, ATTR_DOUBLE = 3, ATTR_FLOAT = 5, ATTR_TEXT = 29, ATTR_BOOLS = 28 };
enum { MOST_DIMS = 16, MOST_RANK = 1 << 24 };

/* By the number of NodeType. */
static const OrrGraphKind kinds[] = {ORR_GRAPH_EMPTY,   ORR_GRAPH_EMPTY,      ORR_GRAPH_COMPUTE,
                                     ORR_GRAPH_COMPUTE, ORR_GRAPH_COMPUTE,    ORR_GRAPH_SEND,
                                     ORR_GRAPH_RECV,    ORR_GRAPH_COLLECTIVE, ORR_GRAPH_HOST,
                                     ORR_GRAPH_HOST,    ORR_GRAPH_HOST};
enum { TYPE_MEM_LOAD = 2, TYPE_MEM_STORE = 3, TYPE_STORAGE = 8 };

/* By the number of CollectiveCommType; -1: no collective of ours. A barrier is an all-reduce of
 * one number, as in NCCL; REDUCE_SCATTER_BLOCK is MPI's name of a reduce-scatter of equal parts. */
static const int collectives[] = {
    ORR_ALL_REDUCE,     ORR_REDUCE,         ORR_ALL_GATHER, -1, -1, ORR_BROADCAST, ORR_ALL_TO_ALL,
    ORR_REDUCE_SCATTER, ORR_REDUCE_SCATTER, ORR_ALL_REDUCE};
enum { COLLECTIVE_BARRIER = 9, BARRIER_BYTES = 4 };

/* What a node's attributes say. */
typedef struct {
  gboolean is_host, has_type, has_size, has_peer[2];
  double type, size, peers[2], tag, flops, bytes, stream, thread;
  char *group;
  gboolean dims[MOST_DIMS];
  guint n_dims;
} Attributes;

typedef struct {
  OrrWorkGraph *graph;
  OrrGraphRank *rank;
  guint32 number; /* of the rank */
  const OrrEtDims *dims;
  GArray *ids; /* of guint64 */
} Reader;

/* --- Attributes --- */

typedef struct {
  const guint8 *name;
  gsize name_length;
  OrrProtobufField value;
} Attribute;

static gboolean is_named(const Attribute *attribute, const char *name) {
  return attribute->name_length == strlen(name) &&
         memcmp(attribute->name, name, attribute->name_length) == 0;
}

/* int32_val .. sfixed64_val and bool_val have odd numbers; sint has zigzag. */
static double number_of(const OrrProtobufField *value) {
  const gboolean is_zigzag = value->field == 15 || value->field == 17;
  const gboolean is_unsigned = value->field == 11 || value->field == 13 || value->field == 21;
  if (value->field == ATTR_DOUBLE && value->type == ORR_PROTOBUF_8)
    return orr_protobuf_double(value->number);
  if (value->field == ATTR_FLOAT && value->type == ORR_PROTOBUF_4)
    return orr_protobuf_float(value->number);
  if (value->type == ORR_PROTOBUF_BYTES) {
    g_autofree char *text = g_strndup((const char *)value->data, MIN(value->length, 40));
    char *end;
    const double number = g_ascii_strtod(text, &end);
    return *text && *end == '\0' ? number : NAN;
  }
  if (is_zigzag) return (double)orr_protobuf_zigzag(value->number);
  return is_unsigned ? (double)value->number : (double)(gint64)value->number;
}

/* Packed bools, or one by one. */
static void read_dims(const OrrProtobufField *value, Attributes *to) {
  OrrProtobuf list =
      orr_protobuf_of(value->data, value->type == ORR_PROTOBUF_BYTES ? value->length : 0);
  OrrProtobufField field;
  while (orr_protobuf_next(&list, &field)) {
    OrrProtobuf packed =
        orr_protobuf_of(field.data, field.type == ORR_PROTOBUF_BYTES ? field.length : 0);
    guint64 is_involved = field.number;
    if (field.type == ORR_PROTOBUF_VARINT && to->n_dims < MOST_DIMS)
      to->dims[to->n_dims++] = is_involved != 0;
    while (packed.at < packed.end && orr_protobuf_varint(&packed, &is_involved))
      if (to->n_dims < MOST_DIMS) to->dims[to->n_dims++] = is_involved != 0;
  }
}

static char *text_of(const guint8 *data, gsize length) {
  g_autofree char *text = g_strndup((const char *)data, length);
  return g_utf8_make_valid(text, -1);
}

static void take(const Attribute *attribute, Attributes *to) {
  const OrrProtobufField *value = &attribute->value;
  const struct {
    const char *name;
    double *number;
    gboolean *is_given;
  } numbers[] = {{"comm_type", &to->type, &to->has_type},
                 {"comm_size", &to->size, &to->has_size},
                 {"comm_src", &to->peers[0], &to->has_peer[0]},
                 {"comm_dst", &to->peers[1], &to->has_peer[1]},
                 {"comm_tag", &to->tag, NULL},
                 {"num_ops", &to->flops, NULL},
                 {"tensor_size", &to->bytes, NULL},
                 {"stream", &to->stream, NULL},
                 {"tid", &to->thread, NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
    if (is_named(attribute, numbers[i].name)) {
      *numbers[i].number = number_of(value);
      if (numbers[i].is_given) *numbers[i].is_given = TRUE;
    }
  if (is_named(attribute, "is_cpu_op")) to->is_host = number_of(value) > 0;
  if (is_named(attribute, "involved_dim")) read_dims(value, to);
  if (!is_named(attribute, "pg_name")) return;
  g_free(to->group);
  to->group = value->type == ORR_PROTOBUF_BYTES ? text_of(value->data, value->length)
                                                : g_strdup_printf("%.0f", number_of(value));
}

static gboolean read_attribute(const OrrProtobufField *message, Attributes *to) {
  OrrProtobuf wire = orr_protobuf_of(message->data, message->length);
  OrrProtobufField field;
  Attribute attribute = {0};
  while (orr_protobuf_next(&wire, &field)) {
    if (field.field == ATTR_NAME && field.type == ORR_PROTOBUF_BYTES) {
      attribute.name = field.data;
      attribute.name_length = field.length;
    } else if (field.field >= ATTR_DOUBLE) {
      attribute.value = field;
    }
  }
  if (attribute.name && attribute.value.field) take(&attribute, to);
  return !wire.is_bad;
}

/* --- Nodes --- */

/* repeated uint64: packed, or one by one */
static gboolean read_deps(const OrrProtobufField *field, GArray *ids, guint *n_deps) {
  OrrProtobuf packed =
      orr_protobuf_of(field->data, field->type == ORR_PROTOBUF_BYTES ? field->length : 0);
  guint64 id = field->number;
  if (field->type == ORR_PROTOBUF_VARINT) {
    g_array_append_val(ids, id);
    (*n_deps)++;
  }
  while (packed.at < packed.end && orr_protobuf_varint(&packed, &id)) {
    g_array_append_val(ids, id);
    (*n_deps)++;
  }
  return !packed.is_bad;
}

#define ID "%" G_GUINT64_FORMAT

static gboolean wrong(const OrrGraphNode *node, GError **error, const char *what) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "node " ID " (%s): %s", node->id, node->name,
                       what);
}

/* A number that a document may hold: not negative, and finite. */
static gboolean is_amount(double number) { return number >= 0 && number < 1e18; }

/* The group along the involved dimensions is named by the coordinates along the others. */
static gboolean find_dims_group(Reader *reader, OrrGraphNode *node, const Attributes *from,
                                GError **error) {
  gboolean all = TRUE;
  for (guint i = 0; i < from->n_dims; i++) all = all && from->dims[i];
  node->group = ORR_GRAPH_ALL;
  if (all) return TRUE;
  if (reader->dims->n == 0)
    return wrong(node, error,
                 "its involved_dim leaves a dimension out, and a trace has no sizes of dimensions: "
                 "give workload.dims, ASTRA-sim's npus_count");
  g_autoptr(GString) name = g_string_new("dims");
  double rest = reader->number;
  for (guint i = 0; i < reader->dims->n; i++) {
    const double size = reader->dims->sizes[i], at = fmod(rest, size);
    const gboolean is_involved = i >= from->n_dims || from->dims[i];
    if (is_involved)
      g_string_append(name, " *");
    else
      g_string_append_printf(name, " %.0f", at);
    rest = floor(rest / size);
  }
  node->group = orr_work_graph_group(reader->graph, name->str);
  return TRUE;
}

static gboolean take_collective(Reader *reader, OrrGraphNode *node, const Attributes *from,
                                GError **error) {
  if (!from->has_type || !(from->type >= 0 && from->type < G_N_ELEMENTS(collectives)))
    return wrong(node, error, "a collective needs comm_type, 0 to 9");
  const guint type = (guint)from->type;
  if (collectives[type] < 0)
    return wrong(node, error, "gather and scatter are not simulated: NCCL has neither");
  if (type != COLLECTIVE_BARRIER && !(from->has_size && is_amount(from->size)))
    return wrong(node, error, "a collective needs comm_size, from 0 on");
  node->op = (guint8)collectives[type];
  node->bytes = type == COLLECTIVE_BARRIER ? BARRIER_BYTES : from->size;
  if (!from->group || !*from->group) return find_dims_group(reader, node, from, error);
  node->group = orr_work_graph_group(reader->graph, from->group);
  return TRUE;
}

static gboolean take_send(const Reader *reader, OrrGraphNode *node, const Attributes *from,
                          GError **error) {
  const gboolean is_send = node->kind == ORR_GRAPH_SEND;
  const double peer = from->peers[is_send], own = from->peers[!is_send];
  if (!from->has_peer[is_send] || !(peer >= 0 && peer < MOST_RANK))
    return wrong(node, error,
                 is_send ? "a send needs comm_dst, a rank" : "a receive needs comm_src, a rank");
  if (from->has_peer[!is_send] && own != reader->number)
    return wrong(node, error,
                 is_send ? "its comm_src is another rank than the file's"
                         : "its comm_dst is another rank than the file's");
  if (peer == reader->number) return wrong(node, error, "a rank sends nothing to itself");
  if (!from->has_size || !is_amount(from->size))
    return wrong(node, error, "a send or receive needs comm_size, from 0 on");
  if (!(fabs(from->tag) < 1e15)) return wrong(node, error, "comm_tag is not a number");
  node->op = ORR_SEND_RECV;
  node->bytes = from->size;
  node->peer = (guint32)peer;
  node->tag = (gint64)from->tag;
  return TRUE;
}

static gboolean take_compute(Reader *reader, OrrGraphNode *node, guint type, const Attributes *from,
                             GError **error) {
  if (!is_amount(from->flops) || !is_amount(from->bytes))
    return wrong(node, error, "num_ops and tensor_size are numbers from 0 on");
  if (from->is_host) node->kind = ORR_GRAPH_HOST;
  node->flops = from->flops;
  node->bytes = from->bytes;
  const double queue = node->kind == ORR_GRAPH_HOST ? from->thread : from->stream;
  node->queue = is_amount(queue) ? (guint64)queue : 0;
  if (type == TYPE_MEM_LOAD || type == TYPE_MEM_STORE)
    orr_work_graph_note(reader->graph, "nodes of remote memory (MEM_LOAD, MEM_STORE) take their "
                                       "recorded time, else the device's own memory bandwidth");
  if (type >= TYPE_STORAGE)
    orr_work_graph_note(reader->graph, "nodes of storage, batches and checkpoints take their "
                                       "recorded time on the host");
  return TRUE;
}

static gboolean finish_node(Reader *reader, OrrGraphNode *node, guint64 type,
                            const Attributes *attributes, GError **error) {
  if (type >= G_N_ELEMENTS(kinds))
    return wrong(node, error, "unknown type of node (known: 0 to 10, as in et_def.proto)");
  node->kind = (guint8)kinds[type];
  if (node->kind >= ORR_GRAPH_SEND && attributes->is_host) {
    orr_work_graph_note(reader->graph, "communication operators of the host (is_cpu_op) take their "
                                       "recorded time on the host: kernels communicate");
    node->kind = ORR_GRAPH_HOST;
  }
  if (node->kind == ORR_GRAPH_COLLECTIVE) return take_collective(reader, node, attributes, error);
  if (node->kind == ORR_GRAPH_SEND || node->kind == ORR_GRAPH_RECV)
    return take_send(reader, node, attributes, error);
  if (node->kind == ORR_GRAPH_EMPTY) return TRUE;
  return take_compute(reader, node, (guint)type, attributes, error);
}

static gboolean read_field(Reader *reader, const OrrProtobufField *field, OrrGraphNode *node,
                           guint64 *type, Attributes *attributes) {
  const gboolean is_number = field->type == ORR_PROTOBUF_VARINT;
  switch (field->field) {
  case NODE_ID:
    node->id = field->number;
    return is_number;
  case NODE_TYPE:
    *type = field->number;
    return is_number;
  case NODE_START:
    node->start_us = (gint64)MIN(field->number, (guint64)1 << 60);
    return is_number;
  case NODE_DURATION:
    node->seconds = (double)field->number * 1e-6;
    return is_number;
  case NODE_CTRL_DEPS:
  case NODE_DATA_DEPS:
    return read_deps(field, reader->ids, &node->n_deps);
  case NODE_ATTR:
    return field->type == ORR_PROTOBUF_BYTES && read_attribute(field, attributes);
  case NODE_NAME: {
    if (field->type != ORR_PROTOBUF_BYTES) return FALSE;
    g_autofree char *name = text_of(field->data, field->length);
    node->name = g_string_chunk_insert_const(reader->graph->names, name);
    return TRUE;
  }
  default:
    return TRUE; /* inputs, outputs, storage */
  }
}

static gboolean read_node(Reader *reader, const guint8 *data, gsize length, GError **error) {
  OrrProtobuf wire = orr_protobuf_of(data, length);
  OrrProtobufField field;
  OrrGraphNode node = {.name = "", .first_dep = reader->ids->len, .group = ORR_GRAPH_ALL};
  Attributes attributes = {0};
  guint64 type = 0;
  gboolean is_good = TRUE;
  while (is_good && orr_protobuf_next(&wire, &field))
    is_good = read_field(reader, &field, &node, &type, &attributes);
  is_good = is_good && !wire.is_bad;
  if (!is_good) wrong(&node, error, "its bytes are not a message of type Node");
  if (is_good) is_good = finish_node(reader, &node, type, &attributes, error);
  g_free(attributes.group);
  if (is_good) g_array_append_val(reader->rank->nodes, node);
  return is_good;
}

/* --- Files --- */

static gboolean read_messages(Reader *reader, const void *data, gsize length, GError **error) {
  OrrProtobuf wire = orr_protobuf_of(data, length);
  for (guint i = 0; wire.at < wire.end; i++) {
    const gsize offset = (gsize)(wire.at - (const guint8 *)data);
    guint64 size;
    if (!orr_protobuf_varint(&wire, &size) || size > (guint64)(wire.end - wire.at))
      return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                           "byte %" G_GSIZE_FORMAT
                           ": not a stream of Chakra messages, or the file ends within one",
                           offset);
    if (i > 0 && !read_node(reader, wire.at, (gsize)size, error)) {
      g_prefix_error(error, "byte %" G_GSIZE_FORMAT ": ", offset);
      return FALSE;
    }
    wire.at += size;
  }
  return reader->rank->nodes->len > 0 ||
         orr_fault_set(error, ORR_FAULT_DOCUMENT, "the trace has no nodes");
}

gboolean orr_et_read(OrrWorkGraph *graph, const void *data, gsize length, const char *file,
                     const OrrEtDims *dims, GError **error) {
  const guint32 number = graph->ranks->len;
  Reader reader = {.graph = graph,
                   .number = number,
                   .rank = orr_work_graph_add_rank(graph, file),
                   .dims = dims,
                   .ids = g_array_new(FALSE, FALSE, sizeof(guint64))};
  const gboolean is_read = read_messages(&reader, data, length, error) &&
                           orr_work_graph_resolve(reader.rank, reader.ids, error);
  g_array_unref(reader.ids);
  if (!is_read) g_prefix_error(error, "%s: ", file);
  return is_read;
}
