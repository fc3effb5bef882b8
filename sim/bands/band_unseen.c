/*
 * band_unseen.c - what hardly any near row shares with a question: how much wider it makes the
 * bounds, and whether a band can be good without it.
 *
 * Each factor is the 80 % quantile of what bounds lacked with rows, sets, campaigns, models,
 * software, devices and clusters left out in turn (tests/bands/unseen.py): chosen on half of the
 * campaigns they bring the other half to the coverage that docs/modelling/bands.md prints.
 *
 * A good band has seen its device, its software, both together, and what else has a factor. A model
 * may be new where near rows of several others agree.
 */
#include "sim/bands/band_private.h"

/* The weight below which rows count as none. */
#define LITTLE 0.02

/* Campaigns of one model each that a good band of an unseen model needs near. */
#define FEWEST_OF_MODELS 3.0

typedef struct {
  const char *kind;
  gboolean over_pcie; /* the machine's GPUs have no NVLink */
  gboolean is_tested; /* whether bands keep their promise with whole sets and models left out */
  double device, stack, pair, cluster; /* pair: both seen, not together; cluster: on its device */
  double far_stack;                    /* `stack` once more, for rows that are not near */
  double model;                        /* where rows are near */
  /* Where one campaign has all the weight, and none is of the question's model, software, device
   * and cluster together: how it differs from others is then not seen. */
  double few;
} Factors;

static const Factors all_factors[] = {
    {"training", FALSE, TRUE, 1, 1.15, 1.15, 1.1, 1, 1.1, 1},
    {"serving", FALSE, TRUE, 1.38, 1.04, 1.38, 1, 1.2, 1.15, 1.2},
    {"collectives", TRUE, TRUE, 1.9, 1, 1, 1, 1, 1, 1},
    {"collectives", FALSE, TRUE, 1.35, 1, 1, 1, 1, 1, 1},
    {"diffusion", FALSE, FALSE, 1, 1, 1, 1, 1, 1.75, 1}, /* one laboratory measured nearly all */
};

/* The first entry that applies: only collectives are asked whether they run over PCIe. */
static const Factors *factors_of(const OrrLikenessRow *asked) {
  static const Factors others = {"", FALSE, FALSE, 1, 1, 1, 1, 1, 1, 1};
  for (guint i = 0; i < G_N_ELEMENTS(all_factors); i++)
    if (g_str_equal(all_factors[i].kind, asked->kind) &&
        (!all_factors[i].over_pcie || asked->scale_up <= 1))
      return &all_factors[i];
  return &others;
}

enum { MOST_TEXTS = 4 };

/* Whether rows that share all of @offsets with @asked (which end with 0) have some weight. */
static gboolean is_seen(const OrrBands *bands, const GArray *near, const OrrLikenessRow *asked,
                        const size_t *offsets) {
  double shared = 0, sum = 0;
  for (guint i = 0; i < near->len; i++) {
    const OrrBandNear *row = &g_array_index(near, OrrBandNear, i);
    const OrrLikenessRow *likeness = &orr_band_residual(bands, row->row)->likeness;
    gboolean is = TRUE;
    for (guint k = 0; k < MOST_TEXTS && offsets[k]; k++)
      is &= orr_band_shares_text(asked, likeness, offsets[k]);
    sum += row->weight;
    shared += is ? row->weight : 0;
  }
  return sum > 0 && shared / sum >= LITTLE;
}

/* How many campaigns of equal weight the weights are worth (Kish 1965, Survey Sampling), where
 * @by_model makes each model of a campaign one of its own. */
static double campaigns_of(const OrrBands *bands, const GArray *near, gboolean by_model) {
  const OrrBandNear *rows = (const OrrBandNear *)(const void *)near->data;
  g_autofree guint *first = g_new(guint, near->len + 1); /* the first row of each row's campaign */
  double sum = 0, squares = 0;
  for (guint i = 0; i < near->len; i++) {
    const OrrResidual *a = orr_band_residual(bands, rows[i].row);
    for (first[i] = 0; first[i] < i; first[i]++) {
      const OrrResidual *b = orr_band_residual(bands, rows[first[i]].row);
      if (orr_band_is_same_campaign(a, b) && (!by_model || a->likeness.model == b->likeness.model))
        break;
    }
  }
  for (guint i = 0; i < near->len; i++) {
    sum += rows[i].weight;
    for (guint k = 0; k < near->len; k++)
      if (first[i] == first[k]) squares += rows[i].weight * rows[k].weight;
  }
  return squares > 0 ? sum * sum / squares : 1;
}

#define OFFSET(member_) offsetof(OrrLikenessRow, member_)

/* 1 where the rows are near enough for a good band, 0 where they are two further away. */
static double nearness(double distance) {
  return CLAMP((ORR_BAND_GOOD_DISTANCE + 2 - distance) / 2, 0, 1);
}

static double few_factor(const OrrBands *bands, const GArray *near, const OrrLikenessRow *asked,
                         const Factors *factors) {
  static const size_t own[] = {OFFSET(device), OFFSET(stack), OFFSET(model), OFFSET(cluster)};
  if (factors->few <= 1 || is_seen(bands, near, asked, own)) return 1;
  return pow(factors->few, fmax(2 / campaigns_of(bands, near, FALSE) - 1, 0));
}

OrrBandUnseen orr_band_unseen(const OrrBands *bands, const GArray *near,
                              const OrrLikenessRow *asked) {
  static const size_t device[] = {OFFSET(device), 0}, stack[] = {OFFSET(stack), 0},
                      both[] = {OFFSET(device), OFFSET(stack), 0}, cluster[] = {OFFSET(cluster), 0},
                      model[] = {OFFSET(model), 0}, transport[] = {OFFSET(transport), 0};
  const Factors *factors = factors_of(asked);
  const double distance = orr_band_distance(near);
  const gboolean no_device = !is_seen(bands, near, asked, device);
  const gboolean no_stack = factors->stack > 1 && !is_seen(bands, near, asked, stack);
  const gboolean no_pair =
      factors->pair > 1 && !no_device && !no_stack && !is_seen(bands, near, asked, both);
  const gboolean no_cluster =
      factors->cluster > 1 && !no_device && !is_seen(bands, near, asked, cluster);
  const gboolean no_model = factors->model > 1 && !is_seen(bands, near, asked, model);
  const gboolean few_models = no_model && campaigns_of(bands, near, TRUE) < FEWEST_OF_MODELS;
  const gboolean no_transport = *asked->transport && !is_seen(bands, near, asked, transport);
  const struct {
    gboolean is;
    const char *text;
  } lacks[] = {{!factors->is_tested, "few campaigns measured such work"},
               {no_device, "few measured runs on this device"},
               {no_stack, "few measured runs of this software"},
               {no_pair, "few measured runs of this software on this device"},
               {no_transport, "few measured runs over such a network"},
               {no_cluster, "few measured runs on this cluster"},
               {few_models, "few measured models are like this one"}};
  OrrBandUnseen unseen = {.few = "measured runs differ in size, layout or load", .is_seen = TRUE};
  for (guint i = G_N_ELEMENTS(lacks); i-- > 0;)
    if (lacks[i].is) unseen = (OrrBandUnseen){.few = lacks[i].text};
  const gboolean is_near =
      distance <= ORR_BAND_GOOD_DISTANCE && (unseen.is_seen || !factors->is_tested);
  unseen.wider = (no_device ? factors->device : 1) * (no_pair ? factors->pair : 1) *
                 (no_stack ? factors->stack * pow(factors->far_stack, 1 - nearness(distance)) : 1) *
                 (no_cluster ? factors->cluster : 1) * (no_model && is_near ? factors->model : 1) *
                 few_factor(bands, near, asked, factors);
  return unseen;
}
