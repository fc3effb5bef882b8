/*
 * field_sample.h - a table with a field of every kind, for the tests of field_*.c.
 */
#ifndef ORR_TESTS_FIELD_SAMPLE_H
#define ORR_TESTS_FIELD_SAMPLE_H

#include "sim/base/field.h"
#include "sim/base/yaml.h"

#include <string.h>

typedef struct {
  gint64 global, micro;
} Batch;

typedef struct {
  gint64 chunks;
  OrrChoice inner; /* of the same registry: documentation must not run in circles */
} Interleaved;

typedef struct {
  char *name;
  double at;
} Fault;

typedef struct {
  char *name;
  gboolean overlap;
  gint64 tp, pp;
  double bandwidth, limit, share;
  int precision;
  OrrChoice pipeline, router;
  Batch batch;
  char **tags;
  GArray *sizes;
  GPtrArray *faults;
  OrrNode *sweep;
} Sample;

static const char *const sample_precisions[] = {"fp32", "fp16", "bf16", NULL};

extern const OrrRegistry sample_pipelines;

static const OrrField interleaved_fields[] = {
    {.name = "chunks",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Interleaved, chunks),
     .fallback = "2",
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Model chunks of a stage."},
    {.name = "inner",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(Interleaved, inner),
     .registry = &sample_pipelines,
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "A schedule in the schedule."},
};
static const OrrFieldTable interleaved_table = ORR_FIELD_TABLE(
    "interleaved", "Parameters of the interleaved schedule.", Interleaved, interleaved_fields);

static const OrrEntry sample_gpipe = {"gpipe", "All forward, then all backward.", NULL};
static const OrrEntry sample_interleaved = {"interleaved-1f1b", "Chunks in turn | each a stage.",
                                            &interleaved_table};
static const OrrEntry *const sample_entries[] = {&sample_gpipe, &sample_interleaved, NULL};
const OrrRegistry sample_pipelines = {"pipeline", sample_entries};

static const OrrField batch_fields[] = {
    {.name = "global",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Batch, global),
     .fallback = "512",
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Sequences of a step."},
    {.name = "micro",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(Batch, micro),
     .fallback = "1",
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Sequences of a micro-batch."},
};
static const OrrFieldTable batch_table =
    ORR_FIELD_TABLE("batch", "How much a step takes.", Batch, batch_fields);

static const OrrField fault_fields[] = {
    {.name = "name",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(Fault, name),
     .sentence = "What breaks."},
    {.name = "at",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(Fault, at),
     .fallback = "0 s",
     .unit = ORR_UNIT_SECONDS,
     .sentence = "When it breaks."},
};
static const OrrFieldTable fault_table =
    ORR_FIELD_TABLE("fault", "Something that breaks.", Fault, fault_fields);

#define SAMPLE(member_) .offset = offsetof(Sample, member_)
static const OrrField sample_fields[] = {
    {.name = "name", .kind = ORR_FIELD_TEXT, SAMPLE(name), .sentence = "What it is called."},
    {.name = "overlap",
     .kind = ORR_FIELD_BOOL,
     SAMPLE(overlap),
     .fallback = "true",
     .sentence = "Whether to overlap."},
    {.name = "tp",
     .kind = ORR_FIELD_INT,
     SAMPLE(tp),
     .fallback = "1",
     .min = 1,
     .max = 64,
     .sentence = "Tensor-parallel ranks."},
    {.name = "pp",
     .kind = ORR_FIELD_INT,
     SAMPLE(pp),
     .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_UNSIGNED,
     .sentence = "Pipeline-parallel ranks, 0 to derive them."},
    {.name = "bandwidth",
     .kind = ORR_FIELD_REAL,
     SAMPLE(bandwidth),
     .fallback = "400 Gb/s",
     .unit = ORR_UNIT_BYTES_PER_S,
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Of one link."},
    {.name = "limit",
     .kind = ORR_FIELD_REAL,
     SAMPLE(limit),
     .unit = ORR_UNIT_SECONDS,
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "Longest time."},
    {.name = "share",
     .kind = ORR_FIELD_REAL,
     SAMPLE(share),
     .fallback = "90 %",
     .unit = ORR_UNIT_FRACTION,
     .min = 0,
     .max = 1,
     .sentence = "Of memory that is used."},
    {.name = "precision",
     .kind = ORR_FIELD_WORD,
     SAMPLE(precision),
     .fallback = "bf16",
     .words = sample_precisions,
     .sentence = "Number format."},
    {.name = "pipeline",
     .kind = ORR_FIELD_CHOICE,
     SAMPLE(pipeline),
     .fallback = "interleaved-1f1b",
     .registry = &sample_pipelines,
     .sentence = "The schedule."},
    {.name = "router",
     .kind = ORR_FIELD_CHOICE,
     SAMPLE(router),
     .flags = ORR_FIELD_OPTIONAL,
     .registry = &sample_pipelines,
     .sentence = "A choice with no default."},
    {.name = "batch",
     .kind = ORR_FIELD_SECTION,
     SAMPLE(batch),
     .fallback = "{micro: 4}",
     .table = &batch_table,
     .sentence = "Batch sizes."},
    {.name = "tags",
     .kind = ORR_FIELD_TEXTS,
     SAMPLE(tags),
     .fallback = "[]",
     .sentence = "Words to find it by."},
    {.name = "sizes",
     .kind = ORR_FIELD_REALS,
     SAMPLE(sizes),
     .fallback = "[1 kB, 2 KiB]",
     .unit = ORR_UNIT_BYTES,
     .sentence = "Sizes."},
    {.name = "faults",
     .kind = ORR_FIELD_SECTIONS,
     SAMPLE(faults),
     .flags = ORR_FIELD_OPTIONAL,
     .table = &fault_table,
     .sentence = "What breaks."},
    {.name = "sweep",
     .kind = ORR_FIELD_TREE,
     SAMPLE(sweep),
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "Any tree."},
};
static const OrrFieldTable sample_table =
    ORR_FIELD_TABLE("sample", "Every kind of field.", Sample, sample_fields);

/* The tree of a text that is known to be good. */
static inline OrrNode *sample_tree(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrNode *node = orr_yaml_parse(text, strlen(text), "t.yaml", diags);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
  g_assert_nonnull(node);
  return node;
}

/* Reads @text into @out; newly allocated diagnostics, "" when there are none. */
static inline char *sample_read(const char *text, Sample *out) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = sample_tree(text);
  gboolean good = orr_field_read(&sample_table, node, NULL, diags, out);
  g_assert_cmpint(good, ==, orr_diags_n_errors(diags) == 0);
  return orr_diags_text(diags);
}

#endif
