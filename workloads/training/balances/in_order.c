/*
 * in-order - sequences in their order of arrival: the first n / k to the first group, and so on, as
 * in pre-training, where documents are shuffled before they are packed (Megatron-LM's GPTDataset).
 *
 *   packing: {documents: {kind: lognormal, tokens: 1200, sigma: 1}, balance: in-order}
 */
#include "workloads/training/balances/balance.h"

static void deal(const double *weights, gsize n, gsize k, guint32 *ret_group) {
  for (gsize i = 0; i < n; i++) ret_group[i] = (guint32)(i / (n / k));
}

const OrrBalanceKind orr_balance_in_order = {
    .entry = {"in-order", "Packed sequences go to replicas and micro-batches in order of arrival.",
              NULL},
    .deal = deal,
};
