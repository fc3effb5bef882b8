/*
 * fit_replay.h - replays of a scenario at measured rows, with constants of its stack set.
 */
#ifndef ORR_FIT_REPLAY_H
#define ORR_FIT_REPLAY_H

#include "sim/fit/fit_stack.h"

G_BEGIN_DECLS

/* One replay: a row, and a value for each constant (NaN: as the stack has it). */
typedef struct {
  guint row;
  double values[ORR_FIT_MOST];
} OrrFitTask;

typedef struct {
  OrrLibrary *library;
  const OrrNode *tree;
  const GPtrArray *rows;
  const OrrFitConstant *constants;
  guint n_constants, jobs;
  gboolean is_exposed; /* with the constants, engine.host.exposed becomes 100 % */
} OrrFitReplays;

/* The simulated values of @n tasks: @ret_values[task * ORR_FIT_N_COLUMNS + column], NaN where the
 * workload has no such result. FALSE with the first replay's error. */
gboolean orr_fit_replay(const OrrFitReplays *replays, const OrrFitTask *tasks, guint n,
                        double *ret_values, GError **error);

G_END_DECLS

#endif
