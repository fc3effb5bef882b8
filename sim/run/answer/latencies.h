/*
 * latencies.h - mean and percentiles of times. Percentiles are linear between the two nearest
 * ranks (numpy's default).
 */
#ifndef ORR_LATENCIES_H
#define ORR_LATENCIES_H

#include "results/rows/rows.h"

G_BEGIN_DECLS

/* The latencies of @values (of double), which it sorts; all 0 where there are none. */
OrrLatencies orr_latencies_of(GArray *values);

/* The same for @gaps (of OrrTokenGap); each stands for many equal values. Sorts them. */
OrrLatencies orr_latencies_of_gaps(GArray *gaps);

G_END_DECLS

#endif
