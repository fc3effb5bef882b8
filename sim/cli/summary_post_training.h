/*
 * summary_post_training.h - the lines of post-training.
 */
#ifndef ORR_SUMMARY_POST_TRAINING_H
#define ORR_SUMMARY_POST_TRAINING_H

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

void orr_summary_post_training(GString *out, const OrrScenario *scenario,
                               const OrrOutcome *outcome);

G_END_DECLS

#endif
