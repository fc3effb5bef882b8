/*
 * band_private.h - what the files of sim/bands share. Private to sim/bands.
 */
#pragma once

#include "results/rows/rows.h"
#include "sim/bands/band.h"
#include "sim/bands/band_metrics.h"
#include "sim/bands/inputs.h"
#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"
#include "sim/study/study.h"
#include "workloads/cluster_jobs/core/gang_speed.h"

/* distance.c: how unlike two answers are in the properties that decide errors.
 *
 *   d(a, b) = sum over texts of w [a != b] + sum over sizes of w |log2 a - log2 b|
 *           + sum over fractions of w |a - b| + w |release a - release b| in years
 *           + w (extras that one of both uses) + w [one cache of both is full]
 *
 * Where the weights come from: tests/bands/fit.py searches for the least interval score (Gneiting,
 * Raftery 2007) of bands whose own validation set, or own row, is left out. Its search was run
 * with 40 rows to the bandwidth and rounded to one digit. Five are assumed: scale_up's, so that a
 * machine without NVLink is far from one with it; transport's; a full cache's; an extra's; and the
 * distances between related quantities. A number that only one of both has counts as three octaves.
 */

enum { ORR_DISTANCE_TERMS = 42 };

/* A likeness made ready: sizes as logarithms, absent fractions as 0. */
typedef struct {
  double numbers[ORR_DISTANCE_TERMS];
  const char *texts[ORR_DISTANCE_TERMS];
  guint32 extras, unlike; /* orr_extras_bits; of them orr_extras_unlike */
  guint64 terms;          /* a bit for each term that counts */
} OrrDistancePoint;

OrrDistancePoint orr_distance_point(const OrrLikenessRow *row);
/* For a question about @quantity: of watts, only some terms count. */
OrrDistancePoint orr_distance_point_for(const OrrLikenessRow *row, OrrQuantity quantity);

double orr_distance(const OrrDistancePoint *a, const OrrDistancePoint *b);

/* The same, but INFINITY as soon as it is beyond @limit: most rows are far from a question. */
double orr_distance_within(const OrrDistancePoint *a, const OrrDistancePoint *b, double limit);

/* The terms in which all of @n points are the same, as bits. */
guint64 orr_distance_shared(const OrrDistancePoint *points, guint n);

/* Leaves out of @asked the terms among @shared in which it equals @point, too: they add 0 to each
 * distance from points that share them. */
void orr_distance_skip_shared(OrrDistancePoint *asked, const OrrDistancePoint *point,
                              guint64 shared);

/* What is added where a measurement of @measured speaks for @asked; INFINITY: it does not. */
double orr_distance_of_quantities(OrrQuantity asked, OrrQuantity measured);

/* How differently two pairs differ: the distance between a - b and c - d, where a text differs if
 * one pair changes it and the other does not. */
double orr_distance_of_changes(const OrrDistancePoint *a, const OrrDistancePoint *b,
                               const OrrDistancePoint *c, const OrrDistancePoint *d);

struct OrrBands {
  const OrrResiduals *residuals;
  OrrResiduals *own;        /* NULL: borrowed */
  OrrDistancePoint *points; /* of each row */
  guint64 shared;           /* the terms in which all rows are the same */
  /* Of each row, its answers' metrics, found once: a question looks at all of them. NULL: nothing
   * that has bands. */
  const OrrBandMetric *(*metrics)[ORR_RESIDUAL_ANSWERS];
  char *stale;
};

/* Weights fall as exp(-1.5 (distance / bandwidth)^2) from 1 for the nearest. The bandwidth is the
 * distance of row ORR_BAND_NEAREST, so that the search widens where little is near, plus
 * ORR_BAND_LEAST, so that rows at distance 0 do not take all the weight. */
#define ORR_BAND_NEAREST 25
#define ORR_BAND_LEAST 0.3

/* Up to this distance of row ORR_BAND_FEWEST rows count as near, whatever their number of
 * campaigns. */
#define ORR_BAND_FEWEST 12
#define ORR_BAND_GOOD_DISTANCE 4.0

/* A measured answer at some distance from a question. */
typedef struct {
  double distance;
  guint row, answer;
  double weight; /* above 0 to 1 */
} OrrBandNear;

static inline const OrrResidual *orr_band_residual(const OrrBands *bands, guint row) {
  return &g_array_index(bands->residuals->rows, OrrResidual, row);
}

/* The answer of @row that is nearest to @quantity, and what its quantity adds to the distance;
 * FALSE: none speaks for it. */
gboolean orr_band_nearest_answer(const OrrBands *bands, guint row, OrrQuantity quantity,
                                 guint *ret_answer, double *ret_added);

/* log(measured / simulated) of a time, or of the time that a rate stands for. */
double orr_band_log_error(const OrrBands *bands, guint row, guint answer);

/* The weight of a row at @distance where the nearest is at @nearest. */
double orr_band_weight(double distance, double nearest, double bandwidth);

/* Whether both rows are of one campaign: one set, software and device. */
static inline gboolean orr_band_is_same_campaign(const OrrResidual *a, const OrrResidual *b) {
  return a->set == b->set && a->likeness.stack == b->likeness.stack &&
         a->likeness.device == b->likeness.device;
}

/* The distance of row ORR_BAND_FEWEST of @near, which is sorted; INFINITY: it has fewer. */
static inline double orr_band_distance(const GArray *near) {
  return near->len < ORR_BAND_FEWEST
             ? INFINITY
             : g_array_index(near, OrrBandNear, ORR_BAND_FEWEST - 1).distance;
}

/* Whether both have the same text, which is interned, at @offset. */
static inline gboolean orr_band_shares_text(const OrrLikenessRow *a, const OrrLikenessRow *b,
                                            size_t offset) {
  return *(char *const *)(const void *)((const char *)a + offset) ==
         *(char *const *)(const void *)((const char *)b + offset);
}

/* band_unseen.c: what hardly any near row shares with a question. */
typedef struct {
  double wider;     /* how much wider it makes the bounds, 1 or more */
  double far_wider; /* bounds from all rows: what comes of kernels by the datasheet */
  const char *few;  /* what too few rows share, or else what differs; static */
  gboolean is_seen; /* whether enough is seen for a good band */
  /* most kernel times are not the device's own, and no near row ran this software on it */
  gboolean is_foreign;
  /* of equal weight, that the weights are worth (Kish 1965); INFINITY where some of them are of the
   * very model, software, device and machine: what campaigns differ in is then seen */
  double n_campaigns;
} OrrBandUnseen;

/* Of @near, sorted and with weights. */
OrrBandUnseen orr_band_unseen(const OrrBands *bands, const GArray *near,
                              const OrrLikenessRow *asked, OrrQuantity quantity);

/* The middle of the errors of all rows of the question's software on its device, however far; NAN:
 * there is none. */
double orr_band_platform_middle(const OrrBands *bands, const OrrBandQuestion *question,
                                OrrQuantity quantity);

/* All measured answers that speak for @quantity, heaviest first; of OrrBandNear, whose weights sum
 * to much more than 1. *@ret_n: campaigns of equal weight that the weights are worth. */
GArray *orr_band_far_rows(const OrrBands *bands, const OrrBandQuestion *question,
                          OrrQuantity quantity, double *ret_n);

/* How much wider bounds at @level are than the quantiles of such rows. */
double orr_band_far_widening(double n_campaigns, double level);

/* What the bands of all metrics of one quantity have in common, and what takes the time to find:
 * the nearest measured answers with their weights, and the band of a time. */
typedef struct {
  GArray *near;
  OrrBand band;
} OrrBandBase;

void orr_band_base_init(OrrBandBase *base, const OrrBands *bands, const OrrBandQuestion *question,
                        OrrQuantity quantity);
void orr_band_base_clear(OrrBandBase *base);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrBandBase, orr_band_base_clear)

/* orr_bands_ask for @metric, where @base is of its quantity. */
OrrBand orr_band_of_base(const OrrBands *bands, const OrrBandQuestion *question,
                         const OrrBandMetric *metric, const OrrBandBase *base, GArray *sources);

/* Whether requests arrive by themselves and hardly wait: what is served is then what arrives, and
 * no error of the simulation moves it; the reason for which there is no band then. */
gboolean orr_band_follows_load(const OrrBandMetric *metric, const OrrLikenessRow *likeness);
extern const char orr_band_follows[];

/* The REAL @metric of the outcome's result, as SQL names it; NAN: it has none. */
double orr_band_result_value(const OrrOutcome *outcome, const char *metric);

/* band_derived.c: costs, days and campaigns. Whether the band of @metric follows from the band of
 * another result. */
gboolean orr_band_is_derived(const OrrOutcome *outcome, const char *metric);

/* Adds the rows of all of them, after the rows on which they rest. */
void orr_band_derived_add(OrrLibrary *library, OrrOutcome *outcome);

/* extras.c: what a scenario uses beyond a plain run: speculation, offload, a fabric that is
 * oversubscribed. Measured rows without it say little about its error. */

/* The extras in use, joined by '+', in a fixed order; "" for none. Interned. */
const char *orr_extras_of(const OrrScenario *scenario, const OrrOutcome *outcome);

/* A bit for each extra that @text names; and the name of the lowest bit in @bits. */
guint32 orr_extras_bits(const char *text);
const char *orr_extras_name(guint32 bits);

/* @bits without extras that make an answer weak, but no less like runs without them. */
guint32 orr_extras_unlike(guint32 bits);

/* Shared by the files inputs*.c. */

#define ORR_INPUT_SEED "seed"

struct OrrInputs {
  GPtrArray *uncertain; /* of OrrUncertain *, the scenario's */
  guint n;              /* replays */
  double *values;       /* [r * uncertain->len + i], in base units */
  OrrStudyAnswer *replays;
};

/* band_cluster.c: bands of the waits, completion times and makespan of a cluster of jobs, whose
 * simulated speeds are off. A trace whose run times are given has none.
 */

/* Adds the rows `band` of a finished cluster of jobs: without bounds where nothing simulated is in
 * its times, which `reason` says. Runs the trace twice more, in child processes. */
void orr_band_cluster_add(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                          double level);

/* @pace where the network takes @factor times as long as computed. */
OrrGangPace orr_band_cluster_scaled(const OrrGangPace *pace, double factor);

/* The results of the same trace where the network takes @low, and @high, times as long. */
gboolean orr_band_cluster_ends(OrrLibrary *library, const OrrScenario *scenario,
                               const OrrOutcome *outcome, double low, double high,
                               OrrClusterResult ret_ends[2], GError **error);
