/*
 * serving_region_rows.c - a fleet in several regions: what the clients of each saw, and what its
 * replicas did.
 */
#include "sim/run/answer/answer_private.h"

typedef struct {
  GArray *ttft, *e2e; /* of double */
  double network_s, output, busy_s, held_s;
  gint64 good;
  OrrServingRegionRow row;
} Sums;

static Sums *sums_new(const OrrServing *params) {
  Sums *sums = g_new0(Sums, orr_serving_n_regions(params));
  for (guint i = 0; i < orr_serving_n_regions(params); i++) {
    const char *name = ((const OrrRegion *)params->regions->pdata[i])->name;
    sums[i].row.region = (char *)g_intern_string(name);
    sums[i].ttft = g_array_new(FALSE, FALSE, sizeof(double));
    sums[i].e2e = g_array_new(FALSE, FALSE, sizeof(double));
  }
  return sums;
}

static void add_requests(const OrrServingWork *work, Sums *sums) {
  ORR_EACH(const OrrServedRequest, request, work->requests) {
    const OrrServingRequestRow *row = &request->row;
    const guint in = orr_serving_group_region(&work->params, work->replicas[row->replica].group);
    Sums *from = &sums[request->region - 1];
    if (!orr_serving_rows_count(work, row->arrival_s, request->left_s)) continue;
    g_array_append_val(from->ttft, row->ttft_s);
    g_array_append_val(from->e2e, row->e2e_s);
    from->network_s += row->network_s;
    from->good += row->good != FALSE;
    from->row.completed++;
    from->row.away += in != request->region - 1u;
    sums[in].row.served++;
    sums[in].output += (double)(row->output_tokens * orr_serving_outputs(&work->params));
  }
  ORR_EACH(const OrrUnserved, one, work->unserved) {
    OrrServingRegionRow *row = &sums[one->region - 1].row;
    if (orr_serving_rows_count(work, one->arrival_s, one->at_s))
      (*(one->is_failed ? &row->failed : &row->rejected))++;
  }
}

static void add_replicas(const OrrServingWork *work, Sums *sums) {
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedReplica *replica = &work->replicas[i];
    Sums *in = &sums[orr_serving_group_region(&work->params, replica->group)];
    in->row.replicas++;
    in->busy_s += replica->busy_s;
    in->held_s += replica->held_s;
  }
}

/* --- what energy costs --- */

static const OrrRegion *region_at(const OrrServing *params, guint i) {
  return params->regions->pdata[i];
}

/* Joules of the GPUs of each region; newly allocated. */
static double *joules_of_regions(const OrrServingWork *work) {
  double *joules = g_new0(double, orr_serving_n_regions(&work->params));
  for (gint64 i = 0; i < work->params.replicas; i++)
    joules[orr_serving_group_region(&work->params, work->replicas[i].group)] +=
        orr_serving_energy_of(work, i);
  return joules;
}

static double own_or(double own, double other) { return own > 0 ? own : other; }

OrrPrices orr_serving_region_rows_prices(const OrrServingWork *work, const OrrPrices *prices) {
  OrrPrices own = prices ? *prices : (OrrPrices){0};
  if (!orr_prices_given(prices) || orr_serving_n_regions(&work->params) == 0) return own;
  g_autofree double *joules = joules_of_regions(work);
  double all = 0, cost = 0, grams = 0;
  for (guint i = 0; i < orr_serving_n_regions(&work->params); i++) {
    const OrrRegion *region = region_at(&work->params, i);
    all += joules[i];
    cost += joules[i] * own_or(region->kwh, prices->kwh);
    grams += joules[i] * own_or(region->carbon_grams_per_kwh, prices->carbon_grams_per_kwh);
  }
  if (!(all > 0)) return own;
  if (prices->kwh > 0) own.kwh = cost / all;
  if (prices->carbon_grams_per_kwh > 0) own.carbon_grams_per_kwh = grams / all;
  return own;
}

/* Settings of a region that change nothing. */
static void warn(const OrrServing *params, const OrrPrices *prices, OrrOutcome *outcome) {
  gboolean has_kwh = FALSE, has_carbon = FALSE;
  const gboolean given = orr_prices_given(prices);
  ORR_EACH_POINTER(const OrrRegion, region, params->regions) {
    has_kwh |= region->kwh > 0;
    has_carbon |= region->carbon_grams_per_kwh > 0;
  }
  if (has_kwh && !(given && prices->kwh > 0))
    g_ptr_array_add(outcome->warnings,
                    g_strdup("regions: kwh is used with prices.kwh, for the regions without one"));
  if (has_carbon && !(given && prices->carbon_grams_per_kwh > 0))
    g_ptr_array_add(outcome->warnings,
                    g_strdup("regions: carbon-grams-per-kwh is used with "
                             "prices.carbon-grams-per-kwh, for the regions without one"));
}

/* The machine draws in each region as its GPUs do. */
static void add_money(const OrrReplayed *replayed, const OrrServingWork *work, Sums *sums,
                      OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  const OrrPrices *prices = replayed->prices;
  const gboolean given = orr_prices_given(prices);
  g_autofree double *joules = joules_of_regions(work);
  double all = 0;
  for (guint i = 0; i < orr_serving_n_regions(&work->params); i++) all += joules[i];
  for (guint i = 0; i < orr_serving_n_regions(&work->params); i++) {
    const OrrRegion *region = region_at(&work->params, i);
    OrrServingRegionRow *row = &sums[i].row;
    row->gpu_energy_j = joules[i];
    row->energy_cost = row->carbon_kg = NAN;
    if (!given) continue;
    const double meter_kwh = result->machine.all_w * result->duration_s * joules[i] / all *
                             own_or(prices->pue, 1) / 3.6e6;
    if (prices->kwh > 0) row->energy_cost = meter_kwh * own_or(region->kwh, prices->kwh);
    if (prices->carbon_grams_per_kwh > 0)
      row->carbon_kg =
          meter_kwh * own_or(region->carbon_grams_per_kwh, prices->carbon_grams_per_kwh) / 1000;
  }
  warn(&work->params, prices, outcome);
}

/* --- rows --- */

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

void orr_serving_region_rows(const OrrReplayed *replayed, const OrrServingWork *work,
                             OrrOutcome *outcome) {
  const guint n = orr_serving_n_regions(&work->params);
  if (n == 0) return;
  Sums *sums = sums_new(&work->params);
  add_requests(work, sums);
  add_replicas(work, sums);
  add_money(replayed, work, sums, outcome);
  for (guint i = 0; i < n; i++) {
    Sums *one = &sums[i];
    OrrServingRegionRow *row = &one->row;
    const double n_counted = (double)row->completed;
    const OrrLatencies ttft = orr_latencies_of(one->ttft), e2e = orr_latencies_of(one->e2e);
    row->good_fraction = ratio((double)one->good, n_counted);
    row->network_mean_s = ratio(one->network_s, n_counted);
    row->ttft_mean_s = row->completed > 0 ? ttft.mean : NAN;
    row->ttft_p99_s = row->completed > 0 ? ttft.p99 : NAN;
    row->e2e_mean_s = row->completed > 0 ? e2e.mean : NAN;
    row->gpu_busy = row->replicas > 0 ? ratio(one->busy_s, one->held_s) : NAN;
    row->output_tokens_per_s = one->output / fmax(outcome->result.serving.duration_s, 1e-12);
    g_array_append_val(outcome->serving_regions, *row);
    g_array_unref(one->ttft);
    g_array_unref(one->e2e);
  }
  g_free(sums);
}
