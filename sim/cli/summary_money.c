/*
 * summary_money.c - "cost", "run" and "carbon": what a run costs, in the prices' currency.
 */
#include "sim/cli/summary_money.h"

#include <math.h>

#include "sim/cli/show.h"

/* Appends ", 0.27 per million tokens", unless @cost is not known. */
static void add_part(GString *text, double cost, const char *per) {
  if (isnan(cost)) return;
  g_autofree char *number = cost >= 1e4 && cost < 1e15 ? orr_show_count((gint64)(cost + 0.5))
                                                       : g_strdup_printf("%.4g", cost);
  g_string_append_printf(text, "%s%s %s", text->len ? ", " : "", number, per);
}

static void add_line(GString *out, const char *what, const char *text) {
  if (*text) g_string_append_printf(out, "  %-12s  %s\n", what, text);
}

static char *cost_text(const OrrOutcome *outcome, const OrrMoney *money, const char *currency) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *hour = g_strdup_printf("%s per GPU-hour", currency);
  const gboolean is_training = outcome->kind->result == &orr_training_result_table;
  add_part(text, money->per_gpu_hour, hour);
  add_part(text, money->per_day, "per day");
  if (is_training) {
    add_part(text, outcome->result.training.cost_per_step, "per step");
    add_part(text, money->per_million_tokens, "per million tokens");
  } else {
    add_part(text, outcome->result.serving.cost_per_million_input_tokens,
             "per million input tokens");
    add_part(text, outcome->result.serving.cost_per_million_output_tokens,
             "per million output tokens");
  }
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Where the cost is not known, what is missing: the energy, or a price of hardware. */
static char *missing_text(const OrrScenario *scenario, const OrrMoney *money) {
  const OrrPrices *prices = &scenario->prices;
  const gboolean has_boards = orr_device_power_is_known(&scenario->cluster.device.power);
  const char *missing = has_boards ? "cluster.power.rest-busy" : "cluster.device.power";
  if (!(prices->kwh > 0) || !isnan(money->energy_per_gpu_hour)) return g_strdup("not known");
  if (isnan(money->hardware_per_gpu_hour))
    return g_strdup_printf("not known: prices gives a kWh, but there is no %s", missing);
  return g_strdup_printf("%.4g %s per GPU-hour without energy, which is not known: prices gives a "
                         "kWh, but there is no %s",
                         money->hardware_per_gpu_hour, prices->currency, missing);
}

static void add_run(GString *out, const OrrTrainingResult *r, const char *currency) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *per = g_strdup_printf("%s for all its tokens", currency);
  add_part(text, r->run_days, "days");
  add_part(text, r->cost_per_run, per);
  add_line(out, "run", text->str);
}

static void add_campaign(GString *out, const OrrCampaignResult *r, const char *currency) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *all = g_strdup_printf("%s for the campaign, spares included", currency);
  add_part(text, r->cost, all);
  add_part(text, r->cost_lost, "of it for lost time");
  add_part(text, r->money.per_million_tokens, "per million tokens");
  add_line(out, "cost", text->str);
}

void orr_summary_money(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const gboolean is_training = outcome->kind->result == &orr_training_result_table;
  const gboolean is_serving = outcome->kind->result == &orr_serving_result_table;
  const OrrPrices *prices = &scenario->prices;
  if (outcome->kind->result == &orr_campaign_result_table)
    add_campaign(out, &outcome->result.campaign, prices->currency);
  if (is_training) add_run(out, &outcome->result.training, prices->currency);
  if (!orr_prices_given(prices) || (!is_training && !is_serving)) return;
  const OrrMoney *money =
      is_training ? &outcome->result.training.money : &outcome->result.serving.money;
  g_autofree char *cost = isnan(money->per_gpu_hour) ? missing_text(scenario, money)
                                                     : cost_text(outcome, money, prices->currency);
  if (orr_prices_has_hardware(prices) || prices->kwh > 0) add_line(out, "cost", cost);
  g_autoptr(GString) carbon = g_string_new(NULL);
  add_part(carbon, money->carbon_kg_per_day, "kg of CO2 per day");
  add_part(carbon, money->carbon_g_per_million_tokens, "g per million tokens");
  add_line(out, "carbon", carbon->str);
}
