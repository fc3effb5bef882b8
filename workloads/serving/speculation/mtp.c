/*
 * mtp.c - the model's own multi-token-prediction layers draft (DeepSeek-V3, arXiv 2412.19437,
 * section 2.2).
 *
 *   [hidden state, embedding of the next token] --projection (2 h -> h)--> a layer like the last
 *     --the model's head-->
 *
 * One module drafts all tokens, one after another, as in vLLM; its layer is of the kind of the
 * model's last layer, including experts. Drafting proceeds as in draft_model.c. DeepSeek measured
 * 85 to 90 % acceptance for the second token (section 5.4.3).
 *
 *   workload: {engine: {speculation: {kind: mtp, num-speculative-tokens: 1, acceptance: [0.85]}}}
 */
#include "workloads/serving/speculation/speculation.h"

typedef struct {
  OrrSpeculation speculation;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("speculation-mtp", "The model's own prediction layers.", Params,
               ORR_SPECULATION_FIELDS(Params, speculation));

static void check(const void *data, const OrrModel *target, OrrPlace place, OrrDiags *diags) {
  if (target->mtp_layers == 0)
    orr_diags_error(diags, place,
                    "speculation mtp: model %s has no mtp-layers: use eagle, draft-model or ngram",
                    target->name);
}

static void draft(const void *data, const OrrModel *target, OrrDraft *ret_draft) {
  const guint last = orr_model_layer_kind(target, target->layers - 1);
  *ret_draft =
      (OrrDraft){.model = orr_speculation_layers(target, last, 1), .joined = 2, .found = 1};
}

const OrrSpeculator orr_speculator_mtp = {
    .entry = {"mtp", "The model's own multi-token-prediction layer drafts (DeepSeek-V3).", &table},
    .draft = draft,
    .check = check,
};
