/*
 * band_far.c - the rows behind a band where no row is near: all of the quantity. The nearest
 * campaigns weigh most, and the rows of one campaign together as much as one row would.
 */
#include "sim/bands/band_private.h"

/* Distance over which the weight falls to 1 / e. */
#define FAR_DECAY 4.0
/* How much wider bounds of 80 % are than the quantiles of the rows: FAR_MORE, and FAR_FEW more with
 * one campaign, half of that with two. Chosen so that about 80 % of the measurements lie inside
 * with sets, models, software, devices and clusters left out (docs/modelling/bands.md). Few
 * campaigns leave the tails uncertain, and hardly the middle: bounds of 50 % do not widen. */
#define FAR_MORE 0.1
#define FAR_FEW 1.5
/* So much is each row worth in sum that the one at infinity (conformal.h) is worth nothing:
 * FAR_FEW stands for it. */
#define FAR_WEIGHT 1e6

double orr_band_far_widening(double n_campaigns, double level) {
  return 1 + (FAR_MORE + FAR_FEW / n_campaigns) * fmax(level - 0.5, 0) / 0.3;
}

static int compare_weights(const void *a, const void *b) {
  const OrrBandNear *p = a, *q = b;
  if (p->weight != q->weight) return p->weight > q->weight ? -1 : 1;
  return (p->row > q->row) - (p->row < q->row);
}

typedef struct {
  guint row, n;
  double weight;
} Campaign;

/* The place of the campaign of @row in @campaigns, which rows join in the order of their sets. */
static guint campaign_of(const OrrBands *bands, GArray *campaigns, guint row) {
  const OrrResidual *one = orr_band_residual(bands, row);
  for (guint k = campaigns->len; k-- > 0;) {
    const OrrResidual *other = orr_band_residual(bands, g_array_index(campaigns, Campaign, k).row);
    if (other->set != one->set) break;
    if (orr_band_is_same_campaign(one, other)) return k;
  }
  ORR_APPEND(campaigns, Campaign, {.row = row});
  return campaigns->len - 1;
}

/* Divides each row's weight by the number of its campaign's rows, and adds it to the campaign. */
static void share_weights(GArray *all, const guint *campaign_of_row, GArray *campaigns) {
  ORR_EACH_AT(i, OrrBandNear, one, all) {
    Campaign *campaign = &g_array_index(campaigns, Campaign, campaign_of_row[i]);
    one->weight *= FAR_WEIGHT / campaign->n;
    campaign->weight += one->weight;
  }
}

/* How many campaigns of equal weight the weights are worth (Kish 1965, Survey Sampling). */
static double count_of_weights(const GArray *campaigns) {
  double sum = 0, squares = 0;
  ORR_EACH(const Campaign, campaign, campaigns) {
    const double weight = campaign->weight;
    sum += weight;
    squares += weight * weight;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

GArray *orr_band_far_rows(const OrrBands *bands, const OrrBandQuestion *question,
                          OrrQuantity quantity, double *ret_n) {
  GArray *all = g_array_new(FALSE, FALSE, sizeof(OrrBandNear));
  g_autoptr(GArray) campaigns = g_array_new(FALSE, FALSE, sizeof(Campaign));
  g_autofree guint *campaign_of_row = g_new(guint, bands->residuals->rows->len + 1);
  const OrrDistancePoint asked = orr_distance_point_for(question->likeness, quantity);
  double least = INFINITY;
  for (guint i = 0; i < bands->residuals->rows->len; i++) {
    OrrBandNear near = {.row = i};
    double added;
    if (orr_band_is_left_out(question, orr_band_residual(bands, i)) ||
        !orr_band_nearest_answer(bands, i, quantity, &near.answer, &added))
      continue;
    near.distance = added + orr_distance(&asked, &bands->points[i]);
    least = fmin(least, near.distance);
    campaign_of_row[all->len] = campaign_of(bands, campaigns, i);
    g_array_index(campaigns, Campaign, campaign_of_row[all->len]).n++;
    g_array_append_val(all, near);
  }
  ORR_EACH(OrrBandNear, one, all) one->weight = exp((least - one->distance) / FAR_DECAY);
  share_weights(all, campaign_of_row, campaigns);
  *ret_n = count_of_weights(campaigns);
  g_array_sort(all, compare_weights);
  return all;
}
