/*
 * balance.c - the registry of balances, and the order of items by weight that they share.
 */
#include "workloads/training/balances/balance.h"

/* Alphabetical. To add one, see balance.h. */
static const OrrEntry *const entries[] = {&orr_balance_in_order.entry,
                                          &orr_balance_karmarkar_karp.entry,
                                          &orr_balance_longest_first.entry, NULL};
const OrrRegistry orr_balance_registry = {"balance", entries};

static gint by_weight(gconstpointer a, gconstpointer b, gpointer weights) {
  const gsize i = *(const gsize *)a, j = *(const gsize *)b;
  const double x = ((const double *)weights)[i], y = ((const double *)weights)[j];
  return x != y ? (x < y ? 1 : -1) : (i > j) - (i < j);
}

gsize *orr_balance_order(const double *weights, gsize n) {
  gsize *order = g_new(gsize, n);
  for (gsize i = 0; i < n; i++) order[i] = i;
  g_qsort_with_data(order, (gint)n, sizeof *order, by_weight, (gpointer)weights);
  return order;
}
