/*
 * et_json.c - JSON of Chakra becomes the bytes of its protobuf (et.h), which et_read.c reads.
 * Source: mlcommons/chakra, src/jsonizer; protobuf's JSON mapping.
 */
#include "sim/base/json.h"
#include "workloads/trace/et.h"
#include "workloads/trace/protobuf.h"

/* What a field's value is. */
typedef enum { NUMBER, NUMBERS, TEXT, TYPE, BOOLEANS, ATTRIBUTES } Shape;

typedef struct {
  const char *name; /* in lower case, without underscores */
  guint32 field;
  Shape shape;
} Field;

static const Field node_fields[] = {{"id", 1, NUMBER},
                                    {"name", 2, TEXT},
                                    {"type", 3, TYPE},
                                    {"ctrldeps", 4, NUMBERS},
                                    {"datadeps", 5, NUMBERS},
                                    {"starttimemicros", 6, NUMBER},
                                    {"durationmicros", 7, NUMBER},
                                    {"attr", 10, ATTRIBUTES}};

/* A number with a fraction, as tensor sizes never are, is rounded. */
static const Field attribute_fields[] = {{"name", 1, TEXT},          {"doubleval", 9, NUMBER},
                                         {"floatval", 9, NUMBER},    {"int32val", 7, NUMBER},
                                         {"int64val", 9, NUMBER},    {"uint32val", 11, NUMBER},
                                         {"uint64val", 13, NUMBER},  {"boolval", 27, NUMBER},
                                         {"boollist", 28, BOOLEANS}, {"stringval", 29, TEXT}};

static const Field list_fields[] = {{"values", 1, NUMBERS}};

/* By the number of NodeType. */
static const char *const types[] = {"INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE",
                                    "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
                                    "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",
                                    "BATCH_NODE",     "CHECKPOINT_NODE"};

typedef struct {
  OrrJson *json;
  const Field *fields;
  guint n;
} Message;

static const Field *find(const Message *message, const char *key) {
  g_autoptr(GString) plain = g_string_new(NULL);
  for (const char *at = key; *at; at++)
    if (*at != '_') g_string_append_c(plain, g_ascii_tolower(*at));
  for (guint i = 0; i < message->n; i++)
    if (g_str_equal(plain->str, message->fields[i].name)) return &message->fields[i];
  return NULL;
}

/* A number, one in quotes, true or false. */
static guint64 read_number(OrrJson *json) {
  const char first = orr_json_peek(json);
  double number = 0;
  if (first == 't' || first == 'f') {
    orr_json_skip(json);
    return first == 't';
  }
  const OrrPlace place = orr_json_place(json);
  if (orr_json_number(json, &number) && !(fabs(number) < 9e15))
    orr_diags_error(json->diags, place, "numbers are whole and below 9e15, found %g", number);
  return fabs(number) < 9e15 ? (guint64)(gint64)llround(number) : 0;
}

static void put_numbers(OrrJson *json, guint32 field, GByteArray *out) {
  orr_json_open(json);
  while (orr_json_more(json)) orr_protobuf_put_number(out, field, read_number(json));
}

static void put_text(OrrJson *json, guint32 field, GByteArray *out) {
  g_autofree char *text = orr_json_text(json);
  if (text) orr_protobuf_put_text(out, field, text);
}

static void put_type(OrrJson *json, guint32 field, GByteArray *out) {
  const OrrPlace place = orr_json_place(json);
  g_autofree char *text = orr_json_text(json);
  for (guint i = 0; text && i < G_N_ELEMENTS(types); i++)
    if (g_str_equal(text, types[i])) return orr_protobuf_put_number(out, field, i);
  if (text)
    orr_diags_error(json->diags, place,
                    "type '%.40s' is not known (known: COMP_NODE, COMM_COLL_NODE, COMM_SEND_NODE, "
                    "COMM_RECV_NODE and other names of Chakra's NodeType)",
                    text);
}

static void put_message(OrrJson *json, const Field *fields, guint n, GByteArray *out);

static void put_inner(OrrJson *json, const Field *field, GByteArray *out) {
  g_autoptr(GByteArray) inner = g_byte_array_new();
  if (field->shape == BOOLEANS)
    put_message(json, list_fields, G_N_ELEMENTS(list_fields), inner);
  else
    put_message(json, attribute_fields, G_N_ELEMENTS(attribute_fields), inner);
  orr_protobuf_put_bytes(out, field->field, inner->data, inner->len);
}

static void put_field(OrrJson *json, const Field *field, GByteArray *out) {
  switch (field->shape) {
  case NUMBER:
    orr_protobuf_put_number(out, field->field, read_number(json));
    break;
  case NUMBERS:
    put_numbers(json, field->field, out);
    break;
  case TEXT:
    put_text(json, field->field, out);
    break;
  case TYPE:
    put_type(json, field->field, out);
    break;
  case BOOLEANS:
    put_inner(json, field, out);
    break;
  case ATTRIBUTES:
    orr_json_open(json);
    while (orr_json_more(json)) put_inner(json, field, out);
  }
}

/* The fields of an object, in its order; unknown ones are skipped, as protobuf does. */
static void put_message(OrrJson *json, const Field *fields, guint n, GByteArray *out) {
  const Message message = {json, fields, n};
  orr_json_open(json);
  while (orr_json_more(json)) {
    g_autofree char *key = orr_json_key(json);
    const Field *field = find(&message, key);
    if (field)
      put_field(json, field, out);
    else
      orr_json_skip(json);
  }
}

GByteArray *orr_et_json_read(const char *text, gsize length, const char *file, GError **error) {
  g_autoptr(GByteArray) out = g_byte_array_new();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrJson json = orr_json_begin(text, length, file, diags);
  while (!json.is_bad && orr_json_peek(&json)) {
    g_autoptr(GByteArray) message = g_byte_array_new();
    put_message(&json, node_fields, G_N_ELEMENTS(node_fields), message);
    if (out->len == 0 && message->len > 0) orr_protobuf_put_varint(out, 0); /* no metadata */
    orr_protobuf_put_varint(out, message->len);
    g_byte_array_append(out, message->data, message->len);
  }
  return orr_diags_check(diags, error) ? g_steal_pointer(&out) : NULL;
}
