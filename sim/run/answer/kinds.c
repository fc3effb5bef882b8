/*
 * kinds.c - the array of kinds, and how an answer is made: the members that all results share here,
 * the rest by the kind.
 */
#include "sim/run/answer/kinds.h"

#include "sim/run/answer/answer_private.h"
#include "sim/run/answer/training_rows.h"
#include "workloads/diffusion/diffusion.h"
#include "workloads/steps/diffusion_training.h"
#include "workloads/steps/recommendation.h"
#include "workloads/trace/trace_work.h"

/* TABLE_groups: the latencies of each table. */
static const char *const latency_members[] = {"mean", "p50", "p90", "p95", "p99", NULL};
#define RECORD(table, sentence) static const OrrResultGroup table##_groups[] G_GNUC_UNUSED = {
#define LATENCIES(name, member, sentence) {name "_s", offsetof(ROW, member), latency_members},
#define END(table)                                                                                 \
  { NULL, 0, NULL }                                                                                \
  }                                                                                                \
  ;
#include "results/rows/rows.inc"

/* Alphabetical, like the registry of workloads. */
static const OrrRunKind kinds[] = {
    {.kind = &orr_cluster_jobs_kind,
     .result = &orr_cluster_result_table,
     .rows = orr_cluster_rows,
     .explain = orr_cluster_rows_explain,
     .view = "cluster-waits",
     .groups = cluster_result_groups},
    {.kind = &orr_collectives_kind,
     .result = &orr_collectives_result_table,
     .rows = orr_collective_rows,
     .explain = orr_collective_rows_explain,
     .view = "nccl-tests",
     .details = &orr_nccl_test_table},
    {.kind = &orr_diffusion_kind,
     .result = &orr_diffusion_result_table,
     .rows = orr_diffusion_rows,
     .explain = orr_diffusion_rows_explain,
     .view = "diffusion"},
    {.kind = &orr_diffusion_training_kind,
     .result = &orr_step_result_table,
     .rows = orr_step_rows,
     .explain = orr_step_rows_explain,
     .view = "step"},
    {.kind = &orr_post_training_kind,
     .result = &orr_post_training_result_table,
     .rows = orr_post_training_rows,
     .explain = orr_post_training_rows_explain,
     .view = "post-training"},
    {.kind = &orr_recommendation_kind,
     .result = &orr_step_result_table,
     .rows = orr_step_rows,
     .explain = orr_step_rows_explain,
     .view = "step"},
    {.kind = &orr_serving_kind,
     .result = &orr_serving_result_table,
     .rows = orr_serving_rows,
     .explain = orr_serving_rows_explain,
     .view = "serving",
     .groups = serving_result_groups},
    {.kind = &orr_trace_kind,
     .result = &orr_trace_result_table,
     .rows = orr_traced_rows,
     .explain = orr_traced_rows_explain,
     .view = "collectives"},
    {.kind = &orr_training_kind,
     .result = &orr_training_result_table,
     .rows = orr_training_rows,
     .knows_steps = TRUE,
     .outline = orr_training_rows_outline,
     .explain = orr_training_rows_explain,
     .view = "breakdown"},
};

const OrrRunKind *orr_kinds_named(const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (g_strcmp0(kinds[i].kind->entry.name, name) == 0) return &kinds[i];
  return NULL;
}

const OrrRunKind *orr_kinds_find(const OrrWorkloadKind *kind) {
  return orr_kinds_named(kind->entry.name);
}

void orr_kinds_answer(const OrrReplayed *replayed, OrrOutcome *outcome) {
  outcome->kind = orr_kinds_find(replayed->work->kind);
  orr_outcome_set_integer(outcome, "n-gpus", replayed->work->n_gpus);
  orr_outcome_set_integer(outcome, "events", (gint64)replayed->replay.n_events);
  if (replayed->stopped && !outcome->kind->knows_steps) return orr_outcome_forget(outcome);
  outcome->kind->rows(replayed, outcome);
  orr_money_add_bill(replayed, outcome);
  orr_network_rows_add(replayed, outcome);
}

void orr_kinds_outline(const OrrReplayed *outline, double least_s, OrrOutcome *outcome) {
  outcome->kind = orr_kinds_find(outline->work->kind);
  orr_outcome_set_integer(outcome, "n-gpus", outline->work->n_gpus);
  outcome->kind->outline(outline, least_s, outcome);
}
