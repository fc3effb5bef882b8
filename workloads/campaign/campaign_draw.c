/*
 * campaign_draw.c - hazards and their inverses.
 *
 *   exponential  H(t) = n t / scale
 *   Weibull      H(t) = n (t / scale)^k
 *   log-normal   H(t) = -n ln(1 - Phi(ln(t / scale) / sigma)), inverted by bisection
 */
#include "workloads/campaign/campaign_sim.h"

static double survival(double z) { return 0.5 * erfc(z * G_SQRT2 / 2); }

static double hazard(const OrrCampaignProcess *p, double t) {
  if (t <= 0) return 0;
  if (p->life == ORR_LIFE_EXPONENTIAL) return p->n * t / p->scale_s;
  if (p->life == ORR_LIFE_WEIBULL) return p->n * pow(t / p->scale_s, p->shape);
  return -p->n * log(fmax(survival(log(t / p->scale_s) / p->shape), 1e-300));
}

double orr_campaign_draw_hazard(const OrrCampaignProcess *process, double t_s) {
  return hazard(process, t_s);
}

static double bisect(const OrrCampaignProcess *p, double h) {
  double low = 0, high = p->scale_s;
  while (hazard(p, high) < h && high < 1e18) high *= 2;
  for (int i = 0; i < 80; i++) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break; /* there is no number in between */
    *(hazard(p, middle) < h ? &low : &high) = middle;
  }
  return high;
}

static double inverse(const OrrCampaignProcess *p, double h) {
  if (p->n <= 0) return INFINITY;
  if (p->life == ORR_LIFE_EXPONENTIAL) return h / p->n * p->scale_s;
  if (p->life == ORR_LIFE_WEIBULL) return p->scale_s * pow(h / p->n, 1 / p->shape);
  return bisect(p, h);
}

/* Until when the present attempt is young. */
static double young_until(const OrrCampaignDraw *draw) {
  return draw->process->infant > 1 ? draw->begin_s + draw->process->infant_s : 0;
}

/* The hazard from @from_s to @to_s, a young attempt's included. */
static double spent(const OrrCampaignDraw *draw, double from_s, double to_s) {
  const double young = fmin(fmax(young_until(draw), from_s), to_s);
  const OrrCampaignProcess *p = draw->process;
  const double base = hazard(p, to_s) - hazard(p, from_s);
  const double early =
      young <= from_s ? 0 : (p->infant - 1) * (hazard(p, young) - hazard(p, from_s));
  return draw->factor * (base + early);
}

static void solve(OrrCampaignDraw *draw) {
  const OrrCampaignProcess *p = draw->process;
  const double young = fmax(young_until(draw), draw->at_s), here = hazard(p, draw->at_s),
               early = spent(draw, draw->at_s, young);
  const double h = draw->left < early ? here + draw->left / (p->infant * draw->factor)
                                      : hazard(p, young) + (draw->left - early) / draw->factor;
  draw->next_s = fmax(inverse(p, h), draw->at_s);
}

static double unit_exponential(OrrRandom *random) { return -log(1 - orr_random_unit(random)); }

void orr_campaign_draw_init(OrrCampaignDraw *draw, const OrrCampaignProcess *process, guint index,
                            guint64 seed) {
  g_autofree char *arrivals = g_strdup_printf("campaign-%s-%u", process->name, index);
  g_autofree char *marks = g_strdup_printf("campaign-marks-%s-%u", process->name, index);
  *draw = (OrrCampaignDraw){.process = process,
                            .arrivals = orr_random_stream(seed, arrivals),
                            .marks = orr_random_stream(seed, marks),
                            .factor = 1};
  draw->left = unit_exponential(&draw->arrivals);
  solve(draw);
}

void orr_campaign_draw_attempt(OrrCampaignDraw *draw, double at_s) {
  draw->left = fmax(draw->left - spent(draw, draw->at_s, at_s), 0);
  draw->at_s = draw->begin_s = at_s;
  solve(draw);
}

void orr_campaign_draw_scale(OrrCampaignDraw *draw, double at_s, double factor) {
  if (factor == draw->factor) return;
  draw->left = fmax(draw->left - spent(draw, draw->at_s, at_s), 0);
  draw->at_s = at_s;
  draw->factor = factor;
  solve(draw);
}

void orr_campaign_draw_next(OrrCampaignDraw *draw) {
  draw->at_s = draw->next_s;
  draw->left = unit_exponential(&draw->arrivals);
  solve(draw);
}

double orr_campaign_draw_repair(OrrCampaignDraw *draw) {
  const OrrCampaignProcess *p = draw->process;
  if (p->repair == ORR_REPAIR_EXPONENTIAL) return p->repair_s * unit_exponential(&draw->marks);
  if (p->repair == ORR_REPAIR_LOGNORMAL) /* of mean repair_s */
    return p->repair_s * exp(p->repair_sigma * orr_random_normal(&draw->marks) -
                             p->repair_sigma * p->repair_sigma / 2);
  return p->repair_s;
}
