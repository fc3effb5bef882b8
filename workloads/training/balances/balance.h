/*
 * balance.h - which of a step's packed sequences go to which replica and micro-batch.
 *
 * Packed sequences are of equal tokens and of unequal attention: w = sum L_j^2 of their documents.
 * A step lasts as long as the replica with most, a pipeline's stages wait for the micro-batch with
 * most. An entry deals n sequences of known weights to k groups of n / k each: first all of a step
 * to the replicas, then each replica's to its micro-batches.
 *
 *                     in-order        longest-first / karmarkar-karp
 *   replica 0         9 1             9 1
 *   replica 1         8 7             8 2          groups' sums differ by no more than weights that are next to each
 *   replica 2         2 3             7 3          other in their order do
 *
 * With the weights in descending order, in rounds of k, an entry that balances keeps
 *
 *   largest sum - smallest sum  <=  max over rounds of (first - last of the round)
 *
 * since a round is added with its largest to the smallest sum. in-order is bound by nothing.
 *
 * To add one: write workloads/training/balances/NAME.c with one `const OrrBalanceKind`, add it to
 * the array in balance.c and to meson.build. The family's test holds each against that bound.
 */
#ifndef ORR_BALANCE_H
#define ORR_BALANCE_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  OrrEntry entry;
  gboolean is_bound; /* by the above */
  /* @n items of @weights, @k divides @n: ret_group[i] is of 0 .. k - 1, each n / k times. */
  void (*deal)(const double *weights, gsize n, gsize k, guint32 *ret_group);
} OrrBalanceKind;

extern const OrrRegistry orr_balance_registry;
extern const OrrBalanceKind orr_balance_in_order, orr_balance_karmarkar_karp,
    orr_balance_longest_first;

/* Items in descending order of weight, of equal ones the earlier first; newly allocated, @n of
 * them. */
gsize *orr_balance_order(const double *weights, gsize n);

G_END_DECLS

#endif
