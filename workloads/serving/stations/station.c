/*
 * station.c - the stations, in the order of a request's route.
 */
#include "workloads/serving/stations/station.h"

extern const OrrStation orr_station_adapters, orr_station_beam_search, orr_station_cache_tiers,
    orr_station_embeddings, orr_station_encoders, orr_station_gateway, orr_station_handover,
    orr_station_rebalance, orr_station_regions, orr_station_samples;

/* The order in which requests enter, and leave. To add one, see station.h. */
const OrrStation *const orr_station_all[] = {&orr_station_encoders,
                                             &orr_station_samples,
                                             &orr_station_handover,
                                             &orr_station_gateway,
                                             &orr_station_regions,
                                             &orr_station_embeddings,
                                             &orr_station_beam_search,
                                             &orr_station_cache_tiers,
                                             &orr_station_adapters,
                                             &orr_station_rebalance,
                                             NULL};
