/*
 * test_money.c - what a run costs: by hand from its rate and its tokens, NULL (NAN) where something
 * with a price is not known, and the same folded and in full.
 */
#include <math.h>
#include <string.h>

#include "sim/run/answer/answer_private.h"
#include "tests/run/run_text.h"

#define TRAINING                                                                                   \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "cluster: {base: dgx-a100-superpod, nodes: 2, max-nodes: 4}\n"                                   \
  "model: {layers: 4, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                     \
  "workload: {kind: training, stack: none, run-tokens: 1e9, parallel: {tp: 8, pp: 1, dp: 2}, "     \
  "batch: {global: 16, micro: 1}}\n"                                                               \
  "engine: ideal\n"
#define SERVING                                                                                    \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "cluster: {base: dgx-h100-superpod, nodes: 1}\n"                                                 \
  "model: llama-3.1-8b\n"                                                                          \
  "workload: {kind: serving, stack: none, requests: 8, replicas: 3, input: {kind: fixed, tokens: " \
  "64}, output: {kind: fixed, tokens: 4}, load: {kind: poisson, rate: 8}}\n"                       \
  "engine: ideal\n"

static void assert_near(double a, double b) { g_assert_cmpfloat_with_epsilon(a / b, 1, 1e-12); }

static void assert_nothing(const OrrMoney *money) {
  const double *const members = (const double *)money;
  for (guint i = 0; i < sizeof *money / sizeof *members; i++) g_assert_true(isnan(members[i]));
}

static void test_none(void) {
  g_autoptr(OrrOutcome) training = run(TRAINING, "");
  g_autoptr(OrrOutcome) serving = run(SERVING, "");
  assert_nothing(&training->result.training.money);
  assert_nothing(&serving->result.serving.money);
  g_assert_true(isnan(training->result.training.cost_per_step));
  g_assert_true(isnan(training->result.training.cost_per_run));
  g_assert_true(isnan(serving->result.serving.cost_per_million_output_tokens));
  /* the days of a run need no price */
  g_assert_cmpfloat(training->result.training.run_days, >, 0);
}

/* 16 GPUs at 3.6 an hour: 0.016 a second, 1382.4 a day. */
static void test_rented(void) {
  g_autoptr(OrrOutcome) outcome = run(TRAINING, "prices: {currency: EUR, gpu-hour: 3.6}\n");
  const OrrTrainingResult *r = &outcome->result.training;
  assert_near(r->money.per_gpu_hour, 3.6);
  assert_near(r->money.per_day, 1382.4);
  assert_near(r->cost_per_step, 0.016 * r->iteration_time_s);
  assert_near(r->money.per_million_tokens, 0.016e6 / r->tokens_per_s);
  assert_near(r->run_days, 1e9 / r->tokens_per_s / 86400);
  assert_near(r->cost_per_run, r->run_days * 1382.4);
  g_assert_true(isnan(r->money.energy_per_gpu_hour));
  g_assert_true(isnan(r->money.carbon_kg_per_day));
}

#define COLLECTIVES                                                                                \
  "schema: scenario/1\n"                                                                           \
  "name: calls\n"                                                                                  \
  "cluster: {base: dgx-a100-superpod, nodes: 1}\n"                                                 \
  "workload: {kind: collectives, stack: none, collective: all-reduce, begin: 64 MiB, end: 64 "     \
  "MiB, "                                                                                          \
  "algorithm: ring}\n"                                                                             \
  "engine: ideal\n"

/* 8 boards draw 90 W, 34 W for the kernel, and for each byte that a ring sends, 7/4 of the size, 52
 * pJ of NVLink and twice 50 + 53 pJ of memory; at 3.6 an hour they cost 691.2 a day. */
static void test_collectives(void) {
  g_autoptr(OrrOutcome) outcome = run(COLLECTIVES, "prices: {currency: EUR, gpu-hour: 3.6}\n");
  g_autoptr(OrrOutcome) unpriced = run(COLLECTIVES, "");
  const OrrCollectivesResult *r = &outcome->result.collectives;
  const double sent_j = 7.0 / 4 * 64 * 1048576 * (52 + 2 * (50 + 53)) * 1e-12;
  assert_near(r->energy_j_per_call, 8 * ((90 + 34) * r->time_s + sent_j));
  assert_near(r->gpu_power_mean_w, r->energy_j_per_call / r->time_s);
  assert_near(r->money.per_day, 691.2);
  g_assert_true(isnan(r->money.per_million_tokens));
  g_assert_cmpfloat(r->machine.all_w, >, r->gpu_power_mean_w);
  assert_nothing(&unpriced->result.collectives.money);
}

#define CAMPAIGN                                                                                   \
  "campaign: {duration: 10 h, seeds: 1, spares: 1, failures: {processes: [{component: gpu, "       \
  "scope: gpu, symptom: crash, rate-per-hour: 1e-12}]}, detection: [{symptom: crash, after: 1 "    \
  "s}], policy: restart, repair: 1 h, recovery: {requeue: 0 s, restart: 0 s, initialise: 0 s}, "   \
  "maintenance: {every: 1 h, lasts: 30 min}, checkpoints: [{tier: host, interval: 1 min}]}\n"

/* 10 hours of 16 GPUs and a spare node of 8, at 3.6 an hour: 864; maintenance takes some of it.
 * GPUs that wait draw 90 W, the spare's 62. Without prices the costs are not known. */
static void test_campaign(void) {
  static const char rent[] = "prices: {currency: EUR, gpu-hour: 3.6}\n";
  g_autoptr(OrrOutcome) step = run(TRAINING, "");
  g_autoptr(OrrOutcome) campaign = run(TRAINING CAMPAIGN, rent);
  g_autoptr(OrrOutcome) unpriced = run(TRAINING CAMPAIGN, "");
  const OrrCampaignResult *r = &campaign->result.campaign;
  const double healthy_w = step->result.training.gpu_power_mean_w;
  double busy_s = r->effective_s;
  for (guint i = 0; i < campaign->campaign_losses->len; i++) {
    const OrrCampaignLossRow *row =
        &g_array_index(campaign->campaign_losses, OrrCampaignLossRow, i);
    if (g_str_equal(row->phase, "recompute")) busy_s += row->seconds;
  }
  const double busy = busy_s / r->duration_s;
  g_assert_cmpfloat(busy, <, 0.7);
  assert_near(r->cost, 864 * r->duration_s / 36000);
  assert_near(r->cost_lost, r->cost * (1 - r->goodput));
  assert_near(r->money.per_day, 24 * 3.6 * 24);
  assert_near(r->money.per_million_tokens, r->cost / r->tokens * 1e6);
  assert_near(r->gpu_power_mean_w, busy * healthy_w + (1 - busy) * 16 * 90 + 8 * 62);
  assert_near(r->energy_j_per_token, r->gpu_power_mean_w * r->duration_s / r->tokens);
  g_assert_cmpfloat(r->machine.all_w, >, r->gpu_power_mean_w);
  assert_nothing(&unpriced->result.campaign.money);
  g_assert_true(isnan(unpriced->result.campaign.cost));
  assert_near(unpriced->result.campaign.gpu_power_mean_w, r->gpu_power_mean_w);
}

/* A job of 2 nodes pays for its part of a machine built for 4: 4 * 8 GPUs at 876.6 over a year,
 * half of it used: 876.6 / 8766 / 0.5 = 0.2 an hour. The bill has the whole machine. */
static void test_bought(void) {
  g_autoptr(OrrOutcome) outcome =
      run(TRAINING, "prices: {currency: EUR, gpu: 876.6, lifetime-years: 1, utilisation: 0.5}\n");
  const OrrTrainingResult *r = &outcome->result.training;
  double whole = 0;
  gint64 gpus = 0;
  for (guint i = 0; i < outcome->bill->len; i++) {
    const OrrBillRow *row = &g_array_index(outcome->bill, OrrBillRow, i);
    if (!isnan(row->price)) whole += row->price;
    if (strcmp(row->item, "gpu") == 0) gpus = row->count;
  }
  assert_near(r->money.hardware_per_gpu_hour, 0.2);
  assert_near(r->money.per_day, 0.2 * 16 * 24);
  assert_near(whole, 32 * 876.6);
  g_assert_cmpint(gpus, ==, 32);
}

/* One rank of each class gives what all of them give. */
static void test_fidelity(void) {
  g_autoptr(OrrOutcome) folded = run(TRAINING, "fidelity: folded\nprices: {currency: EUR, "
                                               "gpu-hour: 3.6}\n");
  g_autoptr(OrrOutcome) full = run(TRAINING, "fidelity: full\nprices: {currency: EUR, gpu-hour: "
                                             "3.6}\n");
  assert_near(folded->result.training.cost_per_step, full->result.training.cost_per_step);
  assert_near(folded->result.training.cost_per_run, full->result.training.cost_per_run);
  g_assert_cmpint(folded->bill->len, ==, full->bill->len);
}

/* 3 replicas of 1 GPU hold them all the time. All of the cost per prompt token, or per output
 * token: 64 of one for 4 of the other. */
static void test_serving(void) {
  g_autoptr(OrrOutcome) outcome = run(SERVING, "prices: {currency: EUR, gpu-hour: 3.6}\n");
  const OrrServingResult *r = &outcome->result.serving;
  assert_near(r->money.per_gpu_hour, 3.6);
  assert_near(r->money.per_day, 3.6 * 3 * 24);
  assert_near(r->cost_per_million_output_tokens, 0.003e6 / r->output_tokens_per_s);
  assert_near(r->cost_per_million_input_tokens, 0.003e6 / r->input_tokens_per_s);
  assert_near(r->money.per_million_tokens, 0.003e6 / r->total_tokens_per_s);
}

/* A GPU of feed-forwards costs what one of attention does: 3 replicas of 2. */
static void test_feeds(void) {
  g_auto(GStrv) parts = g_strsplit(SERVING, "requests: 8, ", 2);
  g_autofree char *text =
      g_strconcat(parts[0], "requests: 8, parallel: {feed-forward: {gpus: 1}}, ", parts[1], NULL);
  g_autoptr(OrrOutcome) outcome = run(text, "prices: {currency: EUR, gpu-hour: 3.6}\n");
  assert_near(outcome->result.serving.money.per_gpu_hour, 3.6);
  assert_near(outcome->result.serving.money.per_day, 3.6 * 6 * 24);
}

/* The kWh are the machine's, at its PUE; where the cluster does not say what its nodes draw besides
 * their GPUs, neither they nor the cost are known. */
static void test_machine(void) {
  static const char prices[] = "prices: {currency: EUR, gpu-hour: 3.6, kwh: 0.5, pue: 1.5, "
                               "carbon-grams-per-kwh: 100}\n";
  g_autoptr(OrrOutcome) training = run(TRAINING, prices);
  g_autoptr(OrrOutcome) serving = run(SERVING, prices);
  const OrrTrainingResult *r = &training->result.training;
  const OrrServingResult *s = &serving->result.serving;
  g_assert_cmpfloat(r->machine.all_w, >, r->gpu_power_mean_w);
  assert_near(r->money.energy_per_gpu_hour, r->machine.all_w / 16 / 1000 * 1.5 * 0.5);
  assert_near(r->money.per_gpu_hour, 3.6 + r->money.energy_per_gpu_hour);
  assert_near(r->money.carbon_kg_per_day, r->machine.all_w * 24 / 1e6 * 1.5 * 100);
  assert_near(s->money.energy_per_gpu_hour, s->machine.all_w / 3 / 1000 * 1.5 * 0.5);
  g_auto(GStrv) parts = g_strsplit(TRAINING, "max-nodes: 4", 2);
  g_autofree char *text = g_strconcat(
      parts[0], "max-nodes: 4, power: {rest-busy: 0 W, parts: {cpu-idle: 0 W, cpu-busy: 0 W}}",
      parts[1], NULL);
  g_autoptr(OrrOutcome) unknown = run(text, prices);
  g_assert_true(isnan(unknown->result.training.money.energy_per_gpu_hour));
  g_assert_true(isnan(unknown->result.training.cost_per_step));
  assert_near(unknown->result.training.money.hardware_per_gpu_hour, 3.6);
}

/* 8 kW of 4 GPUs at a PUE of 1.5: 12 kWh an hour, 3 for each GPU. */
static void test_energy(void) {
  OrrPrices prices = {.currency = (char *)"EUR",
                      .gpu_hour = 2,
                      .kwh = 0.5,
                      .pue = 1.5,
                      .carbon_grams_per_kwh = 100};
  OrrMoneyQuestion question = {.prices = &prices,
                               .gpus = 4,
                               .hardware_per_s = 4 * 2.0 / 3600,
                               .watts = 8000,
                               .tokens_per_s = 1e6 / 3600};
  const OrrMoney all = orr_money_of(&question);
  assert_near(all.hardware_per_gpu_hour, 2);
  assert_near(all.energy_per_gpu_hour, 1.5);
  assert_near(all.per_gpu_hour, 3.5);
  assert_near(all.per_million_tokens, 14); /* an hour of 4 */
  assert_near(all.carbon_kg_per_day, 28.8);
  assert_near(all.carbon_g_per_million_tokens, 1200);
  question.watts = NAN; /* no power model: the sum is not known, the hardware is */
  const OrrMoney unknown = orr_money_of(&question);
  assert_near(unknown.hardware_per_gpu_hour, 2);
  g_assert_true(isnan(unknown.energy_per_gpu_hour) && isnan(unknown.per_gpu_hour) &&
                isnan(unknown.per_day) && isnan(unknown.carbon_kg_per_day));
  prices.kwh = 0; /* energy has no price: it is left out */
  assert_near(orr_money_of(&question).per_gpu_hour, 2);
  question.watts = 8000;
  prices.gpu_hour = 0;
  prices.kwh = 0.5; /* energy alone */
  assert_near(orr_money_of(&question).per_gpu_hour, 1.5);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/money/none", test_none);
  g_test_add_func("/money/rented", test_rented);
  g_test_add_func("/money/bought", test_bought);
  g_test_add_func("/money/collectives", test_collectives);
  g_test_add_func("/money/campaign", test_campaign);
  g_test_add_func("/money/fidelity", test_fidelity);
  g_test_add_func("/money/serving", test_serving);
  g_test_add_func("/money/feeds", test_feeds);
  g_test_add_func("/money/machine", test_machine);
  g_test_add_func("/money/energy", test_energy);
  return g_test_run();
}
