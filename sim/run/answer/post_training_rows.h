/*
 * post_training_rows.h - a finished loop of post-training as rows.
 */
#ifndef ORR_POST_TRAINING_ROWS_H
#define ORR_POST_TRAINING_ROWS_H

#include "sim/run/answer/outcome.h"
#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

/* OrrRunKind's. */
void orr_post_training_rows(const OrrReplayed *replayed, OrrOutcome *outcome);
char *orr_post_training_rows_explain(const OrrOutcome *outcome);

G_END_DECLS

#endif
