/*
 * sweep_stream.h - the points of the first rung, in order; the other combinations are counted by
 * reason.
 */
#ifndef ORR_SWEEP_STREAM_H
#define ORR_SWEEP_STREAM_H

#include "sim/sweep/sweep_variant.h"

G_BEGIN_DECLS

typedef struct OrrSweepStream OrrSweepStream;

OrrSweepStream *orr_sweep_stream_new(const OrrSweepPlan *plan, OrrSweepVariants *variants);
void orr_sweep_stream_free(OrrSweepStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepStream, orr_sweep_stream_free)

/* The next point's combination; FALSE at the end. */
gboolean orr_sweep_stream_next(OrrSweepStream *stream, guint64 *ret_combination);

/* The combinations excluded so far: reasons (sweep_reasons.h), most frequent first. Newly
 * allocated. */
GArray *orr_sweep_stream_excluded(const OrrSweepStream *stream);

G_END_DECLS

#endif
