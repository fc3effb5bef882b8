/*
 * task_encode.c - sequences that another model reads: an embedding of the question, scores of
 * passages.
 *
 *   steps: [{name: embed, do: {kind: encode, pool: embedder, tokens: {tokens: 40}}},
 *           {name: rerank, do: {kind: encode, pool: reranker, sequences: 50, tokens: {tokens: 300},
 *            adds: {tokens: 3000}}}]
 */
#include "workloads/serving/tasks/steps/task_step.h"

typedef struct {
  char *pool;
  gint64 sequences;
  OrrLengths tokens, adds;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-encode", "Sequences that a model reads.", Params,
    ORR_FIELD_TEXT(Params, "pool", pool, NULL, "The model."),
    ORR_FIELD_INT(Params, "sequences", sequences, "1",
                  "Sequences: 1 to embed a question, one per passage to rank them.", .min = 1,
                  .max = 1e6),
    ORR_TASK_LENGTHS(Params, "tokens", tokens, "Tokens of each."),
    ORR_TASK_LENGTHS(Params, "adds", adds, "Tokens that join the context, such as passages kept."));

static void check(const void *data, const OrrTaskCheck *check) {
  const Params *params = data;
  orr_task_check_reading(check, params->pool, "model", &params->tokens);
  orr_task_check_lengths(check, &params->adds, "adds", FALSE);
}

static gboolean begin(const void *data, OrrTaskBranch *branch) {
  const Params *params = data;
  OrrRandom *random = orr_task_branch_random(branch);
  OrrTaskJob job = {.sequences = (double)params->sequences};
  for (gint64 i = 0; i < params->sequences; i++)
    job.tokens += orr_tasks_draw(&params->tokens, random);
  orr_task_branch_use(branch, &job,
                      orr_tasks_pool_index(orr_task_branch_document(branch), params->pool),
                      orr_tasks_draw(&params->adds, random));
  return FALSE;
}

const OrrTaskStepKind orr_task_step_encode = {
    .entry = {"encode", "Another model reads sequences: embeddings, scores of passages.", &table},
    .check = check,
    .begin = begin,
};
