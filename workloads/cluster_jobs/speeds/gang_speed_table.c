/*
 * gang_speed_table.c - a factor for each level of the machine that a gang may need.
 *
 *   workload: {speed: {kind: table, leaf: 1.05, across: 1.3, network: 0.4, uplink: 0.3}}
 *
 * `network` is the part of a gang's time on the links between switches, which grows as 1 / free.
 * Ratios by placement were measured by Jeon et al., USENIX ATC 2019, table 4 (ResNet-50 on two
 * GPUs: 114.8 images/s in one server, 98.0 in two of one InfiniBand domain: 1.17).
 */
#include <math.h>

#include "workloads/cluster_jobs/gang_speed.h"

typedef struct {
  double slow[ORR_GANG_N_LEVELS];
  double network, uplink;
} Params;

#define LEVEL(key_, index_, fallback_, what_)                                                      \
  ORR_FIELD_REAL(Params, key_, slow[index_], ORR_UNIT_NONE, fallback_, what_, .min = 0.01,         \
                 .max = 1000)

static const OrrField fields[] = {
    LEVEL("node", ORR_GANG_NODE, "1", "Run time on one node, as a multiple of the trace's."),
    LEVEL("domain", ORR_GANG_DOMAIN, "1", "On nodes that scale-up links join."),
    LEVEL("leaf", ORR_GANG_LEAF, "1", "On nodes under one leaf."),
    LEVEL("pod", ORR_GANG_POD, "1", "Under several leaves, with at most three switches between."),
    LEVEL("across", ORR_GANG_ACROSS, "1", "Across pods."),
    ORR_FIELD_REAL(Params, "network", network, ORR_UNIT_FRACTION, "0",
                   "Of that time, the part on links between switches, of gangs in several leaves.",
                   .min = 0, .max = 1),
    ORR_FIELD_REAL(Params, "uplink", uplink, ORR_UNIT_FRACTION, "0",
                   "Fraction of its leaves' uplinks that such a gang uses, alone.", .min = 0,
                   .max = 1),
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("cluster-speed-table", "Run times by place.", Params, fields);

static gboolean pace(const void *data, const OrrWorld *world, const OrrGangClass *place,
                     OrrGangPace *ret_pace, GError **error) {
  const Params *params = data;
  const double slow = params->slow[place->level];
  const gboolean crosses = place->leaves > 1;
  (void)world;
  (void)error;
  for (int i = 0; i < ORR_GANG_N_FREES; i++)
    ret_pace->slow[i] = slow * (1 + (crosses ? params->network * ((1 << i) - 1) : 0));
  ret_pace->uplink = crosses ? params->uplink : 0;
  ret_pace->watts = NAN;
  return TRUE;
}

const OrrGangSpeedKind orr_gang_speed_table = {
    .entry = {"table",
              "Multiples of the trace's run times, by the part of the machine that holds "
              "the gang.",
              &table},
    .pace = pace,
};
