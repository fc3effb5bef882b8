/*
 * memory_time.h - what a GPU of each stage holds over time: a row for each pass of its schedule
 * (OrrMemoryMoment), from the begin of the pass's first op to the end of its last, on the stage's
 * first lane.
 */
#ifndef ORR_MEMORY_TIME_H
#define ORR_MEMORY_TIME_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

/* Adds rows of `memory_time` to @outcome; none where no spans were kept, or where the step was not
 * replayed whole. */
void orr_memory_time_add(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif
