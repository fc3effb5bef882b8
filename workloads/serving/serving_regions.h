/*
 * serving_regions.h - a fleet in several regions: where clients and replicas are, and how requests
 * get from one to another (stations/regions.c).
 */
#pragma once

#include "sim/base/field.h"
#include "workloads/serving/arrivals/arrival.h"

typedef struct OrrServing OrrServing; /* serving.h */

/* A place where clients and replicas are. */
typedef struct {
  char *name;
  double share;                     /* of the load, relative to the other regions */
  double later_s;                   /* of its day */
  double kwh, carbon_grams_per_kwh; /* of its energy; 0: as prices say */
} OrrRegion;

typedef struct {
  char *from, *to;
  double time_s, bytes_per_s; /* both ways together; of a prompt's way, 0: no limit */
} OrrRoundTrip;

typedef enum { ORR_REGIONS_NEAREST, ORR_REGIONS_ANY } OrrRegionOrder;

/* How requests get from region to region: stations/regions.c. */
typedef struct {
  GPtrArray *round_trips; /* OrrRoundTrip*; NULL: none */
  int order;              /* OrrRegionOrder */
  int spill_by;           /* OrrRouterLoad */
  gint64 spill_at;        /* load at which a replica is full; 0: by admission alone */
  double token_bytes;
} OrrBetweenRegions;

guint orr_serving_n_regions(const OrrServing *params); /* 0: one place */
/* Where the replicas of group @g are, from 0. */
guint orr_serving_group_region(const OrrServing *params, guint g);
gboolean orr_serving_region_has_replicas(const OrrServing *params, guint region);
/* Between two regions, either way; NULL: not given. */
const OrrRoundTrip *orr_serving_round_trip(const OrrServing *params, guint from, guint to);
/* The regions of clients; its arrays are the caller's. */
OrrClientRegions orr_serving_clients(const OrrServing *params);
void orr_serving_regions_check(const OrrServing *params, OrrPlace place, OrrDiags *diags);

extern const OrrFieldTable orr_region_table, orr_between_regions_table;
