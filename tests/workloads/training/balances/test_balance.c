/*
 * test_balance.c - groups of packed sequences: all dealt, groups of equal size, sums within the
 * family's bound.
 */
#include "sim/base/random.h"
#include "workloads/training/balances/balance.h"

extern const OrrBalanceKind orr_balance_in_order, orr_balance_karmarkar_karp,
    orr_balance_longest_first;

#define KIND(entry_) ((const OrrBalanceKind *)(entry_))

/* Largest sum less smallest; each group has n / k items. */
static double spread_of(const OrrBalanceKind *kind, const double *weights, gsize n, gsize k) {
  g_autofree guint32 *group = g_new(guint32, n);
  g_autofree double *sums = g_new0(double, k);
  g_autofree gsize *counts = g_new0(gsize, k);
  double most = 0, least = G_MAXDOUBLE;
  kind->deal(weights, n, k, group);
  for (gsize i = 0; i < n; i++) {
    g_assert_cmpuint(group[i], <, k);
    sums[group[i]] += weights[i];
    counts[group[i]]++;
  }
  for (gsize g = 0; g < k; g++) {
    g_assert_cmpuint(counts[g], ==, n / k);
    most = MAX(most, sums[g]);
    least = MIN(least, sums[g]);
  }
  return most - least;
}

/* Of rounds of k in descending order, the most that first and last differ by. */
static double bound_of(const double *weights, gsize n, gsize k) {
  g_autofree gsize *order = orr_balance_order(weights, n);
  double most = 0;
  for (gsize round = 0; round < n; round += k)
    most = MAX(most, weights[order[round]] - weights[order[round + k - 1]]);
  return most;
}

static void test_bound(void) {
  static const gsize shapes[][2] = {{1, 1}, {6, 1}, {6, 6}, {6, 3}, {64, 8}, {96, 32}, {512, 4}};
  OrrRandom random = orr_random_stream(5, "balance");
  for (guint s = 0; s < G_N_ELEMENTS(shapes); s++) {
    const gsize n = shapes[s][0], k = shapes[s][1];
    g_autofree double *weights = g_new(double, n);
    for (gsize i = 0; i < n; i++) weights[i] = (double)orr_random_below(&random, 1000000);
    const double before = spread_of(&orr_balance_in_order, weights, n, k);
    for (const OrrEntry *const *entry = orr_balance_registry.entries; *entry; entry++) {
      const double spread = spread_of(KIND(*entry), weights, n, k);
      g_test_message("%s: %d items, %d groups: %g of %g", (*entry)->name, (int)n, (int)k, spread,
                     before);
      if (KIND(*entry)->is_bound) g_assert_cmpfloat(spread, <=, bound_of(weights, n, k));
    }
  }
}

/* 9 8 7 3 2 1 in three pairs: 9 1, 8 2, 7 3 are even; as they come 17, 10, 3. */
static void test_pairs(void) {
  const double weights[] = {9, 8, 7, 3, 2, 1};
  g_assert_cmpfloat(spread_of(&orr_balance_in_order, weights, 6, 3), ==, 14);
  g_assert_cmpfloat(spread_of(&orr_balance_longest_first, weights, 6, 3), ==, 0);
  g_assert_cmpfloat(spread_of(&orr_balance_karmarkar_karp, weights, 6, 3), ==, 0);
}

/* Two groups of three: rounds 16 9, 8 7, 6 5. Longest first: 16; 9 8 = 17 against 16 7 = 23; 9 8
 * 6 = 23 against 16 7 5 = 28: 5 apart. Differences: {16 | 9} and {8 | 7} joined are 16 7 | 9 8 =
 * 23 | 17, and with {6 | 5} 23 5 | 17 6: the same; no deal is better than 16 6 5 = 27 | 24. Of
 * {10 9} {8 1} {7 2}: longest first 10 | 9, then 10 1 | 9 8, then 10 1 7 | 9 8 2 = 18 | 19;
 * differences 8 1 and 7 2 first, 8 2 | 1 7 = 10 | 8, then with 10 | 9 10 9 | 8 10: 19 | 18. */
static void test_two_groups(void) {
  const double first[] = {16, 9, 8, 7, 6, 5}, second[] = {10, 9, 8, 7, 2, 1};
  g_assert_cmpfloat(spread_of(&orr_balance_longest_first, first, 6, 2), ==, 5);
  g_assert_cmpfloat(spread_of(&orr_balance_karmarkar_karp, first, 6, 2), ==, 5);
  g_assert_cmpfloat(spread_of(&orr_balance_longest_first, second, 6, 2), <=, 1);
  g_assert_cmpfloat(spread_of(&orr_balance_karmarkar_karp, second, 6, 2), <=, 1);
}

/* Equal weights stay as they came wherever that is even. */
static void test_order(void) {
  const double weights[] = {1, 3, 2, 3};
  g_autofree gsize *order = orr_balance_order(weights, 4);
  const gsize wanted[] = {1, 3, 2, 0};
  for (guint i = 0; i < 4; i++) g_assert_cmpuint(order[i], ==, wanted[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/balance/bound", test_bound);
  g_test_add_func("/balance/pairs", test_pairs);
  g_test_add_func("/balance/two-groups", test_two_groups);
  g_test_add_func("/balance/order", test_order);
  return g_test_run();
}
