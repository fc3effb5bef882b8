/*
 * samples.h - the outputs of one prompt (vLLM's n).
 */
#ifndef ORR_SAMPLES_H
#define ORR_SAMPLES_H

#include "workloads/serving/stations/station.h"

G_BEGIN_DECLS

extern const OrrStation orr_station_samples;

/* The other outputs of @first enter the route as requests of their own, unless they have begun. */
void orr_samples_split(OrrRoute *route, OrrRequest *first);

G_END_DECLS

#endif
