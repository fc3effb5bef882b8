/*
 * field_macros.h - how a table of fields is written (field.h).
 */
#pragma once

#include "sim/base/ground.h"

/* A table of the fields that follow, or of an array of fields. */
#define ORR_FIELDS(name_, sentence_, type_, ...)                                                   \
  {                                                                                                \
    .name = (name_), .sentence = (sentence_), .size = sizeof(type_),                               \
    .fields = (const OrrField[]){__VA_ARGS__},                                                     \
    .n_fields = sizeof((const OrrField[]){__VA_ARGS__}) / sizeof(OrrField)                         \
  }
#define ORR_FIELD_TABLE(name_, sentence_, type_, fields_)                                          \
  {                                                                                                \
    .name = (name_), .sentence = (sentence_), .size = sizeof(type_), .fields = (fields_),          \
    .n_fields = G_N_ELEMENTS(fields_)                                                              \
  }

/*
 * One macro per kind, named as the kind, so that a field reads in one line:
 *
 *   ORR_FIELD_INT(OrrBatch, "micro", micro, "1", "Sequences of a micro-batch.", .min = 1),
 *   ORR_FIELD_REAL(OrrNic, "latency", latency_s, ORR_UNIT_SECONDS, "1 us", "GPU to GPU."),
 *
 * The arguments are the struct, the key, the member, what the kind needs (unit, words, registry or
 * table), the default, the sentence, then any other member of OrrField by its name. The default is
 * text; or NULL, and the field is required; or NULL with `.flags = ORR_FIELD_OPTIONAL`. A member
 * whose C type is not the kind's does not compile.
 */
#define ORR_FIELD_BOOL(type_, key_, member_, fallback_, ...)                                       \
  ORR_FIELD_MAKE(ORR_FIELD_BOOL, key_, ORR_FIELD_AT(type_, member_, gboolean : 0), fallback_,      \
                 __VA_ARGS__)
#define ORR_FIELD_INT(type_, key_, member_, fallback_, ...)                                        \
  ORR_FIELD_MAKE(ORR_FIELD_INT, key_, ORR_FIELD_AT(type_, member_, gint64 : 0), fallback_,         \
                 __VA_ARGS__)
#define ORR_FIELD_REAL(type_, key_, member_, unit_, fallback_, ...)                                \
  ORR_FIELD_MAKE(ORR_FIELD_REAL, key_, ORR_FIELD_AT(type_, member_, double : 0), fallback_,        \
                 __VA_ARGS__, .unit = (unit_))
#define ORR_FIELD_TEXT(type_, key_, member_, fallback_, ...)                                       \
  ORR_FIELD_MAKE(ORR_FIELD_TEXT, key_, ORR_FIELD_AT(type_, member_, char * : 0, const char * : 0), \
                 fallback_, __VA_ARGS__)
#define ORR_FIELD_WORD(type_, key_, member_, words_, fallback_, ...)                               \
  ORR_FIELD_MAKE(ORR_FIELD_WORD, key_, ORR_FIELD_AT(type_, member_, int : 0, guint : 0),           \
                 fallback_, __VA_ARGS__, .words = (words_))
#define ORR_FIELD_CHOICE(type_, key_, member_, registry_, fallback_, ...)                          \
  ORR_FIELD_MAKE(ORR_FIELD_CHOICE, key_, ORR_FIELD_AT(type_, member_, OrrChoice : 0), fallback_,   \
                 __VA_ARGS__, .registry = (registry_))
#define ORR_FIELD_SECTION(type_, key_, member_, table_, fallback_, ...)                            \
  ORR_FIELD_MAKE(ORR_FIELD_SECTION, key_, offsetof(type_, member_), fallback_, __VA_ARGS__,        \
                 .table = (table_))
#define ORR_FIELD_TEXTS(type_, key_, member_, fallback_, ...)                                      \
  ORR_FIELD_MAKE(ORR_FIELD_TEXTS, key_, ORR_FIELD_AT(type_, member_, char ** : 0), fallback_,      \
                 __VA_ARGS__)
#define ORR_FIELD_REALS(type_, key_, member_, unit_, fallback_, ...)                               \
  ORR_FIELD_MAKE(ORR_FIELD_REALS, key_, ORR_FIELD_AT(type_, member_, GArray * : 0), fallback_,     \
                 __VA_ARGS__, .unit = (unit_))
#define ORR_FIELD_SECTIONS(type_, key_, member_, table_, fallback_, ...)                           \
  ORR_FIELD_MAKE(ORR_FIELD_SECTIONS, key_, ORR_FIELD_AT(type_, member_, GPtrArray * : 0),          \
                 fallback_, __VA_ARGS__, .table = (table_))
#define ORR_FIELD_TREE(type_, key_, member_, fallback_, ...)                                       \
  ORR_FIELD_MAKE(ORR_FIELD_TREE, key_, ORR_FIELD_AT(type_, member_, OrrNode * : 0), fallback_,     \
                 __VA_ARGS__)

/* The same with `.flags`: numbers of 0 or more, and above 0; a table that may be absent. */
#define ORR_UNSIGNED_INT(...) ORR_FIELD_INT(__VA_ARGS__, .flags = ORR_FIELD_UNSIGNED)
#define ORR_UNSIGNED_REAL(...) ORR_FIELD_REAL(__VA_ARGS__, .flags = ORR_FIELD_UNSIGNED)
#define ORR_POSITIVE_INT(...) ORR_FIELD_INT(__VA_ARGS__, .flags = ORR_FIELD_POSITIVE)
#define ORR_POSITIVE_REAL(...) ORR_FIELD_REAL(__VA_ARGS__, .flags = ORR_FIELD_POSITIVE)
#define ORR_OPTIONAL_SECTION(type_, key_, member_, table_, ...)                                    \
  ORR_FIELD_SECTION(type_, key_, member_, table_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)
#define ORR_OPTIONAL_SECTIONS(type_, key_, member_, table_, ...)                                   \
  ORR_FIELD_SECTIONS(type_, key_, member_, table_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)

/* A column of a result row, or an optional key: a field without a default. The database holds NULL
 * where it is absent.
 * For a column that is never NULL, write ORR_FIELD_INT(..., NULL, "Sentence.") and so on. */
#define ORR_COLUMN_BOOL(type_, key_, member_, ...)                                                 \
  ORR_FIELD_BOOL(type_, key_, member_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)
#define ORR_COLUMN_INT(type_, key_, member_, ...)                                                  \
  ORR_FIELD_INT(type_, key_, member_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)
#define ORR_COLUMN_REAL(type_, key_, member_, unit_, ...)                                          \
  ORR_FIELD_REAL(type_, key_, member_, unit_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)
#define ORR_COLUMN_TEXT(type_, key_, member_, ...)                                                 \
  ORR_FIELD_TEXT(type_, key_, member_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)
#define ORR_COLUMN_WORD(type_, key_, member_, words_, ...)                                         \
  ORR_FIELD_WORD(type_, key_, member_, words_, NULL, __VA_ARGS__, .flags = ORR_FIELD_OPTIONAL)

/* For the macros above: the sentence is the first of `...`; _Generic adds 0 to the offset where
 * the member has one of the types listed (an enum counts as guint), and is an error where it has
 * not. */
#define ORR_FIELD_MAKE(kind_, key_, offset_, fallback_, ...)                                       \
  {                                                                                                \
    .name = (key_), .kind = kind_, .offset = (offset_), .fallback = (fallback_),                   \
    .sentence = __VA_ARGS__                                                                        \
  }
#define ORR_FIELD_AT(type_, member_, ...)                                                          \
  (offsetof(type_, member_) + _Generic(((type_ *)0)->member_, __VA_ARGS__))
