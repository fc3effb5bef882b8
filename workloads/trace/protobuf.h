/*
 * protobuf.h - the encoding of protobuf, as far as Chakra's traces need it: reads and writes fields
 * by number, without a schema compiler.
 *
 * A message is a series of fields: a varint (field number << 3 | type), then the value. Types: 0 a
 * varint, 1 eight bytes, 2 a length and as many bytes (texts, messages, packed lists), 5 four
 * bytes. Source: protobuf.dev, "Encoding". libprotobuf-c does the same with generated code; it
 * would be a package and a compiler more for the three messages that a trace consists of.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  const guint8 *at, *end;
  gboolean is_bad; /* the bytes are not a message; nothing follows */
} OrrProtobuf;

typedef enum {
  ORR_PROTOBUF_VARINT = 0,
  ORR_PROTOBUF_8 = 1,
  ORR_PROTOBUF_BYTES = 2,
  ORR_PROTOBUF_4 = 5
} OrrProtobufType;

typedef struct {
  guint32 field;
  OrrProtobufType type;
  guint64 number;     /* VARINT, and the bits of 8 and 4 */
  const guint8 *data; /* BYTES; borrowed */
  gsize length;
} OrrProtobufField;

OrrProtobuf orr_protobuf_of(const void *data, gsize length);
/* FALSE at the end, and where the bytes are bad. */
gboolean orr_protobuf_next(OrrProtobuf *wire, OrrProtobufField *ret_field);
gboolean orr_protobuf_varint(OrrProtobuf *wire, guint64 *ret_number); /* one varint alone */

double orr_protobuf_double(guint64 bits); /* of ORR_PROTOBUF_8 */
double orr_protobuf_float(guint64 bits);  /* of ORR_PROTOBUF_4 */
gint64 orr_protobuf_zigzag(guint64 number);

/* Appends to a message. */
void orr_protobuf_put_varint(GByteArray *out, guint64 number);
void orr_protobuf_put_number(GByteArray *out, guint32 field, guint64 number);
void orr_protobuf_put_bytes(GByteArray *out, guint32 field, const void *data, gsize length);
void orr_protobuf_put_text(GByteArray *out, guint32 field, const char *text);
