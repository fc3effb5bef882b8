/*
 * karmarkar-karp - the largest differencing method (Karmarkar and Karp 1982) with groups of equal
 * size: verl's trainer.balance_batch over replicas and rearrange_micro_batches within them
 * (verl/utils/seqlen_balancing.py, get_seqlen_balanced_partitions), and what slime and NeMo-RL took
 * over from it.
 *
 * A partition is k sums in descending order. At first, the sorted items form n / k partitions of k
 * items each. Then the two partitions with the largest differences between their sums are joined,
 * largest sum to smallest, until one is left:
 *
 *   9 8 7   (differ by 2)              9+1  8+2  7+3
 *   3 2 1   (differ by 2)    ->       10   10   10
 *
 *   packing: {documents: {kind: lognormal, tokens: 1200, sigma: 1}, balance: karmarkar-karp}
 */
#include "workloads/training/balances/balance.h"

/* The items of a set form a list; each entry is the number of the next item; n: end. */
typedef struct {
  double sum;
  gsize first, last;
} Set;

static double spread(const Set *partition, gsize k) {
  return partition[0].sum - partition[k - 1].sum;
}

static int by_sum(const void *a, const void *b) {
  const Set *x = a, *y = b;
  return x->sum != y->sum ? (x->sum < y->sum ? 1 : -1)
                          : (x->first > y->first) - (x->first < y->first);
}

/* Joins @other to @partition. */
static void join(Set *partition, const Set *other, gsize k, gsize *next) {
  for (gsize j = 0; j < k; j++) {
    const Set *small = &other[k - 1 - j];
    next[partition[j].last] = small->first;
    partition[j].last = small->last;
    partition[j].sum += small->sum;
  }
  qsort(partition, k, sizeof *partition, by_sum);
}

/* Moves the one of @n partitions with the largest difference to @at. */
static void bring_widest(Set **partitions, gsize n, gsize at, gsize k) {
  gsize widest = at;
  for (gsize i = at + 1; i < n; i++)
    if (spread(partitions[i], k) > spread(partitions[widest], k)) widest = i;
  Set *other = partitions[at];
  partitions[at] = partitions[widest];
  partitions[widest] = other;
}

static void deal(const double *weights, gsize n, gsize k, guint32 *ret_group) {
  const gsize n_partitions = n / k;
  g_autofree gsize *order = orr_balance_order(weights, n), *next = g_new(gsize, n);
  g_autofree Set *sets = g_new(Set, n);
  g_autofree Set **partitions = g_new(Set *, n_partitions);
  for (gsize i = 0; i < n; i++) {
    sets[i] = (Set){weights[order[i]], order[i], order[i]};
    next[i] = n;
  }
  for (gsize p = 0; p < n_partitions; p++) partitions[p] = &sets[p * k];
  for (gsize left = n_partitions; left > 1; left--) {
    bring_widest(partitions, left, 0, k);
    bring_widest(partitions, left, 1, k);
    join(partitions[0], partitions[1], k, next);
    partitions[1] = partitions[left - 1];
  }
  for (gsize g = 0; g < k && n > 0; g++)
    for (gsize i = partitions[0][g].first; i != n; i = next[i]) ret_group[i] = (guint32)g;
}

const OrrBalanceKind orr_balance_karmarkar_karp = {
    .entry = {"karmarkar-karp", "Balances sums of packed sequences by largest differences (verl).",
              NULL},
    .is_bound = TRUE,
    .deal = deal,
};
