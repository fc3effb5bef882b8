/*
 * intervals.c - keeps the intervals of each thing in a list, and evaluates them at a date.
 */
#include "sim/run/faults/faults.h"

#include "sim/base/number.h"

/* One effect on one thing, from begin_s to end_s. */
typedef struct {
  double begin_s, end_s, loss;
  gint64 part; /* number of the link or GPU that the effect strikes; a lane has several GPUs */
} Interval;

void orr_intervals_init(OrrIntervals *intervals) {
  *intervals = (OrrIntervals){g_array_new(FALSE, FALSE, sizeof(gint64)),
                              g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
                              g_hash_table_new(g_direct_hash, g_direct_equal)};
}

void orr_intervals_clear(OrrIntervals *intervals) {
  g_array_unref(intervals->things);
  g_ptr_array_unref(intervals->effects);
  g_hash_table_unref(intervals->places);
}

void orr_intervals_add(OrrIntervals *intervals, gint64 thing, const OrrOutage *outage,
                       const OrrFaultEffect *effect) {
  gsize place = GPOINTER_TO_SIZE(g_hash_table_lookup(intervals->places, GSIZE_TO_POINTER(thing)));
  if (!place) {
    g_array_append_val(intervals->things, thing);
    g_ptr_array_add(intervals->effects, g_array_new(FALSE, FALSE, sizeof(Interval)));
    place = intervals->things->len;
    g_hash_table_insert(intervals->places, GSIZE_TO_POINTER(thing), GSIZE_TO_POINTER(place));
  }
  ORR_APPEND((GArray *)intervals->effects->pdata[place - 1], Interval,
             {outage->begin_s, outage->end_s, effect->loss, effect->index});
}

void orr_intervals_add_links(OrrIntervals *intervals, const OrrOutage *outage) {
  ORR_EACH(const OrrFaultEffect, effect, outage->effects)
    if (effect->kind == ORR_FAULT_EFFECT_LINK)
      orr_intervals_add(intervals, effect->index, outage, effect);
}

/* --- Dates --- */

void orr_intervals_sort_dates(GArray *dates) {
  guint n = 0;
  g_array_sort(dates, orr_number_compare);
  for (guint i = 0; i < dates->len; i++)
    if (n == 0 || g_array_index(dates, double, i) > g_array_index(dates, double, n - 1))
      g_array_index(dates, double, n++) = g_array_index(dates, double, i);
  g_array_set_size(dates, n);
}

static guint n_at(const OrrIntervals *intervals, guint place) {
  return ((const GArray *)intervals->effects->pdata[place])->len;
}

static const Interval *interval_at(const OrrIntervals *intervals, guint place, guint i) {
  return &g_array_index((const GArray *)intervals->effects->pdata[place], Interval, i);
}

GArray *orr_intervals_dates(const OrrIntervals *intervals, guint place) {
  GArray *dates = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < n_at(intervals, place); i++) {
    const Interval *interval = interval_at(intervals, place, i);
    g_array_append_val(dates, interval->begin_s);
    if (isfinite(interval->end_s)) g_array_append_val(dates, interval->end_s);
  }
  orr_intervals_sort_dates(dates);
  return dates;
}

/* --- Factors --- */

static gboolean is_on(const Interval *interval, double at_s) {
  return interval->begin_s <= at_s && at_s < interval->end_s;
}

double orr_intervals_link_factor(const OrrIntervals *intervals, guint place, double at_s) {
  double left = 1;
  for (guint i = 0; i < n_at(intervals, place); i++) {
    const Interval *interval = interval_at(intervals, place, i);
    if (is_on(interval, at_s)) left -= interval->loss;
  }
  return left < 1e-9 ? 0 : left; /* n times 1/n may differ from 1 by rounding */
}

static double gpu_factor(const OrrIntervals *intervals, guint place, gint64 gpu, double at_s) {
  double factor = 1;
  for (guint i = 0; i < n_at(intervals, place); i++) {
    const Interval *interval = interval_at(intervals, place, i);
    if (interval->part == gpu && is_on(interval, at_s)) factor *= 1 + interval->loss;
  }
  return factor;
}

double orr_intervals_lane_factor(const OrrIntervals *intervals, guint place, double at_s) {
  double factor = 1;
  for (guint i = 0; i < n_at(intervals, place); i++)
    factor =
        MAX(factor, gpu_factor(intervals, place, interval_at(intervals, place, i)->part, at_s));
  return factor;
}
