/*
 * summary_money.c - "cost", "run" and "carbon": what a run costs in the prices' currency; and lines
 * that several kinds of workload print: "machine", "energy", "costs".
 */
#include "sim/cli/summary.h"

#include "sim/bands/band.h"

/* A part of a line: "0.27 per million tokens". NAN: not known, so that it is left out. */
typedef struct {
  double value;
  const char *per;
} Part;

/* A line of the parts that are known; none where none is. */
static void add_parts(OrrPage *page, const char *label, const Part *parts, guint n) {
  gboolean is_begun = FALSE;
  for (guint i = 0; i < n; i++) {
    if (isnan(parts[i].value)) continue;
    if (!is_begun) orr_page_line(page, label, "%s", "");
    is_begun = TRUE;
    if (parts[i].value >= 1e4 && parts[i].value < 1e15)
      orr_page_item(page, "%s %s", orr_page_count(page, parts[i].value), parts[i].per);
    else
      orr_page_item(page, "%.4g %s", parts[i].value, parts[i].per);
  }
}

static const double SECONDS_PER_DAY = 86400;

#define ADD_PARTS(page_, label_, ...)                                                              \
  add_parts(page_, label_, (const Part[]){__VA_ARGS__}, G_N_ELEMENTS(((const Part[]){__VA_ARGS__})))

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
  if (is_of(outcome, &orr_diffusion_result_table)) return &result->diffusion.money;
  if (is_of(outcome, &orr_step_result_table)) return &result->step.money;
  return is_of(outcome, &orr_post_training_result_table) ? &result->post_training.money : NULL;
}

static void add_cost(OrrPage *page, const OrrOutcome *outcome, const OrrMoney *money,
                     const char *hour) {
  const OrrResult *r = &outcome->result;
  const Part first = {money->per_gpu_hour, hour}, second = {money->per_day, "per day"};
  if (is_of(outcome, &orr_training_result_table))
    ADD_PARTS(page, "cost", first, second, {r->training.cost_per_step, "per step"},
              {money->per_million_tokens, "per million tokens"});
  else if (is_of(outcome, &orr_post_training_result_table))
    ADD_PARTS(page, "cost", first, second, {r->post_training.cost_per_step, "per step"},
              {r->post_training.cost_per_million_response_tokens, "per million response tokens"});
  else if (is_of(outcome, &orr_serving_result_table))
    ADD_PARTS(
        page, "cost", first, second,
        {r->serving.cost_per_million_input_tokens, "per million input tokens (all cost on inputs)"},
        {r->serving.cost_per_million_output_tokens,
         "per million output tokens (all cost on outputs)"});
  else if (is_of(outcome, &orr_diffusion_result_table))
    ADD_PARTS(page, "cost", first, second,
              {money->per_day / SECONDS_PER_DAY / r->diffusion.outputs_per_s, "per output"});
  else if (is_of(outcome, &orr_step_result_table))
    ADD_PARTS(
        page, "cost", first, second,
        {money->per_day / SECONDS_PER_DAY / r->step.samples_per_s * 1e6, "per million samples"});
  else
    ADD_PARTS(page, "cost", first, second);
}

/* Where the cost is not known, what is missing: the energy, or a price of hardware. */
static const char *missing_text(OrrPage *page, const OrrScenario *scenario, const OrrMoney *money) {
  const OrrPrices *prices = &scenario->prices;
  const gboolean has_boards = orr_device_power_is_known(&scenario->cluster.device.power);
  const char *missing = has_boards ? "cluster.power.rest-busy" : "cluster.device.power";
  if (!(prices->kwh > 0) || !isnan(money->energy_per_gpu_hour)) return "not known";
  if (isnan(money->hardware_per_gpu_hour))
    return orr_page_text(page, "not known: prices gives a kWh, but there is no %s", missing);
  return orr_page_text(page,
                       "%.4g %s per GPU-hour without energy, which is not known: prices gives a "
                       "kWh, but there is no %s",
                       money->hardware_per_gpu_hour, prices->currency, missing);
}

static void add_run(OrrPage *page, double days, double cost, const char *currency,
                    const char *all) {
  ADD_PARTS(page, "run", {days, "days"}, {cost, orr_page_text(page, "%s for %s", currency, all)});
}

static void add_campaign(OrrPage *page, const OrrCampaignResult *r, const char *currency) {
  ADD_PARTS(page, "cost",
            {r->cost, orr_page_text(page, "%s for the campaign, spares included", currency)},
            {r->cost_lost, "of it for lost time"},
            {r->money.per_million_tokens, "per million tokens"});
}

/* The bounds of costs, which follow from the bands of times: "3.2 to 3.8 per step". */
static void add_bands(OrrPage *page, const OrrOutcome *outcome) {
  static const struct {
    const char *metric, *per;
  } costs[] = {{"cost_per_run", "for the run"},
               {"cost_per_step", "per step"},
               {"cost_per_million_tokens", "per million tokens"},
               {"cost_per_million_output_tokens", "per million output tokens"},
               {"cost_per_million_response_tokens", "per million response tokens"}};
  const OrrBandRow *last = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(costs); i++) {
    const OrrBandRow *row = orr_bands_row(outcome, costs[i].metric);
    if (!row || isnan(row->low)) continue;
    if (!last) orr_page_line(page, "", "%s", "");
    char *range = orr_summary_band_range(row->value, row->low, row->high, ORR_UNIT_NONE);
    orr_page_item(page, "%s %s", orr_page_keep(page, range), costs[i].per);
    last = row;
  }
  if (last)
    orr_page_more(page, " (%.3g %% band%s%s)", 100 * last->level, *last->reason ? "; weak: " : "",
                  last->reason);
}

void orr_summary_money(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrPrices *prices = &scenario->prices;
  const OrrMoney *money = money_of(outcome);
  const OrrTrainingResult *training = &outcome->result.training;
  const OrrPostTrainingResult *loop = &outcome->result.post_training;
  const gboolean is_campaign = is_of(outcome, &orr_campaign_result_table);
  if (is_campaign) add_campaign(page, &outcome->result.campaign, prices->currency);
  if (is_of(outcome, &orr_training_result_table))
    add_run(page, training->run_days, training->cost_per_run, prices->currency, "all its tokens");
  if (is_of(outcome, &orr_post_training_result_table))
    add_run(page, loop->run_days, loop->cost_per_run, prices->currency, "all its steps");
  if (!orr_prices_given(prices) || !money) return;
  if (!is_campaign && (orr_prices_has_hardware(prices) || prices->kwh > 0)) {
    if (isnan(money->per_gpu_hour))
      orr_page_line(page, "cost", "%s", missing_text(page, scenario, money));
    else
      add_cost(page, outcome, money, orr_page_text(page, "%s per GPU-hour", prices->currency));
  }
  add_bands(page, outcome);
  ADD_PARTS(page, "carbon", {money->carbon_kg_per_day, "kg of CO2 per day"},
            {money->carbon_g_per_million_tokens, "g per million tokens"});
}

/* --- Other lines of several kinds --- */

void orr_summary_machine(OrrPage *page, const OrrScenario *scenario, gint64 n_gpus) {
  orr_page_line(page, "machine", "%s (%s) of %s", orr_page_things(page, n_gpus, "GPU"),
                scenario->cluster.device.name, scenario->cluster.name);
}

/* " (60 to 75 kW)": why, the band of the joules says, which rests on it. */
static void add_watts_range(OrrPage *page, const OrrOutcome *outcome) {
  const OrrBandRow *row = orr_bands_row(outcome, "gpu_power_mean_w");
  if (row && row->low > 0)
    orr_page_more(page, " (%s)",
                  orr_page_keep(page, orr_summary_band_range(row->value, row->low, row->high,
                                                             ORR_UNIT_WATTS)));
}

void orr_summary_energy(OrrPage *page, const OrrOutcome *outcome, const char *joules,
                        const char *metric, double gpus_w, const OrrMachinePower *machine) {
  if (isnan(gpus_w)) return;
  orr_page_line(page, "energy", "%s", joules);
  orr_summary_band_more(page, outcome, metric, ORR_UNIT_NONE);
  orr_page_more(page, "; GPUs draw %s", orr_page_watts(page, gpus_w));
  add_watts_range(page, outcome);
  if (!isnan(machine->all_w))
    orr_page_more(page, ", the machine %s%s", orr_page_watts(page, machine->all_w),
                  orr_page_keep(page, orr_cluster_power_left_out(machine)));
}

void orr_summary_costs(OrrPage *page, const OrrOutcome *outcome, const double *seconds, double sum,
                       double least, const char *whose) {
  gboolean is_begun = FALSE;
  for (guint how = 0; sum > 0 && how <= ORR_HOW_OUTSIDE; how++) {
    if (!(seconds[how] > least * sum)) continue;
    if (!is_begun) orr_page_line(page, "costs", "%s", "");
    is_begun = TRUE;
    orr_page_item(page, "%s %.0f %%", orr_cost_how_text(outcome->carried_from, (OrrHow)how),
                  100 * seconds[how] / sum);
  }
  if (is_begun) orr_page_more(page, " of the %s time", whose);
}
