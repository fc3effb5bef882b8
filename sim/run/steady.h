/*
 * steady.h - the steady state of a pipeline, found in a replay and not computed again.
 */
#ifndef ORR_STEADY_H
#define ORR_STEADY_H

#include "sim/engine/executor.h"

G_BEGIN_DECLS

typedef struct {
  double from_s,
      period_s; /* [from, from + period) and [from + period, from + 2 period) are the same */
} OrrSteady;

/* @spans of a whole replay, in order of end. FALSE where the program has no two equal periods in
 * a row. */
gboolean orr_steady_find(const OrrProgram *program, const GArray *spans, gint64 tags_a_period,
                         OrrSteady *ret_steady);

G_END_DECLS

#endif
