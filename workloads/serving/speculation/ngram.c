/*
 * ngram.c - copies drafts from an earlier occurrence of the last tokens, in the prompt or the
 * output (prompt lookup).
 *
 * Saxena 2023 (github apoorvumang/prompt-lookup-decoding); vLLM's ngram
 * (vllm/v1/spec_decode/ngram_proposer.py). Nothing runs on the GPUs. If the last n tokens do not
 * occur earlier, the step writes one token; `found` is the probability that they do. The host
 * searches for them, which takes `lookup` per sequence and step.
 *
 *   workload: {engine: {speculation: {kind: ngram, num-speculative-tokens: 5,
 *                                     acceptance: [0.6], found: 40 %}}}
 */
#include "workloads/serving/speculation/speculation.h"

typedef struct {
  OrrSpeculation speculation; /* first */
  double found, lookup_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "speculation-ngram", "Drafts are copied from the context.", Params,
    ORR_SPECULATION_FIELDS(Params, speculation),
    ORR_FIELD_REAL(Params, "found", found, ORR_UNIT_FRACTION, NULL,
                   "Probability that the last tokens occur earlier, so that there is a draft.",
                   .min = 0, .max = 1),
    ORR_FIELD_REAL(Params, "lookup", lookup_s, ORR_UNIT_SECONDS, "0 s",
                   "Host time of the search, per sequence and step.", .flags = ORR_FIELD_UNSIGNED));

static void draft(const void *data, const OrrModel *target, OrrDraft *ret_draft) {
  const Params *params = data;
  *ret_draft = (OrrDraft){.found = params->found, .host_sequence_s = params->lookup_s};
}

const OrrSpeculator orr_speculator_ngram = {
    .entry = {"ngram",
              "Copies drafts from an earlier occurrence of the last tokens (prompt lookup).",
              &table},
    .draft = draft,
};
