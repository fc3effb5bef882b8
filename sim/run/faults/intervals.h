/*
 * intervals.h - the effects of outages on each thing (a link, a lane or a GPU) over time.
 *
 * Several outages may affect one thing at the same time. Losses of a link add up, at most to the
 * whole link; slow-downs of a GPU multiply; a lane is as slow as its slowest GPU, since its ranks
 * meet in every layer:
 *
 *   link:  1 ---+     +---        lane:  factor(t) = max over its GPUs of the product of (1 + loss)
 *        1/2    +--+  |
 *          0       +--+
 */
#ifndef ORR_INTERVALS_H
#define ORR_INTERVALS_H

#include "sim/run/faults/faults.h"

G_BEGIN_DECLS

/* Things in the order of their first effect: a hash table's order must not order events. */
typedef struct {
  GArray *things;     /* of gint64 */
  GPtrArray *effects; /* per thing, a GArray of its intervals */
  GHashTable *places; /* thing -> place + 1 */
} OrrIntervals;

void orr_intervals_init(OrrIntervals *intervals);
void orr_intervals_clear(OrrIntervals *intervals);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrIntervals, orr_intervals_clear)

/* Adds an effect on @thing for the time of @outage. */
void orr_intervals_add(OrrIntervals *intervals, gint64 thing, const OrrOutage *outage,
                       const OrrFaultEffect *effect);
/* Adds all effects of @outage on links; the things are fabric links. */
void orr_intervals_add_links(OrrIntervals *intervals, const OrrOutage *outage);

/* When the effects on thing @place begin and end: ascending, no duplicates. Array of double. */
GArray *orr_intervals_dates(const OrrIntervals *intervals, guint place);
void orr_intervals_sort_dates(GArray *dates);

/* The fraction of a link's bandwidth that is left at @at_s. */
double orr_intervals_link_factor(const OrrIntervals *intervals, guint place, double at_s);
/* How many times as long kernels of a lane or GPU take at @at_s. */
double orr_intervals_lane_factor(const OrrIntervals *intervals, guint place, double at_s);

G_END_DECLS

#endif
