/*
 * longest-first - the heaviest remaining sequence goes to the group with the smallest sum among
 * those not full (Graham 1969, longest processing time first, with groups of equal size: in rounds
 * of one item per group). verl's greedy_partition (verl/utils/seqlen_balancing.py).
 *
 *   9 8 7 | 3 2 1    ->    9 1   8 2   7 3        the heaviest of a round to the smallest sum
 *
 *   packing: {documents: {kind: lognormal, tokens: 1200, sigma: 1}, balance: longest-first}
 */
#include "workloads/training/balances/balance.h"

/* Groups by their sums, the smallest first. */
typedef struct {
  double sum;
  guint32 group;
} Load;

static int by_sum(const void *a, const void *b) {
  const Load *x = a, *y = b;
  return x->sum != y->sum ? (x->sum < y->sum ? -1 : 1)
                          : (x->group > y->group) - (x->group < y->group);
}

static void deal(const double *weights, gsize n, gsize k, guint32 *ret_group) {
  g_autofree gsize *order = orr_balance_order(weights, n);
  g_autofree Load *loads = g_new0(Load, k);
  for (gsize g = 0; g < k; g++) loads[g].group = (guint32)g;
  for (gsize round = 0; round < n; round += k) {
    qsort(loads, k, sizeof *loads, by_sum);
    for (gsize i = 0; i < k; i++) {
      const gsize item = order[round + i];
      ret_group[item] = loads[i].group;
      loads[i].sum += weights[item];
    }
  }
}

const OrrBalanceKind orr_balance_longest_first = {
    .entry = {"longest-first",
              "The longest remaining packed sequence goes to the replica with the least so far.",
              NULL},
    .is_bound = TRUE,
    .deal = deal,
};
