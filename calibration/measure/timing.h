/*
 * timing.h - computes a row's time from repeats and keeps the host's time out of it.
 *
 * A repeat lies between two CUDA events. An event recorded on an idle stream takes its time at
 * once, before the host has launched what follows: the launch of a graph (5 to 10 us, and more for
 * many nodes) would count as kernel time. So a repeat begins with a kernel that holds the stream:
 *
 *   stream   | hold ........ |begin| call call call ... |end|
 *   host     post all of these      ^ not reached yet when the host has posted the last of them
 *
 * NVIDIA's nvbench holds the stream with a kernel that waits for a flag from the host, DeepEP's
 * benchmark with a large kernel and a barrier ("to eliminate the unbalanced CPU launch overhead":
 * bench_kineto). This one waits for a fixed time, so that a host that blocks on a full launch queue
 * cannot wait for ever. After posting, the host checks whether `begin` has been reached. If so, the
 * repeat does not count and the next one holds four times as long. If even ORR_HOLD_MOST_US is too
 * short, repeats count as they are and the row's method is `unheld`.
 */
#pragma once

#include "calibration/measure/device_layer.h"

/* Sorts @us and sets the median, the best, the spread and the number of repeats. */
void orr_timing_summarize(double *us, guint n, OrrTiming *timing);

/* A timing with only @method and the calls per repeat set. */
OrrTiming orr_timing_of(const char *method, guint calls);

/* Adds a word to the timing's setting. */
void orr_timing_set(OrrTiming *timing, const char *word);

#define ORR_HOLD_FIRST_US 100.0
#define ORR_HOLD_MOST_US 50000.0

typedef struct {
  double us; /* how long the next repeat is held; 0: no longer */
} OrrHold;

OrrHold orr_hold_new(void);
/* Call after a repeat with that hold; @was_held: the host had posted everything before the hold
 * ended. TRUE: the repeat counts. FALSE: repeat it, with the new hold. */
gboolean orr_hold_take(OrrHold *hold, gboolean was_held);
const char *orr_hold_method(const OrrHold *hold, gboolean is_graph);

/* The hold for all ranks of a job; none can repeat alone: three times the posting time. */
double orr_hold_for(double post_us);
