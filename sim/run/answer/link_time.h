/*
 * link_time.h - how busy the busiest links were over time, told from the spans of a replay.
 */
#ifndef ORR_LINK_TIME_H
#define ORR_LINK_TIME_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

enum { ORR_LINK_TIME_LINKS = 8, ORR_LINK_TIME_BINS = 200 };

/* Adds rows of `link_time` to @outcome: the ORR_LINK_TIME_LINKS links of highest utilization in
 * ORR_LINK_TIME_BINS equal parts of the run. A communication's bytes are spread evenly from its
 * start to its end: exact in sum, and in time but for the latency at its start and for a share of
 * bandwidth that changes while it runs. Nothing without spans.
 */
void orr_link_time_add(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif
