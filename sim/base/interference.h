/*
 * interference.h - how many times as long something takes on a GPU while something else runs there.
 *
 * Three kinds of activity share a GPU's multiprocessors, caches, memory and links: compute,
 * communication (collectives, whose kernels occupy multiprocessors), and copies by the copy
 * engines. Each factor is 1 (no slow-down) or more, and is measured: calibration/fit/fit_overlap.c.
 * While several others run, the largest factor applies.
 */
#pragma once

#include "sim/base/ground.h"

/* VICTIM_by_OTHER: the factor on VICTIM's time while OTHER runs. */
typedef struct {
  double compute_by_comm, compute_by_copy;
  double comm_by_compute, comm_by_copy;
  double copy_by_compute, copy_by_comm;
} OrrInterference;

static inline OrrInterference orr_interference_none(void) {
  return (OrrInterference){1, 1, 1, 1, 1, 1};
}

/* Whether communication or copies are ever slowed. */
static inline gboolean orr_interference_slows_transfers(const OrrInterference *it) {
  return it->comm_by_compute > 1 || it->comm_by_copy > 1 || it->copy_by_compute > 1 ||
         it->copy_by_comm > 1;
}

static inline gboolean orr_interference_slows_compute(const OrrInterference *it) {
  return it->compute_by_comm > 1 || it->compute_by_copy > 1;
}
