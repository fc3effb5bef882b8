/*
 * band_unseen.c - what hardly any near row shares with a question: how much wider it makes the
 * bounds, and whether a band can be good without it.
 *
 * Each factor is the 80 % quantile of what bounds lacked with rows, sets, campaigns, models,
 * software, devices and clusters left out in turn (tests/bands/unseen.py, which prints each with
 * the range that it takes with one set left out): chosen on half of the campaigns they bring the
 * other half to the coverage that docs/modelling/bands.md prints.
 *
 * Where most kernel times are not the device's own rows, runs of its software on it are all that
 * tried those kernels: their middle error is inside the bounds, also where they are of other models
 * and too far away to be near rows.
 *
 * A good band has seen its device, its software, both together, its network, and what else has a
 * factor. Then it needs several sources: bands that rest on many campaigns hold most.
 * Two campaigns of equal weight, and four of one model each, were chosen on half of the sets and
 * hold on the other half. Runs of the very model, software, device and machine need no others.
 */
#include "sim/bands/band_private.h"
#include "sim/bands/conformal.h"

/* The weight below which rows count as none, and from which own rows need no others. */
#define LITTLE 0.02
#define MUCH 0.3

/* From this fraction of the cost on, modelled kernels are what an answer rests on; and the weight
 * from which rows of the architecture say how far off such kernels are: with less, the factor takes
 * the power of what is missing. */
#define MOSTLY_MODELLED 0.7
#define ENOUGH 0.2

/* Sources that a good band needs: campaigns, and campaigns of one model each. */
#define FEWEST_CAMPAIGNS 2.0
#define FEWEST_OF_MODELS 4.0

typedef struct {
  const char *kind;
  gboolean is_tested; /* whether bands keep their promise with whole sets and models left out */
  double device, stack, cluster; /* cluster: where the device is seen */
  double datasheet;              /* where kernels are modelled and no row has the architecture */
  double model;                  /* where rows are near */
  /* Where one campaign has all the weight, and none is of the question's model, software, device
   * and cluster together: how it differs from others is then not seen. */
  double few;
} Factors;

static const Factors all_factors[] = {
    {"training", TRUE, 1, 1.3, 1, 1.3, 1, 1.5},
    {"serving", TRUE, 1.25, 1.1, 1.4, 2.4, 1, 1.4},
    {"collectives", TRUE, 1, 1, 1, 1, 1, 2.5},
    {"diffusion", FALSE, 1, 1, 1, 1, 1.25, 1.45}, /* one laboratory measured nearly all */
};

static const Factors *factors_of(const OrrLikenessRow *asked) {
  static const Factors others = {"", FALSE, 1, 1, 1, 1, 1, 1};
  for (guint i = 0; i < G_N_ELEMENTS(all_factors); i++)
    if (g_str_equal(all_factors[i].kind, asked->kind)) return &all_factors[i];
  return &others;
}

enum { MOST_TEXTS = 4 };

/* The fraction of the weight of rows that share all of @offsets with @asked (which end with 0). */
static double share_of(const OrrBands *bands, const GArray *near, const OrrLikenessRow *asked,
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
  return sum > 0 ? shared / sum : 0;
}

/* The rows of @near by campaign: each row's first, and the next row of the same campaign, 0 for
 * none. */
typedef struct {
  guint first, next, last; /* last: of the rows so far, where this one is the first */
} Link;

static Link *link_campaigns(const OrrBands *bands, const GArray *near) {
  Link *links = g_new0(Link, near->len + 1);
  g_autofree guint *firsts = g_new(guint, near->len + 1);
  guint n = 0;
  for (guint i = 0; i < near->len; i++) {
    const OrrResidual *one = orr_band_residual(bands, g_array_index(near, OrrBandNear, i).row);
    guint c = 0;
    while (c < n &&
           !orr_band_is_same_campaign(
               one, orr_band_residual(bands, g_array_index(near, OrrBandNear, firsts[c]).row)))
      c++;
    if (c == n) firsts[n++] = i;
    links[i].first = firsts[c];
    if (firsts[c] < i) links[links[firsts[c]].last].next = i;
    links[firsts[c]].last = i;
  }
  return links;
}

/* How many campaigns of equal weight the weights are worth (Kish 1965, Survey Sampling), and how
 * many where each model of a campaign is one of its own. */
static void count_sources(const OrrBands *bands, const GArray *near, double *ret_campaigns,
                          double *ret_models) {
  g_autofree Link *links = link_campaigns(bands, near);
  double sum = 0, campaigns = 0, models = 0;
  for (guint i = 0; i < near->len; i++) {
    const OrrBandNear *one = &g_array_index(near, OrrBandNear, i);
    const char *model = orr_band_residual(bands, one->row)->likeness.model;
    sum += one->weight;
    for (guint k = links[i].first;; k = links[k].next) { /* up to i itself */
      const OrrBandNear *other = &g_array_index(near, OrrBandNear, k);
      const double both = (k < i ? 2 : 1) * one->weight * other->weight;
      campaigns += both;
      models += model == orr_band_residual(bands, other->row)->likeness.model ? both : 0;
      if (k == i) break;
    }
  }
  *ret_campaigns = campaigns > 0 ? sum * sum / campaigns : 1;
  *ret_models = models > 0 ? sum * sum / models : 1;
}

#define OFFSET(member_) offsetof(OrrLikenessRow, member_)

typedef struct {
  /* whether a near row of some weight has it */
  gboolean device, stack, model, cluster, transport;
  double architecture; /* weight of rows that share it */
  gboolean pair, ran;  /* software and device together; model and software together */
  double own;          /* weight of rows that share model, software, device and cluster */
  double n_campaigns, n_of_models;
} Seen;

static Seen look(const OrrBands *bands, const GArray *near, const OrrLikenessRow *asked) {
  static const size_t device[] = {OFFSET(device), 0}, architecture[] = {OFFSET(architecture), 0},
                      stack[] = {OFFSET(stack), 0}, model[] = {OFFSET(model), 0},
                      cluster[] = {OFFSET(cluster), 0}, transport[] = {OFFSET(transport), 0},
                      pair[] = {OFFSET(device), OFFSET(stack), 0},
                      ran[] = {OFFSET(model), OFFSET(stack), 0},
                      own[] = {OFFSET(device), OFFSET(stack), OFFSET(model), OFFSET(cluster)};
  Seen seen = {.device = share_of(bands, near, asked, device) >= LITTLE,
               .architecture = share_of(bands, near, asked, architecture),
               .stack = share_of(bands, near, asked, stack) >= LITTLE,
               .model = share_of(bands, near, asked, model) >= LITTLE,
               .cluster = share_of(bands, near, asked, cluster) >= LITTLE,
               .transport = !*asked->transport || share_of(bands, near, asked, transport) >= LITTLE,
               .pair = share_of(bands, near, asked, pair) >= LITTLE,
               .ran = share_of(bands, near, asked, ran) >= LITTLE,
               .own = share_of(bands, near, asked, own)};
  count_sources(bands, near, &seen.n_campaigns, &seen.n_of_models);
  return seen;
}

static double wider_of(const Factors *factors, const Seen *seen, double distance) {
  const gboolean is_new_model = !seen->model && distance <= ORR_BAND_GOOD_DISTANCE;
  const double few = seen->own >= LITTLE ? 0 : fmax(2 / seen->n_campaigns - 1, 0);
  return (seen->device ? 1 : factors->device) * (seen->stack ? 1 : factors->stack) *
         (seen->device && !seen->cluster ? factors->cluster : 1) *
         (is_new_model ? factors->model : 1) * pow(factors->few, few);
}

OrrBandUnseen orr_band_unseen(const OrrBands *bands, const GArray *near,
                              const OrrLikenessRow *asked, OrrQuantity quantity) {
  const Factors *factors = factors_of(asked);
  const Seen seen = look(bands, near, asked);
  const double distance = orr_band_distance(near);
  const double unknown =
      asked->modelled >= MOSTLY_MODELLED ? fmax(1 - seen.architecture / ENOUGH, 0) : 0;
  const double datasheet = pow(factors->datasheet, unknown);
  const gboolean is_own = *asked->model && seen.own >= MUCH && distance <= ORR_BAND_GOOD_DISTANCE;
  const struct {
    gboolean is;
    const char *text;
  } lacks[] = {{!factors->is_tested, "few campaigns measured such work"},
               {!is_own && quantity == ORR_QUANTITY_POWER, "one laboratory measured most watts"},
               {unknown > 0, "most kernel times follow from a datasheet"},
               {!seen.device, "few measured runs on this device"},
               {!seen.stack, "few measured runs of this software"},
               {!seen.pair, "few measured runs of this software on this device"},
               {!seen.transport, "few measured runs over such a network"},
               {!seen.cluster && factors->cluster > 1, "few measured runs on this cluster"},
               {!is_own && seen.n_campaigns < FEWEST_CAMPAIGNS, "few campaigns measured such runs"},
               {!is_own && *asked->model && seen.n_of_models < FEWEST_OF_MODELS,
                "few measured models are like this one"}};
  OrrBandUnseen unseen = {.few = "measured runs differ in size, layout or load",
                          .is_seen = TRUE,
                          .is_foreign =
                              !seen.pair &&
                              asked->carried + asked->modelled + asked->outside >= MOSTLY_MODELLED,
                          .wider = datasheet * wider_of(factors, &seen, distance),
                          .far_wider = datasheet,
                          .n_campaigns = seen.own >= LITTLE ? INFINITY : seen.n_campaigns};
  for (guint i = G_N_ELEMENTS(lacks); i-- > 0;)
    if (lacks[i].is) {
      unseen.few = lacks[i].text;
      unseen.is_seen = FALSE;
    }
  if (seen.model && seen.stack && !seen.ran)
    unseen.few = "no measured run of this model with this software";
  return unseen;
}

double orr_band_platform_middle(const OrrBands *bands, const OrrBandQuestion *question,
                                OrrQuantity quantity) {
  const OrrLikenessRow *asked = question->likeness;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(OrrConformalRow));
  double least, most;
  for (guint i = 0; i < bands->residuals->rows->len; i++) {
    const OrrResidual *one = orr_band_residual(bands, i);
    double added;
    guint answer;
    if (orr_band_shares_text(asked, &one->likeness, OFFSET(device)) &&
        orr_band_shares_text(asked, &one->likeness, OFFSET(stack)) &&
        !orr_band_is_left_out(question, one) &&
        orr_band_nearest_answer(bands, i, quantity, &answer, &added))
      ORR_APPEND(rows, OrrConformalRow, {orr_band_log_error(bands, i, answer), 1});
  }
  if (rows->len == 0) return NAN;
  orr_conformal_bounds((OrrConformalRow *)(void *)rows->data, rows->len, 0, &most, &least);
  return (least + most) / 2;
}
