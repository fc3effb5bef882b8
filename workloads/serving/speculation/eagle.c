/*
 * eagle.c - one layer of the model's own width drafts from its hidden states (EAGLE, Li et al.
 * 2024, arXiv 2401.15077; EAGLE-3, Li et al. 2025, arXiv 2503.01840).
 *
 *   [hidden states, embedding] --projection (joined h -> h)--> one layer like the model's first
 *     --head--> token
 *
 * EAGLE joins the last hidden state and the token's embedding (2). EAGLE-3 first joins the states
 * of three layers (3), and has a head with a smaller vocabulary of its own (32,000 for Llama 3.1).
 * Drafting proceeds as in draft_model.c.
 *
 *   workload: {engine: {speculation: {kind: eagle, num-speculative-tokens: 3,
 *                                     acceptance: [0.8, 0.7, 0.65]}}}
 */
#include "workloads/serving/speculation/speculation.h"

typedef struct {
  OrrSpeculation speculation; /* first */
  gint64 layers, joined, vocab;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "speculation-eagle", "A layer on the hidden states.", Params,
    ORR_SPECULATION_FIELDS(Params, speculation),
    ORR_FIELD_INT(Params, "layers", layers, "1", "Layers that draft, each like the model's first.",
                  .min = 1, .max = 16),
    ORR_FIELD_INT(Params, "joined", joined, "3",
                  "Vectors of the hidden size that a projection joins: 2 for EAGLE, 3 for EAGLE-3.",
                  .min = 1, .max = 16),
    ORR_FIELD_INT(Params, "draft-vocab", vocab, "0",
                  "Vocabulary of its own head; 0: it uses the model's head.",
                  .flags = ORR_FIELD_UNSIGNED));

static void check(const void *data, const OrrModel *target, OrrPlace place, OrrDiags *diags) {
  const Params *params = data;
  if (params->vocab > target->vocab)
    orr_diags_error(
        diags, place,
        "speculation eagle: draft-vocab (%ld) is above the vocabulary (%ld) of model %s",
        params->vocab, target->vocab, target->name);
}

static void draft(const void *data, const OrrModel *target, OrrDraft *ret_draft) {
  const Params *params = data;
  *ret_draft = (OrrDraft){.model = orr_speculation_layers(target, 0, params->layers),
                          .joined = params->joined,
                          .has_head = params->vocab > 0,
                          .found = 1};
  if (params->vocab > 0) ret_draft->model.vocab = params->vocab;
}

const OrrSpeculator orr_speculator_eagle = {
    .entry = {"eagle",
              "A layer of the model's width drafts from its hidden states (EAGLE, EAGLE-3).",
              &table},
    .draft = draft,
    .check = check,
};
