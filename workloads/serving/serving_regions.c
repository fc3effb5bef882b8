/*
 * serving_regions.c - the document of a fleet in several regions: where clients and replicas are,
 * and what lies between.
 *
 *   workload:
 *     replicas: 8
 *     groups: [{replicas: 8, region: europe}]
 *     regions: [{name: us, share: 2}, {name: europe, share: 1}]
 *     between-regions: {round-trips: [{from: us, to: europe, time: 90 ms}]}
 */
#include "workloads/serving/serving.h"

#include "sim/base/idle.h"

static const OrrField region_fields[] = {
    ORR_FIELD_TEXT(OrrRegion, "name", name, NULL, "The region's name."),
    ORR_FIELD_REAL(OrrRegion, "share", share, ORR_UNIT_NONE, "1",
                   "Part of the load that comes from its clients, relative to the other regions; "
                   "0: it has replicas alone.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrRegion, "later", later_s, ORR_UNIT_SECONDS, "0 s",
                   "How much later its day is, with load diurnal: 6 h for clients six time zones "
                   "west of where the load's period begins.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrRegion, "kwh", kwh, ORR_UNIT_NONE, "0",
                   "Price of a kWh at the meter there, in the prices' currency; 0: prices.kwh.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrRegion, "carbon-grams-per-kwh", carbon_grams_per_kwh, ORR_UNIT_NONE, "0",
                   "Grams of CO2 for each kWh there; 0: prices.carbon-grams-per-kwh.",
                   .flags = ORR_FIELD_UNSIGNED),
};
const OrrFieldTable orr_region_table =
    ORR_FIELD_TABLE("region", "A place where clients and replicas are.", OrrRegion, region_fields);

static const OrrField trip_fields[] = {
    ORR_FIELD_TEXT(OrrRoundTrip, "from", from, NULL, "A region."),
    ORR_FIELD_TEXT(OrrRoundTrip, "to", to, NULL,
                   "The other one; the same as `from`: clients and replicas of one region."),
    ORR_FIELD_REAL(OrrRoundTrip, "time", time_s, ORR_UNIT_SECONDS, NULL,
                   "Round-trip time, the same from either side.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrRoundTrip, "bandwidth", bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "Rate at which a client sends a prompt; 0: prompts take no time.",
                   .flags = ORR_FIELD_UNSIGNED),
};
static const OrrFieldTable trip_table =
    ORR_FIELD_TABLE("round-trip", "The network between two regions.", OrrRoundTrip, trip_fields);

static const char *const order_words[] = {"nearest", "any", NULL};
static const OrrField between_fields[] = {
    ORR_FIELD_SECTIONS(OrrBetweenRegions, "round-trips", round_trips, &trip_table, NULL,
                       "The network between regions: each pair once; inside a region 0 s unless "
                       "given.",
                       .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_WORD(OrrBetweenRegions, "order", order, order_words, "nearest",
                   "Which replicas the router chooses from. nearest: replicas of one region, the "
                   "nearest that has one with room; any: all replicas."),
    ORR_FIELD_WORD(OrrBetweenRegions, "spill-by", spill_by, orr_router_load_words, "requests",
                   "With order nearest, the load that makes a replica full: requests at it or on "
                   "their way; requests that wait there; or blocks of the cache held. Requests on "
                   "their way neither wait nor hold blocks."),
    ORR_FIELD_INT(OrrBetweenRegions, "spill-at", spill_at, "0",
                  "Load from which on a replica is full, and requests go to the next region; where "
                  "all replicas are full, to the nearest. 0: from admission.in-flight on.",
                  .min = 0, .max = 1e9),
    ORR_FIELD_REAL(OrrBetweenRegions, "token-bytes", token_bytes, ORR_UNIT_BYTES, "4 B",
                   "Bytes per token of a prompt on its way; English has some 4 characters per "
                   "token.",
                   .flags = ORR_FIELD_UNSIGNED),
};
const OrrFieldTable orr_between_regions_table =
    ORR_FIELD_TABLE("between-regions", "How requests get from region to region.", OrrBetweenRegions,
                    between_fields);

static const OrrRegion *region_at(const OrrServing *params, guint i) {
  return params->regions->pdata[i];
}

/* G_MAXUINT: there is none of that name. */
static guint find(const OrrServing *params, const char *name) {
  for (guint i = 0; i < orr_serving_n_regions(params); i++)
    if (g_strcmp0(region_at(params, i)->name, name) == 0) return i;
  return G_MAXUINT;
}

guint orr_serving_n_regions(const OrrServing *params) {
  return params->regions ? params->regions->len : 0;
}

guint orr_serving_group_region(const OrrServing *params, guint g) {
  const OrrReplicaGroup *group = g > 0 ? params->groups->pdata[g - 1] : NULL;
  return group && group->region ? find(params, group->region) : 0;
}

gboolean orr_serving_region_has_replicas(const OrrServing *params, guint region) {
  for (guint g = 0; g < orr_serving_n_groups(params); g++)
    if (orr_serving_group_region(params, g) == region) return TRUE;
  return FALSE;
}

const OrrRoundTrip *orr_serving_round_trip(const OrrServing *params, guint from, guint to) {
  const char *a = region_at(params, from)->name, *b = region_at(params, to)->name;
  ORR_EACH_POINTER(const OrrRoundTrip, trip, params->between.round_trips)
    if ((g_str_equal(trip->from, a) && g_str_equal(trip->to, b)) ||
        (g_str_equal(trip->from, b) && g_str_equal(trip->to, a)))
      return trip;
  return NULL;
}

OrrClientRegions orr_serving_clients(const OrrServing *params) {
  const guint n = orr_serving_n_regions(params);
  OrrClientRegions clients = {.n = n};
  double sum = 0;
  if (n == 0) return clients;
  clients.weights = g_new(double, n);
  clients.later_s = g_new(double, n);
  for (guint i = 0; i < n; i++) sum += region_at(params, i)->share;
  for (guint i = 0; i < n; i++) {
    clients.weights[i] = region_at(params, i)->share / sum;
    clients.later_s[i] = region_at(params, i)->later_s;
  }
  return clients;
}

/* --- checks --- */

static void check_name(const OrrServing *params, const char *name, const char *where,
                       OrrPlace place, OrrDiags *diags) {
  if (find(params, name) != G_MAXUINT) return;
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (guint i = 0; i < orr_serving_n_regions(params); i++)
    g_ptr_array_add(names, region_at(params, i)->name);
  g_ptr_array_add(names, NULL);
  g_autofree char *known = g_strjoinv(", ", (char **)names->pdata);
  orr_diags_error(diags, orr_node_place_in(place, where), "%s: unknown region '%s' (allowed: %s)",
                  where, name, known);
}

static void check_regions(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const OrrPlace here = orr_node_place_in(place, "regions");
  double sum = 0;
  for (guint i = 0; i < orr_serving_n_regions(params); i++) {
    const OrrRegion *region = region_at(params, i);
    sum += region->share;
    if (find(params, region->name) != i)
      orr_diags_error(diags, here, "regions: two regions are named '%s'", region->name);
    if (region->later_s > 0 && load && !load->has_days)
      orr_diags_error(diags, here,
                      "regions: region %s is later, but the rate of load %s does not follow the "
                      "time of day: use load diurnal, or leave `later` out",
                      region->name, load->entry.name);
  }
  if (sum <= 0)
    orr_diags_error(diags, here, "regions: no region has clients: give one a `share` above 0");
}

/* Each region is one pool of replicas. */
static void check_scaling(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  for (guint g = 1; g < orr_serving_n_groups(params) && orr_serving_scales(params); g++) {
    const guint region = orr_serving_group_region(params, g);
    if (region == orr_serving_group_region(params, g - 1)) continue;
    for (guint k = 0; k + 1 < g; k++)
      if (orr_serving_group_region(params, k) == region)
        return orr_diags_error(diags, orr_node_place_in(place, "groups"),
                               "groups: with autoscaling the groups of a region follow each other, "
                               "and between those in %s there is one in another region",
                               region_at(params, region)->name);
  }
}

/* Whether requests may go from one region to the other. */
static gboolean crosses(const OrrServing *params, guint from, guint to) {
  return region_at(params, from)->share > 0 && orr_serving_region_has_replicas(params, to);
}

/* Each pair that a request can cross is given, and none twice. */
static void check_trips(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const char *where = "between-regions.round-trips";
  const guint before = orr_diags_n_errors(diags);
  ORR_EACH_POINTER(const OrrRoundTrip, trip, params->between.round_trips) {
    check_name(params, trip->from, where, place, diags);
    check_name(params, trip->to, where, place, diags);
    if (orr_diags_n_errors(diags) > before) return;
    if (orr_serving_round_trip(params, find(params, trip->from), find(params, trip->to)) != trip)
      orr_diags_error(diags, orr_node_place_in(place, where),
                      "%s: %s and %s are given twice: a round trip is the same from either side",
                      where, trip->from, trip->to);
  }
  for (guint to = 1; to < orr_serving_n_regions(params); to++)
    for (guint from = 0; from < to; from++)
      if ((crosses(params, from, to) || crosses(params, to, from)) &&
          !orr_serving_round_trip(params, from, to))
        orr_diags_error(diags, orr_node_place_in(place, where),
                        "%s: nothing is given between %s and %s, which requests cross: add "
                        "{from: %s, to: %s, time: 90 ms}",
                        where, region_at(params, from)->name, region_at(params, to)->name,
                        region_at(params, from)->name, region_at(params, to)->name);
}

static gboolean has_bandwidth(const OrrBetweenRegions *between) {
  for (guint i = 0; between->round_trips && i < between->round_trips->len; i++)
    if (((const OrrRoundTrip *)between->round_trips->pdata[i])->bytes_per_s > 0) return TRUE;
  return FALSE;
}

void orr_serving_regions_check(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const guint n = orr_serving_n_regions(params), before = orr_diags_n_errors(diags);
  const OrrBetweenRegions *between = &params->between;
  const gboolean is_any = between->order == ORR_REGIONS_ANY;
  static const char no_region[] = "the workload has no regions",
                    any[] = "with order: any no region is before another";
  const OrrIdleKey keys[] = {
      {"between-regions", n == 0, no_region},
      {"between-regions.spill-at", n > 0 && is_any, any},
      {"between-regions.spill-by", n > 0 && is_any, any},
      {"between-regions.spill-by", n > 0 && !is_any && between->spill_at == 0, "spill-at is 0"},
      {"between-regions.token-bytes", n > 0 && !has_bandwidth(between),
       "no way between regions has a bandwidth"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
  ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups) {
    if (!group->region) continue;
    if (n > 0)
      check_name(params, group->region, "groups", place, diags);
    else
      orr_diags_error(diags, orr_node_place_in(place, "groups"),
                      "groups: a group is in region '%s', and the workload has no regions: give "
                      "`regions`, with its name",
                      group->region);
  }
  if (n == 0) return;
  check_regions(params, place, diags);
  if (orr_diags_n_errors(diags) > before) return;
  check_trips(params, place, diags);
  check_scaling(params, place, diags);
}
