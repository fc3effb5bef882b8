/*
 * field.h - field tables: each struct is described once.
 *
 * A document section or a result row has one table, which serves to read it from a tree, check it,
 * fill in defaults (text that goes through the user's parser), dump it, address its members (`--set
 * a.b=c`, sweep axes), document it (Markdown, JSON Schema), and create and fill its SQL table
 * (results/).
 *
 *   const OrrFieldTable orr_batch_table = ORR_FIELDS(
 *       "batch", "Batch sizes.", OrrBatch,
 *       ORR_FIELD_INT(OrrBatch, "micro", micro, "1", "Sequences of a micro-batch.", .min = 1),
 *       ORR_FIELD_WORD(OrrBatch, "order", order, order_words, "random", "Order of sequences."));
 *
 * Member types by kind:
 *   BOOL       gboolean          true | false
 *   INT        gint64            with [min, max]; accepts 1_000 and 1e6
 *   REAL       double            a value of dimension @unit, with [min, max] in the base unit
 *   TEXT       char *            owned; NULL only where optional and absent
 *   WORD       int               an enum: index into @words (NULL-terminated)
 *   CHOICE     OrrChoice         an entry of @registry, with the entry's own parameters
 *   SECTION    struct            embedded, described by @table; with @document also a name in the
 *                                library (library.h)
 *   TEXTS      char **           list of scalars (NULL-terminated, owned; strv)
 *   REALS      GArray * of double, each of dimension @unit
 *   SECTIONS   GPtrArray *       of structs described by @table, each g_malloc'd; orr_field_clear
 *                                frees them
 *   TREE       OrrNode *         any tree, which its owner reads
 *
 * A field without @fallback is required, unless ORR_FIELD_OPTIONAL is set: then an absent member is
 * zero. Where zero is a valid value, choose a fallback out of range and say so in @sentence.
 */
#pragma once

#include <stddef.h>

#include "sim/base/field_macros.h"
#include "sim/base/node.h"
#include "sim/base/quantity.h"
#include "sim/base/registry.h"

typedef struct OrrLibrary OrrLibrary;

typedef enum {
  ORR_FIELD_BOOL,
  ORR_FIELD_INT,
  ORR_FIELD_REAL,
  ORR_FIELD_TEXT,
  ORR_FIELD_WORD,
  ORR_FIELD_CHOICE,
  ORR_FIELD_SECTION,
  ORR_FIELD_TEXTS,
  ORR_FIELD_REALS,
  ORR_FIELD_SECTIONS,
  ORR_FIELD_TREE
} OrrFieldKind;

enum {
  ORR_FIELD_OPTIONAL = 1 << 0, /* may be absent without a default */
  ORR_FIELD_POSITIVE = 1 << 1, /* INT, REAL: greater than 0 */
  ORR_FIELD_UNSIGNED = 1 << 2, /* INT, REAL: 0 or greater */
  ORR_FIELD_RUN =
      1 << 3 /* INT of a row: the number of a run (0: none), which a merge of databases renumbers */
};

typedef struct {
  const char *name; /* kebab-case in documents; SQL columns and JSON use the same with '_' */
  OrrFieldKind kind;
  size_t offset;        /* offsetof(struct, member) */
  const char *sentence; /* one sentence; a test checks that every field has one */
  const char *fallback; /* the default as text, or NULL */
  unsigned flags;
  OrrUnit unit;             /* REAL, REALS */
  double min, max;          /* INT, REAL: checked when min < max */
  const char *const *words; /* WORD */
  /* WORD, or NULL: pairs: {"fixed", "constant", NULL} reads fixed as constant */
  const char *const *aliases;
  const OrrRegistry *registry; /* CHOICE */
  const OrrFieldTable *table;  /* SECTION, SECTIONS */
  /* SECTION, SECTIONS, CHOICE, or NULL: the library kind ("device") whose documents `NAME` and
   * `base: NAME` refer to. A name that is both an entry and a document is the entry. TEXT: the name
   * of such a document, or a map that the table's owner has replaced by a name before reading. */
  const char *document;
} OrrField;

/* A key that documents once had, and the one that took its place. */
typedef struct {
  const char *name;    /* the old key, in this table */
  const char *instead; /* what to write now: "prices.gpu-hour" */
} OrrMovedKey;

struct OrrFieldTable {
  const char *name; /* "cluster", "training_result": the document kind or the SQL table */
  const char *sentence;
  size_t size; /* sizeof(struct) */
  const OrrField *fields;
  size_t n_fields;
  const OrrMovedKey *moved; /* refused with the new key; ends with a NULL name; NULL: none */
  const char *number;       /* the INT that a whole number in place of the map sets; NULL: none */
};

/* Reads the map @node into @out (table->size bytes, uninitialised). All errors go to @diags with
 * their place: unknown keys (with the nearest name), missing keys, wrong types, missing units,
 * values out of range. @library (may be NULL) resolves names and `base:` in document sections.
 * Afterwards @out is always valid for orr_field_clear. TRUE without errors. At the top of a
 * document the keys "schema" and "base" are skipped. */
gboolean orr_field_read(const OrrFieldTable *table, const OrrNode *node, OrrLibrary *library,
                        OrrDiags *diags, void *out);

/* The same for a document whose numbers may have bounds (uncertain.h): INT and REAL members take
 * {value, low, high} too. A member gets the value, and @uncertain, which may be NULL, an
 * OrrUncertain * with the path of the member. Elsewhere bounds are an error. */
gboolean orr_field_read_uncertain(const OrrFieldTable *table, const OrrNode *node,
                                  OrrLibrary *library, OrrDiags *diags, void *out,
                                  GPtrArray *uncertain);

/* Fills @out as if read from an empty map; required fields stay zero. */
void orr_field_defaults(const OrrFieldTable *table, void *out);

/* Frees what the members own, and zeroes them. */
void orr_field_clear(const OrrFieldTable *table, void *data);

/* The struct as a tree with every default filled in, in table order. Reading the tree gives an
 * equal struct. */
OrrNode *orr_field_dump(const OrrFieldTable *table, const void *data);

/* Sets the member at the dotted @path in the tree @root of a document that @table describes and
 * that has not been read yet. Creates missing maps; a section given as a name becomes {base:
 * name}, one given as a number {its table's key: number}, a choice given as a name {kind: name}.
 * @text is YAML flow text. FALSE with ORR_FAULT_USAGE for an unknown path (with the nearest name)
 * or a value that is not valid YAML. A path below a CHOICE is checked against the parameters of the
 * entry that the tree names; where the tree names none, it is accepted. */
gboolean orr_field_set(const OrrFieldTable *table, OrrNode *root, const char *path,
                       const char *text, GError **error);

/* The same with a value that is a tree; takes ownership of @value. */
gboolean orr_field_put(const OrrFieldTable *table, OrrNode *root, const char *path, OrrNode *value,
                       GError **error);

/* The field at the dotted @path of a struct that has been read, through sections and the
 * parameters of choices, and in *@ret_data the struct that holds its member. NULL where no such
 * field exists. */
const OrrField *orr_field_assign_member(const OrrFieldTable *table, void *data, const char *path,
                                        void **ret_data);

/* BOOL, INT, REAL or WORD: the member owns no memory and can be assigned. */
gboolean orr_field_is_plain(const OrrField *field);

/* Reads @node into the member of @data that the plain @field describes, as orr_field_read does.
 * FALSE with the reason in @diags, and the member unchanged. */
gboolean orr_field_assign(const OrrField *field, const OrrNode *node, OrrDiags *diags, void *data);

/* The member of @data as a number; FALSE where it is not a number. */
gboolean orr_field_number(const OrrField *field, const void *data, double *ret_value);

/* Calls @visit for each scalar member, in table order: "workload.parallel.tp", "8". */
typedef void (*OrrFieldVisit)(const char *path, const char *text, void *user);
void orr_field_flatten(const OrrFieldTable *table, const void *data, OrrFieldVisit visit,
                       void *user);

/* Calls @visit for each struct in @data that @section describes, however deep: in sections, lists
 * of sections and the parameters of choices, in table order; not for those inside such a struct. */
typedef void (*OrrFieldEach)(const void *section, void *user);
void orr_field_each(const OrrFieldTable *table, const void *data, const OrrFieldTable *section,
                    OrrFieldEach visit, void *user);

/* Text of one scalar member, as YAML would hold it. Newly allocated. */
char *orr_field_text(const OrrField *field, const void *data);

/* Documentation: a Markdown table (key, type and unit, default, sentence) followed by its sections'
 * tables; a JSON Schema (draft 2020-12). @document: the KIND in `schema: KIND/1` of such files,
 * where `base:` can supply any key; NULL for a section or a row. A document that is a choice at its
 * top (`kind` and its parameters) has a registry instead of a table. */
char *orr_field_markdown(const OrrFieldTable *table);
char *orr_field_registry_markdown(const OrrRegistry *registry);
char *orr_field_json_schema(const OrrFieldTable *table, const char *document);
char *orr_field_registry_json_schema(const OrrRegistry *registry, const char *document);
