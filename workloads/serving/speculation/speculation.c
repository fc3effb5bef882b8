/*
 * speculation.c - the checks that drafters share.
 */
#include "workloads/serving/speculation/speculation.h"

OrrSpeculation orr_speculation_of(const OrrChoice *choice) {
  const OrrSpeculator *speculator = (const OrrSpeculator *)choice->entry;
  return speculator && speculator->draft && choice->params ? *(const OrrSpeculation *)choice->params
                                                           : (OrrSpeculation){0};
}

void orr_speculation_check(const OrrChoice *choice, const OrrModel *target, OrrPlace place,
                           OrrDiags *diags) {
  const OrrSpeculator *speculator = (const OrrSpeculator *)choice->entry;
  const OrrSpeculation speculation = orr_speculation_of(choice);
  if (speculation.tokens == 0) return;
  const gboolean has_probabilities = speculation.acceptance && speculation.acceptance->len > 0;
  if (has_probabilities == (speculation.trace != NULL))
    orr_diags_error(diags, place, "speculation %s: give either acceptance or acceptance-trace%s",
                    choice->entry->name, has_probabilities ? ", not both" : "");
  if (speculation.depth > speculation.tokens)
    orr_diags_error(
        diags, place,
        "speculation %s: depth (%ld) is above num-speculative-tokens (%ld), all tokens of a tree",
        choice->entry->name, speculation.depth, speculation.tokens);
  if (speculation.branches > 1 && speculation.depth == 0)
    orr_diags_error(diags, place, "speculation %s: branches are of a tree: give depth",
                    choice->entry->name);
  if (speculator->check) speculator->check(choice->params, target, place, diags);
}

gint64 orr_speculation_depth(const OrrSpeculation *speculation) {
  return speculation->depth > 0 ? speculation->depth : speculation->tokens;
}

double orr_speculation_acceptance(const OrrSpeculation *speculation, gint64 i) {
  return g_array_index(speculation->acceptance, double,
                       MIN((guint)i, speculation->acceptance->len - 1));
}

double orr_speculation_expected(const OrrSpeculation *speculation, gint64 levels) {
  double sum = 1, all = 1;
  for (gint64 i = 0; i < levels; i++) sum += all *= orr_speculation_acceptance(speculation, i);
  return sum;
}

OrrModel orr_speculation_layers(const OrrModel *target, guint kind, gint64 layers) {
  OrrModel model = *target;
  model.layers = layers;
  model.mtp_layers = 0;
  model.encoder = (OrrEncoder){0};
  model.settled =
      (OrrModelLayout){.n_kinds = 1, .length = 1, .kinds = {orr_model_kind(target, kind)}};
  return model;
}
