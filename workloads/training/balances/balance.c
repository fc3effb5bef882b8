/*
 * balance.c - the order of items by weight that balances share.
 */
#include "workloads/training/balances/balance.h"

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
