/*
 * money.c - sums of what has a price; the head comment of answer_private.h says which.
 */
#include "sim/run/answer/answer_private.h"

#define SECONDS_PER_HOUR 3600.0
#define SECONDS_PER_DAY 86400.0
#define JOULES_PER_KWH 3.6e6

static OrrMoney nothing(void) {
  return (OrrMoney){.hardware_per_gpu_hour = NAN,
                    .energy_per_gpu_hour = NAN,
                    .per_gpu_hour = NAN,
                    .per_day = NAN,
                    .per_million_tokens = NAN,
                    .carbon_kg_per_day = NAN,
                    .carbon_g_per_million_tokens = NAN};
}

/* kWh that the meter counts in a second. */
static double meter_kwh_per_s(const OrrMoneyQuestion *question) {
  const double pue = question->prices->pue;
  return question->watts * (pue > 0 ? pue : 1) / JOULES_PER_KWH;
}

static double per_million(double per_s, double tokens_per_s) {
  return tokens_per_s > 0 ? per_s / tokens_per_s * 1e6 : NAN;
}

OrrMoney orr_money_of(const OrrMoneyQuestion *question) {
  const OrrPrices *prices = question->prices;
  OrrMoney money = nothing();
  if (!orr_prices_given(prices) || !(question->gpus > 0)) return money;
  const gboolean has_hardware = orr_prices_has_hardware(prices), has_energy = prices->kwh > 0;
  const double hours = SECONDS_PER_HOUR / question->gpus, kwh_per_s = meter_kwh_per_s(question);
  if (has_hardware) money.hardware_per_gpu_hour = question->hardware_per_s * hours;
  if (has_energy) money.energy_per_gpu_hour = kwh_per_s * prices->kwh * hours;
  if (has_hardware || has_energy)
    money.per_gpu_hour = (has_hardware ? money.hardware_per_gpu_hour : 0) +
                         (has_energy ? money.energy_per_gpu_hour : 0);
  const double per_s = orr_money_per_s(&money, question);
  money.per_day = per_s * SECONDS_PER_DAY;
  money.per_million_tokens = per_million(per_s, question->tokens_per_s);
  if (!(prices->carbon_grams_per_kwh > 0)) return money;
  const double grams_per_s = kwh_per_s * prices->carbon_grams_per_kwh;
  money.carbon_kg_per_day = grams_per_s * SECONDS_PER_DAY / 1000;
  money.carbon_g_per_million_tokens = per_million(grams_per_s, question->tokens_per_s);
  return money;
}

double orr_money_per_s(const OrrMoney *money, const OrrMoneyQuestion *question) {
  return money->per_gpu_hour * question->gpus / SECONDS_PER_HOUR;
}

double orr_money_hardware(const OrrPrices *prices, const OrrFabric *fabric, const char *device,
                          double gpus) {
  if (!orr_prices_given(prices)) return NAN;
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  return orr_prices_gpu_hour(prices, bill, device) * gpus / SECONDS_PER_HOUR;
}

void orr_money_add_bill(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const char *device = replayed->cluster->device.name;
  const gboolean priced = orr_prices_given(replayed->prices);
  g_autoptr(OrrBill) bill = orr_bill_new(replayed->fabric);
  ORR_EACH_AT(i, const OrrBillItem, item, bill->items) {
    const double each = priced ? orr_prices_item(replayed->prices, item, device) : NAN;
    ORR_APPEND(outcome->bill, OrrBillRow,
               {
                   .position = i + 1,
                   .item = (char *)g_intern_string(orr_bill_words[item->kind]),
                   .layer = (char *)g_intern_string(item->layer),
                   .count = item->count,
                   .ports = item->ports,
                   .ports_used = item->used,
                   .bytes_per_s = item->bytes_per_s > 0 ? item->bytes_per_s : NAN,
                   .price_each = each,
                   .price = each * (double)item->count,
               });
  }
}
