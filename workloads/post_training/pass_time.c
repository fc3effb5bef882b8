/*
 * pass_time.c - deals samples to replicas.
 */
#include "workloads/post_training/loop_sim.h"

const char *const orr_pass_balance_words[] = {"in-order", "tokens", NULL};
const char *const orr_pass_packing_words[] = {"packed", "padded", NULL};

static int longest_first(gconstpointer a, gconstpointer b) {
  const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return (x < y) - (x > y);
}

static guint least_of(const double *load, guint n) {
  guint least = 0;
  for (guint i = 1; i < n; i++)
    if (load[i] < load[least]) least = i;
  return least;
}

/* Tokens of the fullest replica. Graham 1969: longest first, to the least loaded. */
static double fullest(const OrrPassShape *shape, const GArray *tokens) {
  const guint n = (guint)shape->replicas;
  g_autofree double *load = g_new0(double, n);
  g_autofree gint64 *sorted = g_new(gint64, tokens->len + 1);
  for (guint i = 0; i < tokens->len; i++) sorted[i] = g_array_index(tokens, gint64, i);
  if (shape->balance == ORR_PASS_BY_TOKENS)
    qsort(sorted, tokens->len, sizeof *sorted, longest_first);
  for (guint i = 0; i < tokens->len; i++) {
    const guint to = shape->balance == ORR_PASS_BY_TOKENS
                         ? least_of(load, n)
                         : (guint)((guint64)i * n / tokens->len); /* contiguous shares */
    load[to] += (double)sorted[i];
  }
  double most = 0;
  for (guint i = 0; i < n; i++) most = fmax(most, load[i]);
  return most;
}

double orr_pass_time_micro_batches(const OrrPassShape *shape, const GArray *tokens) {
  if (shape->packing == ORR_PASS_PACKED) return fullest(shape, tokens) / shape->micro_tokens;
  gint64 longest = 0;
  ORR_EACH_VALUE(const gint64, value, tokens) longest = MAX(longest, value);
  const double each = ceil((double)tokens->len / (double)shape->replicas);
  return ceil(each / (double)shape->micro) * (double)longest / shape->padded_tokens;
}
