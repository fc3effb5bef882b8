/*
 * launch_pairs.c - training by preferences (DPO and its relatives; Rafailov et al. 2023, arXiv
 * 2305.18290).
 *
 * An example is a pair of sequences, which pass the model together: a batch of n examples has 2 n
 * sequences. DPO and IPO compare the model with a frozen copy of itself, whose forward goes before
 * each micro-batch's, unless its log-probabilities were computed before training; ORPO, SimPO and
 * CPO have no such copy.
 */
#include "sim/import/launch/launch_trainer.h"

static void double_line(OrrLaunchDraft *draft, const char *path) {
  const char *text = orr_launch_draft_get(draft, path);
  if (!text) return;
  const gint64 pairs = CLAMP(g_ascii_strtoll(text, NULL, 10), 1, 1 << 30);
  orr_launch_draft_set_number(draft, path, 2 * pairs, NULL, "pairs: two sequences of each");
}

void orr_launch_pairs_set(OrrLaunchDraft *draft, OrrLaunchSetting *source,
                          const OrrLaunchPairs *pairs) {
  if (!pairs->fill_rows) {
    double_line(draft, "workload.batch.micro");
    double_line(draft, "workload.batch.global");
  }
  orr_launch_draft_judge(draft, source, ORR_LAUNCH_MAPPED, "pairs of sequences");
  if (pairs->has_reference)
    orr_launch_draft_set(draft, "workload.reference-forward", "true", source, NULL);
  else
    orr_launch_draft_remark(draft, "%s: no reference model runs in a step: %s", source->written,
                            pairs->why);
}
