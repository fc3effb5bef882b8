/*
 * steady.h - which part of a run is a steady state, and whether there is one.
 *
 * A run begins with empty engines and ends when the last request leaves: at first fewer requests
 * are in the system than the load will keep there, and at the end no more arrive. Rates and
 * latencies of the load hold only for the part between:
 *
 *   in the system    ________________
 *                   /                \
 *                  /                  \
 *             ____/                    \____
 *             | warm-up |  window  | drain |
 *
 *  1. The warm-up is the truncation that minimises the squared error of the mean number in the
 *     system (MSER: White 1997, Simulation 69(6)), and at least two residence times. A residence
 *     time is the mean time from arrival to last token.
 *  2. The window ends with the last arrival. It is long enough when it has
 *     ORR_STEADY_RESIDENCES residence times and the requests asked for.
 *  3. The number in the system must not grow over the window: its least-squares slope over ten
 *     batch means is compared with its own error (Student, 97.5 %). An overload shows earlier: the
 *     number grows as fast in the last quarter of the run as in the third, faster than chance.
 *  4. A trace has waves of its own, so its window is whole replays, of ten residence times or more
 *     together, and the number in the system must be what it was at the same place of an earlier
 *     replay.
 *  5. In the window all requests that leave are counted, wherever they arrived, and those that the
 *     fleet rejects or fails there; the drain's are not.
 *  6. A fraction asked for takes as many requests as would make twenty misses at it. No number of
 *     requests shows that none ever misses; a fraction of 1 takes the 20,000 of 0.999, which it
 *     meets if none of them misses: then, with 95 % confidence, fewer than 0.015 % do (1 - 0.05^(1
 *     / 20,000), the rule of three).
 *
 * Little's law closes over the window: the integral of the number in the system is the sum of the
 * times that requests spent in the system inside it (tests/workloads/serving/test_steady.c).
 */
#ifndef ORR_STEADY_H
#define ORR_STEADY_H

#include "workloads/serving/serving.h"

G_BEGIN_DECLS

#define ORR_STEADY_RESIDENCES 10

/* Of the requests of @work that left by @until_s on the run's clock: when the last one arrived, or
 * the run is looked at. Takes time in proportion to their number. With metrics.window: steady the
 * window has `requests` requests, and their fraction within the objectives differs from
 * `least-good` by more than its error. */
OrrSteady orr_steady_of(const OrrServingWork *work, double until_s);

/* The requests of a window of metrics.window: steady that is as long as it gets. */
double orr_steady_longest(const OrrServing *params);

G_END_DECLS

#endif
