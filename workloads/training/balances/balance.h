/*
 * balance.h - assigns a step's packed sequences to replicas and micro-batches.
 *
 * Packed sequences have equal numbers of tokens but unequal attention: w = sum L_j^2 over their
 * documents. A step takes as long as the replica with the largest sum, and the stages of a pipeline
 * wait for the micro-batch with the largest. An entry distributes n sequences of known weights over
 * k groups of n / k each: first a step's sequences over the replicas, then each replica's over its
 * micro-batches.
 *
 *                     in-order        longest-first / karmarkar-karp
 *   replica 0         9 1             9 1
 *   replica 1         8 7             8 2
 *   replica 2         2 3             7 3
 *
 * With the weights in descending order, in rounds of k, an entry that balances keeps
 *
 *   largest sum - smallest sum  <=  max over rounds of (first - last of the round)
 *
 * because each round adds its largest weight to the smallest sum. in-order has no bound.
 *
 * To add one: write workloads/training/balances/NAME.c with one `const OrrBalanceKind` and its line
 * in meson.build. The family's test holds each against that bound.
 */
#pragma once

#include "sim/base/field.h"

typedef struct {
  OrrEntry entry;
  /* Mandatory: deal. Other functions may be NULL. */
  gboolean is_bound; /* whether the bound above holds */
  /* Distributes @n items of @weights; @k divides @n. ret_group[i] is in 0 .. k - 1, each value n
   * / k times. */
  void (*deal)(const double *weights, gsize n, gsize k, guint32 *ret_group);
} OrrBalanceKind;

extern const OrrRegistry orr_balance_registry;

/* The items in descending order of weight, ties in their original order; newly allocated, @n of
 * them. */
gsize *orr_balance_order(const double *weights, gsize n);
