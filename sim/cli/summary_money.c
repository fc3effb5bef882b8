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

static gboolean is_of(const OrrOutcome *outcome, const OrrFieldTable *table) {
  return outcome->kind->result == table;
}

/* NULL: jobs of a trace have a line of their own. */
static const OrrMoney *money_of(const OrrOutcome *outcome) {
  const OrrResult *result = &outcome->result;
  if (is_of(outcome, &orr_training_result_table)) return &result->training.money;
  if (is_of(outcome, &orr_serving_result_table)) return &result->serving.money;
  if (is_of(outcome, &orr_campaign_result_table)) return &result->campaign.money;
  if (is_of(outcome, &orr_collectives_result_table)) return &result->collectives.money;
  return is_of(outcome, &orr_post_training_result_table) ? &result->post_training.money : NULL;
}

static char *cost_text(const OrrOutcome *outcome, const OrrMoney *money, const char *currency) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *hour = g_strdup_printf("%s per GPU-hour", currency);
  const OrrServingResult *serving = &outcome->result.serving;
  const OrrPostTrainingResult *loop = &outcome->result.post_training;
  add_part(text, money->per_gpu_hour, hour);
  add_part(text, money->per_day, "per day");
  if (is_of(outcome, &orr_training_result_table)) {
    add_part(text, outcome->result.training.cost_per_step, "per step");
    add_part(text, money->per_million_tokens, "per million tokens");
  } else if (is_of(outcome, &orr_post_training_result_table)) {
    add_part(text, loop->cost_per_step, "per step");
    add_part(text, loop->cost_per_million_response_tokens, "per million response tokens");
  } else if (is_of(outcome, &orr_serving_result_table)) {
    add_part(text, serving->cost_per_million_input_tokens, "per million input tokens");
    add_part(text, serving->cost_per_million_output_tokens, "per million output tokens");
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

/* @all: "all its tokens". */
static void add_run(GString *out, double days, double cost, const char *currency, const char *all) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *per = g_strdup_printf("%s for %s", currency, all);
  add_part(text, days, "days");
  add_part(text, cost, per);
  add_line(out, "run", text->str);
}

static void add_runs(GString *out, const OrrOutcome *outcome, const char *currency) {
  const OrrTrainingResult *training = &outcome->result.training;
  const OrrPostTrainingResult *loop = &outcome->result.post_training;
  if (is_of(outcome, &orr_training_result_table))
    add_run(out, training->run_days, training->cost_per_run, currency, "all its tokens");
  if (is_of(outcome, &orr_post_training_result_table))
    add_run(out, loop->run_days, loop->cost_per_run, currency, "all its steps");
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
  const OrrPrices *prices = &scenario->prices;
  const OrrMoney *money = money_of(outcome);
  if (is_of(outcome, &orr_campaign_result_table))
    add_campaign(out, &outcome->result.campaign, prices->currency);
  add_runs(out, outcome, prices->currency);
  if (!orr_prices_given(prices) || !money) return;
  g_autofree char *cost = isnan(money->per_gpu_hour) ? missing_text(scenario, money)
                                                     : cost_text(outcome, money, prices->currency);
  const gboolean has_line = is_of(outcome, &orr_campaign_result_table);
  if (!has_line && (orr_prices_has_hardware(prices) || prices->kwh > 0))
    add_line(out, "cost", cost);
  g_autoptr(GString) carbon = g_string_new(NULL);
  add_part(carbon, money->carbon_kg_per_day, "kg of CO2 per day");
  add_part(carbon, money->carbon_g_per_million_tokens, "g per million tokens");
  add_line(out, "carbon", carbon->str);
}
