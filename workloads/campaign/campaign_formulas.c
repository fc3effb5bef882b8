/*
 * campaign_formulas.c - Young, Daly, E[ETTR], and the distribution of nodes in repair as a
 * convolution of Poisson ones.
 */
#include "workloads/campaign/campaign_sim.h"

enum { MOST_OUT = 8192 };

double orr_campaign_formulas_young_s(double stall_s, double mttf_s) {
  return sqrt(2 * stall_s * mttf_s);
}

double orr_campaign_formulas_daly_s(double stall_s, double mttf_s) {
  const double x = stall_s / (2 * mttf_s);
  if (x >= 1) return mttf_s;
  return orr_campaign_formulas_young_s(stall_s, mttf_s) * (1 + sqrt(x) / 3 + x / 9) - stall_s;
}

double orr_campaign_formulas_ettr(double mttf_s, double down_s, double interval_s, double stall_s) {
  return (1 - (down_s + interval_s / 2) / mttf_s) / (1 + stall_s / interval_s);
}

/* A Poisson mean whose exp(-mean) is far from the smallest double. */
static const double most_mean = 500;

/* Convolves @all with the number of nodes that a process of Poisson mean @mean, at most @most_mean,
 * @nodes at a time, has in repair. */
static void convolve(double *all, double mean, gint64 nodes) {
  double *sum = g_new0(double, MOST_OUT);
  double weight = exp(-mean);
  for (gint64 k = 0; k * nodes < MOST_OUT; weight *= mean / (double)++k) {
    if (weight < 1e-15 && (double)k > mean) break;
    for (gint64 i = k * nodes; i < MOST_OUT; i++) sum[i] += weight * all[i - k * nodes];
  }
  memcpy(all, sum, MOST_OUT * sizeof *all);
  g_free(sum);
}

gint64 orr_campaign_formulas_spares(const OrrCampaignInput *input, double p) {
  const double lemons = 1 + input->lemon_fraction * (fmax(input->lemon_multiple, 1) - 1);
  double *all = g_new0(double, MOST_OUT), sum = 0;
  gint64 out = 0;
  all[0] = 1;
  ORR_EACH(const OrrCampaignProcess, process, input->processes) {
    if (process->nodes <= 0) continue;
    const double rate = orr_campaign_draw_hazard(process, input->duration_s) / input->duration_s;
    double mean = rate * process->repair_s * (process->nodes == 1 ? lemons : 1);
    /* The sum of Poisson numbers is one of the sum of their means. */
    for (; mean > 0; mean -= most_mean) convolve(all, fmin(mean, most_mean), process->nodes);
  }
  for (; out < MOST_OUT - 1; out++) {
    sum += all[out];
    if (sum >= p) break;
  }
  g_free(all);
  return out;
}
