/*
 * many_to_many.h - what it takes to send from each of M GPUs to each of N others at once, or to one
 * of them each.
 *
 * Each pair exchanges the same bytes. All sends are in flight together, so the busiest link of the
 * fabric decides, whichever it is: a sender's network card where M < N, a receiver's where M > N
 * (with the transport's incast), a switch above them where it is oversubscribed.
 *
 *   seconds = base + hop + bytes of a pair * max over links (pairs on the link / bandwidth)
 *
 * with the constants of the profile's collectives, in pairs of its send-recv (direct.c), and the
 * fabric's latencies.
 */
#pragma once

#include "workloads/collectives/collective.h"

typedef struct {
  gint64 from, n_from; /* GPUs from, from + 1, ... */
  gint64 to, n_to;
  gboolean in_pairs; /* GPU from + i sends to GPU to + i alone */
} OrrManyToMany;

typedef struct {
  double latency_s;
  double per_byte_s; /* of one pair */
} OrrManyToManyTime;

OrrManyToManyTime orr_many_to_many(const OrrCollectiveContext *context, const OrrManyToMany *sends);
