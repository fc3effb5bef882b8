/*
 * gang_speed_table.c - a factor for each level of the machine that a gang may need.
 *
 *   workload:
 *     speed:
 *       kind: table
 *       leaf: 1.05
 *       across: 1.3
 *       network: 0.4
 *       uplink: 0.3
 *       models: [{for: [vgg19], leaf: 1.4, across: 2.1, network: 0.6, uplink: 0.5}]
 *
 * An entry of `models` stands for gangs with such a model in the trace, instead of the keys next to
 * it. `network` is the part of a gang's time on the links between switches, which grows as 1 /
 * free. Ratios by placement were measured by Jeon et al., USENIX ATC 2019, table 4 (ResNet-50 on
 * two GPUs: 114.8 images/s in one server, 98.0 in two of one InfiniBand domain: 1.17).
 */
#include "workloads/cluster_jobs/core/gang_speed.h"

/* By the level of a place. */
typedef struct {
  double slow[ORR_GANG_N_LEVELS];
  double network, uplink, gpu_w;
} Levels;

typedef struct {
  Levels levels;
  char **names; /* of the trace's models */
} OfModel;

typedef struct {
  Levels levels;
  GPtrArray *models; /* of OfModel */
} Params;

#define LEVEL(type_, key_, index_, what_)                                                          \
  ORR_FIELD_REAL(type_, key_, levels.slow[index_], ORR_UNIT_NONE, "1", what_, .min = 0.01,         \
                 .max = 1000)
#define LEVELS(type_)                                                                              \
  LEVEL(type_, "node", ORR_GANG_NODE, "Run time on one node, as a multiple of the trace's."),      \
      LEVEL(type_, "domain", ORR_GANG_DOMAIN, "On nodes that scale-up links join."),               \
      LEVEL(type_, "leaf", ORR_GANG_LEAF, "On nodes under one leaf."),                             \
      LEVEL(type_, "pod", ORR_GANG_POD,                                                            \
            "Under several leaves, with at most three switches between."),                         \
      LEVEL(type_, "across", ORR_GANG_ACROSS, "Across pods."),                                     \
      ORR_FIELD_REAL(                                                                              \
          type_, "network", levels.network, ORR_UNIT_FRACTION, "0",                                \
          "Of that time, the part on links between switches, of gangs in several leaves.",         \
          .min = 0, .max = 1),                                                                     \
      ORR_FIELD_REAL(type_, "uplink", levels.uplink, ORR_UNIT_FRACTION, "0",                       \
                     "Fraction of its leaves' uplinks that such a gang uses, alone.", .min = 0,    \
                     .max = 1),                                                                    \
      ORR_FIELD_REAL(type_, "gpu-power", levels.gpu_w, ORR_UNIT_WATTS, "0 W",                      \
                     "What a GPU of the gang draws, alone; 0 W: not known.",                       \
                     .flags = ORR_FIELD_UNSIGNED, .min = 0, .max = 1e5)

static const OrrFieldTable model_table = ORR_FIELDS(
    "cluster-speed-model", "Run times of a model by place.", OfModel, LEVELS(OfModel),
    ORR_FIELD_TEXTS(OfModel, "for", names, NULL, "Models of the trace that this stands for."));

static const OrrFieldTable table = ORR_FIELDS(
    "cluster-speed-table", "Run times by place.", Params, LEVELS(Params),
    ORR_FIELD_SECTIONS(Params, "models", models, &model_table, "[]",
                       "The same for single models of the trace; it replaces the keys above."));

static const Levels *levels_of(const Params *params, const char *model) {
  for (guint i = 0; model && i < params->models->len; i++) {
    const OfModel *one = params->models->pdata[i];
    if (g_strv_contains((const char *const *)one->names, model)) return &one->levels;
  }
  return &params->levels;
}

static gboolean pace(const void *data, const OrrWorld *world, const OrrGangClass *place,
                     OrrGangPace *ret_pace, GError **error) {
  const Levels *levels = levels_of(data, place->model);
  const double slow = levels->slow[place->level];
  const gboolean crosses = place->leaves > 1;
  for (int i = 0; i < ORR_GANG_N_FREES; i++)
    ret_pace->slow[i] = slow * (1 + (crosses ? levels->network * ((1 << i) - 1) : 0));
  ret_pace->uplink = crosses ? levels->uplink : 0;
  ret_pace->watts = levels->gpu_w > 0 ? levels->gpu_w * (double)place->gpus : NAN;
  return TRUE;
}

static const char *why_no_band(const void *data) {
  return "speeds by place are the scenario's, not simulated";
}

const OrrGangSpeedKind orr_gang_speed_table = {
    .entry = {"table",
              "Multiples of the trace's run times, by the part of the machine that holds the gang.",
              &table},
    .why_no_band = why_no_band,
    .pace = pace,
};
