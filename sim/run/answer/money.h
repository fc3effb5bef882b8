/*
 * money.h - what a run costs: one vocabulary for training and serving (OrrMoney in rows.h), and the
 * rows of the machine's bill.
 *
 *   hardware   GPU-hours of the job, at the rent or the machine's price over its life (prices.h)
 *   energy     what the meter shows: the machine's watts * pue / 1000 * price of a kWh
 *   cost       the sum of the two, or of the one that has a price. Where one has a price but its
 *              quantity is not known (energy without a power model), the cost is not known: NAN,
 *              which is NULL in the database, never 0
 *   carbon     the same kWh * carbon-grams-per-kwh
 */
#ifndef ORR_MONEY_H
#define ORR_MONEY_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

typedef struct {
  const OrrPrices *prices; /* NULL, or not given: all NAN */
  double gpus;             /* that the job holds, mean over its time */
  double hardware_per_s;   /* price of holding them for a second (orr_money_hardware) */
  double watts;            /* of the machine for the job, before PUE; NAN: no power model */
  double tokens_per_s;     /* trained, or of prompts and outputs; 0: none */
} OrrMoneyQuestion;

/* All members NAN where they are not known. */
OrrMoney orr_money_of(const OrrMoneyQuestion *question);

/* The cost of one second of the job; NAN: not known. */
double orr_money_per_s(const OrrMoney *money, const OrrMoneyQuestion *question);

/* The price of @gpus GPUs of @device of @fabric's machine for one second; NAN: not given. */
double orr_money_hardware(const OrrPrices *prices, const OrrFabric *fabric, const char *device,
                          double gpus);

/* Adds the rows of `bill`. */
void orr_money_add_bill(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif
