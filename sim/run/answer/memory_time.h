/*
 * memory_time.h - what a GPU of each stage holds over time: the passes of its schedule
 * (OrrMemoryMoment), each from the begin of its first piece of work to the end of its last, on the
 * stage's first lane.
 */
#ifndef ORR_MEMORY_TIME_H
#define ORR_MEMORY_TIME_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

/* Rows of @outcome->memory_times; none where no spans were kept, or the step was not replayed
 * whole. */
void orr_memory_time_add(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif
