/*
 * latencies.c - percentiles of sorted times: value at rank fraction * (n - 1), interpolated.
 */
#include "sim/run/answer/answer_private.h"

#include "sim/base/number.h"

static double percentile(const double *sorted, guint n, double fraction) {
  if (n == 0) return 0;
  const double place = fraction * (n - 1);
  const guint below = (guint)place, above = MIN(below + 1, n - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/* --- Digits of 11 bits, the lowest first: a pass for each sorts a million numbers in a tenth of
 * the time of comparisons --- */

enum { DIGIT_BITS = 11, DIGIT_VALUES = 1 << DIGIT_BITS, FEW = 4 * DIGIT_VALUES };

/* From how many numbers have each digit to where the first of them goes. */
static void begin_at(guint counts[DIGIT_VALUES]) {
  for (guint value = 0, sum = 0; value < DIGIT_VALUES; value++) {
    const guint here = counts[value];
    counts[value] = sum;
    sum += here;
  }
}

/* The digit of a number that is in the order of the values: their bits, inverted for negative
 * values. */
static guint digit_of(double value, guint digit) {
  const union {
    double value;
    guint64 bits;
  } number = {value + 0.0}; /* no -0 */
  const guint64 order =
      number.bits >> 63 ? ~number.bits : number.bits | G_GUINT64_CONSTANT(1) << 63;
  return (guint)(order >> digit * DIGIT_BITS) & (DIGIT_VALUES - 1);
}

static void sort_values(double *data, guint n) {
  guint n_absent = 0;
  for (guint i = 0; i < n; i++) n_absent += isnan(data[i]) != 0;
  if (n < FEW || n_absent > 0) return qsort(data, n, sizeof *data, orr_number_compare);
  g_autofree double *other = g_new(double, n);
  double *from = data, *to = other;
  for (guint digit = 0; digit * DIGIT_BITS < 64; digit++) { /* six: the last is back in @data */
    guint ends[DIGIT_VALUES] = {0};
    for (guint i = 0; i < n; i++) ends[digit_of(from[i], digit)]++;
    begin_at(ends);
    for (guint i = 0; i < n; i++) to[ends[digit_of(from[i], digit)]++] = from[i];
    double *swapped = from;
    from = to;
    to = swapped;
  }
}

OrrLatencies orr_latencies_of(GArray *values) {
  const guint n = values->len;
  double *data = (double *)(void *)values->data, sum = 0;
  if (n == 0) return (OrrLatencies){NAN, NAN, NAN, NAN, NAN};
  sort_values(data, n);
  for (guint i = 0; i < n; i++) sum += data[i];
  return (OrrLatencies){sum / n, percentile(data, n, 0.5), percentile(data, n, 0.9),
                        percentile(data, n, 0.95), percentile(data, n, 0.99)};
}

/* --- Gaps between tokens: each value stands for many equal gaps --- */

/* A number that is in the order of the gaps: their bits, inverted for negative gaps. */
static guint32 order_of(const OrrTokenGap *gap) {
  const union {
    float gap_s;
    guint32 bits;
  } value = {gap->gap_s + 0.0f}; /* no -0 */
  return value.bits >> 31 ? ~value.bits : value.bits | 1u << 31;
}

/* Sorts by digit @digit of three; equal ones stay in their order. */
static void sort_digit(const OrrTokenGap *from, OrrTokenGap *to, guint n, guint digit) {
  guint ends[DIGIT_VALUES] = {0}; /* where gaps with each digit go */
  for (guint i = 0; i < n; i++)
    ends[order_of(&from[i]) >> digit * DIGIT_BITS & (DIGIT_VALUES - 1)]++;
  begin_at(ends);
  for (guint i = 0; i < n; i++)
    to[ends[order_of(&from[i]) >> digit * DIGIT_BITS & (DIGIT_VALUES - 1)]++] = from[i];
}

/* By digits, since there is a gap for each step of a long run. */
static void sort_gaps(GArray *gaps) {
  OrrTokenGap *data = (OrrTokenGap *)(void *)gaps->data;
  g_autofree OrrTokenGap *other = g_new(OrrTokenGap, gaps->len);
  sort_digit(data, other, gaps->len, 0);
  sort_digit(other, data, gaps->len, 1);
  sort_digit(data, other, gaps->len, 2);
  memcpy(data, other, gaps->len * sizeof(OrrTokenGap));
}

static double gap_at(const GArray *gaps, guint64 rank, guint *at, guint64 *before) {
  while (*before + g_array_index(gaps, OrrTokenGap, *at).n <= rank)
    *before += g_array_index(gaps, OrrTokenGap, (*at)++).n;
  return g_array_index(gaps, OrrTokenGap, *at).gap_s;
}

static double gap_percentile(const GArray *gaps, guint64 n, double fraction) {
  const double place = fraction * (double)(n - 1);
  const guint64 below = (guint64)place, above = MIN(below + 1, n - 1);
  guint at = 0;
  guint64 before = 0;
  const double low = gap_at(gaps, below, &at, &before);
  return low + (gap_at(gaps, above, &at, &before) - low) * (place - (double)below);
}

OrrLatencies orr_latencies_of_gaps(GArray *gaps) {
  guint64 n = 0;
  double sum = 0;
  if (gaps->len > 0) sort_gaps(gaps);
  ORR_EACH(const OrrTokenGap, gap, gaps) {
    n += gap->n;
    sum += (double)gap->gap_s * gap->n;
  }
  if (n == 0) return (OrrLatencies){0};
  return (OrrLatencies){sum / (double)n, gap_percentile(gaps, n, 0.5), gap_percentile(gaps, n, 0.9),
                        gap_percentile(gaps, n, 0.95), gap_percentile(gaps, n, 0.99)};
}
