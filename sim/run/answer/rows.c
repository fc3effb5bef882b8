/*
 * rows.c - the field tables of all rows, made from the descriptions in rows.inc.
 */
#include "sim/run/answer/rows.h"

#define KIND_INT .kind = ORR_FIELD_INT, .flags = ORR_FIELD_OPTIONAL
#define KIND_RUN .kind = ORR_FIELD_INT, .flags = ORR_FIELD_RUN
#define KIND_REAL .kind = ORR_FIELD_REAL, .flags = ORR_FIELD_OPTIONAL
#define KIND_BOOL .kind = ORR_FIELD_BOOL, .flags = ORR_FIELD_OPTIONAL
#define KIND_TEXT .kind = ORR_FIELD_TEXT, .flags = ORR_FIELD_OPTIONAL

#define RECORD(table_, sentence_)                                                                  \
  static const char table_##_sentence[] = sentence_;                                               \
  static const OrrField table_##_fields[] = {
#define COLUMN(name_, type_, member_, unit_, sentence_)                                            \
  {.name = name_,                                                                                  \
   .offset = offsetof(ROW, member_),                                                               \
   .sentence = sentence_,                                                                          \
   .unit = ORR_UNIT_##unit_,                                                                       \
   KIND_##type_},
#define LATENCIES(name_, member_, sentence_)                                                       \
  COLUMN(name_ "-mean-s", REAL, member_.mean, SECONDS, sentence_ ", mean.")                        \
  COLUMN(name_ "-p50-s", REAL, member_.p50, SECONDS, sentence_ ", median.")                        \
  COLUMN(name_ "-p90-s", REAL, member_.p90, SECONDS, sentence_ ", 90th percentile.")               \
  COLUMN(name_ "-p95-s", REAL, member_.p95, SECONDS, sentence_ ", 95th percentile.")               \
  COLUMN(name_ "-p99-s", REAL, member_.p99, SECONDS, sentence_ ", 99th percentile.")
#define END(table_)                                                                                \
  }                                                                                                \
  ;                                                                                                \
  const OrrFieldTable orr_##table_##_table =                                                       \
      ORR_FIELD_TABLE(#table_, table_##_sentence, ROW, table_##_fields);
#include "sim/run/answer/rows.inc"

const OrrFieldTable *const orr_row_tables[] = {
#define RECORD(table, sentence) &orr_##table##_table,
#include "sim/run/answer/rows.inc"
    NULL};
