/*
 * steady.h - finds the steady state of a pipeline in a replay, so that a run can count it many
 * times instead of replaying it many times.
 */
#ifndef ORR_STEADY_H
#define ORR_STEADY_H

#include "sim/engine/executor.h"

G_BEGIN_DECLS

typedef struct {
  double from_s,
      period_s; /* [from, from + period) and [from + period, from + 2 period) are the same */
} OrrSteady;

/* @spans of a whole replay, in the order of their ends. @tags_per_period: by how much one period of
 * the schedule raises the tags (micro-batches). FALSE where no two periods in a row are equal. */
gboolean orr_steady_find(const OrrProgram *program, const GArray *spans, gint64 tags_per_period,
                         OrrSteady *ret_steady);

G_END_DECLS

#endif
