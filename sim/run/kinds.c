#include "sim/run/kinds.h"

#include "sim/run/answer/collective_rows.h"
#include "sim/run/answer/serving_rows.h"
#include "sim/run/answer/training_rows.h"
#include "workloads/collectives/collective_bench.h"
#include "workloads/serving/serving.h"
#include "workloads/training/training.h"

/* Alphabetical, as the workloads' registry. */
static const OrrRunKind kinds[] = {
    {.kind = &orr_collectives_kind,
     .result = &orr_collectives_result_table,
     .rows = orr_collective_rows,
     .explain = orr_collective_rows_explain,
     .view = "nccl-tests",
     .parts = &orr_nccl_test_table,
     .parts_offset = offsetof(OrrOutcome, nccl_tests)},
    {.kind = &orr_serving_kind,
     .result = &orr_serving_result_table,
     .rows = orr_serving_rows,
     .explain = orr_serving_rows_explain,
     .view = "serving",
     .groups = orr_serving_groups},
    {.kind = &orr_training_kind,
     .result = &orr_training_result_table,
     .rows = orr_training_rows,
     .explain = orr_training_rows_explain,
     .view = "breakdown"},
};

const OrrRunKind *orr_run_kind_named(const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (g_strcmp0(kinds[i].kind->entry.name, name) == 0) return &kinds[i];
  return NULL;
}

const OrrRunKind *orr_run_kind(const OrrWorkloadKind *kind) {
  return orr_run_kind_named(kind->entry.name);
}

static char *interned(const char *text) { return (char *)g_intern_string(text); }

void orr_replayed_add_spans(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrProgram *program = replayed->work->program;
  for (guint i = 0; replayed->spans && i < replayed->spans->len; i++) {
    const OrrSpan *span = &g_array_index(replayed->spans, OrrSpan, i);
    const OrrSpanRow row = {
        .lane = orr_program_stream_lane(program, span->stream),
        .stream = interned(orr_program_stream_name(program, span->stream)),
        .name = interned(orr_program_label_name(program, span->label)),
        .category = interned(orr_program_label_category(program, span->label)),
        .micro_batch = span->tag,
        .begin_s = span->begin_s,
        .started_s = span->started_s,
        .end_s = span->end_s,
    };
    if (!g_str_equal(row.category, "step")) g_array_append_val(outcome->spans, row);
  }
}

void orr_replayed_add_links(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrProgram *program = replayed->work->program;
  for (guint32 link = 0; link < orr_program_n_links(program); link++) {
    const guint32 stands_for = orr_program_link_stands_for(program, link);
    if (stands_for == 0) continue;
    const double bandwidth = orr_program_link_bandwidth(program, link);
    const OrrLinkRow row = {
        .link = g_string_chunk_insert(outcome->names, orr_program_link_name(program, link)),
        .kind = interned(orr_fabric_link_kind(replayed->fabric,
                                              g_array_index(replayed->work->links, guint32, link))),
        .stands_for = stands_for,
        .bandwidth_bytes_per_s = bandwidth,
        .bytes = replayed->link_bytes[link],
        .utilization = replayed->link_bytes[link] / (bandwidth * replayed->replay.end_s),
    };
    g_array_append_val(outcome->links, row);
  }
}
