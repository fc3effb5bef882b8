/*
 * bench_steps.h - times of training steps, from which the first are left out.
 */
#pragma once

#include "sim/import/bench/bench.h"

typedef struct {
  GArray *seconds, *tflops, *tokens;     /* of double; steps, in order */
  GArray *samples, *generation, *update; /* the same */
  double memory, global_batch;           /* NaN: not printed */
  double newest;                         /* the number of the newest step, of readers that ask */
  guint warm_up;                         /* least number of steps to leave out; 0: one */
} OrrBenchSteps;

OrrBenchSteps orr_bench_steps_new(void);
void orr_bench_steps_clear(OrrBenchSteps *steps);

/* Adds to @steps what @line says of a step, if it is the line of one. @user: the reader's own. */
typedef void (*OrrBenchStepLine)(OrrBenchSteps *steps, const char *line, gconstpointer user);

/* Reads all lines, and all states of progress bars, which carriage returns divide. Appends a result
 * if there are steps: medians of all but the first tenth of the steps, at least one and at most ten
 * (first steps compile, tune and allocate). */
void orr_bench_steps_read(OrrBenchInput *input, const char *tool, OrrBenchStepLine read_line,
                          gconstpointer user);

/* The median of all but the first @skipped; NaN where nothing is left. */
double orr_bench_steps_median(const GArray *values, guint skipped);

/* The number behind @label in @line ("elapsed time per iteration (ms):"). FALSE: not there. */
gboolean orr_bench_steps_number(const char *line, const char *label, double *ret_value);
