/*
 * link_time.h - how busy the busiest links were over time, computed from the spans of a replay.
 */
#ifndef ORR_LINK_TIME_H
#define ORR_LINK_TIME_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

enum { ORR_LINK_TIME_LINKS = 8, ORR_LINK_TIME_BINS = 200 };

/* Adds rows of `link_time` to @outcome: the ORR_LINK_TIME_LINKS links of highest utilization, in
 * ORR_LINK_TIME_BINS equal intervals of the run. The bytes of a communication are spread evenly
 * from its start to its end. Their sum is exact. Their time is off where the communication begins
 * with a latency, or where its bandwidth changes while it runs. Adds nothing without spans. */
void orr_link_time_add(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif
