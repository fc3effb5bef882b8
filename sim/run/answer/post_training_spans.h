/*
 * post_training_spans.h - the time lines of post-training: phases of each pool, what is under way,
 * and, where spans are kept, lanes for the trainer, the rollout pool and each engine.
 */
#ifndef ORR_POST_TRAINING_SPANS_H
#define ORR_POST_TRAINING_SPANS_H

#include "sim/run/answer/outcome.h"
#include "workloads/post_training/post_training.h"

G_BEGIN_DECLS

void orr_post_training_spans(const OrrPostTrainingWork *work, OrrOutcome *outcome);

G_END_DECLS

#endif
