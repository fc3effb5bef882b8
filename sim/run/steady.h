/*
 * steady.h - the steady state of a pipeline, found in a replay and not computed again; and whether a replay without
 * sharing was exact.
 */
#ifndef ORR_STEADY_H
#define ORR_STEADY_H

#include "sim/engine/executor.h"

G_BEGIN_DECLS

typedef struct {
  double from_s, period_s; /* [from, from + period) and [from + period, from + 2 period) are the same */
} OrrSteady;

/* @spans of a whole replay, in order of end. FALSE where the program has no two equal periods in a row. */
gboolean orr_steady_find(const OrrProgram *program, const GArray *spans, gint64 tags_a_period, OrrSteady *ret_steady);

/* TRUE when at no time the transfers of @spans, each alone on its links, ask more of a link than it has: then max-min
 * sharing gives each just that, and the replay of the ideal engine is the replay of any. */
gboolean orr_spans_share_nothing(const OrrProgram *program, const GArray *spans);

G_END_DECLS

#endif
