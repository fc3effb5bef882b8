/*
 * draft_model.c - a small model of the same vocabulary writes the draft (Leviathan et al. 2023,
 * Chen et al. 2023).
 *
 *   step of the model      k + 1 tokens of each request that decodes, chunks of prompts
 *   step of the draft      the same tokens, since its own cache needs them, then k - 1 times one
 *                          token of each request
 *
 * as vLLM v1 drafts (vllm/v1/spec_decode/eagle.py and draft_model.py, v0.19), on the same
 * tensor-parallel group. Its weights and cache take memory from the model's cache.
 *
 *   workload: {engine: {speculation: {kind: draft-model, model: llama-3.2-1b,
 *                                     num-speculative-tokens: 4, acceptance: [0.7]}}}
 */
#include "workloads/serving/speculation/speculation.h"

typedef struct {
  OrrSpeculation speculation; /* first */
  OrrModel model;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("speculation-draft-model", "A small model writes the draft.", Params,
               ORR_SPECULATION_FIELDS(Params, speculation),
               ORR_FIELD_SECTION(Params, "model", model, &orr_model_table, NULL,
                                 "The model that drafts.", .document = "model"));

static void check(const void *data, const OrrModel *target, OrrPlace place, OrrDiags *diags) {
  const Params *params = data;
  OrrModel model = params->model;
  orr_model_settle(&model, place, diags);
  if (model.vocab > target->vocab)
    orr_diags_error(diags, place,
                    "speculation draft-model: %s has a vocabulary of %ld, %s one of %ld: drafts "
                    "must be in the model's own tokens",
                    model.name, model.vocab, target->name, target->vocab);
}

static void draft(const void *data, const OrrModel *target, OrrDraft *ret_draft) {
  const Params *params = data;
  *ret_draft =
      (OrrDraft){.model = params->model, .has_embedding = TRUE, .has_head = TRUE, .found = 1};
  g_autoptr(OrrDiags) diags = orr_diags_new(); /* check() has reported them */
  orr_model_settle(&ret_draft->model, (OrrPlace){0}, diags);
}

const OrrSpeculator orr_speculator_draft_model = {
    .entry = {"draft-model", "A small model of the same vocabulary writes the draft.", &table},
    .draft = draft,
    .check = check,
};
