/*
 * protobuf.c - reads and writes the fields of messages (protobuf.h).
 */
#include "workloads/trace/protobuf.h"

enum { MOST_VARINT = 10 }; /* bytes of 64 bits, seven each */

OrrProtobuf orr_protobuf_of(const void *data, gsize length) {
  const guint8 *at = data ? data : (const guint8 *)""; /* an absent field: no bytes */
  return (OrrProtobuf){at, at + length, FALSE};
}

static gboolean bad(OrrProtobuf *wire) {
  wire->is_bad = TRUE;
  return FALSE;
}

gboolean orr_protobuf_varint(OrrProtobuf *wire, guint64 *ret_number) {
  guint64 number = 0;
  for (int i = 0; i < MOST_VARINT && wire->at < wire->end; i++) {
    const guint8 byte = *wire->at++;
    number |= (guint64)(byte & 0x7f) << (7 * i);
    if (byte & 0x80) continue;
    *ret_number = number;
    return TRUE;
  }
  return bad(wire);
}

/* Little-endian. */
static gboolean fixed(OrrProtobuf *wire, guint n, guint64 *ret_number) {
  guint64 number = 0;
  if ((gsize)(wire->end - wire->at) < n) return bad(wire);
  for (guint i = 0; i < n; i++) number |= (guint64)wire->at[i] << (8 * i);
  wire->at += n;
  *ret_number = number;
  return TRUE;
}

static gboolean bytes(OrrProtobuf *wire, OrrProtobufField *field) {
  guint64 length;
  if (!orr_protobuf_varint(wire, &length)) return FALSE;
  if (length > (guint64)(wire->end - wire->at)) return bad(wire);
  field->data = wire->at;
  field->length = (gsize)length;
  wire->at += length;
  return TRUE;
}

gboolean orr_protobuf_next(OrrProtobuf *wire, OrrProtobufField *ret_field) {
  guint64 key;
  if (wire->is_bad || wire->at >= wire->end || !orr_protobuf_varint(wire, &key)) return FALSE;
  *ret_field = (OrrProtobufField){.field = (guint32)(key >> 3), .type = (OrrProtobufType)(key & 7)};
  if (key >> 3 == 0 || key >> 3 > G_MAXUINT32) return bad(wire);
  switch (ret_field->type) {
  case ORR_PROTOBUF_VARINT:
    return orr_protobuf_varint(wire, &ret_field->number);
  case ORR_PROTOBUF_8:
    return fixed(wire, 8, &ret_field->number);
  case ORR_PROTOBUF_4:
    return fixed(wire, 4, &ret_field->number);
  case ORR_PROTOBUF_BYTES:
    return bytes(wire, ret_field);
  }
  return bad(wire);
}

double orr_protobuf_double(guint64 bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

double orr_protobuf_float(guint64 bits) {
  const guint32 half = (guint32)bits;
  float value;
  memcpy(&value, &half, sizeof value);
  return value;
}

gint64 orr_protobuf_zigzag(guint64 number) { return (gint64)(number >> 1) ^ -(gint64)(number & 1); }

void orr_protobuf_put_varint(GByteArray *out, guint64 number) {
  do {
    const guint8 byte = (guint8)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    g_byte_array_append(out, &byte, 1);
    number >>= 7;
  } while (number > 0);
}

void orr_protobuf_put_number(GByteArray *out, guint32 field, guint64 number) {
  orr_protobuf_put_varint(out, (guint64)field << 3 | ORR_PROTOBUF_VARINT);
  orr_protobuf_put_varint(out, number);
}

void orr_protobuf_put_bytes(GByteArray *out, guint32 field, const void *data, gsize length) {
  orr_protobuf_put_varint(out, (guint64)field << 3 | ORR_PROTOBUF_BYTES);
  orr_protobuf_put_varint(out, length);
  g_byte_array_append(out, data, (guint)length);
}

void orr_protobuf_put_text(GByteArray *out, guint32 field, const char *text) {
  orr_protobuf_put_bytes(out, field, text, strlen(text));
}
