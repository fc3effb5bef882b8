/*
 * field_sample.h - a table with a field of every kind, for the tests of field_*.c.
 */
#pragma once

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

static const OrrRegistry sample_pipelines;

static const OrrField interleaved_fields[] = {
    ORR_FIELD_INT(Interleaved, "chunks", chunks, "2", "Model chunks of a stage.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_CHOICE(Interleaved, "inner", inner, &sample_pipelines, NULL,
                     "A schedule in the schedule.", .flags = ORR_FIELD_OPTIONAL),
};
static const OrrFieldTable interleaved_table = ORR_FIELD_TABLE(
    "interleaved", "Parameters of the interleaved schedule.", Interleaved, interleaved_fields);

static const OrrEntry sample_gpipe = {"gpipe", "All forward, then all backward.", NULL};
static const OrrEntry sample_interleaved = {"interleaved-1f1b", "Chunks in turn | each a stage.",
                                            &interleaved_table};
static const OrrEntry *const sample_entries[] = {&sample_gpipe, &sample_interleaved, NULL};
static const OrrRegistry sample_pipelines = {"pipeline", sample_entries};

static const OrrField batch_fields[] = {
    ORR_FIELD_INT(Batch, "global", global, "512", "Sequences of a step.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(Batch, "micro", micro, "1", "Sequences of a micro-batch.",
                  .flags = ORR_FIELD_POSITIVE),
};
static const OrrFieldTable batch_table =
    ORR_FIELD_TABLE("batch", "How much a step takes.", Batch, batch_fields);

static const OrrField fault_fields[] = {
    ORR_FIELD_TEXT(Fault, "name", name, NULL, "What breaks."),
    ORR_FIELD_REAL(Fault, "at", at, ORR_UNIT_SECONDS, "0 s", "When it breaks."),
};
static const OrrFieldTable fault_table =
    ORR_FIELD_TABLE("fault", "Something that breaks.", Fault, fault_fields);

static const OrrField sample_fields[] = {
    ORR_FIELD_TEXT(Sample, "name", name, NULL, "What it is called."),
    ORR_FIELD_BOOL(Sample, "overlap", overlap, "true", "Whether to overlap."),
    ORR_FIELD_INT(Sample, "tp", tp, "1", "Tensor-parallel ranks.", .min = 1, .max = 64),
    ORR_FIELD_INT(Sample, "pp", pp, NULL, "Pipeline-parallel ranks, 0 to derive them.",
                  .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Sample, "bandwidth", bandwidth, ORR_UNIT_BYTES_PER_S, "400 Gb/s", "Of one link.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_COLUMN_REAL(Sample, "limit", limit, ORR_UNIT_SECONDS, "Longest time."),
    ORR_FIELD_REAL(Sample, "share", share, ORR_UNIT_FRACTION, "90 %", "Of memory that is used.",
                   .min = 0, .max = 1),
    ORR_FIELD_WORD(Sample, "precision", precision, sample_precisions, "bf16", "Number format."),
    ORR_FIELD_CHOICE(Sample, "pipeline", pipeline, &sample_pipelines, "interleaved-1f1b",
                     "The schedule."),
    ORR_FIELD_CHOICE(Sample, "router", router, &sample_pipelines, NULL, "A choice with no default.",
                     .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTION(Sample, "batch", batch, &batch_table, "{micro: 4}", "Batch sizes."),
    ORR_FIELD_TEXTS(Sample, "tags", tags, "[]", "Words to find it by."),
    ORR_FIELD_REALS(Sample, "sizes", sizes, ORR_UNIT_BYTES, "[1 kB, 2 KiB]", "Sizes."),
    ORR_FIELD_SECTIONS(Sample, "faults", faults, &fault_table, NULL, "What breaks.",
                       .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_TREE(Sample, "sweep", sweep, NULL, "Any tree.", .flags = ORR_FIELD_OPTIONAL),
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
