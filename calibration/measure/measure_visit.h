/*
 * measure_visit.h - one calibration as a row of table kernel_session: what was requested, the
 * outcome, and the state of the board before and after. A board slowed by heat, by its power limit
 * or by another process gives different times, so readers of the rows must be able to see it.
 */
#pragma once

#include "calibration/measure/measure_session.h"

typedef struct {
  char *date, *device, *driver, *runtime, *blas, *dnn, *ccl;
  gint64 architecture, sms, n_gpus, n_ranks;
  double memory_bytes, l2_bytes, sm_clock_limit_hz, memory_clock_limit_hz, power_limit_watts;
  gint64 persistence, ecc; /* -1 unknown */
  double budget_s, spent_s;
  gint64 n_new, n_known, n_passed_over, n_wrong;
  int is_complete;
  char *failure; /* what ended it early; "": nothing */
  double watts_before, watts_after, sm_clock_hz_before, sm_clock_hz_after, celsius_before,
      celsius_after;
  double memory_clock_hz_before, memory_clock_hz_after;
  char *slowed_before, *slowed_after; /* orr_measure_visit_throttle_words */
  gint64 processes_before, processes_after;
} OrrMeasureVisit;

extern const OrrFieldTable orr_measure_visit_table;

/* Why the clocks are below their maximum, in words for NVML's clock event reasons: "idle",
 * "power limit", ...; "none"; "unknown" for -1. Newly allocated. */
char *orr_measure_visit_throttle_words(gint64 reasons);

/* Copies what it needs; clear with orr_field_clear(&orr_measure_visit_table, visit). @failure
 * may be NULL. */
void orr_measure_visit_init(OrrMeasureVisit *visit, const char *date, const OrrBenchFacts *facts,
                            double budget_s, const OrrMeasureOutcome *outcome,
                            const OrrBenchState *before, const OrrBenchState *after,
                            const char *failure);
